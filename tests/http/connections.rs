//! Connections: how many there are, how long each may take, and who gives way.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use serve::Config;
use serve::keys::Keys;

use crate::harness::{Server, eventually, read_raw};

const KEY: &str = "test-key-0123456789";

/// A document of some hundred KiB, the longest reply that needs no work.
const LONG: &str = "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn short_times(config: &mut Config) {
    config.idle_timeout = Duration::from_millis(200);
    config.head_timeout = Duration::from_millis(200);
    config.linger_timeout = Duration::from_millis(200);
}

fn held(server: &Server, what: &str) -> f64 {
    server.metric(&format!("tribunal_held{{what=\"{what}\"}}"))
}

fn events(server: &Server, event: &str) -> f64 {
    server.metric(&format!("tribunal_connection_events_total{{event=\"{event}\"}}"))
}

/// Writes `bytes` again and again until the server has closed the connection.
fn trickle_until_closed(mut stream: TcpStream, bytes: &[u8]) -> Duration {
    let begun = Instant::now();
    stream.set_nonblocking(true).expect("a socket");
    loop {
        assert!(begun.elapsed() < Duration::from_secs(30), "the connection is held for ever");
        let mut reply = [0; 4096];
        let ended = matches!(stream.read(&mut reply), Ok(0))
            || stream.write_all(bytes).is_err_and(|e| e.kind() != std::io::ErrorKind::WouldBlock);
        if ended {
            return begun.elapsed();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn silent_connections_give_way_to_a_client_that_asks() {
    let keys = Keys::parse(KEY).expect("a good key");
    let server = Server::guarded("", keys, |config| config.connections = 8);
    let silent: Vec<TcpStream> = (0..60).map(|_| server.connect()).collect();
    let authorization = format!("Bearer {KEY}");
    let ask = || server.send("GET", "/metrics", &[("authorization", &authorization)], "");
    for _ in 0..3 {
        let reply = ask();
        assert_eq!(reply.status, 200, "a client with a key is answered beside 60 without");
        let line = reply.text.lines().find(|line| line.contains("what=\"connections\""));
        let open: usize =
            line.and_then(|line| line.rsplit(' ').next()).expect("set").parse().expect("a number");
        assert!(open <= 8, "{open} connections");
    }
    drop(silent);
    eventually("its own connection is left", || ask().text.contains("what=\"connections\"} 1"));
}

#[test]
fn connections_of_an_address_are_limited() {
    let server = Server::configured("", |config| config.address_connections = 4);
    assert_eq!(server.get("/healthz").status, 200, "the first of four");
    let silent: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    eventually("four are open", || held(&server, "connections") > 3.5);
    let reply = read_raw(&mut server.connect());
    assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{reply}");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["error"]["code"], "overloaded");
    assert_eq!(server.get("/healthz").status, 200, "a connection that is open goes on");
    drop(silent);
    eventually("others are taken again", || {
        let mut stream = server.connect();
        // A refusal may come before the request is written.
        let _ = stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        read_raw(&mut stream).starts_with("HTTP/1.1 200")
    });
}

#[test]
fn body_that_goes_on_after_its_reply_is_cut() {
    let server = Server::guarded("", Keys::parse(KEY).expect("a good key"), short_times);
    let mut stream = server.connect();
    let head = "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("the head is taken");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("the reply comes before the body");
    assert_eq!(&start, b"HTTP/1.1 401");
    trickle_until_closed(stream, b"1\r\nx\r\n");
}

#[test]
fn later_head_that_trickles_is_cut() {
    let server = Server::configured("", short_times);
    let mut stream = server.connect();
    stream
        .write_all(
            b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nx-a: ",
        )
        .expect("a head and a half are taken");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("the first is answered");
    assert_eq!(&start, b"HTTP/1.1 200");
    trickle_until_closed(stream, b"a");
}

/// A client that requests megabytes and reads nothing of them.
fn stalled_reader(server: &Server) -> TcpStream {
    stalled_reader_after(server, 0)
}

/// The same after `n` times four short replies.
fn stalled_reader_after(server: &Server, n: usize) -> TcpStream {
    let short = LONG.replace("/openapi.json", "/v1/models");
    let mut stream = server.connect();
    let requests = short.repeat(4 * n) + &LONG.repeat(60);
    stream.write_all(requests.as_bytes()).expect("the requests are taken");
    stream
}

#[test]
fn readers_that_stall_are_cut_and_hold_nothing() {
    let server = Server::configured("", |config| {
        config.write_timeout = Duration::from_millis(300);
    });
    let stalled: Vec<TcpStream> = (0..4).map(|_| stalled_reader(&server)).collect();
    assert_eq!(server.get("/healthz").status, 200, "others are answered meanwhile");
    eventually("all are cut", || events(&server, "timed_out") > 3.5);
    eventually("their output is dropped", || held(&server, "output_bytes") < 1e5);
    eventually("one connection is left", || held(&server, "connections") < 1.5);
    drop(stalled);
    server.settles();
}

#[test]
fn replies_end_after_their_longest_time() {
    let server = Server::configured("", |config| {
        config.reply_timeout = Duration::from_millis(300);
    });
    let mut slow = stalled_reader(&server);
    let begun = Instant::now();
    let mut bytes = [0; 8192];
    while events(&server, "timed_out") < 0.5 {
        assert!(begun.elapsed() < Duration::from_secs(30), "a slow reader is served for ever");
        // An error is the end of the connection, which the metric will show.
        let _ = slow.read(&mut bytes);
        std::thread::sleep(Duration::from_millis(20));
    }
    server.settles();
}

#[test]
fn readers_that_stall_give_way_to_a_client_that_asks() {
    let server = Server::configured("", |config| {
        config.connections = 8;
        config.write_timeout = Duration::from_mins(1);
    });
    let stalled: Vec<TcpStream> = (0..8).map(|_| stalled_reader(&server)).collect();
    eventually("another client is answered", || {
        let mut stream = server.connect();
        // A refusal may come before the request is written.
        let _ = stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        read_raw(&mut stream).starts_with("HTTP/1.1 200")
    });
    drop(stalled);
    eventually("no output is held", || held(&server, "output_bytes") < 1e5);
}

#[test]
fn unread_output_is_refused_beyond_its_budget() {
    let server = Server::configured("", |config| {
        config.queue_output = 64 << 10;
        config.write_timeout = Duration::from_mins(1);
    });
    let body = json!({"model": "math", "inputs": [{"response": "4", "reference": "4"}]});
    // What the system has not taken of a reply is held. Short replies first, a different number for
    // each reader, so that it is not next to nothing for all.
    let stalled: Vec<TcpStream> = (0..16).map(|n| stalled_reader_after(&server, n)).collect();
    eventually("the budget is spent", || held(&server, "output_bytes") > 65_536.0);
    let reply = server.score(&body);
    // Readers that have stalled for a second give way, which a slow machine may take until here.
    if events(&server, "gave_way") < 0.5 {
        assert_eq!((reply.status, reply.code().as_str()), (503, "overloaded"));
        assert!(reply.header("retry-after").is_some());
    }
    eventually("others are answered again", || server.score(&body).status == 200);
    assert!(events(&server, "gave_way") > 1.5, "as many as the budget needs");
    drop(stalled);
    eventually("no output is held", || held(&server, "output_bytes") < 1e5);
}

#[test]
fn readers_that_stall_end_when_memory_is_short() {
    let server = Server::configured("", |config| {
        config.memory = Some(1 << 20);
        config.write_timeout = Duration::from_mins(10);
    });
    let stalled: Vec<TcpStream> = (0..3).map(|_| stalled_reader(&server)).collect();
    eventually("they are cut off", || events(&server, "gave_way") > 2.5);
    eventually("no output is held", || held(&server, "output_bytes") < 1e5);
    drop(stalled);
}
