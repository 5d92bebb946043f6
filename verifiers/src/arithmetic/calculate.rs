//! One expression as a calculator reads it: all of the text, or nothing.

use super::exact::Exact;
use super::expr::Parsed;
use super::lex;
use super::parse::parse;
use super::token::Lexed;
use super::value::{self, NoValue, Reading};
use super::words::Vocabulary;
use crate::Fuel;

/// Reason why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotComputed {
    /// It is not one arithmetic expression from its first character to its last.
    #[error("this is not one arithmetic expression of numbers, + - * / ^ % and brackets")]
    NotArithmetic,
    /// It divides by zero.
    #[error("this divides by zero")]
    DividesByZero,
    /// Its value is no rational number, or has none.
    #[error("this has no rational value")]
    NotRational,
    /// The numbers are too large, or the text is too long.
    #[error("this is too costly to compute")]
    TooCostly,
}

impl From<NoValue> for NotComputed {
    fn from(reason: NoValue) -> Self {
        match reason {
            NoValue::DividesByZero => Self::DividesByZero,
            NoValue::NotRational => Self::NotRational,
            NoValue::TooCostly => Self::TooCostly,
        }
    }
}

/// Returns the exact value of an expression: `2 * (3 + 1/4)`, `20% of 50`, `2^10` or `2**10`.
///
/// Strict where a step of a solution is read with patience: units, names, currency signs and
/// anything that could be read in two ways have no value here.
///
/// # Errors
/// [`NotComputed`].
pub fn evaluate(expression: &str, fuel: &mut Fuel) -> Result<Exact, NotComputed> {
    let text = expression.trim().replace("**", "^");
    let too_costly = |_| NotComputed::TooCostly;
    fuel.spend(1 + text.len() as u64 / 8).map_err(too_costly)?;
    let mut lexed = Lexed::default();
    lex::lex(&text, &Vocabulary::new(), &mut lexed);
    fuel.spend(lexed.tokens.len() as u64 / 4).map_err(too_costly)?;
    let mut parsed = Parsed::default();
    parse(&lexed, &mut parsed);
    let [whole] = &parsed.exprs[..] else {
        return Err(NotComputed::NotArithmetic);
    };
    let is_all = whole.tokens == (0..lexed.tokens.len()) && lexed.annotations.is_empty();
    let is_plain = whole.traits.doubt.is_none() && !whole.traits.currency;
    if !is_all || !is_plain || !parsed.units_of(whole).is_empty() {
        return Err(NotComputed::NotArithmetic);
    }
    let code = parsed.code_of(whole);
    let value = value::evaluate(code, &lexed.numerals, Reading::Plain, &mut Vec::new(), fuel)?;
    Ok(Exact(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: Result<&str, NotComputed>) {
        let value = evaluate(expression, &mut Fuel::default());
        let value = value.map(|value| value.to_string());
        assert_eq!(value, expected.map(str::to_owned), "{expression}");
    }

    #[test]
    fn whole_expressions_have_exact_values() {
        check("2 * (3 + 1/4)", Ok("6.5"));
        check("0.1 + 0.2", Ok("0.3"));
        check("-7", Ok("-7"));
        check(" 10 / 4 \n", Ok("2.5"));
        check("1/3", Ok("1/3"));
        check("2^10", Ok("1024"));
        check("2**10", Ok("1024"));
        check("1,000 + 1", Ok("1001"));
        check("((((1))))", Ok("1"));
    }

    #[test]
    fn other_texts_have_no_value() {
        for text in [
            "",
            "   ",
            "abc",
            "2 +",
            "2 3",
            "x + 1",
            "2 = 2",
            "1; 2",
            "import os",
            "$5",
            "2e-5",
            "5 apples",
            "1\n\n2",
            "(1",
            "1)",
            "2 + 3 and 4",
            "<<1+1=2>>",
        ] {
            check(text, Err(NotComputed::NotArithmetic));
        }
        check("1/0", Err(NotComputed::DividesByZero));
        check("2^0.5", Err(NotComputed::NotRational));
        check("9^(9^9)", Err(NotComputed::TooCostly));
        check("9^9^9", Err(NotComputed::NotArithmetic));
        check(&"1+".repeat(2_000_000), Err(NotComputed::TooCostly));
    }
}
