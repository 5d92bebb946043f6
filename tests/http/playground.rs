//! The playground: what its files carry, who may read them, and that its examples are scored.

use serde_json::{Value, json};
use serve::keys::Keys;

use crate::examples::unconfigured;
use crate::harness::Server;

const KEY: &str = "test-key-0123456789";

/// The files that the page names, and their content types.
const FILES: [(&str, &str); 10] = [
    ("/", "text/html; charset=utf-8"),
    ("/playground/style.css", "text/css; charset=utf-8"),
    ("/playground/maths.js", "text/javascript; charset=utf-8"),
    ("/playground/verdict.js", "text/javascript; charset=utf-8"),
    ("/playground/playground.js", "text/javascript; charset=utf-8"),
    ("/playground/examples.json", "application/json"),
    ("/playground/table.html", "text/html; charset=utf-8"),
    ("/playground/table.js", "text/javascript; charset=utf-8"),
    ("/playground/viewer.js", "text/javascript; charset=utf-8"),
    ("/playground/parquet.js", "text/javascript; charset=utf-8"),
];

#[test]
fn files_are_the_same_with_and_without_keys() {
    let open = Server::start();
    let key = Keys::parse(KEY).expect("a good key");
    let keyed = Server::guarded("", key, |config| config.key_failures = 1000);
    for (path, content_type) in FILES {
        let reply = open.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("content-type"), Some(content_type), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = reply.header("content-security-policy").expect("a policy");
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(keyed.get(path).text, reply.text, "{path}");
        // Nothing but the files is open where there are keys.
        let others = ["POST", "DELETE"].map(|method| keyed.send(method, path, &[], "").status);
        assert_eq!(others, [401, 401], "{path}");
    }
    for path in ["/playground", "/playground/", "/playground/keys.txt", "/docs/", "/v1/models"] {
        assert_eq!(keyed.get(path).status, 401, "{path}");
    }
    let foreign = open.send("GET", "/", &[("host", "rebound.example")], "");
    assert_eq!(foreign.status, 403, "the page of a foreign name is no page of this server");
}

/// What the page does: a request of its own origin, with the key where there are keys.
#[test]
fn requests_of_the_page_pass_with_its_own_origin_and_key() {
    let body =
        json!({"model": "math", "inputs": [{"response": "4", "reference": "4"}]}).to_string();
    let check = |server: &Server, origin: &str, key: Option<&str>, status: u16| {
        let mut headers = vec![("content-type", "application/json"), ("origin", origin)];
        headers.extend(key.map(|key| ("authorization", key)));
        let reply = server.send("POST", "/v1/score", &headers, &body);
        assert_eq!(reply.status, status, "{origin} {key:?}: {}", reply.text);
    };
    let open = Server::start();
    let own = format!("http://{}", open.address);
    check(&open, &own, None, 200);
    check(&open, "http://127.0.0.1:1", None, 403);
    let keyed = Server::guarded("", Keys::parse(KEY).expect("a good key"), |_| ());
    let own = format!("http://{}", keyed.address);
    check(&keyed, &own, None, 401);
    check(&keyed, &own, Some(&format!("Bearer {KEY}")), 200);
}

/// Each scorer of a server without a configuration has an example, which it scores.
#[test]
fn examples_are_scored() {
    let server = unconfigured();
    let examples = server.get("/playground/examples.json").json();
    let models = server.get("/v1/models").json();
    let scorers = models["data"].as_array().expect("a list").iter();
    let scorers: Vec<&Value> = scorers.filter(|model| model["kind"] != "model").collect();
    assert!(scorers.len() > 20, "{models}");
    for scorer in scorers {
        let [name, kind] = ["id", "kind"].map(|key| scorer[key].as_str().expect("a text"));
        assert!(scorer["digests"]["scorer"].is_string(), "{name} is not listed by the page");
        let example = examples.get(name).or_else(|| examples.get(kind));
        let result = server.verdict(name, example.expect("an example").clone());
        // Programs are run where there is a sandbox, and circuits where there is a simulator.
        let is_run = !["code", "verilog"].contains(&kind) || result["status"] != "tool_error";
        assert!(!is_run || result["status"] == "ok", "{name}: {result}");
    }
}

/// The built-in model knows one task: a prompt of another is refused, and not answered with a number.
#[test]
fn prompts_of_other_tasks_are_refused_by_the_built_in_model() {
    let server = unconfigured();
    let check = |model: &str, input: Value| {
        let result = server.verdict(model, input);
        assert_eq!(result["status"], "refused", "{model}: {result}");
        assert_eq!(result["score"], Value::Null, "{model}");
        assert_eq!(result["reason"]["code"], "out_of_domain", "{model}: {result}");
        let detail = result["reason"]["detail"].as_str().expect("a failure says why");
        assert!(detail.contains("--model"), "{detail}");
    };
    let prompt = "What is the capital of France?";
    for model in ["reward", "process", "judge", "critic", "validate"] {
        check(model, json!({"prompt": prompt, "response": "Paris."}));
        check(model, json!({"response": "1+2=3"}));
    }
    for model in ["judge-pair", "judge-list", "critic-rerank"] {
        check(model, json!({"prompt": prompt, "responses": ["Paris.", "Rome."]}));
    }
    let group = json!({"prompt": prompt, "responses": ["Paris.", "Rome."]});
    let result = server.verdict("reward", group);
    assert_eq!(result["candidates"][0]["reason"]["code"], "out_of_domain", "{result}");
}
