//! Similarity of short texts by shared characters.

use std::collections::{BTreeSet, HashMap};

use unicode_normalization::UnicodeNormalization as _;

/// Lengths of the n-grams.
const GRAMS: std::ops::RangeInclusive<usize> = 2..=4;

/// A text as it is compared: compatibility forms of Unicode, lower case, one space between words,
/// no punctuation at the ends.
pub fn normalised(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let words: Vec<&str> = folded.split_whitespace().collect();
    let words = words.join(" ");
    words.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// Vectors of length 1 whose products are the cosines between character n-gram TF-IDF profiles. Not
/// a neural embedding: it compares spelling and not meaning. `clear` and `clarity` are somewhat
/// similar, `concise` and `short` not at all.
///
/// N-grams of 2 to 4 characters are taken inside of words that have a space at both ends. A weight is
/// the count in the text times ln((1 + n) / (1 + d)) + 1, where n is the number of texts given here
/// and d that of those with the n-gram: what texts are compared with is what stands beside them in
/// one row, and no other row has a part in it. A text without a letter is like no other.
pub fn ngram_vectors(texts: &[String]) -> Vec<Vec<f32>> {
    let profiles: Vec<HashMap<String, u32>> =
        texts.iter().map(|text| grams(&normalised(text))).collect();
    let mut in_texts: HashMap<&str, u32> = HashMap::new();
    for gram in profiles.iter().flat_map(HashMap::keys) {
        *in_texts.entry(gram).or_insert(0) += 1;
    }
    let all: BTreeSet<&str> = in_texts.keys().copied().collect();
    #[expect(clippy::cast_precision_loss, reason = "a row has few principles")]
    let n = texts.len() as f64;
    let weights: Vec<(&str, f64)> = all
        .into_iter()
        .map(|gram| (gram, ((1.0 + n) / (1.0 + f64::from(in_texts[gram]))).ln() + 1.0))
        .collect();
    let vector = |profile: &HashMap<String, u32>| {
        let weight = |(gram, idf): &(&str, f64)| {
            let count = profile.get(*gram).copied().unwrap_or(0);
            f64::from(count) * idf
        };
        unit_vector(&weights.iter().map(weight).collect::<Vec<f64>>())
    };
    profiles.iter().map(vector).collect()
}

/// Normalises a vector to length 1; the zero vector stays zero.
pub fn unit_vector(vector: &[f64]) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let is_one = length > 0.0 && length.is_finite();
    #[expect(clippy::cast_possible_truncation, reason = "directions are kept in f32")]
    let scaled = |x: &f64| if is_one { (x / length) as f32 } else { 0.0 };
    vector.iter().map(scaled).collect()
}

/// The cosine between two vectors of length 1.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn grams(text: &str) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let padded: Vec<char> = [' '].into_iter().chain(word.chars()).chain([' ']).collect();
        for n in GRAMS {
            for gram in padded.windows(n) {
                *counts.entry(gram.iter().collect()).or_insert(0) += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alike(texts: &[&str]) -> Vec<f64> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let vectors = ngram_vectors(&texts);
        vectors[1..].iter().map(|other| cosine(&vectors[0], other)).collect()
    }

    #[test]
    fn texts_are_plain() {
        for (text, expected) in [
            ("  Clarity of\nExpression. ", "clarity of expression"),
            ("\"ＡＢＣ\"", "abc"),
            ("--", ""),
            ("C++", "c"),
        ] {
            assert_eq!(normalised(text), expected, "{text:?}");
        }
    }

    #[test]
    fn spelling_makes_texts_alike() {
        let found = alike(&["clarity", "Clarity.", "clarity of expression", "brevity", "correct"]);
        assert!((found[0] - 1.0).abs() < 1e-6, "{found:?}");
        assert!(found[1] > found[2] && found[2] > found[3], "{found:?}");
        assert!(found[3] < 0.2, "{found:?}");
        assert_eq!(alike(&["", "clarity", ""]), [0.0, 0.0]);
    }

    #[test]
    fn cosines_by_hand() {
        // " a ": grams " a", "a ", " a "; " b " has none of them; of "a b" half the grams are those
        // of "a". All grams of "a" are in 2 of 3 texts, as are those of "b", so all weights are equal.
        let found = alike(&["a", "b", "a b"]);
        assert!(found[0].abs() < 1e-6, "{found:?}");
        assert!((found[1] - f64::sqrt(0.5)).abs() < 1e-6, "{found:?}");
    }

    proptest! {
        #[test]
        fn cosines_are_between_none_and_all(texts in prop::collection::vec("[a-c ]{0,6}", 2..6)) {
            let vectors = ngram_vectors(&texts);
            for (a, text_a) in vectors.iter().zip(&texts) {
                for (b, text_b) in vectors.iter().zip(&texts) {
                    let cosine = cosine(a, b);
                    prop_assert!((-1e-6..=1.0 + 1e-6).contains(&cosine));
                    if normalised(text_a) == normalised(text_b) && !normalised(text_a).is_empty() {
                        prop_assert!(cosine > 1.0 - 1e-6);
                    }
                }
            }
        }
    }
}
