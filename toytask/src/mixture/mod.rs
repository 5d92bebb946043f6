//! Rows that teach every format from the task alone, without any other model.
//!
//! Labels are balanced by construction: the label is drawn first, and the subject is drawn until it
//! has that label. Properties that a label should not depend on (length, operations, correctness of
//! the result if the format does not judge it) are drawn equally for both, so that they carry no
//! information. Each row follows from the seed and its index alone.

mod draw;
mod replies;
mod rows;

use std::ops::RangeInclusive;

use rubrics::Message;

use super::format::Format;
use super::make::{Difficulty, Slip};
use super::rng::StableRng;

pub(super) use draw::{DrawnSolution, ProblemSource};

/// The distribution of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// The seed of all rows.
    pub seed: u64,
    /// Relative frequencies of formats; unlisted ones have 0.
    pub weights: Vec<(Format, f64)>,
    /// Difficulty of chains.
    pub difficulty: Difficulty,
    /// Relative frequencies of mistakes in wrong solutions of chains, unlisted ones having 0; `None`
    /// makes all but [`Slip::SameParity`] alike.
    pub mistakes: Option<Vec<(Slip, f64)>>,
    /// Share of countdown problems in formats that support both.
    pub countdown: f64,
    /// Number of given numbers of a countdown problem.
    pub numbers: RangeInclusive<usize>,
}

impl Default for Mixture {
    /// Every format, of chains alone.
    fn default() -> Self {
        Self {
            seed: 0,
            weights: Format::ALL.map(|format| (format, usual_weight(format))).to_vec(),
            difficulty: Difficulty::default(),
            mistakes: None,
            countdown: 0.0,
            numbers: 3..=4,
        }
    }
}

/// The default weight: solving has the largest, the formats that other judgements rest on the next.
fn usual_weight(format: Format) -> f64 {
    match format {
        Format::Player => 8.0,
        Format::Process | Format::Principle => 5.0,
        Format::Critic | Format::Pair => 3.0,
        Format::Reflection | Format::Reward | Format::Pointwise | Format::Grade => 2.0,
        Format::Validate
        | Format::List
        | Format::Retrospective
        | Format::Faithful
        | Format::Correct
        | Format::Grounded
        | Format::Verify
        | Format::Call
        | Format::Conclude => 1.0,
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The question format.
    pub format: Format,
    /// The conversation.
    pub turns: Vec<Message>,
    /// The training target.
    pub target: TrainingTarget,
}

/// Training target of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrainingTarget {
    /// The model's reply and its end.
    Reply(String),
    /// The word at the last token of a conversation without a reply.
    Ending(String),
    /// Whether each step of the last message is right, read after it.
    Steps(Vec<bool>),
}

impl Mixture {
    /// The row of an index.
    ///
    /// # Panics
    /// If no weight is above 0, or a length is 0: a mixture is checked when it is read.
    pub fn row(&self, index: u64) -> TaskRow {
        let mut rng = StableRng::new(self.seed, "mixture", &[index]);
        let format = rng.weighted(&self.weights);
        rows::row(format, &self.pool(), &mut rng)
    }

    /// A row of one format.
    ///
    /// # Panics
    /// As [`Mixture::row`].
    pub fn row_of(&self, format: Format, index: u64) -> TaskRow {
        let mut rng = StableRng::new(self.seed, format.name(), &[index]);
        rows::row(format, &self.pool(), &mut rng)
    }

    /// Whether rows can be drawn.
    ///
    /// # Errors
    /// The fault.
    pub fn check(&self) -> Result<(), String> {
        let formats: Vec<f64> = self.weights.iter().map(|(_, weight)| *weight).collect();
        check_weights(&formats, "format")?;
        if formats.iter().sum::<f64>() <= 0.0 {
            return Err("no format has a weight above 0".to_owned());
        }
        if let Some(mistakes) = &self.mistakes {
            let weights: Vec<f64> = mistakes.iter().map(|(_, weight)| *weight).collect();
            check_weights(&weights, "mistake")?;
            if !mistakes.iter().any(|(slip, weight)| slip.is_always_possible() && *weight > 0.0) {
                return Err("no mistake that every chain can have has a weight above 0: digit, \
                            value, same_parity, operand, operation or answer"
                    .to_owned());
            }
        }
        self.difficulty.check()?;
        if !(0.0..=1.0).contains(&self.countdown) {
            return Err("a share is from 0 to 1".to_owned());
        }
        if *self.numbers.start() < 2 || self.numbers.is_empty() || *self.numbers.end() > 6 {
            return Err("countdown gives from 2 to 6 numbers".to_owned());
        }
        Ok(())
    }

    fn pool(&self) -> ProblemSource<'_> {
        ProblemSource {
            difficulty: &self.difficulty,
            mistakes: self.mistakes.as_deref(),
            countdown: self.countdown,
            numbers: &self.numbers,
            held_out: false,
        }
    }
}

fn check_weights(weights: &[f64], of: &str) -> Result<(), String> {
    if weights.iter().any(|weight| !weight.is_finite() || *weight < 0.0) {
        return Err(format!("a weight of a {of} is negative or not finite"));
    }
    Ok(())
}
