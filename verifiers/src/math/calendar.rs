//! Dates and times of day.

/// A day, or a part of one that was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    /// Astronomical: 0 is 1 BC.
    pub(super) year: Option<i32>,
    /// 1 to 12.
    pub(super) month: u8,
    /// 1 to 31.
    pub(super) day: Option<u8>,
    /// Where day and month could be exchanged (`4/7/1776`), they are in the order month, day, and
    /// this is set.
    pub(super) is_ambiguous: bool,
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// 0 to 23; 1 to 12 where `half` is open.
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: Option<u8>,
    /// Whether morning or afternoon was left open: `7:30` without a.m. or p.m. and below 13.
    pub(super) is_open_half: bool,
}
