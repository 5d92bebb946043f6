//! Rollouts of several turns (`[tools]` of a run file): the policy calls tools in its text, their
//! results are inserted, and generation goes on.
//!
//! Token ids are kept as they were sampled, and results are inserted between them, so that training
//! computes the log-probabilities of sampling. A result is an [`Observation`] of its rollout and never
//! one of its tokens: no loss, divergence, entropy, advantage or length sees it.

mod format;
mod options;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rubrics::Failure;
use rubrics::toolbox::ToolResult;
use verifiers::tool_calls::Call;

pub use self::format::CallFormat;
use self::format::Turns;
pub use self::options::{AtLimit, ToolSection};
use super::reward_manager::RewardManager;
use super::sampler::{RolloutParams, SampleRequest, SampledResponse, Sampler};
use crate::error::Result;
use crate::item::{EarlyEnd, ItemRole, TrainingItem, interleaved};

/// Samples conversations with tools.
#[derive(Debug)]
pub struct ToolLoop {
    section: ToolSection,
    turns: Turns,
    times: Mutex<TurnTimes>,
}

/// Where the time of conversations goes, beside sampling.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurnTimes {
    /// In tools.
    pub tools: Duration,
    /// Between sampling and tools: reading calls, rendering results, encoding.
    pub between: Duration,
}

impl ToolLoop {
    /// Prepares the format of calls for the policy's tokenizer; `stop` are the texts that end a response
    /// beside those that end a call.
    ///
    /// # Errors
    /// A chat template that cannot continue after a result.
    pub fn new(section: ToolSection, sampler: &Sampler, stop: &[String]) -> Result<ToolLoop> {
        let turns = Turns::new(section.format, &section.toolbox, sampler.encoder(), stop)?;
        Ok(ToolLoop { section, turns, times: Mutex::default() })
    }

    /// What happens to a response that ran out of turns or tokens.
    pub fn at_limit(&self) -> AtLimit {
        self.section.at_limit
    }

    /// The times since the last call.
    pub fn take_times(&self) -> TurnTimes {
        std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add_times(&self, own: TurnTimes) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.tools += own.tools;
        times.between += own.between;
    }

    /// Samples all requests, those of the policy's items in turns: the calls of all conversations that
    /// wait are run at the same time, between two rounds of sampling. A random draw depends on the seed,
    /// the stream and the place of its token alone. A response that is interrupted at its
    /// [`SampleRequest::most`] continues within its turn, or behind the results of its calls.
    ///
    /// # Errors
    /// Requests that cannot be sampled. A tool that fails by the machine ends its response with that
    /// failure.
    pub fn sample(
        &self,
        (sampler, rewards): (&Sampler, &RewardManager),
        wanted: &[(SampleRequest, &TrainingItem)],
        params: RolloutParams,
    ) -> Result<Vec<SampledResponse>> {
        let mut all: Vec<SampledResponse> =
            wanted.iter().map(|(request, _)| request.begun()).collect();
        let mut open: Vec<usize> = (0..wanted.len()).collect();
        while !open.is_empty() {
            let mut times = TurnTimes::default();
            let begin = Instant::now();
            let next = |at: &usize| self.request(&wanted[*at], &all[*at], params);
            let requests: Vec<SampleRequest> = open.iter().map(next).collect();
            times.between += begin.elapsed();
            let sampled = sampler.sample(&requests, params)?;
            let begin = Instant::now();
            let mut calling = Vec::new();
            for (at, sampled) in open.iter().zip(sampled) {
                let (response, (request, item)) = (&mut all[*at], &wanted[*at]);
                let calls = self.take_turn(sampler, response, (sampled, item))?;
                let limit = request.limit(params);
                response.interrupted =
                    !response.ended && limit < params.max_tokens && response.tokens.len() >= limit;
                if calls.is_empty() {
                    continue;
                }
                response.ended = false;
                if response.observations.len() == self.section.max_turns {
                    response.early_end = Some(EarlyEnd::Turns);
                } else {
                    calling.push((*at, calls));
                }
            }
            let (waiting, calls): (Vec<usize>, Vec<Vec<Call>>) = calling.into_iter().unzip();
            times.between += begin.elapsed();
            open.clear();
            if !calls.is_empty() {
                let begin = Instant::now();
                let results = rewards.run_tools(&self.section.toolbox, calls, params.seed);
                times.tools += begin.elapsed();
                let begin = Instant::now();
                for (at, results) in waiting.into_iter().zip(results) {
                    let (request, response) = (&wanted[at].0, &mut all[at]);
                    if self.observe(sampler, response, (request, results), params)? {
                        open.push(at);
                    }
                }
                times.between += begin.elapsed();
            }
            self.add_times(times);
        }
        Ok(all)
    }

    /// Inserts the results of a turn's calls if anything can follow them, and returns whether
    /// the next turn is sampled now.
    fn observe(
        &self,
        sampler: &Sampler,
        response: &mut SampledResponse,
        (request, results): (&SampleRequest, std::result::Result<Vec<ToolResult>, Failure>),
        params: RolloutParams,
    ) -> Result<bool> {
        let results = match results {
            Ok(results) => results,
            Err(failure) => {
                response.early_end = Some(EarlyEnd::Tool(failure.kind));
                return Ok(false);
            }
        };
        let place = response.tokens.len();
        let own = self.turns.observation(sampler.encoder(), &results, place)?;
        let length = request.prompt.len() + response.length() + own.token_ids.len();
        if sampler.max_sequence() <= length || place >= params.max_tokens {
            return Ok(false);
        }
        response.observations.push(own);
        response.interrupted = place >= request.limit(params);
        Ok(!response.interrupted)
    }

    /// The request of a response's next turn, or of the rest of one that was interrupted.
    fn request(
        &self,
        (request, item): &(SampleRequest, &TrainingItem),
        response: &SampledResponse,
        params: RolloutParams,
    ) -> SampleRequest {
        let own = if item.role == ItemRole::Policy { self.turns.stop() } else { None };
        let begin = response.turn();
        let (before, turn) = response.tokens.split_at(begin);
        SampleRequest {
            prompt: [&request.prompt[..], &interleaved(before, &response.observations)]
                .concat()
                .into(),
            partial: turn.to_vec(),
            observations: Vec::new(),
            most: Some(request.limit(params) - begin),
            stop: own.or_else(|| request.stop.clone()),
            ..request.clone()
        }
    }

    /// Appends a turn to a response and returns its calls.
    fn take_turn(
        &self,
        sampler: &Sampler,
        response: &mut SampledResponse,
        (sampled, item): (SampledResponse, &TrainingItem),
    ) -> Result<Vec<Call>> {
        response.ended = sampled.ended;
        let mut calls = Vec::new();
        if sampled.ended && item.role == ItemRole::Policy {
            let text = sampler.text(&sampled.tokens)?;
            let turn = (&sampled.tokens[..], &*text);
            calls = self.turns.calls(&self.section.toolbox, sampler.encoder(), turn);
            for call in calls.iter_mut().flatten() {
                item.give_database(call);
            }
        }
        response.tokens.truncate(response.turn());
        response.tokens.extend(sampled.tokens);
        Ok(calls)
    }
}
