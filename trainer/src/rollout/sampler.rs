//! Rollouts by the engine, on the weights in training.
//!
//! The engine serves the policy's detached view, so that an optimiser step updates the sampler as
//! well: no weight is copied, and a sampled token's log-probability has the bits that the training
//! forward computes for it. Tokens are sampled at temperature 1 from the full distribution, because
//! only then is the probability in the loss the one that they were drawn with.

use std::fmt::Display;
use std::sync::Arc;

use engine::{
    FinishReason, Host, Priority, Request, RequestEvent, RequestParams, SampledToken,
    SamplingParams, Task, TaskOutput,
};
use rubrics::FailureKind;

use crate::encode::Encoder;
use crate::error::{Result, TrainError};
use crate::item::{Rollout, Token, TrainingItem};

/// Samples responses with the served policy.
#[derive(Clone, Debug)]
pub struct Sampler {
    host: Arc<Host>,
    encoder: Encoder,
}

/// A response to sample.
#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// The item's prompt.
    pub prompt: Arc<[u32]>,
    /// The adapter that is sampled; `None` is the model itself.
    pub adapter: Option<Arc<str>>,
    /// Seeds the draws of this response together with [`RolloutParams::seed`].
    pub stream: u64,
    /// Tokens of this response that were sampled before it was interrupted.
    pub partial: Vec<Token>,
    /// Number of tokens, `partial` included, after which it is interrupted; `None` samples to its
    /// end.
    pub most: Option<usize>,
}

impl SampleRequest {
    /// Requests a response from its first token.
    pub fn new(prompt: Arc<[u32]>, adapter: Option<Arc<str>>, stream: u64) -> SampleRequest {
        SampleRequest { prompt, adapter, stream, partial: Vec::new(), most: None }
    }

    /// The part of the response that was sampled before.
    fn begun(&self) -> SampledResponse {
        SampledResponse { tokens: self.partial.clone(), ended: false, interrupted: true }
    }
}

/// Parameters of sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolloutParams {
    /// Seeds all draws, together with the stream of a request.
    pub seed: u64,
    /// Maximum tokens of a response.
    pub max_tokens: usize,
    /// 1 for training; 0 takes the most likely token, for evaluation.
    pub temperature: f32,
}

/// A sampled response.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledResponse {
    /// Its tokens, the one that ended it included.
    pub tokens: Vec<Token>,
    /// Whether it is complete; otherwise it was cut at its length, or interrupted.
    pub ended: bool,
    /// Whether it was interrupted and can be resumed.
    pub interrupted: bool,
}

impl Sampler {
    /// Samples from a served policy; `thinking` as for [`Encoder::new`].
    ///
    /// # Errors
    /// A tokenizer without an end-of-text token.
    pub fn new(host: Arc<Host>, thinking: bool) -> Result<Sampler> {
        Ok(Sampler { encoder: Encoder::new(host.tokenizer.clone(), thinking)?, host })
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
                max_tokens: request.most.unwrap_or(params.max_tokens),
                temperature: params.temperature,
                seed: params.seed,
                stream: request.stream,
                stop_token_ids: self.encoder.stops().into(),
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
            text: self.text(&sample.tokens)?,
            truncated: !sample.ended,
            tokens: sample.tokens,
            answer: None,
            reward: Err(FailureKind::Internal),
            right: None,
            steps: None,
        })
    }

    /// The text of a response, without special tokens.
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
