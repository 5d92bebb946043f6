//! Sequences without a common prefix, one per request, through a server in this process.
//!
//! Each request is a `POST /v1/completions` of one token after a prompt of token ids: the prompt
//! is run through the model and the vocabulary is read once, as the forward alone does with it.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use engine::{Capacity, Folder, Host, HostSpec, OutputSpec};
use models::kv::KvCache;
use serde::Serialize;
use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Background, Config, State};

use super::BenchEngineArgs;
use super::decode::need_vocabulary;
use super::figures::{Counts, FigureRow, Figures, float, median, unique_tokens};
use super::subject::{NO_QUEUE_LIMIT, Subject};
use scoring::error::RunError;

/// Requests at a time.
const CONCURRENCY: usize = 16;

/// Longer than any run.
const PATIENCE: Duration = Duration::from_hours(24);

/// Name of the model in requests.
const MODEL: &str = "model";

/// Figures of the workload.
#[derive(Debug, Serialize)]
pub(super) struct Http {
    concurrency: usize,
    requests: usize,
    sequence_tokens: usize,
    #[serde(flatten)]
    tokens: Counts,
    seconds: f64,
    requests_per_s: f64,
    raw_tokens_per_s: f64,
    /// In per cent of the forward's rate.
    percent_of_raw: f64,
    p50_ms: f64,
    max_ms: f64,
}

/// One round over HTTP.
struct HttpRound {
    seconds: f64,
    latencies: Vec<f64>,
    computed_tokens: usize,
    unique_tokens: usize,
}

impl Http {
    /// Runs the workload.
    pub(super) fn measure(args: &BenchEngineArgs, subject: &mut Subject) -> Result<Self, RunError> {
        need_vocabulary(subject)?;
        let (n, each) = if args.short { (8, 48) } else { (64, 256) };
        let server = start(args, subject)?;
        let url = format!("http://{}/v1/completions", server.address());
        let (mut rounds, mut raw) = (Vec::new(), Vec::new());
        for round in 0..=args.rounds {
            // A server's cache is shared by default: tokens are new each time.
            let sequences: Vec<Arc<[u32]>> =
                (0..n).map(|_| subject.random_tokens(each).into()).collect();
            if round == 0 {
                // Once with few requests and without the clock.
                ask_all(&url, &sequences[..1])?;
                continue;
            }
            rounds.push(ask_all(&url, &sequences)?);
            let mut seconds = 0.0;
            for batch in sequences.chunks(CONCURRENCY) {
                seconds += subject.forward(batch, &OutputSpec::Vocab)?.0;
            }
            raw.push(seconds);
        }
        server.stop().map_err(|error| RunError::Failed(format!("the server failed: {error}")))?;
        let of = |of: fn(&HttpRound) -> f64| median(&rounds.iter().map(of).collect::<Vec<_>>());
        let (seconds, total) = (of(|round| round.seconds), n * each);
        let latencies: Vec<f64> = rounds.iter().flat_map(|round| round.latencies.clone()).collect();
        Ok(Self {
            concurrency: CONCURRENCY,
            requests: n,
            sequence_tokens: each,
            tokens: Counts {
                computed_tokens: rounds[0].computed_tokens,
                unique_tokens: rounds[0].unique_tokens,
                tokens_per_s: float(total) / seconds,
            },
            seconds,
            requests_per_s: float(n) / seconds,
            raw_tokens_per_s: float(total) / median(&raw),
            percent_of_raw: 100.0 * median(&raw) / seconds,
            p50_ms: 1e3 * median(&latencies),
            max_ms: 1e3 * latencies.iter().copied().fold(0.0, f64::max),
        })
    }
}

/// A server of this model alone, on a port that is free.
fn start(args: &BenchEngineArgs, subject: &Subject) -> Result<Background, RunError> {
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(error.to_string());
    let model = &subject.loaded.model;
    let kv_type = model.numerics.numerics.kv_type();
    let a_token = KvCache::bytes_per_token(&model.config, kv_type) as u64;
    let host = Host::load(&HostSpec {
        name: MODEL.to_owned(),
        folder: Folder::directory(&args.model),
        options: args.load_options(),
        device: subject.device.clone(),
        capacity: Capacity {
            kv_memory: a_token * u64::from(args.kv_tokens),
            batch_tokens: args.batch_tokens as usize,
            max_sequences: 1024,
            queue_tokens: NO_QUEUE_LIMIT,
        },
    });
    let host = host.map_err(|error| failed(&error))?;
    let config = Config { deadline: PATIENCE, ..Config::default() };
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| failed(&error))?;
    let state = State::new(config, rubrics::Registry::built_in(), Keys::default());
    let state = state.map_err(|error| failed(&error))?;
    let state = state.with_hosts(Hosts::new(vec![Arc::new(host)]));
    Background::start(listener, state).map_err(|error| failed(&error))
}

/// Sends a request for every sequence, over [`CONCURRENCY`] connections.
fn ask_all(url: &str, sequences: &[Arc<[u32]>]) -> Result<HttpRound, RunError> {
    let bodies: Vec<String> = sequences.iter().map(|ids| body(ids)).collect();
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    let hand = || -> Result<Vec<(f64, usize)>, RunError> {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = ureq::Agent::from(config.build());
        let mut answered = Vec::new();
        while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = Instant::now();
            let computed = post(&agent, url, body)?;
            answered.push((begin.elapsed().as_secs_f64(), computed));
        }
        Ok(answered)
    };
    let answered: Result<Vec<_>, RunError> = std::thread::scope(|scope| {
        let hands: Vec<_> = (0..CONCURRENCY).map(|_| scope.spawn(hand)).collect();
        let ended = hands.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|hand| hand.expect("a hand does not panic")).collect()
    });
    let answered: Vec<(f64, usize)> = answered?.into_iter().flatten().collect();
    Ok(HttpRound {
        seconds: begin.elapsed().as_secs_f64(),
        latencies: answered.iter().map(|(seconds, _)| *seconds).collect(),
        computed_tokens: answered.iter().map(|(_, computed)| computed).sum(),
        unique_tokens: unique_tokens(sequences.iter().map(|ids| &**ids)),
    })
}

fn body(token_ids: &[u32]) -> String {
    json!({"model": MODEL, "prompt": token_ids, "max_tokens": 1, "temperature": 0}).to_string()
}

/// Sends one request. Returns the number of computed prompt tokens.
fn post(agent: &ureq::Agent, url: &str, body: &str) -> Result<usize, RunError> {
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("{url}: {error}"));
    let sent = agent.post(url).content_type("application/json").send(body);
    let mut reply = sent.map_err(|error| failed(&error))?;
    let text = reply.body_mut().read_to_string().map_err(|error| failed(&error))?;
    if reply.status() != 200 {
        return Err(failed(&format!("{}: {text}", reply.status())));
    }
    let reply: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let usage = &reply["usage"];
    let count = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let cached = count(&usage["prompt_tokens_details"]["cached_tokens"]).unwrap_or(0);
    match count(&usage["prompt_tokens"]) {
        Some(prompt) => Ok(prompt.saturating_sub(cached)),
        None => Err(failed(&format!("a reply without usage: {text}"))),
    }
}

impl Figures for Http {
    fn rows(&self) -> Vec<FigureRow> {
        let plain = |name, figure| FigureRow::plain("http", name, figure);
        let share = self.percent_of_raw;
        vec![
            plain(
                "server",
                format!(
                    "{:.1} tokens/s, {:.2} requests/s",
                    self.tokens.tokens_per_s, self.requests_per_s
                ),
            ),
            plain("forward alone", format!("{:.1} tokens/s", self.raw_tokens_per_s)),
            plain("server / forward alone", format!("{share:.1} %")).against("90 %", share >= 90.0),
            plain("latency", format!("p50 {:.1} ms, at most {:.1} ms", self.p50_ms, self.max_ms)),
        ]
    }

    fn tokens(&self) -> Counts {
        self.tokens
    }

    /// A request without an answer ends the measurement.
    fn failed(&self) -> bool {
        false
    }
}
