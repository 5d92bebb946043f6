//! Formulas that nothing encloses: `e = c/a = 0.8`, `½ ln|x − 1| + C`, `3.14 < π < 22/7`.
//!
//! A formula is a run of operands with operators between them on one line. Letters are operands one
//! by one, so that words end it. What a lone number or `x = 5` says is read without this.

use std::ops::Range;

use super::super::tail;

/// The longest such formula, in bytes.
const MAX_BYTES: usize = 160;
/// Brackets that may be open at once.
const MAX_OPEN: usize = 16;

/// Functions that prose writes without a backslash.
pub(super) const FUNCTIONS: [&str; 23] = [
    "ln", "log", "lg", "exp", "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos",
    "arctan", "sinh", "cosh", "tanh", "sqrt", "gcd", "lcm", "det", "sen", "tg", "arctg",
];

/// Words and units of two letters, which are no products.
const SHORT_WORDS: [&str; 34] = [
    "am", "an", "as", "at", "be", "by", "cm", "do", "eq", "ft", "go", "he", "if", "in", "is", "it",
    "kg", "km", "lb", "me", "mg", "ml", "mm", "ms", "my", "no", "of", "on", "or", "oz", "so", "to",
    "we", "pm",
];

const OPERATORS: &str = "+-−*/·×÷^=<>≤≥≠≈±∈∪∩∖≡";
const RELATIONS: &str = "=<>≤≥≠≈∈≡";
/// Signs that may stand before an operand.
const SIGNS: &str = "-−±√∫";

/// The state of a scan.
struct Scan<'t> {
    text: &'t str,
    at: usize,
    open: Vec<char>,
    /// Whether an operand must come next.
    wants_operand: bool,
    /// Whether white space stands before the next character.
    is_apart: bool,
    operands: usize,
    /// Operators with white space on both sides, other than a minus sign.
    spaced: usize,
    operators: usize,
    /// Letters, roots, functions and superscripts.
    symbols: usize,
    /// Where the last complete formula ends, with its counts of operands and operators.
    complete: (usize, usize, usize),
}

/// Returns the formula that begins at `at`, if it is more than a value with its name.
pub(super) fn formula(text: &str, at: usize, window: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[at..window.end];
    // Most positions are at the start of a word, or at a mark that opens nothing.
    if opens_word(rest) || rest.starts_with(is_ideograph) {
        return None;
    }
    let is_inside_word = text[window.start..at]
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || c == '\\');
    if is_inside_word {
        return None;
    }
    // `- x = 1` is a line of a list.
    let before = text[window.start..at].trim_end_matches([' ', '\t']);
    let opens_line = before.is_empty() || before.ends_with('\n');
    if is_label(rest) || opens_line && rest.starts_with("- ") {
        return None;
    }
    let mut limit = rest.len().min(MAX_BYTES);
    while !rest.is_char_boundary(limit) {
        limit -= 1;
    }
    let line = &rest[..limit];
    let line = &line[..line.find('\n').unwrap_or(limit)];
    let mut scan = Scan {
        text: line,
        at: 0,
        open: Vec::new(),
        wants_operand: true,
        is_apart: false,
        operands: 0,
        spaced: 0,
        operators: 0,
        symbols: 0,
        complete: (0, 0, 0),
    };
    while scan.step().is_some() {
        if scan.open.is_empty() && !scan.wants_operand {
            scan.complete = (scan.at, scan.operands, scan.operators);
        }
    }
    let (end, operands, operators) = scan.complete;
    let inner = &scan.text[..end];
    let is_arithmetic = scan.symbols > 0 || scan.spaced > 0;
    // `m/s` is a unit.
    let has_number = inner.contains(tail::is_digit) || inner.contains(|c| RELATIONS.contains(c));
    let is_computed = operands > 1 && is_arithmetic && !is_named_number(inner);
    // `O(n log n)`, `2√(ab)`
    let is_order =
        ["O(", "Θ(", "Ω("].iter().any(|open| inner.starts_with(open)) && inner.ends_with(')');
    let is_root = has_number && inner.contains("√(");
    let is_formula = is_computed && (operators > 0 && has_number || is_order || is_root);
    // `x ≡ 5 (mod 7)`
    let modulus = scan.text[end..].strip_prefix(" (mod ").filter(|_| inner.contains('≡'));
    let modulus =
        modulus.and_then(|rest| rest.find(')')).map_or(0, |shut| " (mod ".len() + shut + 1);
    is_formula.then_some(at..at + end + modulus)
}

/// Returns whether `text` opens with a word of two ASCII letters or more that is no function, or with a
/// mark of prose.
fn opens_word(text: &str) -> bool {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    match letters {
        0 => text.starts_with(['.', ',', ':', ';', '!', '?', ')', '"', '\'']),
        1 => false,
        _ => !FUNCTIONS.contains(&&text[..letters]),
    }
}

/// Returns whether `text` opens with the label of a part, `(a) = 5`.
fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4
        && bytes[0] == b'('
        && (b'a'..=b'h').contains(&bytes[1])
        && bytes[2..].starts_with(b") ")
}

/// Returns whether `text` is `x = 5` or `x ≈ -5`: a letter and its value.
fn is_named_number(text: &str) -> bool {
    let Some((name, value)) = text.split_once(['=', '≈']) else {
        return false;
    };
    let value = value.trim().trim_start_matches(['-', '−', '±']);
    let is_digit = |c: char| tail::is_digit(c) || ".,".contains(c);
    let is_plain = name.trim().starts_with(char::is_alphanumeric);
    is_plain && name.trim().chars().count() <= 2 && !value.is_empty() && value.chars().all(is_digit)
}

impl Scan<'_> {
    /// Takes one operand, operator or bracket; `None` where the formula ends.
    fn step(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let inner = rest.trim_start_matches([' ', '\u{a0}', '\u{2009}']);
        self.is_apart = inner.len() < rest.len();
        let start = self.at + rest.len() - inner.len();
        let first = inner.chars().next()?;
        let taken =
            if self.wants_operand { self.operand(inner, first) } else { self.next(inner, first) };
        self.at = start + taken?;
        Some(())
    }

    /// Takes an operand, or a sign or bracket before one; returns its length.
    fn operand(&mut self, rest: &str, first: char) -> Option<usize> {
        if SIGNS.contains(first) {
            self.symbols += usize::from(matches!(first, '√' | '∫'));
            return Some(first.len_utf8());
        }
        if "([{|".contains(first) {
            let is_bar_apart = first == '|' && rest[1..].starts_with([' ', '|', '-']);
            if self.open.len() == MAX_OPEN || is_bar_apart {
                return None;
            }
            self.open.push(first);
            return Some(1);
        }
        // What is left out of a sum: `1 + 3 + … + n`.
        if let Some(gap) = ["...", "…", "⋯"].iter().find(|gap| rest.starts_with(**gap)) {
            self.wants_operand = false;
            self.operands += 1;
            return (self.operators > 0).then_some(gap.len());
        }
        if tail::is_digit(first) {
            self.wants_operand = false;
            self.operands += 1;
            return Some(number_length(rest));
        }
        // `nπ` is a product.
        let letters = if is_ideograph(first) {
            0
        } else {
            rest.find(|c: char| !c.is_alphabetic() || c == 'π').unwrap_or(rest.len())
        };
        if FUNCTIONS.contains(&&rest[..letters]) {
            self.symbols += 1;
            return Some(letters);
        }
        self.wants_operand = false;
        self.operands += 1;
        self.symbols += 1;
        let is_constant = "π∞ℝℤℕℚ∅".contains(first);
        // `3ab²` is a product, too.
        let before = self.text[..self.at].chars().next_back();
        let touches = !self.is_apart
            && before.is_some_and(|c| c.is_ascii_digit() || "²³⁴⁵⁶⁷⁸⁹ⁿ)(".contains(c));
        let is_side = before.is_some_and(|c| OPERATORS.contains(c));
        let is_pair = letters == 2
            && (touches || is_side)
            && rest[..letters].bytes().all(|b| b.is_ascii_lowercase())
            && !SHORT_WORDS.contains(&&rest[..letters]);
        let is_letter = (letters == first.len_utf8() || is_pair) && !is_ideograph(first);
        if !is_constant && !is_letter {
            return None;
        }
        let end = first.len_utf8();
        Some(end + subscript_length(&rest[end..]))
    }

    /// Takes what may follow an operand; returns its length.
    fn next(&mut self, rest: &str, first: char) -> Option<usize> {
        let length = first.len_utf8();
        if "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿ%°′".contains(first) && !self.is_apart {
            self.symbols += usize::from(first != '%' && first != '°');
            return Some(length);
        }
        if OPERATORS.contains(first) {
            let after = &rest[length..];
            // Two asterisks are bold, and what is congruent is a letter.
            let is_letter = || self.text[..self.at].trim().chars().count() == 1;
            if first == '*' && after.starts_with('*') || first == '≡' && !is_letter() {
                return None;
            }
            let is_spaced = self.is_apart && after.starts_with(' ');
            // `x -2` and `5 - 3 days` are no differences of one formula.
            let is_minus = matches!(first, '-' | '−');
            if is_minus && self.is_apart && !is_spaced {
                return None;
            }
            self.spaced += usize::from(is_spaced && first != '-');
            self.operators += 1;
            self.wants_operand = true;
            return Some(length);
        }
        match (first, self.open.last()) {
            (')' | ']', Some('(' | '[')) | ('}', Some('{')) | ('|', Some('|')) => {
                self.open.pop();
                Some(1)
            }
            (',' | ';', Some(_)) => {
                self.wants_operand = true;
                Some(1)
            }
            _ => self.juxtaposed(rest, first),
        }
    }

    /// Takes a factor that touches the one before it, `3x` or `2(x + 1)`, or a function.
    fn juxtaposed(&mut self, rest: &str, first: char) -> Option<usize> {
        let letters = || rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let is_function = first.is_ascii_lowercase() && FUNCTIONS.contains(&&rest[..letters()]);
        let may_touch = first.is_alphabetic() || "([√π|".contains(first);
        // `a x²`
        let is_power = first.is_alphabetic()
            && rest[first.len_utf8()..].starts_with(|c| "²³⁴⁵⁶⁷⁸⁹ⁿ".contains(c));
        if !(is_function || is_power || may_touch && !self.is_apart) {
            return None;
        }
        self.wants_operand = true;
        let taken = self.operand(rest, first);
        if taken.is_none() {
            self.wants_operand = false;
        }
        taken
    }
}

/// Returns the length of a decimal with its groups of thousands.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(text);
    if end == 0 {
        return text.chars().next().map_or(0, char::len_utf8);
    }
    while text[end..].starts_with(',') && digits(&text[end + 1..]) == 3 {
        end += 4;
    }
    // A decimal comma.
    let decimals = text[end..].strip_prefix(',').map_or(0, digits);
    if decimals > 0 {
        end += 1 + decimals;
    }
    if text[end..].starts_with('.') && digits(&text[end + 1..]) > 0 {
        end += 1 + digits(&text[end + 1..]);
    }
    end
}

/// Returns the length of `₁` or `_1` after a letter.
fn subscript_length(text: &str) -> usize {
    if let Some(index) = text.strip_prefix('_') {
        let length = index.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(index.len());
        return if length > 0 { length + 1 } else { 0 };
    }
    let end = text.find(|c: char| !('₀'..='₉').contains(&c)).unwrap_or(text.len());
    text[..end].len()
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}
