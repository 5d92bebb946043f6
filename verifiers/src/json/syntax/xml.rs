//! XML. A document type is refused, and with it every entity of its own.

use roxmltree::{Document as Tree, Node, ParsingOptions};
use serde_json::{Map, Value};

use super::{Document, MAX_DEPTH, Malformed};

/// Elements, attributes and texts of a document.
const MAX_NODES: u32 = 1 << 20;

pub(super) fn parse(text: &str) -> Result<Document, Malformed> {
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let tree = Tree::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        Malformed::at(place.row as usize, place.col as usize, error.to_string())
    })?;
    let root = tree.root_element();
    let mut depth = 1;
    let value =
        element(root, 1, &mut depth).ok_or_else(|| Malformed::at(1, 1, "it nests too deeply"))?;
    let mut fields = Map::new();
    fields.insert(name(root), value);
    Ok(Document { value: Value::Object(fields), depth })
}

/// The name without the namespace's prefix.
fn name(node: Node<'_, '_>) -> String {
    node.tag_name().name().to_owned()
}

/// The value of an element at a level of nesting; `None` beyond [`MAX_DEPTH`].
fn element(node: Node<'_, '_>, level: usize, depth: &mut usize) -> Option<Value> {
    // An element may be an object that holds an array.
    if level + 2 > MAX_DEPTH {
        return None;
    }
    let mut fields = Map::new();
    for attribute in node.attributes() {
        fields.insert(format!("@{}", attribute.name()), Value::from(attribute.value()));
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
        return Some(Value::from(text));
    }
    *depth = (level + 1).max(*depth);
    if !text.is_empty() {
        fields.insert("#text".to_owned(), Value::from(text));
    }
    Some(Value::Object(fields))
}
