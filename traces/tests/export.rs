//! The exporter before collectors that work, fail, stall and are not there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use traces::{ExporterOptions, Span, SpanCounts, SpanKind, TraceSampler, Tracer};

/// How a stand-in collector treats a request.
#[derive(Clone, Copy)]
enum Manner {
    /// Replies with a status and a body.
    Reply(u16, &'static str),
    /// Reads and never replies.
    Stall,
}

/// Starts a collector; the receiver gives the head and body of each request.
fn collector(manner: Manner) -> (SocketAddr, Receiver<(String, String)>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (requests, received) = channel();
    std::thread::spawn(move || {
        // Connections of a stalled collector stay open until the test ends.
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let (mut head, mut length) = (String::new(), 0);
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            for line in head.to_ascii_lowercase().lines() {
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a number");
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("the body");
            let body = String::from_utf8(body).expect("text");
            if requests.send((head, body)).is_err() {
                return;
            }
            match manner {
                Manner::Reply(status, text) => {
                    let length = text.len();
                    let reply = format!(
                        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nretry-after: 0\r\n\
                         connection: close\r\n\r\n{text}"
                    );
                    let mut stream = stream;
                    stream.write_all(reply.as_bytes()).expect("it is read");
                }
                Manner::Stall => open.push(stream),
            }
        }
    });
    (address, received)
}

fn tracer(address: SocketAddr) -> Tracer {
    let options = ExporterOptions {
        url: format!("http://{address}/v1/traces"),
        headers: vec![("x-key".to_owned(), "secret".to_owned())],
        timeout: Duration::from_secs(30),
        resource: vec![("service.name".to_owned(), "t".to_owned())],
    };
    let sampler = TraceSampler::named("always_on", 0).expect("a known name");
    Tracer::start(options, sampler).expect("a thread")
}

fn spans(tracer: &Tracer, count: usize) -> Vec<Span> {
    let span = Span {
        context: tracer.begin(None, false),
        parent: None,
        name: "work".into(),
        kind: SpanKind::Server,
        times: [1, 2],
        attributes: Vec::new(),
        failed: false,
    };
    vec![span; count]
}

fn counts(exported: u64, dropped: u64, failed: u64) -> SpanCounts {
    SpanCounts { exported, dropped, failed }
}

#[test]
fn spans_are_counted_by_what_became_of_them() {
    let check = |manner: Manner, n_spans: usize, n_requests: usize, expected: SpanCounts| {
        let (address, received) = collector(manner);
        let tracer = tracer(address);
        tracer.record(spans(&tracer, n_spans));
        tracer.shutdown(Instant::now() + Duration::from_mins(1));
        assert_eq!(tracer.counts(), expected);
        assert_eq!(received.try_iter().count(), n_requests);
        tracer.record(spans(&tracer, 1));
        let late = SpanCounts { dropped: expected.dropped + 1, ..expected };
        assert_eq!(tracer.counts(), late, "a closed queue takes nothing");
    };
    check(Manner::Reply(200, "{}"), 0, 0, counts(0, 0, 0));
    check(Manner::Reply(200, "{}"), 3, 1, counts(3, 0, 0));
    check(Manner::Reply(200, "no JSON"), 3, 1, counts(3, 0, 0));
    check(
        Manner::Reply(200, "{\"partialSuccess\":{\"rejectedSpans\":\"2\"}}"),
        3,
        1,
        counts(1, 0, 2),
    );
    check(Manner::Reply(200, "{}"), 1024, 2, counts(1024, 0, 0));
    // More than the queue holds.
    check(Manner::Reply(200, "{}"), 5000, 8, counts(4096, 904, 0));
    check(Manner::Reply(500, "broken"), 3, 1, counts(0, 0, 3));
    check(Manner::Reply(302, ""), 3, 1, counts(0, 0, 3));
}

#[test]
fn bodies_arrive_with_their_headers() {
    let (address, received) = collector(Manner::Reply(200, "{}"));
    let tracer = tracer(address);
    tracer.record(spans(&tracer, 1));
    // Not at the shutdown, but when the spans have waited long enough.
    let (head, body) = received.recv().expect("a request");
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    let head = head.to_ascii_lowercase();
    for line in ["content-type: application/json\r\n", "x-key: secret\r\n"] {
        assert!(head.contains(line), "{head}");
    }
    assert!(body.contains("\"service.name\"") && body.contains("\"work\""), "{body}");
}

#[test]
fn busy_collectors_are_tried_again() {
    let (address, received) = collector(Manner::Reply(503, ""));
    let tracer = tracer(address);
    tracer.record(spans(&tracer, 2));
    for _ in 0..3 {
        received.recv().expect("an attempt");
    }
    tracer.shutdown(Instant::now() + Duration::from_mins(1));
    assert_eq!(tracer.counts(), counts(0, 0, 2));
    assert_eq!(received.try_iter().count(), 0, "there are three attempts");
}

#[test]
fn dead_and_stalled_collectors_cost_spans_alone() {
    let dead = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.local_addr().expect("it is bound")
    };
    let tracer_of_dead = tracer(dead);
    tracer_of_dead.record(spans(&tracer_of_dead, 2));
    tracer_of_dead.shutdown(Instant::now() + Duration::from_mins(1));
    assert_eq!(tracer_of_dead.counts(), counts(0, 0, 2));

    let (address, received) = collector(Manner::Stall);
    let tracer = tracer(address);
    tracer.record(spans(&tracer, 512));
    received.recv().expect("the thread waits for its reply");
    tracer.record(spans(&tracer, 4096 + 7));
    assert_eq!(tracer.counts(), counts(0, 7, 0));
    // The shutdown ends at its deadline, although the request does not.
    tracer.shutdown(Instant::now());
    assert_eq!(tracer.counts(), counts(0, 4096 + 7, 0));
}
