//! Formulas of logic and of sets that have letters, as they are written: `\exists x\,\neg P(x)`,
//! `A^c \cap B^c`. They are compared without their typesetting, and never evaluated.

/// The longest such formula, in bytes.
const MAX_BYTES: usize = 300;

/// Commands and words with the sign that each stands for.
const SIGNS: [(&str, &str); 61] = [
    ("exists", "∃"),
    ("forall", "∀"),
    ("nexists", "∄"),
    ("neg", "¬"),
    ("lnot", "¬"),
    ("land", "∧"),
    ("wedge", "∧"),
    ("lor", "∨"),
    ("vee", "∨"),
    ("in", "∈"),
    ("notin", "∉"),
    ("le", "≤"),
    ("leq", "≤"),
    ("leqslant", "≤"),
    ("ge", "≥"),
    ("geq", "≥"),
    ("geqslant", "≥"),
    ("ne", "≠"),
    ("neq", "≠"),
    ("lt", "<"),
    ("gt", ">"),
    ("to", "→"),
    ("rightarrow", "→"),
    ("Rightarrow", "→"),
    ("implies", "→"),
    ("longrightarrow", "→"),
    ("Longrightarrow", "→"),
    ("iff", "↔"),
    ("leftrightarrow", "↔"),
    ("Leftrightarrow", "↔"),
    ("equiv", "≡"),
    ("cap", "∩"),
    ("cup", "∪"),
    ("setminus", "∖"),
    ("triangle", "∆"),
    ("subset", "⊂"),
    ("subseteq", "⊆"),
    ("emptyset", "∅"),
    ("varnothing", "∅"),
    ("complement", "c"),
    ("epsilon", "ε"),
    ("varepsilon", "ε"),
    ("delta", "δ"),
    ("cdot", "·"),
    ("times", "×"),
    ("colon", ":"),
    ("mid", ":"),
    ("R", "ℝ"),
    ("N", "ℕ"),
    ("Z", "ℤ"),
    ("Q", "ℚ"),
    ("infty", "∞"),
    ("bar", "‾"),
    ("overline", "‾"),
    ("lvert", "|"),
    ("rvert", "|"),
    ("vert", "|"),
    ("prime", "'"),
    ("pi", "π"),
    ("alpha", "α"),
    ("beta", "β"),
];

/// Commands that only set a font, a size or a space.
const PLAIN: [&str; 16] = [
    "left",
    "right",
    "big",
    "Big",
    "bigl",
    "bigr",
    "quad",
    "qquad",
    "text",
    "textrm",
    "mathrm",
    "operatorname",
    "displaystyle",
    "mathbf",
    "mathit",
    "boldsymbol",
];

/// Returns whether `text` is a formula of logic, or of sets that have letters for names.
pub fn is_logical(text: &str) -> bool {
    canonical(text).is_some()
}

/// Decides whether both are one formula of logic or of sets, up to typesetting. Of a candidate's chain of
/// equal formulas the last counts.
pub(crate) fn are_same(gold: &str, candidate: &str) -> bool {
    let Some(gold) = canonical(gold) else {
        return false;
    };
    let Some(candidate) = canonical(candidate) else {
        return false;
    };
    let last = candidate.rsplit(['=', '≡', '↔']).next().unwrap_or(&candidate);
    gold == candidate || !gold.contains(['=', '≡', '↔']) && gold == last
}

/// Returns the signs of a formula; `None` for any other text.
fn canonical(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES || !may_be(text) {
        return None;
    }
    let mut signs = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '\\' => command(after, &mut signs)?,
            _ if first.is_whitespace() => after,
            '$' | '~' => after,
            '*' if after.starts_with('*') => &after[1..],
            '⇒' | '⟹' | '⟶' => {
                signs.push('→');
                after
            }
            '⇔' | '⟺' => {
                signs.push('↔');
                after
            }
            '⋂' | '⋃' | '−' | '∼' => {
                signs.push(match first {
                    '⋂' => '∩',
                    '⋃' => '∪',
                    '−' => '-',
                    _ => '¬',
                });
                after
            }
            _ => {
                signs.push(first);
                after
            }
        };
    }
    let signs = complements(&worded(&signs));
    let signs = signs.trim_end_matches(['.', ',']);
    let quantified = signs.contains(['∃', '∀', '∄']);
    let is_logical = quantified || signs.contains(['¬', '∧', '∨']);
    let is_of_sets = signs.contains('ᶜ')
        || signs.contains(['∩', '∪', '∖', '∆']) && !signs.contains(|c: char| c.is_numeric());
    if !is_logical && !is_of_sets {
        return None;
    }
    // What stands between a quantifier and what it says differs by author.
    let is_between = |c: char| quantified && matches!(c, ':' | ',' | '|' | '.' | ';');
    let signs: String = signs.chars().filter(|c| !is_between(*c)).collect();
    Some(if quantified { bare_scope(signs) } else { signs })
}

/// Returns a formula without the brackets around all that its quantifiers say: `∃x∈ℝ∀y∈ℝ(x+y≠0)`.
fn bare_scope(signs: String) -> String {
    let Some(open) = signs.find('(').filter(|_| signs.ends_with(')')) else {
        return signs;
    };
    let is_prefix = !signs[..open].contains(['∧', '∨', '→', '↔', '¬', '=', '≠']);
    let mut depth = 0;
    let shut = signs[open..].char_indices().find(|(_, c)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    let is_whole = shut.is_some_and(|(at, _)| open + at + 1 == signs.len());
    let inner = &signs[open + 1..signs.len() - 1];
    // `P(x)` is no scope.
    let is_applied = signs[..open].ends_with(|c: char| c.is_ascii_uppercase());
    if is_prefix && is_whole && !is_applied { format!("{}{inner}", &signs[..open]) } else { signs }
}

/// Returns whether a sign or a command of such a formula may stand in `text`.
fn may_be(text: &str) -> bool {
    const COMMANDS: [&str; 14] = [
        "\\exists",
        "\\forall",
        "\\nexists",
        "\\neg",
        "\\lnot",
        "\\land",
        "\\wedge",
        "\\lor",
        "\\vee",
        "\\cap",
        "\\cup",
        "\\setminus",
        "\\overline",
        "\\complement",
    ];
    text.contains(['∃', '∀', '∄', '¬', '∧', '∨', '∩', '∪', '∖', 'ᶜ'])
        || text.contains('\\') && COMMANDS.iter().any(|name| text.contains(name))
}

/// Appends the sign of the command that `after` opens, and returns what follows it; `None` for a
/// command that is not known.
fn command<'t>(after: &'t str, signs: &mut String) -> Option<&'t str> {
    let length = after.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, rest) = after.split_at(length);
    if name.is_empty() {
        let first = after.chars().next()?;
        if !matches!(first, ',' | ';' | ':' | '!' | ' ' | '(' | ')' | '[' | ']') {
            signs.push(first);
        }
        return Some(&after[first.len_utf8()..]);
    }
    if matches!(name, "mathbb" | "mathbf" | "mathcal") {
        let inner = rest.trim_start().trim_start_matches('{');
        let letter = inner.chars().next()?;
        let set = SIGNS.iter().find(|(known, _)| known.chars().eq([letter]));
        match set.filter(|_| name == "mathbb") {
            Some((_, sign)) => signs.push_str(sign),
            None => signs.push(letter),
        }
        let rest = &inner[letter.len_utf8()..];
        return Some(rest.strip_prefix('}').unwrap_or(rest));
    }
    if PLAIN.contains(&name) {
        return Some(rest);
    }
    let (_, sign) = SIGNS.iter().find(|(known, _)| *known == name)?;
    signs.push_str(sign);
    Some(rest)
}

/// Returns `signs` with words of logic as signs. White space is gone.
fn worded(signs: &str) -> String {
    const WORDS: [(&str, &str); 7] = [
        ("suchthat", ":"),
        ("forall", "∀"),
        ("forevery", "∀"),
        ("thereexists", "∃"),
        ("with", ":"),
        ("and", "∧"),
        ("s.t.", ":"),
    ];
    let mut signs = signs.to_owned();
    for (word, sign) in WORDS {
        if signs.contains(word) {
            signs = signs.replace(word, sign);
        }
    }
    signs
}

/// Returns `signs` with one way to write complements, `A^c`, `A'` and a bar over A, and without
/// braces.
fn complements(signs: &str) -> String {
    let mut out = String::with_capacity(signs.len());
    let mut rest = signs;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let power =
            ["^{c}", "^c", "^{'}", "^'", "'"].iter().find_map(|mark| rest.strip_prefix(mark));
        let is_behind = out.ends_with(|c: char| c.is_ascii_uppercase() || c == ')');
        if let Some(after) = power.filter(|_| is_behind) {
            out.push('ᶜ');
            rest = after;
            continue;
        }
        if first == '‾' {
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let letter = after.chars().next().map_or(0, char::len_utf8);
            let (inner, after) = braced.unwrap_or_else(|| after.split_at(letter));
            if !inner.starts_with(|c: char| c.is_ascii_uppercase() || c == '(') {
                // A repeating decimal, or the name of a mean.
                out.push('‾');
                rest = &rest[first.len_utf8()..];
                continue;
            }
            if inner.chars().count() == 1 {
                out.push_str(inner);
            } else {
                out.push('(');
                out.push_str(inner);
                out.push(')');
            }
            out.push('ᶜ');
            rest = after;
            continue;
        }
        if !matches!(first, '{' | '}') {
            out.push(first);
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_the_same_in_any_typesetting() {
        for (gold, candidate) in [
            (r"\exists x\in\mathbb{R}:\ x^2<0", r"\exists\,x\in\mathbb R\ \text{such that}\ x^2<0"),
            (r"$\exists x\in\mathbb{R}:\ x^2<0$", "∃x ∈ ℝ: x^2 < 0"),
            (r"\exists x\,\neg P(x)", "∃x ¬P(x)"),
            (r"\exists \varepsilon>0\ \forall\delta>0", r"\exists\,\epsilon>0\;\forall\,\delta>0"),
            (r"A^c\cap B^c", r"\overline{A\cup B}=\overline A\cap\overline B"),
            (r"A^c\cap B^c", "A' ∩ B'"),
            (r"\neg p\lor q", r"\lnot p \vee q"),
            (r"p\wedge\neg q", r"\neg(p\to q)\equiv p\land\lnot q"),
        ] {
            assert!(are_same(gold, candidate), "{gold}, {candidate}: {:?}", canonical(candidate));
        }
        for (gold, candidate) in [
            (r"\exists x\,\neg P(x)", r"\forall x\,\neg P(x)"),
            (r"\exists x\,\neg P(x)", r"\exists x\,P(x)"),
            (r"\exists x\in\mathbb{R}:\ x^2<0", r"\exists x\in\mathbb{R}:\ x^2\le 0"),
            (r"\exists x\in\mathbb{R}:\ x^2<0", r"\exists x\in\mathbb{Z}:\ x^2<0"),
            (r"A^c\cap B^c", r"A^c\cup B^c"),
            (r"A^c\cap B^c", r"A\cap B"),
            (r"\neg p\lor q", r"\neg q\lor p"),
            (r"(1,2)\cup(3,4)", r"(12)\cup(34)"),
            ("x = 5", "x = 5"),
        ] {
            assert!(!are_same(gold, candidate), "{gold}, {candidate}");
        }
    }
}
