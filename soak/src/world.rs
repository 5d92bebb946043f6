//! What all clients share: the address, how requests are sent, and the count of how they ended.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::setup::{HOSTILE, WATCH};

/// Longest time to wait for a reply, more than the server's deadline.
const REPLY_LIMIT: Duration = Duration::from_secs(45);

/// Faults that are kept; the rest is counted.
const MOST_FAULTS: usize = 100;

/// Characters of a reply in a fault.
const SHOWN: usize = 300;

/// A reply.
#[derive(Debug)]
pub(crate) struct SoakReply {
    pub(crate) status: u16,
    pub(crate) retry_after: bool,
    pub(crate) body: String,
}

/// How the requests of one kind of client ended.
pub(crate) type Endings = BTreeMap<String, u64>;

#[derive(Debug, Default)]
pub(crate) struct RequestCounts {
    pub(crate) endings: BTreeMap<&'static str, Endings>,
    pub(crate) faults: Vec<String>,
    pub(crate) n_faults: u64,
}

/// What all clients share.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) seed: u64,
    agent: ureq::Agent,
    /// One connection that is kept, so that the idle server has no more than this.
    watcher: ureq::Agent,
    counts: Mutex<RequestCounts>,
    stop: AtomicBool,
    /// Whether the server may be gone: replies may be lost.
    restarting: AtomicBool,
}

impl World {
    pub(crate) fn new(address: SocketAddr, seed: u64) -> Self {
        let agent = |connections| {
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(REPLY_LIMIT))
                // The server closes idle connections; a request sent in that moment would be lost.
                .max_idle_age(Duration::from_secs(1))
                .max_idle_connections(connections)
                .build()
        };
        Self {
            address,
            seed,
            agent: agent(16).into(),
            watcher: agent(1).into(),
            counts: Mutex::default(),
            stop: AtomicBool::new(false),
            restarting: AtomicBool::new(false),
        }
    }

    /// Whether clients are to end.
    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn set_stop(&self, stop: bool) {
        self.stop.store(stop, Ordering::Relaxed);
    }

    pub(crate) fn set_restarting(&self, restarting: bool) {
        self.restarting.store(restarting, Ordering::Relaxed);
    }

    pub(crate) fn is_restarting(&self) -> bool {
        self.restarting.load(Ordering::Relaxed)
    }

    /// Sleeps, and wakes when clients are to end.
    pub(crate) fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.stops() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }

    /// A panicking client leaves its counts whole.
    fn counts(&self) -> MutexGuard<'_, RequestCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request that ended so.
    pub(crate) fn count(&self, client: &'static str, ending: impl Into<String>) {
        let mut counts = self.counts();
        *counts.endings.entry(client).or_default().entry(ending.into()).or_default() += 1;
    }

    /// Keeps a fault of the server.
    pub(crate) fn fault(&self, what: String) {
        let mut counts = self.counts();
        counts.n_faults += 1;
        if counts.faults.len() < MOST_FAULTS {
            counts.faults.push(what);
        }
    }

    pub(crate) fn into_counts(self) -> RequestCounts {
        self.counts.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and reads the whole reply. The error says how the connection ended.
    pub(crate) fn call(
        &self,
        key: &str,
        (method, path): (&str, &str),
        (kind, body): (&str, &str),
    ) -> Result<SoakReply, String> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", kind)
            .body(body.as_bytes())
            .map_err(|error| error.to_string())?;
        let agent = if key == WATCH { &self.watcher } else { &self.agent };
        let mut reply = agent.run(request).map_err(|error| error.to_string())?;
        let status = reply.status().as_u16();
        let retry_after = reply.headers().contains_key("retry-after");
        let body = reply.body_mut().with_config().limit(256 << 20).read_to_string();
        let body = body.map_err(|error| error.to_string())?;
        Ok(SoakReply { status, retry_after, body })
    }

    /// [`World::call`] with JSON.
    pub(crate) fn json(
        &self,
        key: &str,
        route: (&str, &str),
        body: &str,
    ) -> Result<SoakReply, String> {
        self.call(key, route, ("application/json", body))
    }

    /// Counts a reply of a client, and keeps it as a fault if no server may give it.
    pub(crate) fn note(&self, client: &'static str, what: &str, reply: &Result<SoakReply, String>) {
        match reply {
            Ok(reply) => {
                self.count(client, reply.status.to_string());
                if let Some(why) = broken_rule(what, reply, self.is_restarting()) {
                    let shown: String = reply.body.chars().take(SHOWN).collect();
                    self.fault(format!("{client}: {what}: {} ({why}): {shown}", reply.status));
                }
            }
            Err(error) => {
                self.count(client, "no reply");
                if !self.is_restarting() {
                    self.count(client, format!("no reply: {error}"));
                }
            }
        }
    }

    /// The head of a request with the hostile clients' key.
    pub(crate) fn head(&self, (method, path): (&str, &str), fields: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\n{fields}\r\n",
            self.address, HOSTILE
        )
    }

    /// A whole request of a hostile client.
    pub(crate) fn request(&self, path: &str, body: &str) -> Vec<u8> {
        let length = format!("content-length: {}\r\n", body.len());
        let mut bytes = self.head(("POST", path), &length).into_bytes();
        bytes.extend_from_slice(body.as_bytes());
        bytes
    }

    /// Opens a connection and writes `bytes`; a server that refuses may end the connection before it
    /// has read them all.
    pub(crate) fn open(&self, bytes: &[u8]) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
        stream.set_read_timeout(Some(REPLY_LIMIT))?;
        stream.set_write_timeout(Some(Duration::from_secs(20)))?;
        let _ = stream.write_all(bytes);
        Ok(stream)
    }

    /// Reads the beginning of a reply, counts its status and drops the rest.
    pub(crate) fn read_status(&self, client: &'static str, stream: &mut TcpStream) {
        let reply = read_head(stream).map_err(|error| error.kind().to_string());
        self.note(client, "attack", &reply);
    }
}

/// Reads until the head is whole, or the connection ends.
fn read_head(stream: &mut TcpStream) -> io::Result<SoakReply> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while bytes.len() < 16 << 10 {
        let n = stream.read(&mut part)?;
        bytes.extend_from_slice(&part[..n]);
        if n == 0 || bytes.windows(4).any(|window| window == b"\r\n\r\n") {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let retry_after = head.to_ascii_lowercase().contains("\r\nretry-after:");
    Ok(SoakReply { status, retry_after, body: body.to_owned() })
}

/// Which rule of all servers this reply breaks. One that drains refuses without saying when to come
/// back, because it will not be there.
fn broken_rule(what: &str, reply: &SoakReply, drains: bool) -> Option<&'static str> {
    match reply.status {
        503 if drains => None,
        503 if !reply.retry_after && !what.ends_with("readyz") && !what.ends_with("livez") => {
            Some("503 without Retry-After")
        }
        503 | 504 => None,
        500.. => Some("a fault of the server"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_faults_are_500_and_above_but_503_with_retry_after_and_504() {
        let reply = |status, retry_after| SoakReply { status, retry_after, body: String::new() };
        for (status, retry_after, broken) in [
            (200, false, false),
            (422, false, false),
            (429, false, false),
            (500, false, true),
            (500, true, true),
            (502, false, true),
            (503, false, true),
            (503, true, false),
            (504, false, false),
            (507, false, true),
        ] {
            let found = broken_rule("POST /v1/score", &reply(status, retry_after), false).is_some();
            assert_eq!(found, broken, "{status} {retry_after}");
        }
        assert!(broken_rule("GET /readyz", &reply(503, false), false).is_none());
        assert!(broken_rule("POST /v1/score", &reply(503, false), true).is_none());
        assert!(broken_rule("POST /v1/score", &reply(500, false), true).is_some());
    }
}
