//! Where a model folder keeps its chat templates, and the one tag that Jinja does not know.

use std::path::Path;

use serde_json::Value;

use super::GENERATION_FILTER;
use crate::folder::Folder;
use crate::{ModelError, Result};

/// The newest convention: a file of its own.
pub(crate) const TEMPLATE_FILE: &str = "chat_template.jinja";
/// Beside it, named templates, one file each.
const TEMPLATE_FOLDER: &str = "additional_chat_templates";
/// An older convention: `{"chat_template": …}`.
const JSON_FILE: &str = "chat_template.json";
/// The largest template file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Template sources by name, the default one called `default`. The files are looked for as
/// transformers 5 does: `chat_template.jinja` and `additional_chat_templates/` win over
/// `chat_template.json`, and that over `chat_template` of `tokenizer_config.json`.
pub(crate) fn find(folder: &Folder, tokenizer_config: &Value) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    if let Some(source) = read(folder, TEMPLATE_FILE)? {
        found.push(("default".to_owned(), source));
    }
    found.extend(named(folder)?);
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(text) = read(folder, JSON_FILE)? {
        let path = folder.path_of(JSON_FILE);
        let json: Value = serde_json::from_str(&text)
            .map_err(|e| ModelError::File { path: path.clone(), what: e.to_string() })?;
        return match json.get("chat_template") {
            Some(value) => declared(&path, value),
            None => Err(ModelError::Config {
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

fn named(folder: &Folder) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for file in folder.names_in(TEMPLATE_FOLDER) {
        if let Some(name) = file.strip_suffix(".jinja").filter(|name| !name.is_empty())
            && let Some(source) = read(folder, &format!("{TEMPLATE_FOLDER}/{file}"))?
        {
            found.push((name.to_owned(), source));
        }
    }
    Ok(found)
}

/// A template in a JSON field: one string, or a list of `{name, template}`.
fn declared(path: &Path, value: &Value) -> Result<Vec<(String, String)>> {
    let wrong = |what: &str| ModelError::Config {
        path: path.to_owned(),
        field: "chat_template".to_owned(),
        what: what.to_owned(),
    };
    match value {
        Value::String(source) => Ok(vec![("default".to_owned(), source.clone())]),
        Value::Array(entries) => entries
            .iter()
            .map(|entry| {
                let field = |name: &str| entry.get(name).and_then(Value::as_str);
                match (field("name"), field("template")) {
                    (Some(name), Some(source)) => Ok((name.to_owned(), source.to_owned())),
                    _ => Err(wrong("an entry of the list lacks `name` or `template`")),
                }
            })
            .collect(),
        _ => Err(wrong("is neither a text nor a list of named templates")),
    }
}

/// The text of a file, or nothing where there is none.
fn read(folder: &Folder, name: &str) -> Result<Option<String>> {
    let Some(bytes) = folder.read(name, MAX_BYTES)? else {
        return Ok(None);
    };
    String::from_utf8(bytes).map(Some).map_err(|error| ModelError::File {
        path: folder.path_of(name),
        what: format!("not UTF-8: {error}"),
    })
}

/// `{% generation %}` and `{% endgeneration %}` as a filter block, which has the same white space
/// control and scope, so that a parser of plain Jinja takes them.
pub(super) fn rewrite_generation(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let end = match tag.as_bytes().get(1) {
            Some(b'#') => tag.find("#}").map(|e| e + 2),
            Some(b'{') => end_of_tag(tag, "}}"),
            Some(b'%') => end_of_tag(tag, "%}"),
            _ => Some(1),
        };
        let Some(end) = end else {
            // Not closed: the parser says so better.
            out.push_str(tag);
            return out;
        };
        let (tag, later) = tag.split_at(end);
        rest = later;
        let name = tag.strip_prefix("{%").map(|t| t.trim_matches(['-', '+', '%', '}']).trim());
        match name {
            Some("generation") => {
                let filter = format!("filter {GENERATION_FILTER}");
                out.push_str(&tag.replacen("generation", &filter, 1));
            }
            Some("endgeneration") => {
                out.push_str(&tag.replacen("endgeneration", "endfilter", 1));
            }
            Some("raw") => {
                out.push_str(tag);
                let end = end_of_raw(rest);
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            _ => out.push_str(tag),
        }
    }
    out.push_str(rest);
    out
}

/// The end of a tag, whose texts in quotes may hold anything.
fn end_of_tag(tag: &str, close: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in tag.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if tag[at..].starts_with(close) => return Some(at + close.len()),
            Some(_) | None => {}
        }
    }
    None
}

/// Where the tag that ends a raw block begins.
fn end_of_raw(rest: &str) -> usize {
    let mut from = 0;
    while let Some(at) = rest[from..].find("{%").map(|at| at + from) {
        let inside = rest[at + 2..].trim_start_matches(['-', '+']).trim_start();
        if inside.starts_with("endraw") {
            return at;
        }
        from = at + 2;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::rewrite_generation;

    #[test]
    fn generation_tags_become_filter_blocks() {
        for (source, expected) in [
            (
                "{%- generation -%}x{%+ endgeneration %}",
                "{%- filter __generation__ -%}x{%+ endfilter %}",
            ),
            ("{% generation%}", "{% filter __generation__%}"),
            ("{# {% generation %} #}", "{# {% generation %} #}"),
            ("{{ '{% generation %}' }}", "{{ '{% generation %}' }}"),
            (
                "{% raw %}{% generation %}{% endraw %}{% generation %}",
                "{% raw %}{% generation %}{% endraw %}{% filter __generation__ %}",
            ),
            ("{% if generation %}", "{% if generation %}"),
            ("{ a {% set x = '%}' %} b", "{ a {% set x = '%}' %} b"),
            ("{% generation", "{% generation"),
        ] {
            assert_eq!(rewrite_generation(source), expected);
        }
    }
}
