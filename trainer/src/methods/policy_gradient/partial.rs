//! Partial rollouts (APRIL, arXiv 2509.18521): more groups are begun than a step needs, and those that
//! are not whole when there are enough go on from their tokens in a later step, before new ones.
//!
//! Which answers are faster is a matter of threads, and a run has to be repeatable. So a group is
//! said to be whole after as many tokens of the round as its longest answer took, the round ends with
//! the group that makes it enough, and every other answer is cut at that many tokens. What the engine
//! sampled beyond is thrown away, and what it had not sampled yet when it was stopped is sampled.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::choose::Problems;
use crate::error::Result;
use crate::item::{Item, Token};
use crate::rollout::{Actor, How, Order, Sample};
use crate::staleness::{Capacity, CapacityConfig, Partials, PartialsConfig};

/// `[method.partial]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PartialSection {
    /// How many are launched, and how often one may be cut.
    pub options: PartialsConfig,
    /// Revisions of the weights that a token may be old, η of `AReaL` (arXiv 2505.24298). Older ones
    /// are left out of the loss and counted, and no more groups are begun than can be trained on in
    /// time. Without it tokens may have any age.
    pub max_staleness: Option<u64>,
}

/// A group on its way.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) item: Item,
    answers: Vec<Sample>,
}

/// All groups on their way.
#[derive(Debug)]
pub(super) struct Ahead {
    partials: Partials,
    capacity: Option<Capacity>,
    held: BTreeMap<u64, Held>,
    next: u64,
}

/// What a checkpoint holds of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AheadState {
    partials: Partials,
    capacity: Option<Capacity>,
    held: Vec<Stored>,
    next: u64,
}

/// A group in a file; of an answer its tokens, whether it ended and whether it was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    id: u64,
    item: Item,
    answers: Vec<(Vec<StoredToken>, bool, bool)>,
}

/// A token, the bits of its log-probability, and how many revisions old it is.
type StoredToken = (u32, u32, u64);

/// Of which launched group, and which of its answers, each order is.
type Places = Vec<(usize, usize)>;

/// What a round is to sample.
pub(super) struct Round<'a> {
    pub(super) want: usize,
    /// Answers to each problem.
    pub(super) group: usize,
    pub(super) adapter: Option<Arc<str>>,
    pub(super) how: How,
    pub(super) actor: &'a Actor,
}

impl Ahead {
    /// With nothing begun, for batches of `batch` groups.
    pub(super) fn new(config: PartialSection, batch: usize) -> Result<Ahead> {
        let capacity = |max_staleness| {
            Capacity::new(CapacityConfig {
                batch: batch as u64,
                max_staleness,
                max_concurrent: u64::MAX,
            })
        };
        Ok(Ahead {
            partials: Partials::new(config.options)?,
            capacity: config.max_staleness.map(capacity).transpose()?,
            held: BTreeMap::new(),
            next: 0,
        })
    }

    /// Groups with all of their answers, at most as many as are wanted.
    pub(super) fn round(
        &mut self,
        round: &Round<'_>,
        problems: &mut Problems,
    ) -> Result<Vec<(Item, Vec<Sample>)>> {
        let ids = self.launch(round, problems)?;
        let (orders, places) = self.orders(round, &ids)?;
        let ready = self.ready();
        let samples = sample(round, &orders, &places, round.want.saturating_sub(ready))?;
        for (sample, (at, answer)) in samples.into_iter().zip(&places) {
            let held = self.held.get_mut(&ids[*at]).expect("it was launched");
            held.answers[*answer] = sample;
        }
        for id in &ids {
            let whole = |held: &Held| !held.answers.iter().any(|answer| answer.interrupted);
            if self.held.get(id).is_some_and(whole) {
                self.partials.finish(*id)?;
            }
        }
        let (_, given_up) = self.partials.cut();
        for id in given_up {
            self.held.remove(&id);
            if let Some(capacity) = &mut self.capacity {
                capacity.reject()?;
            }
        }
        let taken = self.partials.take(round.want).into_iter();
        Ok(taken
            .map(|id| {
                let held = self.held.remove(&id).expect("it finished");
                (held.item, held.answers)
            })
            .collect())
    }

    /// Groups that finished in an earlier round and were not needed then.
    fn ready(&self) -> usize {
        let unfinished = self.partials.running().count() + self.partials.waiting().count();
        self.held.len() - unfinished
    }

    fn launch(&mut self, round: &Round<'_>, problems: &mut Problems) -> Result<Vec<u64>> {
        let (held, capacity, next) = (&mut self.held, &mut self.capacity, &mut self.next);
        let mut failed = Ok(());
        let fresh = || {
            if let Some(capacity) = capacity {
                if capacity.room() == 0 {
                    return None;
                }
                capacity.begin(1).ok()?;
            }
            let item = match problems.draw(1) {
                Ok(mut drawn) => drawn.pop()?,
                Err(error) => {
                    failed = Err(error);
                    return None;
                }
            };
            let begun = Sample { tokens: Vec::new(), ended: false, interrupted: true };
            let answers = vec![begun; round.group];
            let id = *next;
            *next += 1;
            held.insert(id, Held { item, answers });
            Some(id)
        };
        let launched = self.partials.launch(round.want, fresh)?;
        failed?;
        Ok(launched.into_iter().map(|launch| launch.id).collect())
    }

    /// What is left to sample.
    fn orders(&self, round: &Round<'_>, ids: &[u64]) -> Result<(Vec<Order>, Places)> {
        let (mut orders, mut places) = (Vec::new(), Vec::new());
        for (at, id) in ids.iter().enumerate() {
            let held = &self.held[id];
            let prompt = round.actor.prompt(&held.item)?;
            for (answer, begun) in held.answers.iter().enumerate() {
                if begun.interrupted {
                    orders.push(Order {
                        prompt: prompt.clone(),
                        adapter: round.adapter.clone(),
                        stream: id * round.group as u64 + answer as u64,
                        partial: begun.tokens.clone(),
                        most: None,
                    });
                    places.push((at, answer));
                }
            }
        }
        Ok((orders, places))
    }

    /// Says whether a group that was taken is trained on.
    pub(super) fn judged(&mut self, trained: bool) -> Result<()> {
        match &mut self.capacity {
            Some(capacity) if trained => capacity.accept(),
            Some(capacity) => capacity.reject(),
            None => Ok(()),
        }
    }

    /// A step of the optimiser was taken.
    pub(super) fn updated(&mut self) {
        if let Some(capacity) = &mut self.capacity {
            capacity.update();
        }
    }

    /// Groups that wait, begun or whole.
    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    pub(super) fn state(&self, revision: u64) -> AheadState {
        let token = |token: &Token| {
            let age = revision.wrapping_sub(token.revision);
            (token.id, token.logprob.to_bits(), age)
        };
        let answer = |sample: &Sample| {
            let tokens = sample.tokens.iter().map(token).collect();
            (tokens, sample.ended, sample.interrupted)
        };
        let stored = |(id, held): (&u64, &Held)| Stored {
            id: *id,
            item: held.item.clone(),
            answers: held.answers.iter().map(answer).collect(),
        };
        AheadState {
            partials: self.partials.clone(),
            capacity: self.capacity,
            held: self.held.iter().map(stored).collect(),
            next: self.next,
        }
    }

    /// Revisions are counted from the start of a process, so that ages are what outlives it.
    pub(super) fn restore(&mut self, state: AheadState, revision: u64) {
        let token = |(id, bits, age): StoredToken| Token {
            id,
            logprob: f32::from_bits(bits),
            revision: revision.wrapping_sub(age),
        };
        let held = state.held.into_iter().map(|stored| {
            let answers = stored.answers.into_iter();
            let answers = answers.map(|(tokens, ended, interrupted)| Sample {
                tokens: tokens.into_iter().map(token).collect(),
                ended,
                interrupted,
            });
            let held = Held { item: stored.item, answers: answers.collect() };
            (stored.id, held)
        });
        self.held = held.collect();
        self.partials = state.partials;
        self.capacity = state.capacity;
        self.next = state.next;
    }
}

/// Samples until `need` groups are whole, and cuts the others as the module says.
fn sample(
    round: &Round<'_>,
    orders: &[Order],
    places: &[(usize, usize)],
    need: usize,
) -> Result<Vec<Sample>> {
    let groups: Vec<usize> = places.iter().map(|(at, _)| *at).collect();
    let mut samples = round.actor.sample_until(orders, round.how, &groups, need)?;
    // Of some that were interrupted the end had come already, and was not announced yet.
    for sample in &mut samples {
        let stops = round.actor.encoder().stops();
        let stopped = sample.tokens.last().is_some_and(|last| stops.contains(&last.id));
        sample.ended |= stopped;
        sample.interrupted &= !stopped && sample.tokens.len() < round.how.max_tokens;
    }
    let Some(end) = end(orders, &samples, &groups, need) else {
        return Ok(samples);
    };
    let mut behind: Vec<(usize, Order)> = Vec::new();
    for (at, (order, sample)) in orders.iter().zip(&samples).enumerate() {
        let most = order.partial.len() + end;
        if sample.interrupted && sample.tokens.len() < most {
            let partial = sample.tokens.clone();
            behind.push((
                at,
                Order { partial, most: Some(most.min(round.how.max_tokens)), ..order.clone() },
            ));
        }
    }
    let rest: Vec<Order> = behind.iter().map(|(_, order)| order.clone()).collect();
    for (sample, (at, _)) in round.actor.sample(&rest, round.how)?.into_iter().zip(behind) {
        samples[at] = sample;
    }
    // What was behind may have made it enough earlier.
    let end = self::end(orders, &samples, &groups, need).unwrap_or(end);
    for (sample, order) in samples.iter_mut().zip(orders) {
        let most = order.partial.len() + end;
        if sample.tokens.len() > most {
            sample.tokens.truncate(most);
            sample.ended = false;
            sample.interrupted = true;
        }
    }
    Ok(samples)
}

/// The tokens after which `need` groups are whole; none where there are not as many.
fn end(orders: &[Order], samples: &[Sample], groups: &[usize], need: usize) -> Option<usize> {
    let n = groups.iter().max().map_or(0, |most| most + 1);
    let mut whole: Vec<Option<usize>> = vec![Some(0); n];
    for ((order, sample), group) in orders.iter().zip(samples).zip(groups) {
        let took = sample.tokens.len() - order.partial.len();
        let so_far = whole[*group].filter(|_| !sample.interrupted);
        whole[*group] = so_far.map(|longest| longest.max(took));
    }
    let mut whole: Vec<usize> = whole.into_iter().flatten().collect();
    whole.sort_unstable();
    need.checked_sub(1).map_or(Some(0), |last| whole.get(last).copied())
}
