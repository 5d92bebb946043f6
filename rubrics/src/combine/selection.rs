//! Selection of one response among several.

use std::collections::HashMap;
use std::hash::Hash;

use super::numbers::{CombineError, equally_many, not_negative, result, some_finite};

/// Returns the index of the largest score, the first of equal ones.
///
/// # Errors
/// No score, or one that is not finite.
pub fn best(scores: &[f64]) -> Result<usize, CombineError> {
    some_finite("score", scores)?;
    let mut best = 0;
    for (index, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = index;
        }
    }
    Ok(best)
}

/// Returns the index of the first response with the winning answer: the answer with the largest sum
/// of weights (Is PRM Necessary?, 2505.11227, where the weights are a model's scores of its own
/// samples). A response without an answer has no vote; the first of answers with equal sums wins.
/// `None` if no response has an answer.
///
/// # Errors
/// Lists of different lengths, a weight that is negative or not finite, or a sum that is not.
pub fn weighted_vote<A: Eq + Hash>(
    answers: &[Option<A>],
    weights: &[f64],
) -> Result<Option<usize>, CombineError> {
    equally_many("weights", weights.len(), answers.len())?;
    not_negative("weight", weights)?;
    let mut seats: HashMap<&A, usize> = HashMap::new();
    let mut sums: Vec<(usize, f64)> = Vec::new();
    for (index, (answer, weight)) in answers.iter().zip(weights).enumerate() {
        let Some(answer) = answer else { continue };
        let seat = *seats.entry(answer).or_insert(sums.len());
        match sums.get_mut(seat) {
            Some((_, sum)) => *sum = result(*sum + weight)?,
            None => sums.push((index, *weight)),
        }
    }
    if sums.is_empty() {
        return Ok(None);
    }
    let totals: Vec<f64> = sums.iter().map(|(_, sum)| *sum).collect();
    Ok(Some(sums[best(&totals)?].0))
}
