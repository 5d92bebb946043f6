//! Bounded staleness: no more trajectories are started than can be trained on in time.

use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};

/// The options of bounded staleness (`AReaL`, arXiv 2505.24298).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityConfig {
    /// Trajectories of a training batch, B.
    pub batch: u64,
    /// Maximum weight updates between the start of a trajectory and its use, η. 0 is synchronous;
    /// the authors usually take 2 to 8.
    #[serde(default)]
    pub max_staleness: u64,
    /// Maximum concurrent trajectories.
    pub max_concurrent: u64,
}

/// Counts trajectories against the rule: one may start while ⌊(`N` - 1) / B⌋ ≤ i + η, where `N`
/// counts all accepted or running ones, itself included, and i the weight updates.
///
/// A rejected trajectory stops counting, so that another one takes its place. Serialisable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    config: CapacityConfig,
    updates: u64,
    accepted: u64,
    running: u64,
}

impl Capacity {
    /// Starts without trajectories.
    ///
    /// # Errors
    /// A batch of 0, or a maximum of 0.
    pub fn new(config: CapacityConfig) -> Result<Self> {
        if config.batch == 0 || config.max_concurrent == 0 {
            return Err(TrainError::Invalid(
                "staleness: batch and max_concurrent are at least 1".to_owned(),
            ));
        }
        Ok(Self { config, updates: 0, accepted: 0, running: 0 })
    }

    /// Number of trajectories that may start now: the lesser of `max_concurrent` - running and (η +
    /// i + 1) B - (accepted + running).
    pub fn room(&self) -> u64 {
        let concurrent = self.config.max_concurrent.saturating_sub(self.running);
        let batches = self.config.max_staleness.saturating_add(self.updates);
        let allowed = batches.saturating_add(1).saturating_mul(self.config.batch);
        let fresh = allowed.saturating_sub(self.accepted + self.running);
        concurrent.min(fresh)
    }

    /// Starts `count` trajectories.
    ///
    /// # Errors
    /// More than may start; nothing is counted.
    pub fn begin(&mut self, count: u64) -> Result<()> {
        if count > self.room() {
            return Err(TrainError::Engine(format!(
                "{count} trajectories were to begin where {} may",
                self.room()
            )));
        }
        self.running += count;
        Ok(())
    }

    /// Ends a trajectory that will be trained on.
    ///
    /// # Errors
    /// None is running.
    pub fn accept(&mut self) -> Result<()> {
        self.reject()?;
        self.accepted += 1;
        Ok(())
    }

    /// Ends a trajectory that will not be trained on.
    ///
    /// # Errors
    /// None is running.
    pub fn reject(&mut self) -> Result<()> {
        self.running = self.running.checked_sub(1).ok_or_else(|| {
            TrainError::Engine("a trajectory ended that had not begun".to_owned())
        })?;
        Ok(())
    }

    /// Records a weight update.
    pub fn update(&mut self) {
        self.updates += 1;
    }

    /// Weight updates so far: the version i.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Whether a trajectory whose first token was sampled at `version` is too old to be trained on
    /// now. Counting prevents this while trajectories are used in the order in which they started;
    /// a long one that others overtake can still become stale.
    pub fn is_stale(&self, version: u64) -> bool {
        self.updates.saturating_sub(version) > self.config.max_staleness
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capacity(batch: u64, max_staleness: u64, max_concurrent: u64) -> Capacity {
        Capacity::new(CapacityConfig { batch, max_staleness, max_concurrent }).expect("valid")
    }

    #[test]
    fn i1_room_by_hand() {
        let check = |max_staleness, (updates, accepted, running), expected: u64| {
            let config = CapacityConfig { batch: 8, max_staleness, max_concurrent: 16 };
            let capacity =
                Capacity { updates, accepted, running, ..Capacity::new(config).expect("valid") };
            assert_eq!(capacity.room(), expected);
        };
        check(2, (3, 30, 6), 10);
        check(0, (0, 0, 8), 0);
    }

    #[test]
    fn c10_areal_capacity() {
        let mut synchronous = capacity(4, 0, 100);
        assert_eq!(synchronous.room(), 4);
        synchronous.begin(4).expect("room");
        assert_eq!(synchronous.room(), 0);
        for _ in 0..4 {
            synchronous.accept().expect("running");
        }
        assert_eq!(synchronous.room(), 0, "the batch is full and not yet used");
        synchronous.update();
        assert_eq!(synchronous.room(), 4);

        let mut ahead = capacity(4, 2, 5);
        assert_eq!(ahead.room(), 5, "as many as may run at a time");
        ahead.begin(5).expect("room");
        assert_eq!(ahead.room(), 0);
        ahead.accept().expect("running");
        ahead.reject().expect("running");
        assert_eq!(ahead.room(), 2);
        for _ in 0..3 {
            ahead.accept().expect("running");
        }
        ahead.begin(5).expect("room");
        // (2 + 0 + 1) · 4 - (4 + 5) = 3, but five are running.
        assert_eq!(ahead.room(), 0);
        for _ in 0..5 {
            ahead.accept().expect("running");
        }
        assert_eq!(ahead.room(), 3);
        ahead.update();
        assert_eq!(ahead.room(), 5);
        let text = serde_json::to_string(&ahead).expect("serialises");
        assert_eq!(serde_json::from_str::<Capacity>(&text).expect("reads"), ahead);
    }

    #[test]
    fn invalid_counts_are_refused() {
        let mut capacity = capacity(2, 0, 2);
        assert!(capacity.accept().is_err() && capacity.reject().is_err());
        assert!(capacity.begin(3).is_err());
        capacity.begin(2).expect("nothing was counted before");
        for (batch, max_concurrent) in [(0, 1), (1, 0)] {
            let config = CapacityConfig { batch, max_staleness: 0, max_concurrent };
            assert!(Capacity::new(config).is_err());
        }
        let most = CapacityConfig { batch: u64::MAX, max_staleness: u64::MAX, max_concurrent: 3 };
        assert_eq!(Capacity::new(most).expect("valid").room(), 3);
    }

    #[test]
    fn old_trajectories_are_stale() {
        let mut capacity = capacity(1, 2, 9);
        for _ in 0..5 {
            capacity.update();
        }
        assert_eq!(capacity.updates(), 5);
        assert!(!capacity.is_stale(3) && !capacity.is_stale(5) && !capacity.is_stale(6));
        assert!(capacity.is_stale(2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The capacity equals the paper's inequality, and batches used in order are never stale.
        #[test]
        fn c10_count_equals_the_inequality(batch in 1_u64..5, eta in 0_u64..4, moves in prop::collection::vec(0_u8..4, 0..120)) {
            let mut capacity = capacity(batch, eta, 7);
            let (mut running, mut ready) = (0_u64, std::collections::VecDeque::new());
            for choice in moves {
                let requested = capacity.accepted + capacity.running + 1;
                let inequality = (requested - 1) / batch <= capacity.updates + eta;
                prop_assert_eq!(capacity.room() > 0, inequality && running < 7);
                match choice {
                    0 | 1 if capacity.room() > 0 => {
                        capacity.begin(1).expect("room");
                        running += 1;
                        ready.push_back(capacity.updates());
                    }
                    2 if running > 0 => {
                        capacity.accept().expect("running");
                        running -= 1;
                    }
                    3 if capacity.accepted >= (capacity.updates() + 1) * batch => {
                        for version in ready.drain(..usize::try_from(batch).expect("small")) {
                            prop_assert!(!capacity.is_stale(version));
                        }
                        capacity.update();
                    }
                    _ => {}
                }
            }
        }
    }
}
