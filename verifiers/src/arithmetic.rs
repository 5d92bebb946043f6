//! stub
use crate::*;
use std::ops::Range;
/// stub
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct ArithmeticConfig {
    /// x
    pub splitter: Splitter,
}
/// stub
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub enum Splitter {
    /// x
    #[default]
    Lines,
    /// x
    BlankLines,
    /// x
    Sentences,
    /// x
    Numbered,
}
/// x
pub struct Arithmetic;
impl Arithmetic {
    /// x
    pub fn new(_: ArithmeticConfig) -> Self {
        Self
    }
    /// x
    pub fn id(&self) -> VerifierId {
        VerifierId {
            name: "arithmetic",
            revision: 1,
        }
    }
    /// x
    pub fn check(&self, _: &str, _: Option<&[Range<usize>]>, _: &mut Fuel) -> StepReport {
        StepReport {
            steps: vec![],
            first_wrong: None,
        }
    }
}
/// x
pub struct StepReport {
    /// x
    pub steps: Vec<Step>,
    /// x
    pub first_wrong: Option<usize>,
}
/// x
pub struct Step {
    /// x
    pub index: usize,
    /// x
    pub span: Range<usize>,
    /// x
    pub equalities: Vec<Equality>,
}
/// x
pub struct Equality {
    /// x
    pub span: Range<usize>,
    /// x
    pub check: Check,
}
/// x
pub enum Check {
    /// x
    Right {
        /// x
        computed: String,
    },
    /// x
    Wrong {
        /// x
        left: String,
        /// x
        right: String,
    },
    /// x
    Unchecked {
        /// x
        why: &'static str,
    },
}
impl Step {
    /// x
    pub fn score(&self) -> Option<f64> {
        None
    }
    /// x
    pub fn label(&self) -> &'static str {
        "unchecked"
    }
}
