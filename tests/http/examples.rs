//! The examples of the OpenAPI document, which its page sends as they stand.

use serde_json::Value;
use serve::config::{Catalogue, ModelSpec};
use serve::keys::Keys;
use serve::{Config, State};

use crate::harness::Server;

/// A server as `tribunal serve` starts it without a configuration.
pub(crate) fn unconfigured() -> Server {
    let config = Config { threads: 1, workers: 1, ..Config::default() };
    let catalogue = Catalogue { models: vec![ModelSpec::default_model()], adapters: Vec::new() };
    let hosts = serve::load_models(&config, &catalogue).expect("the model loads");
    let state = State::new(config, rubrics::Registry::with_default_model(), Keys::default());
    Server::over(state.expect("threads start").with_hosts(hosts))
}

/// The route with the examples of its parameters.
fn target(route: &str, operation: &Value) -> String {
    let (mut path, mut query) = (route.to_owned(), Vec::new());
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().expect("a name");
        match (parameter["in"].as_str(), parameter["example"].as_str()) {
            (Some("path"), Some(value)) => path = path.replace(&format!("{{{name}}}"), value),
            (Some("query"), Some(value)) => query.push(format!("{name}={value}")),
            _ => {}
        }
    }
    assert!(!path.contains('{'), "no example of a part of {route}");
    if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
}

#[test]
fn example_of_each_body_is_answered_by_a_server_without_a_configuration() {
    let document: Value = serde_json::from_str(&serve::document_text()).expect("JSON");
    let server = unconfigured();
    let (mut n_sent, mut n_refused) = (0, 0);
    for (route, operations) in document["paths"].as_object().expect("paths") {
        let operation = &operations["post"];
        let content = &operation["requestBody"]["content"]["application/json"];
        let Some(content) = content.as_object() else { continue };
        assert!(content.contains_key("example"), "no example of {route}");
        let reply = server.post(&target(route, operation), content["example"].to_string());
        n_sent += 1;
        // An example that needs more than the defaults says so to the reader of the page.
        let description = operation["description"].as_str().unwrap_or_default();
        match description.split_once("The example needs ") {
            None => assert_eq!(reply.status, 200, "{route}: {}", reply.text),
            Some((_, what)) => {
                let refused = (400..500).contains(&reply.status);
                assert!(refused, "{route} no longer needs {what} {}", reply.status);
                n_refused += 1;
            }
        }
    }
    assert!(n_refused > 0 && n_sent > n_refused, "{n_refused} of {n_sent} examples");
}
