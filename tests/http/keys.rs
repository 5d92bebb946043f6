//! API keys: one bucket a key, throttled failures, scopes and reloads; and the checks that stand in
//! for keys where there are none.

use std::time::Instant;

use serde_json::json;
use serve::keys::Keys;

use crate::harness::{Reply, Server, eventually};

const KEY: &str = "test-key-0123456789";
const OTHER: &str = "other-key-0123456789";

fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

fn score_body() -> String {
    json!({"model": "math", "inputs": [{"response": "4", "reference": "4"}]}).to_string()
}

fn score_as(server: &Server, authorization: &str) -> Reply {
    let headers = [("content-type", "application/json"), ("authorization", authorization)];
    server.send("POST", "/v1/score", &headers, score_body())
}

fn get_as(server: &Server, path: &str, key: &str) -> Reply {
    server.send("GET", path, &[("authorization", &bearer(key))], "")
}

#[test]
fn spellings_of_a_key_share_one_bucket() {
    let keys = Keys::parse(&format!("{KEY}\n{OTHER}\n")).expect("good keys");
    let server = Server::guarded("", keys, |config| config.client_requests = 2);
    let begun = Instant::now();
    let mut refused = 0;
    let mut taken = 0;
    for spelling in ["Bearer ", "bearer  ", "Bearer \t", "BEARER \t\t", "Bearer \t \t", "bEarer\t"]
    {
        let reply = score_as(&server, &format!("{spelling}{KEY}"));
        match reply.status {
            200 => taken += 1,
            429 => refused += 1,
            other => panic!("{spelling:?}: {other} {}", reply.text),
        }
    }
    let seconds = begun.elapsed().as_secs();
    assert!(taken <= 2 + 2 * (seconds + 1), "{taken} requests in {seconds} s at 2 a second");
    assert!(refused > 0 || seconds > 0, "tabs before the key gave it a bucket of its own");
    assert_eq!(score_as(&server, &bearer(OTHER)).status, 200, "another key has its own bucket");
}

#[test]
fn wrong_keys_are_throttled_while_known_keys_pass() {
    let keys = Keys::parse(KEY).expect("a good key");
    let server = Server::guarded("", keys, |config| config.key_failures = 3);
    let guess = |number: usize| score_as(&server, &format!("Bearer wrong-key-{number:020}"));
    for number in 0..3 {
        assert_eq!(guess(number).status, 401);
    }
    // Three a minute refill one in twenty seconds: some of the next are refused, however slow.
    let refused = (3..6).map(guess).find(|reply| reply.status == 429);
    let refused = refused.expect("wrong keys are throttled");
    assert_eq!(refused.code(), "too_many_wrong_keys");
    let wait: u64 = refused.header("retry-after").expect("set").parse().expect("seconds");
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(score_as(&server, &bearer(KEY)).status, 200, "a known key is not throttled");
}

#[test]
fn pages_of_other_sites_are_refused_without_keys() {
    let server = Server::configured("", |config| {
        config.cors_origins = vec!["https://ui.example".to_owned()];
    });
    let json = ("content-type", "application/json");
    let post = |headers: &[(&str, &str)]| server.send("POST", "/v1/score", headers, score_body());
    let refused = |headers: &[(&str, &str)], status: u16, place: &str| {
        let reply = post(headers);
        assert_eq!(reply.status, status, "{headers:?}: {}", reply.text);
        assert_eq!(reply.json()["error"]["param"], place, "{headers:?}");
    };
    refused(&[json, ("host", "rebound.example")], 403, "host");
    refused(&[json, ("origin", "https://evil.example")], 403, "origin");
    refused(&[json, ("origin", "null")], 403, "origin");
    refused(&[("content-type", "text/plain")], 415, "content-type");
    refused(&[("content-type", "application/x-www-form-urlencoded")], 415, "content-type");
    assert_eq!(server.send("GET", "/v1/models", &[("host", "rebound.example")], "").status, 403);
    assert_eq!(post(&[json]).header("access-control-allow-origin"), None);
    let reply = post(&[json, ("origin", "https://ui.example")]);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("access-control-allow-origin"), Some("https://ui.example"));
    let ask = [("origin", "https://ui.example"), ("access-control-request-method", "POST")];
    let preflight = server.send("OPTIONS", "/v1/score", &ask, "");
    assert_eq!(preflight.status, 204);
    assert!(preflight.header("access-control-allow-headers").is_some());
    let foreign = [("origin", "https://evil.example"), ask[1]];
    let preflight = server.send("OPTIONS", "/v1/score", &foreign, "");
    assert_eq!(preflight.header("access-control-allow-origin"), None);
}

#[test]
fn keys_stand_in_for_the_checks_of_pages() {
    let server = Server::guarded("", Keys::parse(KEY).expect("a good key"), |_| ());
    let key = bearer(KEY);
    let head = [("host", "tribunal.example"), ("authorization", key.as_str())];
    assert_eq!(server.send("GET", "/v1/models", &head, "").status, 200);
}

#[test]
fn long_names_are_not_repeated_whole() {
    let server = Server::start();
    let long = "n".repeat(300_000);
    let bodies = [
        ("/v1/score", json!({"model": long, "inputs": [{}]})),
        ("/v1/score", json!({"model": "math", "inputs": [{}], long.as_str(): 1})),
        ("/v1/score", json!({"model": "math", "inputs": [{long.as_str(): 1}]})),
        ("/v1/score", json!({"model": "math", "inputs": [{}], "options": {"priority": long}})),
        ("/v1/chat/completions", json!({"model": long, "messages": []})),
        ("/classify", json!({"model": long, "input": "x"})),
        ("/v1/classify", json!({"model": long, "input": "x", long.as_str(): 1})),
        ("/get_reward", json!({"query": [long], "labels": long})),
        ("/v1/fine_tuning/alpha/graders/validate", json!({"grader": {"type": long}})),
        ("/v1/decisions", json!({long.as_str(): long})),
    ];
    for (path, body) in bodies {
        let reply = server.post(path, body.to_string());
        assert!(reply.status >= 400, "{path}: {}", reply.status);
        assert!(reply.text.len() < 12_000, "{path}: {} bytes", reply.text.len());
    }
}

/// A browser sends a key only as the password that it was given, and only pages take one.
#[test]
fn pages_of_the_interface_take_the_key_as_a_password() {
    let server = Server::guarded("", Keys::parse(KEY).expect("a good key"), |_| ());
    // `anyone:` and KEY, or OTHER.
    let [known, unknown] = [
        "Basic YW55b25lOnRlc3Qta2V5LTAxMjM0NTY3ODk=",
        "Basic YW55b25lOm90aGVyLWtleS0wMTIzNDU2Nzg5",
    ];
    let status =
        |path: &str, basic| server.send("GET", path, &[("authorization", basic)], "").status;
    for path in ["/docs/", "/docs/swagger-ui.css", "/openapi.json"] {
        assert_eq!([known, unknown, "Basic x"].map(|basic| status(path, basic)), [200, 401, 401]);
    }
    assert_eq!(status("/v1/models", known), 401);
    assert_eq!(score_as(&server, known).status, 401);
    let challenge = |path: &str| {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let head = server.raw(request.as_bytes());
        head.to_lowercase().matches("www-authenticate: basic realm=").count()
    };
    assert_eq!(["/docs/", "/openapi.json", "/v1/models"].map(challenge), [1, 0, 0]);
}

#[test]
fn scopes_limit_what_a_key_may_call() {
    let text = format!("{KEY} scopes=score name=trainer\n{OTHER} scopes=metrics,generate\n");
    let server = Server::guarded("", Keys::parse(&text).expect("good keys"), |_| ());
    let refusal = |reply: Reply| (reply.status, reply.code());
    let forbidden = (403, "forbidden".to_owned());
    assert_eq!(score_as(&server, &bearer(KEY)).status, 200);
    assert_eq!(refusal(score_as(&server, &bearer(OTHER))), forbidden);
    assert_eq!(get_as(&server, "/metrics", OTHER).status, 200);
    assert_eq!(refusal(get_as(&server, "/metrics", KEY)), forbidden);
    for path in ["/healthz", "/readyz", "/v1/models", "/openapi.json"] {
        assert_eq!(get_as(&server, path, KEY).status, 200, "{path}");
    }
    let headers = [("content-type", "application/json"), ("authorization", &bearer(KEY))];
    let load = server.send("POST", "/v1/load_lora_adapter", &headers, "{}");
    assert_eq!(load.status, 403, "{}", load.text);
    assert!(load.text.contains("scope 'admin'"), "{}", load.text);
    for path in ["/v1/chat/completions", "/v1/completions", "/v1/responses"] {
        let reply = server.send("POST", path, &headers, "{}");
        assert!(reply.text.contains("scope 'generate'"), "{path}: {}", reply.text);
    }
}

/// Keys are read before models are loaded, which may take minutes.
#[test]
fn keys_replaced_before_the_server_starts_are_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.txt");
    std::fs::write(&file, OTHER).expect("the file is written");
    let read_before = Keys::parse(KEY).expect("a good key");
    let server =
        Server::guarded("", read_before, |config| config.api_keys_file = Some(file.clone()));
    let status = |key: &str| get_as(&server, "/v1/models", key).status;
    assert_eq!((status(KEY), status(OTHER)), (401, 200));
}

#[test]
fn keys_are_replaced_without_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.txt");
    std::fs::write(&file, KEY).expect("the file is written");
    let keys = Keys::parse(KEY).expect("a good key");
    let server = Server::guarded("", keys, |config| {
        config.api_keys_file = Some(file.clone());
        config.key_failures = 0;
    });
    let status = |key: &str| get_as(&server, "/v1/models", key).status;
    assert_eq!((status(KEY), status(OTHER)), (200, 401));
    let replace = |text: &str| {
        let new = folder.path().join("new");
        std::fs::write(&new, text).expect("the new file is written");
        std::fs::rename(&new, &file).expect("it takes the place of the old one");
    };
    replace(&format!("{KEY}\n{OTHER}\n"));
    eventually("both keys are known", || status(OTHER) == 200);
    assert_eq!(status(KEY), 200);
    replace(OTHER);
    eventually("the old key is unknown", || status(KEY) == 401);
    // A file that is no key file changes nothing, and a server with keys never opens.
    replace("# no key\n");
    eventually("the file was refused", || {
        let text = get_as(&server, "/metrics", OTHER).text;
        text.contains("tribunal_key_reloads_total{outcome=\"refused\"} 1")
    });
    assert_eq!((status(OTHER), status("")), (200, 401));
}
