//! The formulas of a text, and the sides of a formula.

use std::ops::Range;

/// Environments whose rows are formulas.
const ENVIRONMENTS: [&str; 6] = ["align*", "align", "aligned", "equation*", "equation", "gather*"];

/// Delimiters of formulas, longer ones first.
const DELIMITERS: [(&str, &str); 4] = [("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")];

/// The longest formula that is checked, in bytes.
const MAX_FORMULA: usize = 2048;

/// Returns the byte ranges of the formulas of `text`, in order: what stands between delimiters, and
/// lines of running text that are nothing but a formula with an equals sign.
pub(super) fn formulas(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut plain = 0;
    while let Some(offset) = memchr::memchr2(b'$', b'\\', &text.as_bytes()[at..]) {
        let start = at + offset;
        match delimited(text, start) {
            Some((inner, end)) => {
                lines(text, plain..start, &mut found);
                environment_rows(text, inner, &mut found);
                at = end;
                plain = end;
            }
            // A sign of money, or a command.
            None => at = start + 1,
        }
    }
    lines(text, plain..text.len(), &mut found);
    found
}

/// Returns the inside of the formula that opens at `start`, and the end of its closing mark.
fn delimited(text: &str, start: usize) -> Option<(Range<usize>, usize)> {
    let rest = &text[start..];
    for (open, close) in DELIMITERS {
        if let Some(body) = rest.strip_prefix(open) {
            let window = &body[..floor_boundary(body, MAX_FORMULA)];
            let len = window.find(close)?;
            let inner = &window[..len];
            let is_formula = open != "$" || is_inline(inner);
            let from = start + open.len();
            return is_formula.then(|| (from..from + len, from + len + close.len()));
        }
    }
    for name in ENVIRONMENTS {
        let open = format!("\\begin{{{name}}}");
        if let Some(body) = rest.strip_prefix(open.as_str()) {
            let close = format!("\\end{{{name}}}");
            let len = body[..floor_boundary(body, 2 * MAX_FORMULA)].find(&close)?;
            let from = start + open.len();
            return Some((from..from + len, from + len + close.len()));
        }
    }
    None
}

/// Returns the last character boundary that is not after `limit`.
fn floor_boundary(text: &str, limit: usize) -> usize {
    let mut at = limit.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns whether what stands between two dollar signs is a formula and not the text between two
/// prices.
fn is_inline(inner: &str) -> bool {
    let is_empty = inner.trim().is_empty();
    let touches = !inner.starts_with(' ') || !inner.ends_with(' ');
    !is_empty && touches && !inner.contains('\n') && !has_words(inner)
}

/// Returns whether two words of three letters or more stand side by side outside of commands and
/// braces.
fn has_words(text: &str) -> bool {
    let mut run = 0;
    let mut words = 0;
    let mut depth = 0;
    let mut in_command = false;
    for byte in text.bytes().chain([b' ']) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'\\' => in_command = true,
            _ => {}
        }
        if byte.is_ascii_alphabetic() {
            run += 1;
            continue;
        }
        if run >= 3 && !in_command && depth == 0 {
            words += 1;
        }
        run = 0;
        in_command = byte == b'\\';
    }
    words >= 2
}

/// The rows of a formula: aligned ones are several.
fn environment_rows(text: &str, inner: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut from = inner.start;
    let mut depth = 0usize;
    let bytes = text.as_bytes();
    let mut at = inner.start;
    while at < inner.end {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'\\' if bytes.get(at + 1) == Some(&b'\\') && depth == 0 => {
                found.push(from..at);
                from = at + 2;
                at += 1;
            }
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    if from < inner.end {
        found.push(from..inner.end);
    }
}

/// Lines of running text that state an equality and have no words.
fn lines(text: &str, plain: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut from = plain.start;
    for line in text[plain].split_inclusive('\n') {
        let trimmed = line.trim().trim_end_matches(['.', ',', ';']);
        let start = from + line.find(trimmed).unwrap_or(0);
        from += line.len();
        let is_short = trimmed.len() <= MAX_FORMULA;
        if is_short && trimmed.contains('=') && is_plain_formula(trimmed) {
            found.push(start..start + trimmed.len());
        }
    }
}

/// Names that a plain formula may spell out.
const NAMES: [&str; 10] = ["sin", "cos", "tan", "sqrt", "log", "ln", "exp", "pi", "abs", "theta"];

fn is_plain_formula(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-*/^()=. _".contains(c);
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    text.chars().all(allowed)
        && words.into_iter().all(|word| word.len() < 2 || NAMES.contains(&word))
}

/// Arrows that join equations.
const ARROWS: [&str; 6] =
    ["\\Longrightarrow", "\\Rightarrow", "\\implies", "\\iff", "\\Leftrightarrow", "\\therefore"];

/// Returns the statements of a formula that arrows join, as ranges of `formula`.
pub(super) fn statements(formula: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(offset) = memchr::memchr(b'\\', &formula.as_bytes()[at..]) {
        let start = at + offset;
        let arrow = ARROWS.iter().find(|arrow| formula[start..].starts_with(**arrow));
        if let Some(arrow) = arrow {
            parts.push(from..start);
            from = start + arrow.len();
            at = from;
        } else {
            at = start + 1;
        }
    }
    parts.push(from..formula.len());
    parts
}

/// Returns the sides of a chain of equalities, as ranges of `formula`; `None` if another relation
/// occurs in it or nothing is stated.
pub(super) fn sides(formula: &str) -> Option<Vec<Range<usize>>> {
    const OTHERS: [&str; 14] = [
        "\\le", "\\ge", "\\ne", "\\lt", "\\gt", "\\approx", "\\equiv", "\\in", "\\pmod", "\\bmod",
        "\\mod", "\\sim", "\\cong", "\\to",
    ];
    let bytes = formula.as_bytes();
    let is_command = |name: &str| {
        formula.match_indices(name).any(|(at, _)| {
            let after = bytes.get(at + name.len());
            // `\left` is no `\le`, and `\int` no `\in`; `\leq` and `\neq` are relations.
            after.is_none_or(|byte| !byte.is_ascii_alphabetic() || *byte == b'q')
        })
    };
    if memchr::memchr2(b'<', b'>', bytes).is_some() || OTHERS.into_iter().any(is_command) {
        return None;
    }
    let mut sides = Vec::new();
    let mut depth = 0usize;
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' | b'(' => depth += 1,
            b'}' | b')' => depth = depth.saturating_sub(1),
            b'=' if depth == 0 => {
                let is_compound = at > 0 && matches!(bytes[at - 1], b'!' | b':' | b'=');
                if is_compound || bytes.get(at + 1) == Some(&b'=') {
                    return None;
                }
                sides.push(from..at);
                from = at + 1;
            }
            _ => {}
        }
    }
    sides.push(from..formula.len());
    (sides.len() >= 2).then_some(sides)
}
