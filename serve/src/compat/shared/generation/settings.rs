//! Converts the fields of a request to sampling parameters, checking their ranges.

use std::ops::RangeInclusive;
use std::sync::Arc;

use engine::sampling::{Constraint, Grammar, SamplingParams, StopStrings};
use engine::{Host, Tokenizer};

use super::types::{Generation, MAX_STOP_CHARS, MAX_STOPS, MAX_TOP_LOGPROBS, Texts, biases};
use crate::compat::shared::invalid;
use crate::error::{ApiError, Code};
use crate::grammars::Grammars;
use crate::hosts::Served;

/// Generation settings of all continuations of a request.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    max_tokens: usize,
    min_tokens: usize,
    temperature: f32,
    top_p: f32,
    top_k: Option<usize>,
    min_p: f32,
    repetition_penalty: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    /// Shared by the sequences, as are the tokens that end them.
    logit_bias: Arc<[(u32, f32)]>,
    seed: u64,
    stop_token_ids: Arc<[u32]>,
    /// Number of most probable tokens to list; `None` without log-probabilities.
    pub(super) logprobs: Option<usize>,
    stops: Vec<String>,
    include_stop: bool,
    /// Whether special tokens are left out of the text.
    pub(super) skip_special: bool,
    grammar: Option<Grammar>,
}

/// The settings in which the two routes differ.
pub(super) struct RouteDefaults {
    /// Default of `max_tokens`.
    pub(super) max_tokens: usize,
    /// Number of most probable tokens to list; `None` without log-probabilities.
    pub(super) logprobs: Option<usize>,
    /// Constraint on the text.
    pub(super) grammar: Option<Grammar>,
}

impl Settings {
    /// Checks the settings of a request.
    ///
    /// # Errors
    /// The first value out of range, by its path.
    pub(super) fn new(
        params: &Generation,
        own: RouteDefaults,
        host: &Host,
    ) -> Result<Settings, ApiError> {
        let vocab_size = host.engine.limits().vocab_size;
        let temperature = number("temperature", params.temperature, 1.0, 0.0..=2.0)?;
        let top_p = number("top_p", params.top_p, 1.0, 0.0..=1.0)?;
        if top_p == 0.0 {
            return Err(invalid("top_p", "0 leaves no token; it is above 0"));
        }
        let repetition_penalty =
            number("repetition_penalty", params.repetition_penalty, 1.0, 0.0..=10.0)?;
        if repetition_penalty == 0.0 {
            return Err(invalid("repetition_penalty", "it divides, and is above 0"));
        }
        let max_tokens = match params.max_tokens {
            None => own.max_tokens,
            Some(0) => return Err(invalid("max_tokens", "0; at least 1 is generated")),
            Some(most) => usize::try_from(most).unwrap_or(usize::MAX),
        };
        let min_tokens = usize::try_from(params.min_tokens.unwrap_or(0)).unwrap_or(usize::MAX);
        if min_tokens > max_tokens {
            let message = format!("{min_tokens} is more than the {max_tokens} of max_tokens");
            return Err(invalid("min_tokens", message));
        }
        let stops = stops(params.stop.as_ref())?;
        let skip_special = params.skip_special_tokens.unwrap_or(true);
        if !skip_special && !stops.is_empty() {
            let message = "stop strings are sought in text without special tokens";
            return Err(invalid("skip_special_tokens", message));
        }
        Ok(Settings {
            max_tokens,
            min_tokens,
            temperature,
            top_p,
            top_k: top_k(params.top_k)?,
            min_p: number("min_p", params.min_p, 0.0, 0.0..=1.0)?,
            repetition_penalty,
            presence_penalty: number("presence_penalty", params.presence_penalty, 0.0, -2.0..=2.0)?,
            frequency_penalty: number(
                "frequency_penalty",
                params.frequency_penalty,
                0.0,
                -2.0..=2.0,
            )?,
            logit_bias: logit_bias(params, vocab_size)?.into(),
            // Seeds are 64 bits, of either sign.
            seed: params.seed.unwrap_or(0).cast_unsigned(),
            stop_token_ids: stop_token_ids(params, &host.tokenizer, vocab_size)?.into(),
            logprobs: own.logprobs,
            stops,
            include_stop: params.include_stop_str_in_output.unwrap_or(false),
            skip_special,
            grammar: own.grammar,
        })
    }

    /// Compiles the constraint on the text; `None` without one.
    ///
    /// # Errors
    /// A constraint that cannot be compiled.
    pub(super) async fn constraint(
        &self,
        served: &Served,
        grammars: &Grammars,
    ) -> Result<Option<Box<dyn Constraint>>, ApiError> {
        let Some(grammar) = &self.grammar else {
            return Ok(None);
        };
        let compiled = grammars.compiled(served, grammar).await?;
        compiled.map(Some).map_err(|error| super::constraint::refused(grammar, &error))
    }

    /// Returns the sampling parameters of a continuation; those of a prompt differ by their index
    /// alone.
    ///
    /// # Errors
    /// Errors of the sampler.
    pub(super) fn sampling(
        &self,
        host: &Host,
        constraint: Option<Box<dyn Constraint>>,
        choice: u64,
    ) -> Result<SamplingParams, ApiError> {
        let sampling = SamplingParams {
            max_tokens: self.max_tokens,
            min_tokens: self.min_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            logit_bias: self.logit_bias.clone(),
            seed: self.seed,
            stream: choice,
            stop_token_ids: self.stop_token_ids.clone(),
            logprobs: self.logprobs,
            constraint,
            stop: self.stop_strings(&host.tokenizer)?,
            ..SamplingParams::default()
        };
        let checked = sampling.check(host.engine.limits().vocab_size);
        checked.map_err(|fault| ApiError::new(Code::InvalidBody, fault))?;
        Ok(sampling)
    }

    fn stop_strings(&self, tokenizer: &Arc<Tokenizer>) -> Result<Option<StopStrings>, ApiError> {
        if self.stops.is_empty() {
            return Ok(None);
        }
        let stops = StopStrings::new(tokenizer.clone(), self.stops.clone(), self.include_stop);
        stops.map(Some).map_err(|fault| invalid("stop", fault))
    }
}

/// Checks a number's range; NaN and infinities are not JSON.
fn number(
    path: &str,
    given: Option<f64>,
    default: f32,
    range: RangeInclusive<f32>,
) -> Result<f32, ApiError> {
    let Some(given) = given else {
        return Ok(default);
    };
    #[expect(clippy::cast_possible_truncation, reason = "rounded to what the sampler computes in")]
    let rounded = given as f32;
    if range.contains(&rounded) {
        return Ok(rounded);
    }
    let (start, end) = range.into_inner();
    Err(invalid(path, format!("{given} is not from {start} to {end}")))
}

/// Checks `top_k`, which -1 turns off in vLLM and SGLang, and 0 in vLLM.
fn top_k(given: Option<i64>) -> Result<Option<usize>, ApiError> {
    match given {
        None | Some(-1 | 0) => Ok(None),
        Some(k) => match usize::try_from(k) {
            Ok(k) => Ok(Some(k)),
            Err(_) => Err(invalid("top_k", format!("{k}; it is above 0, or -1 for all"))),
        },
    }
}

fn logit_bias(params: &Generation, vocab_size: usize) -> Result<Vec<(u32, f32)>, ApiError> {
    let Some(given) = &params.logit_bias else {
        return Ok(Vec::new());
    };
    let biases = biases(given).map_err(|key| {
        let shown: String = key.chars().take(64).collect();
        invalid("logit_bias", format!("{shown:?} is no token id"))
    })?;
    let bias = |(id, bias): (u32, f64)| {
        let path = format!("logit_bias.{id}");
        if id as usize >= vocab_size {
            let message = format!("the vocabulary has {vocab_size} tokens");
            return Err(invalid(&path, message));
        }
        Ok((id, number(&path, Some(bias), 0.0, -100.0..=100.0)?))
    };
    biases.into_iter().map(bias).collect()
}

/// Returns the tokens that end a generation: those of the request and the model's own.
fn stop_token_ids(
    params: &Generation,
    tokenizer: &Tokenizer,
    vocab_size: usize,
) -> Result<Vec<u32>, ApiError> {
    let mut ids = params.stop_token_ids.clone().unwrap_or_default();
    for (at, id) in ids.iter().enumerate() {
        if *id as usize >= vocab_size {
            let message = format!("the vocabulary has {vocab_size} tokens");
            return Err(invalid(format!("stop_token_ids[{at}]"), message));
        }
    }
    if !params.ignore_eos.unwrap_or(false) {
        ids.extend(tokenizer.eos_ids());
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn stops(given: Option<&Texts>) -> Result<Vec<String>, ApiError> {
    let (stops, many) = match given {
        None => return Ok(Vec::new()),
        Some(Texts::One(stop)) => (vec![stop.clone()], false),
        Some(Texts::Many(stops)) => (stops.clone(), true),
    };
    if stops.len() > MAX_STOPS {
        let message = format!("{} stop strings; a request takes {MAX_STOPS}", stops.len());
        return Err(invalid("stop", message));
    }
    for (at, stop) in stops.iter().enumerate() {
        let path = if many { format!("stop[{at}]") } else { "stop".to_owned() };
        if stop.is_empty() {
            return Err(invalid(&path, "it is empty, and would stop everything"));
        }
        let n_chars = stop.chars().count();
        if n_chars > MAX_STOP_CHARS {
            let message =
                format!("{n_chars} characters; a stop string has at most {MAX_STOP_CHARS}");
            return Err(invalid(&path, message));
        }
    }
    Ok(stops)
}

/// Checks the number of tokens to list.
///
/// # Errors
/// A number above the limit.
pub(super) fn top(path: &str, given: u64) -> Result<usize, ApiError> {
    if given > MAX_TOP_LOGPROBS {
        let message = format!("{given}; at most {MAX_TOP_LOGPROBS} are listed");
        return Err(invalid(path, message));
    }
    Ok(usize::try_from(given).expect("at most 20"))
}

/// Checks the number of continuations.
///
/// # Errors
/// 0, or a number above the limit.
pub(super) fn choices(given: Option<u64>) -> Result<u64, ApiError> {
    let n = given.unwrap_or(1);
    if (1..=super::types::MAX_CONTINUATIONS).contains(&n) {
        return Ok(n);
    }
    let message = format!("{n} choices; a request takes 1 to {}", super::types::MAX_CONTINUATIONS);
    Err(invalid("n", message))
}
