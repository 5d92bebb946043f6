//! Other spellings of texts that no grammar reads: the lines of an aligned display, points with a parameter,
//! independent signs, Chinese numerals, functions in words.
//!
//! They are looked for only where a text is unread or mere words, so that they change no other reading.

use crate::delimiters::unwrapped;
use crate::numerals;

use super::extrema::{MAX_BYTES, extrema};
use super::phrased;

/// Returns a text that no grammar reads in a spelling that one may read; `None` if there is none.
pub(super) fn unread(text: &str) -> Option<String> {
    let text = unwrapped(text);
    if text.len() > MAX_BYTES {
        return None;
    }
    aligned(text)
        .or_else(|| without_tags(text))
        .or_else(|| without_emphasis(text))
        .or_else(|| with_constant(text))
        .or_else(|| without_arbitrary(text))
        .or_else(|| phrased::unread(text))
        .or_else(|| parametrised(text))
        .or_else(|| barred_point(text))
        .or_else(|| angled_interval(text))
        .or_else(|| with_naturals(text))
        .or_else(|| with_free_signs(text))
        .or_else(|| signed_points(text))
        .or_else(|| phrased::rate(text))
        .or_else(|| extrema(text))
        .or_else(|| words(text))
}

/// Returns words that state a number or a formula, in digits and symbols: `6天` for `六天`, a root for "the square
/// root of three".
pub(super) fn words(text: &str) -> Option<String> {
    let text = unwrapped(text);
    if text.len() > MAX_BYTES {
        return None;
    }
    chinese_amount(text)
        .or_else(|| in_symbols(text))
        .or_else(|| phrased::connected(text))
        .or_else(|| phrased::told(text))
        .or_else(|| phrased::percent(text))
}

/// Environments of lines that belong together.
const ALIGNED: [&str; 14] = [
    "aligned",
    "alignedat",
    "align",
    "align*",
    "split",
    "gathered",
    "gather",
    "gather*",
    "eqnarray",
    "eqnarray*",
    "equation",
    "equation*",
    "multline",
    "multline*",
];

/// Returns the end of the environment of aligned lines that opens `text`, in bytes.
pub fn aligned_end(text: &str) -> Option<usize> {
    let (name, body) = text.strip_prefix("\\begin{")?.split_once('}')?;
    let is_known = ALIGNED.contains(&name);
    let shut = format!("\\end{{{name}}}");
    let end = body.find(&shut).filter(|_| is_known)?;
    Some(text.len() - body.len() + end + shut.len())
}

/// Returns what the lines of an aligned display state: the values of letters, the right side that a last line `&= 5`
/// gives, the last step of an equation in one letter, a system of equations, or else the last line.
fn aligned(text: &str) -> Option<String> {
    let end = aligned_end(text).filter(|end| *end == text.len())?;
    let inner = &text[..end];
    let from = inner.find('}')? + 1;
    let body = &inner[from..inner.rfind("\\end{")?];
    // The number of columns of `alignedat`.
    let is_counted = inner.starts_with("\\begin{alignedat}");
    let columns = body.strip_prefix('{').filter(|_| is_counted).and_then(|n| n.split_once('}'));
    let body = columns.map_or(body, |(_, rest)| rest);
    let lines: Vec<String> = rows(body)
        .iter()
        .map(|row| row.replace("\\nonumber", "").replace("\\notag", ""))
        .map(|row| row.trim().trim_end_matches([',', '.', ';']).trim_end().to_owned())
        .filter(|row| !row.is_empty())
        .collect();
    let (last, before) = lines.split_last()?;
    let rows = joined(&lines);
    let names: Vec<&str> = rows.iter().filter_map(|row| assigned_letter(row)).collect();
    let is_new = |at: usize| !names[..at].contains(&names[at]);
    if names.len() == rows.len() && (1..names.len()).all(is_new) {
        return Some(rows.join(", "));
    }
    if let Some(side) = last.strip_prefix('=') {
        return Some(side.trim().to_owned());
    }
    if last.starts_with("\\approx") || last.starts_with('≈') {
        let exact = before.last()?;
        let side = exact.rsplit('=').next().unwrap_or(exact).trim();
        return Some(format!("{side} {last}"));
    }
    let (last, before) = rows.split_last()?;
    let arrows = ["\\Rightarrow", "\\implies", "\\iff", "\\Leftrightarrow", "\\therefore"];
    if let Some(bare) = arrows.iter().find_map(|arrow| last.strip_prefix(arrow)) {
        return Some(bare.trim().to_owned());
    }
    let is_solved = names.len() == 1
        && assigned_letter(last).is_some_and(|name| {
            let is_other = |c: char| !name.starts_with(c);
            !before.iter().any(|row| letters(row).any(is_other))
        });
    let is_equation = |row: &String| row.contains('=') && !row.contains("\\text");
    if rows.len() > 1 && !is_solved && rows.iter().all(is_equation) {
        return Some(format!("\\begin{{cases}}{}\\end{{cases}}", rows.join("\\\\")));
    }
    Some(last.clone())
}

/// Joins the lines that go on with a sign to those before them: `x = 5` of `x &= 2 + 3 \\ &= 5`.
fn joined(lines: &[String]) -> Vec<String> {
    const SIGNS: [&str; 11] =
        ["=", "\\approx", "≈", "\\leq", "\\le ", "\\geq", "\\ge ", "<", ">", "≤", "≥"];
    let mut rows: Vec<String> = Vec::new();
    for line in lines {
        match rows.last_mut() {
            Some(row) if SIGNS.iter().any(|sign| line.starts_with(sign)) => {
                let name = assigned_letter(row).filter(|_| line.starts_with('='));
                let before = name.unwrap_or(row).to_owned();
                *row = format!("{before} {line}");
            }
            Some(_) | None => rows.push(line.clone()),
        }
    }
    rows
}

/// Returns the letters of a formula that are of no command.
fn letters(formula: &str) -> impl Iterator<Item = char> {
    let mut is_command = false;
    formula.chars().filter(move |c| {
        is_command = *c == '\\' || is_command && c.is_ascii_alphabetic();
        c.is_alphabetic() && !is_command
    })
}

/// Returns the letter of `x = 5`, with its index.
fn assigned_letter(row: &str) -> Option<&str> {
    let (name, value) = row.split_once('=')?;
    let name = name.trim();
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let is_name = letters == 1 && name.starts_with(char::is_alphabetic) && name.len() <= 6;
    (is_name && !value.contains('=')).then_some(name)
}

/// Splits the body of an environment into its rows, without alignment marks and annotations behind `&&`. What
/// stands in an inner environment stays as it is.
fn rows(body: &str) -> Vec<String> {
    let mut rows = vec![String::new()];
    let (mut depth, mut is_note) = (0usize, false);
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        if rest.starts_with("\\begin{") {
            depth += 1;
        } else if rest.starts_with("\\end{") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && rest.starts_with("\\\\") {
            rows.push(String::new());
            is_note = false;
            rest = &rest[2..];
            // `\\[4pt]`
            let space = rest.strip_prefix('[').and_then(|inner| inner.find(']'));
            rest = space.map_or(rest, |end| &rest[end + 2..]);
            continue;
        } else if depth == 0 && first == '&' {
            is_note |= rest.starts_with("&&");
            rest = &rest[1..];
            continue;
        } else if first == '\\' {
            length += rest[1..].chars().next().map_or(0, char::len_utf8);
        }
        if !is_note {
            rows.last_mut().expect("there is a row").push_str(&rest[..length]);
        }
        rest = &rest[length..];
    }
    rows
}

/// Returns `text` without the tags of HTML that set it in bold or italics: `<b>42</b>`.
fn without_tags(text: &str) -> Option<String> {
    const TAGS: [&str; 8] = ["b", "strong", "i", "em", "u", "mark", "code", "span"];
    let mut plain = text.to_owned();
    for tag in TAGS.iter().filter(|tag| text.contains(&format!("</{tag}>"))) {
        plain = plain.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), "");
    }
    (plain.len() < text.len() && !plain.trim().is_empty()).then_some(plain)
}

/// Returns an amount whose thousands stand in groups as in India, `₹1,00,000`, without the commas. `None` where it
/// might be a list.
pub(super) fn indian_groups(text: &str) -> Option<String> {
    let text = unwrapped(text);
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let groups: Vec<&str> = text[start..end].split(',').collect();
    let [first, middle @ .., last] = groups.as_slice() else {
        return None;
    };
    let are_digits = groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_digit()));
    let are_groups = (1..=2).contains(&first.len())
        && !middle.is_empty()
        && middle.iter().all(|group| group.len() == 2)
        && last.len() == 3;
    let is_rupee = text.contains('₹') || text.starts_with("Rs");
    let is_number = is_rupee || middle.iter().chain([last]).any(|group| group.starts_with('0'));
    (are_digits && are_groups && is_number).then(|| text.replace(',', ""))
}

/// Returns `text` without asterisks that set words or values in bold or italics: `$x < 1$ **or** $x > 3$`.
fn without_emphasis(text: &str) -> Option<String> {
    if text.contains("**") {
        let plain = text.replace("**", "");
        return (!plain.trim().is_empty()).then_some(plain);
    }
    let (before, rest) = text.split_once(" *")?;
    let (word, after) = rest.split_once('*')?;
    let is_word = word.chars().count() > 1 && word.chars().all(char::is_alphabetic);
    (is_word && after.starts_with(' ')).then(|| format!("{before} {word}{after}"))
}

/// Returns an antiderivative whose constant is in words, `+ \text{const.}`, with the usual letter.
fn with_constant(text: &str) -> Option<String> {
    let words =
        ["\\text{const.}", "\\text{const}", "\\mathrm{const}", "\\text{constant}", "const."];
    let word = words.into_iter().find(|word| text.ends_with(*word))?;
    let before = text.strip_suffix(word)?.trim_end();
    before.ends_with('+').then(|| format!("{before} C"))
}

/// Returns `f(x) = kx (k \in \mathbb{R})` for the same with a word behind the set that says that the letter is free.
fn without_arbitrary(text: &str) -> Option<String> {
    let words = ["arbitrary", "beliebig", "arbitraire", "arbitrario", "arbitrária"];
    let word = words.into_iter().find(|word| text.contains(*word))?;
    let set = text[..text.find(word)?].trim_end_matches([' ', '~']);
    let set = set.strip_suffix("\\text{").unwrap_or(set).trim_end_matches([' ', ',', '\\']);
    let is_set =
        ["\\mathbb{R}", "\\mathbb R", "ℝ", "\\mathbb{Z}", "\\mathbb Z", "ℤ", "\\mathbb{C}"];
    if !is_set.iter().any(|name| set.ends_with(name)) {
        return None;
    }
    let rest = text[text.find(word)? + word.len()..].trim_start_matches('}');
    Some(format!("{set}{rest}"))
}

/// Returns the point and its parameter of `\{(t, 3 - t) : t \in \mathbb{R}\}`.
fn parametrised(text: &str) -> Option<String> {
    let inner = text.strip_prefix("\\left").unwrap_or(text);
    let inner = inner.strip_prefix("\\{").or_else(|| inner.strip_prefix('{'))?.trim_start();
    let inner = inner.strip_suffix("\\}").or_else(|| inner.strip_suffix('}'))?;
    let inner = inner.strip_suffix("\\right").unwrap_or(inner).trim();
    let point = inner.strip_prefix("\\left").unwrap_or(inner);
    let open = point.strip_prefix('(')?;
    let shut = open.find(')').filter(|shut| !open[..*shut].contains('('))?;
    let point = open[..shut].trim_end().trim_end_matches("\\right");
    let rest = open[shut + 1..].trim_start();
    let bars =
        [":", "\\mid", "|", "\\;|\\;", "\\,:\\,", "\\colon", "\\,|\\,", "\\:|\\:", "\\ |\\ "];
    let domain = bars.iter().find_map(|bar| rest.strip_prefix(bar))?.trim_start();
    let is_domain = domain.contains("\\in") || domain.contains('∈');
    let is_plain = !domain.contains(['=', '(', ')']);
    (is_domain && is_plain && point.contains(',')).then(|| format!("({point}), {domain}"))
}

/// Returns an interval with an angle for its closed end, as in Polish and Czech: `[4, \infty)` for `\langle 4, \infty)`.
fn angled_interval(text: &str) -> Option<String> {
    let plain = text.replace("\\left", "").replace("\\right", "");
    let plain = plain.replace("\\langle", "⟨").replace("\\rangle", "⟩");
    let inner = plain.trim();
    let has_two =
        |inner: &str| inner.matches([',', ';']).count() == 1 && !inner.contains(['⟨', '⟩']);
    if let Some(inner) = inner.strip_prefix('⟨').and_then(|inner| inner.strip_suffix(')')) {
        return has_two(inner).then(|| format!("[{inner})"));
    }
    let inner = inner.strip_prefix('(').and_then(|inner| inner.strip_suffix('⟩'))?;
    has_two(inner).then(|| format!("({inner}]"))
}

/// Returns the point of `W(1|0)`, as German schools write it, with its name or without.
fn barred_point(text: &str) -> Option<String> {
    if !["|", "\\mid", "\\vert"].iter().any(|bar| text.contains(bar)) {
        return None;
    }
    let text = text.replace("\\left", "").replace("\\right", "");
    let text = text.replace("\\mid", "|").replace("\\vert", "|");
    let text = text.replace("\\,", "").replace("\\;", "");
    let open = text.find('(')?;
    let name = text[..open].trim();
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit() || "_{}".contains(c));
    let is_name = letters.len() <= 1 && letters.bytes().all(|b| b.is_ascii_uppercase());
    let inner = text[open + 1..].trim_end().strip_suffix(')')?;
    let parts: Vec<&str> = inner.split('|').map(str::trim).collect();
    // A probability `P(A|B)` has no numbers.
    let is_coordinate = |part: &&str| {
        part.contains(|c: char| c.is_ascii_digit()) && !part.contains(['(', ',', ';'])
    };
    let is_point = (2..=3).contains(&parts.len()) && parts.iter().all(is_coordinate);
    (is_name && is_point).then(|| format!("({})", parts.join(", ")))
}

/// Returns `n = 3k, k \in \mathbb{N}` for the same with `\mathbb{Z}_{\ge 0}` or `\mathbb{N}_0`.
fn with_naturals(text: &str) -> Option<String> {
    let at = text
        .rfind("\\in")
        .map(|at| at + 3)
        .or_else(|| text.rfind('∈').map(|at| at + '∈'.len_utf8()))?;
    let domain: String =
        text[at..].chars().filter(|c| !c.is_whitespace() && !"{}$\\".contains(*c)).collect();
    let domain = domain
        .replace('ℤ', "mathbbZ")
        .replace('ℕ', "mathbbN")
        .replace('≥', "geq")
        .replace('₀', "_0");
    let tail = domain.strip_prefix("mathbbZ").or_else(|| domain.strip_prefix("mathbbN"))?;
    let is_natural = matches!(
        tail,
        "_ge0"
            | "_geq0"
            | "_geqslant0"
            | "_>0"
            | "_ge1"
            | "_geq1"
            | "_0"
            | "^+_0"
            | "_0^+"
            | "_+"
            | "^0"
    );
    is_natural.then(|| format!("{}\\mathbb{{N}}", &text[..at]))
}

/// Returns the points of `(\pm 8, \pm 7), (\pm 4, \pm 1)` with words behind them that say that the signs are
/// independent: "with all combinations of signs".
fn with_free_signs(text: &str) -> Option<String> {
    const NOUNS: [&str; 8] =
        ["sign", "Vorzeichen", "signes", "signos", "sinais", "segni", "знак", "符号"];
    const CORRELATED: [&str; 14] = [
        "same",
        "equal",
        "opposite",
        "correspond",
        "respective",
        "gleich",
        "entgegen",
        "même",
        "mêmes",
        "mismo",
        "mesmo",
        "stess",
        "одинаков",
        "相同",
    ];
    let text = text.replace("\\(", "").replace("\\)", "").replace('$', "");
    let noun = NOUNS.iter().filter_map(|noun| text.find(noun)).min()?;
    let cut = text[..noun].rfind(')')? + 1;
    let (points, remark) = text.split_at(cut);
    if CORRELATED.iter().any(|word| remark.contains(word)) {
        return None;
    }
    let points = points.replace("\\left", "").replace("\\right", "").replace('±', "\\pm ");
    expanded(&points, |group, out| {
        /// Signs of the longest point.
        const MAX_SIGNS: usize = 4;
        let parts: Vec<&str> = group.split("\\pm").collect();
        let signs = parts.len() - 1;
        if signs > MAX_SIGNS {
            return None;
        }
        for choice in 0..1usize << signs {
            out.push_str(if choice > 0 { ", " } else { "" });
            for (place, part) in parts.iter().enumerate() {
                let is_minus = place > 0 && choice >> (place - 1) & 1 == 1;
                out.push_str(if is_minus { "-" } else { "" });
                out.push_str(part);
            }
        }
        Some(signs > 0)
    })
}

/// Returns the points of `\pm(8, 7), \pm(4, 1)`: each with its opposite.
fn signed_points(text: &str) -> Option<String> {
    let text = text.replace('±', "\\pm").replace("\\pm (", "\\pm(").replace("\\pm\\left(", "\\pm(");
    if !text.contains("\\pm(") || text.matches("\\pm").count() != text.matches("\\pm(").count() {
        return None;
    }
    let points = text.replace("\\right)", ")").replace("\\pm(", "(\\pm");
    expanded(&points, |group, out| {
        let Some(inner) = group.strip_prefix("(\\pm") else {
            out.push_str(group);
            return Some(false);
        };
        let inner = inner.strip_suffix(')')?;
        let opposite: Vec<String> = inner.split(',').map(|part| format!("-({part})")).collect();
        let opposite = opposite.join(",");
        out.extend(["(", inner, "), (", opposite.as_str(), ")"]);
        Some(inner.contains(','))
    })
}

/// Writes `points` with each bracket as `expand` writes it; `None` where that is `None`, or says of none that it
/// changed.
fn expanded(points: &str, expand: impl Fn(&str, &mut String) -> Option<bool>) -> Option<String> {
    let mut out = String::with_capacity(2 * points.len());
    let (mut rest, mut is_changed) = (points, false);
    while let Some(open) = rest.find('(') {
        let shut = open + rest[open..].find(')')?;
        out.push_str(&rest[..open]);
        is_changed |= expand(&rest[open..=shut], &mut out)?;
        rest = &rest[shut + 1..];
    }
    out.push_str(rest);
    is_changed.then_some(out)
}

/// Words of Chinese after a number of things, which are no part of it.
const CLASSIFIERS: &str =
    "个種种只隻人名条本张棵块辆页题件位组对支枝匹间层盒箱袋杯瓶朵颗把双套株艘架道次";

/// Returns a Chinese numeral with a unit or a classifier in digits: `6天`, `12`.
fn chinese_amount(text: &str) -> Option<String> {
    let is_numeral = |c: char| "零〇一二两三四五六七八九十百千万".contains(c);
    let end = text.find(|c: char| !is_numeral(c)).filter(|end| *end > 0)?;
    if text.starts_with(['千', '百', '万']) {
        return None;
    }
    let (numeral, unit) = text.split_at(end);
    let value = numerals::words(numeral)?;
    let is_classifier = unit.chars().count() == 1 && unit.chars().all(|c| CLASSIFIERS.contains(c));
    let is_unit = || crate::measure::is_unit(unit);
    if is_classifier {
        return Some(value.to_string());
    }
    is_unit().then(|| format!("{value}{unit}"))
}

/// Returns a function, a quotient or an opposite in words as a formula: "the natural logarithm of 2", "pi over
/// four", "minus 7".
fn in_symbols(text: &str) -> Option<String> {
    const FUNCTIONS: [(&str, &str, &str); 6] = [
        ("natural logarithm of ", "\\ln\\left(", "\\right)"),
        ("natural log of ", "\\ln\\left(", "\\right)"),
        ("common logarithm of ", "\\lg\\left(", "\\right)"),
        ("square root of ", "\\sqrt{", "}"),
        ("cube root of ", "\\sqrt[3]{", "}"),
        ("fourth root of ", "\\sqrt[4]{", "}"),
    ];
    let text = text
        .strip_prefix("\\text{")
        .and_then(|inner| inner.split_once('}'))
        .map_or_else(|| text.to_owned(), |(words, rest)| format!("{words}{rest}"));
    let text = text.strip_prefix("the ").unwrap_or(&text);
    if let Some((open, inner, shut)) = FUNCTIONS
        .iter()
        .find_map(|(words, open, shut)| Some((open, text.strip_prefix(words)?, shut)))
    {
        return Some(format!("{open}{}{shut}", argument(inner)?));
    }
    if let Some((above, below)) = text.split_once(" over ") {
        return Some(format!("\\frac{{{}}}{{{}}}", argument(above)?, argument(below)?));
    }
    let multiples = text.strip_prefix("all ").unwrap_or(text);
    let kinds = ["positive ", "integer ", "natural "];
    let multiples = kinds.iter().find_map(|kind| multiples.strip_prefix(kind)).unwrap_or(multiples);
    let multiples = multiples.strip_prefix("multiples of ");
    if let Some(modulus) = multiples.filter(|text| text.bytes().all(|b| b.is_ascii_digit())) {
        return Some(format!("0 \\pmod{{{modulus}}}"));
    }
    let opposite = text.strip_prefix("minus ").or_else(|| text.strip_prefix("negative "))?;
    Some(format!("-{}", argument(opposite)?))
}

/// Returns the argument of a function in words: a number in words, pi, or a formula without words.
fn argument(text: &str) -> Option<String> {
    let text = unwrapped(text);
    if let Some(value) = numerals::words(text) {
        return Some(value.to_string());
    }
    if matches!(text, "pi" | "π") {
        return Some("\\pi".to_owned());
    }
    let is_formula = text.starts_with('\\')
        || text.split(|c: char| !c.is_alphabetic()).all(|run| run.chars().count() <= 1);
    (is_formula && !text.is_empty() && !text.contains(' ')).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(unread(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn aligned_lines_conclude() {
        check(
            "\\begin{align*}\nI&=\\frac12\\int\\frac{dx}{x-1}\\\\[4pt]\n&=\\frac12\\ln|x-1|+C.\n\\end{align*}",
            Some("I =\\frac12\\ln|x-1|+C"),
        );
        check("\\begin{aligned}2x&=10\\\\x&=5\\end{aligned}", Some("x=5"));
        check("\\begin{aligned}x&=2,\\\\y&=3\\end{aligned}", Some("x=2, y=3"));
        check("\\begin{eqnarray*}f &=& x\\cdot x\\\\ &=& x^2\\end{eqnarray*}", Some("f = x^2"));
        check(
            "\\begin{align}d&=\\sqrt{2}\\\\&\\approx 1.41 && \\text{rounded}\\end{align}",
            Some("d=\\sqrt{2} \\approx 1.41"),
        );
        check(
            "\\begin{align}\\sin t&=\\sqrt{2}\\\\&\\approx 1.41\\end{align}",
            Some("\\sqrt{2} \\approx 1.41"),
        );
        check(
            "\\begin{align*}A&=B\\\\&=\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}\\end{align*}",
            Some("A =\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"),
        );
        check(
            "\\begin{gather*}x+y=3\\\\x-y=1\\end{gather*}",
            Some("\\begin{cases}x+y=3\\\\x-y=1\\end{cases}"),
        );
        check(
            "\\begin{align}2x&=y\\\\x&=5\\end{align}",
            Some("\\begin{cases}2x=y\\\\x=5\\end{cases}"),
        );
        check("\\begin{align}x&=2+3\\\\&=5\\\\y&=1+1\\\\&=2\\end{align}", Some("x =5, y =2"));
        check("\\begin{split}x&<y\\\\&<z\\end{split}", Some("x<y <z"));
        check("\\begin{alignedat}{2}x+1&=3\\\\\\implies x&=2\\end{alignedat}", Some("x=2"));
        check("\\begin{tabular}x&=2\\end{tabular}", None);
        check("\\begin{align}x&=2\\end{align} and more", None);
    }

    #[test]
    fn points_have_parameters_and_signs() {
        check("\\{(t,3-t):t\\in\\mathbb R\\}", Some("(t,3-t), t\\in\\mathbb R"));
        check(
            "\\left\\{(t, 3-t) \\mid t\\in\\mathbb{R}\\right\\}",
            Some("(t, 3-t), t\\in\\mathbb{R}"),
        );
        check("\\{(x,y):x+y=3\\}", None);
        check("W(1|0)", Some("(1, 0)"));
        check("\\langle4,+\\infty)", Some("[4,+\\infty)"));
        check("\\left(-\\infty, 4\\right\\rangle", Some("(-\\infty, 4]"));
        check("\\langle1,2\\rangle", None);
        check(
            "f(x)=kx\\quad(k\\in\\mathbb{R}\\text{ arbitrary})",
            Some("f(x)=kx\\quad(k\\in\\mathbb{R})"),
        );
        check("S_1(-2\\,|\\,3)", Some("(-2, 3)"));
        check("P(A|B)", None);
        check(
            "(\\pm8,\\pm7) with all combinations of signs",
            Some("(8,7), (-8,7), (8,-7), (-8,-7)"),
        );
        check("(\\pm8,\\pm7) with equal signs", None);
        check("\\pm(8,7)", Some("(8,7), (-(8),-(7))"));
        check("n=3k,\\ k\\in\\mathbb{Z}_{\\ge0}", Some("n=3k,\\ k\\in\\mathbb{N}"));
        check("n=3k,\\ k\\in\\mathbb{Z}_{7}", None);
    }

    #[test]
    fn words_have_symbols() {
        check("最大值为18,最小值为$-2$", Some("maximum: 18, minimum: $-2$"));
        check("Maximum ist $18$ und das Minimum ist $-2$", Some("maximum: $18$, minimum: $-2$"));
        check("最小值为 $-2$(在 $x=1$ 处取得),最大值为 $18$", Some("minimum: $-2$, maximum: $18$"));
        check("最大值为18", None);
        check("the natural logarithm of 2", Some("\\ln\\left(2\\right)"));
        check("square root of three", Some("\\sqrt{3}"));
        check("pi over four", Some("\\frac{\\pi}{4}"));
        check("victory over defeat", None);
        check("the square root of the area", None);
        check("六天", Some("6天"));
        check("十二种", Some("12"));
        check("三角形", None);
        check("$x<-2$ **or** $x\\ge1$", Some("$x<-2$ or $x\\ge1$"));
        check("$x<-2$ *oder* $x\\ge1$", Some("$x<-2$ oder $x\\ge1$"));
    }
}
