//! Target of a schema's `$ref`.

use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::accepted::quoted;

/// Returns the fragment that the schema refers to; only fragments of the schema itself are allowed.
pub(super) fn fragment(fields: &Map<String, Value>) -> Result<Option<String>, Refusal> {
    let Some(Value::String(reference)) = fields.get("$ref") else {
        return Ok(None);
    };
    let fragment = reference.strip_prefix('#').and_then(percent_decoded);
    if fragment.is_none() {
        let message = format!("$ref to {}: only `#…` is allowed", quoted(reference));
        return Err(Refusal::new("schema_ref", message));
    }
    Ok(fragment)
}

/// Returns `text` with every `%41` decoded; `None` if the result is not UTF-8 or an escape is cut
/// short.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_fragments_of_the_schema_are_allowed() {
        for (reference, expected) in [
            ("#", Some("")),
            ("#/$defs/a", Some("/$defs/a")),
            ("#/a~1b", Some("/a~1b")),
            ("#/%24defs/%C3%A9", Some("/$defs/é")),
            ("#word", Some("word")),
            ("", None),
            ("other.json#/a", None),
            ("https://example.com/#", None),
            ("#/%", None),
            ("#/%2", None),
            ("#/%+1", None),
            ("#/%é", None),
            ("#/%ff", None),
        ] {
            let schema = json!({"$ref": reference});
            let fields = schema.as_object().expect("an object");
            let found = fragment(fields).map_err(|refusal| refusal.code);
            let expected = expected.map_or(Err("schema_ref"), |text| Ok(Some(text.to_owned())));
            assert_eq!(found, expected, "{reference}");
        }
        assert_eq!(fragment(&Map::new()), Ok(None));
    }
}
