//! Sends requests to a server of this process over a socket.

use std::net::TcpListener;
use std::sync::OnceLock;
use std::time::Duration;

use serve::Background;
use tempfile::TempDir;

use super::server;

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
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let state = server::state(folder.path());
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

/// Sends a request; returns the status and the body of the reply.
pub(crate) fn exchange(method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
    let running = running();
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", running.url))
        .header("content-type", kind)
        .body(body)
        .expect("the paths are good");
    let mut reply = running.agent.run(request).expect("the server answers");
    let text = reply.body_mut().with_config().limit(64 << 20).read_to_string();
    (reply.status().as_u16(), text.expect("replies are text"))
}

/// Waits before the next look at the server.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(2));
}
