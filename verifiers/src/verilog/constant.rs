//! Constant expressions of parameters and ranges.

use std::collections::HashMap;

use super::tokens::{VerilogToken, VerilogTokenKind};

/// Parameters whose value is known.
pub(super) type Constants<'t> = HashMap<&'t str, i128>;

/// Adds the parameter of `parameter [type] [range] NAME = expression`, if its value can be told.
pub(super) fn define<'t>(item: &[VerilogToken<'t>], constants: &mut Constants<'t>) {
    let Some(equals) = item.iter().position(|token| token.is("=")) else { return };
    let Some(name) = item[..equals].iter().rev().find(|token| token.is_name()) else { return };
    if let Ok(value) = value(&item[equals + 1..], constants) {
        constants.insert(name.text, value);
    }
}

/// The bits of a range `msb:lsb`.
pub(super) fn width(
    range: &[VerilogToken<'_>],
    constants: &Constants<'_>,
) -> Result<usize, String> {
    let colon = range.iter().position(|token| token.is(":"));
    let colon = colon.ok_or("a range has no ':'")?;
    let (msb, lsb) = (value(&range[..colon], constants)?, value(&range[colon + 1..], constants)?);
    let bits = msb.abs_diff(lsb).checked_add(1).and_then(|bits| usize::try_from(bits).ok());
    bits.ok_or_else(|| "a range is too long".to_owned())
}

/// The value of an expression of numbers, parameters, `+ - * / % ** << >>`, brackets and `$clog2`.
fn value(tokens: &[VerilogToken<'_>], constants: &Constants<'_>) -> Result<i128, String> {
    let mut reader = ExpressionReader { tokens, constants, depth: 0 };
    let value = reader.binary(0)?;
    match reader.tokens.first() {
        None => Ok(value),
        Some(token) => Err(format!("'{}' is not read in a constant", token.text)),
    }
}

/// Brackets within brackets.
const MAX_DEPTH: usize = 64;

struct ExpressionReader<'a, 't> {
    tokens: &'a [VerilogToken<'t>],
    constants: &'a Constants<'a>,
    depth: usize,
}

impl<'t> ExpressionReader<'_, 't> {
    fn next(&mut self) -> Result<VerilogToken<'t>, String> {
        let (first, rest) = self.tokens.split_first().ok_or("an expression ends too soon")?;
        self.tokens = rest;
        Ok(*first)
    }

    /// The operator that comes, its rank, and how many tokens it has.
    fn operator(&self) -> Option<(&'static str, u8, usize)> {
        let text = |index: usize| self.tokens.get(index).map_or("", |token| token.text);
        match (text(0), text(1)) {
            ("*", "*") => Some(("**", 4, 2)),
            ("<", "<") => Some(("<<", 1, 2)),
            (">", ">") => Some((">>", 1, 2)),
            ("*", _) => Some(("*", 3, 1)),
            ("/", _) => Some(("/", 3, 1)),
            ("%", _) => Some(("%", 3, 1)),
            ("+", _) => Some(("+", 2, 1)),
            ("-", _) => Some(("-", 2, 1)),
            _ => None,
        }
    }

    fn binary(&mut self, least: u8) -> Result<i128, String> {
        let mut left = self.unary()?;
        while let Some((operator, rank, length)) = self.operator() {
            if rank <= least {
                break;
            }
            self.tokens = &self.tokens[length..];
            let right = self.binary(rank)?;
            let shift = u32::try_from(right).ok().filter(|shift| *shift < 64);
            left = match operator {
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                "*" => left.checked_mul(right),
                "/" => left.checked_div(right),
                "%" => left.checked_rem(right),
                "<<" => shift.and_then(|shift| left.checked_mul(1 << shift)),
                ">>" => shift.map(|shift| left >> shift),
                _ => shift.and_then(|shift| left.checked_pow(shift)),
            }
            .ok_or("a constant is too large, or divided by 0")?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i128, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("a constant has too many brackets".to_owned());
        }
        let token = self.next()?;
        let value = match token.text {
            "+" => self.unary()?,
            "-" => self.unary()?.checked_neg().ok_or("a constant is too large")?,
            "(" => self.inner()?,
            "$clog2" => {
                self.next()?;
                let of = self.inner()?;
                let of = u128::try_from(of).map_err(|_| "the logarithm of a negative number")?;
                i128::from(if of <= 1 { 0 } else { u128::BITS - (of - 1).leading_zeros() })
            }
            text if token.kind == VerilogTokenKind::Number => {
                // `8 'hff` is one number.
                let based = self.tokens.first().filter(|next| next.text.starts_with('\''));
                match based {
                    Some(based) if !text.contains('\'') => {
                        let text = based.text;
                        self.next()?;
                        number(text)?
                    }
                    _ => number(text)?,
                }
            }
            text => *self
                .constants
                .get(text)
                .ok_or_else(|| format!("'{text}' is no number and no known parameter"))?,
        };
        self.depth -= 1;
        Ok(value)
    }

    /// What comes up to the closing bracket of one that was read.
    fn inner(&mut self) -> Result<i128, String> {
        let value = self.binary(0)?;
        let close = self.next()?;
        if close.is(")") {
            Ok(value)
        } else {
            Err(format!("'{}' is not read in a constant", close.text))
        }
    }
}

/// The value of a number.
fn number(text: &str) -> Result<i128, String> {
    let fail = || format!("'{text}' is no whole number");
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let (radix, digits) = match digits.split_once('\'') {
        None => (10, digits.as_str()),
        Some((_, based)) => {
            let based = based.trim_start_matches(['s', 'S']);
            let radix = match based.chars().next().map(|base| base.to_ascii_lowercase()) {
                Some('b') => 2,
                Some('o') => 8,
                Some('d') => 10,
                Some('h') => 16,
                _ => return Err(fail()),
            };
            (radix, &based[1..])
        }
    };
    i128::from_str_radix(digits, radix).map_err(|_| fail())
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn constants_have_their_values() {
        let constants = Constants::from([("W", 8), ("N", 3)]);
        for (text, expected) in [
            ("W-1", Some(7)),
            ("2*W+N", Some(19)),
            ("W+N*2", Some(14)),
            ("W-N-1", Some(4)),
            ("2**N-1", Some(7)),
            ("(1<<N)-1", Some(7)),
            ("1<<N-1", Some(4)),
            ("W/2%3", Some(1)),
            ("$clog2(W)", Some(3)),
            ("$clog2(W+1)-1", Some(3)),
            ("$clog2(1)", Some(0)),
            ("-N+W", Some(5)),
            ("8'hF_f", Some(255)),
            ("8 'd10", Some(10)),
            ("'b101", Some(5)),
            ("X", None),
            ("W >", None),
            ("W/0", None),
            ("2**200", None),
            ("4'bx", None),
            ("", None),
            ("(W", None),
        ] {
            let found = value(&tokens(text).expect("tokens"), &constants);
            assert_eq!(found.clone().ok(), expected, "{text}: {found:?}");
        }
        let deep = format!("{}1", "(".repeat(100_000));
        assert!(value(&tokens(&deep).expect("tokens"), &constants).is_err());
    }
}
