//! The steps that principles pass, all of one response.
//!
//! Each takes principles and gives those that stay: the difference in number is what it dropped.
//! They stay in their order, and which do depends on the row alone.

use serde::Serialize;

use super::partial_ratio::partial_ratio;
use super::similarity::{cosine, normalised};

/// Whether a response meets a principle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrincipleVerdict {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// In part.
    Partially,
}

impl PrincipleVerdict {
    /// Its name in columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Partially => "partially",
        }
    }
}

/// A principle that an annotator's feedback speaks of.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedPrinciple {
    /// Whose feedback: a position among the annotators of the response.
    pub annotator: usize,
    /// The principle in few words.
    pub principle: String,
    /// The feedback's verdict on the response.
    pub verdict: PrincipleVerdict,
    /// The words of the feedback that say so.
    pub evidence: String,
}

/// A principle with what the steps measured.
#[derive(Debug, Clone, PartialEq)]
pub struct SupportedPrinciple {
    /// The principle.
    pub stated: StatedPrinciple,
    /// Similarity of its words to the feedback, from 0 to 100.
    pub evidence_ratio: f64,
    /// The direction of its text, of length 1.
    pub vector: Vec<f32>,
    /// Least cosine with the most similar principle of each other annotator.
    pub agreement: f64,
}

/// Keeps principles whose words are found in the feedback of their annotator with a ratio above
/// `least`, and gives the ratios. Those without a principle or without words go too.
pub fn with_evidence(
    stated: Vec<StatedPrinciple>,
    feedback: &[String],
    least: f64,
) -> Vec<(StatedPrinciple, f64)> {
    let checked = stated.into_iter().filter_map(|stated| {
        let own = feedback.get(stated.annotator)?;
        if stated.principle.trim().is_empty() || stated.evidence.trim().is_empty() {
            return None;
        }
        let ratio = partial_ratio(&stated.evidence, own);
        (ratio > least).then_some((stated, ratio))
    });
    checked.collect()
}

/// Keeps principles that every other annotator has too: one at least whose cosine is above `least`,
/// whatever its verdict. `vectors` are the directions of the principles' texts, of length 1. With
/// one annotator there is no agreement, and nothing is kept.
pub fn with_consensus(
    stated: Vec<(StatedPrinciple, f64)>,
    vectors: Vec<Vec<f32>>,
    n_annotators: usize,
    least: f64,
) -> Vec<SupportedPrinciple> {
    let agreement = |at: usize| {
        let own = stated[at].0.annotator;
        let others = (0..n_annotators).filter(|other| *other != own);
        let most_alike = others.map(|other| {
            let theirs = stated.iter().zip(&vectors);
            let theirs = theirs.filter(|((stated, _), _)| stated.annotator == other);
            let cosines = theirs.map(|(_, vector)| cosine(&vectors[at], vector));
            cosines.fold(f64::NEG_INFINITY, f64::max)
        });
        most_alike.min_by(f64::total_cmp).unwrap_or(f64::NEG_INFINITY)
    };
    let agreements: Vec<f64> = (0..stated.len()).map(agreement).collect();
    let all = stated.into_iter().zip(vectors).zip(agreements);
    let found = all.map(|(((stated, evidence_ratio), vector), agreement)| SupportedPrinciple {
        stated,
        evidence_ratio,
        vector,
        agreement,
    });
    found.filter(|found| found.agreement > least).collect()
}

/// Leaves out the principles of a list, by their plain texts.
pub fn without_named(
    mut found: Vec<SupportedPrinciple>,
    left_out: &[String],
) -> Vec<SupportedPrinciple> {
    let left_out: Vec<String> = left_out.iter().map(|text| normalised(text)).collect();
    found.retain(|found| !left_out.contains(&normalised(&found.stated.principle)));
    found
}

/// Leaves out principles that are met in part.
pub fn without_partial(mut found: Vec<SupportedPrinciple>) -> Vec<SupportedPrinciple> {
    found.retain(|found| found.stated.verdict != PrincipleVerdict::Partially);
    found
}

/// Leaves out principles that are alike, by a cosine above `least`, and have different verdicts: all
/// of them.
pub fn without_contradictions(
    found: Vec<SupportedPrinciple>,
    least: f64,
) -> Vec<SupportedPrinciple> {
    let contradicts = |a: &SupportedPrinciple, b: &SupportedPrinciple| {
        a.stated.verdict != b.stated.verdict && cosine(&a.vector, &b.vector) > least
    };
    let stays: Vec<bool> = found.iter().map(|a| !found.iter().any(|b| contradicts(a, b))).collect();
    let both = found.into_iter().zip(stays);
    both.filter_map(|(found, stays)| stays.then_some(found)).collect()
}

/// Keeps the first of principles that are alike, by a cosine above `least`, and have one verdict.
pub fn without_repeats(found: Vec<SupportedPrinciple>, least: f64) -> Vec<SupportedPrinciple> {
    let mut kept: Vec<SupportedPrinciple> = Vec::new();
    for candidate in found {
        let is_like = |other: &SupportedPrinciple| {
            other.stated.verdict == candidate.stated.verdict
                && (cosine(&other.vector, &candidate.vector) > least
                    || normalised(&other.stated.principle)
                        == normalised(&candidate.stated.principle))
        };
        if !kept.iter().any(is_like) {
            kept.push(candidate);
        }
    }
    kept
}
