//! Times of day in hours and minutes: "12 часов 30 минут" where the question asks at what time.

use super::question::Question;

/// Words for hours behind their number, of which the longest come first.
const HOURS: [&str; 12] =
    ["часов", "часа", "час", "hours", "heures", "horas", "Uhr", "uhr", "시", "時", "时", "h"];

/// Words for minutes behind their number.
const MINUTES: [&str; 10] =
    ["минут", "минуты", "minutes", "minutos", "Minuten", "min", "분", "分", "m", ""];

impl Question<'_> {
    /// Whether a time of day is wanted.
    pub(super) fn wants_time_of_day(&self) -> bool {
        [
            "what time",
            "at which time",
            "во сколько",
            "в котором часу",
            "quelle heure",
            "qué hora",
            "que horas",
            "uhrzeit",
            "wie viel uhr",
            "um wie viel",
            "几点",
            "何時",
            "몇 시",
        ]
        .iter()
        .any(|words| self.lower().contains(words))
    }
}

/// Returns `12:30` for "12 часов 30 минут" and "12 h 30"; `None` for other texts.
pub(super) fn time_of_day(text: &str) -> Option<String> {
    let (hours, rest) = number(text)?;
    let rest = HOURS.iter().find_map(|word| rest.trim_start().strip_prefix(word))?.trim_start();
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { number(rest)? };
    let is_whole = MINUTES.contains(&rest.trim().trim_end_matches('.'));
    (is_whole && hours < 24 && minutes < 60).then(|| format!("{hours}:{minutes:02}"))
}

/// Returns the number of at most two digits that opens a text, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let value = text[..digits].parse().ok().filter(|_| digits < 3)?;
    Some((value, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_a_colon() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(time_of_day(text).as_deref(), expected, "{text}");
        };
        check("12 часов 30 минут", Some("12:30"));
        check("9h05", Some("9:05"));
        check("14 Uhr", Some("14:00"));
        check("오후", None);
        check("3시 20분", Some("3:20"));
        check("30 minutes", None);
        check("25 h", None);
        check("12 h 75 min", None);
        check("", None);
    }
}
