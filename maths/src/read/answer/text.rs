//! Answers in words: truth values, numbers in words, names, and sequences that go on.

use std::borrow::Cow;

use dashu::rational::RBig;

use crate::algebra;
use crate::answer::{Answer, AnswerForm, Note, Region, Unread};
use crate::numerals;
use crate::read::literal::Literal;
use crate::read::names;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Style, Token};

use super::{AnswerReader, LexemeRange, answer_of, bare_value};

/// The longest answer in words, in bytes.
const MAX_TEXT: usize = 400;

/// Short words that are words and no products of variables.
const SHORT_WORDS: [&str; 24] = [
    "odd", "yes", "no", "red", "one", "two", "six", "ten", "all", "any", "not", "the", "day",
    "sun", "mon", "tue", "wed", "thu", "fri", "sat", "dne", "to", "is", "of",
];

impl AnswerReader<'_, '_, '_> {
    /// Reads `span` as text if it is only words.
    pub(super) fn words(&mut self, span: LexemeRange) -> ParseResult<Option<AnswerForm>> {
        let Some((text, is_marked)) = self.spelled(&span) else {
            return Ok(None);
        };
        let lower = text.to_lowercase();
        let form = match lower.as_str() {
            "true" | "yes" | "wahr" | "vrai" | "vraie" | "verdadero" | "verdadera"
            | "verdadeiro" | "verdadeira" | "vero" | "верно" | "正确" | "正しい" | "oui"
            | "sim" | "sí" | "да" | "是" | "是的" | "对" | "はい" | "نعم" | "हाँ" => {
                AnswerForm::Truth(true)
            }
            "false" | "no" | "falsch" | "faux" | "fausse" | "falso" | "falsa" | "неверно"
            | "ложно" | "错误" | "nein" | "non" | "não" | "нет" | "否" | "不是" | "いいえ"
            | "لا" | "नहीं" => AnswerForm::Truth(false),
            "all real numbers" | "all reals" | "real numbers" | "the real numbers"
            | "all real number" => AnswerForm::Region(Region::Reals),
            "all integers" | "integers" | "the integers" => AnswerForm::Region(Region::Integers),
            "empty set" | "the empty set" | "empty" => AnswerForm::Region(Region::Empty),
            _ => {
                if let Some(is_odd) = parity(&lower) {
                    let residue = self.ws.integer(i64::from(is_odd))?;
                    let (residues, modulus) = (vec![residue], self.ws.integer(2)?);
                    return Ok(Some(AnswerForm::Congruence { residues, modulus }));
                }
                if let Some(value) = number_in_words(&text) {
                    self.notes.push(Note::NumberWord);
                    return Ok(Some(AnswerForm::Value(bare_value(self.ws.number(value)?))));
                }
                if !is_prose(&text, is_marked) {
                    return Ok(None);
                }
                AnswerForm::Text(text)
            }
        };
        Ok(Some(form))
    }

    /// Returns the words of `span`, where it holds words, hyphens and apostrophes only, and whether
    /// a font marks them as words.
    fn spelled(&self, span: &LexemeRange) -> Option<(String, bool)> {
        let mut text = String::new();
        let mut is_marked = false;
        for item in self.slice(span) {
            let is_apart = item.gap > crate::read::token::Gap::None;
            let mark = match item.token {
                Token::Word { text: word, style } => {
                    is_marked |= style == Style::Upright && word.len() > 1;
                    word
                }
                Token::Minus => "-",
                Token::Prime => "'",
                _ => return None,
            };
            if is_apart && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(mark);
            if text.len() > MAX_TEXT {
                return None;
            }
        }
        text.starts_with(char::is_alphabetic).then_some((text, is_marked))
    }

    /// Reads `1, 2, \ldots, 10` with all of its members, where they are whole numbers in equal steps.
    pub(super) fn written_out(&mut self, span: &LexemeRange) -> ParseResult<Option<Vec<Answer>>> {
        /// The most members that are written out.
        const MAX_MEMBERS: i64 = 200;
        let is_ellipsis = |token| token == Token::Ellipsis;
        if !self.has_top(span, is_ellipsis) {
            return Ok(None);
        }
        let parts = self.split(span, super::is_separator);
        let gap = parts.iter().position(|part| self.has(part, is_ellipsis));
        let is_alone = |at: usize| parts[at].len() == 1 && at > 0 && at + 2 == parts.len();
        let Some(gap) = gap.filter(|gap| is_alone(*gap)) else {
            return Ok(None);
        };
        let mut numbers = Vec::with_capacity(parts.len());
        for part in parts.iter().enumerate().filter(|(at, _)| *at != gap).map(|(_, part)| part) {
            let value = match self.try_expression(part)? {
                Some(expr) => algebra::rational(expr, self.ws)?,
                None => None,
            };
            let whole = value.filter(RBig::is_int).map(|value| i64::try_from(value.numerator()));
            match whole {
                Some(Ok(whole)) if whole.abs() <= i64::from(i32::MAX) => numbers.push(whole),
                _ => return Ok(None),
            }
        }
        let [first, listed @ .., last] = numbers.as_slice() else {
            return Ok(None);
        };
        let step = listed.first().map_or(1, |second| second - first);
        let is_even = numbers[..gap].windows(2).all(|pair| pair[1] - pair[0] == step);
        if step == 0 || !is_even || (last - first) % step != 0 {
            return Ok(None);
        }
        let count = (last - first) / step;
        if !(0..MAX_MEMBERS).contains(&count) || count < i64::try_from(gap).unwrap_or(i64::MAX) {
            return Ok(None);
        }
        let mut members = Vec::new();
        for index in 0..=count {
            let expr = self.ws.integer(first + index * step)?;
            members.push(answer_of(AnswerForm::Value(bare_value(expr))));
        }
        Ok(Some(members))
    }

    /// Reads `1, 2, \ldots, n`: as written, token by token.
    pub(super) fn sequence(&mut self, span: LexemeRange) -> ParseResult<AnswerForm> {
        let mut text = String::new();
        let mut has_content = false;
        for item in self.slice(&span) {
            has_content |=
                matches!(item.token, Token::Number(_) | Token::Word { .. } | Token::Name(_));
            write_token(item.token, &mut text)?;
        }
        // `0.333...` is an unfinished number.
        let is_unfinished = !self.has(&span, |token| {
            matches!(
                token,
                Token::Comma
                    | Token::Semicolon
                    | Token::Colon
                    | Token::Plus
                    | Token::Times
                    | Token::Relation(_)
            )
        });
        if !has_content || is_unfinished {
            return Err(Unread::NotMaths);
        }
        Ok(AnswerForm::Sequence(text))
    }
}

/// Returns the number that `text` states: all of it, or its start behind "exactly", "exactly one real
/// root".
fn number_in_words(text: &str) -> Option<RBig> {
    if text == "vanishes" {
        return Some(RBig::ZERO);
    }
    if let Some(value) = numerals::words(text).filter(|_| text.len() > 1) {
        return Some(value);
    }
    let adverbs = ["exactly ", "Exactly ", "precisely ", "just "];
    let rest = adverbs.into_iter().find_map(|adverb| text.strip_prefix(adverb))?;
    let is_number = |word: &&str| numerals::is_number_word(word);
    let count: Vec<&str> = rest.split(' ').take_while(is_number).collect();
    numerals::words(&count.join(" "))
}

/// Writes `token` in one spelling for all that mean the same.
fn write_token(token: Token<'_>, out: &mut String) -> ParseResult<()> {
    let text = match token {
        Token::Number(literal) => {
            write_literal(&literal, out);
            return Ok(());
        }
        Token::Word { text, .. } | Token::Name(text) => {
            if out.ends_with(char::is_alphabetic) {
                out.push(' ');
            }
            text
        }
        Token::Function(function) => function.plain(),
        Token::Constant(constant) => match constant {
            crate::expr::Constant::Pi => "pi",
            crate::expr::Constant::E => "e",
            crate::expr::Constant::I => "i",
            crate::expr::Constant::Infinity => "oo",
            crate::expr::Constant::Undefined => return Err(Unread::NotMaths),
        },
        Token::Fraction => "frac",
        Token::SquareRoot | Token::RootSign(2) => "sqrt",
        Token::Plus => "+",
        Token::Minus => "-",
        Token::Times => "*",
        Token::Slash => "/",
        Token::Caret => "^",
        Token::Underscore => "_",
        Token::Bang => "!",
        Token::Prime => "'",
        Token::Comma => ",",
        Token::Semicolon => ";",
        Token::Colon => ":",
        Token::Ellipsis => "...",
        Token::Relation(relation) => {
            out.push_str(&relation.to_string());
            return Ok(());
        }
        Token::Open(Bracket::Round) => "(",
        Token::Open(Bracket::Square) => "[",
        Token::Open(Bracket::Group) => "{",
        Token::Open(Bracket::Brace) => "\\{",
        Token::Close(Bracket::Round) => ")",
        Token::Close(Bracket::Square) => "]",
        Token::Close(Bracket::Group) => "}",
        Token::Close(Bracket::Brace) => "\\}",
        _ => return Err(Unread::NotMaths),
    };
    out.push_str(text);
    Ok(())
}

fn write_literal(literal: &Literal<'_>, out: &mut String) {
    out.extend(literal.whole.chars().filter(char::is_ascii_digit));
    if let Some(fraction) = literal.fraction {
        out.push('.');
        out.push_str(fraction);
    }
    for (mark, part) in [("r", literal.repeat), ("e", literal.exponent)] {
        if let Some(part) = part {
            out.push_str(mark);
            out.push_str(part);
        }
    }
}

/// Returns whether `text`, words only, is prose and no formula.
fn is_prose(text: &str, is_marked: bool) -> bool {
    let words = text.split([' ', '-', '\'']).filter(|word| !word.is_empty());
    let mut is_prose = false;
    let mut is_formula = false;
    for word in words {
        is_formula |= is_mathematical(word);
        is_prose |= is_wordy(word) || (is_marked && word.len() > 1);
    }
    is_prose && !is_formula
}

fn is_mathematical(word: &str) -> bool {
    (names::function(word).is_some() && word.len() > 2)
        || names::greek(word).is_some_and(|_| word.len() > 3)
        || names::number_domain(word).is_some()
        || matches!(word, "pi" | "ln" | "oo" | "infinity" | "Infinity" | "inf" | "mod")
}

/// Returns whether `word` is a word of a language rather than a product of variables.
fn is_wordy(word: &str) -> bool {
    if !word.is_ascii() {
        return true;
    }
    let lower = word.to_ascii_lowercase();
    if SHORT_WORDS.contains(&lower.as_str()) && word.len() > 2 {
        return true;
    }
    let is_upper = word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase());
    let has_vowel = lower.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    // `abcd` and `wxyz` are products.
    let is_sorted = lower.as_bytes().is_sorted();
    is_upper || (word.len() > 3 && has_vowel && !is_sorted)
}

/// Returns `text` without `\text{…}` and its kin around its words; `None` if other commands remain.
pub(in crate::read) fn bare(text: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr2(b'\\', b'$', text.as_bytes()).is_none() && !text.contains("{:}") {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '$', '{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let wrappers = ["\\text{", "\\textbf{", "\\mathrm{", "\\textit{", "\\mbox{"];
        let spaces = ["\\ ", "\\,", "\\;", "~"];
        if let Some(wrapper) = wrappers.into_iter().find(|w| rest.starts_with(w)) {
            rest = &rest[wrapper.len()..];
        } else if let Some(space) = spaces.into_iter().find(|s| rest.starts_with(s)) {
            out.push(' ');
            rest = &rest[space.len()..];
        } else if let Some(after) = rest.strip_prefix("{:}") {
            out.push(':');
            rest = after;
        } else if rest.starts_with(['$', '}']) {
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

/// Returns whether `text` may be a date or a time of day: short, and with letters or separators
/// beside digits, or one of the few times that are words.
pub(in crate::read) fn is_date_like(text: &str) -> bool {
    if text.len() > 48 {
        return false;
    }
    let has_digit = text.bytes().any(|b| b.is_ascii_digit());
    let has_letters = || text.chars().filter(|c| c.is_alphabetic()).nth(1).is_some();
    let separators = |c: char| text.matches(c).count();
    has_digit
        && !text.contains(['=', '^', '*', '+', '(', '\\'])
        && (has_letters() || ['/', '-', '.', ':'].into_iter().any(|c| separators(c) > 1))
        || matches!(text.to_ascii_lowercase().as_str(), "noon" | "midnight")
}

/// Returns `text` where it is prose that no grammar reads: words with points, and scores such as
/// `39 to 33`.
pub(in crate::read) fn prose(text: &str) -> Option<String> {
    // "does **not** exist", "*not* independent"
    let plain = text.replace('*', "").replace(['‐', '‑'], "-");
    let text = plain.as_str();
    let is_word = |c: char| c.is_alphanumeric() || c.is_whitespace() || "-'’.,".contains(c);
    if text.len() > MAX_TEXT || !text.chars().all(is_word) {
        return None;
    }
    let numbers = |word: &&str| {
        let unsigned = word.strip_prefix('-').unwrap_or(word);
        unsigned.contains(|c: char| c.is_ascii_digit())
            && unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    let (figures, words): (Vec<&str>, Vec<&str>) = text.split_whitespace().partition(numbers);
    let has_mixed =
        words.iter().any(|word| word.contains(|c: char| c.is_numeric()) && !is_compound_name(word));
    let is_score = figures.len() == 2 && words == ["to"];
    let letters: Vec<&str> = words.iter().map(|word| name_of(word)).collect();
    let is_text = is_score || figures.is_empty() && is_prose(&letters.join(" "), false);
    (!has_mixed && is_text && !words.is_empty()).then(|| text.trim().to_owned())
}

/// Returns whether `word` is the name of a chemical compound, `2,3-dimethylbutane`.
fn is_compound_name(word: &str) -> bool {
    name_of(word).len() < word.len() && !name_of(word).contains(|c: char| c.is_numeric())
}

/// Returns whether words name all odd numbers, or all even ones: "all odd integers", "odd n".
fn parity(words: &str) -> Option<bool> {
    const AROUND: [&str; 7] = ["all", "the", "every", "exactly", "only", "precisely", "set"];
    const NOUNS: [&str; 8] = ["integer", "integers", "number", "numbers", "n", "k", "m", "values"];
    let mut said = words.split(' ').skip_while(|word| AROUND.contains(word));
    let is_odd = match said.next()? {
        "odd" => true,
        "even" => false,
        _ => return None,
    };
    let mut nouns = said.peekable();
    nouns.peek()?;
    nouns.all(|word| NOUNS.contains(&word) || word == "of").then_some(is_odd)
}

/// Returns `word` without the places before the name of a compound: `butane` of `2-butane`.
fn name_of(word: &str) -> &str {
    let places = |c: char| c.is_ascii_digit() || c == ',';
    let rest = word.trim_start_matches(places);
    match rest.strip_prefix('-') {
        Some(name) if rest.len() < word.len() => name,
        Some(_) | None => word,
    }
}
