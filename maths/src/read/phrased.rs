//! Answers that words complete: an equation with the name of its curve, a unit with its symbol, points up to the
//! order of their coordinates, amounts of a substance, a hypothesis.
//!
//! They are looked for only where a text is unread.

use crate::chemistry;
use crate::measure;

/// Returns a text that no grammar reads without these words, or with what they stand for.
pub(super) fn unread(text: &str) -> Option<String> {
    named_curve(text)
        .or_else(|| named_unit(text))
        .or_else(|| permuted(text))
        .or_else(|| amount_of_substance(text))
        .or_else(|| null_hypothesis(text))
        .or_else(|| connected(text))
        .or_else(|| told(text))
        .or_else(|| bounds(text))
        .or_else(|| ideal(text))
        .or_else(|| diagonal(text))
        .or_else(|| percent(text))
}

/// Returns the matrix for `\operatorname{diag}(2, 5)`.
fn diagonal(text: &str) -> Option<String> {
    /// The largest one.
    const MAX_SIZE: usize = 8;
    let bare = text.replace("\\operatorname{diag}", "diag").replace("\\mathrm{diag}", "diag");
    let bare = bare.replace("\\text{diag}", "diag").replace("\\left", "").replace("\\right", "");
    let inner = bare.trim().strip_prefix("diag")?.trim().strip_prefix('(')?.strip_suffix(')')?;
    let entries: Vec<&str> = inner.split(',').map(str::trim).collect();
    let is_size = (2..=MAX_SIZE).contains(&entries.len());
    let row = |at: usize| {
        let entry = |column: usize| if column == at { entries[at] } else { "0" };
        (0..entries.len()).map(entry).collect::<Vec<_>>().join("&")
    };
    let rows: Vec<String> = (0..entries.len()).map(row).collect();
    is_size.then(|| format!("\\begin{{pmatrix}}{}\\end{{pmatrix}}", rows.join("\\\\")))
}

/// Returns `60\%` for `%60` and "yüzde 60", as Turkish writes it.
pub(super) fn percent(text: &str) -> Option<String> {
    let plain = text.trim_matches(['$', ' ']);
    let signs = ["%", "yüzde ", "Yüzde "];
    let number = signs.iter().find_map(|sign| plain.strip_prefix(*sign))?.trim();
    let is_number = !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','));
    is_number.then(|| format!("{number}\\%"))
}

/// Returns `\{3k : k \in \mathbb{Z}\}` for `3\mathbb{Z}`.
fn ideal(text: &str) -> Option<String> {
    let sets = ["\\mathbb{Z}", "\\mathbb Z", "ℤ", "\\Z"];
    let factor = sets.iter().find_map(|set| text.trim().strip_suffix(set))?.trim_end();
    let is_number = !factor.is_empty() && factor.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| format!("\\{{{factor}k : k \\in \\mathbb{{Z}}\\}}"))
}

/// Returns `\text{supremum} = 3/2` for `\sup = 3/2`, which names a bound.
fn bounds(text: &str) -> Option<String> {
    let is_name = |command: &str| {
        text.match_indices(command).all(|(at, _)| {
            let rest = text[at + command.len()..].trim_start_matches([' ', 'A', 'S', '\\', ',']);
            rest.starts_with(['=', ':'])
        })
    };
    let holds = text.contains("\\sup") || text.contains("\\inf");
    let plain = text.replace("\\sup", "\\text{supremum}").replace("\\inf", "\\text{infimum}");
    (holds && !text.contains("\\infty") && is_name("\\sup") && is_name("\\inf")).then_some(plain)
}

/// Returns alternatives with "and" or "or" for the words of other languages, and for the sign of logic: `(3,4)` and
/// `(4,3)` of `$(3,4)$ e $(4,3)$`.
pub(super) fn connected(text: &str) -> Option<String> {
    const AND: [&str; 5] = ["e", "y", "et", "und", "и"];
    const OR: [&str; 6] = ["o", "ou", "oder", "u", "или", "oppure"];
    let mut plain = text.to_owned();
    for (words, english) in [(&AND[..], "and"), (&OR[..], "or")] {
        for word in words {
            plain = plain
                .replace(&format!("$ {word} $"), &format!("\\text{{ {english} }}"))
                .replace(&format!("\\text{{ {word} }}"), &format!("\\text{{ {english} }}"));
        }
    }
    let is_equation = plain.contains(['=', '<', '>', '≤', '≥']);
    for sign in ["\\lor", "\\vee", "∨"] {
        if is_equation {
            plain = plain.replace(sign, "\\text{ or }");
        }
    }
    (plain != text).then_some(plain)
}

/// Returns the value of "converges to 2" and the factor of "a factor of 8". What "increases by a factor of 8" has a
/// direction, which no number has.
pub(super) fn told(text: &str) -> Option<String> {
    const OPENINGS: [&str; 5] =
        ["converges to ", "it converges to ", "convergent, ", "a factor of ", "by a factor of "];
    let plain = text.replace('$', "");
    let value = OPENINGS.iter().find_map(|opening| plain.strip_prefix(opening));
    value.filter(|value| value.chars().any(char::is_numeric)).map(str::to_owned)
}

/// Returns the equation of "the line y = -x".
pub(super) fn curve(text: &str) -> Option<String> {
    const CURVES: [&str; 6] =
        ["line ", "straight line ", "circle ", "parabola ", "plane ", "curve "];
    if !text.starts_with("the ") {
        return None;
    }
    let plain = text.replace('$', "");
    let curve = plain.strip_prefix("the ").unwrap_or(&plain);
    let equation = CURVES.iter().find_map(|name| curve.strip_prefix(name))?;
    (equation.matches('=').count() == 1).then(|| equation.to_owned())
}

/// Returns the equation of `x^2 + y^2 = 4, a circle of radius 2`, which says what curve it is.
fn named_curve(text: &str) -> Option<String> {
    const CURVES: [&str; 16] = [
        "circle",
        "ellipse",
        "parabola",
        "hyperbola",
        "line",
        "sphere",
        "plane",
        "cardioid",
        "cone",
        "cylinder",
        "Kreis",
        "cercle",
        "circunferencia",
        "circunferência",
        "circonferenza",
        "окружность",
    ];
    const ARTICLES: [&str; 11] =
        ["a", "an", "the", "ein", "eine", "un", "une", "una", "um", "uma", "which"];
    let (equation, words) = text.split_once(", ").or_else(|| text.rsplit_once(" ("))?;
    let words = words.trim_start_matches(['$', ' ']);
    let words = words.strip_prefix("\\text{").unwrap_or(words).trim_start();
    let mut said = words.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let opens = said.next().is_some_and(|word| ARTICLES.contains(&word));
    let is_equation = equation.matches('=').count() == 1 && equation.contains('y');
    let names_curve = said.take(4).any(|word| CURVES.contains(&word));
    (opens && is_equation && names_curve).then(|| equation.trim_matches('$').to_owned())
}

/// Returns the name of a unit without its symbol behind it: `newton (N)`.
fn named_unit(text: &str) -> Option<String> {
    let plain = text.replace("\\text{", "").replace("\\mathrm{", "").replace('}', "");
    let (name, symbol) = plain.strip_suffix(')')?.split_once('(')?;
    let (name, symbol) = (name.trim(), symbol.trim_matches(['$', ' ']));
    let is_name = name.len() > 2 && name.bytes().all(|b| b.is_ascii_alphabetic());
    (is_name && measure::is_unit(name) && measure::is_unit(symbol)).then(|| name.to_owned())
}

/// Returns all points of "all permutations of (1, 2, 3)" and of "(1, 2, 3) and its permutations".
fn permuted(text: &str) -> Option<String> {
    /// Coordinates of the longest point.
    const MAX_MEMBERS: usize = 4;
    let at = text.find("permutation")?;
    let plain = text.replace("\\text{", "").replace(['}', '$'], "");
    let (before, after) = plain.split_once("permutation")?;
    let points = if before.contains('(') { before } else { after };
    let words = if before.contains('(') { &text[at..] } else { before };
    // "even permutations" are not all.
    let is_all = !words.contains("even") && !words.contains("odd") && !before.contains("cyclic");
    let mut all: Vec<String> = Vec::new();
    let mut rest = points;
    while let Some(open) = rest.find('(') {
        let shut = open + rest[open..].find(')')?;
        let members: Vec<&str> = rest[open + 1..shut].split(',').map(str::trim).collect();
        if !(2..=MAX_MEMBERS).contains(&members.len()) {
            return None;
        }
        for order in orders(&members) {
            let point = format!("({})", order.join(","));
            if !all.contains(&point) {
                all.push(point);
            }
        }
        rest = &rest[shut + 1..];
    }
    (is_all && !all.is_empty()).then(|| all.join(", "))
}

/// Returns the orders of a few members.
fn orders<'t>(members: &[&'t str]) -> Vec<Vec<&'t str>> {
    let [first, rest @ ..] = members else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for shorter in orders(rest) {
        for at in 0..=shorter.len() {
            let mut order = shorter.clone();
            order.insert(at, first);
            all.push(order);
        }
    }
    all
}

/// Returns `15 mol of otwo` for `15 \\text{ mol } \\mathrm{O_2}`: an amount with its substance in a word.
fn amount_of_substance(text: &str) -> Option<String> {
    const UNITS: [&str; 12] = [
        "mol",
        "moles",
        "mole",
        "mmol",
        "g",
        "grams",
        "kg",
        "mg",
        "L",
        "liters",
        "mL",
        "molecules",
    ];
    const DIGITS: [&str; 10] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    let plain = ["\\text{", "\\mathrm{", "\\ce{", "}", "{", "$", "_"]
        .iter()
        .fold(text.replace(['~', '\u{a0}'], " "), |text, mark| text.replace(mark, ""));
    let plain = plain.replace("\\,", " ").replace("\\ ", " ").replace("\\;", " ");
    let (amount, substance) = plain.trim().rsplit_once(' ')?;
    let amount = amount.trim_end();
    let amount = amount.strip_suffix(" of").unwrap_or(amount);
    let (number, unit) = amount.rsplit_once(' ')?;
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    if !is_number || !UNITS.contains(&unit) || !chemistry::is_chemical(substance) {
        return None;
    }
    let mut word = String::new();
    for c in substance.chars().filter(char::is_ascii_alphanumeric) {
        match c.to_digit(10) {
            Some(digit) => word.push_str(DIGITS[digit as usize]),
            None => word.push(c.to_ascii_lowercase()),
        }
    }
    Some(format!("{} {unit} of {word}", number.trim_end()))
}

/// Returns words about `H_0` with the null hypothesis in its place: to reject it, or not.
fn null_hypothesis(text: &str) -> Option<String> {
    let text = text.replace(['$', '}'], "").replace("\\text{", "").replace('{', "");
    let name = ["H_0", "H₀", "H0"].into_iter().find(|name| text.contains(name))?;
    let is_verdict = text.contains("eject") || text.contains("accept");
    let has_name = text.contains("null hypothesis");
    let words = text.replace(name, if has_name { "" } else { "the null hypothesis" });
    let words = words.replace("()", "");
    (is_verdict && words.chars().all(|c| c.is_alphabetic() || " .,'’-".contains(c)))
        .then(|| words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns `15 m/s` for `秒速15 m`, a speed whose time stands first.
pub(super) fn rate(text: &str) -> Option<String> {
    const TIMES: [(&str, &str); 9] = [
        ("秒速", "s"),
        ("毎秒", "s"),
        ("每秒", "s"),
        ("分速", "min"),
        ("毎分", "min"),
        ("每分钟", "min"),
        ("時速", "h"),
        ("时速", "h"),
        ("每小时", "h"),
    ];
    let (rest, time) =
        TIMES.iter().find_map(|(name, time)| Some((text.strip_prefix(*name)?, time)))?;
    let rest = rest.trim().replace("キロメートル", " km").replace("メートル", " m");
    let is_amount = rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains('/');
    is_amount.then(|| format!("{rest}/{time}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_complete_answers() {
        for (text, expected) in [
            ("$x^2+y^2=4$, a circle of radius 2", Some("x^2+y^2=4")),
            ("x^2+y^2=4, a big surprise", None),
            ("newton (N)", Some("newton")),
            ("newton (5)", None),
            ("all permutations of (1,2)", Some("(1,2), (2,1)")),
            ("(1, 1, 2) and its permutations", Some("(1,1,2), (1,2,1), (2,1,1)")),
            ("(1,2,3) and cyclic permutations", None),
            ("15 \\text{ mol } \\mathrm{O_2}", Some("15 mol of otwo")),
            ("15 mol of NaCl", Some("15 mol of nacl")),
            ("15 times NaCl", None),
            ("\\text{reject } H_0", Some("reject the null hypothesis")),
            ("reject the null hypothesis $H_0$", Some("reject the null hypothesis")),
            ("H_0 = 5", None),
        ] {
            assert_eq!(unread(text).as_deref(), expected, "{text}");
        }
    }
}
