//! Small numbers in the words of languages other than English, and Chinese numerals.

use dashu::rational::RBig;

/// Cardinals from zero to twelve: German, French, Spanish, Portuguese, Italian, Russian, Arabic, Hindi.
const CARDINALS: [[&str; 13]; 8] = [
    [
        "null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn",
        "elf", "zwölf",
    ],
    [
        "zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix",
        "onze", "douze",
    ],
    [
        "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
        "once", "doce",
    ],
    [
        "zero", "um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez",
        "onze", "doze",
    ],
    [
        "zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci",
        "undici", "dodici",
    ],
    [
        "ноль",
        "один",
        "два",
        "три",
        "четыре",
        "пять",
        "шесть",
        "семь",
        "восемь",
        "девять",
        "десять",
        "одиннадцать",
        "двенадцать",
    ],
    [
        "صفر",
        "واحد",
        "اثنان",
        "ثلاثة",
        "أربعة",
        "خمسة",
        "ستة",
        "سبعة",
        "ثمانية",
        "تسعة",
        "عشرة",
        "أحد عشر",
        "اثنا عشر",
    ],
    ["शून्य", "एक", "दो", "तीन", "चार", "पाँच", "छह", "सात", "आठ", "नौ", "दस", "ग्यारह", "बारह"],
];

/// Words that are one number in one language and another in the next: `once` is English, too.
const AMBIGUOUS: [&str; 3] = ["once", "null", "un"];

/// The longest text that is read, in bytes.
const MAX_BYTES: usize = 60;

/// Parses all of `text`: `douze`, `пять`, `二十五`, `三分之二`, `一半`.
pub(super) fn words(text: &str) -> Option<RBig> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let lower = text.to_lowercase();
    let named = CARDINALS.iter().find_map(|names| names.iter().position(|name| *name == lower));
    if let Some(value) = named.filter(|_| !AMBIGUOUS.contains(&lower.as_str())) {
        return Some(RBig::from(value));
    }
    if text == "一半" || text == "半分" {
        return Some(RBig::ONE / RBig::from(2u8));
    }
    if let Some((below, above)) = text.split_once("分之").or_else(|| text.split_once("分の")) {
        let below = chinese(below).filter(|below| *below > 0)?;
        return Some(RBig::from(chinese(above)?) / RBig::from(below));
    }
    chinese(text).map(RBig::from)
}

/// Parses `二十五`, `一百零三`, `三千`; numbers below 100,000,000.
fn chinese(text: &str) -> Option<u32> {
    let (mut total, mut section, mut digit) = (0u32, 0u32, None);
    let mut unit_before = u32::MAX;
    for c in text.chars() {
        let unit = match c {
            '十' => 10,
            '百' => 100,
            '千' => 1000,
            '万' => {
                section += digit.take().unwrap_or(0);
                total = total.checked_add(section.checked_mul(10_000)?)?;
                section = 0;
                unit_before = u32::MAX;
                continue;
            }
            _ => {
                let value = "零一二三四五六七八九".chars().position(|d| d == c).or(match c {
                    '〇' => Some(0),
                    '两' => Some(2),
                    _ => None,
                })?;
                // Two digits in a row are no number in this notation, a zero apart.
                if digit.is_some_and(|digit| digit > 0) {
                    return None;
                }
                digit = u32::try_from(value).ok();
                continue;
            }
        };
        if unit >= unit_before {
            return None;
        }
        unit_before = unit;
        let count = digit.take().unwrap_or(1);
        section = section.checked_add(count.checked_mul(unit)?)?;
    }
    let is_empty = text.is_empty();
    (!is_empty).then_some(total + section + digit.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_languages_are_numbers() {
        for (text, above, below) in [
            ("douze", 12, 1),
            ("пять", 5, 1),
            ("Sieben", 7, 1),
            ("一", 1, 1),
            ("十", 10, 1),
            ("十二", 12, 1),
            ("二十五", 25, 1),
            ("一百零三", 103, 1),
            ("三千", 3000, 1),
            ("两万", 20_000, 1),
            ("二分之一", 1, 2),
            ("三分之二", 2, 3),
            ("一半", 1, 2),
        ] {
            let expected = RBig::from(above) / RBig::from(below);
            assert_eq!(words(text), Some(expected), "{text}");
        }
        for text in ["", "once", "maison", "二五", "百千", "分之", "零分之一", "x"] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
