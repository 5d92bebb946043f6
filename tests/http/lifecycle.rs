//! Start, drain and stop.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::harness::{Server, eventually, read_raw, state_with_models};

#[test]
fn draining_answers_accepted_requests() {
    let mut server = Server::start();
    let body =
        json!({"model": "math", "inputs": [{"response": "4", "reference": "4"}]}).to_string();
    let head = format!(
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
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
fn requests_are_answered_while_models_load() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let loading = serve::Loading::start(listener, &serve::Config::default()).expect("it starts");
    let get = |path: &str| {
        let mut stream = TcpStream::connect(address).expect("the port is open");
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("the head is taken");
        read_raw(&mut stream)
    };
    assert!(get("/livez").starts_with("HTTP/1.1 200"));
    let ready = get("/readyz");
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert!(ready.contains("\"status\":\"loading\""), "{ready}");
    assert!(ready.contains("retry-after: 1"), "{ready}");
    let models = get("/v1/models");
    assert!(models.starts_with("HTTP/1.1 503"), "{models}");
    assert!(models.contains("\"code\":\"loading\""), "{models}");
    assert!(models.contains("retry-after: 1"), "{models}");
    // One that is silent does not hold up the server.
    let silent = TcpStream::connect(address).expect("the port is open");
    let listener = loading.finish().expect("the listener comes back");
    let early = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("the port is open");
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .expect("the head is taken");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        reply
    });
    let state = state_with_models(Vec::new());
    let background = serve::Background::start(listener, state).expect("the server starts");
    let reply = early.join().expect("no panic");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    drop(silent);
    background.stop().expect("the server ends well");
}

/// Clients that ask without a pause, each on one connection, until it is closed or says that it
/// will be: every request that was sent is answered.
#[test]
fn drain_under_load_resets_no_connection() {
    let mut server = Server::configured("", |config| {
        // Longer than a busy machine keeps a client waiting for the processor.
        config.drain_idle = std::time::Duration::from_secs(5);
    });
    let address = server.address;
    let body =
        json!({"model": "math", "inputs": [{"response": "4", "reference": "4"}]}).to_string();
    let request = format!(
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let ask = move || -> usize {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        for answered in 1.. {
            stream.write_all(request.as_bytes()).expect("the request is taken");
            let reply = read_reply(&mut stream);
            assert!(reply.starts_with("HTTP/1.1 "), "no reply after {answered}");
            if reply.contains("connection: close") {
                return answered;
            }
        }
        0
    };
    let clients: Vec<_> = (0..8).map(|_| std::thread::spawn(ask.clone())).collect();
    eventually("the clients are served", || {
        server.metric("tribunal_requests_total{route=\"/v1/score\",code=\"200\"}") > 100.0
    });
    let background = server.detach();
    let stopping = std::thread::spawn(move || background.stop());
    for client in clients {
        assert!(client.join().expect("every request is answered") > 0);
    }
    stopping.join().expect("no panic").expect("the server ends well");
}

#[test]
fn refusals_during_a_drain_say_when_to_retry() {
    let mut server = Server::configured("", |config| {
        config.drain_idle = std::time::Duration::from_secs(20);
    });
    let address = server.address;
    let head = |line: &str, body: &str| {
        format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let requests = ["GET /readyz", "POST /v1/score", "POST /get_reward", "POST /predict"];
    let mut open: Vec<TcpStream> = requests.iter().map(|_| server.connect()).collect();
    for stream in &mut open {
        stream.write_all(head("GET /healthz", "").as_bytes()).expect("the request is taken");
        assert!(read_reply(stream).starts_with("HTTP/1.1 200"));
    }
    let background = server.detach();
    let stopping = std::thread::spawn(move || background.stop());
    eventually("the listener is closed", || TcpStream::connect(address).is_err());
    for (stream, request) in open.iter_mut().zip(requests) {
        stream.write_all(head(request, "{}").as_bytes()).expect("the request is taken");
        let reply = read_reply(stream);
        assert!(reply.starts_with("HTTP/1.1 503"), "{request}: {reply}");
        assert!(reply.contains("\r\nretry-after: 1\r\n"), "{request}: {reply}");
    }
    stopping.join().expect("no panic").expect("the server ends well");
}

/// Reads a head and the body that it announces; an empty text where the connection ended.
fn read_reply(stream: &mut TcpStream) -> String {
    let mut reply = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&reply).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().expect("a number");
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => reply.extend(&piece[..count]),
            _ => return String::new(),
        }
    }
}

#[test]
fn idle_connections_do_not_delay_shutdown() {
    let mut server = Server::start();
    assert_eq!(server.get("/healthz").status, 200);
    let _idle: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    server.stop();
}
