//! Start, drain and stop.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::json;

use crate::harness::{Server, eventually, read_raw};

#[test]
fn draining_answers_accepted_requests() {
    let mut server = Server::start();
    let body =
        json!({"model": "math", "inputs": [{"response": "4", "reference": "4"}]}).to_string();
    let head =
        format!("POST /v1/score HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n", body.len());
    let (first, rest) = body.split_at(10);
    let mut accepted = server.connect();
    accepted.write_all(head.as_bytes()).expect("the head is taken");
    accepted.write_all(first.as_bytes()).expect("half a body is taken");
    eventually("the request is in hand", || server.metric("tribunal_held{what=\"bytes\"}") > 0.0);
    let background = server.detach();
    let address = server.address;
    let stopping = std::thread::spawn(move || background.stop());
    eventually("the listener is closed", || TcpStream::connect(address).is_err());
    accepted.write_all(rest.as_bytes()).expect("the rest is taken");
    let reply = read_raw(&mut accepted);
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(reply.contains("\"score\":1.0"), "{reply}");
    stopping.join().expect("no panic").expect("the server ends well");
}

#[test]
fn idle_connections_do_not_delay_shutdown() {
    let mut server = Server::start();
    assert_eq!(server.get("/healthz").status, 200);
    let _idle: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    server.stop();
}
