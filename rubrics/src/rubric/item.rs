//! One criterion of a rubric.

use serde::Serialize;

use crate::Reference;

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
