//! Changes by a percentage, in words: "a decrease of 4 %", "increased by 20 percent", "um 4 % gesunken".

use dashu::rational::RBig;

use crate::number::DecimalLiteral;

/// The longest such text, in bytes.
const MAX_BYTES: usize = 100;

/// Beginnings of words that say that something became less.
const LESS: [&str; 31] = [
    "decreas",
    "reduc",
    "fell",
    "fall",
    "drop",
    "declin",
    "lower",
    "abnahme",
    "abgenommen",
    "sink",
    "sank",
    "gesunken",
    "gesenkt",
    "verringer",
    "rückgang",
    "diminu",
    "baiss",
    "disminu",
    "bajó",
    "bajo",
    "descen",
    "caiu",
    "reduz",
    "уменьш",
    "снизил",
    "сниж",
    "减少",
    "下降",
    "降低",
    "減少",
    "cheaper",
];

/// Beginnings of words that say that something became more.
const MORE: [&str; 24] = [
    "increas",
    "rise",
    "rose",
    "grew",
    "grow",
    "higher",
    "zunahme",
    "zugenommen",
    "gestiegen",
    "erhöh",
    "steig",
    "augment",
    "hausse",
    "aument",
    "subió",
    "subiu",
    "увелич",
    "возрос",
    "вырос",
    "增加",
    "上升",
    "提高",
    "上涨",
    "増加",
];

/// Words that turn what they stand in into its opposite, or speak of something else.
const OTHERS: [&str; 8] = ["not", "no", "nicht", "pas", "then", "dann", "from", "per"];

/// Returns whether `text` says by how much percent something changed, and nothing else.
pub fn is_percent_change(text: &str) -> bool {
    change(text).is_some()
}

/// Decides whether both texts say the same change.
pub(crate) fn are_same(gold: &str, candidate: &str) -> bool {
    match change(gold) {
        Some(own) => change(candidate) == Some(own),
        None => false,
    }
}

/// Returns the percentage of a change, negative for a decrease.
fn change(text: &str) -> Option<RBig> {
    let text = text.trim_matches(['$', '.', '*', ' ']);
    let percent = ["%", "percent", "per cent", "prozent"];
    // Signs of percent open so.
    let opens = |b: u8| matches!(b, b'%' | b'p' | b'P');
    if text.len() > MAX_BYTES
        || !text.bytes().any(opens)
        || !text.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let lower = text.replace("\\%", "%").replace("\\text", "").to_lowercase();
    let at = lower.find(|c: char| c.is_ascii_digit())?;
    let number = &lower[at..];
    let length =
        number.find(|c: char| !(c.is_ascii_digit() || ".,".contains(c))).unwrap_or(number.len());
    let digits = number[..length].trim_end_matches(['.', ',']);
    let rest = number[digits.len()..].trim_start_matches([' ', '\u{a0}', '\u{202f}', '~', '}']);
    let after = percent.iter().find_map(|sign| rest.strip_prefix(sign))?;
    if after.contains(|c: char| c.is_numeric()) || lower[..at].ends_with(['-', '−', '/']) {
        return None;
    }
    let decimal = digits.replace(',', ".");
    let literal = DecimalLiteral::scan(&decimal)?;
    let value = (literal.byte_len() == decimal.len()).then(|| literal.value())?;
    let is_apart = |c: char| !c.is_alphabetic();
    let words = || lower[..at].split(is_apart).chain(after.split(is_apart));
    let says = |stems: &[&str]| words().any(|word| stems.iter().any(|stem| word.starts_with(stem)));
    // Chinese writes without blanks.
    let holds = |stems: &[&str]| {
        says(stems) || stems.iter().any(|stem| !stem.is_ascii() && lower.contains(stem))
    };
    if words().any(|word| OTHERS.contains(&word)) {
        return None;
    }
    match (holds(&LESS), holds(&MORE)) {
        (true, false) => Some(-value),
        (false, true) => Some(value),
        (true, true) | (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_direction_and_a_size() {
        for (gold, candidate) in [
            ("decrease of 4%", "decreased by 4 %"),
            ("Abnahme um 4 %", "4 % gesunken"),
            ("Abnahme um 4 %", "um 4,0 % gesunken"),
            ("20% increase", r"\text{increased by } 20\%"),
            ("an increase of 12.5 percent", "It rises by 12.5%."),
            ("减少4%", "下降了 4%"),
        ] {
            assert!(are_same(gold, candidate), "{gold}, {candidate}");
        }
        for (gold, candidate) in [
            ("decrease of 4%", "increase of 4%"),
            ("decrease of 4%", "decrease of 40%"),
            ("decrease of 4%", "4%"),
            ("decrease of 4%", "not decreased by 4%"),
            ("decrease of 4%", "decrease of 4 units"),
            ("decrease of 4%", "decreased by 10%, then increased by 4%"),
            ("4%", "4%"),
        ] {
            assert!(!are_same(gold, candidate), "{gold}, {candidate}");
        }
    }
}
