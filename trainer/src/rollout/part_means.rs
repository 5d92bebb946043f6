//! Means of the parts of rewards.

use std::collections::BTreeMap;

use rubrics::{Evidence, Outcome};

use crate::metrics::Metrics;

/// The most parts that are reported; rows may have rubrics and principles of their own.
const MOST: usize = 64;

/// Sums over the parts of scores, by the names of their scorers and their own: parts of a pipeline, items
/// of a rubric, outputs of a reward model.
#[derive(Clone, Debug, Default)]
pub struct PartMeans(BTreeMap<(String, String), (f64, usize)>);

impl PartMeans {
    /// Adds those parts of an outcome that have a score.
    pub(super) fn add(&mut self, scorer: &str, outcome: &Outcome) {
        for part in Evidence::of(outcome).parts.iter().flatten() {
            let Some(Ok(score)) = &part.outcome else { continue };
            let name = (scorer.to_owned(), part.name.clone());
            if self.0.len() < MOST || self.0.contains_key(&name) {
                let (sum, n) = self.0.entry(name).or_default();
                *sum += score.score;
                *n += 1;
            }
        }
    }

    /// Reports each as `parts/SCORER/NAME` behind a prefix, pooled with what earlier rounds of the step reported.
    pub fn report(&self, prefix: &str, metrics: &mut Metrics) {
        for ((scorer, name), (sum, n)) in &self.0 {
            let n = *n as f64;
            metrics.add_mean(format!("{prefix}parts/{scorer}/{name}"), sum / n, n);
        }
    }
}
