//! XML. A document type is refused, and with it every entity of its own.

use roxmltree::{Document as Tree, Node, ParsingOptions};
use serde_json::{Map, Value};

use super::{Document, MAX_DEPTH, Malformed};

/// Elements, attributes and texts of a document.
const MAX_NODES: u32 = 1 << 20;
/// Mentions of `xmlns`: the time of the parser grows with the cube of the namespaces.
const MAX_NAMESPACES: usize = 256;
/// Attributes of an element: the time of the parser grows with their square.
const MAX_ATTRIBUTES: usize = 512;

pub(super) fn parse(text: &str) -> Result<Document, Malformed> {
    within_limits(text)?;
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let tree = Tree::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        Malformed::at(place.row as usize, place.col as usize, error.to_string())
    })?;
    let root = tree.root_element();
    let mut depth = 1;
    let value = element(root, 1, &mut depth)?;
    let mut fields = Map::new();
    fields.insert(name(root), value);
    Ok(Document { value: Value::Object(fields), depth })
}

/// Refuses, before it is parsed, a text with more namespaces or attributes than a parse has time for.
///
/// Neither is missed, whatever comments, quotes and sections are around them: without a document
/// type, a namespace is declared by `xmlns` written out, and every tag begins with a `<`, which no
/// value of an attribute has. In a comment or a section that looks like a tag, too much is counted.
fn within_limits(text: &str) -> Result<(), Malformed> {
    if let Some((at, _)) = text.match_indices("xmlns").nth(MAX_NAMESPACES) {
        let what = format!("more than {MAX_NAMESPACES} namespaces");
        return Err(Malformed::at_byte(text, at, what));
    }
    for (at, _) in text.match_indices('<') {
        if attributes(&text[at + 1..]) > MAX_ATTRIBUTES {
            let what = format!("an element with more than {MAX_ATTRIBUTES} attributes");
            return Err(Malformed::at_byte(text, at, what));
        }
    }
    Ok(())
}

/// Attributes of a tag by its text after the `<`.
fn attributes(tag: &str) -> usize {
    if tag.starts_with(['!', '?', '/']) {
        return 0;
    }
    let (mut attributes, mut quote) = (0, None);
    for byte in tag.bytes() {
        match (byte, quote) {
            (b'<', _) | (b'>', None) => break,
            (b'\'' | b'"', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (b'=', None) => attributes += 1,
            _ => {}
        }
    }
    attributes
}

/// The name without the namespace's prefix.
fn name(node: Node<'_, '_>) -> String {
    node.tag_name().name().to_owned()
}

/// The value of an element at a level of nesting.
fn element(node: Node<'_, '_>, level: usize, depth: &mut usize) -> Result<Value, Malformed> {
    // An element may be an object that holds an array.
    if level + 2 > MAX_DEPTH {
        return Err(Malformed::at(1, 1, "it nests too deeply"));
    }
    let mut fields = Map::new();
    for attribute in node.attributes() {
        let (key, value) = (format!("@{}", attribute.name()), Value::from(attribute.value()));
        // Without prefixes two attributes may have one name; `lang` and `xml:lang` say the same.
        if fields.get(&key).is_some_and(|other| *other != value) {
            let place = node.document().text_pos_at(attribute.range().start);
            return Err(Malformed::twice(place.row as usize, place.col as usize, key));
        }
        fields.insert(key, value);
    }
    let mut text = String::new();
    for child in node.children() {
        if child.is_text() {
            text.push_str(child.text().unwrap_or_default());
        } else if child.is_element() {
            let value = element(child, level + 2, depth)?;
            let known = fields.entry(name(child));
            let slot = known.or_insert(Value::Null);
            // An element's own value is never null, which marks a new name here.
            if let Value::Array(items) = slot {
                items.push(value);
            } else if slot.is_null() {
                *slot = value;
            } else {
                *slot = Value::Array(vec![slot.take(), value]);
            }
        }
    }
    let text = text.trim();
    if fields.is_empty() {
        return Ok(Value::from(text));
    }
    *depth = (level + 1).max(*depth);
    if !text.is_empty() {
        fields.insert("#text".to_owned(), Value::from(text));
    }
    Ok(Value::Object(fields))
}
