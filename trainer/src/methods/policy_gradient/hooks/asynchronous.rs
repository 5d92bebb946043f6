//! Sampling for later steps beside the update of the present one (`[method.asynchronous]`; `AReaL`,
//! arXiv 2505.24298).
//!
//! The schedule is one of step numbers, not of time. With a `max_staleness` of `s` the batch of step
//! `k` begins in step `k - s`, by the weights that this step begins with, and is complete when step
//! `k` begins. In each of the `s` steps its responses may grow by an `s`-th of `max_tokens`; a longer
//! one is interrupted there and continues in the next step by the weights of then. Batches that would
//! begin before the first step are begun by the first weights. An update waits for the sampling of its
//! step. So the weights that sample a token do not depend on how long anything takes, and sampling
//! beside the gradients gives the bits of sampling before them.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::thread::JoinHandle;
use std::time::Instant;

use super::super::config::AsynchronousSection;
use super::super::group_source::{GroupSource, Round};
use super::super::prompts::Prompts;
use super::super::responder::Responder;
use super::super::rollouts::{Phase, SampledGroup};
use super::super::state::{PolicyGradientState, StoredGroup};
use crate::error::{Result, TrainError};
use crate::item::TrainingItem;
use crate::methods::context::StepContext;
use crate::metrics::Metrics;
use crate::rollout::{RolloutParams, SampleRequest, SampledResponse};

/// Responses to sample, with their items.
type Requests = Vec<(SampleRequest, TrainingItem)>;

/// The groups that a step trains on.
#[derive(Debug)]
struct StepBatch {
    step: u64,
    groups: Vec<SampledGroup>,
}

/// The batches of the next steps.
#[derive(Debug)]
pub(in super::super) struct Asynchronous {
    section: AsynchronousSection,
    /// At most `max_staleness`, in the order of their steps.
    held: VecDeque<StepBatch>,
    /// Samples the responses of `held` that are not complete.
    running: Option<JoinHandle<Result<Vec<SampledResponse>>>>,
}

impl Asynchronous {
    /// `section` has a `max_staleness` above 0.
    pub(in super::super) fn new(section: AsynchronousSection) -> Asynchronous {
        Asynchronous { section, held: VecDeque::new(), running: None }
    }

    /// Draws the prompts of the batches that begin until a step.
    fn draw(&mut self, round: &Round<'_>, prompts: &mut Prompts, during: u64) -> Result<()> {
        let begun = SampledResponse { interrupted: true, ..SampledResponse::default() };
        let next = self.held.back().map_or(during + 1, |last| last.step + 1);
        for step in next..=during + self.section.max_staleness {
            let items = prompts.draw(round.want, round.context())?.into_iter();
            let groups = items.map(|item| (item, vec![begun.clone(); round.group()]));
            self.held.push_back(StepBatch { step, groups: groups.collect() });
        }
        Ok(())
    }

    /// Requests what is sampled in a step, each with its item. A response has the random draws of its
    /// batch's step, and so those of a synchronous run.
    fn requests(&self, round: &Round<'_>, during: u64) -> Result<Requests> {
        let (sampler, staleness) = (&round.rollouts.sampler, self.section.max_staleness);
        let mut requests = Vec::new();
        for batch in &self.held {
            let own = StepContext { step: batch.step, ..*round.step };
            let seed = round.rollouts.params(&own, Phase::Policy(0)).seed;
            let share = during + 1 + staleness - batch.step;
            let most = (round.params.max_tokens as u64 * share).div_ceil(staleness);
            let most = usize::try_from(most).expect("at most `max_tokens`");
            for (group, (item, responses)) in batch.groups.iter().enumerate() {
                let prompt = sampler.prompt(item)?;
                let unfinished = responses.iter().enumerate().filter(|(_, own)| own.interrupted);
                requests.extend(unfinished.map(|(at, response)| {
                    let stream = (group * round.group() + at) as u64;
                    let request = SampleRequest {
                        seed: Some(seed),
                        partial: response.tokens.clone(),
                        observations: response.observations.clone(),
                        most: Some(most),
                        ..SampleRequest::new(prompt.clone(), round.adapter(), stream)
                    };
                    (request, item.clone())
                }));
            }
        }
        Ok(requests)
    }

    /// Stores what [`Asynchronous::requests`] requested.
    fn store(&mut self, samples: Vec<SampledResponse>) {
        let groups = self.held.iter_mut().flat_map(|batch| &mut batch.groups);
        let responses = groups.flat_map(|(_, responses)| responses);
        for (response, sample) in responses.filter(|own| own.interrupted).zip(samples) {
            *response = sample;
        }
    }

    /// Samples for later steps, beside what follows if the run has it so.
    fn begin(&mut self, round: &Round<'_>) -> Result<()> {
        let requests = self.requests(round, round.step.step)?;
        let (responder, params) = (&round.rollouts.responder, round.params);
        if !self.section.overlap {
            self.store(sample(responder, requests, params)?);
            return Ok(());
        }
        let responder = responder.clone();
        let beside = move || sample(&responder, requests, params);
        let thread = std::thread::Builder::new().name("rollouts".to_owned()).spawn(beside);
        let refused = |error| TrainError::Engine(format!("no thread for rollouts: {error}"));
        self.running = Some(thread.map_err(refused)?);
        Ok(())
    }
}

fn sample(
    responder: &Responder,
    requests: Requests,
    params: RolloutParams,
) -> Result<Vec<SampledResponse>> {
    let (requests, items): (Vec<SampleRequest>, Vec<TrainingItem>) = requests.into_iter().unzip();
    responder.respond(requests.into_iter().zip(&items).collect(), params)
}

impl GroupSource for Asynchronous {
    fn sample(
        &mut self,
        round: &Round<'_>,
        prompts: &mut Prompts,
        metrics: &mut Metrics,
    ) -> Result<Vec<SampledGroup>> {
        let step = round.step.step;
        if self.held.front().is_none_or(|batch| batch.step != step) {
            self.held.clear();
            self.draw(round, prompts, step - 1)?;
            let requests = self.requests(round, step - 1)?;
            self.store(sample(&round.rollouts.responder, requests, round.params)?);
        }
        let batch = self.held.pop_front().expect("a batch for every step");
        self.draw(round, prompts, step)?;
        self.begin(round)?;
        metrics.set("asynchronous/waiting", self.held.len() as f64);
        Ok(batch.groups)
    }

    fn before_update(&mut self) -> Result<f64> {
        let Some(running) = self.running.take() else {
            return Ok(0.0);
        };
        let begin = Instant::now();
        let samples = running.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        self.store(samples);
        Ok(begin.elapsed().as_secs_f64())
    }

    fn save(&self, state: &mut PolicyGradientState, revision: u64) {
        let groups = self.held.iter().flat_map(|batch| {
            batch.groups.iter().map(move |(item, responses)| {
                StoredGroup::new(batch.step, item, responses, revision)
            })
        });
        state.sampled_ahead = groups.collect();
    }

    fn restore(&mut self, state: &PolicyGradientState, revision: u64) {
        // A step that failed is sampled for again.
        drop(self.running.take().map(JoinHandle::join));
        self.held.clear();
        for stored in &state.sampled_ahead {
            let group = (stored.item.clone(), stored.responses(revision));
            match self.held.back_mut().filter(|batch| batch.step == stored.id) {
                Some(batch) => batch.groups.push(group),
                None => self.held.push_back(StepBatch { step: stored.id, groups: vec![group] }),
            }
        }
        // More are there if the run had a larger staleness before.
        self.held.truncate(usize::try_from(self.section.max_staleness).unwrap_or(usize::MAX));
    }
}
