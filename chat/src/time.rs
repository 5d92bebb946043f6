//! A local civil time, given by the caller so that a render is reproducible.

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

    /// Counts the days since 1 January, from 0.
    pub(crate) fn day_of_year(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day) - days_from_civil(self.year, 1, 1)
    }

    /// Gives the day of the week, 0 for Sunday.
    pub(crate) fn weekday(&self) -> usize {
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

#[cfg(test)]
mod tests {
    use super::{LocalTime, days_from_civil};

    #[test]
    fn dates_convert_to_days_and_back_on_both_sides_of_the_epoch() {
        for days in [-1_000_000, -719_468, -1, 0, 59, 60, 19_782, 2_932_896] {
            let time = LocalTime::from_unix(days * 86_400, 0);
            let back = days_from_civil(time.year, time.month, time.day);
            assert_eq!(back, days);
        }
    }
}
