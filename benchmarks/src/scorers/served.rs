//! A server in this process over a random model, and requests to it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use engine::{Capacity, Folder, Host, HostSpec};
use rubrics::{RecordedRequest, RequestRecorder};
use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Background, Config, State};
use tiny_models::TinySpec;

use super::BenchScorersArgs;
use super::workloads::Workload;
use crate::loaded::open;
use scoring::error::RunError;
use tempfile::TempDir;

/// Requests at a time.
const CONCURRENCY: usize = 8;
/// Longer than any run.
const PATIENCE: Duration = Duration::from_hours(24);
/// Queued input tokens: more than any round has.
const QUEUE_TOKENS: usize = 1 << 22;

/// A server with the workload's scorer, called `judge`.
pub(super) struct Served {
    background: Background,
    pub(super) host: Arc<Host>,
    recorder: Arc<RequestRecorder>,
    url: String,
    /// The model's folder, removed with the value.
    _folder: TempDir,
}

/// A round of requests.
pub(super) struct Sent {
    pub(super) seconds: f64,
    pub(super) failed: BTreeMap<String, usize>,
}

impl Served {
    pub(super) fn start(args: &BenchScorersArgs, workload: &Workload) -> Result<Self, RunError> {
        let folder = temporary_folder()?;
        let host = Arc::new(host(args, workload, &folder)?);
        let mut config = Config { deadline: PATIENCE, ..Config::default() };
        let text = format!("[[scorer]]\nname = 'judge'\n{}", workload.scorer);
        let (registry, problems) =
            serve::config::read_text_with("workload", &text, &mut config, &["m"]);
        if let Some(problem) = problems.first() {
            return Err(RunError::Failed(problem.to_string()));
        }
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let state = State::new(config, registry, Keys::default()).map_err(failed)?;
        let mut state = state.with_hosts(Hosts::new(vec![host.clone()]));
        let problems = state.registry.check(&*state.hosts);
        problems.map_err(|problems| RunError::Failed(problems.join("\n")))?;
        let recorder = Arc::new(RequestRecorder::default());
        state.tools.recorder = Some(recorder.clone());
        let background = Background::start(listener, state).map_err(failed)?;
        Ok(Self {
            url: format!("http://{}/v1/score", background.address()),
            background,
            host,
            recorder,
            _folder: folder,
        })
    }

    pub(super) fn take_recorded(&self) -> Vec<RecordedRequest> {
        self.recorder.take()
    }

    pub(super) fn stop(self) -> Result<(), RunError> {
        self.background.stop().map_err(failed)
    }

    /// Sends all inputs, `batch` per request and [`CONCURRENCY`] requests at a time.
    pub(super) fn send(&self, inputs: &[Value], batch: usize) -> Result<Sent, RunError> {
        let options = json!({ "cache": "bypass" });
        let body = |inputs: &[Value]| {
            json!({ "model": "judge", "inputs": inputs, "options": options }).to_string()
        };
        let bodies: Vec<String> = inputs.chunks(batch).map(body).collect();
        let next = AtomicUsize::new(0);
        let begin = Instant::now();
        let hand = || -> Result<Vec<String>, RunError> {
            let config = ureq::Agent::config_builder().http_status_as_error(false);
            let agent = ureq::Agent::from(config.build());
            let mut statuses = Vec::new();
            while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                statuses.extend(self.post(&agent, body)?);
            }
            Ok(statuses)
        };
        let statuses: Result<Vec<_>, RunError> = std::thread::scope(|scope| {
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

    /// Returns the status of each input of a request, with its reason where it has no verdict.
    fn post(&self, agent: &ureq::Agent, body: &str) -> Result<Vec<String>, RunError> {
        let sent = agent.post(&self.url).content_type("application/json");
        let mut reply = sent.send(body).map_err(failed)?;
        let text = reply.body_mut().read_to_string().map_err(failed)?;
        if reply.status() != 200 {
            return Err(RunError::Failed(format!("{}: {text}", reply.status())));
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

/// A random model, called `m`.
pub(super) fn host(
    args: &BenchScorersArgs,
    workload: &Workload,
    folder: &TempDir,
) -> Result<Host, RunError> {
    let path = folder.path().join("model");
    let spec = TinySpec { head: workload.head, storage: args.dtype, ..TinySpec::from(args.like) };
    tiny_models::make(&path, &spec).map_err(failed)?;
    Host::load(&HostSpec {
        name: "m".to_owned(),
        folder: Folder::directory(&path),
        options: ::models::LoadOptions::default(),
        device: open(args.device)?,
        capacity: Capacity {
            kv_memory: u64::from(args.kv_mib) << 20,
            batch_tokens: 1024,
            max_sequences: 256,
            queue_tokens: QUEUE_TOKENS,
        },
    })
    .map_err(failed)
}

/// A folder among the system's temporary files that is removed with its value.
pub(super) fn temporary_folder() -> Result<TempDir, RunError> {
    let folder = tempfile::Builder::new().prefix("tribunal-").tempdir();
    folder.map_err(RunError::file("make", &std::env::temp_dir()))
}

pub(super) fn failed(error: impl std::fmt::Display) -> RunError {
    RunError::Failed(error.to_string())
}
