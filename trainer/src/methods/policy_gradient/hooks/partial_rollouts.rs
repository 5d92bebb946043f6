//! Partial rollouts (`[method.partial]`; APRIL, arXiv 2509.18521): more groups are started than a
//! step needs; those that are not complete when there are enough continue in a later step, before
//! new ones.
//!
//! Which rollouts finish first depends on threads, but a run has to be repeatable. So the round is
//! decided by token counts. A group completes at the count of tokens that its longest rollout takes
//! in the round. The round ends at the count at which enough groups are complete. Every other
//! rollout is cut at that count: tokens sampled beyond it are discarded, and missing ones are
//! sampled.

use std::collections::BTreeMap;

use super::super::config::PartialSection;
use super::super::group_source::{GroupSource, Round};
use super::super::prompts::Prompts;
use super::super::rollouts::SampledGroup;
use super::super::state::{PartialRolloutsState, PolicyGradientState, StoredGroup};
use crate::error::Result;
use crate::item::TrainingItem;
use crate::metrics::Metrics;
use crate::rollout::{SampleRequest, SampledResponse};
use crate::staleness::{Capacity, CapacityConfig, Partials};

/// A group that was started.
#[derive(Clone, Debug)]
struct HeldGroup {
    item: TrainingItem,
    responses: Vec<SampledResponse>,
}

/// Groups that were started and not yet used.
#[derive(Debug)]
pub(in super::super) struct PartialRollouts {
    partials: Partials,
    capacity: Option<Capacity>,
    held: BTreeMap<u64, HeldGroup>,
    next: u64,
}

/// The launched group and the index of the response in it, for each request.
type Origins = Vec<(usize, usize)>;

impl PartialRollouts {
    /// `batch` is the number of groups that a step trains on.
    ///
    /// # Errors
    /// Invalid options.
    pub(in super::super) fn new(config: PartialSection, batch: usize) -> Result<PartialRollouts> {
        let capacity = |max_staleness| {
            Capacity::new(CapacityConfig {
                batch: batch as u64,
                max_staleness,
                max_concurrent: u64::MAX,
            })
        };
        Ok(PartialRollouts {
            partials: Partials::new(config.options)?,
            capacity: config.max_staleness.map(capacity).transpose()?,
            held: BTreeMap::new(),
            next: 0,
        })
    }

    /// Samples until at most `round.want` groups are complete, and takes them.
    fn round(&mut self, round: &Round<'_>, prompts: &mut Prompts) -> Result<Vec<SampledGroup>> {
        let ids = self.launch(round, prompts)?;
        let (requests, origins) = self.requests(round, &ids)?;
        let ready = self.ready();
        let samples = sample(round, &requests, &origins, round.want.saturating_sub(ready))?;
        for (sample, (at, response)) in samples.into_iter().zip(&origins) {
            let held = self.held.get_mut(&ids[*at]).expect("it was launched");
            held.responses[*response] = sample;
        }
        for id in &ids {
            let complete =
                |held: &HeldGroup| !held.responses.iter().any(|response| response.interrupted);
            if self.held.get(id).is_some_and(complete) {
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
                (held.item, held.responses)
            })
            .collect())
    }

    /// Groups that finished in an earlier round and were not needed then.
    fn ready(&self) -> usize {
        let unfinished = self.partials.running().count() + self.partials.waiting().count();
        self.held.len() - unfinished
    }

    fn launch(&mut self, round: &Round<'_>, prompts: &mut Prompts) -> Result<Vec<u64>> {
        let (held, capacity, next) = (&mut self.held, &mut self.capacity, &mut self.next);
        let mut failed = Ok(());
        let begin = || {
            if let Some(capacity) = capacity {
                if capacity.room() == 0 {
                    return None;
                }
                capacity.begin(1).ok()?;
            }
            let item = match prompts.draw(1, round.context()) {
                Ok(mut drawn) => drawn.pop()?,
                Err(error) => {
                    failed = Err(error);
                    return None;
                }
            };
            let begun = SampledResponse { interrupted: true, ..SampledResponse::default() };
            let responses = vec![begun; round.group()];
            let id = *next;
            *next += 1;
            held.insert(id, HeldGroup { item, responses });
            Some(id)
        };
        let launched = self.partials.launch(round.want, begin)?;
        failed?;
        Ok(launched.into_iter().map(|launch| launch.id).collect())
    }

    /// Requests for the responses that are not complete.
    fn requests(&self, round: &Round<'_>, ids: &[u64]) -> Result<(Vec<SampleRequest>, Origins)> {
        let (mut requests, mut origins) = (Vec::new(), Vec::new());
        for (group, id) in ids.iter().enumerate() {
            let held = &self.held[id];
            let prompt = round.rollouts.sampler.prompt(&held.item)?;
            for (response, begun) in held.responses.iter().enumerate() {
                if begun.interrupted {
                    let stream = id * round.group() as u64 + response as u64;
                    requests.push(SampleRequest {
                        partial: begun.tokens.clone(),
                        ..SampleRequest::new(prompt.clone(), round.adapter(), stream)
                    });
                    origins.push((group, response));
                }
            }
        }
        Ok((requests, origins))
    }
}

impl GroupSource for PartialRollouts {
    fn sample(
        &mut self,
        round: &Round<'_>,
        prompts: &mut Prompts,
        metrics: &mut Metrics,
    ) -> Result<Vec<SampledGroup>> {
        let groups = self.round(round, prompts)?;
        metrics.set("partial/waiting", self.held.len() as f64);
        Ok(groups)
    }

    fn after_scoring(&mut self, trained: usize, all: usize) -> Result<()> {
        let Some(capacity) = &mut self.capacity else {
            return Ok(());
        };
        for group in 0..all {
            if group < trained { capacity.accept()? } else { capacity.reject()? }
        }
        Ok(())
    }

    fn after_update(&mut self) {
        if let Some(capacity) = &mut self.capacity {
            capacity.update();
        }
    }

    fn save(&self, state: &mut PolicyGradientState, revision: u64) {
        let stored = |(id, held): (&u64, &HeldGroup)| {
            StoredGroup::new(*id, &held.item, &held.responses, revision)
        };
        state.partial_rollouts = Some(PartialRolloutsState {
            partials: self.partials.clone(),
            capacity: self.capacity,
            held: self.held.iter().map(stored).collect(),
            next: self.next,
        });
    }

    fn restore(&mut self, state: &PolicyGradientState, revision: u64) {
        let Some(state) = &state.partial_rollouts else {
            return;
        };
        let held = |stored: &StoredGroup| {
            let responses = stored.responses(revision);
            (stored.id, HeldGroup { item: stored.item.clone(), responses })
        };
        self.held = state.held.iter().map(held).collect();
        self.partials = state.partials.clone();
        self.capacity = state.capacity;
        self.next = state.next;
    }
}

/// Samples until `need` groups are complete, and cuts the others at a repeatable length.
fn sample(
    round: &Round<'_>,
    requests: &[SampleRequest],
    origins: &[(usize, usize)],
    need: usize,
) -> Result<Vec<SampledResponse>> {
    let groups: Vec<usize> = origins.iter().map(|(at, _)| *at).collect();
    let mut samples = round.rollouts.sampler.sample_until(requests, round.params, &groups, need)?;
    // Some interrupted responses had already ended, but the event had not arrived.
    for sample in &mut samples {
        let stops = round.rollouts.sampler.encoder().stops();
        let stopped = sample.tokens.last().is_some_and(|last| stops.contains(&last.id));
        sample.ended |= stopped;
        sample.interrupted &= !stopped && sample.tokens.len() < round.params.max_tokens;
    }
    let Some(end) = end(requests, &samples, &groups, need) else {
        return Ok(samples);
    };
    let mut unfinished: Vec<(usize, SampleRequest)> = Vec::new();
    for (at, (request, sample)) in requests.iter().zip(&samples).enumerate() {
        let most = request.partial.len() + end;
        if sample.interrupted && sample.tokens.len() < most {
            let partial = sample.tokens.clone();
            unfinished.push((
                at,
                SampleRequest {
                    partial,
                    most: Some(most.min(round.params.max_tokens)),
                    ..request.clone()
                },
            ));
        }
    }
    let rest: Vec<SampleRequest> = unfinished.iter().map(|(_, request)| request.clone()).collect();
    for (sample, (at, _)) in
        round.rollouts.sampler.sample(&rest, round.params)?.into_iter().zip(unfinished)
    {
        samples[at] = sample;
    }
    // The groups completed just now may lower the end.
    let end = self::end(requests, &samples, &groups, need).unwrap_or(end);
    for (sample, request) in samples.iter_mut().zip(requests) {
        let most = request.partial.len() + end;
        if sample.tokens.len() > most {
            sample.tokens.truncate(most);
            sample.ended = false;
            sample.interrupted = true;
        }
    }
    Ok(samples)
}

/// Number of tokens after which `need` groups are complete; `None` if there are fewer.
fn end(
    requests: &[SampleRequest],
    samples: &[SampledResponse],
    groups: &[usize],
    need: usize,
) -> Option<usize> {
    let n = groups.iter().max().map_or(0, |most| most + 1);
    let mut complete: Vec<Option<usize>> = vec![Some(0); n];
    for ((request, sample), group) in requests.iter().zip(samples).zip(groups) {
        let took = sample.tokens.len() - request.partial.len();
        let so_far = complete[*group].filter(|_| !sample.interrupted);
        complete[*group] = so_far.map(|longest| longest.max(took));
    }
    let mut complete: Vec<usize> = complete.into_iter().flatten().collect();
    complete.sort_unstable();
    need.checked_sub(1).map_or(Some(0), |last| complete.get(last).copied())
}
