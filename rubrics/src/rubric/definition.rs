//! A rubric: its items, and the score that their values make together.

use serde::Serialize;

use super::error::RubricError;
use super::item::{ItemAnswer, RubricItem};
use super::points::points;
use super::rubicon::Rubicon;

/// Criteria and their aggregation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rubric {
    /// The criteria; never none.
    pub items: Vec<RubricItem>,
    /// What they come to.
    pub method: Method,
    /// Whether the score is cut to `[0, 1]`.
    pub clip: bool,
    /// Score of a vetoed response: 0 or -1.
    pub veto_score: f64,
}

/// Aggregation of items.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Points of the items that are met, over all positive points ([`points`]).
    Points,
    /// Weights, saturation, interactions and shaping ([`Rubicon`]).
    Rubicon(Rubicon),
}

/// The result of a rubric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whole {
    /// The score: a veto's, or else the clipped or the unclipped number.
    pub score: f64,
    /// Before clip and veto.
    pub unclipped: f64,
    /// Cut to `[0, 1]`, before the veto.
    pub clipped: f64,
    /// The first item that vetoes.
    pub vetoed_by: Option<usize>,
}

impl Rubric {
    /// Whether any item needs a model.
    pub fn asks_model(&self) -> bool {
        self.items.iter().any(RubricItem::asks_model)
    }

    /// The scorers that items name, each once.
    pub fn scorers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for item in &self.items {
            match &item.answer {
                ItemAnswer::Verifier(verification)
                    if !names.contains(&verification.scorer.as_str()) =>
                {
                    names.push(&verification.scorer);
                }
                ItemAnswer::Verifier(_) | ItemAnswer::YesNo | ItemAnswer::Tiers(_) => {}
            }
        }
        names
    }

    /// The most tiers that an item has; 0 where none has any.
    pub fn most_tiers(&self) -> usize {
        let tiers = self.items.iter().map(|item| match &item.answer {
            ItemAnswer::Tiers(tiers) => tiers.len(),
            ItemAnswer::YesNo | ItemAnswer::Verifier(_) => 0,
        });
        tiers.max().unwrap_or(0)
    }

    /// Returns the least score by single items: every merit missing and every fault present. An
    /// empty response must not earn more than an attempt.
    pub fn least(&self) -> Option<f64> {
        let values: Vec<Option<f64>> = self.items.iter().map(|item| Some(item.worst())).collect();
        let whole = self.aggregate(&values).ok()?;
        let unvetoed = if self.clip { whole.clipped } else { whole.unclipped };
        Some(whole.score.min(unvetoed))
    }

    /// Aggregates the items by their values, in order; `None` leaves an item out.
    ///
    /// # Errors
    /// [`RubricError`]: a number that is not finite or an undecided veto never becomes a score.
    pub fn aggregate(&self, values: &[Option<f64>]) -> Result<Whole, RubricError> {
        if values.len() != self.items.len() {
            return Err(RubricError::Length { given: values.len(), items: self.items.len() });
        }
        for (item, value) in self.items.iter().zip(values) {
            let id = item.id.clone();
            match value {
                Some(value) if !value.is_finite() => return Err(RubricError::NotFinite { id }),
                None if item.veto.is_some() => return Err(RubricError::VetoUnknown { id }),
                Some(_) | None => {}
            }
        }
        let weights = self.items.iter().map(|item| item.points);
        let weighed: Vec<(f64, Option<f64>)> = weights.zip(values.iter().copied()).collect();
        let unclipped = match &self.method {
            Method::Points => points(&weighed)?.unclipped,
            Method::Rubicon(rubicon) => rubicon.of(&weighed)?,
        };
        let clipped = unclipped.clamp(0.0, 1.0);
        let mut judged = self.items.iter().zip(values);
        let vetoed_by = judged.position(|(item, value)| {
            let veto = item.veto.zip(*value);
            veto.is_some_and(|(veto, value)| veto.strikes(value))
        });
        let unvetoed = if self.clip { clipped } else { unclipped };
        Ok(Whole {
            score: vetoed_by.map_or(unvetoed, |_| self.veto_score),
            unclipped,
            clipped,
            vetoed_by,
        })
    }
}
