//! A server on its own port, and clients for it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Host;
use rubrics::Registry;
use rubrics::config::Problem;
use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Background, Config, State};

/// A running server; dropping it stops it.
pub(crate) struct Server {
    background: Option<Background>,
    pub(crate) address: SocketAddr,
    agent: ureq::Agent,
    /// The folder of its models, if they are read again later.
    pub(crate) files: Option<tempfile::TempDir>,
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("every reply is JSON")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }

    /// `error.code` of an error reply.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or("none").to_owned()
    }
}

impl Server {
    /// Starts with the built-in scorers.
    pub(crate) fn start() -> Self {
        Self::configured("", |_| ())
    }

    /// Starts with the scorers of a configuration text and with changed settings.
    pub(crate) fn configured(scorers: &str, change: impl FnOnce(&mut Config)) -> Self {
        Self::guarded(scorers, Keys::default(), change)
    }

    /// Starts with API keys.
    pub(crate) fn guarded(scorers: &str, keys: Keys, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config { threads: 2, workers: 2, ..Config::default() };
        let (registry, problems) = serve::config::read_text("test.toml", scorers, &mut config);
        assert_eq!(problems, Vec::<Problem>::new());
        change(&mut config);
        Self::over(State::new(config, registry, keys).expect("threads start"))
    }

    /// Starts with the built-in scorers and these models.
    pub(crate) fn with_models(hosts: Vec<Arc<Host>>) -> Self {
        Self::over(state_with_models(hosts))
    }

    /// Starts over a state.
    pub(crate) fn over(state: State) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let background = Background::start(listener, state).expect("the server starts");
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
        Self {
            address: background.address(),
            background: Some(background),
            agent: agent.into(),
            files: None,
        }
    }

    /// Starts after another server of this process has stopped, which may still hold its folder.
    pub(crate) fn again(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config { threads: 2, workers: 2, ..Config::default() };
        change(&mut config);
        let begun = Instant::now();
        loop {
            let read = serve::config::read_text("test.toml", "", &mut config.clone());
            match State::new(config.clone(), read.0, Keys::default()) {
                Ok(state) => return Self::over(state),
                Err(error) => {
                    let waits = begun.elapsed() < Duration::from_secs(20);
                    assert!(waits && error.to_string().contains("already open"), "{error}");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    /// Drains the server and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        if let Some(background) = self.background.take() {
            background.stop().expect("the server ends well");
        }
    }

    /// Takes the running server, for a test that stops it from another thread.
    pub(crate) fn detach(&mut self) -> Background {
        self.background.take().expect("the server runs")
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        let reply = self.agent.get(format!("http://{}{path}", self.address)).call();
        read(reply.expect("the server answers"))
    }

    pub(crate) fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        let request = self.agent.post(format!("http://{}{path}", self.address));
        let request = request.header("content-type", "application/json");
        read(request.send(body.as_ref()).expect("the server answers"))
    }

    /// Sends a request with these headers, with or without a body.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Reply {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        let add = |request: ureq::http::request::Builder, (name, value): &(&str, &str)| {
            request.header(*name, *value)
        };
        let request = headers.iter().fold(request, add);
        let request = request.body(body.as_ref()).expect("a request");
        read(self.agent.run(request).expect("the server answers"))
    }

    /// Sends a body to `/v1/score`.
    pub(crate) fn score(&self, body: &Value) -> Reply {
        self.post("/v1/score", body.to_string())
    }

    /// Returns the result of a single input.
    #[expect(clippy::needless_pass_by_value, reason = "callers write the input in place")]
    pub(crate) fn verdict(&self, model: &str, input: Value) -> Value {
        let reply = self.score(&json!({ "model": model, "inputs": [input] }));
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()["results"][0].clone()
    }

    /// Writes raw bytes on a new connection and reads until the server closes it or is silent for
    /// two seconds.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that has refused may close during the write.
        let _ = stream.write_all(bytes);
        read_raw(&mut stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(2))).expect("a valid time");
        stream
    }

    /// Returns the value of the metric line that starts with `name`.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text;
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// Waits until nothing is held: no items, no bytes, and no request but this one.
    pub(crate) fn settles(&self) {
        let idle = || {
            self.metric("tribunal_held{what=\"items\"}") == 0.0
                && self.metric("tribunal_held{what=\"bytes\"}") == 0.0
                && self.metric("tribunal_held{what=\"requests\"}") == 0.0
        };
        eventually("nothing is held", idle);
    }
}

/// The state of [`Server::with_models`].
pub(crate) fn state_with_models(hosts: Vec<Arc<Host>>) -> State {
    let config = Config { threads: 2, workers: 2, ..Config::default() };
    let state = State::new(config, Registry::built_in(), Keys::default());
    state.expect("threads start").with_hosts(Hosts::new(hosts))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads until the end of the connection or two seconds of silence.
pub(crate) fn read_raw(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // Silence and a reset both end the reading; the bytes read so far are the answer.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Polls until `condition` holds; the limit of a minute only ends a hung test.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_mins(1), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn read(mut reply: ureq::http::Response<ureq::Body>) -> Reply {
    let status = reply.status().as_u16();
    let headers = reply.headers().clone();
    let limit = 64 << 20;
    let text = reply.body_mut().with_config().limit(limit).read_to_string().expect("a text");
    Reply { status, headers, text }
}

/// Counts that depend on earlier requests.
const COUNTS: [&str; 4] = ["cached_tokens", "cache_write_tokens", "computed_tokens", "created"];

/// Prefixes of texts that differ between replies.
const IDS: [&str; 5] = ["chatcmpl-", "classify-", "pooling-", "score-", "fp_"];

/// Removes the fields that differ between machines, for comparison with a recorded reply.
fn shape(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => json!("<float>"),
        Value::String(text) if text.starts_with("sha256:") => json!("<digest>"),
        Value::String(text) if IDS.iter().any(|id| text.starts_with(id)) => json!("<id>"),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let counts = value.is_u64() && COUNTS.contains(&name.as_str());
                let value = if counts { json!("<count>") } else { shape(value) };
                (name.clone(), value)
            });
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[track_caller]
pub(crate) fn recorded(name: &str, reply: &Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("http/goldens").join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let expected: Value = serde_json::from_str(&text).unwrap_or_default();
    let found = shape(reply);
    let shown = serde_json::to_string_pretty(&found).expect("JSON");
    assert_eq!(found, expected, "{name} is now:\n{shown}");
}
