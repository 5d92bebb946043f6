//! The sampler of one generation.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use models::kernels::readout::{Readout, row_readout};
use models::{DrawnToken, RandomDraw, TokenDraw};

use super::constraint::Mask;
use super::draw::{Truncation, draw, least_weight};
use super::edit::Edits;
use super::error::SampleError;
use super::params::SamplingParams;
use super::random;
use super::scan::Scan;
use super::token::{FinishReason, Next, SampledToken};

/// Sampling is greedy below this temperature.
const GREEDY: f32 = 1e-5;

/// A generation in progress.
#[derive(Debug)]
pub struct Sampler {
    params: SamplingParams,
    edits: Edits,
    vocab_size: usize,
    n_prompt: usize,
    n_generated: usize,
    /// Why it had already ended when it was resumed; `None` if it had not.
    ended: Option<FinishReason>,
}

impl Sampler {
    /// A sampler for a continuation of `token_ids` by a model of `vocab_size` logits. With
    /// [`SamplingParams::resumed`], the last of `token_ids` are its first tokens.
    ///
    /// # Errors
    /// A message that begins with the invalid parameter.
    pub fn new(
        params: SamplingParams,
        token_ids: &[u32],
        vocab_size: usize,
    ) -> Result<Sampler, String> {
        params.check(vocab_size)?;
        let n_prompt = token_ids.len().checked_sub(params.resumed);
        let Some(n_prompt) = n_prompt.filter(|n| *n > 0 || params.resumed == 0) else {
            return Err(format!(
                "resumed is {}, and the sequence has {} tokens with its prompt",
                params.resumed,
                token_ids.len()
            ));
        };
        let (prompt, resumed) = token_ids.split_at(n_prompt);
        let mut sampler = Sampler {
            edits: Edits::new(&params, prompt),
            params,
            vocab_size,
            n_prompt,
            n_generated: 0,
            ended: None,
        };
        sampler.resume(resumed)?;
        Ok(sampler)
    }

    /// Why the generation had already ended when it was resumed; `None` if it had not.
    pub fn ended(&self) -> Option<&FinishReason> {
        self.ended.as_ref()
    }

    /// Replays tokens that were generated before.
    fn resume(&mut self, token_ids: &[u32]) -> Result<(), String> {
        for (at, id) in token_ids.iter().enumerate() {
            if self.ended.is_some() {
                return Err(format!("resumed: the token before {at} ended the generation"));
            }
            // A constraint runs third-party code on untrusted grammars.
            self.ended = catch_unwind(AssertUnwindSafe(|| self.count(*id)))
                .map_err(|_| format!("resumed: token {at} made a constraint panic"))?
                .map_err(|error| format!("resumed: token {at} cannot come: {error}"))?;
        }
        Ok(())
    }

    /// Samples the next token. `logits: [vocab_size]`, which may be modified.
    ///
    /// # Errors
    /// [`SampleError::NotFinite`] if a logit is not finite, [`SampleError::Constraint`] if no token
    /// can follow. The sampler is unusable afterwards.
    pub fn next(&mut self, logits: &mut [f32]) -> Result<Next, SampleError> {
        let scan = Scan::of(logits);
        if let Some(value) = scan.not_finite(logits) {
            return Err(SampleError::NotFinite(value));
        }
        if self.keeps_logits() {
            let token_id = self.choose(logits, &scan)?;
            let sampled = self.with_logprobs(logits, &scan, token_id);
            return self.finish_step(sampled);
        }
        let raw = match self.params.logprobs {
            Some(_) => Cow::Owned(logits.to_vec()),
            None => Cow::Borrowed(&[][..]),
        };
        let edited = self.edit(logits)?;
        let token_id = self.choose(logits, &edited)?;
        let sampled = self.with_logprobs(&raw, &scan, token_id);
        self.finish_step(sampled)
    }

    /// How a forward draws the next token from its logits: the one of [`Sampler::next`]. `None`
    /// where the logits are needed: for biases and penalties, for lists of most likely tokens, for
    /// log-probabilities at a temperature, and for a constraint that fails.
    pub fn draw(&mut self) -> Option<TokenDraw> {
        let lists = self.params.logprobs.is_some_and(|n| n > 0);
        if !self.edits.is_empty() || lists || self.logprob_scale().is_some() {
            return None;
        }
        let allowed = self.allowed()?;
        let s = &self.params;
        let random = (!self.is_greedy()).then(|| RandomDraw {
            temperature: s.temperature,
            top_k: s.top_k.filter(|k| *k < self.vocab_size).and_then(|k| u32::try_from(k).ok()),
            top_p: s.top_p,
            least_weight: least_weight(s.min_p),
            bits: self.bits(),
        });
        Some(TokenDraw { random, allowed, logprob: s.logprobs.is_some() })
    }

    /// The tokens that may come next, `Some(None)` for all; `None` if the constraint fails or no
    /// token is left.
    #[expect(clippy::option_option, reason = "no mask, and no answer")]
    fn allowed(&mut self) -> Option<Option<Arc<[u32]>>> {
        if self.params.constraint.is_none() && !self.suppresses_stop() {
            return Some(None);
        }
        let n_words = self.vocab_size.div_ceil(32);
        let mut words = match &mut self.params.constraint {
            None => vec![u32::MAX; n_words],
            Some(constraint) => {
                let mut words = constraint.mask().ok()?.words().to_vec();
                words.resize(n_words, 0);
                words
            }
        };
        let beyond = self.vocab_size % 32;
        if let (Some(last), 1..) = (words.last_mut(), beyond) {
            *last &= (1 << beyond) - 1;
        }
        if self.suppresses_stop() {
            let mut rest = words.clone();
            for id in self.params.stop_token_ids.iter() {
                if let Some(word) = rest.get_mut(*id as usize / 32) {
                    *word &= !(1 << (id % 32));
                }
            }
            // Where only stop tokens are left, they may come.
            if rest.iter().any(|word| *word != 0) {
                words = rest;
            }
        }
        words.iter().any(|word| *word != 0).then(|| Some(words.into()))
    }

    /// Takes the token that a forward drew as [`Sampler::draw`] says.
    ///
    /// # Errors
    /// As [`Sampler::next`].
    pub fn take(&mut self, drawn: DrawnToken) -> Result<Next, SampleError> {
        match drawn {
            DrawnToken::NotFinite(value) => Err(SampleError::NotFinite(value)),
            DrawnToken::NoneAllowed => {
                Err(SampleError::Constraint("no token can follow".to_owned()))
            }
            DrawnToken::Token { token_id, logprob } => self.finish_step(SampledToken {
                token_id,
                logprob: logprob.unwrap_or(0.0),
                top: Vec::new(),
                revision: 0,
            }),
        }
    }

    /// Whether the token is sampled from unmodified logits.
    fn keeps_logits(&self) -> bool {
        self.edits.is_empty() && self.params.constraint.is_none() && !self.suppresses_stop()
    }

    fn suppresses_stop(&self) -> bool {
        self.n_generated < self.params.min_tokens && !self.params.stop_token_ids.is_empty()
    }

    /// Applies bias, penalties and masks.
    fn edit(&mut self, logits: &mut [f32]) -> Result<Scan, SampleError> {
        self.edits.apply(logits);
        if let Some(constraint) = &mut self.params.constraint {
            let mask = constraint.mask();
            apply_mask(logits, mask.map_err(|e| SampleError::Constraint(e.to_string()))?);
        }
        if !self.suppresses_stop() {
            return Ok(Scan::of(logits));
        }
        let mut stops = Vec::new();
        for id in self.params.stop_token_ids.iter() {
            if let Some(logit) = logits.get_mut(*id as usize) {
                stops.push((*id as usize, *logit));
                *logit = f32::NEG_INFINITY;
            }
        }
        let scan = Scan::of(logits);
        if scan.max > f32::NEG_INFINITY {
            return Ok(scan);
        }
        // Only stop tokens are left. Reversed, because an id listed twice was −∞ the second time.
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
        let s = &self.params;
        if self.is_greedy() {
            return Ok(scan.argmax(logits).expect("the maximum is somewhere"));
        }
        let truncation = Truncation {
            temperature: s.temperature,
            top_k: s.top_k,
            top_p: s.top_p,
            min_p: s.min_p,
        };
        Ok(draw(logits, scan, truncation, self.bits()))
    }

    fn is_greedy(&self) -> bool {
        self.params.temperature < GREEDY
    }

    /// The random bits of the next token.
    fn bits(&self) -> u64 {
        let position = (self.n_prompt + self.n_generated) as u64;
        random::bits(self.params.seed, self.params.stream, position)
    }

    /// The factor on logits whose log-probabilities are given; `None` for 1.
    fn logprob_scale(&self) -> Option<f32> {
        let gives = self.params.tempered_logprobs && self.params.logprobs.is_some();
        (gives && !self.is_greedy()).then(|| 1.0 / self.params.temperature)
    }

    /// The token with its log-probabilities under the unmodified distribution, or under that of its
    /// temperature.
    fn with_logprobs(&self, logits: &[f32], scan: &Scan, token_id: u32) -> SampledToken {
        let Some(n) = self.params.logprobs else {
            return SampledToken { token_id, logprob: 0.0, top: Vec::new(), revision: 0 };
        };
        let mut mapped = Cow::Borrowed(logits);
        if let Some(scale) = self.logprob_scale() {
            mapped.to_mut().iter_mut().for_each(|logit| *logit *= scale);
        }
        let readout: Readout = row_readout(&mapped);
        let logprob = |id: u32| readout.logprob(mapped[id as usize]);
        let top = scan.largest(logits, n).into_iter();
        SampledToken {
            token_id,
            logprob: logprob(token_id),
            top: top.map(|c| (c.id, logprob(c.id))).collect(),
            revision: 0,
        }
    }

    /// Counts the token and determines whether it is the last.
    fn finish_step(&mut self, sampled: SampledToken) -> Result<Next, SampleError> {
        let finish = self.count(sampled.token_id)?;
        Ok(Next { sampled, finish })
    }

    fn count(&mut self, id: u32) -> Result<Option<FinishReason>, SampleError> {
        self.n_generated += 1;
        self.edits.count(id);
        self.finish(id)
    }

    fn finish(&mut self, id: u32) -> Result<Option<FinishReason>, SampleError> {
        let s = &mut self.params;
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

/// Sets the logits of tokens outside the mask to −∞.
fn apply_mask(logits: &mut [f32], mask: Mask<'_>) {
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
