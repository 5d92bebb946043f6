//! The JSON schema of configuration files, for editors.

use rubrics::Registry;
use rubrics::config::Document;
use serde_json::{Map, Value, json};

use super::catalogue::{Catalogue, Flags};
use super::settings::{FORMER_TABLES, SETTINGS};
use super::{FileContext, read_queues};

/// The JSON schema of configuration files. `describe` gives the text that an editor shows for a
/// setting, by table and key.
pub fn schema(describe: impl Fn(&str, &str) -> Option<String>) -> Value {
    let mut tables: Map<String, Value> = Map::new();
    for setting in SETTINGS {
        let mut schema = (setting.schema)();
        if let Some(text) = describe(setting.table, setting.key) {
            schema["description"] = text.into();
        }
        let table = tables.entry(setting.table).or_insert_with(
            || json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        );
        table["properties"][setting.key] = schema;
    }
    for (former, present) in FORMER_TABLES {
        let mut table = tables[*present].clone();
        table["deprecated"] = true.into();
        tables.insert((*former).to_owned(), table);
    }
    let document = Document::recording("", false);
    {
        let table = document.parse();
        let root = document.root(&table);
        let place = FileContext { base: None, files: None, flags: &Flags::default(), models: &[] };
        Catalogue::read(&root, &Registry::default(), place);
        read_queues(&root);
    }
    if let Some(recorded) = document.schema()["properties"].as_object() {
        tables.extend(recorded.clone());
    }
    let kinds = Registry::kind_schemas();
    tables.insert("scorer".into(), json!({ "type": "array", "items": { "oneOf": kinds } }));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Configuration of tribunal serve",
        "type": "object",
        "properties": tables,
        "additionalProperties": false,
    })
}
