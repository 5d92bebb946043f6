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

use std::cell::Cell;
use std::time::{Duration, Instant};

use verifiers::tool_calls::Call;

pub use self::format::CallFormat;
use self::format::Turns;
pub use self::options::{AtLimit, ToolSection};
use super::reward_manager::RewardManager;
use super::sampler::{RolloutParams, SampleRequest, SampledResponse, Sampler};
use crate::error::Result;
use crate::item::{EarlyEnd, ItemRole, TrainingItem};

/// Samples conversations with tools.
#[derive(Debug)]
pub struct ToolLoop {
    section: ToolSection,
    turns: Turns,
    times: Cell<TurnTimes>,
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
        Ok(ToolLoop { section, turns, times: Cell::default() })
    }

    /// What happens to a response that ran out of turns or tokens.
    pub fn at_limit(&self) -> AtLimit {
        self.section.at_limit
    }

    /// The times since the last call.
    pub fn take_times(&self) -> TurnTimes {
        self.times.take()
    }

    /// Samples all requests, those of the policy's items in turns: the calls of all conversations that
    /// wait are run at the same time, between two rounds of sampling. A random draw depends on the seed,
    /// the stream and the place of its token alone.
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
        let mut all = vec![SampledResponse::default(); wanted.len()];
        let mut open: Vec<usize> = (0..wanted.len()).collect();
        let mut times = self.times.get();
        for turn in 0.. {
            let begin = Instant::now();
            let next = |at: &usize| {
                let (request, item) = &wanted[*at];
                self.request((request, item), &all[*at], params)
            };
            let requests: Vec<SampleRequest> = open.iter().map(next).collect();
            times.between += begin.elapsed();
            let sampled = sampler.sample(&requests, params)?;
            let begin = Instant::now();
            let mut calling = Vec::new();
            for (at, sampled) in open.iter().zip(sampled) {
                let (response, item) = (&mut all[*at], wanted[*at].1);
                let calls = self.take_turn(sampler, response, (sampled, item))?;
                if calls.is_empty() {
                    continue;
                }
                response.ended = false;
                if turn == self.section.max_turns {
                    response.early_end = Some(EarlyEnd::Turns);
                } else {
                    calling.push((*at, calls));
                }
            }
            let (waiting, calls): (Vec<usize>, Vec<Vec<Call>>) = calling.into_iter().unzip();
            times.between += begin.elapsed();
            self.times.set(times);
            if calls.is_empty() {
                return Ok(all);
            }
            let begin = Instant::now();
            let results = rewards.run_tools(&self.section.toolbox, calls, params.seed);
            times.tools += begin.elapsed();
            let begin = Instant::now();
            open.clear();
            for (at, results) in waiting.into_iter().zip(results) {
                let response = &mut all[at];
                match results {
                    Err(failure) => response.early_end = Some(EarlyEnd::Tool(failure.kind)),
                    Ok(results) => {
                        let place = response.tokens.len();
                        let own = self.turns.observation(sampler.encoder(), &results, place)?;
                        let length = wanted[at].0.prompt.len() + response.length();
                        let room = sampler.max_sequence() > length + own.token_ids.len();
                        if room && response.tokens.len() < params.max_tokens {
                            response.observations.push(own);
                            open.push(at);
                        }
                    }
                }
            }
            times.between += begin.elapsed();
        }
        Ok(all)
    }

    /// The request of a response's next turn.
    fn request(
        &self,
        (request, item): (&SampleRequest, &TrainingItem),
        response: &SampledResponse,
        params: RolloutParams,
    ) -> SampleRequest {
        let own = if item.role == ItemRole::Policy { self.turns.stop() } else { None };
        SampleRequest {
            prompt: [&request.prompt[..], &response.ids()].concat().into(),
            most: Some(params.max_tokens - response.tokens.len()),
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
        response.tokens.extend(sampled.tokens);
        Ok(calls)
    }
}
