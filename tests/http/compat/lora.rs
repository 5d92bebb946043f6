//! vLLM: adapters that come and go by request.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make_adapter};

use super::{answered, number, refused_by, rendered, spec_of, start, start_with};
use crate::harness::{Server, eventually};
use crate::serving::changed;

const LOAD: &str = "/v1/load_lora_adapter";
const UNLOAD: &str = "/v1/unload_lora_adapter";

fn adapter_spec(seed: u64) -> AdapterSpec {
    AdapterSpec {
        seed,
        r: 4,
        alpha: 64,
        targets: vec!["q_proj".to_owned()],
        rank_pattern: BTreeMap::new(),
        alpha_pattern: BTreeMap::new(),
        rslora: false,
        score_labels: None,
    }
}

fn adapter(path: &Path, seed: u64) {
    make_adapter(path, &spec_of(TinyHead::Sequence), &adapter_spec(seed)).expect("an adapter");
}

#[track_caller]
fn check(server: &Server, path: &str, body: &Value, status: u16, fragment: &str) {
    refused_by(server, path, &body.to_string(), (status, "*"), fragment, |reply| {
        (reply["error"]["param"].clone(), reply["error"]["message"].clone())
    });
}

#[test]
fn loading_is_off_without_a_folder() {
    let (server, _) = start();
    let body = json!({ "lora_name": "new", "lora_path": "/etc" });
    check(&server, LOAD, &body, 403, "compat.adapters");
    check(&server, UNLOAD, &json!({ "lora_name": "strict" }), 403, "compat.adapters");
    assert!(server.get("/v1/models").text.contains("\"adapter\""));
}

#[test]
fn adapters_are_loaded_and_unloaded() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("adapters");
    adapter(&folder.join("one"), 11);
    adapter(&folder.join("two"), 12);
    adapter(&place.path().join("outside"), 13);
    std::fs::create_dir(folder.join("empty")).expect("a folder");
    let allowed = folder.clone();
    let (server, _) = start_with(|config| config.compat_adapters = Some(allowed));
    let score = |model: &str| {
        let body = json!({
            "model": model, "input": rendered("How much?", "Two."), "activation": false,
        });
        number(&answered(&server, "/classify", &body)["data"][0]["probs"][0])
    };
    let load = |name: &str, path: &str| json!({ "lora_name": name, "lora_path": path, "base_model_name": "rm" });
    let reply = server.post(LOAD, load("new", "one").to_string());
    assert_eq!(
        (reply.status, reply.text.as_str()),
        (200, "Success: LoRA adapter 'new' added successfully.")
    );
    let one = score("new");
    assert!((one - score("rm")).abs() > 1e-9);
    check(&server, LOAD, &load("new", "two"), 400, "load_inplace");
    let mut inplace = load("new", "two");
    inplace["load_inplace"] = json!(true);
    assert_eq!(server.post(LOAD, inplace.to_string()).status, 200);
    let two = score("new");
    assert!((two - one).abs() > 1e-9);
    // Loaded into another model, it would be hidden by the one of this name.
    let mut of_other = load("new", "one");
    of_other["load_inplace"] = json!(true);
    of_other["base_model_name"] = json!("chat");
    check(&server, LOAD, &of_other, 400, "of another model");
    assert_eq!(score("new"), two);
    let absolute = folder.join("one").to_string_lossy().into_owned();
    assert_eq!(server.post(LOAD, load("again", &absolute).to_string()).status, 200);
    assert_eq!(score("again"), one);

    check(&server, LOAD, &load("x", "../outside"), 403, "compat.adapters");
    let outside = place.path().join("outside").to_string_lossy().into_owned();
    check(&server, LOAD, &load("x", &outside), 403, "compat.adapters");
    check(&server, LOAD, &load("x", "nothing"), 404, "no such folder");
    check(&server, LOAD, &load("x", "empty"), 400, "lora_path");
    let text = server.post(LOAD, load("x", "empty").to_string()).text;
    assert!(!text.contains(&*place.path().to_string_lossy()), "{text}");
    check(&server, LOAD, &load("strict", "one"), 403, "the configuration");
    check(&server, LOAD, &load("math", "one"), 403, "the configuration");
    check(&server, LOAD, &load("a b", "one"), 400, "lora_name");
    check(&server, LOAD, &json!({ "lora_name": "x", "lora_path": "one" }), 400, "several models");
    let of_adapter = json!({ "lora_name": "x", "lora_path": "one", "base_model_name": "new" });
    check(&server, LOAD, &of_adapter, 400, "an adapter itself");
    std::fs::write(folder.join("two/adapter_config.json"), "{}").expect("it can be written");
    check(&server, LOAD, &load("x", "two"), 400, "adapter_config.json");

    check(&server, UNLOAD, &json!({ "lora_name": "strict" }), 403, "the configuration");
    check(&server, UNLOAD, &json!({ "lora_name": "x" }), 404, "no adapter");
    let gone = json!({ "lora_name": "new", "lora_int_id": 3 });
    assert_eq!(server.post(UNLOAD, gone.to_string()).status, 200);
    check(&server, "/classify", &json!({ "model": "new", "input": "x" }), 404, "no model");
    check(&server, UNLOAD, &gone, 404, "no adapter");
    server.settles();
}

#[test]
fn adapters_of_the_configuration_are_replaced_where_it_says_so() {
    let place = tempfile::tempdir().expect("a folder");
    let base = TinySpec::from(Preset::Qwen2);
    make_adapter(&place.path().join("one"), &base, &adapter_spec(9)).expect("an adapter");
    let allowed = place.path().to_owned();
    let serving = changed(|_| (), |config| config.compat_adapters = Some(allowed));
    let digest = || {
        let list = serving.server.get("/v1/models").json();
        let models = list["data"].as_array().expect("a list").clone();
        let strict = models.iter().find(|model| model["id"] == "strict").expect("it is served");
        strict["digests"]["adapter"].clone()
    };
    let before = digest();
    let mut load = json!({ "lora_name": "strict", "lora_path": "one" });
    check(&serving.server, LOAD, &load, 403, "the configuration");
    load["load_inplace"] = json!(true);
    assert_eq!(serving.server.post(LOAD, load.to_string()).status, 200);
    assert_ne!(digest(), before);
    check(&serving.server, UNLOAD, &json!({ "lora_name": "strict" }), 403, "the configuration");
    load["lora_name"] = json!("tiny");
    check(&serving.server, LOAD, &load, 403, "the configuration");
}

/// A run of `tribunal score --url` tells by this digest whether its scores are of one model.
#[test]
fn replaced_adapter_changes_the_listed_weights_of_its_scorer() {
    let place = tempfile::tempdir().expect("a folder");
    adapter(&place.path().join("one"), 11);
    adapter(&place.path().join("two"), 12);
    let allowed = place.path().to_owned();
    let (server, _) = start_with(|config| config.compat_adapters = Some(allowed));
    let digests = |name: &str| {
        let list = server.get("/v1/models").json();
        let models = list["data"].as_array().expect("a list").clone();
        let found = models.into_iter().find(|model| model["id"] == name).expect("it is served");
        found["digests"].clone()
    };
    let load = |path: &str| {
        let body = json!({
            "lora_name": "new", "lora_path": path, "base_model_name": "rm", "load_inplace": true,
        });
        assert_eq!(server.post(LOAD, body.to_string()).status, 200);
    };
    load("one");
    let (one, of_base) = (digests("new"), digests("rm"));
    assert!(one["scorer_weights"].is_string(), "{one}");
    assert_ne!(one["scorer_weights"], of_base["scorer_weights"]);
    load("two");
    let two = digests("new");
    assert_eq!(two["scorer"], one["scorer"]);
    assert_ne!(two["scorer_weights"], one["scorer_weights"]);
    assert_eq!(digests("rm"), of_base);
    assert_eq!(digests("math")["scorer_weights"], Value::Null);
}

/// On a server that forgets a load when its client leaves, the engine has adapters that no list has.
#[test]
fn clients_that_leave_while_loading_leave_only_listed_adapters() {
    let place = tempfile::tempdir().expect("a folder");
    adapter(&place.path().join("one"), 11);
    let allowed = place.path().to_owned();
    let (server, _) = start_with(|config| config.compat_adapters = Some(allowed));
    let load =
        |name: &str| json!({ "lora_name": name, "lora_path": "one", "base_model_name": "rm" });
    for n in 0..40 {
        let body = load(&format!("left-{n}")).to_string();
        let mut socket = TcpStream::connect(server.address).expect("the server listens");
        let head = format!(
            "POST {LOAD} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        socket
            .write_all(head.as_bytes())
            .and_then(|()| socket.write_all(body.as_bytes()))
            .expect("it reads");
        // Some leave at once, and some when theirs has begun.
        if n % 2 == 0 {
            std::thread::sleep(Duration::from_millis(n / 4));
        }
    }
    // A load that is still under way appears later, and then can be unloaded too.
    eventually("every adapter in service can be unloaded", || {
        let models = server.get("/v1/models").json();
        let ids = models["data"].as_array().expect("a list").iter().map(|model| &model["id"]);
        let mut is_none = true;
        for name in ids.filter_map(Value::as_str).filter(|id| id.starts_with("left-")) {
            let reply = server.post(UNLOAD, json!({ "lora_name": name }).to_string());
            assert_eq!(reply.status, 200, "{name}: {}", reply.text);
            is_none = false;
        }
        is_none
    });
    server.settles();
    // The limit and the lock are as before.
    assert_eq!(server.post(LOAD, load("last").to_string()).status, 200);
    assert_eq!(server.post(UNLOAD, json!({ "lora_name": "last" }).to_string()).status, 200);
}
