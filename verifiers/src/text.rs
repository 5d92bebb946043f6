//! `text`: equality of words under normalisation.
//!
//! There is no "contains" mode. A candidate that lists every answer contains the right one, so
//! containment would reward listing; prompt for the answer alone, or use `regex` with a pattern for
//! the text around it.

use caseless::Caseless;
use regex::Regex;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::accepted::{Accepted, candidate, charge_gold, quoted};
use crate::{Claim, Fuel, Reason, Verdict, Verifier, VerifierId, VerifyError};

#[cfg(test)]
mod tests;

/// The differences that are ignored beyond case, compatibility forms and white space.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TextConfig {
    /// Whether punctuation (Unicode general category P) is removed. Off by default. It takes the
    /// sign from `-5` and the sharp from `C#`: for answers in prose only.
    pub strip_punctuation: bool,
    /// Whether the English words `a`, `an` and `the` are removed, unless nothing else is left. Off
    /// by default.
    pub strip_articles: bool,
}

/// Right when candidate and gold are the same text after normalisation: NFKC, Unicode case
/// folding, every run of white space one space, none at the ends.
///
/// Invisible characters such as directional marks and soft hyphens are characters like any other:
/// texts that differ in one are not equal.
#[derive(Debug, Clone)]
pub struct TextVerifier {
    config: TextConfig,
    punctuation: Regex,
}

impl TextVerifier {
    /// Creates a verifier with this configuration.
    pub fn new(config: TextConfig) -> Self {
        Self { config, punctuation: Regex::new(r"\p{P}+").expect("a fixed pattern") }
    }

    fn normalised(&self, text: &str) -> String {
        let mut folded = fold(text);
        if self.config.strip_punctuation {
            folded = joined(self.punctuation.replace_all(&folded, "").split_whitespace());
        }
        if self.config.strip_articles {
            let rest =
                joined(folded.split(' ').filter(|word| !matches!(*word, "a" | "an" | "the")));
            // `The The` and the answer `A` are left as they are.
            if !rest.is_empty() {
                folded = rest;
            }
        }
        folded
    }
}

impl Verifier for TextVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "text", revision: 1 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let accepted = Accepted::of(claim.gold)?;
        for text in accepted.texts() {
            charge_gold(fuel, fold_cost(text))?;
        }
        let given = candidate(claim.candidate, fuel, fold_cost).map(|text| self.normalised(text));
        accepted.judge(|text| {
            let gold = self.normalised(text);
            if gold.is_empty() {
                return Err(Reason::with(
                    "reference_empty",
                    "nothing is left of the accepted text after normalisation",
                ));
            }
            match &given {
                Ok(candidate) => Ok(compare(&gold, candidate, claim.explain)),
                Err(verdict) => Ok(verdict.clone()),
            }
        })
    }
}

fn compare(gold: &str, candidate: &str, explain: bool) -> Verdict {
    if gold == candidate {
        return Verdict::proven(true, "equal", Reason::code("text_equal"));
    }
    let reason = Reason::explained("text_differs", explain, || {
        format!("{} is not {}", quoted(candidate), quoted(gold))
    });
    Verdict::proven(false, "not_equal", reason)
}

/// Returns `text` in NFKC and case-folded, every run of white space one space, none at the ends.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return joined(text.split_whitespace()).to_ascii_lowercase();
    }
    fold_unicode(text)
}

/// Returns the compatibility caseless form of Unicode 16, section 3.13, D146, composed at the end.
///
/// Folding can undo a normalisation and the other way round, hence the alternation.
fn fold_unicode(text: &str) -> String {
    let folded: String = text.nfd().default_case_fold().nfkd().default_case_fold().nfkc().collect();
    joined(folded.split_whitespace())
}

/// Returns the fuel units of [`fold`]. One character can become eighteen, and each passes five
/// stages.
pub(crate) fn fold_cost(text: &str) -> u64 {
    let len = text.len() as u64;
    if text.is_ascii() {
        return 1 + len / 16;
    }
    1 + 2 * len
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}
