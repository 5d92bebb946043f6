//! The cost of a regular expression, computed before it is compiled.
//!
//! The engine is linear in the text for a fixed pattern, but the factor is the pattern's: up to
//! about ten nanoseconds a byte for each of its positions, of which `[ab]*a[ab]{3000}` has 3,000.
//! Counting them first lets a verdict pay for the pattern that it really runs, and refuses a
//! pattern whose counted repetitions multiply, such as `(a{1000}){1000}`, without building it.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Deepest nesting of groups, also the bound of the recursion here.
pub(crate) const NEST_LIMIT: u32 = 64;
/// Largest compiled program of one pattern, in bytes. Unicode classes are large: `\w{1,64}` takes
/// more than 1 MiB.
pub(crate) const SIZE_LIMIT: usize = 4 << 20;
/// Longest pattern, in bytes.
const MAX_BYTES: usize = 16 << 10;
/// Most positions.
const MAX_POSITIONS: u64 = 32_768;
/// Positions of a class that reaches beyond ASCII: a character of it takes up to four bytes.
const WIDE_POSITIONS: u64 = 4;
/// Units of reading one byte of a pattern.
const UNITS_PER_BYTE: u64 = 10;
/// Units of reading one class escape such as `\w` or `\p{Greek}`: each is a table of ranges, which
/// flags and set operations walk through.
const UNITS_PER_ESCAPE: u64 = 300;

/// The size of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PatternCost {
    /// Places that a match can stand at: one a literal byte, one or [`WIDE_POSITIONS`] a class,
    /// counted as often as it may repeat. Bounds the work for one byte of text.
    pub(crate) positions: u64,
    /// Ranges of all classes and bytes of all literals, counted as often as they may repeat.
    /// Bounds the compiled program.
    ranges: u64,
}

impl PatternCost {
    /// Returns the cost of `pattern`.
    ///
    /// # Errors
    /// The message for people, where the pattern does not parse or is beyond the limits.
    pub(crate) fn of(pattern: &str) -> Result<Self, String> {
        check_length(pattern)?;
        let hir = parse_pattern(pattern, Tables::Unicode)?;
        Self::measured(&hir).within_limits()
    }

    /// Returns the cost of a pattern of JSON Schema, which is translated before it is compiled: its
    /// `\w` is ASCII, and some of its syntax does not parse here. Every repetition is then assumed
    /// to apply to the complete pattern, and every byte to be a class.
    ///
    /// # Errors
    /// The message for people, where the pattern is beyond the limits.
    pub(crate) fn guess(pattern: &str) -> Result<Self, String> {
        check_length(pattern)?;
        let hir = parse_pattern(pattern, Tables::Ascii)
            .or_else(|_| parse_pattern(pattern, Tables::Unicode));
        if let Ok(hir) = hir {
            return Self::measured(&hir).within_limits();
        }
        let bytes = pattern.len() as u64;
        let positions = pattern
            .split('{')
            .skip(1)
            .filter_map(largest_count)
            .fold(bytes.max(1), u64::saturating_mul);
        Self { positions, ranges: positions.saturating_mul(8) }.within_limits()
    }

    fn measured(hir: &Hir) -> Self {
        let (positions, ranges) = positions_and_ranges(hir);
        Self { positions, ranges }
    }

    fn within_limits(self) -> Result<Self, String> {
        if self.positions > MAX_POSITIONS {
            return Err(format!(
                "its repetitions multiply to {} positions, at most {MAX_POSITIONS} allowed",
                self.positions
            ));
        }
        Ok(self)
    }

    /// Returns the fuel units of finding out what `pattern` costs, and of parsing it again to
    /// compile it.
    pub(crate) fn reading_units(pattern: &str) -> u64 {
        let escapes = pattern
            .as_bytes()
            .windows(2)
            .filter(|pair| pair[0] == b'\\' && b"pPwWdDsS".contains(&pair[1]))
            .count() as u64;
        100 + pattern.len() as u64 * UNITS_PER_BYTE + escapes * UNITS_PER_ESCAPE
    }

    /// Returns the fuel units of compiling the pattern.
    pub(crate) fn compile_units(self) -> u64 {
        self.ranges.saturating_mul(3)
    }

    /// Returns the fuel units of searching `len` bytes.
    ///
    /// A position is charged a tenth of what it costs at worst, because most patterns run as an
    /// automaton that does not look at positions at all. A verdict under a pattern made to be slow
    /// can so take ten times as long as its fuel says.
    pub(crate) fn search_units(self, len: usize) -> u64 {
        let len = len as u64;
        1 + len / 16 + len.saturating_mul(self.positions) / 100
    }
}

fn check_length(pattern: &str) -> Result<(), String> {
    let len = pattern.len();
    if len > MAX_BYTES {
        return Err(format!("{len} bytes long, at most {MAX_BYTES} allowed"));
    }
    Ok(())
}

/// The character classes that `\w` and its kin stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tables {
    Unicode,
    Ascii,
}

fn parse_pattern(pattern: &str, tables: Tables) -> Result<Hir, String> {
    let unicode = tables == Tables::Unicode;
    ParserBuilder::new()
        .nest_limit(NEST_LIMIT)
        .unicode(unicode)
        .utf8(unicode)
        .build()
        .parse(pattern)
        .map_err(|error| error.to_string())
}

/// Positions and ranges. Recursion is bounded by [`NEST_LIMIT`].
fn positions_and_ranges(hir: &Hir) -> (u64, u64) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (1, 1),
        HirKind::Literal(literal) => {
            let bytes = literal.0.len() as u64;
            (bytes, bytes)
        }
        HirKind::Class(Class::Unicode(class)) => {
            let wide = class.ranges().last().is_some_and(|last| !last.end().is_ascii());
            let positions = if wide { WIDE_POSITIONS } else { 1 };
            (positions, class.ranges().len() as u64)
        }
        HirKind::Class(Class::Bytes(class)) => {
            let wide = class.ranges().last().is_some_and(|last| !last.end().is_ascii());
            let positions = if wide { WIDE_POSITIONS } else { 1 };
            (positions, class.ranges().len() as u64)
        }
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min).max(1);
            let (positions, ranges) = positions_and_ranges(&repetition.sub);
            let copies = u64::from(copies);
            (positions.saturating_mul(copies), ranges.saturating_mul(copies))
        }
        HirKind::Capture(capture) => positions_and_ranges(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .map(positions_and_ranges)
            .fold((0, 0), |sum, part| (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1))),
    }
}

/// Returns the larger count of `n}`, `n,}` or `n,m}` at the start of `text`; `None` if it is no
/// count.
fn largest_count(text: &str) -> Option<u64> {
    let inside = text.split_once('}')?.0;
    let counts = inside.split(',').filter(|count| !count.is_empty());
    counts.map(|count| count.parse::<u64>().unwrap_or(u64::MAX)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_repetitions() {
        for (pattern, positions) in [
            ("abc", 3),
            ("[a-z]+", 1),
            ("(?:ab|c)*d", 4),
            ("a{3,5}", 5),
            ("a{3,}", 3),
            ("(a{100}){100}", 10_000),
            (r"\w{64}\b", 257),
            (".*", 4),
            ("(?-u:\\w)+", 1),
            ("", 1),
        ] {
            assert_eq!(PatternCost::of(pattern).map(|c| c.positions), Ok(positions), "{pattern}");
        }
    }

    #[test]
    fn costly_patterns_are_refused_before_compilation() {
        for pattern in [
            "(a{1000}){1000}",
            "((a{100}){100}){100}",
            &"a".repeat(20_000),
            &"(".repeat(100_000),
            &format!("{}a{}", "(".repeat(100), ")".repeat(100)),
            "(((((((a{1000}){1000}){1000}){1000}){1000}){1000}){1000}){1000}",
        ] {
            assert!(PatternCost::of(pattern).is_err(), "{pattern:.40}");
            assert!(PatternCost::guess(pattern).is_err() || pattern.len() < 300, "{pattern:.40}");
        }
        assert!(PatternCost::guess("(?=a{1000}b{1000})").is_err());
        for (pattern, positions) in [(r"^\w{64}$", 66), (r"\p{L}{2}", 8), (".", 4)] {
            let guessed = PatternCost::guess(pattern);
            assert_eq!(guessed.map(|c| c.positions), Ok(positions), "{pattern}");
        }
        assert_eq!(PatternCost::guess("^[^[\\]]{9}$").map(|c| c.positions), Ok(99));
    }
}
