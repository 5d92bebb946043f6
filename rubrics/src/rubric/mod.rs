//! Rubrics: lists of criteria with points or tiers, and what they come to together.
//!
//! Everything here is data and arithmetic. A [`Rubric`] is read from TOML or JSON by one reader
//! ([`parse`]) and checked whole, so that one that exists can be judged by; [`Rubric::aggregate`]
//! makes one number of what was found for its items; [`scaffold`] shows a policy a part of them
//! while it rolls out. Who finds out whether a criterion is met is `kind = "rubric"`.
//!
//! | part | from |
//! |---|---|
//! | items with points, the score of those that are met, rule items | `RuscaRL`, 2508.16949 ([`score`]) |
//! | scaffolds with their decay | `RuscaRL` ([`scaffold`]) |
//! | tiers, weights, veto, saturation, interactions, shaping | Rubicon, 2508.12790: it describes them in prose; every formula is ours ([`aggregate`]) |

pub mod aggregate;
mod built_in;
mod check;
mod file;
mod item;
pub mod scaffold;
pub mod score;
mod table;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::Reference;

pub use aggregate::{Interaction, Rubicon, Saturation, Shaping, Whole};
pub use built_in::{built_in, built_in_names};
pub use file::{MAX_ITEMS, parse};
pub(crate) use file::{from_json, from_section, path_text};

/// Criteria, and what they come to together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rubric {
    /// The criteria; never none.
    pub items: Vec<Item>,
    /// What they come to.
    pub method: Method,
    /// Whether the score is cut to `[0, 1]`.
    pub clip: bool,
    /// What a response gets that an item vetoes: 0 or -1.
    pub veto_score: f64,
}

/// One criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// Its name in reports; no two of a rubric are the same.
    pub id: String,
    /// What must hold of the response; of an item with negative points, the fault that it may have.
    pub criterion: String,
    /// What meeting it is worth; for a Rubicon rubric, its weight.
    pub points: f64,
    /// Words to sort by.
    pub tags: Vec<String>,
    /// Who answers, and with what.
    pub answer: Answer,
    /// When it decides alone.
    pub veto: Option<Veto>,
}

/// How far a criterion is met, and who says so.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A model says whether it is met.
    YesNo,
    /// A model says which of these it is, worst or best first.
    Tiers(Vec<Tier>),
    /// A scorer says, and no model is asked unless that scorer asks one.
    Verifier(Verification),
}

/// One of several grades of a criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tier {
    /// What a response of this grade is like.
    pub text: String,
    /// What it is worth.
    pub value: f64,
}

/// What a scorer is asked for a criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// The scorer's name.
    pub scorer: String,
    /// What it compares the response with; without one, the input's own reference.
    pub reference: Option<Reference>,
    /// The least score of it that meets the criterion.
    pub at_least: f64,
}

/// When an item decides alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Veto {
    /// When its value is below this: the response lacks what it must have.
    Below(f64),
    /// When its value is above this: the response has what it must not have.
    Above(f64),
}

/// What items come to together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Points of the items that are met, over all positive points ([`score`]).
    Points,
    /// Weights, saturation, interactions and shaping ([`aggregate`]).
    Rubicon(Rubicon),
}

/// Why the values of items come to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RubricError {
    /// Another number of values than of items.
    #[error("{given} values for {items} items")]
    Length {
        /// Values.
        given: usize,
        /// Items.
        items: usize,
    },
    /// A value is not finite.
    #[error("the value of item '{id}' is not a finite number")]
    NotFinite {
        /// The item.
        id: String,
    },
    /// An item that may veto has no value: whether it would is unknown.
    #[error("item '{id}' may veto and has no value")]
    VetoUnknown {
        /// The item.
        id: String,
    },
    /// No item that could earn anything has a value.
    #[error("no item with a weight has a value")]
    NothingCounted,
    /// The numbers of the rubric are so large that what they come to is not finite.
    #[error("the rubric's numbers are too large: their combination is not finite")]
    Overflow,
}

impl Item {
    /// Whether a model is asked for it.
    pub fn asks_model(&self) -> bool {
        match &self.answer {
            Answer::YesNo | Answer::Tiers(_) => true,
            Answer::Verifier(_) => false,
        }
    }

    /// The least and the greatest value that it can have.
    pub fn range(&self) -> (f64, f64) {
        match &self.answer {
            Answer::YesNo | Answer::Verifier(_) => (0.0, 1.0),
            Answer::Tiers(tiers) => {
                let values = tiers.iter().map(|tier| tier.value);
                let least = values.clone().fold(f64::INFINITY, f64::min);
                (least, values.fold(f64::NEG_INFINITY, f64::max))
            }
        }
    }

    /// The value of a response that has nothing of it.
    pub fn unmet(&self) -> f64 {
        self.range().0
    }

    /// The value that counts least.
    fn worst(&self) -> f64 {
        let (least, most) = self.range();
        let is_fault = match self.veto {
            Some(Veto::Above(_)) => true,
            Some(Veto::Below(_)) => false,
            None => self.points < 0.0,
        };
        if is_fault { most } else { least }
    }
}

impl Veto {
    /// Whether it strikes at a value.
    pub fn strikes(self, value: f64) -> bool {
        match self {
            Self::Below(least) => value < least,
            Self::Above(most) => value > most,
        }
    }
}

impl Rubric {
    /// Whether a model is asked for any item.
    pub fn asks_model(&self) -> bool {
        self.items.iter().any(Item::asks_model)
    }

    /// The scorers that items name, each once.
    pub fn scorers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for item in &self.items {
            match &item.answer {
                Answer::Verifier(asked) if !names.contains(&asked.scorer.as_str()) => {
                    names.push(&asked.scorer);
                }
                Answer::Verifier(_) | Answer::YesNo | Answer::Tiers(_) => {}
            }
        }
        names
    }

    /// The most tiers that an item has; 0 where none has any.
    pub fn most_tiers(&self) -> usize {
        let tiers = self.items.iter().map(|item| match &item.answer {
            Answer::Tiers(tiers) => tiers.len(),
            Answer::YesNo | Answer::Verifier(_) => 0,
        });
        tiers.max().unwrap_or(0)
    }

    /// The least that a response can come to, as far as each item goes by itself: every merit
    /// missing and every fault there. Silence must not earn more than an attempt.
    pub fn least(&self) -> Option<f64> {
        let values: Vec<Option<f64>> = self.items.iter().map(|item| Some(item.worst())).collect();
        let whole = self.aggregate(&values).ok()?;
        let unvetoed = if self.clip { whole.clipped } else { whole.unclipped };
        Some(whole.score.min(unvetoed))
    }
}
