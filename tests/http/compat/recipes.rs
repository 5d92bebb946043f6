//! The commands of docs/compat.md, sent as written.

use serde_json::Value;

use super::start_with;

/// Every `curl` of the page: path and body.
fn commands(page: &str) -> Vec<(String, String)> {
    let commands = page.split("curl -s ").skip(1).map(|rest| {
        let end = rest.find("```").unwrap_or(rest.len());
        let command = &rest[..end];
        let url = command.trim_start_matches('\'');
        let url = &url[..url.find(['\'', ' ']).expect("more follows")];
        let (_, path) = url.split_once("://").expect("a URL");
        let path = &path[path.find('/').expect("a path")..];
        let (_, body) = command.split_once("-d '").expect("a body");
        let body = &body[..body.find('\'').expect("it is quoted")];
        (path.to_owned(), body.to_owned())
    });
    commands.collect()
}

#[test]
fn documented_commands_are_answered() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/compat.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let commands = commands(&page);
    assert!(commands.len() >= 5, "{commands:?}");
    let (server, _) = start_with(|config| config.compat_scorer = Some("math".to_owned()));
    for (path, body) in commands {
        // Token ids of a real model, and names of the models here.
        let body = body.replace("[9454, 2753]", "[9, 27]").replace("\"judge\"", "\"chat\"");
        let reply = server.post(&path, &body);
        assert_eq!(reply.status, 200, "{path} {body}: {}", reply.text);
        if path == "/verify" {
            assert_eq!(reply.json()["reward"], 1.0);
        }
        let is_answer = matches!(reply.json(), Value::Object(_) | Value::Array(_));
        assert!(is_answer, "{path}: {}", reply.text);
    }
    server.settles();
}
