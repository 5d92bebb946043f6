//! HTTP client for OpenAI-compatible chat and embedding routes.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use scoring::backend::http_retry::{self, AttemptError, authorization, retry_after, transport};
use serde_json::Value;
use ureq::Agent;

use crate::error::CliError;

/// Timeout of a request.
const EXCHANGE: Duration = Duration::from_mins(10);
/// Maximum bytes of a reply.
const REPLY_BYTES: u64 = 256 << 20;

/// Connection settings of a server.
#[derive(Debug, Clone)]
pub(super) struct Access<'a> {
    /// Base URL, without the path of a route.
    pub(super) url: &'a str,
    /// Command-line option of the URL.
    pub(super) option: &'static str,
    /// File with an API key.
    pub(super) api_key_file: Option<&'a Path>,
    /// Number of concurrent requests.
    pub(super) connections: usize,
    /// Number of retries.
    pub(super) retries: u32,
}

/// A server.
pub(super) struct Client {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    retries: u32,
    connections: usize,
}

/// Reply to one request.
pub(super) enum Reply {
    /// The body of a success.
    Body(Value),
    /// A client error, which a retry does not fix.
    Refused(String),
}

impl Client {
    /// Creates a client; sends nothing.
    pub(super) fn new(access: &Access<'_>) -> Result<Self, CliError> {
        let url = access.url.trim_end_matches('/');
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            let message =
                format!("{} '{}' must start with http:// or https://", access.option, access.url);
            return Err(CliError::Usage(message));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_connections_per_host(access.connections)
            .timeout_global(Some(EXCHANGE))
            // Proxy variables of the environment are ignored: only the command line counts.
            .proxy(None)
            .build();
        Ok(Self {
            agent: Agent::new_with_config(config),
            // Other programs are given the address with the version, so both are understood.
            url: url.strip_suffix("/v1").unwrap_or(url).to_owned(),
            authorization: access.api_key_file.map(authorization).transpose()?,
            retries: access.retries,
            connections: access.connections.max(1),
        })
    }

    /// The address.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Posts each body to a route with concurrent requests; returns one reply for each, in order.
    ///
    /// # Errors
    /// The first request that fails after all retries.
    pub(super) fn post_all(&self, path: &str, bodies: &[Value]) -> Result<Vec<Reply>, CliError> {
        let next = AtomicUsize::new(0);
        let replies: Mutex<Vec<(usize, Result<Reply, CliError>)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..self.connections.min(bodies.len()) {
                scope.spawn(|| {
                    while let Some((at, body)) = take(&next, bodies) {
                        let reply =
                            http_retry::with_retries(self.retries, || self.post(path, body));
                        if reply.is_err() {
                            // No further request starts.
                            next.store(bodies.len(), Ordering::Relaxed);
                        }
                        let mut replies =
                            replies.lock().expect("no code panics while holding the lock");
                        replies.push((at, reply));
                    }
                });
            }
        });
        let mut replies = replies.into_inner().expect("all threads have ended");
        replies.sort_by_key(|(at, _)| *at);
        replies.into_iter().map(|(_, reply)| reply).collect()
    }

    fn post(&self, path: &str, body: &Value) -> Result<Reply, AttemptError> {
        let url = format!("{}{path}", self.url);
        let mut request = self.agent.post(&url).header("content-type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let sent = request.send(body.to_string().as_bytes());
        let mut reply = sent.map_err(|error| transport(&url, &error))?;
        let status = reply.status().as_u16();
        let wait = retry_after(reply.headers());
        let text = reply.body_mut().with_config().limit(REPLY_BYTES).read_to_vec();
        let text = text.map_err(|error| transport(&url, &error))?;
        let said: Option<Value> = serde_json::from_slice(&text).ok();
        match (status, said) {
            (200, Some(body)) => Ok(Reply::Body(body)),
            (200, None) => Err(AttemptError::Fatal(format!("{url}: the reply is no JSON"))),
            (_, said) => {
                let message = said.as_ref().and_then(|said| said["error"]["message"].as_str());
                let message = message.map_or_else(String::new, |message| format!(": {message}"));
                let message = format!("{url} answered {status}{message}");
                match status {
                    400 | 413 | 422 => Ok(Reply::Refused(message)),
                    408 | 429 | 500 | 502 | 503 | 504 => {
                        Err(AttemptError::Retryable(message, wait))
                    }
                    _ => Err(AttemptError::Fatal(message)),
                }
            }
        }
    }
}

/// Takes the next body.
fn take<'b>(next: &AtomicUsize, bodies: &'b [Value]) -> Option<(usize, &'b Value)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, bodies.get(at)?))
}
