//! The class in which each intended request ends, and counters of classes and verdicts.
//!
//! It must not depend on sockets or clocks: a class follows from a table.

use std::fmt;

use openapi::Status;

/// How an intended request ended. Each ends in exactly one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// 200 with one result for each input, within the request's own deadline.
    Ok,
    /// 200 with every result, but later than the deadline that the request carried.
    Late,
    /// 429: the server limits this client.
    Limited,
    /// 503 with `Retry-After`: the server is overloaded.
    Overloaded,
    /// 503 without `Retry-After`.
    Unavailable,
    /// 504: the server stopped at the request's deadline.
    DeadlinePassed,
    /// Any other 4xx.
    ClientError,
    /// Any other 5xx.
    ServerError,
    /// A broken reply: not HTTP, an unknown status, or a 200 without one result for each input.
    BadReply,
    /// Sent, and no complete reply before the timeout.
    Timeout,
    /// Never sent: no connection was free before the request's timeout.
    Unsent,
    /// No connection could be opened, so that the request was not sent.
    ConnectionError,
    /// Sent, and the connection ended before the reply was complete.
    Lost,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = 13;

    /// Every class, in the order in which reports list them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Ok,
        Self::Late,
        Self::Limited,
        Self::Overloaded,
        Self::Unavailable,
        Self::DeadlinePassed,
        Self::ClientError,
        Self::ServerError,
        Self::BadReply,
        Self::Timeout,
        Self::Unsent,
        Self::ConnectionError,
        Self::Lost,
    ];

    /// Stable name for tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Late => "late",
            Self::Limited => "http_429",
            Self::Overloaded => "http_503_retry_after",
            Self::Unavailable => "http_503",
            Self::DeadlinePassed => "http_504",
            Self::ClientError => "http_4xx",
            Self::ServerError => "http_5xx",
            Self::BadReply => "bad_reply",
            Self::Timeout => "timeout",
            Self::Unsent => "unsent",
            Self::ConnectionError => "connection_error",
            Self::Lost => "lost",
        }
    }

    /// Whether its time counts as latency: a 200 or a timeout. Without timeouts the slowest
    /// requests would be hidden.
    pub const fn is_latency(self) -> bool {
        matches!(self, Self::Ok | Self::Late | Self::Timeout | Self::Unsent)
    }

    /// Whether the server refused properly; the time until a refusal is reported separately.
    pub const fn is_refusal(self) -> bool {
        matches!(self, Self::Limited | Self::Overloaded | Self::Unavailable | Self::DeadlinePassed)
    }

    /// Whether the reply was lost or broken. One such request fails a run; slowness, refusals and
    /// errors are results of the measurement.
    pub const fn breaks_promise(self) -> bool {
        matches!(self, Self::BadReply | Self::Lost)
    }
}

/// The outcome as far as the head of a reply determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// 200: the body decides.
    Verdicts,
    /// Anything else: the class is known.
    Ends(Class),
}

/// Reads the head of a reply: its status and whether it has a `Retry-After`.
pub(crate) const fn classify(status: u16, retry_after: bool) -> Head {
    match status {
        200 => Head::Verdicts,
        429 => Head::Ends(Class::Limited),
        503 if retry_after => Head::Ends(Class::Overloaded),
        503 => Head::Ends(Class::Unavailable),
        504 => Head::Ends(Class::DeadlinePassed),
        400..=499 => Head::Ends(Class::ClientError),
        500..=599 => Head::Ends(Class::ServerError),
        _ => Head::Ends(Class::BadReply),
    }
}

/// Requests by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally([u64; Class::COUNT]);

impl Tally {
    /// Counts one request.
    pub(crate) fn add(&mut self, class: Class) {
        self.0[class as usize] += 1;
    }

    /// Requests that ended in `class`.
    pub fn get(&self, class: Class) -> u64 {
        self.0[class as usize]
    }

    /// Requests in all classes: the number that was intended.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Requests whose reply was lost or broken.
    pub fn broken_promises(&self) -> u64 {
        self.sum(Class::breaks_promise)
    }

    /// Requests whose class satisfies `wanted`.
    pub(crate) fn sum(&self, wanted: impl Fn(Class) -> bool) -> u64 {
        let classes = Class::ALL.into_iter().filter(|class| wanted(*class));
        classes.map(|class| self.get(class)).sum()
    }

    /// The classes that occurred, with their counts.
    pub fn present(&self) -> impl Iterator<Item = (Class, u64)> {
        let all = Class::ALL.into_iter().map(|class| (class, self.get(class)));
        all.filter(|(_, count)| *count > 0)
    }
}

/// The classes that occurred, such as `ok 12, http_503 3`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (class, count) in self.present() {
            write!(f, "{separator}{} {count}", class.name())?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Every verdict status with its name, in the order of [`Verdicts`].
pub(crate) const STATUSES: [(Status, &str); 10] = [
    (Status::Ok, "ok"),
    (Status::Abstain, "abstain"),
    (Status::Refused, "refused"),
    (Status::Truncated, "truncated"),
    (Status::ParseError, "parse_error"),
    (Status::ToolError, "tool_error"),
    (Status::Timeout, "timeout"),
    (Status::Overloaded, "overloaded"),
    (Status::BadReference, "bad_reference"),
    (Status::InternalError, "internal_error"),
];

/// Whether a verdict counts as goodput. An abstention or a bad reference does; a verdict that
/// reports an overloaded or failed server does not.
const fn is_served(status: Status) -> bool {
    match status {
        Status::Ok
        | Status::Abstain
        | Status::Refused
        | Status::Truncated
        | Status::ParseError
        | Status::BadReference => true,
        Status::ToolError | Status::Timeout | Status::Overloaded | Status::InternalError => false,
    }
}

/// Verdicts by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verdicts {
    by_status: [u64; STATUSES.len()],
    cached: u64,
}

impl Verdicts {
    /// Counts one verdict, and whether the server's cache gave it.
    pub(crate) fn add(&mut self, status: Status, cached: bool) {
        self.by_status[status as usize] += 1;
        self.cached += u64::from(cached);
    }

    /// Counts all of `other` too.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.by_status.iter_mut().zip(other.by_status) {
            *mine += theirs;
        }
        self.cached += other.cached;
    }

    /// Verdicts with this status.
    pub fn get(&self, status: Status) -> u64 {
        self.by_status[status as usize]
    }

    /// Verdicts that the server's cache gave.
    pub fn cached(&self) -> u64 {
        self.cached
    }

    /// Verdicts of every status.
    pub fn total(&self) -> u64 {
        self.by_status.iter().sum()
    }

    /// Served verdicts: all but `tool_error`, `timeout`, `overloaded` and `internal_error`.
    pub fn served(&self) -> u64 {
        let served = STATUSES.into_iter().filter(|(status, _)| is_served(*status));
        served.map(|(status, _)| self.get(status)).sum()
    }

    /// The statuses that occurred, with their names and counts.
    pub fn present(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = STATUSES.into_iter().map(|(status, name)| (name, self.get(status)));
        all.filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_classified() {
        let table = [
            (200, false, Head::Verdicts),
            (200, true, Head::Verdicts),
            (201, false, Head::Ends(Class::BadReply)),
            (204, false, Head::Ends(Class::BadReply)),
            (302, false, Head::Ends(Class::BadReply)),
            (400, false, Head::Ends(Class::ClientError)),
            (401, false, Head::Ends(Class::ClientError)),
            (404, true, Head::Ends(Class::ClientError)),
            (422, false, Head::Ends(Class::ClientError)),
            (429, false, Head::Ends(Class::Limited)),
            (429, true, Head::Ends(Class::Limited)),
            (500, false, Head::Ends(Class::ServerError)),
            (502, true, Head::Ends(Class::ServerError)),
            (503, true, Head::Ends(Class::Overloaded)),
            (503, false, Head::Ends(Class::Unavailable)),
            (504, true, Head::Ends(Class::DeadlinePassed)),
            (599, false, Head::Ends(Class::ServerError)),
            (600, false, Head::Ends(Class::BadReply)),
        ];
        for (status, retry_after, expected) in table {
            assert_eq!(classify(status, retry_after), expected, "{status} {retry_after}");
        }
    }

    #[test]
    fn tables_are_in_the_order_of_their_enums() {
        for (slot, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, slot, "{}", class.name());
        }
        for (slot, (status, name)) in STATUSES.into_iter().enumerate() {
            assert_eq!(status as usize, slot, "{name}");
            let wire = serde_json::to_value(status).expect("a status serialises");
            assert_eq!(wire, name);
        }
    }

    #[test]
    fn tallies_add_up() {
        let mut tally = Tally::default();
        for (times, class) in Class::ALL.into_iter().enumerate() {
            (0..times).for_each(|_| tally.add(class));
        }
        assert_eq!(tally.total(), 78);
        assert_eq!(tally.present().count(), Class::COUNT - 1);
        assert_eq!(tally.broken_promises(), 8 + 12);
        let latency = tally.sum(Class::is_latency);
        let refusal = tally.sum(Class::is_refusal);
        assert_eq!((latency, refusal), (1 + 9 + 10, 2 + 3 + 4 + 5));
    }

    #[test]
    fn only_completed_work_counts_as_served() {
        let mut verdicts = Verdicts::default();
        for (status, _) in STATUSES {
            verdicts.add(status, status == Status::Ok);
        }
        let mut twice = verdicts;
        twice.merge(&verdicts);
        assert_eq!((twice.total(), twice.served(), twice.cached()), (20, 12, 2));
    }
}
