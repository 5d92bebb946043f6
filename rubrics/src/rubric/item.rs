//! One criterion of a rubric.

use serde::Serialize;

use crate::Reference;

/// One criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RubricItem {
    /// Its name in reports; no two of a rubric are the same.
    pub id: String,
    /// The condition on the response; for an item with negative points, the fault.
    pub criterion: String,
    /// Points for meeting it; for a Rubicon rubric, its weight.
    pub points: f64,
    /// Words to sort by.
    pub tags: Vec<String>,
    /// Method of answering.
    pub answer: ItemAnswer,
    /// When it decides alone.
    pub veto: Option<Veto>,
}

/// Method of deciding how far a criterion is met.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemAnswer {
    /// A model decides whether it is met.
    YesNo,
    /// A model chooses one of these, worst or best first.
    Tiers(Vec<Tier>),
    /// A scorer decides; it may use a model.
    Verifier(Verification),
}

/// One of several grades of a criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tier {
    /// Description of a response of this grade.
    pub text: String,
    /// Its value.
    pub value: f64,
}

/// A criterion decided by a scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// The scorer's name.
    pub scorer: String,
    /// The reference; `None` for the input's own.
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

impl RubricItem {
    /// Whether it needs a model.
    pub fn asks_model(&self) -> bool {
        match &self.answer {
            ItemAnswer::YesNo | ItemAnswer::Tiers(_) => true,
            ItemAnswer::Verifier(_) => false,
        }
    }

    /// The least and the greatest value that it can have.
    pub fn range(&self) -> (f64, f64) {
        match &self.answer {
            ItemAnswer::YesNo | ItemAnswer::Verifier(_) => (0.0, 1.0),
            ItemAnswer::Tiers(tiers) => {
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
    pub(super) fn worst(&self) -> f64 {
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
