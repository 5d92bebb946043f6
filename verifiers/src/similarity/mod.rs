//! Similarity of texts by characters, n-grams and aligned words: the metrics of other services'
//! graders.
//!
//! None of them reads meaning: a wrong answer in the right words scores high. They are here because
//! graders ask for them, and as parts of a formula; a reward that rests on one alone is easily
//! exploited.
//!
//! Each follows its paper and the package that is commonly used for it, so that a number means the
//! same here and there: `rapidfuzz` for [`Metric::Fuzzy`], the `evaluate` collection for the
//! others. The [`Metric`] documents differences.

mod align;
mod check;
mod ngrams;
mod porter;
mod subsequence;
mod words;

#[cfg(test)]
mod tests;

pub use check::TextCheck;

use crate::{Fuel, UnitScore};

/// A measure of likeness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The longest common subsequence of characters, twice its length by the length of both texts.
    /// Two empty texts are alike.
    Fuzzy,
    /// BLEU of a single reference: n-grams of up to four words, not smoothed, so that a text
    /// without a common run of four words has 0. "BLEU: a Method for Automatic Evaluation of
    /// Machine Translation" (Papineni et al., ACL 2002), with the tokens of its `mteval-v13a`
    /// script.
    Bleu,
    /// The smaller of precision and recall over all n-grams of up to four words. "Google's Neural
    /// Machine Translation System" (arXiv 1609.08144), section 4.3, with the same tokens.
    Gleu,
    /// Words aligned by form, then by stem, and a penalty for words out of order. "METEOR: An
    /// Automatic Metric for MT Evaluation" (Banerjee and Lavie, ACL 2005) with the weights 0.9, 3
    /// and 0.5, the tokens of BLEU in lower case, and Porter's stems. Synonyms are not aligned: the
    /// list of them is no part of this program.
    Meteor,
    /// The F1 score of n-grams of this many words. "ROUGE: A Package for Automatic Evaluation of
    /// Summaries" (Lin, ACL 2004). A word is a run of letters and digits in lower case, of any
    /// script and not of English alone; nothing is stemmed.
    RougeN(usize),
    /// The F1 score of the longest common subsequence of words, with the words of ROUGE-N.
    RougeL,
}

/// A text whose measuring takes more work than there is fuel for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLong {
    /// The reference by itself.
    Reference,
    /// The input, given the reference.
    Input,
}

/// Bytes that are split into words for one unit of fuel.
const BYTES_PER_UNIT: u64 = 8;

/// The longest text in bytes that can be measured with `fuel`; one that is longer is refused before
/// it is split.
pub fn max_text_bytes(fuel: &Fuel) -> usize {
    usize::try_from(fuel.left().saturating_mul(BYTES_PER_UNIT)).unwrap_or(usize::MAX)
}

/// Returns how alike `input` is to `reference`.
///
/// # Errors
/// The text that is to blame where the fuel does not suffice.
pub fn similarity(
    metric: Metric,
    input: &str,
    reference: &str,
    fuel: &mut Fuel,
) -> Result<UnitScore, TooLong> {
    let scan = |text: &str| 1 + text.len() as u64 / BYTES_PER_UNIT;
    fuel.spend(scan(reference)).map_err(|_| TooLong::Reference)?;
    fuel.spend(scan(input)).map_err(|_| TooLong::Input)?;
    let share = match metric {
        Metric::Fuzzy => subsequence::of_chars(input, reference, fuel)?,
        Metric::Bleu => of_sentences(input, reference, ngrams::bleu),
        Metric::Gleu => of_sentences(input, reference, ngrams::gleu),
        Metric::Meteor => {
            let (input, reference) = (input.to_lowercase(), reference.to_lowercase());
            align::meteor(
                &words::sentence(&input).split_whitespace().collect::<Vec<_>>(),
                &words::sentence(&reference).split_whitespace().collect::<Vec<_>>(),
            )
        }
        Metric::RougeN(n) => {
            let (input, reference) =
                words::ids(words::plain_words(input), words::plain_words(reference));
            ngrams::rouge(&input, &reference, n)
        }
        Metric::RougeL => {
            let (input, reference) =
                words::ids(words::plain_words(input), words::plain_words(reference));
            subsequence::rouge(&input, &reference, fuel)?
        }
    };
    // Rounding may end a hair above 1.
    Ok(UnitScore::new(share.clamp(0.0, 1.0)).expect("shares of what there is are numbers"))
}

fn of_sentences(input: &str, reference: &str, measure: fn(&[u32], &[u32]) -> f64) -> f64 {
    let (input, reference) = (words::sentence(input), words::sentence(reference));
    let own = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let (input, reference) = words::ids(own(&input), own(&reference));
    measure(&input, &reference)
}

/// Returns the harmonic mean of two shares of the same part.
fn f1(part: usize, input: usize, reference: usize) -> f64 {
    if part == 0 {
        return 0.0;
    }
    2.0 * ratio(part, input + reference)
}

/// Divides `part` by `whole`; 0 if `whole` is 0.
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of words and characters are far below 2^52"
    )]
    let quotient = part as f64 / whole as f64;
    quotient
}
