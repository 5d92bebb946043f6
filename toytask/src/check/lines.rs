//! Lines of written solutions.

/// Maximum digits of a number.
const MOST_DIGITS: usize = 6;

/// A written step, `left operation right = value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenEquation {
    /// The left operand.
    pub left: i64,
    /// `+`, `-`, `*` or `/`.
    pub symbol: char,
    /// The right operand.
    pub right: i64,
    /// The stated result.
    pub value: i64,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionLine {
    /// A step.
    Equation(WrittenEquation),
    /// The result, `Answer: N`.
    Answer(i64),
    /// Anything else.
    Other,
}

impl SolutionLine {
    pub(super) fn read(text: &str) -> Self {
        if let Some(rest) = text.strip_prefix("Answer:") {
            return small_integer(rest.trim()).map_or(Self::Other, Self::Answer);
        }
        equation(text).map_or(Self::Other, Self::Equation)
    }
}

/// The lines that are not blank.
pub(super) fn lines(text: &str) -> Vec<SolutionLine> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(SolutionLine::read).collect()
}

/// Parses a natural number of few digits.
pub(super) fn small_integer(text: &str) -> Option<i64> {
    let is_number =
        (1..=MOST_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn equation(text: &str) -> Option<WrittenEquation> {
    let (operation, value) = text.split_once('=')?;
    let at = operation.find(['+', '-', '*', '/'])?;
    let symbol = char::from(operation.as_bytes()[at]);
    Some(WrittenEquation {
        left: small_integer(operation[..at].trim())?,
        symbol,
        right: small_integer(operation[at + 1..].trim())?,
        value: small_integer(value.trim())?,
    })
}

#[cfg(test)]
mod tests {
    use super::{SolutionLine, WrittenEquation};

    #[test]
    fn lines_are_read_strictly() {
        let check = |text: &str, expected: SolutionLine| {
            assert_eq!(SolutionLine::read(text), expected, "{text:?}");
        };
        let step = |left, symbol, right, value| {
            SolutionLine::Equation(WrittenEquation { left, symbol, right, value })
        };
        check("17+58=75", step(17, '+', 58, 75));
        check("17 - 58 = 59", step(17, '-', 58, 59));
        check("8/2=4", step(8, '/', 2, 4));
        check("05*4=20", step(5, '*', 4, 20));
        check("Answer: 9", SolutionLine::Answer(9));
        check("Answer:9", SolutionLine::Answer(9));
        for other in [
            "",
            "17",
            "17+58",
            "17+58=",
            "+58=75",
            "17+-5=12",
            "17+5+3=25",
            "1+2=3=3",
            "-1+2=1",
            "1+2=x",
            "Answer: nine",
            "Answer: -9",
            "answer: 9",
            "1000000+1=2",
            "１+2=3",
        ] {
            check(other, SolutionLine::Other);
        }
    }
}
