//! Any body of any route: the first line is the path, with its query, the rest the body. It is
//! refused, or answered.

use super::server;

/// What a path and a query may be made of, so that they can be sent.
fn fits(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.?=&".contains(&byte);
    path.starts_with('/') && path.len() <= 200 && path.bytes().all(plain)
}

/// Posts it.
pub(crate) fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let path = std::str::from_utf8(&data[..end]).unwrap_or_default();
    if !fits(path) {
        return;
    }
    let body = data.get(end + 1..).unwrap_or_default();
    let reply = server::send("POST", path, "application/json", body);
    if reply.status >= 400 {
        assert!(reply.body.len() < 20_000, "{path}: an error of {} bytes", reply.body.len());
    }
}
