//! Traces of requests, before a stand-in collector.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use serve::Config;

use crate::harness::Server;
use crate::serving::{beginning, changed, question};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// How a stand-in collector treats requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Takes,
    Fails,
    Stalls,
    Dead,
}

/// Starts a collector; the receiver gives the bodies.
fn collector(manner: Manner) -> (SocketAddr, Receiver<Value>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (bodies, received) = channel();
    if manner == Manner::Dead {
        return (address, received);
    }
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length = length.map_or(0, |length| length.parse().expect("a number"));
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("the body");
            // A test that has ended reads no more.
            let _ = bodies.send(serde_json::from_slice(&body).expect("JSON"));
            let status = if manner == Manner::Fails { "500 X" } else { "200 OK" };
            if manner == Manner::Stalls {
                open.push(stream);
                continue;
            }
            let reply =
                format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            stream.write_all(reply.as_bytes()).expect("it is read");
        }
    });
    (address, received)
}

/// A span with what tests look at.
#[derive(Debug, Clone)]
struct Found {
    trace: String,
    id: String,
    parent: Option<String>,
    name: String,
    kind: u64,
    state: Option<String>,
    attributes: BTreeMap<String, String>,
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The spans of all bodies.
fn spans(received: &Receiver<Value>) -> Vec<Found> {
    let bodies: Vec<Value> = received.try_iter().collect();
    let lists = bodies.iter().map(|body| &body["resourceSpans"][0]["scopeSpans"][0]["spans"]);
    let all = lists.flat_map(|list| list.as_array().expect("spans"));
    let found = |span: &Value| {
        let attributes = span["attributes"].as_array().expect("a list").iter().map(|attribute| {
            let value = &attribute["value"];
            let value = value["stringValue"].as_str().or_else(|| value["intValue"].as_str());
            (text(&attribute["key"]), value.expect("a text or a number").to_owned())
        });
        let times = ["startTimeUnixNano", "endTimeUnixNano"]
            .map(|key| text(&span[key]).parse::<u64>().expect("nanoseconds"));
        assert!(times[0] > 0 && times[0] <= times[1], "{span}");
        Found {
            trace: text(&span["traceId"]),
            id: text(&span["spanId"]),
            parent: span["parentSpanId"].as_str().map(str::to_owned),
            name: text(&span["name"]),
            kind: span["kind"].as_u64().expect("a number"),
            state: span["traceState"].as_str().map(str::to_owned),
            attributes: attributes.collect(),
        }
    };
    all.map(found).collect()
}

fn traced(config: &mut Config, address: SocketAddr) {
    config.telemetry.endpoint = Some(format!("http://{address}"));
    config.telemetry.timeout = Duration::from_secs(30);
}

fn score_body() -> String {
    json!({ "model": "math", "inputs": [
        { "response": "the hidden text \\boxed{4}", "reference": "4" },
        { "responses": ["A: 4", "A: 5"], "reference": "4" },
    ] })
    .to_string()
}

fn score(server: &Server, headers: &[(&str, &str)]) -> crate::harness::Reply {
    let json = ("content-type", "application/json");
    server.send("POST", "/v1/score", &[&[json], headers].concat(), score_body())
}

fn named<'s>(spans: &'s [Found], name: &str) -> &'s Found {
    let found = spans.iter().find(|span| span.name == name);
    found.unwrap_or_else(|| unreachable!("no {name} in {spans:#?}"))
}

#[test]
fn a_scoring_request_is_a_span_with_its_stages() {
    let (address, received) = collector(Manner::Takes);
    let mut server = Server::configured("", |config| traced(config, address));
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let headers = [("traceparent", &*parent), ("tracestate", "a=1"), ("x-request-id", "mine")];
    let reply = score(&server, &headers);
    assert_eq!(reply.status, 200, "{}", reply.text);
    server.stop();
    let spans = spans(&received);
    let root = named(&spans, "POST /v1/score");
    assert_eq!((root.parent.as_deref(), root.kind), (Some(CALLER), 2));
    let response = reply.header("traceresponse").expect("it is set");
    assert_eq!(response, format!("00-{TRACE}-{}-01", root.id));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/score"),
        ("url.path", "/v1/score"),
        ("url.scheme", "http"),
        ("http.response.status_code", "200"),
        ("tribunal.request.id", "mine"),
        ("http.response.body.size", &reply.text.len().to_string()),
    ] {
        assert_eq!(root.attributes.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(root.attributes.get("error.type"), None);
    let scored = named(&spans, "score");
    for (key, value) in [
        ("tribunal.scorer.name", "math"),
        ("tribunal.scorer.kind", "math"),
        ("tribunal.inputs", "2"),
        ("tribunal.responses", "3"),
        ("tribunal.inputs.cached", "0"),
        ("tribunal.inputs.scored", "2"),
    ] {
        assert_eq!(scored.attributes.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert!(scored.attributes["tribunal.scorer.digest"].starts_with("sha256:"));
    for (name, parent) in [
        ("read", root),
        ("parse", root),
        ("score", root),
        ("reply", root),
        ("queue", scored),
        ("exec", scored),
    ] {
        let stage = named(&spans, name);
        assert_eq!((stage.parent.as_ref(), stage.kind), (Some(&parent.id), 1), "{name}");
    }
    assert_eq!(spans.len(), 7, "{spans:#?}");
    for span in &spans {
        assert_eq!((&*span.trace, span.state.as_deref()), (TRACE, Some("a=1")), "{span:?}");
        let hidden = span.attributes.values().any(|value| value.contains("hidden"));
        assert!(!hidden, "{span:?}");
    }
}

#[test]
fn generations_have_their_prefill_and_decode() {
    let check = |path: &str, body: &Value, stages: &[&str]| {
        let (address, received) = collector(Manner::Takes);
        let mut serving = changed(|_| (), |config| traced(config, address));
        let reply = serving.server.post(path, body.to_string());
        assert_eq!(reply.status, 200, "{}", reply.text);
        serving.server.stop();
        let spans = spans(&received);
        let mut found: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        found.sort_unstable();
        let root = format!("POST {path}");
        assert_eq!(found, [&[root.as_str()], stages].concat(), "{path}");
        let model = spans.iter().find_map(|span| span.attributes.get("gen_ai.request.model"));
        assert_eq!(model.map(String::as_str), Some("tiny"), "{path}");
    };
    let of_generation = ["decode", "generate", "parse", "prefill", "read"];
    check("/v1/chat/completions", &question(&json!({})), &of_generation);
    check("/v1/chat/completions", &question(&json!({ "stream": true })), &of_generation);
    let input = json!({ "model": "tiny", "input": "Hi", "max_output_tokens": 4, "stream": true });
    check("/v1/responses", &input, &of_generation);
    check("/v1/completions", &beginning(&json!({ "n": 3 })), &of_generation);
    let scoring =
        json!({ "model": "tiny", "query": "a", "items": ["b"], "label_token_ids": [1, 2] });
    check("/v1/score", &scoring, &["exec", "parse", "read", "reply"]);
}

#[test]
fn requests_are_traced_as_the_sampler_says() {
    // The paths of requests with their headers, and the server spans that arrive.
    let check = |change: fn(&mut Config), requests: &[(&str, Option<&str>)], expected: &[&str]| {
        let (address, received) = collector(Manner::Takes);
        let mut server = Server::configured("", |config| {
            traced(config, address);
            change(config);
        });
        for (path, parent) in requests {
            let parent = parent.map(|flags| format!("00-{TRACE}-{CALLER}-{flags}"));
            let headers: Vec<(&str, &str)> =
                parent.iter().map(|parent| ("traceparent", parent.as_str())).collect();
            server.send("GET", path, &headers, "");
        }
        server.stop();
        let spans = spans(&received);
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, expected, "{requests:?}");
    };
    let models = "GET /v1/models";
    let quiet = [("/livez", None), ("/metrics", None), ("/healthz", Some("00"))];
    check(|_| (), &[("/v1/models", None)], &[models]);
    check(|_| (), &[("/v1/models", Some("01")), ("/v1/models", Some("00"))], &[models]);
    check(|_| (), &quiet, &[]);
    check(|_| (), &[("/livez", Some("01"))], &["GET /livez"]);
    check(|_| (), &[("/no/such/path", None)], &["GET"]);
    let none = |config: &mut Config| config.telemetry.sample = 0;
    check(none, &[("/v1/models", None), ("/v1/models", Some("01"))], &[models]);
    let ratio_alone = |config: &mut Config| {
        config.telemetry.sample = 0;
        config.telemetry.sampler = "traceidratio";
    };
    check(ratio_alone, &[("/v1/models", None), ("/v1/models", Some("01"))], &[]);
    let off = |config: &mut Config| config.telemetry.endpoint = None;
    check(off, &[("/v1/models", None), ("/v1/models", Some("01"))], &[]);
}

#[test]
fn hostile_contexts_are_ignored() {
    let (address, received) = collector(Manner::Takes);
    let mut server = Server::configured("", |config| traced(config, address));
    let good = format!("00-{TRACE}-{CALLER}-01");
    let check = |headers: &[(&str, &str)], continues: bool, state: Option<&str>| {
        let reply = score(&server, headers);
        assert_eq!(reply.status, 200, "{headers:?}");
        let response = reply.header("traceresponse").expect("it is set").to_owned();
        assert_eq!(response.contains(TRACE), continues, "{headers:?}: {response}");
        assert!(!response.contains(&"0".repeat(16)), "{response}");
        (response, state.map(str::to_owned))
    };
    let zero = format!("00-{}-{CALLER}-01", "0".repeat(32));
    let no_span = format!("00-{TRACE}-{}-01", "0".repeat(16));
    let (upper, long) = (good.to_uppercase(), format!("{good}{}", "a".repeat(60_000)));
    let future = good.replacen("00", "ff", 1);
    let states: Vec<String> = (0..40).map(|at| format!("k{at}=v")).collect();
    let (many, large) = (states.join(","), format!("a={}", "x".repeat(30_000)));
    let expected = [
        check(&[("traceparent", &good)], true, None),
        check(
            &[("traceparent", &good), ("tracestate", "a=1"), ("tracestate", "b=2")],
            true,
            Some("a=1,b=2"),
        ),
        check(&[("traceparent", &good), ("traceparent", &good)], false, None),
        check(&[("traceparent", &zero), ("tracestate", "a=1")], false, None),
        check(&[("traceparent", &no_span)], false, None),
        check(&[("traceparent", &upper)], false, None),
        check(&[("traceparent", &future)], false, None),
        check(&[("traceparent", &long)], false, None),
        check(&[("traceparent", "")], false, None),
        check(&[("tracestate", "a=1")], false, None),
        check(&[("traceparent", &good), ("tracestate", &many)], true, None),
        check(&[("traceparent", &good), ("tracestate", &large)], true, None),
        check(&[("traceparent", &good), ("tracestate", "A=1")], true, None),
    ];
    // A head of a megabyte is refused as it is without traces.
    let head = format!(
        "GET /v1/models HTTP/1.1\r\nhost: localhost\r\ntraceparent: {}",
        "a".repeat(1 << 20)
    );
    let refused = server.raw(format!("{head}\r\n\r\n").as_bytes());
    assert!(!refused.starts_with("HTTP/1.1 200"), "{refused}");
    assert_eq!(server.get("/v1/models").status, 200);
    server.stop();
    let spans = spans(&received);
    for (response, state) in expected {
        let own = spans.iter().find(|span| response.contains(&span.id)).expect("its span arrived");
        assert_eq!(own.state, state, "{response}");
    }
}

#[test]
fn collectors_change_no_reply() {
    let reply_to = |server: &Server| {
        let reply = score(server, &[("x-request-id", "one")]);
        let scores: Vec<Value> = reply.json()["results"]
            .as_array()
            .expect("results")
            .iter()
            .map(|result| result["score"].clone())
            .collect();
        (reply.status, scores)
    };
    let plain = Server::start();
    let expected = reply_to(&plain);
    assert_eq!(score(&plain, &[]).header("traceresponse"), None);
    assert!(!plain.get("/metrics").text.contains("tribunal_trace_spans"));
    for manner in [Manner::Fails, Manner::Stalls, Manner::Dead] {
        let (address, _received) = collector(manner);
        let mut server = Server::configured("", |config| {
            traced(config, address);
            config.drain = Duration::from_millis(300);
        });
        for _ in 0..3 {
            assert_eq!(reply_to(&server), expected, "{manner:?}");
        }
        let counted = |outcome: &str| {
            server.metric(&format!("tribunal_trace_spans_total{{outcome=\"{outcome}\"}}"))
        };
        if manner == Manner::Fails {
            crate::harness::eventually("spans are given up", || counted("failed") > 0.0);
        }
        assert!(counted("exported") < 1.0, "{manner:?}");
        // Bounded by the drain, though the collector never replies.
        server.stop();
    }
}
