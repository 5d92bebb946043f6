use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use base::seeded::Draws;

fn options(words: usize, threshold: f64) -> MinHashOptions {
    MinHashOptions { words, threshold, ..MinHashOptions::default() }
}

/// The first row of each row's cluster.
fn clusters(index: &NearDuplicates) -> Vec<usize> {
    (0..index.n_rows()).map(|row| index.first_of(row)).collect()
}

/// Bands of one row, so many that a miss is practically impossible.
fn thorough(words: usize, threshold: f64) -> MinHashOptions {
    MinHashOptions { permutations: 200, recall: 1.0 - 1e-12, ..options(words, threshold) }
}

/// Jaccard similarity over lists of words, without hashes.
fn naive(a: &str, b: &str, words: usize) -> f64 {
    let set = |text: &str| -> HashSet<Vec<String>> {
        let all: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let width = words.min(all.len());
        all.windows(width).map(<[String]>::to_vec).collect()
    };
    let (a, b) = (set(a), set(b));
    let shared = f64::from(u32::try_from(a.intersection(&b).count()).expect("small"));
    shared / f64::from(u32::try_from(a.union(&b).count()).expect("small"))
}

/// Single linkage over all pairs.
fn naive_clusters(texts: &[String], words: usize, threshold: f64) -> Vec<usize> {
    let mut first: Vec<usize> = (0..texts.len()).collect();
    for row in 0..texts.len() {
        for other in 0..row {
            if naive(&texts[row], &texts[other], words) >= threshold {
                let (a, b) = (first[row], first[other]);
                for at in &mut first {
                    if *at == a.max(b) {
                        *at = a.min(b);
                    }
                }
            }
        }
    }
    first
}

fn index_of(texts: &[String], options: MinHashOptions) -> NearDuplicates {
    let mut index = NearDuplicates::new(options).expect("valid options");
    for text in texts {
        index.insert(text).expect("there is room");
    }
    index
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[abc]( [abc]){1,9}", 1..24)
}

proptest! {
    #[test]
    fn no_pair_below_the_threshold_is_a_duplicate(
        texts in texts(), words in 1usize..4, threshold in 0.05f64..1.0
    ) {
        let mut index = NearDuplicates::new(options(words, threshold)).expect("valid options");
        for (row, text) in texts.iter().enumerate() {
            if let TextStatus::Duplicate { first, near, similarity } = index.insert(text).expect("room") {
                prop_assert!(first <= near && near < row);
                let exact = naive(text, &texts[near], words);
                prop_assert!(exact >= threshold, "{exact} {threshold}");
                prop_assert!((exact - similarity).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn clusters_are_those_of_all_pairs(
        texts in texts(), words in 1usize..4, threshold in 0.3f64..1.0
    ) {
        let index = index_of(&texts, thorough(words, threshold));
        prop_assert_eq!(clusters(&index), naive_clusters(&texts, words, threshold));
    }

    #[test]
    fn clusters_do_not_depend_on_row_order(texts in texts(), seed in any::<u64>()) {
        let settings = MinHashOptions { seed, ..options(2, 0.5) };
        let mut turned: Vec<usize> = (0..texts.len()).collect();
        let mut draws = Draws::new(seed);
        for at in (1..turned.len()).rev() {
            turned.swap(at, draws.below(at + 1));
        }
        let order: Vec<String> = turned.iter().map(|row| texts[*row].clone()).collect();
        let (straight, mixed) = (index_of(&texts, settings.clone()), index_of(&order, settings));
        for (a, row_a) in turned.iter().enumerate() {
            for (b, row_b) in turned.iter().enumerate() {
                let together = straight.first_of(*row_a) == straight.first_of(*row_b);
                prop_assert_eq!(together, mixed.first_of(a) == mixed.first_of(b));
            }
        }
    }

    #[test]
    fn any_text_is_its_own_duplicate(text in ".{0,60}") {
        let mut index = NearDuplicates::new(MinHashOptions::default()).expect("valid options");
        prop_assert_eq!(index.insert(&text).expect("room"), TextStatus::New);
        let again = TextStatus::Duplicate { first: 0, near: 0, similarity: 1.0 };
        prop_assert_eq!(index.insert(&format!(" {text}\t")).expect("room"), again);
    }
}

/// Pairs of texts that share `shared` of their words and have `own` each, all different.
fn near_pair(draws: &mut Draws, shared: usize, own: usize) -> [String; 2] {
    let mut words = |n: usize| -> Vec<String> {
        let word = |_| format!("w{}", draws.next_bits());
        (0..n).map(word).collect()
    };
    let both = words(shared);
    let text = |own: Vec<String>| [both.clone(), own].concat().join(" ");
    let (a, b) = (words(own), words(own));
    [text(a), text(b)]
}

#[test]
fn found_pairs_match_the_formula() {
    // Few permutations, so that many pairs are missed.
    let settings = MinHashOptions { permutations: 24, recall: 0.6, ..options(1, 0.5) };
    let mut index = NearDuplicates::new(settings.clone()).expect("valid options");
    let banding = index.banding();
    assert!(banding.rows > 1, "{banding:?}");
    let mut draws = Draws::new(11);
    let (mut expected, mut variance, mut found) = (0.0, 0.0, 0.0);
    for _ in 0..1500 {
        let shared = 40 + draws.below(20);
        let own = 1 + draws.below(shared / 2);
        let [a, b] = near_pair(&mut draws, shared, own);
        let similarity = naive(&a, &b, 1);
        assert!(similarity >= settings.threshold);
        let probability = banding.probability(similarity);
        expected += probability;
        variance += probability * (1.0 - probability);
        index.insert(&a).expect("room");
        let seen = index.insert(&b).expect("room");
        found += f64::from(u8::from(seen != TextStatus::New));
    }
    let margin = 4.0 * f64::sqrt(variance);
    assert!((found - expected).abs() < margin, "{found} of {expected} ± {margin}");
}

#[test]
fn bands_reach_the_required_recall() {
    for threshold in [0.3, 0.5, 0.7, 0.8, 0.9, 1.0] {
        for recall in [0.5, 0.9, 0.99] {
            let settings = MinHashOptions { recall, ..options(5, threshold) };
            let banding = Banding::choose(&settings).expect("enough permutations");
            assert!(banding.permutations() <= settings.permutations);
            assert!(banding.probability(threshold) >= recall, "{banding:?}");
            let longer = Banding {
                bands: settings.permutations / (banding.rows + 1),
                rows: banding.rows + 1,
            };
            assert!(longer.probability(threshold) < recall, "{banding:?}");
        }
    }
    // The worked table of the book: 20 bands of 5 rows.
    let banding = Banding { bands: 20, rows: 5 };
    for (similarity, expected) in [(0.2, 0.006), (0.4, 0.186), (0.6, 0.802), (0.8, 0.9996)] {
        let said: f64 = banding.probability(similarity);
        assert!((said - expected).abs() < 6e-4, "{similarity}: {said}");
    }
}

/// Whether two texts have the same words.
fn same(a: &str, b: &str) -> bool {
    let read = |text| Shingled::read(text, &MinHashOptions::default());
    assert_eq!(read(a).digest == read(b).digest, read(a) == read(b));
    read(a) == read(b)
}

#[test]
fn words_follow_unicode_segmentation() {
    for (a, b, expected) in [
        ("Hello,  World", "hello, world", true),
        ("a\nb\t c\u{a0}d", " A B C D ", true),
        ("STRASSE", "straße", true),
        ("e\u{301}cole", "École", true),
        ("", " \n\u{3000}", true),
        // Differences of maths, code and answers are kept.
        ("x+1", "x-1", false),
        ("x^2", "x2", false),
        ("x²", "x2", false),
        ("3.14", "314", false),
        ("ab", "a b", false),
        ("", "a", false),
        ("a a", "a", false),
        ("\u{4f60}\u{597d}", "\u{4f60} \u{597d}", true),
        ("\u{4f60}\u{597d}", "\u{597d}\u{4f60}", false),
    ] {
        assert_eq!(same(a, b), expected, "{a:?} {b:?}");
    }
}

#[test]
fn shingles_are_counted_once() {
    for (text, words, expected) in [
        ("", 3, 0),
        ("a", 3, 1),
        ("a b", 3, 1),
        ("a b c", 3, 1),
        ("a b c d", 3, 2),
        ("a a a a a", 2, 1),
        ("a b a b a", 2, 2),
        ("\u{4f60}\u{597d}\u{5417}", 2, 2),
    ] {
        let read = Shingled::read(text, &options(words, 0.5));
        let shingles = read.shingles.expect("few");
        assert_eq!(shingles.len(), expected, "{text:?} {words}");
        assert_eq!(shingles.is_empty(), expected == 0);
    }
}

#[test]
fn late_row_joins_two_clusters() {
    let row = |from: usize, to: usize| -> String {
        let words = (from..to).map(|word| format!("w{word}"));
        words.collect::<Vec<_>>().join(" ")
    };
    let texts = [row(0, 10), row(4, 14), row(2, 12)];
    // 6 of 14 words are shared by the outer two, 8 of 12 by each with the middle one.
    let mut index = NearDuplicates::new(thorough(1, 0.6)).expect("valid options");
    assert_eq!(index.insert(&texts[0]), Ok(TextStatus::New));
    assert_eq!(index.insert(&texts[1]), Ok(TextStatus::New));
    let Ok(TextStatus::Duplicate { first, .. }) = index.insert(&texts[2]) else {
        panic!("it is a duplicate of both");
    };
    assert_eq!(first, 0);
    assert_eq!(clusters(&index), [0, 0, 0]);
}

#[test]
fn too_long_texts_duplicate_only_equal_ones() {
    let settings = MinHashOptions { max_shingles: 3, ..options(1, 0.5) };
    let mut index = NearDuplicates::new(settings).expect("valid options");
    for (text, expected) in [
        ("a b c", None),
        ("a b c d", None),
        ("a b c d e", None),
        ("A b  c d", Some(1)),
        ("c b a", Some(0)),
    ] {
        let first = match index.insert(text).expect("room") {
            TextStatus::New => None,
            TextStatus::Duplicate { first, .. } => Some(first),
        };
        assert_eq!(first, expected, "{text}");
    }
    assert_eq!(index.n_too_long(), 2);
}

#[test]
fn memory_stays_within_the_documented_bound() {
    let mut index = NearDuplicates::new(MinHashOptions::default()).expect("valid options");
    let bands = index.banding().bands;
    assert_eq!(bands, 21, "the documentation states this number");
    let mut draws = Draws::new(5);
    let (n_rows, n_shingles) = (3000, 20);
    for _ in 0..n_rows {
        let [text, _] = near_pair(&mut draws, n_shingles + 4, 0);
        index.insert(&text).expect("room");
    }
    let row = 8 * n_shingles + bands * (8 + 39) + 160;
    let held = index.memory_bytes();
    assert!(held <= n_rows * row, "{held}");
    let before = index.memory_bytes();
    let copy = near_pair(&mut Draws::new(5), n_shingles + 4, 0);
    for _ in 0..n_rows {
        index.insert(&copy[0]).expect("room");
    }
    assert!(index.memory_bytes() - before <= n_rows * 8, "copies are cheap");
}

#[test]
fn full_index_is_an_error_and_stays_usable() {
    let settings = MinHashOptions { max_bytes: Some(40_000), ..MinHashOptions::default() };
    let mut index = NearDuplicates::new(settings).expect("valid options");
    let mut draws = Draws::new(9);
    let error = loop {
        let [text, _] = near_pair(&mut draws, 30, 0);
        if let Err(error) = index.insert(&text) {
            break error;
        }
        assert!(index.n_rows() < 10_000, "there is a bound");
    };
    let rows = index.n_rows();
    assert!(
        matches!(error, MinHashError::Full { rows: said, held, bound: 40_000 }
            if said == rows && held > 40_000),
        "{error}"
    );
    assert_eq!(clusters(&index).len(), rows);
}

#[test]
fn settings_out_of_their_range_are_refused_by_name() {
    let refused = |settings: MinHashOptions| match NearDuplicates::new(settings) {
        Ok(_) => "nothing",
        Err(MinHashError::Setting { name, .. }) => name,
        Err(MinHashError::TooFewPermutations { .. }) => "too few",
        Err(MinHashError::Full { .. } | MinHashError::TooManyRows { .. }) => "full",
    };
    let base = MinHashOptions::default;
    for (settings, expected) in [
        (base(), "nothing"),
        (MinHashOptions { words: 0, ..base() }, "words"),
        (MinHashOptions { words: 65, ..base() }, "words"),
        (options(5, 0.0), "threshold"),
        (options(5, 1.1), "threshold"),
        (options(5, f64::NAN), "threshold"),
        (MinHashOptions { permutations: 0, ..base() }, "permutations"),
        (MinHashOptions { recall: 1.0, ..base() }, "recall"),
        (MinHashOptions { max_shingles: 0, ..base() }, "max_shingles"),
        (MinHashOptions { permutations: 2, ..options(5, 0.2) }, "too few"),
    ] {
        assert_eq!(refused(settings.clone()), expected, "{settings:?}");
    }
}
