//! The parameters of a generation.

use std::sync::Arc;

use super::constraint::Constraint;
use super::stop::StopStrings;

/// Parameters of a generation, with vLLM's names and meanings.
///
/// Logits are changed in the order of vLLM and Hugging Face: `logit_bias`, `repetition_penalty`,
/// `frequency_penalty` and `presence_penalty`, the constraint's mask, the mask of `min_tokens`.
/// Then `temperature`, `top_k`, `top_p` and `min_p` apply, each to what the one before leaves.
#[derive(Debug)]
pub struct SamplingParams {
    /// The most tokens to generate, resumed ones included; at least 1.
    pub max_tokens: usize,
    /// Minimum number of tokens: before, stop strings do not count, and stop tokens come only if no
    /// other token can; at most `max_tokens`.
    pub min_tokens: usize,
    /// Divides the logits; up to 100. Below 0.00001 sampling is greedy: the most likely token, of
    /// equal ones the smallest id.
    pub temperature: f32,
    /// Keeps the most likely tokens that have this probability together; in (0, 1].
    pub top_p: f32,
    /// Number of most likely tokens to keep, of equal ones those with smaller ids; at least 1.
    pub top_k: Option<usize>,
    /// Keeps tokens of at least this share of the largest probability; in [0, 1].
    pub min_p: f32,
    /// Divides positive and multiplies negative logits of tokens in the prompt or the continuation;
    /// in (0, 100], 1 is off.
    pub repetition_penalty: f32,
    /// Subtracted from the logits of tokens in the continuation; in [−2, 2].
    pub presence_penalty: f32,
    /// Subtracted from a token's logit for each occurrence in the continuation; in [−2, 2].
    pub frequency_penalty: f32,
    /// Added to the logits of these tokens; in [−100, 100].
    pub logit_bias: Arc<[(u32, f32)]>,
    /// Seed; with `stream` and the position it determines each random draw.
    pub seed: u64,
    /// Index of the generation within its request.
    pub stream: u64,
    /// Tokens that end the generation. Ids beyond the vocabulary have no effect.
    pub stop_token_ids: Arc<[u32]>,
    /// Number of most likely tokens to list with each; `None` for no log-probabilities at all.
    pub logprobs: Option<usize>,
    /// Whether log-probabilities are those of the distribution at `temperature`, of all tokens,
    /// before biases, penalties and truncation; otherwise at temperature 1. Has no effect on greedy
    /// sampling.
    pub tempered_logprobs: bool,
    /// A constraint on the text; see [`super::Vocabulary::compile`].
    pub constraint: Option<Box<dyn Constraint>>,
    /// Strings that end the generation.
    pub stop: Option<StopStrings>,
    /// Number of tokens at the end of the sequence that an earlier part of this generation
    /// generated. They count as if they had just been generated (random positions, `max_tokens`,
    /// `min_tokens`, penalties, stop strings, constraint) and are not returned again. Under the
    /// same weights, a stopped part and its resumption are bit for bit the generation without the
    /// stop. A generation that had already ended gives no further token.
    pub resumed: usize,
}

impl SamplingParams {
    /// Checks the parameters for a model of `vocab_size` logits.
    ///
    /// # Errors
    /// A message that begins with the invalid parameter.
    pub fn check(&self, vocab_size: usize) -> Result<(), String> {
        let s = self;
        if s.max_tokens == 0 {
            return Err("max_tokens is 0: at least one token is generated".to_owned());
        }
        if s.min_tokens > s.max_tokens {
            return Err(format!(
                "min_tokens is {}, more than max_tokens, which is {}",
                s.min_tokens, s.max_tokens
            ));
        }
        check_range("temperature", s.temperature, 0.0, 100.0)?;
        check_range("top_p", s.top_p, 0.0, 1.0)?;
        if s.top_p == 0.0 {
            return Err("top_p is 0: no token would be left".to_owned());
        }
        check_range("min_p", s.min_p, 0.0, 1.0)?;
        check_range("repetition_penalty", s.repetition_penalty, 0.0, 100.0)?;
        if s.repetition_penalty == 0.0 {
            return Err("repetition_penalty is 0: it is a factor, and 1 is none".to_owned());
        }
        check_range("presence_penalty", s.presence_penalty, -2.0, 2.0)?;
        check_range("frequency_penalty", s.frequency_penalty, -2.0, 2.0)?;
        if s.top_k == Some(0) {
            return Err("top_k is 0: no token would be left".to_owned());
        }
        if let Some(n) = s.logprobs.filter(|n| *n > vocab_size) {
            return Err(format!(
                "logprobs asks for {n} tokens, and the vocabulary has {vocab_size}"
            ));
        }
        for (id, bias) in s.logit_bias.iter() {
            check_range("logit_bias", *bias, -100.0, 100.0)?;
            if *id as usize >= vocab_size {
                return Err(format!(
                    "logit_bias names token {id}, beyond the vocabulary of {vocab_size}"
                ));
            }
        }
        Ok(())
    }
}

/// Greedy sampling of 16 tokens.
impl Default for SamplingParams {
    fn default() -> SamplingParams {
        SamplingParams {
            max_tokens: 16,
            min_tokens: 0,
            temperature: 0.0,
            top_p: 1.0,
            top_k: None,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            logit_bias: Arc::default(),
            seed: 0,
            stream: 0,
            stop_token_ids: Arc::default(),
            logprobs: None,
            tempered_logprobs: false,
            constraint: None,
            stop: None,
            resumed: 0,
        }
    }
}

fn check_range(name: &str, value: f32, least: f32, most: f32) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value}, and not from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::SamplingParams;

    #[test]
    fn invalid_parameter_is_named_in_the_error() {
        let check = |change: fn(&mut SamplingParams), expected: &str| {
            let mut sampling = SamplingParams::default();
            change(&mut sampling);
            let error = sampling.check(10).expect_err(expected);
            assert!(error.starts_with(expected), "{error}");
        };
        check(|s| s.max_tokens = 0, "max_tokens is 0");
        check(|s| s.min_tokens = 17, "min_tokens is 17");
        check(|s| s.temperature = -1.0, "temperature is -1");
        check(|s| s.temperature = f32::NAN, "temperature is NaN");
        check(|s| s.temperature = f32::INFINITY, "temperature is inf");
        check(|s| s.top_p = 0.0, "top_p is 0");
        check(|s| s.top_p = 1.5, "top_p is 1.5");
        check(|s| s.top_p = f32::NAN, "top_p is NaN");
        check(|s| s.min_p = -0.1, "min_p is -0.1");
        check(|s| s.repetition_penalty = 0.0, "repetition_penalty is 0");
        check(|s| s.repetition_penalty = -1.0, "repetition_penalty is -1");
        check(|s| s.presence_penalty = 2.5, "presence_penalty is 2.5");
        check(|s| s.frequency_penalty = f32::NAN, "frequency_penalty is NaN");
        check(|s| s.top_k = Some(0), "top_k is 0");
        check(|s| s.logprobs = Some(11), "logprobs asks for 11");
        check(|s| s.logit_bias = [(1, 0.0), (10, 1.0)].into(), "logit_bias names token 10");
        check(|s| s.logit_bias = [(1, -101.0)].into(), "logit_bias is -101");
        let fine = SamplingParams {
            max_tokens: usize::MAX,
            top_k: Some(usize::MAX),
            top_p: 1e-9,
            seed: u64::MAX,
            ..SamplingParams::default()
        };
        assert_eq!(fine.check(10), Ok(()));
    }
}
