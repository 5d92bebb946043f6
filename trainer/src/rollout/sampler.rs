//! Rollouts by the engine, on the weights in training.
//!
//! The engine serves the policy's detached view, so that an optimiser step updates the sampler as
//! well: no weight is copied, and a sampled token's log-probability has the bits that the training
//! forward computes for it: that of the distribution at the temperature of sampling, which the loss
//! trains. Truncation (`top_p`, `top_k`, `min_p`) changes the draws alone.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use engine::{
    FinishReason, Host, Priority, Request, RequestEvent, RequestParams, SampledToken,
    SamplingParams, StopStrings, Task, TaskOutput,
};
use rubrics::FailureKind;

use crate::encode::Encoder;
use crate::error::{Result, TrainError};
use crate::item::{EarlyEnd, Observation, Rollout, Token, TrainingItem, interleaved};

/// The text of a response that scorers read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoredText {
    /// What the model wrote, its turns on lines of their own: no result of a tool can be rewarded.
    #[default]
    Written,
    /// The conversation with the results, which the format of MARS-SQL (2511.01008) is checked on.
    Transcript,
}

/// Samples responses with the served policy.
#[derive(Clone, Debug)]
pub struct Sampler {
    host: Arc<Host>,
    encoder: Encoder,
    scored: ScoredText,
}

/// A response to sample.
#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// The item's prompt.
    pub prompt: Arc<[u32]>,
    /// The adapter that is sampled; `None` is the model itself.
    pub adapter: Option<Arc<str>>,
    /// Seeds the draws of this response together with the seed.
    pub stream: u64,
    /// The seed; `None` is [`RolloutParams::seed`].
    pub seed: Option<u64>,
    /// Tokens of this response that were sampled before it was interrupted.
    pub partial: Vec<Token>,
    /// Results of its calls before it was interrupted, which [`super::ToolLoop`] inserts.
    pub observations: Vec<Observation>,
    /// Number of tokens, `partial` included, after which it is interrupted; `None` samples to its
    /// end.
    pub most: Option<usize>,
    /// Texts that end it beside the tokens that end a text; they stay part of it.
    pub stop: Option<StopStrings>,
}

impl SampleRequest {
    /// Requests a response from its first token.
    pub fn new(prompt: Arc<[u32]>, adapter: Option<Arc<str>>, stream: u64) -> SampleRequest {
        SampleRequest {
            prompt,
            adapter,
            stream,
            seed: None,
            partial: Vec::new(),
            observations: Vec::new(),
            most: None,
            stop: None,
        }
    }

    /// Number of tokens after which it ends or is interrupted.
    pub(super) fn limit(&self, params: RolloutParams) -> usize {
        self.most.unwrap_or(params.max_tokens)
    }

    /// The part of the response that was sampled before.
    pub(super) fn begun(&self) -> SampledResponse {
        SampledResponse {
            tokens: self.partial.clone(),
            observations: self.observations.clone(),
            interrupted: true,
            ..SampledResponse::default()
        }
    }
}

/// Parameters of sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolloutParams {
    /// Seeds the draws of requests without a seed, together with the stream of each.
    pub seed: u64,
    /// Maximum tokens of a response.
    pub max_tokens: usize,
    /// The distribution that tokens are drawn from.
    pub draws: DrawParams,
}

/// The distribution that tokens are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawParams {
    /// Divides the logits; 0 takes the most likely token.
    pub temperature: f32,
    /// Keeps the most likely tokens that have this probability together.
    pub top_p: f32,
    /// Number of most likely tokens to keep.
    pub top_k: Option<usize>,
    /// Keeps tokens of at least this share of the largest probability.
    pub min_p: f32,
}

impl DrawParams {
    /// The model's own distribution.
    pub const FULL: DrawParams =
        DrawParams { temperature: 1.0, top_p: 1.0, top_k: None, min_p: 0.0 };

    /// The most likely token.
    pub const GREEDY: DrawParams = DrawParams { temperature: 0.0, ..DrawParams::FULL };

    /// The factor on logits of the distribution whose log-probabilities are recorded, one over the
    /// temperature; `None` for 1 and for greedy draws, which have those of temperature 1.
    pub fn logit_scale(self) -> Option<f32> {
        let scales = self.temperature > 0.0 && self.temperature.to_bits() != 1.0_f32.to_bits();
        scales.then(|| 1.0 / self.temperature)
    }
}

/// A sampled response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampledResponse {
    /// Its sampled tokens, the one that ended it included.
    pub tokens: Vec<Token>,
    /// The results of its calls, between its tokens.
    pub observations: Vec<Observation>,
    /// Whether it is complete; otherwise it was cut at its length, or interrupted.
    pub ended: bool,
    /// Whether it was interrupted and can be resumed.
    pub interrupted: bool,
    /// Why it ended early; `None` for its length or for no such end.
    pub early_end: Option<EarlyEnd>,
    /// The prompt that it was sampled from, where that is not the item's.
    pub scaffold: Option<Arc<[u32]>>,
}

impl SampledResponse {
    /// Number of sampled tokens before its last turn.
    pub fn turn(&self) -> usize {
        self.observations.last().map_or(0, |observation| observation.at)
    }

    /// The ids of its tokens and of its observations.
    pub fn ids(&self) -> Vec<u32> {
        interleaved(&self.tokens, &self.observations)
    }

    /// Number of tokens with those of its observations.
    pub fn length(&self) -> usize {
        let inserted = self.observations.iter().map(|observation| observation.token_ids.len());
        self.tokens.len() + inserted.sum::<usize>()
    }
}

impl Sampler {
    /// Samples from a served policy; `thinking` as for [`Encoder::new`].
    ///
    /// # Errors
    /// A tokenizer without an end-of-text token.
    pub fn new(host: Arc<Host>, thinking: bool) -> Result<Sampler> {
        let encoder = Encoder::new(host.tokenizer.clone(), thinking)?;
        Ok(Sampler { encoder, host, scored: ScoredText::default() })
    }

    /// Sets the text of responses with observations.
    #[must_use]
    pub fn with_scored(self, scored: ScoredText) -> Sampler {
        Sampler { scored, ..self }
    }

    /// The most tokens of a prompt with its response.
    pub fn max_sequence(&self) -> usize {
        let limits = self.host.engine.limits();
        limits.max_positions.min(limits.kv_tokens)
    }

    /// The tokenizer.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The host that serves the policy.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Encodes the prompt of an item.
    ///
    /// # Errors
    /// A conversation that the template refuses.
    pub fn prompt(&self, item: &TrainingItem) -> Result<Arc<[u32]>> {
        let tools = item.fields.tools.as_deref();
        Ok(self.encoder.prompt_with_tools(&item.turns, tools)?.into())
    }

    /// Samples all requests, in batches that fit the engine's queue.
    ///
    /// # Errors
    /// [`TrainError::Engine`] if a request cannot be sampled; this is a fault of the run, not of a
    /// response.
    pub fn sample(
        &self,
        requests: &[SampleRequest],
        params: RolloutParams,
    ) -> Result<Vec<SampledResponse>> {
        let each: Vec<usize> = (0..requests.len()).collect();
        self.sample_until(requests, params, &each, requests.len())
    }

    /// Samples until `enough` groups have all of their responses, and interrupts the others (APRIL,
    /// arXiv 2509.18521), which are returned incomplete. `groups` is the group of each request,
    /// numbered from 0. Waiting for all responses costs the time of the longest; interrupted ones
    /// can be resumed without losing tokens. The point of interruption is not deterministic.
    ///
    /// # Errors
    /// As [`Sampler::sample`].
    pub fn sample_until(
        &self,
        requests: &[SampleRequest],
        params: RolloutParams,
        groups: &[usize],
        enough: usize,
    ) -> Result<Vec<SampledResponse>> {
        let mut open = OpenGroups::new(groups, enough);
        let most = (self.host.engine.limits().queue_tokens / 2).max(1);
        let mut samples = Vec::with_capacity(requests.len());
        let mut first = 0;
        while first < requests.len() {
            let mut tokens = 0;
            let fits = requests[first..].iter().take_while(|request| {
                tokens += request.prompt.len() + request.partial.len();
                tokens <= most
            });
            let n = fits.count().max(1);
            let chunk = &requests[first..first + n];
            samples.extend(self.sample_chunk(chunk, params, first, &mut open)?);
            first += n;
        }
        Ok(samples)
    }

    /// Samples requests that fit the engine at once; `first` is the number of the first of them.
    fn sample_chunk(
        &self,
        requests: &[SampleRequest],
        params: RolloutParams,
        first: usize,
        open: &mut OpenGroups<'_>,
    ) -> Result<Vec<SampledResponse>> {
        let submitted = requests.iter().map(|request| self.request(request, params)).collect();
        let terms = RequestParams { priority: Priority::Batch, ..RequestParams::default() };
        let mut ticket = self.host.engine.submit(submitted, terms).map_err(failed)?;
        let mut samples: Vec<SampledResponse> = requests.iter().map(SampleRequest::begun).collect();
        let mut take = |event: RequestEvent, open: &mut OpenGroups<'_>| -> Result<()> {
            match event {
                RequestEvent::Tokens { request, tokens } => {
                    samples[request].tokens.extend(tokens.iter().map(token));
                }
                RequestEvent::Done { request, result } => {
                    let sample = &mut samples[request];
                    sample.ended = has_ended(&result.map_err(failed)?.output);
                    let cut = requests[request].most.is_some_and(|most| most < params.max_tokens);
                    sample.interrupted = cut && !sample.ended;
                    open.complete(first + request);
                }
            }
            Ok(())
        };
        while open.wanted > 0 {
            let Some(event) = ticket.wait_next() else {
                break;
            };
            take(event, open)?;
        }
        // Events that arrived during the wait for the last one.
        while let Some(event) = ticket.try_next() {
            take(event, open)?;
        }
        Ok(samples)
    }

    fn request(&self, request: &SampleRequest, params: RolloutParams) -> Request {
        let partial: Vec<u32> = request.partial.iter().map(|token| token.id).collect();
        Request {
            token_ids: [&request.prompt[..], &partial].concat().into(),
            adapter: request.adapter.clone(),
            task: Task::Generate(Box::new(SamplingParams {
                max_tokens: request.limit(params),
                temperature: params.draws.temperature,
                top_p: params.draws.top_p,
                top_k: params.draws.top_k,
                min_p: params.draws.min_p,
                tempered_logprobs: params.draws.logit_scale().is_some(),
                seed: request.seed.unwrap_or(params.seed),
                stream: request.stream,
                stop_token_ids: self.encoder.stops().into(),
                stop: request.stop.clone(),
                logprobs: Some(0),
                resumed: partial.len(),
                ..SamplingParams::default()
            })),
        }
    }

    /// Decodes a sample into a rollout that has no reward yet.
    ///
    /// # Errors
    /// Tokens that the tokenizer refuses.
    pub fn rollout(&self, sample: SampledResponse) -> Result<Rollout> {
        Ok(Rollout {
            text: match &sample.observations[..] {
                [] => self.text(&sample.tokens)?,
                observations => self.located(&sample.tokens, observations)?.0,
            },
            truncated: !sample.ended,
            tokens: sample.tokens,
            observations: sample.observations,
            early_end: sample.early_end,
            scaffold: sample.scaffold,
            answer: None,
            reward: Err(match sample.early_end {
                Some(EarlyEnd::Tool(kind)) => kind,
                Some(EarlyEnd::Turns) | None => FailureKind::Internal,
            }),
            right: None,
            steps: None,
        })
    }

    /// The text of a response that scorers read, and the code points of each sampled token in it. Bytes
    /// of an incomplete character belong to the token that completes it.
    ///
    /// # Errors
    /// Tokens that the tokenizer refuses.
    pub fn located(
        &self,
        tokens: &[Token],
        observations: &[Observation],
    ) -> Result<(String, Vec<Range<usize>>)> {
        let (mut text, mut n) = (String::new(), 0);
        let mut places: Vec<Range<usize>> = Vec::with_capacity(tokens.len());
        let mut add = |piece: &str| {
            text.push_str(piece);
            let begin = n;
            n += piece.chars().count();
            begin..n
        };
        let ends =
            observations.iter().map(|observation| (observation.at, Some(&*observation.text)));
        let mut begin = 0;
        for (end, observed) in ends.chain([(tokens.len(), None)]) {
            let mut stream = self.encoder.tokenizer().decode_stream(true);
            for token in &tokens[begin..end] {
                places.push(add(&stream.step(token.id)?));
            }
            let rest = add(&stream.finish()?);
            if let Some(last) = places.last_mut().filter(|_| end > begin) {
                last.end = rest.end;
            }
            begin = end;
            add(match (self.scored, observed) {
                (_, None) => "",
                (ScoredText::Written, Some(_)) => "\n",
                (ScoredText::Transcript, Some(observed)) => observed,
            });
        }
        Ok((text, places))
    }

    /// The text of sampled tokens, without special tokens.
    ///
    /// # Errors
    /// Tokens that the tokenizer refuses.
    pub fn text(&self, tokens: &[Token]) -> Result<String> {
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        Ok(self.encoder.tokenizer().decode(&ids, true)?)
    }
}

fn failed(error: impl Display) -> TrainError {
    TrainError::Engine(error.to_string())
}

fn token(sampled: &SampledToken) -> Token {
    Token { id: sampled.token_id, logprob: sampled.logprob, revision: sampled.revision }
}

/// Groups with missing responses.
struct OpenGroups<'a> {
    groups: &'a [usize],
    /// Number of missing responses of each group.
    missing: Vec<usize>,
    /// Number of groups still to complete.
    wanted: usize,
}

impl OpenGroups<'_> {
    fn new(groups: &[usize], enough: usize) -> OpenGroups<'_> {
        let n = groups.iter().max().map_or(0, |most| most + 1);
        let mut missing = vec![0; n];
        for group in groups {
            missing[*group] += 1;
        }
        OpenGroups { groups, missing, wanted: enough }
    }

    fn complete(&mut self, request: usize) {
        let missing = &mut self.missing[self.groups[request]];
        *missing -= 1;
        if *missing == 0 {
            self.wanted = self.wanted.saturating_sub(1);
        }
    }
}

/// Whether a response ended by itself, and not at its length.
fn has_ended(output: &TaskOutput) -> bool {
    match output {
        TaskOutput::Rows(_) => false,
        TaskOutput::Tokens { finish, .. } => match finish {
            FinishReason::StopToken(_) | FinishReason::StopText(_) | FinishReason::Complete => true,
            FinishReason::Length => false,
        },
    }
}
