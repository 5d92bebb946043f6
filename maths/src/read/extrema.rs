//! Names of extrema in several languages: `最大值为18,最小值为$-2$` is `maximum: 18, minimum: -2`.

use std::ops::Range;

use crate::delimiters::unwrapped;

/// The longest text that is respelled, in bytes.
pub(super) const MAX_BYTES: usize = 2000;

/// Names of extrema, lower case, with the English ones. Longer ones stand before their parts.
const EXTREMA: &[(&str, &str)] = &[
    ("наибольшее значение", "maximum"),
    ("наименьшее значение", "minimum"),
    ("максимальное значение", "maximum"),
    ("минимальное значение", "minimum"),
    ("größter wert", "maximum"),
    ("kleinster wert", "minimum"),
    ("größte wert", "maximum"),
    ("kleinste wert", "minimum"),
    ("maximaler wert", "maximum"),
    ("minimaler wert", "minimum"),
    ("valeur maximale", "maximum"),
    ("valeur minimale", "minimum"),
    ("valor máximo", "maximum"),
    ("valor mínimo", "minimum"),
    ("valore massimo", "maximum"),
    ("valore minimo", "minimum"),
    ("القيمة العظمى", "maximum"),
    ("القيمة الصغرى", "minimum"),
    ("अधिकतम मान", "maximum"),
    ("न्यूनतम मान", "minimum"),
    ("максимум", "maximum"),
    ("минимум", "minimum"),
    ("maximum", "maximum"),
    ("minimum", "minimum"),
    ("máximo", "maximum"),
    ("mínimo", "minimum"),
    ("massimo", "maximum"),
    ("minimo", "minimum"),
    ("最大值", "maximum"),
    ("最小值", "minimum"),
    ("最大値", "maximum"),
    ("最小値", "minimum"),
    ("极大值", "maximum"),
    ("极小值", "minimum"),
    ("최댓값", "maximum"),
    ("최솟값", "minimum"),
    ("최대값", "maximum"),
    ("최소값", "minimum"),
];

/// Returns the names of extrema in `text`, in any of several languages, with the English ones, in order.
pub fn extremum_names(text: &str) -> Vec<(Range<usize>, &'static str)> {
    // Bytes that open letters of other scripts than Latin and Greek.
    let is_foreign = |b: u8| matches!(b, 0xD0..=0xDB | 0xE0 | 0xE3..=0xED);
    let is_foreign = !text.is_ascii() && text.bytes().any(is_foreign);
    if !is_foreign && !text.contains("nim") && !text.contains("leinste") {
        return Vec::new();
    }
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return Vec::new();
    }
    let is_spaced =
        |c: char| c.is_alphabetic() && (c.is_ascii() || ('\u{C0}'..='\u{4FF}').contains(&c));
    let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
    for (name, english) in EXTREMA.iter().filter(|(name, _)| lower.contains(name)) {
        for (at, _) in lower.match_indices(*name) {
            let span = at..at + name.len();
            let is_whole = !name.starts_with(is_spaced)
                || !lower[..at].ends_with(is_spaced) && !lower[span.end..].starts_with(is_spaced);
            let is_new = found.iter().all(|(own, _)| own.end <= at || span.end <= own.start);
            if is_whole && is_new {
                found.push((span, *english));
            }
        }
    }
    found.sort_by_key(|(span, _)| span.start);
    found
}

/// Returns `maximum: 18, minimum: -2` for the same in another language: `最大值为18,最小值为$-2$`.
pub(super) fn extrema(text: &str) -> Option<String> {
    let text = unwrapped(text);
    if text.len() > MAX_BYTES {
        return None;
    }
    let names = extremum_names(text);
    let names_one = |name: &str| names.iter().filter(|(_, own)| *own == name).count() == 1;
    let opening = &text[..names.first()?.0.start];
    if !names_one("maximum")
        || !names_one("minimum")
        || opening.contains(['$', '\\', '='])
        || opening.contains(char::is_numeric)
    {
        return None;
    }
    let ends = names[1..].iter().map(|(span, _)| span.start).chain([text.len()]);
    let part = |((span, name), end): (&(Range<usize>, &str), usize)| {
        Some(format!("{name}: {}", value_of_name(&text[span.end..end])?))
    };
    let parts: Option<Vec<String>> = names.iter().zip(ends).map(part).collect();
    Some(parts?.join(", "))
}

/// Returns the value between a verb and what leads to the next name: `18` of ` ist $18$ und das `.
fn value_of_name(text: &str) -> Option<&str> {
    const VERBS: &[&str] = &[
        "beträgt",
        "lautet",
        "ist",
        "est de",
        "est",
        "vaut",
        "es",
        "é",
        "è",
        "vale",
        "равно",
        "равен",
        "равна",
        "—",
        "–",
        "هي",
        "है",
        "为",
        "是",
        "は",
        "が",
        "은",
        "는",
        "이",
        "가",
        ":",
        "：",
        "=",
    ];
    let text = text.trim_start();
    let verb = VERBS.iter().find_map(|verb| {
        let rest = text.strip_prefix(verb)?;
        let ends =
            !verb.ends_with(|c: char| c.is_ascii_alphabetic()) || rest.starts_with([' ', '$']);
        ends.then_some(rest)
    });
    let mut value = verb.unwrap_or(text).trim();
    loop {
        let bare = value.trim_end_matches([',', ';', '.', '，', '、', '；', '。', ' ']);
        let start = bare
            .rfind(|c: char| !c.is_alphabetic())
            .map_or(0, |at| at + bare[at..].chars().next().map_or(1, char::len_utf8));
        let word = &bare[start..];
        // The words between two values: "und das", "e il", "和".
        let is_apart = bare[..start].ends_with([' ', '$', ')']) || !word.is_ascii();
        let shorter = if !word.is_empty() && is_apart && start > 0 { &bare[..start] } else { bare };
        if shorter.len() == value.len() {
            break;
        }
        value = shorter;
    }
    // Where the value is taken: `-2（在 $x = 1$ 处取得）`, `5 at $x = 2$`.
    let opens = ["(", "（", " at ", " bei ", " en ", " em ", " pour ", " für ", " при "];
    let place = opens.iter().filter_map(|open| value.find(open)).min().filter(|at| *at > 0);
    let value = match place {
        Some(at) if value[at..].contains('=') => value[..at].trim_end(),
        Some(_) | None => value,
    };
    (!value.is_empty()).then_some(value)
}
