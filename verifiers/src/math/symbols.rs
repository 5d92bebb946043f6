//! One spelling for many: Unicode characters rewritten as the ASCII or LaTeX that the lexer knows.

use std::borrow::Cow;

/// `text` with every known character outside ASCII rewritten; unknown ones stay, and no number
/// holds them.
pub(super) fn to_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut raised = false;
    for c in text.chars() {
        let superscript = superscript(c);
        match (raised, superscript) {
            (false, Some(_)) => out.push_str("^{"),
            (true, None) => out.push('}'),
            (true, Some(_)) | (false, None) => {}
        }
        raised = superscript.is_some();
        match (superscript, spelling(c)) {
            (Some(ascii), _) => out.push(ascii),
            (None, Some(spelling)) => out.push_str(spelling),
            (None, None) => out.push(plain(c)),
        }
    }
    if raised {
        out.push('}');
    }
    Cow::Owned(out)
}

/// Full-width forms and white space; every other character is itself.
fn plain(c: char) -> char {
    match c {
        '！'..='～' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        _ if c.is_whitespace() => ' ',
        _ => c,
    }
}

fn superscript(c: char) -> Option<char> {
    Some(match c {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴' => '4',
        '⁵' => '5',
        '⁶' => '6',
        '⁷' => '7',
        '⁸' => '8',
        '⁹' => '9',
        '⁻' => '-',
        '⁺' => '+',
        _ => return None,
    })
}

fn spelling(c: char) -> Option<&'static str> {
    Some(match c {
        '−' | '‐' | '‑' | '–' | '﹣' => "-",
        '×' | '✕' | '⋅' | '·' | '∙' | '∗' => "\\times ",
        '⁄' | '∕' => "/",
        '≈' | '≃' => "\\approx ",
        '°' | '˚' => "^\\circ ",
        '€' => "\\euro ",
        '£' => "\\pounds ",
        '¥' | '￥' => "\\yen ",
        '₹' => "\\rupee ",
        '₩' => "\\won ",
        // Zero-width characters carry no meaning in a number.
        '\u{200B}' | '\u{2060}' | '\u{FEFF}' => "",
        '½' => "\\frac{1}{2}",
        '⅓' => "\\frac{1}{3}",
        '⅔' => "\\frac{2}{3}",
        '¼' => "\\frac{1}{4}",
        '¾' => "\\frac{3}{4}",
        '⅕' => "\\frac{1}{5}",
        '⅖' => "\\frac{2}{5}",
        '⅗' => "\\frac{3}{5}",
        '⅘' => "\\frac{4}{5}",
        '⅙' => "\\frac{1}{6}",
        '⅚' => "\\frac{5}{6}",
        '⅐' => "\\frac{1}{7}",
        '⅛' => "\\frac{1}{8}",
        '⅜' => "\\frac{3}{8}",
        '⅝' => "\\frac{5}{8}",
        '⅞' => "\\frac{7}{8}",
        '⅑' => "\\frac{1}{9}",
        '⅒' => "\\frac{1}{10}",
        _ => return None,
    })
}
