//! A local civil time, given by the caller so that a render is reproducible.

use base::time::{date_of_day, day_of_date};

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
        let (year, month, day) = date_of_day(days);
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
        day_of_date(self.year, self.month, self.day) - day_of_date(self.year, 1, 1)
    }

    /// Gives the day of the week, 0 for Sunday.
    pub(crate) fn weekday(&self) -> usize {
        let days = day_of_date(self.year, self.month, self.day);
        usize::try_from((days + 4).rem_euclid(7)).expect("a remainder of 7 is small")
    }
}
