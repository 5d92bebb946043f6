//! The places of chat templates in a model folder.

use std::path::Path;

use serde_json::Value;

use crate::error::{ChatError, Result};
use crate::folder::Folder;

/// The newest convention: a file of its own.
pub(crate) const TEMPLATE_FILE: &str = "chat_template.jinja";
/// Beside it, named templates, one file each.
const TEMPLATE_FOLDER: &str = "additional_chat_templates";
/// An older convention: `{"chat_template": …}`.
const JSON_FILE: &str = "chat_template.json";
/// The largest template file that is read, and the largest template in a JSON file.
const MAX_BYTES: u64 = 4 << 20;

/// Template sources by name, the default one called `default`. The files are looked for as
/// transformers 5 does: `chat_template.jinja` and `additional_chat_templates/` win over
/// `chat_template.json`, and that over `chat_template` of `tokenizer_config.json`.
pub(crate) fn find(folder: &Folder, tokenizer_config: &Value) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    if let Some(source) = read_optional(folder, TEMPLATE_FILE)? {
        found.push(("default".to_owned(), source));
    }
    found.extend(named_templates(folder)?);
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(text) = read_optional(folder, JSON_FILE)? {
        let path = folder.path_of(JSON_FILE);
        let json: Value = serde_json::from_str(&text)
            .map_err(|e| ChatError::File { path: path.clone(), what: e.to_string() })?;
        return match json.get("chat_template") {
            Some(value) => declared(&path, value),
            None => Err(ChatError::Config {
                path,
                field: "chat_template".to_owned(),
                what: "is missing".to_owned(),
            }),
        };
    }
    match tokenizer_config.get("chat_template") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(value) => declared(&folder.path_of("tokenizer_config.json"), value),
    }
}

fn named_templates(folder: &Folder) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for file in folder.names_in(TEMPLATE_FOLDER) {
        if let Some(name) = file.strip_suffix(".jinja").filter(|name| !name.is_empty())
            && let Some(source) = read_optional(folder, &format!("{TEMPLATE_FOLDER}/{file}"))?
        {
            found.push((name.to_owned(), source));
        }
    }
    Ok(found)
}

/// A template in a JSON field: one string, or a list of `{name, template}`.
fn declared(path: &Path, value: &Value) -> Result<Vec<(String, String)>> {
    let wrong = |what: &str| ChatError::Config {
        path: path.to_owned(),
        field: "chat_template".to_owned(),
        what: what.to_owned(),
    };
    // tokenizer_config.json itself may be far longer.
    let checked = |name: &str, source: &str| {
        if source.len() as u64 > MAX_BYTES {
            return Err(wrong(&format!("is a template of more than {} MiB", MAX_BYTES >> 20)));
        }
        Ok((name.to_owned(), source.to_owned()))
    };
    match value {
        Value::String(source) => Ok(vec![checked("default", source)?]),
        Value::Array(entries) => entries
            .iter()
            .map(|entry| {
                let field = |name: &str| entry.get(name).and_then(Value::as_str);
                match (field("name"), field("template")) {
                    (Some(name), Some(source)) => checked(name, source),
                    _ => Err(wrong("an entry of the list lacks `name` or `template`")),
                }
            })
            .collect(),
        _ => Err(wrong("is neither a text nor a list of named templates")),
    }
}

/// Reads a file; `None` if it does not exist.
fn read_optional(folder: &Folder, name: &str) -> Result<Option<String>> {
    let Some(bytes) = folder.read(name, MAX_BYTES)? else {
        return Ok(None);
    };
    String::from_utf8(bytes).map(Some).map_err(|error| ChatError::File {
        path: folder.path_of(name),
        what: format!("not UTF-8: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_templates_in_json_are_refused() {
        let text = |bytes: u64| "x".repeat(usize::try_from(bytes).unwrap());
        let entry = |name: &str, bytes| json!({"name": name, "template": text(bytes)});
        let named = |bytes| json!([entry("default", 1), entry("rag", bytes)]);
        let check = |value: &Value, expected: Result<usize, &str>| {
            let found = declared(Path::new("tokenizer_config.json"), value);
            let found = found.map(|found| found.len()).map_err(|e| e.to_string());
            let refused = |what| format!("tokenizer_config.json: field `chat_template`: {what}");
            assert_eq!(found, expected.map_err(refused));
        };
        let refused = Err("is a template of more than 4 MiB");
        check(&json!(text(MAX_BYTES)), Ok(1));
        check(&json!(text(MAX_BYTES + 1)), refused);
        check(&named(MAX_BYTES), Ok(2));
        check(&named(MAX_BYTES + 1), refused);
        check(&json!([{"name": "x"}]), Err("an entry of the list lacks `name` or `template`"));
        check(&json!(1), Err("is neither a text nor a list of named templates"));
    }
}
