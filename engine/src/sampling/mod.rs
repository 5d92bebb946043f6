//! From logits to the next token, and whether it is the last.
//!
//! Everything here depends on the sequence alone: its tokens, its parameters and the logits. The
//! random number at a position is a function of (seed, stream, position), so a generation is the
//! same for any batching, and can be replayed.

/// How to continue a sequence.
#[derive(Debug, Default)]
pub struct Sampling {
    /// At most so many tokens are generated; at least 1.
    pub max_tokens: usize,
    /// Tokens that end the generation once it has `min_tokens`.
    pub stop_token_ids: Vec<u32>,
    /// Before so many tokens no stop token can come.
    pub min_tokens: usize,
    /// 0 is greedy.
    pub temperature: f32,
}

/// A generated token.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The token.
    pub token_id: u32,
    /// Its log-probability in nats under the model, before temperature, penalties and masks.
    pub logprob: f32,
    /// The most likely tokens with theirs, most likely first, as many as were asked for.
    pub top: Vec<(u32, f32)>,
}

/// Why a generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// A stop token came.
    StopToken(u32),
    /// A stop string came.
    StopText(String),
    /// What constrains it can only end here.
    Complete,
    /// As many tokens as were allowed, or as the context holds.
    Length,
}

/// Why no token can be chosen.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A logit that is not finite.
    #[error("{0}")]
    NotFinite(f32),
    /// No token satisfies the constraint.
    #[error("{0}")]
    Constraint(String),
}

/// What became of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// The token.
    pub sampled: Sampled,
    /// Whether it is the last one.
    pub finish: Option<Finish>,
}

/// A generation on its way.
#[derive(Debug)]
pub struct Sampler {
    sampling: Sampling,
    n_generated: usize,
}

impl Sampler {
    /// Begins a generation after `prompt`, for a model of `vocab_size` logits.
    ///
    /// # Errors
    /// What cannot be asked for: a sentence that names the parameter.
    pub fn new(sampling: Sampling, prompt: &[u32], vocab_size: usize) -> Result<Sampler, String> {
        let _ = (prompt, vocab_size);
        Ok(Sampler {
            sampling,
            n_generated: 0,
        })
    }

    /// Chooses the next token from the model's logits, which it may change.
    pub fn next(&mut self, logits: &mut [f32]) -> Result<Next, SampleError> {
        let mut best = (0, f32::NEG_INFINITY);
        for (id, logit) in (0..).zip(logits.iter()) {
            if !logit.is_finite() {
                return Err(SampleError::NotFinite(*logit));
            }
            if *logit > best.1 {
                best = (id, *logit);
            }
        }
        self.n_generated += 1;
        let finish = if self.sampling.stop_token_ids.contains(&best.0) {
            Some(Finish::StopToken(best.0))
        } else {
            (self.n_generated >= self.sampling.max_tokens).then_some(Finish::Length)
        };
        Ok(Next {
            sampled: Sampled {
                token_id: best.0,
                logprob: 0.0,
                top: Vec::new(),
            },
            finish,
        })
    }
}
