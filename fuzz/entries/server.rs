//! A server of this process, with models, that requests are sent to.

use std::net::TcpListener;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::{Capacity, Folder, Host, HostSpec, LoadOptions};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Background, Config, State};
use tempfile::TempDir;
use tiny_models::{Preset, TinyHead, TinySpec, make};

const SCORERS: &str = "
[[scorer]]
name = 'good'
kind = 'reward'
model = 'rm'

[[scorer]]
name = 'judged'
kind = 'judge'
model = 'chat'
rationale = 'none'
min_label_mass = 0

[[scorer]]
name = 'pairs'
kind = 'judge'
model = 'chat'
mode = 'pair'
rationale = 'none'
min_label_mass = 0
inconsistent = 'average'
";

/// A reply.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

struct Running {
    url: String,
    agent: ureq::Agent,
    _server: Background,
    _folder: TempDir,
}

fn running() -> &'static Running {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    RUNNING.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let host = |name: &str, head| {
            let path = folder.path().join(name);
            make(&path, &TinySpec { head, ..TinySpec::from(Preset::Qwen2) }).expect("a model");
            let capacity = Capacity {
                kv_memory: 8 << 20,
                batch_tokens: 512,
                max_sequences: 16,
                queue_tokens: 1 << 14,
            };
            let folder = Folder::directory(&path);
            let spec = HostSpec {
                name: name.to_owned(),
                folder,
                options: LoadOptions::default(),
                capacity,
            };
            Arc::new(Host::load(&spec).expect("it loads"))
        };
        let hosts = vec![host("rm", TinyHead::Sequence), host("chat", TinyHead::Vocab)];
        let mut config = Config { threads: 1, workers: 1, ..Config::default() };
        let (registry, problems) =
            serve::config::read_text_with("fuzz.toml", SCORERS, &mut config, &["rm", "chat"]);
        assert!(problems.is_empty(), "{problems:?}");
        config.compat_scorer = Some("math".to_owned());
        config.batches_folder = Some(folder.path().join("batches"));
        config.deadline = Duration::from_secs(5);
        config.max_body = 1 << 20;
        let state = State::new(config, registry, Keys::default()).expect("threads start");
        let state = state.with_hosts(Hosts::new(hosts));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = Background::start(listener, state).expect("it starts");
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_age(Duration::from_secs(1))
            .timeout_global(Some(Duration::from_secs(20)))
            .build();
        let url = format!("http://{}", server.address());
        Running { url, agent: agent.into(), _server: server, _folder: folder }
    })
}

/// Sends a request; the reply breaks no rule of all routes.
pub(crate) fn send(method: &str, path: &str, kind: &str, body: &[u8]) -> Reply {
    let running = running();
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", running.url))
        .header("content-type", kind)
        .body(body)
        .expect("the paths are good");
    let mut reply = running.agent.run(request).expect("the server answers");
    let status = reply.status().as_u16();
    let text = reply.body_mut().with_config().limit(64 << 20).read_to_string();
    let text = text.expect("replies are text");
    assert!(status < 500 || matches!(status, 503 | 504), "{method} {path}: {status} {text}");
    let repeats = body.windows(14).any(|window| window == b"internal_error");
    assert!(repeats || !text.contains("internal_error"), "{method} {path}: {text}");
    Reply { status, body: text }
}
