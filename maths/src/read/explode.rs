//! Words into what they mean in a formula: functions, constants, names of one letter.

use crate::answer::Unread;
use crate::expr::Constant;

use super::names;
use super::token::{Bracket, Lexeme, Style, Token};

/// Letters of a plain word that are still read as a product of variables.
const MAX_PLAIN: usize = 3;

/// Letters of a run in a formula that are still read as a product of variables.
const MAX_FORMULA: usize = 6;

/// Short English words, which are no products of variables: `39 to 33`, `12 red, 18 blue`.
const WORDS: [&str; 28] = [
    "to", "is", "of", "or", "and", "the", "for", "are", "not", "if", "per", "we", "but", "was",
    "bag", "box", "boy", "car", "cat", "cow", "cup", "dog", "egg", "hen", "men", "pen", "pig",
    "red",
];

/// Returns `items` without words, with the places of partners counted from their start.
pub(super) fn exploded<'a>(items: &[Lexeme<'a>]) -> Result<Vec<Lexeme<'a>>, Unread> {
    let mut out = Vec::with_capacity(items.len() + 2);
    let mut open = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let next = items.get(index + 1).map(|item| item.token);
        let at = out.len();
        match item.token {
            Token::Word { text, style } => word(*item, text, style, next, &mut out)?,
            // `\pi_1` of a distribution.
            Token::Constant(Constant::Pi) if next == Some(Token::Underscore) => {
                out.push(Lexeme { token: Token::Name("pi"), mate: at, ..*item });
            }
            Token::Open(_) => {
                open.push(at);
                out.push(*item);
            }
            Token::Close(_) => {
                let partner = open.pop().ok_or(Unread::NotMaths)?;
                out.push(Lexeme { mate: partner, ..*item });
                out[partner].mate = at;
            }
            _ => out.push(Lexeme { mate: at, ..*item }),
        }
    }
    // A part of a text may end within brackets.
    if open.is_empty() { Ok(out) } else { Err(Unread::NotMaths) }
}

/// Writes what a word means.
fn word<'a>(
    item: Lexeme<'a>,
    text: &'a str,
    style: Style,
    next: Option<Token<'a>>,
    out: &mut Vec<Lexeme<'a>>,
) -> Result<(), Unread> {
    let is_subscript = out.last().is_some_and(|item| item.token == Token::Underscore);
    if is_subscript && style != Style::Formula {
        out.push(Lexeme { token: Token::Name(text), mate: out.len(), ..item });
        return Ok(());
    }
    if let Some(token) = known(text, style, next) {
        out.push(Lexeme { token, mate: out.len(), ..item });
        return Ok(());
    }
    if next == Some(Token::Open(Bracket::Group))
        && let Some(accent) = ["bar", "vec", "hat", "tilde"].into_iter().find(|a| *a == text)
    {
        out.push(Lexeme { token: Token::Accent(accent), mate: out.len(), ..item });
        return Ok(());
    }
    let is_moment =
        next == Some(Token::Open(Bracket::Round)) && matches!(text, "Var" | "Cov" | "Corr");
    if style != Style::Formula && WORDS.contains(&text) || is_moment {
        return Err(Unread::NotMaths);
    }
    let is_capitals = text.bytes().all(|b| b.is_ascii_uppercase());
    let limit = match style {
        Style::Plain | Style::Upright if is_capitals => 4,
        Style::Plain => MAX_PLAIN,
        Style::Formula => MAX_FORMULA,
        Style::Upright => 1,
    };
    if !text.is_ascii() || text.len() > limit {
        return Err(Unread::NotMaths);
    }
    letters(item, text, out);
    Ok(())
}

/// The letters of `text`, but for a known name that it ends with, as in `xsin`.
fn letters<'a>(item: Lexeme<'a>, text: &'a str, out: &mut Vec<Lexeme<'a>>) {
    for at in 0..text.len() {
        let gap = if at == 0 { item.gap } else { super::token::Gap::None };
        let token = Token::Name(&text[at..=at]);
        out.push(Lexeme { token, gap, mate: out.len() });
    }
}

/// Returns the function, constant or Greek letter that `text` names as a whole.
fn known<'a>(text: &'a str, style: Style, next: Option<Token<'a>>) -> Option<Token<'a>> {
    let is_called = next == Some(Token::Open(Bracket::Round));
    if let Some(function) = names::function(text) {
        // In a formula `re` and `ch` are products of letters, unless they are called.
        let is_long = text.len() > 2 || text == "ln";
        if is_long || style == Style::Upright || (is_called && style == Style::Plain) {
            return Some(function);
        }
    }
    if style == Style::Upright && text.len() > 1 {
        return (text == "pi").then_some(Token::Constant(Constant::Pi));
    }
    if text == "pi" || text == "Pi" && style == Style::Plain {
        return Some(Token::Constant(Constant::Pi));
    }
    if let Some(name) = names::greek(text)
        && (style == Style::Plain || text.len() > 3)
    {
        return Some(Token::Name(names::other_shape(name).unwrap_or(name)));
    }
    if style != Style::Plain {
        return None;
    }
    match text {
        "oo" | "infinity" | "Infinity" | "inf" => Some(Token::Constant(Constant::Infinity)),
        "nan" | "NaN" | "zoo" => Some(Token::Constant(Constant::Undefined)),
        "E" if next != Some(Token::Underscore) && !is_called => Some(Token::Constant(Constant::E)),
        "I" if next != Some(Token::Underscore) => Some(Token::Constant(Constant::I)),
        "mod" => Some(Token::Mod),
        "angle" | "triangle" | "ell" => Some(Token::Name(text)),
        _ if is_called => names::big(text).map(Token::BigCall),
        _ => None,
    }
}
