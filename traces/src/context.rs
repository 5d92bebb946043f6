//! W3C trace contexts: the headers `traceparent`, `tracestate` and `traceresponse`.
//!
//! What does not follow the specification is ignored as it says: an invalid `traceparent` begins a
//! new trace, an invalid `tracestate` is left out.

use std::fmt::{self, Display, Formatter};

/// A trace's id, not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

/// A span's id, not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

impl TraceId {
    /// Returns the id; `None` for zero.
    pub fn new(id: u128) -> Option<TraceId> {
        (id != 0).then_some(TraceId(id))
    }

    /// Returns the lower 64 bits, by which samplers decide.
    pub fn low(self) -> u64 {
        u64::try_from(self.0 & u128::from(u64::MAX)).expect("64 bits")
    }
}

impl SpanId {
    /// Returns the id; `None` for zero.
    pub fn new(id: u64) -> Option<SpanId> {
        (id != 0).then_some(SpanId(id))
    }
}

impl Display for TraceId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Display for SpanId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The flag of a trace whose spans are recorded.
const SAMPLED: u8 = 1;
/// The flag of a trace whose id has random low bits; it is kept as it came.
const RANDOM: u8 = 2;
/// Length of a `traceparent` of version 00, and of that part of later versions.
const LENGTH: usize = 55;
/// Most bytes of a `tracestate`, and most members of it.
const STATE_BYTES: usize = 512;
const STATE_MEMBERS: usize = 32;

/// The place of a span in a trace, as one service tells it to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace_id: TraceId,
    /// The span: the caller's in a context that arrives, the own one in a context that is sent.
    pub span_id: SpanId,
    flags: u8,
    state: Option<Box<str>>,
}

impl TraceContext {
    /// A context of `trace_id`, with the random flag and the state of `parent`.
    pub(crate) fn new(
        trace_id: TraceId,
        span_id: SpanId,
        sampled: bool,
        parent: Option<&TraceContext>,
    ) -> TraceContext {
        let random = parent.map_or(0, |parent| parent.flags & RANDOM);
        let flags = random | if sampled { SAMPLED } else { 0 };
        let state = parent.and_then(|parent| parent.state.clone());
        TraceContext { trace_id, span_id, flags, state }
    }

    /// Reads the context of a request from the values of its `traceparent` and `tracestate` headers;
    /// `None` unless there is one valid `traceparent`.
    pub fn read<'a>(
        mut parents: impl Iterator<Item = &'a [u8]>,
        states: impl Iterator<Item = &'a [u8]>,
    ) -> Option<TraceContext> {
        let (Some(parent), None) = (parents.next(), parents.next()) else {
            return None;
        };
        let context = read_parent(parent)?;
        Some(TraceContext { state: read_state(states), ..context })
    }

    /// Returns the context of another span of the same trace.
    #[must_use]
    pub fn with_span(&self, span_id: SpanId) -> TraceContext {
        TraceContext { span_id, ..self.clone() }
    }

    /// Whether the spans of the trace are recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Returns the flags as a byte.
    pub(crate) fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns the value of the header `traceparent` of a call, or of `traceresponse` of a reply.
    pub fn header(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace_id, self.span_id, self.flags)
    }

    /// Returns the value of the header `tracestate` of a call, as it arrived.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// Reads `version-trace id-span id-flags` in lower-case hexadecimal.
fn read_parent(value: &[u8]) -> Option<TraceContext> {
    let version = hex(value.get(..2)?)?;
    // Later versions may add fields after the four known ones; version ff is forbidden.
    let ends_well = match (version, value.get(LENGTH)) {
        (0xff, _) | (0, Some(_)) => false,
        (_, None) => true,
        (_, Some(byte)) => *byte == b'-',
    };
    let dashes = [2, 35, 52].into_iter().all(|at| value.get(at) == Some(&b'-'));
    if !ends_well || !dashes {
        return None;
    }
    let flags = u8::try_from(hex(value.get(53..LENGTH)?)?).ok()?;
    Some(TraceContext {
        trace_id: TraceId::new(hex(value.get(3..35)?)?)?,
        span_id: SpanId::new(u64::try_from(hex(value.get(36..52)?)?).ok()?)?,
        flags: flags & (SAMPLED | RANDOM),
        state: None,
    })
}

/// The number of at most 32 lower-case hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number: u128, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

/// Joins the members of all `tracestate` headers; `None` where there are none, where one is invalid
/// or a key is there twice, and beyond the limits.
fn read_state<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<Box<str>> {
    let mut joined = String::new();
    let mut keys: Vec<&str> = Vec::new();
    for value in values {
        // White space and empty members do not count, but a list of them is not read to its end.
        let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= 8 * STATE_BYTES)?;
        for member in text.split(',').map(|member| member.trim_matches([' ', '\t'])) {
            if member.is_empty() {
                continue;
            }
            let (key, value) = member.split_once('=')?;
            let more = keys.len() < STATE_MEMBERS && joined.len() + member.len() < STATE_BYTES;
            if !more || !is_key(key) || !is_value(value) || keys.contains(&key) {
                return None;
            }
            keys.push(key);
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(member);
        }
    }
    (!joined.is_empty()).then(|| joined.into())
}

fn is_key(key: &str) -> bool {
    let known =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte);
    let first = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    key.len() <= 256 && key.as_bytes().first().is_some_and(first) && key.bytes().all(known)
}

fn is_value(value: &str) -> bool {
    let known = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
    (1..=256).contains(&value.len()) && value.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    /// Reads headers; the context as it would be passed on.
    fn read(parents: &[&str], states: &[&str]) -> Option<(String, Option<String>)> {
        let bytes = |values: &[&str]| -> Vec<Vec<u8>> {
            values.iter().map(|value| value.as_bytes().to_vec()).collect()
        };
        let (parents, states) = (bytes(parents), bytes(states));
        let context = TraceContext::read(
            parents.iter().map(Vec::as_slice),
            states.iter().map(Vec::as_slice),
        )?;
        Some((context.header(), context.state().map(str::to_owned)))
    }

    #[test]
    fn valid_parents_are_taken_and_others_ignored() {
        let check = |parents: &[&str], expected: Option<&str>| {
            let found = read(parents, &[]).map(|(header, _)| header);
            let expected = expected.map(|flags| format!("00-{TRACE}-{SPAN}-{flags}"));
            assert_eq!(found, expected, "{parents:?}");
        };
        let of = |version: &str, trace: &str, span: &str, rest: &str| {
            format!("{version}-{trace}-{span}-{rest}")
        };
        check(&[&of("00", TRACE, SPAN, "01")], Some("01"));
        check(&[&of("00", TRACE, SPAN, "00")], Some("00"));
        // Flags that are not known are not passed on.
        check(&[&of("00", TRACE, SPAN, "03")], Some("03"));
        check(&[&of("00", TRACE, SPAN, "ff")], Some("03"));
        check(&[&of("00", TRACE, SPAN, "fc")], Some("00"));
        // Of later versions the known part is read.
        check(&[&of("cc", TRACE, SPAN, "01")], Some("01"));
        check(&[&of("cc", TRACE, SPAN, "01-what-comes")], Some("01"));
        check(&[&of("cc", TRACE, SPAN, "01.what-comes")], None);
        check(&[&of("00", TRACE, SPAN, "01-what-comes")], None);
        check(&[&of("ff", TRACE, SPAN, "01")], None);
        check(&[&of("00", &TRACE.to_uppercase(), SPAN, "01")], None);
        check(&[&of("00", TRACE, &SPAN.to_uppercase(), "01")], None);
        check(&[&of("00", TRACE, SPAN, "0A")], None);
        check(&[&of("0A", TRACE, SPAN, "01")], None);
        check(&[&of("00", &"0".repeat(32), SPAN, "01")], None);
        check(&[&of("00", TRACE, &"0".repeat(16), "01")], None);
        check(&[&of("00", &TRACE[1..], SPAN, "01")], None);
        check(&[&of("00", &format!("{TRACE}0"), SPAN, "01")], None);
        check(&[&of("00", &"g".repeat(32), SPAN, "01")], None);
        check(&[&of("00", TRACE, SPAN, "1")], None);
        check(&[&format!("00_{TRACE}_{SPAN}_01")], None);
        check(&[&"0".repeat(1 << 20)], None);
        check(&[&of("01", TRACE, SPAN, &format!("01-{}", "x".repeat(1 << 20)))], Some("01"));
        check(&["\u{e9}"; 1], None);
        check(&[""], None);
        check(&[], None);
        let good = of("00", TRACE, SPAN, "01");
        check(&[&good, &good], None);
    }

    #[test]
    fn valid_states_are_passed_on_and_others_left_out() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let check = |states: &[&str], expected: Option<&str>| {
            let found = read(&[&parent], states).expect("the parent is valid").1;
            assert_eq!(found.as_deref(), expected, "{states:?}");
        };
        check(&[], None);
        check(&[""], None);
        check(&["a=1"], Some("a=1"));
        check(&["a=1,b=2"], Some("a=1,b=2"));
        check(&["a=1", "b=2"], Some("a=1,b=2"));
        check(&[" a=1 ,\t,, b=x y "], Some("a=1,b=x y"));
        check(&["1tenant@sys-tem_*/=v"], Some("1tenant@sys-tem_*/=v"));
        check(&["A=1"], None);
        check(&["@a=1"], None);
        check(&["a=1,a=2"], None);
        check(&["a=1", "a=1"], None);
        check(&["a"], None);
        check(&["=1"], None);
        check(&["a="], None);
        check(&["a=b=c"], None);
        check(&["a=\u{e9}"], None);
        check(&["a=x\ty"], None);
        let numbered = |count: usize| -> String {
            let members: Vec<String> = (0..count).map(|at| format!("k{at}=v")).collect();
            members.join(",")
        };
        check(&[&numbered(32)], Some(&numbered(32)));
        check(&[&numbered(33)], None);
        let long = format!("a={}", "x".repeat(256));
        check(&[&long], Some(&long));
        check(&[&format!("{long}x")], None);
        check(&[&format!("{long},b={}", "x".repeat(256))], None);
        check(&[&",".repeat(1 << 20)], None);
    }
}
