//! One spelling for many: characters outside ASCII, by code point, rewritten as the ASCII or LaTeX
//! that the lexer knows.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Returns `text` with every known character outside ASCII rewritten. Unknown ones stay, and no
/// formula holds them. `None` for a character that makes text look different from its content.
pub(super) fn normalised(text: &str) -> Option<Cow<'_, str>> {
    if text.is_ascii() {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut shift = Shift::Base;
    for c in text.chars() {
        if matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}') {
            return None;
        }
        let (next, plain) = shifted(c);
        if next != shift {
            if shift != Shift::Base {
                out.push('}');
            }
            out.push_str(match next {
                Shift::Base => "",
                Shift::Up => "^{",
                Shift::Down => "_{",
            });
            shift = next;
        }
        match plain {
            Some(plain) => out.push(plain),
            None => base(c, &mut out),
        }
    }
    if shift != Shift::Base {
        out.push('}');
    }
    Some(Cow::Owned(out))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift {
    Base,
    Up,
    Down,
}

/// Decides whether `c` is raised or lowered, and what it then is.
fn shifted(c: char) -> (Shift, Option<char>) {
    const UP: &str = "⁰0¹1²2³3⁴4⁵5⁶6⁷7⁸8⁹9⁺+⁻-⁽(⁾)ⁿnⁱiˣxʸyᵏkᵐmᵀT";
    const DOWN: &str = "₀0₁1₂2₃3₄4₅5₆6₇7₈8₉9₊+₋-ₐaₑeₓxᵢiⱼjₖkₘmₙnₚpₜt";
    if c.is_ascii() {
        return (Shift::Base, None);
    }
    let find = |table: &str| {
        let mut pairs = table.chars();
        pairs.find(|from| *from == c).and_then(|_| pairs.next())
    };
    if let Some(plain) = find(UP) {
        return (Shift::Up, Some(plain));
    }
    match find(DOWN) {
        Some(plain) => (Shift::Down, Some(plain)),
        None => (Shift::Base, None),
    }
}

/// Writes a character that is neither raised nor lowered.
fn base(c: char, out: &mut String) {
    if let Some(spelling) = spelling(c).or_else(|| greek(c)) {
        out.push_str(spelling);
        return;
    }
    match c {
        '٠'..='٩' => out.push(digit(c, '٠')),
        '۰'..='۹' => out.push(digit(c, '۰')),
        '！'..='～' => out.push(char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c)),
        '\u{1D400}'..='\u{1D7FF}' | 'ℎ' | 'ℯ' | 'ℊ' | 'ℴ' => {
            for plain in std::iter::once(c).nfkc() {
                match greek(plain) {
                    Some(spelling) => out.push_str(spelling),
                    None => out.push(plain),
                }
            }
        }
        _ if c.is_whitespace() => out.push(' '),
        _ => out.push(c),
    }
}

/// Returns the digit that `c` writes in a script whose digits begin with `zero`.
fn digit(c: char, zero: char) -> char {
    char::from_digit(u32::from(c) - u32::from(zero), 10).unwrap_or(c)
}

fn spelling(c: char) -> Option<&'static str> {
    Some(match c {
        '−' | '‐' | '‑' | '–' | '﹣' | '➖' => "-",
        '×' | '✕' | '⋅' | '·' | '∙' | '∗' | '•' | '⨯' => "\\times ",
        '÷' => "\\div ",
        '⁄' | '∕' => "/",
        '±' => "\\pm ",
        '∓' => "\\mp ",
        '≈' | '≃' | '≅' => "\\approx ",
        '≤' | '⩽' | '≦' => "\\leq ",
        '≥' | '⩾' | '≧' => "\\geq ",
        '≠' => "\\neq ",
        '≡' => "\\equiv ",
        '∈' => "\\in ",
        '∣' | '｜' => "|",
        '√' => "\\surd ",
        '∛' => "\\cuberoot ",
        '∜' => "\\fourthroot ",
        '∞' => "\\infty ",
        '∪' | '⋃' => "\\cup ",
        '∩' | '⋂' => "\\cap ",
        '∖' => "\\setminus ",
        '∅' | '⌀' => "\\emptyset ",
        'ℝ' => "\\Reals ",
        'ℤ' => "\\Integers ",
        'ℚ' => "\\Rationals ",
        'ℕ' => "\\Naturals ",
        'ℂ' => "\\Complexes ",
        '∑' => "\\sum ",
        '∏' => "\\prod ",
        '∫' => "\\int ",
        '→' | '⟶' => "\\to ",
        '⌊' => "\\lfloor ",
        '⌋' => "\\rfloor ",
        '⌈' => "\\lceil ",
        '⌉' => "\\rceil ",
        '⟨' | '〈' => "\\langle ",
        '⟩' | '〉' => "\\rangle ",
        '∠' => "\\angle ",
        '△' => "\\triangle ",
        '°' | '˚' | 'º' => "^\\circ ",
        '′' | '’' | '‘' => "'",
        '″' => "''",
        '…' | '⋯' => "\\ldots ",
        '、' | '，' => ",",
        '€' => "\\euro ",
        '£' => "\\pounds ",
        '¥' | '￥' => "\\yen ",
        '₹' => "\\rupee ",
        '₩' => "\\won ",
        '\u{2126}' => "\\Omega ",
        // Marks that say "right" or "done", and characters without a width, mean nothing in a formula.
        '✓'
        | '✔'
        | '✅'
        | '☑'
        | '■'
        | '\u{FE0F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2060}'..='\u{2064}'
        | '\u{FEFF}'
        | '\u{AD}' => "",
        _ => return fraction(c),
    })
}

fn fraction(c: char) -> Option<&'static str> {
    Some(match c {
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

fn greek(c: char) -> Option<&'static str> {
    Some(match c {
        'α' => "\\alpha ",
        'β' => "\\beta ",
        'γ' => "\\gamma ",
        'δ' => "\\delta ",
        'ε' => "\\varepsilon ",
        'ϵ' => "\\epsilon ",
        'ζ' => "\\zeta ",
        'η' => "\\eta ",
        'θ' => "\\theta ",
        'ϑ' => "\\vartheta ",
        'ι' => "\\iota ",
        'κ' => "\\kappa ",
        'λ' => "\\lambda ",
        'μ' | 'µ' => "\\mu ",
        'ν' => "\\nu ",
        'ξ' => "\\xi ",
        'π' => "\\pi ",
        'ρ' => "\\rho ",
        'σ' => "\\sigma ",
        'τ' => "\\tau ",
        'υ' => "\\upsilon ",
        'φ' => "\\varphi ",
        'ϕ' => "\\phi ",
        'χ' => "\\chi ",
        'ψ' => "\\psi ",
        'ω' => "\\omega ",
        'Γ' => "\\Gamma ",
        'Δ' => "\\Delta ",
        'Θ' => "\\Theta ",
        'Λ' => "\\Lambda ",
        'Ξ' => "\\Xi ",
        'Π' => "\\Pi ",
        'Σ' => "\\Sigma ",
        'Φ' => "\\Phi ",
        'Ψ' => "\\Psi ",
        'Ω' => "\\Omega ",
        _ => return None,
    })
}
