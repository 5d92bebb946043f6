//! Python's `strftime`, for templates that print the time.

use super::error::{RenderError, invalid};
use crate::time::LocalTime;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Python's `strftime` in the C locale, without time zones.
pub(super) fn strftime(time: &LocalTime, format: &str) -> Result<String, RenderError> {
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut padded = true;
        let mut directive = chars.next();
        if directive == Some('-') {
            padded = false;
            directive = chars.next();
        }
        let Some(directive) = directive else {
            return Err(invalid("a time format ends in `%`"));
        };
        out.push_str(&expand(time, directive, padded)?);
    }
    Ok(out)
}

fn expand(time: &LocalTime, directive: char, padded: bool) -> Result<String, RenderError> {
    let two = |n: u8| {
        if padded { format!("{n:02}") } else { n.to_string() }
    };
    let hour12 = (time.hour + 11) % 12 + 1;
    let month = MONTHS
        .get(usize::from(time.month).wrapping_sub(1))
        .copied()
        .ok_or_else(|| invalid(format!("there is no month {}", time.month)))?;
    let weekday = DAYS[time.weekday()];
    let nested = |format: &str| strftime(time, format);
    Ok(match directive {
        'Y' => time.year.to_string(),
        'y' => two(u8::try_from(time.year.rem_euclid(100)).expect("below 100")),
        'm' => two(time.month),
        'd' => two(time.day),
        'e' => format!("{:2}", time.day),
        'H' => two(time.hour),
        'I' => two(hour12),
        'M' => two(time.minute),
        'S' => two(time.second),
        'f' => "000000".to_owned(),
        'p' => if time.hour < 12 { "AM" } else { "PM" }.to_owned(),
        'B' => month.to_owned(),
        'b' | 'h' => month[..3].to_owned(),
        'A' => weekday.to_owned(),
        'a' => weekday[..3].to_owned(),
        'j' if padded => format!("{:03}", time.day_of_year() + 1),
        'j' => (time.day_of_year() + 1).to_string(),
        'w' => time.weekday().to_string(),
        'u' => ((time.weekday() + 6) % 7 + 1).to_string(),
        'F' => nested("%Y-%m-%d")?,
        'T' | 'X' => nested("%H:%M:%S")?,
        'R' => nested("%H:%M")?,
        'D' | 'x' => nested("%m/%d/%y")?,
        'c' => nested("%a %b %e %H:%M:%S %Y")?,
        'n' => "\n".to_owned(),
        't' => "\t".to_owned(),
        'Z' | 'z' => String::new(),
        '%' => "%".to_owned(),
        other => return Err(invalid(format!("the time format has no `%{other}`"))),
    })
}

#[cfg(test)]
mod tests {
    use super::strftime;
    use crate::time::LocalTime;

    #[test]
    fn dates_are_formatted_as_in_python() {
        let time = LocalTime::from_unix(1_709_212_205, 3600);
        for (format, expected) in [
            ("%d %b %Y", "29 Feb 2024"),
            ("%A, %B %-d, %Y", "Thursday, February 29, 2024"),
            ("%Y-%m-%d %H:%M:%S", "2024-02-29 14:10:05"),
            ("%I:%M %p, day %j, %y%%", "02:10 PM, day 060, 24%"),
            ("%c", "Thu Feb 29 14:10:05 2024"),
        ] {
            assert_eq!(strftime(&time, format).unwrap(), expected);
        }
        assert!(strftime(&time, "%Q").is_err());
    }
}
