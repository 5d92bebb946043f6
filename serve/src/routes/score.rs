//! `POST /v1/score`: the life of a scoring request at the edge.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::header::ContentType;
use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, post, web};
use openapi::{ErrorBody, MAX_INPUTS, Priority, ScoreRequest, ScoreResponse, ScoreResult, Usage};
use rubrics::{Ask, Scorer};

use crate::body;
use crate::convert::{self, Echo, Frame};
use crate::error::{ApiError, Code};
use crate::metrics::Stage;
use crate::middleware::{Arrived, RequestId, StageTimes};
use crate::state::{State, unix_seconds};
use crate::verdicts::{self, Answered, Answering};

/// Scores a batch of inputs with one scorer.
///
/// The reply is 200 whenever the request was well formed: each result has a status of its own, and
/// only the status `ok` carries a score.
#[utoipa::path(
    tag = "scoring",
    request_body = ScoreRequest,
    responses(
        (status = 200, description = "One result for each input, in order.", body = ScoreResponse),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 401, description = "No valid API key.", body = ErrorBody),
        (status = 404, description = "No such scorer; near names are listed.", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time.", body = ErrorBody),
        (status = 413, description = "The body is too large.", body = ErrorBody),
        (status = 422, description = "JSON of the wrong shape; `param` is its path.", body = ErrorBody),
        (status = 500, description = "A fault of the server.", body = ErrorBody),
        (status = 503, description = "Overloaded or draining.", body = ErrorBody,
         headers(("retry-after" = u64, description = "Seconds to wait."))),
        (status = 504, description = "The deadline passed before any work.", body = ErrorBody),
    )
)]
#[post("/v1/score")]
pub(crate) async fn score(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, ApiError> {
    let Arrived(arrived) = *request
        .extensions()
        .get()
        .expect("observe gives every request one");
    let (bytes, mut permit) = body::read(&request, payload, &state).await?;
    let read = arrived.elapsed();
    let parsing = Instant::now();
    let asked: ScoreRequest = body::parse(bytes).await?;
    check_count(asked.inputs.len())?;
    let scorer = find(&state, &asked.model)?;
    let parse = parsing.elapsed();

    let deadline = deadline(&state, &asked, arrived);
    let patience = deadline.saturating_duration_since(Instant::now());
    if patience.is_zero() {
        return Err(deadline_passed());
    }
    let refused = |refused: crate::admit::Refused| ApiError::overloaded(refused.retry_after);
    permit
        .add_items(asked.inputs.len(), patience)
        .map_err(refused)?;

    let ask = Ask {
        priority: match asked.options.priority {
            Priority::Interactive => rubrics::Priority::Interactive,
            Priority::Batch => rubrics::Priority::Batch,
        },
        deadline: Some(
            deadline
                .checked_sub(reply_margin(patience))
                .unwrap_or(deadline),
        ),
        explain: asked.options.explain,
        seed: asked.options.seed,
    };
    let (inputs, echoes): (Vec<_>, Vec<_>) = asked.inputs.into_iter().map(convert::input).unzip();
    let inputs: Vec<Arc<_>> = inputs.into_iter().map(Arc::new).collect();
    let mode = asked.options.cache;
    let answering = Answering {
        state: &state,
        scorer: &scorer,
        inputs: &inputs,
        ask,
        mode,
    };
    let answering = tokio::time::timeout(patience, answering.run());
    let answers = answering.await.map_err(|_| deadline_passed())?;
    if verdicts::all_too_late(&answers) {
        return Err(deadline_passed());
    }
    let times = Times {
        read,
        parse,
        replying: Instant::now(),
    };
    // The pace that admission learns is that of the verifiers: engines count their own tokens, and
    // a judge's seconds must not make the next thousand verdicts look late.
    if !scorer.asks_models() {
        permit.answered();
    }
    let judged = Judged {
        scorer: &scorer,
        echoes,
        answers,
    };
    reply(&request, &state, judged, &times).await
}

/// What is kept back of the time that is left, so that the reply itself comes before the deadline.
fn reply_margin(left: Duration) -> Duration {
    Duration::from_millis(5).min(left / 4)
}

/// Stages that are over when the reply is made.
struct Times {
    read: Duration,
    parse: Duration,
    replying: Instant,
}

fn check_count(count: usize) -> Result<(), ApiError> {
    if (1..=MAX_INPUTS).contains(&count) {
        return Ok(());
    }
    let message = format!("inputs: {count} inputs; a request takes 1 to {MAX_INPUTS}");
    Err(ApiError::new(Code::InvalidBody, message).at("inputs"))
}

/// The scorer of this name, or what the model or adapter of this name is by itself.
fn find(state: &State, name: &str) -> Result<Arc<Scorer>, ApiError> {
    if let Some(scorer) = state.registry.get(name) {
        return Ok(scorer.clone());
    }
    let not_found = |message| ApiError::new(Code::ScorerNotFound, message).at("model");
    if let Some(served) = state.tools.models.find(name) {
        let native = Scorer::native(&served).map(Arc::new);
        return native.map_err(|lacks| {
            not_found(format!(
                "'{name}' is a model and no scorer: {lacks}; a [[scorer]] of the configuration says how to ask it"
            ))
        });
    }
    let near = near(state, name);
    let hint = if near.is_empty() {
        "GET /v1/models lists the scorers".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    // The name is echoed as Rust quotes it, so that control characters in it stay harmless.
    let shown: String = name.chars().take(64).collect();
    Err(not_found(format!("no scorer {shown:?}; {hint}")))
}

/// Scorers, and models that are scorers by themselves, of nearly this name.
fn near(state: &State, name: &str) -> Vec<String> {
    let scorers = state.registry.near(name).into_iter().map(str::to_owned);
    let models = state.tools.models.near(name).into_iter();
    let scoring = models.filter(|model| {
        let served = state.tools.models.find(model);
        served.is_some_and(|served| Scorer::native(&served).is_ok())
    });
    scorers
        .chain(scoring.map(|model| model.to_string()))
        .collect()
}

/// The client's deadline, at most the server's, counted from the arrival of the request.
fn deadline(state: &State, asked: &ScoreRequest, arrived: Instant) -> Instant {
    let limit = state.config.deadline;
    let own = asked.options.deadline_ms.map(Duration::from_millis);
    arrived + own.unwrap_or(limit).min(limit)
}

fn deadline_passed() -> ApiError {
    ApiError::new(
        Code::DeadlinePassed,
        "the deadline passed before the work was done",
    )
}

/// A request whose inputs all have their answers.
struct Judged<'s> {
    scorer: &'s Scorer,
    echoes: Vec<Echo>,
    answers: Vec<Answered>,
}

async fn reply(
    request: &HttpRequest,
    state: &State,
    judged: Judged<'_>,
    times: &Times,
) -> Result<HttpResponse, ApiError> {
    let Judged {
        scorer,
        echoes,
        answers,
    } = judged;
    let id = request
        .extensions()
        .get::<RequestId>()
        .map(|id| id.0.clone());
    let body = ScoreResponse {
        id: format!("score-{}", id.unwrap_or_default()),
        object: "score".to_owned(),
        created: unix_seconds(),
        model: scorer.name().to_owned(),
        results: results(scorer, echoes, &answers),
        usage: Usage::default(),
    };
    count(state, scorer.name(), &body.results, &answers);
    let bytes = to_json(body).await?;
    let stages = times.report(state, scorer.name(), &answers);
    request.extensions_mut().insert(StageTimes(stages));
    Ok(HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(bytes))
}

/// Above this many results a reply is written on a blocking thread, as large bodies are read.
const INLINE_RESULTS: usize = 1_000;

async fn to_json(body: ScoreResponse) -> Result<Vec<u8>, ApiError> {
    let bytes = if body.results.len() > INLINE_RESULTS {
        let writing = web::block(move || serde_json::to_vec(&body)).await;
        writing.map_err(ApiError::internal)?
    } else {
        serde_json::to_vec(&body)
    };
    bytes.map_err(ApiError::internal)
}

impl Times {
    /// Records the stages of the request, and names them for the `server-timing` header.
    fn report(&self, state: &State, scorer: &str, answers: &[Answered]) -> String {
        let queue = answers.iter().map(|answer| answer.queue).max();
        let exec: Duration = answers.iter().map(|answer| answer.exec).sum();
        let reply = self.replying.elapsed();
        let own = [
            (Stage::Read, self.read),
            (Stage::Parse, self.parse),
            (Stage::Reply, reply),
        ];
        for (stage, time) in own {
            state.metrics.stage(scorer, stage, [time]);
        }
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        format!(
            "read;dur={:.3}, parse;dur={:.3}, queue;dur={:.3}, exec;dur={:.3}, reply;dur={:.3}",
            millis(self.read),
            millis(self.parse),
            millis(queue.unwrap_or_default()),
            millis(exec),
            millis(reply),
        )
    }
}

fn results(scorer: &Scorer, echoes: Vec<Echo>, answers: &[Answered]) -> Vec<ScoreResult> {
    let digest = scorer.digest_text();
    let pairs = echoes.into_iter().zip(answers).enumerate();
    let result = |(index, (echo, answer)): (usize, (Echo, &Answered))| {
        let frame = Frame {
            scorer_digest: &digest,
            queue: answer.queue,
            exec: answer.exec,
            cached: answer.cached,
        };
        convert::result(index, echo, &answer.outcome, frame)
    };
    pairs.map(result).collect()
}

fn count(state: &State, name: &str, results: &[ScoreResult], answers: &[Answered]) {
    let mut counts: Vec<(&'static str, u64)> = Vec::new();
    for result in results {
        let status = convert::status_name(result.status);
        match counts.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => counts.push((status, 1)),
        }
    }
    for (status, count) in counts {
        state.metrics.verdicts(name, status, count);
    }
    state.metrics.stage(
        name,
        Stage::Queue,
        answers.iter().map(|answer| answer.queue),
    );
    state
        .metrics
        .stage(name, Stage::Exec, answers.iter().map(|answer| answer.exec));
}
