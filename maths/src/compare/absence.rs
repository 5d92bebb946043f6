//! Statements of several languages that there is no solution.

/// Words that deny, and nouns of what is denied behind them, lower case, of languages that put them so.
const DENIED: [(&[&str], &[&str]); 7] = [
    (&["keine", "kein"], &["lösung", "lösungen", "nullstelle", "nullstellen"]),
    (&["aucune", "aucun", "pas de", "point de"], &["solution", "solutions", "racine", "racines"]),
    (
        &[
            "no tiene",
            "no tienen",
            "no hay",
            "no existe",
            "no existen",
            "no posee",
            "no admite",
            "ninguna",
        ],
        &["solución", "soluciones", "raíz", "raíces"],
    ),
    (
        &[
            "não tem",
            "não têm",
            "não há",
            "não existe",
            "não existem",
            "não possui",
            "não admite",
            "nenhuma",
        ],
        &["solução", "soluções", "raiz", "raízes"],
    ),
    (
        &[
            "non ha",
            "non ammette",
            "non esiste",
            "non esistono",
            "non ci sono",
            "non c'è",
            "nessuna",
        ],
        &["soluzione", "soluzioni", "radice", "radici"],
    ),
    (&["не имеет", "нет", "не существует"], &["решений", "решения", "корней", "корня"]),
    (
        &["لا يوجد", "لا توجد", "ليس لها", "ليس له", "ليس للمعادلة", "لا تقبل"],
        &["حل", "حلول", "حلا", "حلولا", "جذور"],
    ),
];

/// Nouns and the denials behind them, which end the sentence, of languages that put them so.
const DENIED_AT_END: [(&[&str], &[&str]); 4] = [
    (&["没有", "無", "无", "不存在"], &["解", "根"]),
    (&["解", "実数解", "実数根"], &["ない", "なし", "ません"]),
    (&["해가", "해는", "근이", "근은", "실근"], &["없다", "없습니다", "않는다", "않습니다"]),
    (&["हल", "मूल"], &["नहीं", "नहीं है", "नहीं हैं"]),
];

/// Names of the set without members.
const EMPTY: [&str; 11] = [
    "lösungsmenge ist leer",
    "leere menge",
    "ensemble vide",
    "solutions est vide",
    "conjunto vacío",
    "conjunto vazio",
    "insieme vuoto",
    "пустое множество",
    "空集",
    "空集合",
    "공집합",
];

/// Words of what is denied beside something that is not: "no other solution".
const OTHERS: [&str; 22] = [
    "andere",
    "anderen",
    "weitere",
    "weiteren",
    "autre",
    "autres",
    "otra",
    "otras",
    "más",
    "outra",
    "outras",
    "altra",
    "altre",
    "других",
    "иных",
    "其他",
    "其它",
    "别的",
    "他の",
    "다른",
    "أخرى",
    "अन्य",
];

/// Returns whether `text` says that there is no solution, in languages other than English: "l'équation n'admet
/// aucune solution réelle", or that no number satisfies an equation.
pub fn says_no_solution(text: &str) -> bool {
    /// Bytes between a denial and its noun.
    const MAX_BYTES: usize = 60;
    /// The longest such text, in bytes.
    const MAX_TEXT: usize = 300;
    if text.len() > MAX_TEXT {
        return false;
    }
    let lower = text.to_lowercase();
    let lower = lower.trim().trim_end_matches(['.', '。', '।', '!', '！', '*', ' ']);
    // "no real number satisfies the equation"
    if lower.starts_with("no ") && lower.contains(" satisf") {
        let compares = ["larger", "smaller", "greater", "bigger", "better", "other", "further"];
        return !compares.iter().any(|word| word_end(lower, word).is_some());
    }
    let is_denied = DENIED.iter().any(|(denials, nouns)| {
        denials.iter().filter_map(|denial| word_end(lower, denial)).any(|end| {
            let noun = nouns.iter().filter_map(|noun| word_end(&lower[end..], noun)).min();
            noun.is_some_and(|distance| distance <= MAX_BYTES)
        })
    });
    let ends = |(first, last): &(&[&str], &[&str])| {
        last.iter().filter_map(|end| lower.strip_suffix(*end)).any(|before| {
            let distance = |own: &&str| before.rfind(*own).map(|at| before.len() - at - own.len());
            first.iter().filter_map(distance).any(|distance| distance <= MAX_BYTES / 2)
        })
    };
    let is_empty = || EMPTY.iter().any(|name| lower.contains(name));
    (is_denied || DENIED_AT_END.iter().any(ends) || is_empty())
        && !OTHERS.iter().any(|word| word_end(lower, word).is_some())
}

/// Returns where `word` ends in `text` that stands there as a word of its own; Chinese has no borders of words.
fn word_end(text: &str, word: &str) -> Option<usize> {
    let is_letter = |c: char| c.is_alphabetic() && !('\u{3040}'..='\u{9FFF}').contains(&c);
    // Most words are not there, which costs less to find out than where they are.
    if !text.contains(word) {
        return None;
    }
    let found = text.match_indices(word).find(|(at, _)| {
        let is_bordered = |c: char| is_letter(c) && word.starts_with(is_letter);
        !text[..*at].ends_with(is_bordered) && !text[at + word.len()..].starts_with(is_bordered)
    });
    found.map(|(at, _)| at + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_is_known_in_languages() {
        for text in [
            "l'équation n'admet aucune solution réelle",
            "Das Gleichungssystem hat keine Lösung.",
            "Es gibt keine reellen Nullstellen",
            "La ecuación no tiene solución real",
            "L'equazione non ammette soluzioni reali",
            "A equação não possui raízes reais",
            "Уравнение не имеет действительных корней",
            "Действительных решений нет: нет решений",
            "因此该方程没有实数根。",
            "方程无实数解",
            "よって実数解は存在しない。",
            "따라서 실근이 없다.",
            "ليس للمعادلة حلول حقيقية",
            "इस समीकरण का कोई वास्तविक हल नहीं है",
            "Die Lösungsmenge ist leer",
            "no real number satisfying the equation",
        ] {
            assert!(says_no_solution(text), "{text}");
        }
        for text in [
            "l'équation admet une unique solution réelle",
            "Das Gleichungssystem hat genau eine Lösung.",
            "keine weitere Lösung",
            "La ecuación no tiene otra solución",
            "方程有两个实数根",
            "没有解析",
            "x は解である",
            "해가 있다",
            "it is not a solution",
            "",
        ] {
            assert!(!says_no_solution(text), "{text}");
        }
    }
}
