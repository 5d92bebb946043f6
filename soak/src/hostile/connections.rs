//! Attacks by how a connection is used.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Attacker;
use crate::adapters::{LEFT, load_body};
use crate::setup::ADAPTERS;

const DOCUMENT: (&str, &str) = ("GET", "/openapi.json");

/// Time between two parts of what is sent slowly.
const TRICKLE: Duration = Duration::from_millis(100);

impl Attacker<'_> {
    /// Opens connections that each send these bytes.
    fn open_all(&self, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
        let streams: Vec<_> = (0..count).filter_map(|_| self.world.open(bytes).ok()).collect();
        let label = if streams.len() == count { "connected" } else { "not all connected" };
        self.world.count(self.name, label);
        streams
    }

    /// Holds connections for a while and leaves.
    fn hold(&self, streams: Vec<TcpStream>, full_s: u64, small_s: u64) {
        self.world.pause(Duration::from_secs(if self.is_full { full_s } else { small_s }));
        drop(streams);
    }

    /// Writes a byte to each connection again and again, until the server has ended them all or the
    /// time is over.
    fn trickle(&self, mut streams: Vec<TcpStream>, bytes: &[u8], limit: Duration) {
        let begun = Instant::now();
        for stream in &streams {
            // A stream that cannot be set is one that has ended.
            let _ = stream.set_nonblocking(true);
        }
        let mut reply = [0; 1024];
        while begun.elapsed() < limit && !streams.is_empty() && !self.world.stops() {
            let open = streams.len();
            streams.retain_mut(|stream| {
                !matches!(stream.read(&mut reply), Ok(0)) && stream.write_all(bytes).is_ok()
            });
            for _ in streams.len()..open {
                self.world.count(self.name, "ended by the server");
            }
            self.world.pause(TRICKLE);
        }
    }
}

/// Generations whose streams are not read.
pub(super) fn unread_streams(attacker: &mut Attacker<'_>) {
    let body = json!({
        "model": "chat", "messages": [{ "role": "user", "content": "Go on" }], "stream": true,
        "n": 4, "max_tokens": attacker.size(2000, 200), "temperature": 1.0, "logprobs": true,
        "top_logprobs": 5,
    });
    let request = attacker.world.request("/v1/chat/completions", &body.to_string());
    let streams = attacker.open_all(attacker.size(256, 4), &request);
    attacker.hold(streams, 40, 6);
}

/// Large replies that are not read.
pub(super) fn unread_replies(attacker: &mut Attacker<'_>) {
    let requests = attacker.world.head(DOCUMENT, "").repeat(60);
    let streams = attacker.open_all(attacker.size(256, 8), requests.as_bytes());
    attacker.hold(streams, 40, 7);
}

/// Connections that say nothing and have no key.
pub(super) fn silent(attacker: &mut Attacker<'_>) {
    let streams = attacker.open_all(attacker.size(1100, 100), b"");
    attacker.hold(streams, 8, 4);
}

pub(super) fn slow_heads(attacker: &mut Attacker<'_>) {
    let streams = attacker.open_all(attacker.size(200, 16), b"GET /healthz HTTP/1.1\r\nx-slow: ");
    attacker.trickle(streams, b"a", Duration::from_secs(15));
}

pub(super) fn slow_bodies(attacker: &mut Attacker<'_>) {
    let head = attacker.world.head(("POST", "/v1/score"), "content-length: 1000000\r\n");
    let streams = attacker.open_all(attacker.size(200, 16), head.as_bytes());
    attacker.trickle(streams, b" ", Duration::from_secs(15));
}

/// Bodies without a key that go on after their reply.
pub(super) fn endless_bodies(attacker: &mut Attacker<'_>) {
    let head = b"POST /v1/score HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let streams = attacker.open_all(attacker.size(200, 8), head);
    attacker.trickle(streams, b"1\r\nx\r\n", Duration::from_secs(15));
}

/// Good requests whose clients leave after all, half or nothing of the body.
pub(super) fn leave(attacker: &mut Attacker<'_>) {
    for _ in 0..attacker.size(8, 2) {
        let at = attacker.draws.below(attacker.table.requests.len());
        let request = &attacker.table.requests[at];
        if request.method() != "POST" {
            continue;
        }
        let number = attacker.draws.below(100);
        let bytes = attacker.world.request(&request.path(number), &request.body(number));
        let sent = bytes.len() - attacker.draws.below(bytes.len() / 2);
        if let Ok(stream) = attacker.world.open(&bytes[..sent]) {
            let millis = attacker.draws.below(20) as u64;
            std::thread::sleep(Duration::from_millis(millis));
            drop(stream);
            attacker.world.count(attacker.name, "left");
        }
    }
}

/// More work at once than the server takes; half of the clients leave.
pub(super) fn flood(attacker: &mut Attacker<'_>) {
    let input = json!({ "response": "so \\boxed{\\frac{1}{3}}", "reference": "1/3" });
    let inputs = vec![input; attacker.size(1000, 300)];
    let body = json!({ "model": "math", "inputs": inputs, "options": { "cache": "bypass" } });
    let request = attacker.world.request("/v1/score", &body.to_string());
    let mut streams = attacker.open_all(attacker.size(200, 24), &request);
    let half = streams.len() / 2;
    drop(streams.split_off(half));
    for stream in &mut streams {
        attacker.world.read_status(attacker.name, stream);
    }
}

/// Wrong keys, spelt in several ways.
pub(super) fn wrong_keys(attacker: &mut Attacker<'_>) {
    let tabs = "\t".repeat(attacker.round % 20);
    let request = format!(
        "GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {tabs}wrong-{:016}\r\n\
         connection: close\r\n\r\n",
        attacker.draws.below(1 << 40)
    );
    if let Ok(mut stream) = attacker.world.open(request.as_bytes()) {
        attacker.world.read_status(attacker.name, &mut stream);
    }
}

/// Loads of adapters whose clients leave.
pub(super) fn left_adapters(attacker: &mut Attacker<'_>) {
    for n in 0..attacker.size(20, 3) {
        let body = load_body(&format!("{LEFT}{n}"), ADAPTERS[0]);
        if let Ok(stream) =
            attacker.world.open(&attacker.world.request("/v1/load_lora_adapter", &body))
        {
            drop(stream);
            attacker.world.count(attacker.name, "left");
        }
    }
}

/// Uploads that end in the middle.
pub(super) fn half_uploads(attacker: &mut Attacker<'_>) {
    let length = attacker.size(100 << 20, 1 << 20);
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: {}\r\n\
         content-length: {length}\r\n\r\n{}",
        attacker.world.address,
        crate::setup::HOSTILE,
        crate::batches::FORM,
        crate::batches::form("{}").replace("--XX--\r\n", "")
    );
    for _ in 0..attacker.size(20, 2) {
        if let Ok(mut stream) = attacker.world.open(head.as_bytes()) {
            // The server may refuse before it has read all.
            let _ = stream.write_all(&vec![b' '; length / 4]);
            attacker.world.count(attacker.name, "left");
        }
    }
}
