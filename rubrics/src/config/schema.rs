//! The JSON schema of configuration files, found out by recording what their readers ask for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Value, json};

/// The keys that readers asked of a table.
#[derive(Debug, Default)]
pub(super) struct TableSchema {
    keys: BTreeMap<&'static str, KeySchema>,
    required: BTreeSet<&'static str>,
    /// Keys that may hold a text in place of a table.
    texts: BTreeSet<&'static str>,
    /// Whether the table has a reader of its own, which asks for no keys here.
    is_open: bool,
}

#[derive(Debug)]
enum KeySchema {
    Value(Value),
    Table(Rc<RefCell<TableSchema>>),
    Tables(Rc<RefCell<TableSchema>>),
}

impl TableSchema {
    /// Notes a key's values. The first schema that says anything stays: a word is read as a text.
    pub(super) fn value(&mut self, key: &'static str, schema: Value) {
        let noted = self.keys.entry(key).or_insert_with(|| KeySchema::Value(json!({})));
        if let KeySchema::Value(noted) = noted
            && noted.as_object().is_none_or(serde_json::Map::is_empty)
        {
            *noted = schema;
        }
    }

    /// Notes a key that holds a table, and returns that table's schema.
    pub(super) fn table(&mut self, key: &'static str) -> Rc<RefCell<TableSchema>> {
        if let Some(KeySchema::Table(table)) = self.keys.get(key) {
            return table.clone();
        }
        let table = Rc::default();
        self.keys.insert(key, KeySchema::Table(Rc::clone(&table)));
        table
    }

    /// Notes a key that holds a list of tables, and returns their schema.
    pub(super) fn tables(&mut self, key: &'static str) -> Rc<RefCell<TableSchema>> {
        if let Some(KeySchema::Tables(tables)) = self.keys.get(key) {
            return tables.clone();
        }
        let tables = Rc::default();
        self.keys.insert(key, KeySchema::Tables(Rc::clone(&tables)));
        tables
    }

    pub(super) fn require(&mut self, key: &'static str) {
        self.required.insert(key);
    }

    /// Notes a key that may hold a text in place of a table.
    pub(super) fn text(&mut self, key: &'static str) {
        self.texts.insert(key);
    }

    /// Notes that any key may be there.
    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    pub(super) fn to_json(&self) -> Value {
        if self.is_open {
            return json!({ "type": "object" });
        }
        let schema = |key: &KeySchema| match key {
            KeySchema::Value(schema) => schema.clone(),
            KeySchema::Table(table) => table.borrow().to_json(),
            KeySchema::Tables(tables) => {
                json!({ "type": "array", "items": tables.borrow().to_json() })
            }
        };
        let either = |key: &str, schema: Value| {
            if self.texts.contains(key) && schema["type"] != "string" {
                json!({ "anyOf": [{ "type": "string" }, schema] })
            } else {
                schema
            }
        };
        let keys = self.keys.iter().map(|(key, of)| ((*key).to_owned(), either(key, schema(of))));
        json!({
            "type": "object",
            "properties": keys.collect::<serde_json::Map<_, _>>(),
            "required": self.required,
            "additionalProperties": false,
        })
    }
}

/// Makes `schema` allow what `other` allows: the keys of both, none of them required by one alone.
pub(crate) fn merge(schema: &mut Value, other: &Value) {
    let (Some(known), Some(keys)) = (schema.as_object_mut(), other.as_object()) else { return };
    if let (Some(known), Some(keys)) = (known.get_mut("required"), keys.get("required")) {
        let both = known.as_array().into_iter().flatten();
        let both = both.filter(|key| keys.as_array().is_some_and(|keys| keys.contains(key)));
        *known = both.cloned().collect();
    }
    if let (Some(known), Some(keys)) = (known.get_mut("items"), keys.get("items")) {
        merge(known, keys);
    }
    let (Some(known), Some(keys)) =
        (known.get_mut("properties"), keys.get("properties").and_then(Value::as_object))
    else {
        return;
    };
    for (key, schema) in keys {
        match known.get_mut(key) {
            Some(known) if known.as_object().is_some_and(|known| !known.is_empty()) => {
                merge(known, schema);
            }
            _ => known[key] = schema.clone(),
        }
    }
}
