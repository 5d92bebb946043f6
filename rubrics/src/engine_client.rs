//! Submits requests to engines, and work to the pool, for one call of [`crate::score`].
//!
//! The requests of a call wait for each other instead of filling the queue of the engine, end with
//! the deadline of the call, and are counted into the [`Trace`] of the outcome they are for.

mod recorder;

use std::borrow::Cow;
use std::sync::Arc;

use engine::{
    Constraint, Engine, FinishReason, Grammar, Output, Request, RequestOutput, RequestParams,
    SampledToken, SamplingParams, SubmitError, Task, TaskOutput, TextStream,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Semaphore, oneshot};
use verifiers::Reason;

use crate::bounds::WorkBounds;
use crate::models::{Models, Prompted, Served};
use crate::outcome::{Failure, FailureKind, ModelText, Trace};
use crate::pool::{VerifierPool, catch_panic, check_deadline};
use crate::{Priority, ScoreOptions};

pub use recorder::{RecordedRequest, RequestRecorder};

/// A call has at most one in this many of the queue's tokens in flight, so that a call of ten
/// thousand inputs leaves room for others and is not refused for its size.
const QUEUE_SHARE: usize = 4;

/// Jobs that a call has in the pool for each thread: one runs, one waits. More would stand in the
/// way of other calls.
const JOBS_PER_THREAD: usize = 2;

/// Resources of scoring.
#[derive(Debug)]
pub struct Tools {
    /// Threads for verifiers, and for rendering and encoding prompts.
    pub pool: VerifierPool,
    /// The served models.
    pub models: Arc<dyn Models>,
    /// Records every engine request, for benchmarks; `None` to record nothing.
    pub recorder: Option<Arc<RequestRecorder>>,
}

/// Access of one call to engines and worker threads.
pub(crate) struct EngineClient<'a> {
    tools: &'a Tools,
    options: ScoreOptions,
    /// Shared with the jobs of the call on worker threads.
    bounds: Arc<WorkBounds>,
    /// Permits for jobs in the pool's queue.
    jobs: Semaphore,
    /// Permits for tokens in the queues of engines.
    flow: Semaphore,
    flow_tokens: u32,
    /// Grammars compiled for the call.
    compiled: Mutex<Vec<Compiled>>,
}

/// A grammar compiled for the vocabulary of a model.
struct Compiled {
    /// The model's name.
    host: Arc<str>,
    grammar: Grammar,
    /// Never advanced; generations use forks of it.
    constraint: Box<dyn Constraint>,
}

/// Sampling parameters of one text.
#[derive(Debug, Clone)]
pub(crate) struct Writing {
    /// Maximum number of tokens.
    pub(crate) max_tokens: usize,
    /// 0 for greedy decoding.
    pub(crate) temperature: f32,
    /// Nucleus sampling: the total probability of the tokens sampled from.
    pub(crate) top_p: f32,
    /// Number of likeliest tokens sampled from; `None` for all.
    pub(crate) top_k: Option<usize>,
    /// Random stream; with [`ScoreOptions::seed`] it decides every random number.
    pub(crate) stream: u64,
    /// Number of likeliest tokens reported with each token; `None` for none.
    pub(crate) logprobs: Option<usize>,
    /// Constraint on the text; `None` without one.
    pub(crate) grammar: Option<Grammar>,
}

/// A generated text.
#[derive(Debug, Clone)]
pub(crate) struct GeneratedText {
    /// The text, without special tokens.
    pub(crate) text: String,
    /// Its tokens, the stop token included.
    pub(crate) tokens: Vec<SampledToken>,
    /// Whether it ended before its token limit.
    pub(crate) is_whole: bool,
}

/// Random stream of the `sample`th continuation of a prompt. It depends on the tokens of the prompt
/// alone, so results do not depend on other requests.
pub(crate) fn stream_of(prompt: &Prompted, sample: u64) -> u64 {
    let mut hash = Sha256::new_with_prefix(sample.to_le_bytes());
    for id in prompt.token_ids.iter() {
        hash.update(id.to_le_bytes());
    }
    let digest = hash.finalize();
    let first = digest.first_chunk().expect("a digest has 32 bytes");
    u64::from_le_bytes(*first)
}

impl<'a> EngineClient<'a> {
    /// A client for one call; `queue_tokens` is the smallest queue of the engines it may use.
    pub(crate) fn new(tools: &'a Tools, options: ScoreOptions, queue_tokens: usize) -> Self {
        let share = u32::try_from(queue_tokens / QUEUE_SHARE).unwrap_or(u32::MAX >> 4);
        let flow_tokens = share.clamp(1, u32::MAX >> 4);
        Self {
            tools,
            options,
            bounds: Arc::new(WorkBounds::new(&options)),
            jobs: Semaphore::new(tools.pool.threads().max(1) * JOBS_PER_THREAD),
            flow: Semaphore::new(flow_tokens as usize),
            flow_tokens,
            compiled: Mutex::default(),
        }
    }

    /// Options of the call.
    pub(crate) fn options(&self) -> &ScoreOptions {
        &self.options
    }

    /// Bounds of the call's work.
    pub(crate) fn bounds(&self) -> &Arc<WorkBounds> {
        &self.bounds
    }

    /// Finds a served model or adapter.
    ///
    /// # Errors
    /// [`FailureKind::Refused`] if there is none: an adapter may have been unloaded.
    pub(crate) fn served(&self, name: &str) -> Result<Served, Failure> {
        self.tools.models.find(name).ok_or_else(|| {
            let detail = format!("no model or adapter '{name}' is being served");
            Failure::refused("model_not_served", detail)
        })
    }

    /// Runs CPU work on the worker threads.
    ///
    /// # Errors
    /// A full queue, a deadline that passed before the work began, and a panic of the work.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = self.jobs.acquire().await;
        let _queued = permit.expect("the semaphore is never closed");
        let (reply, answer) = oneshot::channel();
        let deadline = self.options.deadline;
        let job = move || {
            if reply.is_closed() {
                return;
            }
            let outcome = check_deadline(deadline).and_then(|()| catch_panic(work));
            // A dropped receiver is a cancelled call.
            let _ = reply.send(outcome);
        };
        let submitted = self.tools.pool.submit(self.options.priority, Box::new(job));
        submitted.map_err(|_| Failure::queue_full())?;
        answer.await.unwrap_or_else(|_| Err(Failure::internal()))
    }

    /// Runs prefills and returns the outputs of the requested rows, one list for each sequence, in
    /// order.
    ///
    /// # Errors
    /// The first failure of any sequence.
    pub(crate) async fn read(
        &self,
        served: &Served,
        sequences: Vec<(Arc<[u32]>, Task)>,
        trace: &mut Trace,
    ) -> Result<Vec<Vec<Output>>, Failure> {
        let outputs = self.submit(served, sequences, trace).await?;
        let rows = outputs.into_iter().map(|answer| match answer.output {
            TaskOutput::Rows(outputs) => Ok(outputs),
            TaskOutput::Tokens { .. } => Err(wrong_output()),
        });
        rows.collect()
    }

    /// Generates a continuation of each prompt with its parameters.
    ///
    /// # Errors
    /// The first failure of any prompt, such as a constraint that cannot be compiled. A text that
    /// was cut at its limit is no failure here; see [`GeneratedText::is_whole`].
    pub(crate) async fn write(
        &self,
        served: &Served,
        prompts: &[(&Prompted, Writing)],
        trace: &mut Trace,
    ) -> Result<Vec<GeneratedText>, Failure> {
        let mut sequences = Vec::with_capacity(prompts.len());
        for (prompt, writing) in prompts {
            let sampling = self.sampling(served, writing).await?;
            let task = Task::Generate(Box::new(sampling));
            sequences.push((prompt.token_ids.clone(), task));
        }
        let outputs = self.submit(served, sequences, trace).await?;
        let texts = outputs.into_iter().map(|answer| generated_text(served, answer));
        texts.collect()
    }

    /// A constraint in its initial state. Each grammar is compiled once a call; concurrent users
    /// wait for it and get a fork.
    async fn constraint(
        &self,
        served: &Served,
        grammar: &Grammar,
    ) -> Result<Box<dyn Constraint>, Failure> {
        let name = &served.host.name;
        let mut compiled = self.compiled.lock().await;
        let known = compiled.iter().find(|known| known.host == *name && known.grammar == *grammar);
        if let Some(known) = known {
            return Ok(known.constraint.fork());
        }
        let (host, wanted) = (served.host.clone(), grammar.clone());
        let compile = move || match host.vocabulary() {
            Ok(vocabulary) => vocabulary.compile(&wanted).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let constraint = self.run(compile).await?;
        let constraint =
            constraint.map_err(|what| Failure::refused("constraint_unusable", what))?;
        compiled.push(Compiled {
            host: name.clone(),
            grammar: grammar.clone(),
            constraint: constraint.fork(),
        });
        Ok(constraint)
    }

    async fn sampling(
        &self,
        served: &Served,
        writing: &Writing,
    ) -> Result<SamplingParams, Failure> {
        let constraint = match &writing.grammar {
            None => None,
            Some(grammar) => Some(self.constraint(served, grammar).await?),
        };
        Ok(SamplingParams {
            max_tokens: writing.max_tokens,
            temperature: writing.temperature,
            top_p: writing.top_p,
            top_k: writing.top_k,
            seed: self.options.seed,
            stream: writing.stream,
            logprobs: writing.logprobs,
            stop_token_ids: served.host.tokenizer.eos_ids().into(),
            constraint,
            ..SamplingParams::default()
        })
    }

    async fn submit(
        &self,
        served: &Served,
        sequences: Vec<(Arc<[u32]>, Task)>,
        trace: &mut Trace,
    ) -> Result<Vec<RequestOutput>, Failure> {
        trace.model = Some(served.host.digest.clone());
        if let Some(adapter) = &served.adapter {
            trace.adapter = Some(adapter.digest.clone());
        }
        let request = |(token_ids, task)| Request {
            token_ids,
            adapter: served.adapter.as_ref().map(|adapter| adapter.name.clone()),
            task,
        };
        let mut rest = sequences.into_iter().map(request).peekable();
        let mut outputs = Vec::with_capacity(rest.len());
        while let Some(first) = rest.next() {
            let most = self.flow_tokens as usize;
            let mut tokens = first.token_ids.len();
            let mut wave = vec![first];
            while let Some(next) = rest.next_if(|next| tokens + next.token_ids.len() <= most) {
                tokens += next.token_ids.len();
                wave.push(next);
            }
            for answer in self.wave(&served.host.engine, wave, tokens).await? {
                check_adapter(served, &answer)?;
                trace.used(&answer.usage);
                trace.saw_revisions(served.host.is_live().then(|| answer.revisions()));
                outputs.push(answer);
            }
        }
        Ok(outputs)
    }

    async fn wave(
        &self,
        engine: &Engine,
        requests: Vec<Request>,
        tokens: usize,
    ) -> Result<Vec<RequestOutput>, Failure> {
        let share = u32::try_from(tokens).unwrap_or(u32::MAX);
        let permits = self.flow.acquire_many(share.min(self.flow_tokens)).await;
        let _held = permits.expect("the semaphore is never closed");
        let params = RequestParams {
            priority: self.options.priority,
            deadline: self.options.deadline,
            client: self.options.client,
            ..RequestParams::default()
        };
        let recorder = self.tools.recorder.as_ref();
        let mut recorded: Vec<RecordedRequest> = match recorder {
            None => Vec::new(),
            Some(_) => requests.iter().map(RecordedRequest::of).collect(),
        };
        let ticket = match self.options.priority {
            Priority::Interactive => engine.submit(requests, params),
            // Batch work waits for capacity; interactive work fails if there is none.
            Priority::Batch => engine.submit_batch(requests, params).await,
        };
        let ticket = ticket.map_err(submit_failure)?;
        let outputs = ticket.all().await.into_iter();
        let outputs: Vec<RequestOutput> = outputs
            .map(|answer| answer.map_err(request_failure))
            .collect::<Result<_, Failure>>()?;
        if let Some(recorder) = recorder {
            for (recorded, answer) in recorded.iter_mut().zip(&outputs) {
                recorded.output_tokens = answer.usage.output_tokens;
                recorded.computed_tokens = answer.usage.computed_tokens;
            }
            recorder.add(recorded);
        }
        Ok(outputs)
    }
}

impl Drop for EngineClient<'_> {
    /// Ends the jobs that still run: nothing waits for them.
    fn drop(&mut self) {
        self.bounds.cancel();
    }
}

/// Decodes the text of a generation.
fn generated_text(served: &Served, answer: RequestOutput) -> Result<GeneratedText, Failure> {
    let TaskOutput::Tokens { tokens, finish } = answer.output else {
        return Err(wrong_output());
    };
    let stream = TextStream::new(
        served.host.tokenizer.clone(),
        &SamplingParams {
            stop_token_ids: served.host.tokenizer.eos_ids().into(),
            ..SamplingParams::default()
        },
    );
    let text = stream.full_text(&tokens, &finish).map_err(|error| {
        let reason = Reason::with("text_not_decoded", error.to_string());
        Failure::new(FailureKind::Internal, reason)
    })?;
    Ok(GeneratedText {
        text,
        tokens,
        is_whole: match finish {
            FinishReason::StopToken(_) | FinishReason::StopText(_) | FinishReason::Complete => true,
            FinishReason::Length => false,
        },
    })
}

impl GeneratedText {
    /// The text as an output of an evaluation.
    pub(crate) fn output(&self, role: impl Into<Cow<'static, str>>) -> ModelText {
        let finish = if self.is_whole { "stop" } else { "length" };
        ModelText { role: role.into(), text: self.text.clone(), finish }
    }

    /// The text, if it was not cut at its token limit.
    ///
    /// # Errors
    /// [`FailureKind::Truncated`].
    pub(crate) fn whole(&self) -> Result<&str, Failure> {
        if self.is_whole {
            return Ok(&self.text);
        }
        let detail = format!(
            "the model's text was cut after {} tokens; raise max_tokens",
            self.tokens.len()
        );
        let reason = Reason::with("generation_cut", detail);
        Err(Failure::new(FailureKind::Truncated, reason))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn submit_failure(error: SubmitError) -> Failure {
    let detail = error.to_string();
    match error {
        SubmitError::Overloaded { .. } => {
            let reason = Reason::with("engine_queue_full", detail);
            Failure::new(FailureKind::Overloaded, reason)
        }
        SubmitError::ShuttingDown => {
            Failure::new(FailureKind::Overloaded, Reason::with("draining", detail))
        }
        SubmitError::TooLong { .. } => Failure::refused("too_long", detail),
        // It was found before: it was unloaded meanwhile, and may come back.
        SubmitError::UnknownAdapter { .. } => {
            Failure::new(FailureKind::Overloaded, Reason::with("adapter_replaced", detail))
        }
        SubmitError::Invalid { .. } => {
            Failure::new(FailureKind::Internal, Reason::with("work_invalid", detail))
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn request_failure(failure: engine::RequestError) -> Failure {
    let detail = failure.to_string();
    let (kind, code) = match failure {
        engine::RequestError::Deadline => (FailureKind::Timeout, "deadline_passed"),
        engine::RequestError::Model(_) => (FailureKind::Internal, "model_failed"),
        engine::RequestError::NotFinite { .. } => (FailureKind::Internal, "not_finite"),
        engine::RequestError::Constraint(_) => (FailureKind::ParseError, "constraint_unsatisfied"),
        engine::RequestError::AdapterGone(_) => (FailureKind::Overloaded, "adapter_replaced"),
        engine::RequestError::ShuttingDown => (FailureKind::Overloaded, "draining"),
    };
    Failure::new(kind, Reason::with(code, detail))
}

/// Fails if another adapter than the one that was found computed an output: its name was given to
/// new content meanwhile. The digest that a score names must be the one that computed it, and the
/// outputs of two adapters must not become one score. The next attempt finds the new adapter.
fn check_adapter(served: &Served, answer: &RequestOutput) -> Result<(), Failure> {
    let expected = served.adapter.as_ref().map(|adapter| &adapter.digest);
    if answer.adapter.as_ref() == expected {
        return Ok(());
    }
    let detail = format!("the adapter '{}' was replaced meanwhile; try again", served.name());
    Err(Failure::new(FailureKind::Overloaded, Reason::with("adapter_replaced", detail)))
}

fn wrong_output() -> Failure {
    let detail = "the engine gave something other than was asked for";
    Failure::new(FailureKind::Internal, Reason::with("internal_error", detail))
}

#[cfg(test)]
mod tests;
