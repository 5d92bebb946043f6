//! Scorers of a server, over `POST /v1/score`.

use std::path::PathBuf;
use std::time::Duration;

use openapi::{
    CacheMode, ModelDigests, ModelInfo, ModelList, Options, Priority, ScoreInput, ScoreResponse,
    ScoreResult,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use ureq::Agent;

use super::http_retry::{self, AttemptError, authorization, retry_after, transport};
use super::{Backend, RowResults};
use crate::error::RunError;
use crate::header::ScorerIdentity;
use crate::scorers;

/// A server and how requests are sent to it.
#[derive(Debug, Clone, Default)]
pub struct RemoteOptions {
    /// Its base URL; `None` scores in this process.
    pub url: Option<String>,
    /// File whose first line is the API key.
    pub api_key_file: Option<PathBuf>,
    /// Requests in flight at once.
    pub connections: usize,
    /// Tries after the first before the run stops.
    pub retries: u32,
}

/// Longest time of a request with its reply.
const EXCHANGE: Duration = Duration::from_mins(5);
/// Most bytes of a reply that are read.
const REPLY_BYTES: u64 = 1 << 30;
/// Most bytes of a request's body besides its inputs.
const FRAME_BYTES: usize = 1 << 10;

/// Scorers of a server.
pub struct RemoteBackend {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    retries: u32,
    explain: bool,
    scorers: Vec<ModelInfo>,
}

/// A request whose inputs are serialised once for several scorers.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    inputs: &'a [&'a RawValue],
    options: Options,
}

impl RemoteBackend {
    /// Fetches the list of the server's scorers and finds `names` in it.
    ///
    /// # Errors
    /// A URL that is none, an unknown scorer, and a server that does not answer.
    pub fn connect(
        options: &RemoteOptions,
        url: &str,
        names: &[String],
        explain: bool,
    ) -> Result<Self, RunError> {
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            let message = format!("--url '{url}' must start with http:// or https://");
            return Err(RunError::Usage(message));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_connections_per_host(options.connections)
            .timeout_global(Some(EXCHANGE))
            // Proxy variables of the environment are ignored: only the command line counts.
            .proxy(None)
            .build();
        let mut remote = Self {
            agent: Agent::new_with_config(config),
            url: url.trim_end_matches('/').to_owned(),
            authorization: options.api_key_file.as_deref().map(authorization).transpose()?,
            retries: options.retries,
            explain,
            scorers: Vec::new(),
        };
        let list = remote.models()?;
        let is_scorer = |model: &&ModelInfo| model.digests.scorer.is_some();
        let known = list.data.iter().filter(is_scorer);
        let known = known.map(|model| model.id.as_str());
        let find = |name: &String| {
            let mut found = list.data.iter().filter(is_scorer);
            let found = found.find(|model| model.id == *name).cloned();
            found.ok_or_else(|| scorers::unknown_scorer(name, known.clone()))
        };
        remote.scorers = names.iter().map(find).collect::<Result<_, _>>()?;
        Ok(remote)
    }

    fn models(&self) -> Result<ModelList, RunError> {
        http_retry::with_retries(self.retries, || self.get("/v1/models"))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AttemptError> {
        let url = format!("{}{path}", self.url);
        let mut request = self.agent.get(&url);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        Self::reply(&url, request.call())
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &[u8]) -> Result<T, AttemptError> {
        let url = format!("{}{path}", self.url);
        Self::reply(&url, self.send(&url, body))
    }

    fn send(
        &self,
        url: &str,
        body: &[u8],
    ) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let mut request = self.agent.post(url).header("content-type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        request.send(body)
    }

    /// Replaces the weights of an adapter by those in a folder below the server's own, given as a
    /// request of `POST /v1/load_lora_adapter`.
    ///
    /// # Errors
    /// A server that refuses it, with its words, or does not answer.
    pub fn load_adapter(&self, request: &serde_json::Value) -> Result<(), RunError> {
        let url = format!("{}/v1/load_lora_adapter", self.url);
        let body = serde_json::to_vec(request).expect("JSON serialises");
        let load = || Self::text(&url, self.send(&url, &body)).map(drop);
        http_retry::with_retries(self.retries, load)
    }

    fn reply<T: DeserializeOwned>(
        url: &str,
        reply: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<T, AttemptError> {
        let body = Self::text(url, reply)?;
        serde_json::from_slice(&body).map_err(|error| {
            AttemptError::Fatal(format!("{url}: the reply is not a list of score results: {error}"))
        })
    }

    /// The body of a reply with the status 200.
    fn text(
        url: &str,
        reply: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Vec<u8>, AttemptError> {
        let mut reply = reply.map_err(|error| transport(url, &error))?;
        let status = reply.status().as_u16();
        let wait = retry_after(reply.headers());
        let body = reply.body_mut().with_config().limit(REPLY_BYTES).read_to_vec();
        let body = body.map_err(|error| transport(url, &error))?;
        if status == 200 {
            return Ok(body);
        }
        // Compatible routes have errors of other shapes, which agree in this.
        let said = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
        let said = said["error"]["message"].as_str().map(|message| format!(": {message}"));
        let said = said.unwrap_or_default();
        let message = format!("{url} answered {status}{said}");
        Err(match status {
            408 | 429 | 502 | 503 | 504 => AttemptError::Retryable(message, wait),
            _ => AttemptError::Fatal(message),
        })
    }

    /// Scores `inputs` with one scorer, in as many requests as the server's limits need.
    fn score_with(
        &self,
        scorer: &ModelInfo,
        inputs: &[&RawValue],
        seed: u64,
    ) -> Result<Vec<ScoreResult>, RunError> {
        let mut results = Vec::with_capacity(inputs.len());
        for batch in batches(inputs, scorer) {
            let options = Options {
                priority: Priority::Batch,
                cache: CacheMode::Use,
                explain: self.explain,
                seed,
                ..Options::default()
            };
            let request = Request { model: &scorer.id, inputs: batch, options };
            let body = serde_json::to_vec(&request).expect("a request serialises");
            let reply: ScoreResponse =
                http_retry::with_retries(self.retries, || self.post("/v1/score", &body))?;
            if reply.results.len() != batch.len() {
                let (n_results, n_inputs) = (reply.results.len(), batch.len());
                let message =
                    format!("{} sent {n_results} results for {n_inputs} inputs", self.url);
                return Err(RunError::Failed(message));
            }
            if reply
                .results
                .iter()
                .any(|r| Some(&r.digests.scorer) != scorer.digests.scorer.as_ref())
            {
                return Err(RunError::Failed(format!(
                    "scorer '{}' of {} has changed during the run",
                    scorer.id, self.url
                )));
            }
            // A server's signature is of numbers that may have changed in their last bit in parsing.
            let unsigned = |result| ScoreResult { signature: None, ..result };
            results.extend(reply.results.into_iter().map(unsigned));
        }
        Ok(results)
    }
}

impl Backend for RemoteBackend {
    fn scorers(&self) -> Vec<ScorerIdentity> {
        let judge = |scorer: &ModelInfo| ScorerIdentity {
            name: scorer.id.clone(),
            digest: identity(scorer)
                .expect("what has no digest of a scorer was not taken for one")
                .to_owned(),
        };
        self.scorers.iter().map(judge).collect()
    }

    fn uses_models(&self) -> bool {
        false
    }

    fn score(&self, inputs: Vec<ScoreInput>) -> Result<Vec<RowResults>, RunError> {
        let rows = self.score_seeded(inputs, 0)?;
        self.check_weights()?;
        Ok(rows)
    }
}

impl RemoteBackend {
    /// Checks that the scorers use the weights that they used when this backend connected. Called
    /// after results have come, since results do not name all weights behind them: a scorer may
    /// call several models, and a result names one.
    ///
    /// # Errors
    /// A scorer whose weights have changed, and a server that does not answer.
    fn check_weights(&self) -> Result<(), RunError> {
        let known = |scorer: &&ModelInfo| scorer.digests.scorer_weights.is_some();
        // Servers of earlier versions do not list them.
        if !self.scorers.iter().any(|scorer| known(&scorer)) {
            return Ok(());
        }
        let list = self.models()?;
        for scorer in self.scorers.iter().filter(known) {
            let now = list.data.iter().find(|model| model.id == scorer.id);
            if now.and_then(identity) != identity(scorer) {
                return Err(RunError::Failed(format!(
                    "the weights of scorer '{}' of {} have changed during the run: the scores \
                     before and after are of different models",
                    scorer.id, self.url
                )));
            }
        }
        Ok(())
    }

    /// [`Backend::score`] with a seed of all sampling.
    ///
    /// # Errors
    /// As for [`Backend::score`].
    pub fn score_seeded(
        &self,
        inputs: Vec<ScoreInput>,
        seed: u64,
    ) -> Result<Vec<RowResults>, RunError> {
        let room = self.scorers.iter().map(|scorer| scorer.limits.body_bytes).min();
        let room = room.unwrap_or(usize::MAX).saturating_sub(FRAME_BYTES);
        let json = |input| serde_json::value::to_raw_value(&input).expect("an input serialises");
        let inputs: Vec<Box<RawValue>> = inputs.into_iter().map(json).collect();
        let fits = |input: &&RawValue| input.get().len() <= room;
        let sent: Vec<&RawValue> = inputs.iter().map(AsRef::as_ref).filter(fits).collect();
        let mut by_scorer = Vec::with_capacity(self.scorers.len());
        for scorer in &self.scorers {
            by_scorer.push(self.score_with(scorer, &sent, seed)?.into_iter());
        }
        let judged = inputs.iter().map(|input| {
            if !fits(&input.as_ref()) {
                let bytes = input.get().len();
                return Err(format!("the input has {bytes} bytes and the server takes {room}"));
            }
            let next = |results: &mut std::vec::IntoIter<ScoreResult>| {
                results.next().expect("every scorer answered every input that was sent")
            };
            Ok(by_scorer.iter_mut().map(next).collect())
        });
        Ok(judged.collect())
    }
}

/// The digest of a scorer with its weights, or without them of a server that lists none; `None` of a
/// model that is no scorer.
fn identity(scorer: &ModelInfo) -> Option<&str> {
    let ModelDigests { scorer_weights, scorer, .. } = &scorer.digests;
    scorer_weights.as_deref().or(scorer.as_deref())
}

/// Splits `inputs`, each of which fits by itself, by the limits of the scorer.
fn batches<'i, 'r>(
    inputs: &'i [&'r RawValue],
    scorer: &ModelInfo,
) -> impl Iterator<Item = &'i [&'r RawValue]> {
    let room = scorer.limits.body_bytes.saturating_sub(FRAME_BYTES);
    let count = scorer.limits.inputs.max(1);
    let mut rest = inputs;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |input: &&&RawValue| {
            bytes += input.get().len() + 1;
            bytes <= room + 1
        };
        let size = rest.iter().take(count).take_while(fits).count();
        // The caller keeps inputs away that do not fit even alone.
        let (batch, later) = rest.split_at(size.max(1).min(rest.len()));
        rest = later;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;

    /// A server with the scorer `rm`, whose digest with weights is what the mutex holds.
    fn server(weights: Arc<Mutex<Value>>) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.expect("a client"));
                let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
                while stream.read_line(&mut line).expect("a line") > 2 {
                    let lower = line.to_ascii_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length:") {
                        length = value.trim().parse().expect("a number");
                    }
                    head.push_str(&line);
                    line.clear();
                }
                stream.read_exact(&mut vec![0; length]).expect("the body");
                let reply = if head.starts_with("GET /v1/models") {
                    let now = weights.lock().expect("no panic").clone();
                    models(&now)
                } else {
                    scores()
                };
                let text = reply.to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    text.len()
                );
                let sent = stream.get_mut().write_all((head + &text).as_bytes());
                sent.expect("the client reads");
            }
        });
        url
    }

    fn models(weights: &Value) -> Value {
        let mut digests = json!({ "scorer": "sha256:rm", "model": null, "adapter": null });
        if !weights.is_null() {
            digests["scorer_weights"] = weights.clone();
        }
        let rm = json!({
            "id": "rm", "object": "model", "created": 0, "owned_by": "tribunal", "kind": "reward",
            "description": "", "digests": digests,
            "limits": { "inputs": 100, "body_bytes": 1_000_000, "deadline_ms": 1000 },
        });
        json!({ "object": "list", "data": [rm] })
    }

    fn scores() -> Value {
        let result = json!({
            "id": "0", "status": "ok", "score": 1.0, "digests": { "scorer": "sha256:rm" }, "cached": false,
            "usage": openapi::Usage::default(), "timing": openapi::Timing::default(),
        });
        json!({
            "id": "score-1", "object": "score", "created": 0, "model": "rm", "results": [result],
            "usage": openapi::Usage::default(),
        })
    }

    fn connected(weights: &Arc<Mutex<Value>>) -> RemoteBackend {
        let options = RemoteOptions { connections: 1, ..RemoteOptions::default() };
        let url = server(Arc::clone(weights));
        let names = ["rm".to_owned()];
        RemoteBackend::connect(&options, &url, &names, false).expect("the server answers")
    }

    #[test]
    fn other_weights_are_another_scorer() {
        let identity = |weights: Value| {
            connected(&Arc::new(Mutex::new(weights))).scorers().swap_remove(0).digest
        };
        assert_eq!(identity(json!("sha256:one")), "sha256:one");
        assert_eq!(identity(json!("sha256:two")), "sha256:two");
        // A server of an earlier version.
        assert_eq!(identity(Value::Null), "sha256:rm");
    }

    #[test]
    fn weights_that_change_during_a_run_end_it() {
        let weights = Arc::new(Mutex::new(json!("sha256:one")));
        let remote = connected(&weights);
        let score = || remote.score(vec![ScoreInput::default()]);
        score().expect("the weights are those of the beginning");
        *weights.lock().expect("no panic") = json!("sha256:two");
        let error = score().expect_err("the weights have changed").to_string();
        assert!(error.contains("weights of scorer 'rm'"), "{error}");
    }
}
