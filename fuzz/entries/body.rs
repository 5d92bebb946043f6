//! Any body of any route: the first line is the path, with its query, and before it a method where
//! that is not `POST`; the rest is the body. It is refused, or answered.

use super::server;

/// What a path and a query may be made of, so that they can be sent.
fn fits(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.?=&".contains(&byte);
    path.starts_with('/') && path.len() <= 200 && path.bytes().all(plain)
}

/// Sends it.
pub(crate) fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let line = std::str::from_utf8(&data[..end]).unwrap_or_default();
    let body = data.get(end + 1..).unwrap_or_default();
    let (method, path, body) = match line.split_once(' ') {
        Some((method @ ("GET" | "DELETE"), path)) => (method, path, &[][..]),
        _ => ("POST", line, body),
    };
    if !fits(path) {
        return;
    }
    let reply = server::send(method, path, "application/json", body);
    if reply.status >= 400 {
        assert!(reply.body.len() < 20_000, "{path}: an error of {} bytes", reply.body.len());
    }
}
