//! Number literals: exact decimals, thousands, powers of ten, repeating decimals.

use dashu::base::Abs;
use dashu::rational::RBig;

use crate::fuel::{Exhausted, Fuel};
use crate::number;

/// A literal as written: slices of the text, so that nothing is built before it is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Literal<'a> {
    /// Digits before the point, with the separators of thousands.
    pub(super) whole: &'a str,
    /// Digits after the point that do not repeat.
    pub(super) fraction: Option<&'a str>,
    /// Digits that repeat for ever, among marks that are no digits.
    pub(super) repeat: Option<&'a str>,
    /// The power of ten: a sign or none, and digits.
    pub(super) exponent: Option<&'a str>,
}

impl Literal<'_> {
    /// An integer of digits alone.
    pub(super) fn is_integer(&self) -> bool {
        self.fraction.is_none() && self.repeat.is_none() && self.exponent.is_none()
    }

    /// Returns whether it is digits and nothing else: no separators, no point.
    pub(super) fn is_digits(&self) -> bool {
        self.is_integer() && self.whole.bytes().all(|b| b.is_ascii_digit())
    }

    /// Returns the power of ten of the last digit, where a decimal point was written and nothing
    /// repeats.
    pub(super) fn last_digit(&self) -> Option<i32> {
        let decimals = i32::try_from(self.fraction?.len()).ok()?;
        let exponent = self.exponent.map_or(Some(0), parse_exponent)?;
        self.repeat.is_none().then(|| exponent.checked_sub(decimals))?
    }

    /// Returns the exact value.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel does not pay for its digits.
    pub(super) fn value(&self, fuel: &mut Fuel) -> Result<RBig, Exhausted> {
        let written = self.fraction.unwrap_or("");
        let repeated = digits(self.repeat.unwrap_or(""));
        let len = self.whole.len() + written.len() + repeated.len();
        fuel.spend(number::cost(len) / 8)?;
        if repeated.is_empty() && self.exponent.is_none() && len <= 18 {
            return Ok(small(self.whole, written));
        }
        let mut all = digits(self.whole);
        all.push_str(written);
        if all.is_empty() {
            all.push('0');
        }
        let mut value = number::decimal(&all, written.len());
        if !repeated.is_empty() {
            value += repeating(&repeated, written.len(), fuel)?;
        }
        match self.exponent {
            None => Ok(value),
            Some(_) if value.is_zero() => Ok(value),
            Some(exponent) => {
                let exponent = parse_exponent(exponent).ok_or(Exhausted)?;
                let zeros = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
                fuel.spend(number::cost(zeros.saturating_add(len)))?;
                Ok(value * number::power_of_ten(exponent))
            }
        }
    }
}

/// Returns `digits` repeated for ever, after `shift` other decimals.
fn repeating(digits: &str, shift: usize, fuel: &mut Fuel) -> Result<RBig, Exhausted> {
    fuel.spend(number::cost(digits.len() + shift))?;
    let length = i32::try_from(digits.len()).map_err(|_| Exhausted)?;
    let shift = i32::try_from(shift).map_err(|_| Exhausted)?;
    let nines = (number::power_of_ten(length) - RBig::ONE).abs();
    Ok(number::decimal(digits, 0) / nines * number::power_of_ten(-shift))
}

/// Returns a signed exponent that is worth building at all.
fn parse_exponent(text: &str) -> Option<i32> {
    let text = text.strip_prefix('+').unwrap_or(text);
    text.parse().ok().filter(|e: &i32| e.unsigned_abs() < 1 << 24)
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Returns a value of at most 18 digits.
fn small(whole: &str, fraction: &str) -> RBig {
    let mut numerator = 0u64;
    for digit in whole.bytes().chain(fraction.bytes()) {
        if digit.is_ascii_digit() {
            numerator = numerator * 10 + u64::from(digit - b'0');
        }
    }
    if fraction.is_empty() {
        return RBig::from(numerator);
    }
    let decimals = u32::try_from(fraction.len()).expect("at most 18");
    RBig::from_parts(numerator.into(), 10u64.pow(decimals).into())
}

/// The conventions that decide how digits are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct DigitRules {
    /// Whether a bare comma may separate thousands: not inside brackets, where it separates
    /// members.
    pub(super) comma_groups: bool,
    /// Whether a comma may be the decimal point.
    pub(super) decimal_comma: bool,
    /// Whether `2e-3` is the number; in a formula it is the difference of `2e` and 3.
    pub(super) signed_exponent: bool,
}

/// The result of [`scan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scanned<'a> {
    pub(super) literal: Literal<'a>,
    /// Bytes read.
    pub(super) len: usize,
    /// Whether a comma was read as a decimal point.
    pub(super) decimal_comma: bool,
}

/// Returns the literal at the start of `text`, which starts with a digit or with a point and a
/// digit. `None` if separators contradict each other, as in `1 234,567`.
pub(super) fn scan(text: &str, rules: DigitRules) -> Option<Scanned<'_>> {
    let mut end = digits_from(text, 0);
    let mut separator = "";
    if (1..=3).contains(&end) && !text.starts_with('0') {
        (end, separator) = grouped(text, end, rules);
    }
    let mut literal = Literal { whole: &text[..end], fraction: None, repeat: None, exponent: None };
    let mut decimal_comma = false;
    let rest = &text[end..];
    let after = digits_from(text, end + 1);
    if rest.starts_with('.') {
        (literal, end) = decimals(text, literal, end);
        decimal_comma = rules.decimal_comma && european(text, &mut literal, &mut end);
    } else if rest.starts_with(',') && after > end + 1 {
        if separator == " " {
            return None;
        }
        if rules.decimal_comma && separator.is_empty() {
            literal.fraction = Some(&text[end + 1..after]);
            end = after;
            decimal_comma = true;
        }
    }
    end = scientific(text, &mut literal, end, rules);
    Some(Scanned { literal, len: end, decimal_comma })
}

/// Reads `1.234,56` where the comma is the decimal point: undoes the reading of the point.
fn european<'a>(text: &'a str, literal: &mut Literal<'a>, end: &mut usize) -> bool {
    let groups = literal.fraction.map_or(0, str::len);
    let after = digits_from(text, *end + 1);
    let is_european = groups == 3 && text[*end..].starts_with(',') && after > *end + 1;
    if is_european {
        literal.whole = &text[..*end];
        literal.fraction = Some(&text[*end + 1..after]);
        *end = after;
    }
    is_european
}

/// Separators of thousands.
const SEPARATORS: [&str; 8] = [",\\!", "{,}\\!", "{,}", "\\,", "\\ ", "~", ",", " "];

/// Returns the end of the groups of three digits after `first` digits, and what separates them.
fn grouped(text: &str, first: usize, rules: DigitRules) -> (usize, &'static str) {
    let rest = &text[first..];
    let Some(separator) = SEPARATORS.into_iter().find(|s| rest.starts_with(s)) else {
        return (first, "");
    };
    if separator == "," && !rules.comma_groups {
        return (first, "");
    }
    let mut end = first;
    while let Some(group) = text[end..].strip_prefix(separator) {
        let blank = if separator.len() > 1 { group.trim_start() } else { group };
        let start = text.len() - blank.len();
        let stop = digits_from(text, start);
        if stop != start + 3 {
            // A run of digits and commas is one number, or a list, but no mixture of both.
            let is_list = separator == "," && stop > start;
            return if is_list { (first, "") } else { (end, separator) };
        }
        // `2 125/250` is a mixed number.
        if separator == " " && text[stop..].trim_start().starts_with('/') {
            break;
        }
        end = stop;
    }
    if end == first { (first, "") } else { (end, separator) }
}

/// Returns the decimals after the point at `at`, repeating ones among them.
fn decimals<'a>(text: &'a str, mut literal: Literal<'a>, at: usize) -> (Literal<'a>, usize) {
    let end = digits_from(text, at + 1);
    let fraction = &text[at + 1..end];
    let rest = &text[end..];
    let is_bracketed = fraction.is_empty() || literal.whole == "0";
    for (open, close) in [("\\overline{", "}"), ("\\bar{", "}"), ("(", ")")] {
        let Some(inner) = rest.strip_prefix(open) else {
            continue;
        };
        let start = text.len() - inner.len();
        let stop = digits_from(text, start);
        if stop > start && text[stop..].starts_with(close) && (open != "(" || is_bracketed) {
            literal.fraction = Some(fraction);
            literal.repeat = Some(&text[start..stop]);
            return (literal, stop + 1);
        }
    }
    if let Some(stop) = dotted(rest) {
        literal.fraction = Some(fraction);
        literal.repeat = Some(&rest[..stop]);
        return (literal, end + stop);
    }
    if fraction.is_empty() {
        return (literal, at);
    }
    literal.fraction = Some(fraction);
    (literal, end)
}

/// Returns the end of `\dot3` or `\dot{1}4285\dot{7}`.
fn dotted(text: &str) -> Option<usize> {
    let first = dot(text)?;
    let between = digits_from(text, first);
    match dot(&text[between..]) {
        Some(last) => Some(between + last),
        None => Some(first),
    }
}

/// Returns the length of `\dot3`, `\dot{3}` or `\dot 3`.
fn dot(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("\\dot")?.trim_start();
    let braced = rest.strip_prefix('{');
    let digit = braced.unwrap_or(rest);
    if !digit.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let after = &digit[1..];
    let after = if braced.is_some() { after.strip_prefix('}')? } else { after };
    Some(text.len() - after.len())
}

/// Returns the power of ten, where one follows.
fn scientific<'a>(
    text: &'a str,
    literal: &mut Literal<'a>,
    end: usize,
    rules: DigitRules,
) -> usize {
    let rest = &text[end..];
    if !rest.starts_with(['e', 'E']) {
        return end;
    }
    let signed = &rest[1..];
    let has_sign = signed.starts_with(['+', '-']);
    let start = end + 1 + usize::from(has_sign);
    let stop = digits_from(text, start);
    let next = text[stop..].chars().next();
    let is_name = next.is_some_and(|c| c.is_alphabetic() || matches!(c, '^' | '_' | '!'));
    let is_difference =
        has_sign && !rules.signed_exponent && rest.starts_with('e') && literal.fraction.is_none();
    if stop == start || is_name || is_difference {
        return end;
    }
    literal.exponent = Some(&text[end + 1..stop]);
    stop
}

/// Returns the end of the run of digits that starts at `from`.
fn digits_from(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = from;
    while bytes.get(end).is_some_and(u8::is_ascii_digit) {
        end += 1;
    }
    end
}
