//! The time that a template may ask for. It comes from the caller, so a render can be repeated.

use super::error::{RenderError, invalid};

/// A local civil time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// The year, of the Gregorian calendar.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 60.
    pub second: u8,
}

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

impl LocalTime {
    /// The time `seconds` after 1970-01-01 00:00:00 UTC, in a place `offset` seconds ahead of UTC.
    pub fn from_unix(seconds: i64, offset: i32) -> LocalTime {
        let local = seconds.saturating_add(i64::from(offset));
        let (days, of_day) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let narrow = |n: i64| u8::try_from(n).expect("parts of a day are below 60");
        LocalTime {
            year,
            month,
            day,
            hour: narrow(of_day / 3600),
            minute: narrow(of_day / 60 % 60),
            second: narrow(of_day % 60),
        }
    }

    /// Days since 1 January, from 0.
    fn day_of_year(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day) - days_from_civil(self.year, 1, 1)
    }

    /// 0 for Sunday.
    fn weekday(&self) -> usize {
        let days = days_from_civil(self.year, self.month, self.day);
        usize::try_from((days + 4).rem_euclid(7)).expect("a remainder of 7 is small")
    }
}

/// Days since 1970-01-01 of a date; the algorithm of Howard Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", with years that begin in March.
fn days_from_civil(year: i32, month: u8, day: u8) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = (i64::from(month) + 9).rem_euclid(12);
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil(days: i64) -> (i32, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = years + era * 400 + i64::from(month <= 2);
    (
        i32::try_from(year).unwrap_or(i32::MAX),
        u8::try_from(month).expect("a month is below 13"),
        u8::try_from(day).expect("a day is below 32"),
    )
}

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
    use super::{LocalTime, strftime};

    #[test]
    fn dates_as_python_writes_them() {
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

    #[test]
    fn days_count_on_both_sides_of_the_epoch() {
        for days in [-1_000_000, -719_468, -1, 0, 59, 60, 19_782, 2_932_896] {
            let time = LocalTime::from_unix(days * 86_400, 0);
            let back = super::days_from_civil(time.year, time.month, time.day);
            assert_eq!(back, days);
        }
    }
}
