//! The wall clock and the Gregorian calendar, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970-01-01 00:00:00 UTC; zero if the clock is set before that.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// [`unix_time`] in seconds.
pub fn unix_seconds() -> u64 {
    unix_time().as_secs()
}

/// Formats seconds since 1970 as `2001-09-09T01:46:40Z`.
pub fn utc_text(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    let (year, month, day) = date_of_day(i64::try_from(seconds / DAY).unwrap_or(i64::MAX));
    let clock = seconds % DAY;
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days from 1970-01-01 to a date; the algorithm of Howard Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", with years that begin in March, so that the leap day is their last.
pub fn day_of_date(year: i32, month: u8, day: u8) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = (i64::from(month) + 9).rem_euclid(12);
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of the month of a day since 1970-01-01: the inverse of [`day_of_date`].
pub fn date_of_day(days: i64) -> (i32, u8, u8) {
    let days = days.saturating_add(719_468);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_convert_to_days_and_back_on_both_sides_of_the_epoch() {
        for days in [-1_000_000, -719_468, -1, 0, 59, 60, 19_782, 2_932_896] {
            let (year, month, day) = date_of_day(days);
            assert_eq!(day_of_date(year, month, day), days);
        }
    }

    #[test]
    fn utc_text_is_iso_8601() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (1_790_000_000, "2026-09-21T14:13:20Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, expected) in table {
            assert_eq!(utc_text(seconds), expected);
        }
    }
}
