//! From the text of a unit to its tokens.

/// A piece of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitToken<'a> {
    /// Letters, or one of the signs that stand for a unit: `°C`, `$`, `Ω`.
    Word(&'a str),
    /// A power: `^2`, `^{-1}`, `²`, `**2`, or the 2 of `m2`.
    Power(i8),
    Times,
    Slash,
    Open,
    Shut,
}

/// The longest text of a unit, in bytes.
const MAX_BYTES: usize = 160;

/// Returns the tokens of `text`; `None` if it is no unit.
pub(super) fn tokens(text: &str) -> Option<Vec<UnitToken<'_>>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut tokens = Vec::with_capacity(8);
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let (token, after) = next_token(rest, first, tokens.last())?;
        tokens.extend(token);
        rest = after;
    }
    Some(tokens)
}

type TokenAndRest<'a> = (Option<UnitToken<'a>>, &'a str);

/// Returns the token at the start of `rest`, if it is one and no space, and what follows it.
fn next_token<'a>(
    rest: &'a str,
    first: char,
    last: Option<&UnitToken<'a>>,
) -> Option<TokenAndRest<'a>> {
    let after = &rest[first.len_utf8()..];
    let is_after_word = matches!(last, Some(UnitToken::Word(_)));
    let token = match first {
        _ if first.is_whitespace() || first == '~' => return Some((None, after)),
        '*' if after.starts_with('*') => return power(&after[1..]),
        '^' => return power(after),
        '*' | '·' | '⋅' | '×' | '•' | '∙' => UnitToken::Times,
        // Between the parts of a word, as in `kilowatt-hour`, or before a power: `s-1` is none.
        '-' if is_after_word && after.starts_with(char::is_alphabetic) => {
            return Some((None, after));
        }
        '/' | '⁄' | '∕' => UnitToken::Slash,
        '(' => UnitToken::Open,
        ')' => UnitToken::Shut,
        '.' if is_after_word && after.chars().next().is_none_or(char::is_whitespace) => {
            return Some((None, after));
        }
        '2' | '3' if is_after_word && !after.starts_with(|c: char| c.is_alphanumeric()) => {
            UnitToken::Power(if first == '2' { 2 } else { 3 })
        }
        '⁻' | '⁺' | '¹' | '²' | '³' | '⁰' | '⁴'..='⁹' => return superscript(rest),
        '°' | 'º' | '˚' => return Some(degree(after)),
        '$' | '€' | '£' | '¥' | '₹' | '¢' | '₩' | '₽' | '℃' | '℉' => {
            UnitToken::Word(&rest[..first.len_utf8()])
        }
        _ if first.is_alphabetic() => return Some(word(rest, is_after_word)),
        _ => return None,
    };
    Some((Some(token), after))
}

/// Parses a run of letters; Chinese characters are no letters of a Latin word, nor the other way
/// round.
fn word(rest: &str, is_after_word: bool) -> TokenAndRest<'_> {
    if let Some(after) = rest.strip_prefix("US$") {
        return (Some(UnitToken::Word("$")), after);
    }
    let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    // "Quadratmeter"
    let inner = ["Quadrat", "Kubik"].iter().find_map(|kind| word.strip_prefix(kind));
    if let Some(inner) = inner.filter(|inner| !inner.is_empty()) {
        let adjective = if word.starts_with('Q') { "square" } else { "cubic" };
        return (Some(UnitToken::Word(adjective)), &rest[end - inner.len()..]);
    }
    let token = match postfix_power(word) {
        Some(power) if is_after_word => UnitToken::Power(power),
        Some(_) | None => UnitToken::Word(word),
    };
    (Some(token), after)
}

/// Returns the power that a word gives to the unit before it: "centimètres carrés".
fn postfix_power(word: &str) -> Option<i8> {
    match word {
        "squared" | "carré" | "carrés" | "cuadrado" | "cuadrados" | "quadrado" | "quadrados"
        | "quadrato" | "quadrati" => Some(2),
        "cubed" | "cube" | "cubes" | "cúbico" | "cúbicos" | "cubo" | "cubi" => Some(3),
        _ => None,
    }
}

/// Parses a degree sign, with the letter of a temperature scale after it.
fn degree(after: &str) -> TokenAndRest<'_> {
    let letter = after.trim_start_matches([' ', '\u{A0}']);
    let is_letter = |c: char| {
        let next = letter.strip_prefix(c);
        next.is_some_and(|next| !next.starts_with(char::is_alphabetic))
    };
    if is_letter('C') {
        return (Some(UnitToken::Word("°C")), &letter[1..]);
    }
    if is_letter('F') {
        return (Some(UnitToken::Word("°F")), &letter[1..]);
    }
    (Some(UnitToken::Word("°")), after)
}

/// Returns what follows `^`: an integer, in braces or round brackets or bare, or a degree sign.
fn power(rest: &str) -> Option<TokenAndRest<'_>> {
    let rest = rest.trim_start();
    let (inner, after) = if let Some(inner) = rest.strip_prefix('{') {
        inner.split_once('}')?
    } else if let Some(inner) = rest.strip_prefix('(') {
        inner.split_once(')')?
    } else {
        let sign = usize::from(rest.starts_with(['-', '−', '+']));
        let sign = if rest.starts_with('−') { '−'.len_utf8() } else { sign };
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 && rest.starts_with('°') {
            return Some(degree(&rest['°'.len_utf8()..]));
        }
        rest.split_at(sign + digits)
    };
    let inner = inner.trim();
    if inner == "°" {
        return Some(degree(after));
    }
    Some((Some(UnitToken::Power(integer(inner)?)), after))
}

/// Parses an integer of at most two digits.
fn integer(text: &str) -> Option<i8> {
    let (is_negative, digits) = match text.strip_prefix(['-', '−']) {
        Some(digits) => (true, digits.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let is_short = (1..=2).contains(&digits.len());
    if !is_short || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: i8 = digits.parse().ok()?;
    Some(if is_negative { -value } else { value })
}

/// Parses an integer in superscript digits.
fn superscript(rest: &str) -> Option<TokenAndRest<'_>> {
    let is_super = |c: char| matches!(c, '⁻' | '⁺' | '¹' | '²' | '³' | '⁰' | '⁴'..='⁹');
    let end = rest.find(|c| !is_super(c)).unwrap_or(rest.len());
    let plain: String = rest[..end].chars().map(plain_digit).collect();
    Some((Some(UnitToken::Power(integer(&plain)?)), &rest[end..]))
}

fn plain_digit(c: char) -> char {
    match c {
        '⁻' => '-',
        '⁺' => '+',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁰' => '0',
        '⁴' => '4',
        '⁵' => '5',
        '⁶' => '6',
        '⁷' => '7',
        '⁸' => '8',
        _ => '9',
    }
}
