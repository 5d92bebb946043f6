//! One generation, token by token.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use models::kernels::readout::{Readout, row_readout};

use super::constraint::Mask;
use super::draw::{Shape, draw};
use super::edit::Edits;
use super::scan::Scan;
use super::{FinishReason, Next, SampleError, SampledToken, SamplingParams, random};

/// Below this a temperature is none.
const GREEDY: f32 = 1e-5;

/// A generation on its way.
#[derive(Debug)]
pub struct Sampler {
    sampling: SamplingParams,
    edits: Edits,
    n_prompt: usize,
    n_generated: usize,
    /// Why it was at its end before it began: it was resumed there.
    ended: Option<FinishReason>,
}

impl Sampler {
    /// Begins a generation after `token_ids`, for a model of `vocab_size` logits, or resumes one
    /// whose first tokens are at their end.
    ///
    /// # Errors
    /// What cannot be asked for: a sentence that begins with the parameter.
    pub fn new(
        sampling: SamplingParams,
        token_ids: &[u32],
        vocab_size: usize,
    ) -> Result<Sampler, String> {
        sampling.check(vocab_size)?;
        let n_prompt = token_ids.len().checked_sub(sampling.resumed);
        let Some(n_prompt) = n_prompt.filter(|n| *n > 0 || sampling.resumed == 0) else {
            return Err(format!(
                "resumed is {}, and the sequence has {} tokens with its prompt",
                sampling.resumed,
                token_ids.len()
            ));
        };
        let (prompt, resumed) = token_ids.split_at(n_prompt);
        let mut sampler = Sampler {
            edits: Edits::new(&sampling, prompt),
            sampling,
            n_prompt,
            n_generated: 0,
            ended: None,
        };
        sampler.resume(resumed)?;
        Ok(sampler)
    }

    /// Why nothing can follow, of a generation that was resumed at its end.
    pub fn ended(&self) -> Option<&FinishReason> {
        self.ended.as_ref()
    }

    /// Takes tokens that were generated before.
    fn resume(&mut self, token_ids: &[u32]) -> Result<(), String> {
        for (at, id) in token_ids.iter().enumerate() {
            if self.ended.is_some() {
                return Err(format!("resumed: the token before {at} ended the generation"));
            }
            // A constraint runs code of others over text of strangers.
            let taken = catch_unwind(AssertUnwindSafe(|| self.count(*id)));
            let taken =
                taken.map_err(|_| format!("resumed: token {at} made a constraint panic"))?;
            self.ended =
                taken.map_err(|error| format!("resumed: token {at} cannot come: {error}"))?;
        }
        Ok(())
    }

    /// Chooses the next token from the model's logits, which it may change.
    ///
    /// # Errors
    /// [`SampleError::NotFinite`] where a logit is no finite number, [`SampleError::Constraint`]
    /// where no token can follow. Nothing can be asked of the sampler after that.
    pub fn next(&mut self, logits: &mut [f32]) -> Result<Next, SampleError> {
        let scan = Scan::of(logits);
        if let Some(value) = scan.not_finite(logits) {
            return Err(SampleError::NotFinite(value));
        }
        if self.leaves_logits() {
            let token_id = self.choose(logits, &scan)?;
            let sampled = self.read(logits, &scan, token_id);
            return self.take(sampled);
        }
        let raw = match self.sampling.logprobs {
            Some(_) => Cow::Owned(logits.to_vec()),
            None => Cow::Borrowed(&[][..]),
        };
        let edited = self.edit(logits)?;
        let token_id = self.choose(logits, &edited)?;
        let sampled = self.read(&raw, &scan, token_id);
        self.take(sampled)
    }

    /// Whether the token is chosen from the logits as they are.
    fn leaves_logits(&self) -> bool {
        self.edits.none() && self.sampling.constraint.is_none() && !self.must_go_on()
    }

    fn must_go_on(&self) -> bool {
        self.n_generated < self.sampling.min_tokens && !self.sampling.stop_token_ids.is_empty()
    }

    /// Bias, penalties and masks.
    fn edit(&mut self, logits: &mut [f32]) -> Result<Scan, SampleError> {
        self.edits.apply(logits);
        if let Some(constraint) = &mut self.sampling.constraint {
            let mask = constraint.mask();
            forbid(logits, mask.map_err(|e| SampleError::Constraint(e.to_string()))?);
        }
        if !self.must_go_on() {
            return Ok(Scan::of(logits));
        }
        let mut stops = Vec::new();
        for id in &self.sampling.stop_token_ids {
            if let Some(logit) = logits.get_mut(*id as usize) {
                stops.push((*id as usize, *logit));
                *logit = f32::NEG_INFINITY;
            }
        }
        let scan = Scan::of(logits);
        if scan.max > f32::NEG_INFINITY {
            return Ok(scan);
        }
        // Nothing but the end can come. An id that was given twice was −∞ the second time.
        for (id, logit) in stops.into_iter().rev() {
            logits[id] = logit;
        }
        Ok(Scan::of(logits))
    }

    fn choose(&self, logits: &[f32], scan: &Scan) -> Result<u32, SampleError> {
        if scan.max == f32::NEG_INFINITY {
            let nothing = "no token can follow".to_owned();
            return Err(SampleError::Constraint(nothing));
        }
        let s = &self.sampling;
        if s.temperature < GREEDY {
            return Ok(scan.argmax(logits).expect("the maximum is somewhere"));
        }
        let shape =
            Shape { temperature: s.temperature, top_k: s.top_k, top_p: s.top_p, min_p: s.min_p };
        let position = (self.n_prompt + self.n_generated) as u64;
        let bits = random::bits(s.seed, s.stream, position);
        Ok(draw(logits, scan, shape, bits))
    }

    /// The token with what was asked for, by the model's own distribution.
    fn read(&self, logits: &[f32], scan: &Scan, token_id: u32) -> SampledToken {
        let Some(n) = self.sampling.logprobs else {
            return SampledToken { token_id, logprob: 0.0, top: Vec::new(), revision: 0 };
        };
        let readout: Readout = row_readout(logits);
        let top = scan.largest(logits, n).into_iter();
        SampledToken {
            token_id,
            logprob: readout.logprob(logits[token_id as usize]),
            top: top.map(|c| (c.id, readout.logprob(c.logit))).collect(),
            revision: 0,
        }
    }

    /// Takes note of the token and says whether it is the last.
    fn take(&mut self, sampled: SampledToken) -> Result<Next, SampleError> {
        let finish = self.count(sampled.token_id)?;
        Ok(Next { sampled, finish })
    }

    fn count(&mut self, id: u32) -> Result<Option<FinishReason>, SampleError> {
        self.n_generated += 1;
        self.edits.count(id);
        self.finish(id)
    }

    fn finish(&mut self, id: u32) -> Result<Option<FinishReason>, SampleError> {
        let s = &mut self.sampling;
        if s.stop_token_ids.contains(&id) {
            return Ok(Some(FinishReason::StopToken(id)));
        }
        let mut complete = false;
        if let Some(constraint) = &mut s.constraint {
            let accepted = constraint.accept(id);
            accepted.map_err(|e| SampleError::Constraint(e.to_string()))?;
            complete = constraint.is_complete();
        }
        if let Some(stop) = &mut s.stop {
            let found = stop.step(id, self.n_generated > s.min_tokens);
            if let Some(text) = found.map_err(|e| SampleError::Constraint(e.to_string()))? {
                return Ok(Some(FinishReason::StopText(text)));
            }
        }
        if complete {
            return Ok(Some(FinishReason::Complete));
        }
        Ok((self.n_generated >= s.max_tokens).then_some(FinishReason::Length))
    }
}

/// Makes −∞ of the logits of tokens that a mask lacks.
fn forbid(logits: &mut [f32], mask: Mask<'_>) {
    let words = mask.words().iter().copied().chain(std::iter::repeat(0));
    for (part, word) in logits.chunks_mut(32).zip(words) {
        if word == u32::MAX {
            continue;
        }
        for (at, logit) in part.iter_mut().enumerate() {
            if word >> at & 1 == 0 {
                *logit = f32::NEG_INFINITY;
            }
        }
    }
}
