//! The requests of every documented route. The list of routes is the server's own document, so that a
//! new route without a request here fails the soak by name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::SoakError;

const TABLE: &str = include_str!("routes.json");

/// Where a number that differs from request to request goes.
const NUMBER: &str = "$N";

/// An entry of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteEntry {
    path: Option<String>,
    query: Option<String>,
    /// Bodies in turn; none for a request without a body.
    #[serde(default)]
    bodies: Vec<Value>,
    /// The client whose requests follow from each other, which calls this route.
    by: Option<String>,
}

/// A request of the mixed load.
#[derive(Debug)]
pub(crate) struct RouteRequest {
    /// Method and pattern.
    pub(crate) route: String,
    method: String,
    path: String,
    body: String,
}

impl RouteRequest {
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn path(&self, number: usize) -> String {
        self.path.replace(NUMBER, &number.to_string())
    }

    pub(crate) fn body(&self, number: usize) -> String {
        self.body.replace(NUMBER, &number.to_string())
    }
}

/// Every route with its requests.
pub(crate) struct RouteTable {
    pub(crate) requests: Vec<RouteRequest>,
    names: BTreeSet<String>,
}

impl RouteTable {
    pub(crate) fn read() -> Result<Self, SoakError> {
        let entries: BTreeMap<String, RouteEntry> =
            serde_json::from_str(TABLE).map_err(|error| SoakError::at("routes.json", error))?;
        let names = entries.keys().cloned().collect();
        let called = entries.into_iter().filter(|(_, entry)| entry.by.is_none());
        Ok(Self {
            requests: called.flat_map(|(route, entry)| requests(&route, &entry)).collect(),
            names,
        })
    }

    /// Routes of the document without an entry, and entries without a route, as sentences.
    pub(crate) fn faults(&self, document: &Value) -> Vec<String> {
        let documented = documented(document);
        let missing = documented.difference(&self.names);
        let missing = missing.map(|route| format!("{route}: soak/src/routes.json has no request"));
        let stale = self.names.difference(&documented);
        let stale = stale.map(|route| format!("{route}: the server does not document it"));
        missing.chain(stale).collect()
    }

    /// The patterns of all paths.
    pub(crate) fn paths(&self) -> BTreeSet<&str> {
        self.names.iter().filter_map(|name| Some(name.split_once(' ')?.1)).collect()
    }
}

fn requests(route: &str, entry: &RouteEntry) -> Vec<RouteRequest> {
    let (method, pattern) = route.split_once(' ').unwrap_or(("GET", route));
    let path = entry.path.as_deref().unwrap_or(pattern);
    let path = entry.query.as_ref().map_or(path.to_owned(), |query| format!("{path}?{query}"));
    let request = |body: String| RouteRequest {
        route: route.to_owned(),
        method: method.to_owned(),
        path: path.clone(),
        body,
    };
    if entry.bodies.is_empty() {
        return vec![request(String::new())];
    }
    entry.bodies.iter().map(|body| request(body.to_string())).collect()
}

/// Method and pattern of every operation.
fn documented(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, _)| format!("{} {path}", method.to_uppercase()))
    });
    operations.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_route_of_the_committed_document_has_a_request() {
        let document = include_str!("../../openapi/openapi.json");
        let document: Value = serde_json::from_str(document).expect("JSON");
        let table = RouteTable::read().expect("it is valid");
        assert_eq!(table.faults(&document), Vec::<String>::new());
    }

    #[test]
    fn new_route_and_stale_entry_are_named() {
        let table = RouteTable { requests: Vec::new(), names: ["GET /old".to_owned()].into() };
        let document = json!({ "paths": { "/new/{id}": { "post": {} } } });
        let faults = table.faults(&document);
        assert!(faults.iter().any(|fault| fault.starts_with("POST /new/{id}: ")), "{faults:?}");
        assert!(faults.iter().any(|fault| fault.starts_with("GET /old: ")), "{faults:?}");
        assert_eq!(faults.len(), 2);
    }
}
