//! Reports of the symbolic step checker.

use std::ops::Range;

use crate::arithmetic::StepLabel;

/// A solution, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    /// The steps in the order of the text.
    pub steps: Vec<DerivationStep>,
    /// Position in `steps` of the first step with a wrong claim.
    pub first_wrong: Option<usize>,
    /// Whether the fuel ran out before all text was read. The rest is unchecked.
    pub exhausted: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivationStep {
    /// Position, from 0.
    pub index: usize,
    /// Half-open byte range.
    pub span: Range<usize>,
    /// The claims of the step, in the order of the text.
    pub claims: Vec<StepClaim>,
}

/// A claim: an equality, or that one equation follows from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepClaim {
    /// Half-open byte range of the formula, or of both formulas.
    pub span: Range<usize>,
    /// The claim as it was written, without delimiters.
    pub formula: String,
    /// The result of the check.
    pub check: ClaimCheck,
}

/// The result of checking a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimCheck {
    /// Proven.
    Right,
    /// A decimal that is the other side rounded to the places written.
    Rounded,
    /// Roots were lost: the claim follows only under unchecked conditions.
    Partial {
        /// A root that was lost, for people.
        lost: String,
    },
    /// Disproven, with what shows it, for people.
    Wrong {
        /// The evidence, for people.
        witness: String,
    },
    /// Neither.
    Unchecked(Why),
}

/// Reason why a claim was not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// A side could not be read.
    Unread,
    /// It may be a definition or an assignment: `f(x) = x^2`, `x = 3`.
    Definition,
    /// It may be an equation to be solved rather than an identity.
    Equation,
    /// A decimal is near and may be rounded.
    Approximate,
    /// Angles may be in degrees.
    Degrees,
    /// The step speaks of a contradiction.
    Contradiction,
    /// No rule decides it.
    Undecided,
    /// The check would cost too much.
    TooCostly,
}

impl Why {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Definition => "definition",
            Self::Equation => "equation",
            Self::Approximate => "approximate",
            Self::Degrees => "degrees",
            Self::Contradiction => "contradiction",
            Self::Undecided => "undecided",
            Self::TooCostly => "too_costly",
        }
    }
}

impl ClaimCheck {
    /// Returns the class. Lost roots make nothing wrong.
    pub fn label(&self) -> StepLabel {
        match self {
            Self::Right | Self::Rounded => StepLabel::Right,
            Self::Wrong { .. } => StepLabel::Wrong,
            Self::Partial { .. } | Self::Unchecked(_) => StepLabel::Unchecked,
        }
    }

    /// Describes the result, for people.
    pub fn detail(&self) -> String {
        match self {
            Self::Right => "holds".to_owned(),
            Self::Rounded => "holds, written rounded".to_owned(),
            Self::Partial { lost } => format!("partial: {lost} was lost"),
            Self::Wrong { witness } => witness.clone(),
            Self::Unchecked(why) => why.as_str().to_owned(),
        }
    }
}

impl DerivationStep {
    /// Returns the class of the step. Claims that were not checked are ignored.
    pub fn label(&self) -> StepLabel {
        let mut label = StepLabel::Unchecked;
        for claim in &self.claims {
            match claim.check.label() {
                StepLabel::Wrong => return StepLabel::Wrong,
                StepLabel::Right => label = StepLabel::Right,
                StepLabel::Unchecked => {}
            }
        }
        label
    }
}
