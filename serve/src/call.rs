//! A request from its parsed body to its reply, with the permit that it holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::header::ContentType;
use actix_web::web::{Bytes, Payload};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use openapi::{BodyError, Options};
use rubrics::{Input, Priority, ScoreOptions, Scorer};
use serde::Serialize;
use traces::Attributes;

use crate::admit::{AtLimit, HeldBytes, Permit};
use crate::blocking::blocking;
use crate::body::{self, INLINE_BYTES};
use crate::cached_score::{self, CachedOutcome, CachedScore};
use crate::caller::Caller;
use crate::convert;
use crate::encoding::{self, ClientWaits};
use crate::error::{ApiError, Code};
use crate::extensions::{Arrived, BatchLine, RequestId, StageTimes};
use crate::hosts::Served;
use crate::metrics::Stage;
use crate::request_trace::RequestTrace;
use crate::state::State;

/// A request whose body has been read.
pub(crate) struct Call<'r> {
    pub(crate) request: &'r HttpRequest,
    pub(crate) state: &'r State,
    bytes: Bytes,
    permit: Permit,
    arrived: Instant,
    read: Duration,
    parsing: Instant,
}

/// A scored request.
pub(crate) struct ScoredCall<'r> {
    pub(crate) scorer: Arc<Scorer>,
    pub(crate) answers: Vec<CachedOutcome>,
    request: &'r HttpRequest,
    state: &'r State,
    /// Held until the reply is made; `None` if admission does not learn from this kind of work.
    _permit: Option<Permit>,
    read: Duration,
    parse: Duration,
    /// When the body had been read, and when scoring began.
    began: [Instant; 2],
    replying: Instant,
    n_responses: usize,
}

impl<'r> Call<'r> {
    /// Reads the body within the server's limits.
    ///
    /// # Errors
    /// As [`body::read`].
    pub(crate) async fn begin(
        request: &'r HttpRequest,
        payload: Payload,
        state: &'r State,
    ) -> Result<Self, ApiError> {
        let Arrived(arrived) =
            *request.extensions().get().expect("observe gives every request one");
        let (bytes, permit) = body::read(request, payload, state).await?;
        Ok(Self {
            request,
            state,
            bytes,
            permit,
            arrived,
            read: arrived.elapsed(),
            parsing: Instant::now(),
        })
    }

    /// Parses the body; a large one on a blocking thread.
    ///
    /// # Errors
    /// 400 where the body is not JSON, 422 where it has the wrong shape, and those of
    /// [`encoding::hold`] where its values take more memory than there is.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        parse: impl FnOnce(&[u8]) -> Result<T, BodyError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let held = Arc::clone(self.permit.held());
        let parse = move |bytes: &[u8]| {
            encoding::hold(&held, body::value_bytes(bytes))?;
            parse(bytes).map_err(ApiError::body)
        };
        if self.bytes.len() <= INLINE_BYTES {
            return parse(&self.bytes);
        }
        let bytes = self.bytes.clone();
        blocking(move || parse(&bytes)).await.map_err(ApiError::internal)?
    }

    /// Returns the body as sent.
    pub(crate) fn body(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The length of the body in bytes.
    pub(crate) fn body_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the request id.
    pub(crate) fn id(&self) -> String {
        let extensions = self.request.extensions();
        let id = extensions.get::<RequestId>();
        id.map(|id| id.0.clone()).unwrap_or_default()
    }

    /// Returns the deadline of the server.
    pub(crate) fn deadline(&self) -> Instant {
        let own = self.arrived + self.state.config.deadline;
        BatchLine::of(self.request).map_or(own, |line| line.deadline)
    }

    /// Admits `items` inputs if they can be answered before `deadline`; returns the time left.
    ///
    /// # Errors
    /// 504 where no time is left, 503 at a limit of admission.
    pub(crate) fn admit(&mut self, items: usize, deadline: Instant) -> Result<Duration, ApiError> {
        let patience = deadline.saturating_duration_since(Instant::now());
        if patience.is_zero() {
            return Err(deadline_passed());
        }
        let refused = |refused: AtLimit| ApiError::overloaded(refused.retry_after);
        self.permit.add_items(items, patience).map_err(refused)?;
        Ok(patience)
    }

    /// Takes `bytes` more in hand: texts and tokens that are about to be made of the request.
    ///
    /// # Errors
    /// As [`encoding::hold`].
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), ApiError> {
        encoding::hold(self.held(), bytes)
    }

    /// The bytes of the request, for work that goes on when its client has left.
    pub(crate) fn held(&self) -> &Arc<HeldBytes> {
        self.permit.held()
    }

    /// Runs `work`, which encodes texts, on a blocking thread, once there is room for the longest.
    ///
    /// # Errors
    /// 504 past the deadline, and those of [`encoding::encode_aside`].
    pub(crate) async fn encode<T: Send + 'static>(
        &self,
        longest: usize,
        work: impl FnOnce(&ClientWaits) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let encoding = encoding::encode_aside(self.state, self.held(), longest, work);
        let encoded = tokio::time::timeout_at(self.deadline().into(), encoding).await;
        encoded.map_err(|_| deadline_passed())?
    }

    /// Returns when parsing began.
    pub(crate) fn parsing(&self) -> Instant {
        self.parsing
    }

    /// Returns the permit.
    pub(crate) fn into_permit(self) -> Permit {
        self.permit
    }

    /// Returns the times of reading, and of parsing up to now.
    pub(crate) fn times(&self) -> (Duration, Duration) {
        (self.read, self.parsing.elapsed())
    }

    /// Builds and counts the reply to work of an engine: `n_answers` sequences, begun at `working`.
    /// Metrics are labelled by model and not by adapter, since adapters come and go without bound.
    ///
    /// # Errors
    /// A reply that cannot be serialised, which is an internal error.
    pub(crate) fn read_reply(
        &self,
        served: &Served,
        (n_answers, working): (usize, Instant),
        body: impl Serialize,
    ) -> Result<HttpResponse, ApiError> {
        let (exec, replying) = (working.elapsed(), Instant::now());
        let bytes = serde_json::to_vec(&body).map_err(ApiError::internal)?;
        self.count_read(
            &served.host.name,
            n_answers,
            [working - self.parsing, exec, replying.elapsed()],
        );
        Ok(json(bytes))
    }

    /// Counts the work of an engine, and records the stages parsing, work and reply.
    pub(crate) fn count_read(&self, model: &str, n_answers: usize, times: [Duration; 3]) {
        let metrics = &self.state.metrics;
        metrics.verdicts(model, "ok", n_answers as u64);
        let [parse, exec, reply] = times;
        let stages = [
            (Stage::Read, "read", self.read),
            (Stage::Parse, "parse", parse),
            (Stage::Exec, "exec", exec),
            (Stage::Reply, "reply", reply),
        ];
        for (stage, _, time) in stages {
            metrics.stage(model, stage, [time]);
        }
        if let Some(trace) = RequestTrace::recorded(self.request) {
            let attributes = vec![
                ("gen_ai.request.model", model.into()),
                ("tribunal.answers", n_answers.into()),
            ];
            let mut from = self.parsing.checked_sub(self.read).unwrap_or(self.parsing);
            for (stage, label, time) in stages {
                let of_exec = if stage == Stage::Exec { attributes.clone() } else { Vec::new() };
                trace.stage(label, [from, from + time], of_exec);
                from += time;
            }
        }
        let times = StageTimes::of(stages.map(|(_, label, time)| (label, time)));
        self.request.extensions_mut().insert(times);
    }

    /// Scores inputs; one outcome for each, in order.
    ///
    /// # Errors
    /// 503 at a limit of admission, 504 if the deadline passed before any outcome.
    pub(crate) async fn score(
        mut self,
        scorer: Arc<Scorer>,
        inputs: &[Arc<Input>],
        options: &Options,
    ) -> Result<ScoredCall<'r>, ApiError> {
        let (read, parse) = self.times();
        let line = BatchLine::of(self.request);
        let limit = self.deadline();
        let own = options.deadline_ms.map(Duration::from_millis);
        let own = own.and_then(|time| self.arrived.checked_add(time));
        let deadline = own.map_or(limit, |own| own.min(limit));
        let responses = inputs.iter().map(|input| input.n_responses()).sum();
        let patience = self.admit(responses, deadline)?;
        let outcomes = responses.saturating_mul(OUTCOME_BYTES);
        self.hold(bytes_beside(&self.bytes, &scorer, inputs).saturating_add(outcomes))?;
        let priority = line.map_or(options.priority, |_| Priority::Batch);
        let queues = &self.state.scorer_queues;
        let _share = queues.enter(scorer.name(), responses, priority, patience).await?;
        let scoring = Instant::now();
        let patience = deadline.saturating_duration_since(scoring);
        let margin = reply_margin(patience);
        let score_options = ScoreOptions {
            priority,
            deadline: Some(deadline.checked_sub(margin).unwrap_or(deadline)),
            explain: options.explain,
            seed: options.seed,
            fuel: Some(self.state.config.request_fuel),
            client: Caller::new(self.request, deadline).client,
        };
        let answering = CachedScore {
            state: self.state,
            scorer: &scorer,
            inputs,
            options: score_options,
            mode: options.cache,
        };
        let answering = tokio::time::timeout(patience, answering.run());
        let answers = answering.await.map_err(|_| deadline_passed())?;
        if cached_score::all_timed_out(&answers) {
            return Err(deadline_passed());
        }
        // Batch lines are retried as a whole; interactive requests get a status per input.
        if line.is_some() && cached_score::any_overloaded(&answers) {
            return Err(ApiError::overloaded(self.state.admission.expected_wait()));
        }
        let replying = Instant::now();
        // Admission learns the pace of verifiers only: engines count their own tokens, and a
        // judge's seconds must not make the next thousand verdicts look late.
        let permit = if scorer.uses_models() {
            Some(self.permit)
        } else {
            self.permit.answered();
            None
        };
        Ok(ScoredCall {
            scorer,
            answers,
            request: self.request,
            state: self.state,
            _permit: permit,
            read,
            parse,
            began: [self.parsing, scoring],
            replying,
            n_responses: responses,
        })
    }
}

/// Bytes of the outcome of a response, with its place in the reply.
const OUTCOME_BYTES: usize = 512;

/// Bytes that judging inputs takes beside the body that they come from: texts that several inputs
/// or responses share are read once for each.
fn bytes_beside(body: &Bytes, scorer: &Scorer, inputs: &[Arc<Input>]) -> usize {
    let bytes = |input: &Arc<Input>| {
        if scorer.uses_models() { input.prompt_bytes() } else { input.text_bytes() }
    };
    let read = inputs.iter().map(bytes).fold(0, usize::saturating_add);
    read.saturating_sub(body.len())
}

/// Above this many outcomes, a reply is serialised on a blocking thread, as large bodies are
/// parsed.
const INLINE_ANSWERS: usize = 1_000;

impl ScoredCall<'_> {
    /// Builds the reply, counts the request and records its stages.
    ///
    /// # Errors
    /// A reply that cannot be serialised, which is an internal error.
    pub(crate) async fn reply(
        self,
        body: impl Serialize + Send + 'static,
    ) -> Result<HttpResponse, ApiError> {
        self.reply_written(move || serde_json::to_vec(&body)).await
    }

    /// As [`Self::reply`], with JSON that `write` makes.
    pub(crate) async fn reply_written(
        self,
        write: impl FnOnce() -> serde_json::Result<Vec<u8>> + Send + 'static,
    ) -> Result<HttpResponse, ApiError> {
        let bytes = if self.answers.len() > INLINE_ANSWERS {
            blocking(write).await.map_err(ApiError::internal)?
        } else {
            write()
        };
        Ok(self.reply_bytes(bytes.map_err(ApiError::internal)?))
    }

    /// Builds the reply from finished JSON.
    pub(crate) fn reply_bytes(self, json: Vec<u8>) -> HttpResponse {
        self.count();
        let stages = self.stages();
        self.request.extensions_mut().insert(stages);
        self::json(json)
    }

    fn count(&self) {
        let name = self.scorer.name();
        let metrics = &self.state.metrics;
        let mut counts: Vec<(&'static str, u64)> = Vec::new();
        for answer in &self.answers {
            let status = convert::outcome_status_name(&answer.outcome);
            match counts.iter_mut().find(|(known, _)| *known == status) {
                Some((_, count)) => *count += 1,
                None => counts.push((status, 1)),
            }
        }
        for (status, count) in counts {
            metrics.verdicts(name, status, count);
        }
        let each = |time: fn(&CachedOutcome) -> Duration| self.answers.iter().map(time);
        metrics.stage(name, Stage::Queue, each(|answer| answer.queue));
        metrics.stage(name, Stage::Exec, each(|answer| answer.exec));
    }

    /// Records the stages of the request; returns them as the `server-timing` header.
    fn stages(&self) -> StageTimes {
        let queue = self.answers.iter().map(|answer| answer.queue).max();
        let exec: Duration = self.answers.iter().map(|answer| answer.exec).sum();
        let reply = self.replying.elapsed();
        let own = [(Stage::Read, self.read), (Stage::Parse, self.parse), (Stage::Reply, reply)];
        for (stage, time) in own {
            self.state.metrics.stage(self.scorer.name(), stage, [time]);
        }
        if let Some(trace) = RequestTrace::recorded(self.request) {
            self.trace(&trace);
        }
        StageTimes::of([
            ("read", self.read),
            ("parse", self.parse),
            ("queue", queue.unwrap_or_default()),
            ("exec", exec),
            ("reply", reply),
        ])
    }
}

impl ScoredCall<'_> {
    /// Records the stages as spans: the times of inputs from the first to the last.
    fn trace(&self, trace: &RequestTrace) {
        let [parsing, scoring] = self.began;
        let parsed = parsing + self.parse;
        trace.stage("read", [parsing.checked_sub(self.read).unwrap_or(parsing), parsing], vec![]);
        trace.stage("parse", [parsing, parsed], vec![]);
        let times = [parsed, self.replying];
        let parent = trace.stage("score", times, self.attributes());
        trace.stage("reply", [self.replying, Instant::now()], vec![]);
        let computed = || self.answers.iter().filter(|answer| !answer.cached);
        let Some(first) = computed().map(|answer| answer.queue).min() else {
            return;
        };
        let first = (scoring + first).min(self.replying);
        let last = computed().map(|answer| answer.queue + answer.exec).max().unwrap_or_default();
        trace.stage_of(parent, "queue", [parsed, first], vec![]);
        let scores = computed().filter_map(|answer| answer.outcome.as_ref().as_ref().ok());
        let usage = scores.filter_map(|score| Some(&score.evidence.trace.as_ref()?.usage));
        let (input, output) = usage.fold((0, 0), |(input, output), usage| {
            (input + usage.input_tokens, output + usage.output_tokens)
        });
        let mut attributes: Attributes = Vec::new();
        if input > 0 {
            attributes.push(("gen_ai.usage.input_tokens", input.into()));
            attributes.push(("gen_ai.usage.output_tokens", output.into()));
        }
        let last = (scoring + last).min(self.replying);
        trace.stage_of(parent, "exec", [first, last], attributes);
    }

    fn attributes(&self) -> Attributes {
        let n_cached = self.answers.iter().filter(|answer| answer.cached).count();
        let scored = self.answers.iter().filter(|answer| answer.outcome.is_ok()).count();
        vec![
            ("tribunal.scorer.name", self.scorer.name().into()),
            ("tribunal.scorer.kind", self.scorer.kind().into()),
            ("tribunal.scorer.digest", self.scorer.digest_text().as_str().into()),
            ("tribunal.inputs", self.answers.len().into()),
            ("tribunal.responses", self.n_responses.into()),
            ("tribunal.inputs.cached", n_cached.into()),
            ("tribunal.inputs.scored", scored.into()),
        ]
    }
}

/// Returns the time to reserve for writing the reply before the deadline.
fn reply_margin(left: Duration) -> Duration {
    Duration::from_millis(5).min(left / 4)
}

/// Builds a JSON reply.
pub(crate) fn json(bytes: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(bytes)
}

/// Builds the 504 error of a passed deadline.
pub(crate) fn deadline_passed() -> ApiError {
    ApiError::new(Code::DeadlinePassed, "the deadline passed before the work was done")
}
