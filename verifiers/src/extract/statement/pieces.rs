//! The pieces of a text in prose: formulas, numbers, words and marks.

use std::ops::Range;

use memchr::memmem;

use super::super::{tail, trim, unmarked};
use super::plain;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    /// Of a formula with its delimiters.
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// A formula between `$`, `$$`, `\(` or `\[`.
    Formula { is_display: bool },
    /// A number with what belongs to it, or a tuple or an interval of numbers.
    Number,
    /// Letters; a Chinese character by itself.
    Word,
    /// Any other character.
    Mark(char),
    /// One line break, or several.
    Break { is_blank: bool },
}

impl Piece {
    /// Returns whether it may be an answer by itself.
    pub(super) fn is_value(&self) -> bool {
        matches!(self.kind, PieceKind::Formula { .. } | PieceKind::Number)
    }

    pub(super) fn is_mark(&self, mark: char) -> bool {
        self.kind == PieceKind::Mark(mark)
    }
}

/// Returns the pieces of `window` in order; `None` where a formula stands in it that nothing
/// encloses.
pub(super) fn pieces(text: &str, window: &Range<usize>) -> Option<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(window.len() / 4);
    let mut at = window.start;
    while let Some(first) = text[at..window.end].chars().next() {
        let rest = &text[at..window.end];
        if first.is_whitespace() {
            let blank = &rest[..rest.len() - rest.trim_start().len()];
            let lines = blank.bytes().filter(|b| *b == b'\n').count();
            if lines > 0 {
                let kind = PieceKind::Break { is_blank: lines > 1 };
                pieces.push(Piece { kind, span: at..at + blank.len() });
            }
            at += blank.len();
            continue;
        }
        // Most pieces are words between blanks.
        if let Some(length) = lone_word(&text[window.start..at], rest) {
            pieces.push(Piece { kind: PieceKind::Word, span: at..at + length });
            at += length;
            continue;
        }
        let piece = match formula(text, at, window) {
            Some(piece) => piece,
            None if first == '\\' => match rest[1..].chars().next() {
                // `\$5` outside of formulas.
                Some(sign @ ('$' | '%' | '&' | '#' | '_')) => {
                    Piece { kind: PieceKind::Mark(sign), span: at..at + 2 }
                }
                Some(_) | None => return None,
            },
            None => match configuration(text, at, first, window)
                .or_else(|| chemical(text, at, first, window))
                .or_else(|| logical(text, at, first, window))
                .or_else(|| plain::formula(text, at, window))
            {
                Some(span) => Piece { kind: PieceKind::Formula { is_display: false }, span },
                None => plain(text, at, first, window),
            },
        };
        let mut piece = piece;
        let (start, mut is_overlapping) = (at, false);
        at = piece.span.end;
        // `12 500`, `1 1/2` and `238 − 92` are one value.
        while let Some(last) = pieces.last().filter(|last| last.span.start >= piece.span.start) {
            if !matches!(last.kind, PieceKind::Number | PieceKind::Mark(_)) {
                // In a script without blanks, words may hold what looks like a formula.
                if text[last.span.start..piece.span.end].chars().any(is_single) {
                    return None;
                }
                // It begins within a formula that nothing encloses.
                is_overlapping = true;
                break;
            }
            pieces.pop();
        }
        if is_overlapping {
            piece.span.start = start;
        }
        pieces.push(piece);
    }
    Some(pieces)
}

/// Returns the length of a word of small ASCII letters that opens `text` between `before` and a blank, perhaps with
/// marks behind it, and is no function: a piece that nothing else can be.
fn lone_word(before: &str, text: &str) -> Option<usize> {
    let is_blank = |b: u8| b == b' ' || b == b'\n';
    if !before.bytes().next_back().is_none_or(is_blank) {
        return None;
    }
    let letters = text.bytes().take_while(u8::is_ascii_lowercase).count();
    let after = text[letters..].trim_start_matches(['.', ',', ':', ';', '!', '?', ')']);
    let is_word = letters > 1 && !plain::FUNCTIONS.contains(&&text[..letters]);
    (is_word && after.bytes().next().is_none_or(is_blank)).then_some(letters)
}

/// Returns the formula that opens at `at`.
fn formula(text: &str, at: usize, window: &Range<usize>) -> Option<Piece> {
    let rest = &text.as_bytes()[at..window.end];
    if !matches!(rest.first(), Some(b'$' | b'\\')) {
        return None;
    }
    if let Some(length) = maths::aligned_end(&text[at..window.end]) {
        return Some(Piece {
            kind: PieceKind::Formula { is_display: true },
            span: at..at + length,
        });
    }
    let signs: [(&str, &str, bool); 4] =
        [("$$", "$$", true), ("$", "$", false), ("\\(", "\\)", false), ("\\[", "\\]", true)];
    let (open, shut, is_display) =
        signs.into_iter().find(|(open, _, _)| rest.starts_with(open.as_bytes()))?;
    let from = at + open.len();
    let inside = &text.as_bytes()[from..window.end];
    let is_bare = |at: &usize| *at == 0 || inside[*at - 1] != b'\\' || !shut.starts_with('$');
    let length = memmem::find_iter(inside, shut.as_bytes()).find(is_bare)?;
    let end = from + length + shut.len();
    let inner = &text[from..from + length];
    let is_formula = if shut.starts_with('$') {
        unmarked::fits(text, at..from, &(from + length..end))
    } else {
        unmarked::is_formula(inner) && (is_display || !inner.contains('\n'))
    };
    // `$\blacksquare$` ends a proof.
    let is_end = matches!(inner.trim(), "\\blacksquare" | "\\square" | "\\qed" | "\\checkmark");
    let kind = if is_end { PieceKind::Mark('■') } else { PieceKind::Formula { is_display } };
    is_formula.then_some(Piece { kind, span: at..end })
}

/// Returns the length of a value that is a symbol of its own: `∅`, `+∞`.
fn symbol_length(text: &str) -> Option<usize> {
    let unsigned = text.strip_prefix(['+', '-', '−']).unwrap_or(text);
    let rest = unsigned.strip_prefix('∞').or_else(|| text.strip_prefix('∅'))?;
    Some(text.len() - rest.len())
}

/// Returns a number without the counter or the particle that Korean writes behind it: `33개`.
fn without_hangul(text: &str, span: Range<usize>) -> Range<usize> {
    let inner = &text[span.clone()];
    let end = inner.find(|c: char| ('가'..='힣').contains(&c)).unwrap_or(inner.len());
    let number = inner[..end].trim_end_matches('*');
    if number.is_empty() { span } else { span.start..span.start + number.len() }
}

/// Returns the number, word or mark at `at`.
fn plain(text: &str, at: usize, first: char, window: &Range<usize>) -> Piece {
    if let Some(length) = symbol_length(&text[at..window.end]) {
        return Piece { kind: PieceKind::Number, span: at..at + length };
    }
    let whole = match first {
        '(' | '[' | '⟨' => bracketed(text, at, window),
        '{' => braced(text, at, window),
        's' => spanned(text, at, window),
        'A'..='Z' => spanned(text, at, window).or_else(|| date(text, at, window)),
        '0'..='9' => day_of_month(text, at, window).or_else(|| compound(text, at, window)),
        _ => None,
    };
    if let Some(span) = whole {
        return Piece { kind: PieceKind::Number, span };
    }
    let opens_number = first.is_alphanumeric()
        || tail::is_digit(first)
        || matches!(first, '+' | '-' | '−' | '.' | '$' | '€' | '£' | '¥' | '~');
    let token = if opens_number { tail::token_around(text, window, at) } else { at..at };
    if text[token.clone()].contains(tail::is_digit) && !tail::is_word(&text[token.clone()]) {
        // The number of sides of a `15-gon`.
        let digits = text[token.clone()].bytes().take_while(u8::is_ascii_digit).count();
        let tail_word = text[token.start + digits..token.end].trim_end_matches('.');
        if digits > 0 && matches!(tail_word, "-gon" | "-sided" | "-fold") && token.start >= at {
            return Piece { kind: PieceKind::Number, span: token.start..token.start + digits };
        }
        let span = tail::number_span(text, window, &token);
        // What begins within a token is a number of its own, or the rest of one.
        let is_here = span.end > at
            && (span.start <= at || !first.is_alphanumeric())
            && (span.start >= at || !text[token.start.min(at)..at].contains(char::is_alphanumeric));
        let span = if is_here { without_hangul(text, span) } else { at..at };
        // A number that ends before a counter may end before this place.
        if span.end > at {
            return Piece { kind: PieceKind::Number, span };
        }
    }
    let letters = word_length(&text[at..window.end]);
    if letters > 0 {
        return Piece { kind: PieceKind::Word, span: at..at + letters };
    }
    Piece { kind: PieceKind::Mark(first), span: at..at + first.len_utf8() }
}

/// Returns a date that begins with the name of its month: `July 4, 1776`.
fn date(text: &str, at: usize, window: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[at..window.end];
    let month = unmarked::MONTHS.iter().find(|month| rest.starts_with(**month))?;
    let name = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let day = rest[name..].strip_prefix(' ')?;
    let after = &day[digits(day)..];
    let after =
        ["st", "nd", "rd", "th"].iter().find_map(|end| after.strip_prefix(end)).unwrap_or(after);
    let year = after.strip_prefix(", ").or_else(|| after.strip_prefix(' '));
    let year = year.filter(|year| digits(year) == 4).map(|year| &year[4..]);
    let is_apart = !after.starts_with(|c: char| c.is_alphanumeric() || c == '/');
    let is_date = month.len() <= name && (1..=2).contains(&digits(day)) && is_apart;
    is_date.then(|| at..window.end - year.unwrap_or(after).len())
}

/// Returns a date that begins with its day: `24th of April`, `4 July 1776`.
fn day_of_month(text: &str, at: usize, window: &Range<usize>) -> Option<Range<usize>> {
    let is_inside = text[window.start..at].ends_with(char::is_alphanumeric);
    let rest = &text[at..window.end];
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let day = digits(rest);
    if is_inside || !(1..=2).contains(&day) {
        return None;
    }
    let after = &rest[day..];
    let after = ["st", "nd", "rd", "th"].iter().find_map(|end| after.strip_prefix(end));
    let after = after.unwrap_or(&rest[day..]).strip_prefix(' ')?;
    let month = after.strip_prefix("of ").unwrap_or(after);
    let letters = month.bytes().take_while(u8::is_ascii_alphabetic).count();
    let name = &month[..letters];
    // "4 may be" is no date.
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !maths::is_month(name) {
        return None;
    }
    let after = &month[letters..];
    let year = after.strip_prefix(", ").or_else(|| after.strip_prefix(' '));
    let year = year.filter(|year| digits(year) == 4);
    let end = year.map_or(after, |year| &year[4..]);
    Some(at..window.end - end.len())
}

/// Returns a chemical formula with figures, `C6H12O6`, or a chemical equation: `2H₂ + O₂ → 2H₂O`.
fn chemical(text: &str, at: usize, first: char, window: &Range<usize>) -> Option<Range<usize>> {
    /// The longest equation, in bytes.
    const MAX_BYTES: usize = 160;
    let is_inside = || text[window.start..at].ends_with(char::is_alphanumeric);
    if !(first.is_ascii_uppercase() || first.is_ascii_digit()) || is_inside() {
        return None;
    }
    // "44 g of CO₂"
    if text[window.start..at].ends_with(" of ") {
        return None;
    }
    let line = text[at..window.end].lines().next()?;
    let is_arrow = |word: &str| matches!(word, "→" | "⟶" | "⇌" | "->" | "-->" | "<=>");
    let is_figure = |c: char| c.is_ascii_digit() || ('₀'..='₉').contains(&c);
    let bare = |word: &'_ str| word.trim_end_matches(['.', ',', ';', ':', '!', '?', '*']).len();
    let own = line.split(' ').next()?;
    let own = &own[..bare(own)];
    let symbols = own.chars().filter(char::is_ascii_uppercase).count();
    let is_marked = own.contains(|c| ('₀'..='₉').contains(&c));
    let is_formula = (symbols > 1 || symbols == 1 && is_marked)
        && own.contains(is_figure)
        && first.is_ascii_uppercase()
        && maths::is_chemical(own);
    let (mut end, mut has_arrow, mut from) = (if is_formula { own.len() } else { 0 }, false, 0);
    // `>` of two arrows, or the first byte of the others.
    let may_have_arrow = memchr::memchr2(b'>', 0xE2, line.as_bytes()).is_some();
    if line.len() <= MAX_BYTES
        && may_have_arrow
        && (is_formula || first.is_ascii_digit() || symbols > 0)
    {
        for word in line.split(' ') {
            has_arrow |= is_arrow(word);
            let until = from + bare(word);
            if has_arrow && !is_arrow(word) && word != "+" && maths::is_chemical(&line[..until]) {
                end = until;
            }
            from += word.len() + 1;
        }
    }
    (end > 0).then(|| at..at + end)
}

/// Returns an electron configuration: `1s² 2s² 2p⁴`, `[Ar] 4s²`.
fn configuration(
    text: &str,
    at: usize,
    first: char,
    window: &Range<usize>,
) -> Option<Range<usize>> {
    /// The longest one, in bytes.
    const MAX_BYTES: usize = 120;
    if first != '1' && first != '[' || text[window.start..at].ends_with(char::is_alphanumeric) {
        return None;
    }
    let line = text[at..window.end].lines().next()?;
    let opens = line.starts_with("1s") || line[1..].starts_with(|c: char| c.is_ascii_uppercase());
    if !opens {
        return None;
    }
    let mut end = None;
    for (to, _) in
        line.match_indices([' ', '*', '.', ',', ';', ')']).take_while(|(to, _)| *to < MAX_BYTES)
    {
        if maths::is_configuration(&line[..to]) {
            end = Some(to);
        }
    }
    let whole = line.len() < MAX_BYTES && maths::is_configuration(line);
    let end = if whole { Some(line.len()) } else { end };
    end.map(|end| at..at + end)
}

/// Returns a formula of logic up to the end of its sentence or what encloses it: `∃x ¬P(x)`.
fn logical(text: &str, at: usize, first: char, window: &Range<usize>) -> Option<Range<usize>> {
    if !matches!(first, '¬' | '∀' | '∃' | '∄')
        || text[window.start..at].ends_with(char::is_alphanumeric)
    {
        return None;
    }
    let line = text[at..window.end].lines().next()?;
    let ends = ["**", ". ", "。", "\"", "”", "`"];
    let end = ends.iter().filter_map(|end| line.find(*end)).min().unwrap_or(line.len());
    let formula = line[..end].trim_end().trim_end_matches(['.', ',']);
    maths::is_logical(formula).then(|| at..at + formula.len())
}

/// Returns an amount in several units, `2 hours, 46 minutes and 40 seconds`.
fn compound(text: &str, at: usize, window: &Range<usize>) -> Option<Range<usize>> {
    /// Units from the largest to the smallest of a kind, without the plural ending.
    const UNITS: [&str; 28] = [
        "year", "yr", "month", "week", "day", "d", "hour", "hr", "h", "minute", "min", "second",
        "sec", "s", "foot", "inch", "heure", "seconde", "Stunde", "Stunden", "Minute", "Minuten",
        "Sekunden", "hora", "minuto", "segundo", "ore", "minuti",
    ];
    let mut rest = &text[at..window.end];
    let mut parts = 0;
    let mut end = 0;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(unit) = rest[digits..].strip_prefix(' ').filter(|_| digits > 0) else {
            break;
        };
        let letters = unit.bytes().take_while(u8::is_ascii_alphabetic).count();
        let word = &unit[..letters];
        let singular = match word {
            "feet" => "foot",
            "inches" => "inch",
            _ => word.strip_suffix('s').filter(|word| word.len() > 1).unwrap_or(word),
        };
        if !UNITS.contains(&singular) {
            break;
        }
        parts += 1;
        rest = &unit[letters..];
        end = window.end - rest.len();
        let joints = [", and ", " and ", " et ", " und ", " y ", " e ", ", ", " "];
        let Some(next) = joints.iter().find_map(|joint| rest.strip_prefix(joint)) else {
            break;
        };
        rest = next;
    }
    (parts > 1).then_some(at..end)
}

/// Returns a span of vectors, `span{(−1, 1)}`.
fn spanned(text: &str, at: usize, window: &Range<usize>) -> Option<Range<usize>> {
    /// The longest such text, in bytes.
    const MAX_BYTES: usize = 120;
    let rest = text[at..window.end].strip_prefix(['s', 'S'])?.strip_prefix("pan")?;
    let inner = rest.strip_prefix(['{', '⟨'])?;
    let length = inner.find(['}', '⟩', '\n']).filter(|length| *length < MAX_BYTES)?;
    let shut = inner[length..].chars().next().filter(|c| *c != '\n')?;
    Some(at..window.end - inner.len() + length + shut.len_utf8())
}

/// Returns a tuple or an interval of numbers in plain brackets: `(3, -4)`.
fn bracketed(text: &str, at: usize, window: &Range<usize>) -> Option<Range<usize>> {
    /// The longest such text, in bytes.
    const MAX_BYTES: usize = 48;
    let rest = text[at..window.end].strip_prefix(['(', '[', '⟨'])?;
    if let Some(end) = nested(&text[at..window.end]) {
        return Some(at..at + end);
    }
    let length = rest.find([')', ']', '(', '[', '⟩']).filter(|length| *length < MAX_BYTES)?;
    let inner = &rest[..length];
    let is_numbers = inner.chars().all(|c| tail::is_digit(c) || " ,.-−+±/√π∞".contains(c));
    let shut = rest[length..].chars().next().filter(|c| matches!(c, ')' | ']' | '⟩'))?;
    let has_members = inner.contains(',') && inner.contains(tail::is_digit);
    let end = window.end - rest.len() + length + shut.len_utf8();
    (is_numbers && has_members).then_some(at..end)
}

/// Returns the length of a matrix as a list of its rows that opens `text`: `[[2, 1], [4, 3]]`.
fn nested(text: &str) -> Option<usize> {
    /// The longest such text, in bytes.
    const MAX_BYTES: usize = 240;
    let is_number = |c: char| tail::is_digit(c) || " ,.-−+/√π\n".contains(c);
    let mut depth = 0usize;
    if !text.starts_with("[[") && !text.starts_with("[ [") {
        return None;
    }
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < MAX_BYTES) {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            c if is_number(c) => {}
            _ => return None,
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Returns a set in plain braces, `{HH, HT, TH, TT}`.
fn braced(text: &str, at: usize, window: &Range<usize>) -> Option<Range<usize>> {
    /// The longest such text, in bytes.
    const MAX_BYTES: usize = 80;
    let rest = text[at..window.end].strip_prefix('{')?;
    let is_argument = text[window.start..at].ends_with(['\\', '_', '^', '}']);
    let length = rest.find(['}', '{', '\n']).filter(|length| *length < MAX_BYTES)?;
    let inner = &rest[..length];
    let is_member =
        |c: char| c.is_ascii_alphanumeric() || tail::is_digit(c) || " ,.-−+±/√π()".contains(c);
    let is_set =
        inner.contains(',') && inner.chars().all(is_member) && rest[length..].starts_with('}');
    (is_set && !is_argument).then(|| at..at + length + 2)
}

/// Returns whether a letter is a word of its own, in a script without blanks.
fn is_single(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

/// Returns the length of the word at the start of `text`, with apostrophes and hyphens within it.
fn word_length(text: &str) -> usize {
    let first = text.chars().next().filter(|c| c.is_alphabetic());
    match first {
        None => 0,
        Some(first) if is_single(first) => first.len_utf8(),
        Some(_) => {
            // The index of `λ₁` belongs to its name.
            let is_index = |c: char| ('₀'..='₉').contains(&c);
            let goes_on = |c: char| {
                let is_joint = matches!(c, '\'' | '’' | '-');
                c.is_alphabetic() && !is_single(c) || is_joint || is_index(c)
            };
            let length = text.find(|c: char| !goes_on(c)).unwrap_or(text.len());
            text[..length].trim_end_matches(['\'', '’', '-']).len()
        }
    }
}

/// Returns the span of a value with the symbol of a unit behind it, or without its delimiters.
pub(super) fn with_unit(text: &str, window: &Range<usize>, piece: &Piece) -> Range<usize> {
    let value = match piece.kind {
        PieceKind::Formula { .. } => tail::completed(text, window, piece.span.clone()),
        PieceKind::Number | PieceKind::Word | PieceKind::Mark(_) | PieceKind::Break { .. } => {
            piece.span.clone()
        }
    };
    let after = &text[piece.span.end..window.end];
    let symbol = after.trim_start_matches(' ');
    let length = symbol.find(|c: char| c.is_whitespace() || ",;:!?)*$".contains(c));
    let symbol = symbol[..length.unwrap_or(symbol.len())].trim_end_matches('.');
    let symbol = with_powers(&text[..window.end], symbol);
    let halves = ["am", "pm", "a.m", "p.m"];
    let is_half = halves.iter().any(|half| half.eq_ignore_ascii_case(symbol));
    if after.starts_with(' ') && (is_half || maths::is_unit_symbol(symbol)) {
        let span = trim::range_in(text, symbol);
        // "centímetros cuadrados"
        let length =
            if symbol.is_ascii() { None } else { unit_length(&text[span.start..window.end]) };
        return piece.span.start..length.map_or(span.end, |length| span.start + length);
    }
    value
}

/// Returns the symbol of a unit with the factors of negative powers behind it: `m s⁻¹`.
fn with_powers<'t>(text: &'t str, symbol: &'t str) -> &'t str {
    let start = trim::range_in(text, symbol).start;
    let mut end = start + symbol.len();
    while let Some(factor) = text[end..].strip_prefix(' ') {
        let length = factor.find(char::is_whitespace).unwrap_or(factor.len());
        let letters = factor.bytes().take_while(u8::is_ascii_alphabetic).count();
        let power = factor[letters..length].strip_prefix('⁻').unwrap_or_default();
        let digits =
            power.chars().take_while(|c| "¹²³⁴".contains(*c)).map(char::len_utf8).sum::<usize>();
        if letters == 0 || digits == 0 {
            break;
        }
        end += 1 + letters + '⁻'.len_utf8() + digits;
    }
    &text[start..end]
}

/// Returns the length of the longest unit in words that opens `text`, `kilometers per hour`; `None` where there is
/// none, or where what follows it makes another unit of it.
pub(super) fn unit_length(text: &str) -> Option<usize> {
    /// Words of the longest unit: `cubic meters per second`.
    const MAX_WORDS: usize = 4;
    const CHANGING: [&str; 8] = ["per", "pro", "por", "par", "squared", "cubed", "a", "each"];
    let is_part = |c: char| c.is_alphabetic() || " /²³·-".contains(c);
    let length = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    let words = text[..length].trim_end_matches([' ', '-']);
    let first = words.split(' ').next().unwrap_or("");
    let is_adjective = matches!(first, "square" | "cubic" | "квадратных" | "кубических");
    if !is_adjective && !maths::is_unit_words(first) {
        return None;
    }
    let ends = words.match_indices(' ').map(|(at, _)| at).chain([words.len()]);
    let ends: Vec<usize> = ends.take(MAX_WORDS).collect();
    let end = ends.into_iter().rev().find(|end| maths::is_unit_words(&words[..*end]))?;
    let next = words[end..].split(' ').find(|word| !word.is_empty()).unwrap_or("");
    (!CHANGING.contains(&next)).then_some(end)
}
