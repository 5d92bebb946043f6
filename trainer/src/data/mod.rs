//! Training data: rows, the files that hold them, and their order over epochs.

mod cells;
mod pairs;
mod row;
mod rows;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use rand::seq::SliceRandom as _;
use rubrics::{PRINCIPLE, principle_in_words};
use serde_json::Value;

pub use cells::{RowField, RowsSource, UnknownColumns};
pub use row::{Preference, Process, Ranked, Supervised, Tokenized, TrainingRow};
pub use rows::read_rows;

use crate::error::Result;
use crate::item::RowFields;
use base::seeded::decision;

/// All rows of a run.
#[derive(Debug)]
pub enum TrainingRows {
    /// Rows held in memory, shuffled anew each epoch.
    Stored {
        /// The rows.
        rows: Vec<TrainingRow>,
        /// Their order.
        order: EpochOrder,
    },
    /// An endless stream of generated rows.
    Generated(Box<dyn RowGenerator>),
}

/// Generates rows by position, so that a resumed run continues with the same rows.
pub trait RowGenerator: Debug + Send + Sync {
    /// Generates the row at a position of the run.
    ///
    /// # Errors
    /// A row that cannot be encoded.
    fn row(&self, position: u64) -> Result<TrainingRow>;
}

impl TrainingRows {
    /// Number of rows; `None` for generated rows, which have no end.
    pub fn len(&self) -> Option<usize> {
        match self {
            TrainingRows::Stored { rows, .. } => Some(rows.len()),
            TrainingRows::Generated(_) => None,
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Gives the schemas of tools to problems that have none of their own, for the chat template.
    pub fn show_tools(&mut self, schemas: &[Value]) {
        let TrainingRows::Stored { rows, .. } = self else {
            return;
        };
        for row in rows {
            if let TrainingRow::Problem(item) = row
                && item.fields.tools.is_none()
            {
                let fields = RowFields { tools: Some(schemas.to_vec()), ..(*item.fields).clone() };
                item.fields = fields.into();
            }
        }
    }

    /// Puts the principles of rows into the wording of the scorer `principles`, for a chat template that
    /// does not know their role.
    pub fn word_principles(&mut self) {
        let TrainingRows::Stored { rows, .. } = self else {
            return;
        };
        for row in rows {
            if let TrainingRow::Supervised(row) = row
                && let Some((last, turns)) = row.turns.split_last()
                && last.role == PRINCIPLE
            {
                row.turns = principle_in_words(turns, &last.content);
            }
        }
    }

    /// Takes `n` rows from position `first` of the run, counted over all epochs.
    ///
    /// # Errors
    /// A generated row that cannot be encoded.
    pub fn take(&mut self, first: u64, n: usize) -> Result<Vec<TrainingRow>> {
        let positions = first..first + n as u64;
        match self {
            TrainingRows::Stored { rows, order } => {
                Ok(positions.map(|position| rows[order.row(position)].clone()).collect())
            }
            TrainingRows::Generated(generator) => {
                positions.map(|position| generator.row(position)).collect()
            }
        }
    }
}

/// The order of rows: a new permutation each epoch; a row is found by its position alone, so that a
/// resumed run continues with the same rows.
#[derive(Clone, Debug)]
pub struct EpochOrder {
    seed: u64,
    len: usize,
    epoch: u64,
    permutation: Vec<u32>,
}

impl EpochOrder {
    /// Shuffles `len` rows, at least one.
    pub fn new(seed: u64, len: usize) -> EpochOrder {
        let mut order = EpochOrder { seed, len, epoch: 0, permutation: Vec::new() };
        order.shuffle(0);
        order
    }

    fn shuffle(&mut self, epoch: u64) {
        let rows = u32::try_from(self.len).expect("fewer than 2^32 rows");
        self.permutation = (0..rows).collect();
        let mut rng = decision(self.seed, "order of rows", &[epoch]);
        self.permutation.shuffle(&mut rng);
        self.epoch = epoch;
    }

    /// Returns the row at a position of the run, counted from 0 over all epochs.
    pub fn row(&mut self, position: u64) -> usize {
        let (epoch, at) = (position / self.len as u64, position % self.len as u64);
        if epoch != self.epoch {
            self.shuffle(epoch);
        }
        let at = usize::try_from(at).expect("below the number of rows");
        self.permutation[at] as usize
    }
}
