//! Problems in a random order, renewed each time all of them were drawn.

use rand::seq::SliceRandom as _;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use base::seeded::decision;

/// Problems and the position in their order.
#[derive(Clone, Debug)]
pub(super) struct ProblemPool {
    name: String,
    seed: u64,
    members: Vec<u64>,
    /// The members in the order of this pass.
    order: Vec<u64>,
    place: PoolPosition,
}

/// The position of a pool; its order follows from the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolPosition {
    #[serde(rename = "episode")]
    pass: u64,
    at: usize,
}

impl ProblemPool {
    /// Starts with the first pass; `members` must not be empty.
    pub(super) fn new(name: &str, members: Vec<u64>, seed: u64) -> Self {
        let mut pool = Self {
            name: format!("pool {name}"),
            seed,
            order: Vec::new(),
            members,
            place: PoolPosition { pass: 0, at: 0 },
        };
        pool.shuffle();
        pool
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Problems drawn since the start.
    pub(super) fn drawn(&self) -> u64 {
        self.place.pass * self.members.len() as u64 + self.place.at as u64
    }

    pub(super) fn place(&self) -> PoolPosition {
        self.place
    }

    pub(super) fn go_to(&mut self, place: PoolPosition) -> Result<()> {
        if place.at > self.members.len() {
            return Err(TrainError::Invalid(format!(
                "curriculum: place {} in a pool of {} problems",
                place.at,
                self.members.len()
            )));
        }
        self.place = place;
        self.shuffle();
        Ok(())
    }

    pub(super) fn next(&mut self) -> u64 {
        if self.place.at == self.order.len() {
            self.place = PoolPosition { pass: self.place.pass + 1, at: 0 };
            self.shuffle();
        }
        self.place.at += 1;
        self.order[self.place.at - 1]
    }

    /// Shuffles this pass's order, independently of other passes.
    fn shuffle(&mut self) {
        self.order.clone_from(&self.members);
        let mut rng = decision(self.seed, &self.name, &[self.place.pass]);
        self.order.shuffle(&mut rng);
    }
}
