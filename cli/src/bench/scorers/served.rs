//! A server in this process over a made model, and requests to it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ::models::tiny::{self, TinySpec};
use engine::{Capacity, Folder, Host, HostSpec};
use rubrics::{Tape, Taped};
use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Background, Config, State};

use super::BenchScorersArgs;
use super::workloads::Workload;
use crate::error::CliError;
use crate::temporary::TemporaryFolder;

/// Requests at a time.
const CONCURRENCY: usize = 8;
/// Longer than any run.
const PATIENCE: Duration = Duration::from_hours(24);
/// Input tokens in hand: more than any round has.
const QUEUE_TOKENS: usize = 1 << 22;

/// A server with the workload's scorer, called `judge`.
pub(super) struct Served {
    background: Background,
    pub(super) host: Arc<Host>,
    tape: Arc<Tape>,
    url: String,
    /// Its model's folder; goes away with it.
    _folder: TemporaryFolder,
}

/// A round of requests.
pub(super) struct Sent {
    pub(super) seconds: f64,
    pub(super) failed: BTreeMap<String, usize>,
}

impl Served {
    pub(super) fn start(args: &BenchScorersArgs, workload: &Workload) -> Result<Self, CliError> {
        let folder = TemporaryFolder::new()?;
        let host = Arc::new(host(args, workload, &folder)?);
        let mut config = Config { deadline: PATIENCE, ..Config::default() };
        let text = format!("[[scorer]]\nname = 'judge'\n{}", workload.scorer);
        let (registry, problems) =
            serve::config::read_text_with("workload", &text, &mut config, &["m"]);
        if let Some(problem) = problems.first() {
            return Err(CliError::Failed(problem.to_string()));
        }
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let state = State::new(config, registry, Keys::default()).map_err(failed)?;
        let mut state = state.with_hosts(Hosts::new(vec![host.clone()]));
        let problems = state.registry.check(&*state.hosts);
        problems.map_err(|problems| CliError::Failed(problems.join("\n")))?;
        let tape = Arc::new(Tape::default());
        state.tools.tape = Some(tape.clone());
        let background = Background::start(listener, state).map_err(failed)?;
        Ok(Self {
            url: format!("http://{}/v1/score", background.address()),
            background,
            host,
            tape,
            _folder: folder,
        })
    }

    pub(super) fn take_tape(&self) -> Vec<Taped> {
        self.tape.take()
    }

    pub(super) fn stop(self) -> Result<(), CliError> {
        self.background.stop().map_err(failed)
    }

    /// Sends all inputs, so many a request and so many requests at a time.
    pub(super) fn send(&self, inputs: &[Value], batch: usize) -> Result<Sent, CliError> {
        let options = json!({ "cache": "bypass" });
        let body = |inputs: &[Value]| {
            json!({ "model": "judge", "inputs": inputs, "options": options }).to_string()
        };
        let bodies: Vec<String> = inputs.chunks(batch).map(body).collect();
        let next = AtomicUsize::new(0);
        let begin = Instant::now();
        let hand = || -> Result<Vec<String>, CliError> {
            let config = ureq::Agent::config_builder().http_status_as_error(false);
            let agent = ureq::Agent::from(config.build());
            let mut statuses = Vec::new();
            while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                statuses.extend(self.ask(&agent, body)?);
            }
            Ok(statuses)
        };
        let statuses: Result<Vec<_>, CliError> = std::thread::scope(|scope| {
            let hands: Vec<_> = (0..CONCURRENCY).map(|_| scope.spawn(hand)).collect();
            let ended = hands.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.map(|hand| hand.expect("a hand does not panic")).collect()
        });
        let seconds = begin.elapsed().as_secs_f64();
        let mut failed = BTreeMap::new();
        for status in statuses?.into_iter().flatten().filter(|s| s != "ok") {
            *failed.entry(status).or_default() += 1;
        }
        Ok(Sent { seconds, failed })
    }

    /// The status of each input of a request, with its reason where it has no verdict.
    fn ask(&self, agent: &ureq::Agent, body: &str) -> Result<Vec<String>, CliError> {
        let sent = agent.post(&self.url).content_type("application/json");
        let mut reply = sent.send(body).map_err(failed)?;
        let text = reply.body_mut().read_to_string().map_err(failed)?;
        if reply.status() != 200 {
            return Err(CliError::Failed(format!("{}: {text}", reply.status())));
        }
        let reply: Value = serde_json::from_str(&text).map_err(failed)?;
        let results = reply["results"].as_array().cloned().unwrap_or_default();
        let status = |result: &Value| match result["status"].as_str() {
            Some("ok") => "ok".to_owned(),
            other => format!(
                "{}: {}",
                other.unwrap_or("no status"),
                result["reason"]["detail"].as_str().unwrap_or("")
            ),
        };
        Ok(results.iter().map(status).collect())
    }
}

/// A made model, called `m`.
pub(super) fn host(
    args: &BenchScorersArgs,
    workload: &Workload,
    folder: &TemporaryFolder,
) -> Result<Host, CliError> {
    let path = folder.path().join("model");
    let spec = TinySpec { head: workload.head, storage: args.dtype, ..TinySpec::from(args.like) };
    tiny::make(&path, &spec).map_err(failed)?;
    Host::load(&HostSpec {
        name: "m".to_owned(),
        folder: Folder::directory(&path),
        storage: ::models::weights::Storage::AsStored,
        capacity: Capacity {
            kv_memory: u64::from(args.kv_mib) << 20,
            batch_tokens: 1024,
            max_sequences: 256,
            queue_tokens: QUEUE_TOKENS,
        },
    })
    .map_err(failed)
}

pub(super) fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::Failed(error.to_string())
}
