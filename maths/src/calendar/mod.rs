//! Dates and times of day.

mod clock;
mod date;
mod lexer;

pub(super) use self::clock::clock;
pub(super) use self::date::date;
pub use self::date::is_month;

/// A day, or a part of one that was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    /// Astronomical: 0 is 1 BC.
    pub(super) year: Option<i32>,
    /// 1 to 12.
    pub(super) month: u8,
    /// 1 to 31.
    pub(super) day: Option<u8>,
    /// Whether day and month could be exchanged (`4/7/1776`); they are then in the order month,
    /// day.
    pub(super) is_ambiguous: bool,
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// 0 to 23; 1 to 12 where `half` is open.
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: Option<u8>,
    /// Whether morning or afternoon was left open: `7:30` without a.m. or p.m. and below 13. A
    /// leading zero (`07:30`) closes it: so write those who count to 24.
    pub(super) is_open_half: bool,
    /// Whether a.m., p.m., noon or midnight was written.
    pub(super) is_half_named: bool,
}

impl Date {
    /// Decides whether both name the same day, in one of the readings of an ambiguous one. `None`
    /// if a part that only one of them names decides.
    pub(super) fn agrees(&self, other: &Self) -> Option<bool> {
        if matches!((self.year, other.year), (Some(left), Some(right)) if left != right) {
            return Some(false);
        }
        let mut found = Some(false);
        for left in self.readings() {
            for right in other.readings() {
                match same_day(left, right) {
                    Some(true) => found = found.map(|_| true),
                    Some(false) => {}
                    None => return None,
                }
            }
        }
        match found {
            Some(true) if self.year.is_some() != other.year.is_some() => None,
            found => found,
        }
    }

    /// Months and days that it may mean.
    fn readings(&self) -> impl Iterator<Item = (u8, Option<u8>)> {
        let swapped = self.day.filter(|_| self.is_ambiguous).map(|day| (day, Some(self.month)));
        std::iter::once((self.month, self.day)).chain(swapped)
    }
}

fn same_day(left: (u8, Option<u8>), right: (u8, Option<u8>)) -> Option<bool> {
    match (left.1, right.1) {
        _ if left.0 != right.0 => Some(false),
        (Some(left), Some(right)) => Some(left == right),
        (None, None) => Some(true),
        (Some(_), None) | (None, Some(_)) => None,
    }
}

impl Clock {
    /// Decides whether both name the same time; `None` where only one of them says which half of
    /// the day it means. Seconds that were not named are 0.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "it is called as Date::agrees is")]
    pub(super) fn agrees(&self, other: &Self) -> Option<bool> {
        let seconds = |clock: &Self| clock.second.unwrap_or(0);
        let is_same_minute = self.minute == other.minute && seconds(self) == seconds(other);
        if !is_same_minute || self.hour % 12 != other.hour % 12 {
            return Some(false);
        }
        if self.is_open_half == other.is_open_half {
            return Some(self.is_open_half || self.hour == other.hour);
        }
        let is_named = self.is_half_named || other.is_half_named;
        (self.hour == other.hour && !is_named).then_some(true)
    }
}

#[cfg(test)]
mod tests;
