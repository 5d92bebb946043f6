//! Parts of a text that cannot be read as a whole, which state its answer: without remarks in brackets, behind the
//! last arrow or the last sign of equality.

/// Returns `text` without the words in brackets at its end: `0.60 N` of `0.60 N (repulsive)`. Words that take
/// the answer back stay.
pub(super) fn without_remark(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let inside = text.strip_suffix(")}").or_else(|| text.strip_suffix("})"));
    let inside = inside.or_else(|| text.strip_suffix(')'))?;
    let (before, remark) = match inside.split_once("(=") {
        Some((before, _)) => (before, "="),
        None => inside.rsplit_once('(')?,
    };
    let before = before.strip_suffix("\\text{").unwrap_or(before);
    // `(\text{repulsive})`
    let remark = remark.strip_prefix("\\text{").unwrap_or(remark);
    let is_apart = before.ends_with([' ', '~', '\\']) || before.ends_with("\\,");
    // `-16\cos 2t \quad (= -4x)` says the same once more.
    let restates =
        remark.trim_start().starts_with(['=', '≈']) || remark.trim_start().starts_with("\\approx");
    // `2n + 1\ (n \in \mathbf N^*)`
    let mut said = remark.chars();
    let is_domain = said.next().is_some_and(|c| c.is_ascii_lowercase())
        && ["\\in", "∈"].iter().any(|sign| said.as_str().trim_start().starts_with(sign));
    let before = before.trim_end().strip_suffix("\\quad").unwrap_or(before);
    (is_apart && (restates || is_domain || are_words(remark)))
        .then(|| before.trim_end_matches([' ', '~', '\\']))
}

/// Returns whether a text is words in small letters that take nothing back.
fn are_words(text: &str) -> bool {
    const RETRACTIONS: [&str; 9] = [
        "extraneous",
        "false",
        "impossible",
        "incorrect",
        "invalid",
        "no",
        "not",
        "rejected",
        "wrong",
    ];
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let is_word = |word: &str| {
        word.len() > 2
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && !RETRACTIONS.contains(&word)
    };
    words.peek().is_some() && words.all(is_word)
}

/// Returns `text` without words in brackets behind its parts: `(1,1)\ \text{(local minimum)}, (-1,1)\ \text{(saddle
/// point)}`. Words that take a part back stay.
pub(super) fn without_text_remarks(text: &str) -> Option<String> {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\text{") {
        let (before, from) = rest.split_at(at);
        let (inner, after) = from["\\text{".len()..].split_once('}')?;
        let words = inner.trim().strip_prefix('(').and_then(|words| words.strip_suffix(')'));
        kept += before;
        if words.is_some_and(are_words) {
            kept.truncate(kept.trim_end_matches([' ', '~', '\\']).len());
        } else {
            kept += &from[..from.len() - after.len()];
        }
        rest = after;
    }
    kept += rest;
    (kept.len() < text.len()).then_some(kept)
}

/// Returns `0.50 mol/L` for `0.50 M`, which may be a product.
pub(super) fn molar(text: &str) -> Option<String> {
    if !text.contains('M') {
        return None;
    }
    let text = text.trim_matches(['$', ' ', '*']);
    let fonts =
        ["\\text{ M}", "\\,\\text{M}", "\\ \\text{M}", "\\ \\mathrm{M}", "\\,\\mathrm{M}", " M"];
    let number = fonts.iter().find_map(|font| text.strip_suffix(font))?;
    let is_number = number.ends_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','));
    is_number.then(|| format!("{number} mol/L"))
}

/// Returns an amount with a blank before its unit: `150 km` for `150km`, which may be a product of letters.
pub(super) fn with_blank(text: &str) -> Option<String> {
    let text = text.trim_matches(['$', ' ', '*']);
    let digits = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))?;
    let (number, unit) = text.split_at(digits);
    let letters = unit.chars().filter(|c| c.is_alphabetic()).count();
    let is_unit = letters > 1 && unit.starts_with(char::is_alphabetic) && maths::is_unit(unit);
    (!number.is_empty() && is_unit).then(|| format!("{number} {unit}"))
}

/// Returns a formula without words that say that its letter is a constant: `ax^2, a \in \mathbb{R}\text{ constant}`.
pub(super) fn without_constant(text: &str) -> Option<&str> {
    let ends = [
        "\\text{ constant}",
        "\\text{ (constant)}",
        "\\text{ arbitrary}",
        " constant",
        " arbitrary",
    ];
    let bare = ends.iter().find_map(|end| text.trim_end().strip_suffix(end))?;
    bare.contains("\\in").then_some(bare)
}

/// Returns a name and the chemical formula in brackets behind it: `hydrogen` and `H_2` of
/// `\text{hydrogen }(\mathrm{H_2})`.
pub(super) fn named_formula(text: &str) -> Option<(&str, &str)> {
    // Most answers have no name before a bracket.
    let inside = text.trim_end().strip_suffix(')')?;
    let (name, formula) = inside.split_once('(')?;
    let name = name.trim().trim_start_matches("\\text{").trim_end_matches(['}', ' ', '~', '\\']);
    let mut letters = name.chars();
    let is_name = name.len() > 2
        && letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_lowercase() || c == ' ');
    is_name.then(|| bare_formula(formula)).flatten().map(|formula| (name, formula))
}

/// Returns whether a text is a chemical formula: `\mathrm{H_2}`.
pub(super) fn is_formula(text: &str) -> bool {
    bare_formula(text).is_some()
}

/// Returns a chemical formula without its font; `None` where `text` is none.
fn bare_formula(text: &str) -> Option<&str> {
    let fonts = ["\\mathrm{", "\\text{", "\\ce{"];
    let text = text.trim_matches(['$', ' ', '*']);
    let bare = fonts.iter().find_map(|font| text.strip_prefix(font)?.strip_suffix('}'));
    let formula = bare.unwrap_or(text).trim_matches('$');
    let plain = formula.replace(['_', '{', '}', '^'], "");
    maths::is_chemical(&plain).then_some(formula)
}

/// Returns the number before a counter of Korean: `120가지`.
pub(super) fn without_counter(text: &str) -> Option<&str> {
    const COUNTERS: [&str; 14] = [
        "가지", "개", "명", "번", "쌍", "장", "마리", "권", "그루", "송이", "팀", "살", "회",
        "자리",
    ];
    let number = COUNTERS.iter().find_map(|counter| text.trim().strip_suffix(counter))?.trim_end();
    let is_number = number.ends_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | ' '));
    is_number.then_some(number)
}

/// Returns words without those in brackets before others: `a hyperbola` of `a (rectangular) hyperbola`.
pub(super) fn without_middle_brackets(text: &str) -> Option<String> {
    let (before, rest) = text.split_once('(')?;
    let (inner, after) = rest.split_once(") ")?;
    let are_words = |text: &str| text.chars().all(|c| c.is_alphabetic() || c == ' ' || c == '-');
    (before.ends_with(' ') && are_words(before) && are_words(inner) && are_words(after))
        .then(|| format!("{before}{after}"))
}

/// Returns what follows the last arrow of a text that concludes: `pH = 3` of `[H⁺] = 10⁻³ ⇒ pH = 3`.
pub(super) fn last_conclusion(text: &str) -> Option<&str> {
    let arrows = ["⇒", "⟹", "\\Rightarrow", "\\implies", "\\Longrightarrow", "=>", "\\mapsto", "↦"];
    let ends = arrows.iter().filter_map(|arrow| text.rfind(arrow).map(|at| at + arrow.len()));
    ends.max().map(|end| text[end..].trim()).filter(|rest| !rest.is_empty())
}

/// Returns the last two sides of a chain of equalities or of a congruence of which another one may be what cannot
/// be read: `\mathbf k` and `(0, 0, 1)` of `\mathbf a \times \mathbf b = \mathbf k = (0, 0, 1)`.
pub(super) fn last_sides(text: &str) -> Option<[&str; 2]> {
    let signs = ["=", "≡", "\\equiv"];
    let last = |text: &str| {
        let places = signs.iter().filter_map(|sign| text.rfind(sign).map(|at| (at, sign.len())));
        places.max()
    };
    let (at, length) = last(text)?;
    let (chain, after) = (&text[..at], without_domain(text[at + length..].trim()));
    let before = last(chain).map_or(chain, |(at, length)| &chain[at + length..]);
    let is_other = chain.contains(['<', '>', '≤', '≥', '≠', '≈'])
        || chain.ends_with(['!', ':'])
        || ["\\leq", "\\geq", "\\le ", "\\ge ", "\\ne", "\\approx"]
            .iter()
            .any(|sign| chain.contains(sign))
        || holds_words(chain);
    let counts = |sign: &str| after.matches(sign).count();
    let is_whole = counts("{") == counts("}")
        && counts("(") == counts(")")
        && counts("\\begin") == counts("\\end")
        && !after.contains(", ");
    (!is_other && is_whole && !before.trim().is_empty() && !after.is_empty())
        .then_some([before, after])
}

/// Returns a value without what its letter must not be: `x + 3` of `x + 3, \quad x \ne 3`.
fn without_domain(text: &str) -> &str {
    let Some((value, said)) = text.split_once(',') else {
        return text;
    };
    let spaces = ["\\quad", "\\qquad", "\\;", "\\,", "\\ ", "\\text{for }", "\\text{ for }", "("];
    let mut said = said.trim_start();
    while let Some(rest) = spaces.iter().find_map(|space| said.strip_prefix(space)) {
        said = rest.trim_start();
    }
    let mut letters = said.chars();
    let is_letter = letters.next().is_some_and(|c| c.is_ascii_lowercase());
    let rest = letters.as_str().trim_start();
    let is_domain = is_letter && ["\\ne", "≠"].iter().any(|sign| rest.starts_with(sign));
    if is_domain && value.contains(said.get(..1).unwrap_or(",")) { value.trim() } else { text }
}

/// Returns whether `\text{…}` in `text` holds words that are no unit.
fn holds_words(text: &str) -> bool {
    let mut inner = text.split("\\text").skip(1);
    inner.any(|rest| {
        let words = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        !words.is_some_and(|(words, _)| maths::is_unit(words.trim()))
    })
}
