//! Examples for the OpenAPI document: bodies and parameters that a page can send as they stand.
//!
//! They work on a server without a configuration, but for those that name what they need, which the
//! descriptions of their operations repeat.

use serde::Deserialize;
use serde_json::{Map, Value};

const EXAMPLES: &str = include_str!("examples.json");

/// The example of a POST route.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestExample {
    /// What a server must have beyond its defaults.
    #[serde(default)]
    needs: Option<String>,
    #[serde(default)]
    path: Map<String, Value>,
    #[serde(default)]
    query: Map<String, Value>,
    body: Value,
}

/// Adds the examples to a document.
///
/// # Panics
/// A route or parameter of `examples.json` that the document lacks; tests read both.
pub(crate) fn insert(document: &mut Value) {
    let examples: Map<String, Value> =
        serde_json::from_str(EXAMPLES).expect("examples.json is an object");
    for (route, example) in examples {
        let example = RequestExample::deserialize(example).expect("an example has known fields");
        let operation = &mut document["paths"][&route]["post"];
        for (name, value) in example.path.into_iter().chain(example.query) {
            let parameters = operation["parameters"].as_array_mut().expect("parameters");
            let parameter = parameters.iter_mut().find(|parameter| parameter["name"] == *name);
            parameter.expect("the parameter is documented")["example"] = value;
        }
        if let Some(needs) = example.needs {
            let description = operation["description"].as_str().map(|text| format!("{text}\n\n"));
            let description = description.unwrap_or_default();
            operation["description"] = format!("{description}The example needs {needs}.").into();
        }
        let content = operation["requestBody"]["content"].get_mut("application/json");
        content.expect("the body is documented")["example"] = example.body;
    }
}
