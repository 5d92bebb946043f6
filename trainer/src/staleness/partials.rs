//! Partial rollouts: more answers are started than needed, and interrupted ones continue first in
//! the next round.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};

/// The options of partial rollouts (APRIL, arXiv 2509.18521, the id is unconfirmed).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PartialsConfig {
    /// Ratio of launched to needed answers: 2, about the authors' value; 1 launches no more than
    /// needed.
    pub over: f64,
    /// Maximum interruptions of an answer, which is then dropped. Ours, and unlimited by default,
    /// as in the authors' code.
    pub max_resumes: Option<u32>,
}

impl Default for PartialsConfig {
    fn default() -> Self {
        Self { over: 2.0, max_resumes: None }
    }
}

/// An answer to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its id.
    pub id: u64,
    /// Number of earlier interruptions: it continues from its tokens, unless this is 0.
    pub resumed: u32,
}

/// Ids by state. A round launches ids until enough have finished, and interrupts the rest; ids that
/// finished beyond need count for the next round. Serialisable between rounds and within one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partials {
    config: PartialsConfig,
    /// Interrupted ids with their number of interruptions: those of earlier rounds first, within a
    /// round by id.
    waiting: VecDeque<(u64, u32)>,
    /// Running ids with their number of interruptions.
    running: BTreeMap<u64, u32>,
    /// Finished ids that were not yet taken, in order of finishing.
    finished: VecDeque<u64>,
}

impl Partials {
    /// Starts without ids.
    ///
    /// # Errors
    /// A factor below 1 or not finite.
    pub fn new(config: PartialsConfig) -> Result<Self> {
        if !(1.0..=1e6).contains(&config.over) {
            return Err(TrainError::Invalid(format!(
                "partials: over is at least 1, not {}",
                config.over
            )));
        }
        Ok(Self {
            config,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            finished: VecDeque::new(),
        })
    }

    /// Starts a round of `want`: interrupted ids first, then new ones from `begin`, which returns
    /// an unused id, or `None` if there are no more. Ids that finished in the last round count.
    ///
    /// # Errors
    /// A round is running, or `begin` returned a known id.
    pub fn launch(
        &mut self,
        want: usize,
        mut begin: impl FnMut() -> Option<u64>,
    ) -> Result<Vec<Launch>> {
        if !self.running.is_empty() {
            return Err(TrainError::Engine(
                "a round of rollouts began while another one runs".to_owned(),
            ));
        }
        let missing = want.saturating_sub(self.finished.len());
        let mut launched: Vec<Launch> = Vec::new();
        for _ in 0..self.launches(missing) {
            let next = match self.waiting.pop_front() {
                Some((id, resumed)) => Launch { id, resumed },
                None => match begin() {
                    Some(id) => Launch { id, resumed: 0 },
                    None => break,
                },
            };
            let known = self.finished.contains(&next.id)
                || self.waiting.iter().any(|(id, _)| *id == next.id);
            if known || self.running.insert(next.id, next.resumed).is_some() {
                return Err(TrainError::Engine(format!(
                    "the rollout {} was to begin twice",
                    next.id
                )));
            }
            launched.push(next);
        }
        Ok(launched)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the factor is between 1 and a million, and a count above it saturates"
    )]
    fn launches(&self, missing: usize) -> usize {
        (missing as f64 * self.config.over).ceil() as usize
    }

    /// Finishes an id.
    ///
    /// # Errors
    /// It was not running.
    pub fn finish(&mut self, id: u64) -> Result<()> {
        self.stop(id)?;
        self.finished.push_back(id);
        Ok(())
    }

    /// Drops a failed id.
    ///
    /// # Errors
    /// It was not running.
    pub fn fail(&mut self, id: u64) -> Result<()> {
        self.stop(id).map(|_| ())
    }

    /// Whether `want` have finished.
    pub fn enough(&self, want: usize) -> bool {
        self.finished.len() >= want
    }

    /// Ends a round: interrupts everything that runs, to continue first next time. Returns the ids
    /// to abort: those whose tokens are to be kept, and those that are dropped because they were
    /// interrupted too often.
    pub fn cut(&mut self) -> (Vec<u64>, Vec<u64>) {
        let (mut kept, mut given_up) = (Vec::new(), Vec::new());
        for (id, resumed) in std::mem::take(&mut self.running) {
            if self.config.max_resumes.is_some_and(|most| resumed >= most) {
                given_up.push(id);
            } else {
                kept.push(id);
                self.waiting.push_back((id, resumed.saturating_add(1)));
            }
        }
        (kept, given_up)
    }

    /// Takes at most `want` finished ids, the earliest first.
    pub fn take(&mut self, want: usize) -> Vec<u64> {
        let count = want.min(self.finished.len());
        self.finished.drain(..count).collect()
    }

    /// Ids that run.
    pub fn running(&self) -> impl Iterator<Item = u64> {
        self.running.keys().copied()
    }

    /// Interrupted ids in the order in which they continue.
    pub fn waiting(&self) -> impl Iterator<Item = u64> {
        self.waiting.iter().map(|(id, _)| *id)
    }

    fn stop(&mut self, id: u64) -> Result<u32> {
        self.running.remove(&id).ok_or_else(|| {
            TrainError::Engine(format!("the rollout {id} ended and was not running"))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(launched: &[Launch]) -> Vec<(u64, u32)> {
        launched.iter().map(|launch| (launch.id, launch.resumed)).collect()
    }

    fn partials(over: f64, max_resumes: Option<u32>) -> Partials {
        Partials::new(PartialsConfig { over, max_resumes }).expect("valid")
    }

    #[test]
    fn c12_april_rounds() {
        let mut next = 0..;
        let mut fresh = || next.next();
        let mut partials = partials(2.0, None);
        let launched = partials.launch(3, &mut fresh).expect("a round");
        assert_eq!(ids(&launched), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]);
        for id in [4, 1] {
            partials.finish(id).expect("running");
        }
        assert!(!partials.enough(3));
        partials.finish(0).expect("running");
        assert!(partials.enough(3));
        partials.finish(5).expect("it was faster than the abort");
        assert_eq!(partials.cut(), (vec![2, 3], vec![]));
        assert_eq!(partials.take(3), [4, 1, 0]);
        // One has finished, so twice two are launched: interrupted ones first.
        let text = serde_json::to_string(&partials).expect("serialises");
        let mut partials: Partials = serde_json::from_str(&text).expect("reads");
        let launched = partials.launch(3, &mut fresh).expect("a round");
        assert_eq!(ids(&launched), [(2, 1), (3, 1), (6, 0), (7, 0)]);
        partials.fail(6).expect("running");
        partials.finish(3).expect("running");
        partials.finish(7).expect("running");
        assert_eq!(partials.cut(), (vec![2], vec![]));
        assert_eq!(partials.take(3), [5, 3, 7]);
        assert_eq!(partials.waiting().collect::<Vec<_>>(), [2]);
        assert_eq!(partials.running().count(), 0);
    }

    #[test]
    fn rollout_interrupted_too_often_is_dropped() {
        let mut partials = partials(1.0, Some(1));
        let mut next = 0..;
        partials.launch(2, || next.next()).expect("a round");
        assert_eq!(partials.cut(), (vec![0, 1], vec![]));
        let launched = partials.launch(3, || next.next()).expect("a round");
        assert_eq!(ids(&launched), [(0, 1), (1, 1), (2, 0)]);
        assert_eq!(partials.cut(), (vec![2], vec![0, 1]));
    }

    #[test]
    fn invalid_transitions_are_refused() {
        let mut dry = partials(2.0, None);
        assert_eq!(dry.launch(3, || None).expect("nothing to launch"), []);
        let mut partials = partials(1.0, None);
        assert!(partials.finish(0).is_err() && partials.fail(0).is_err());
        partials.launch(1, || Some(0)).expect("a round");
        assert!(partials.launch(1, || Some(1)).is_err(), "a round is running");
        partials.finish(0).expect("running");
        assert!(partials.finish(0).is_err());
        assert!(partials.launch(2, || Some(0)).is_err(), "0 is known");
        for over in [0.5, f64::NAN, f64::INFINITY] {
            let config = PartialsConfig { over, max_resumes: None };
            assert!(Partials::new(config).is_err(), "{over}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn c12_every_id_has_one_state(rounds in prop::collection::vec((1_usize..5, any::<u64>()), 1..12)) {
            let mut partials = partials(2.0, None);
            let (mut next, mut begun, mut used) = (0.., 0_u64, 0_u64);
            for (want, bits) in rounds {
                let launched = partials.launch(want, || next.next()).expect("a round");
                begun += launched.iter().filter(|launch| launch.resumed == 0).count() as u64;
                let resumed = launched.iter().take_while(|launch| launch.resumed > 0).count();
                prop_assert!(launched[resumed..].iter().all(|launch| launch.resumed == 0));
                for (at, launch) in launched.iter().enumerate() {
                    if bits >> (at % 64) & 1 == 1 {
                        partials.finish(launch.id).expect("running");
                    }
                }
                partials.cut();
                used += partials.take(want).len() as u64;
                let held = partials.waiting.len() + partials.finished.len();
                prop_assert_eq!(begun, used + held as u64);
            }
        }
    }
}
