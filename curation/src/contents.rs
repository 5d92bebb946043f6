//! Texts and conversations in dataset cells.

use datasets::RecordBatch;
use datasets::column::Column;
use openapi::Content;
use serde_json::Value;

/// A text or a conversation, `None` for a null, or the reason why a cell is neither, as a sentence
/// without its full stop.
pub type CellContent = Result<Option<Content>, String>;

/// Reads the texts or conversations of a column, one for each row.
///
/// # Errors
/// [`datasets::DatasetError::File`] for a batch with other columns.
pub fn contents(column: &Column, batch: &RecordBatch) -> datasets::Result<Vec<CellContent>> {
    let cells = column.json(batch).map_err(|error| column.error(&error))?;
    let read = |cell: Option<&str>| cell.map(|cell| content(cell, column.path())).transpose();
    Ok(cells.iter().map(read).collect())
}

/// Parses a text or messages. Null fields of messages are dropped: files with one schema for all rows
/// have them where another row has a value.
fn content(cell: &str, path: &str) -> Result<Content, String> {
    let wrong = |what: &str| format!("column '{path}' holds {what}, and not a text or messages");
    let mut value: Value = serde_json::from_str(cell).map_err(|error| wrong(&error.to_string()))?;
    if let Value::Array(items) = &mut value {
        for object in items.iter_mut().filter_map(Value::as_object_mut) {
            object.retain(|_, field| !field.is_null());
        }
    }
    let kind = match &value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::Object(_) => "an object",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
    };
    serde_json::from_value(value).map_err(|error| match kind {
        "a list" => format!("{}: {error}", wrong(kind)),
        _ => wrong(kind),
    })
}

#[cfg(test)]
mod tests {
    use openapi::Message;

    use super::*;

    #[test]
    fn cells_are_texts_or_messages() {
        #[track_caller]
        fn check(cell: &str, expected: Result<Content, &str>) {
            match (content(cell, "c"), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{cell}"),
                (Err(found), Err(part)) => assert!(found.contains(part), "{cell}: {found}"),
                (found, expected) => panic!("{cell}: {found:?} and not {expected:?}"),
            }
        }
        check(r#""a""#, Ok(Content::Text("a".to_owned())));
        let message = Message { role: "user".to_owned(), content: "b".to_owned() };
        check(
            r#"[{"role": "user", "content": "b", "name": null}]"#,
            Ok(Content::Messages(vec![message])),
        );
        check("5", Err("column 'c' holds a number, and not a text"));
        check("{}", Err("holds an object"));
        check(r#"[{"role": "user"}]"#, Err("missing field `content`"));
        check(r#"[{"role": "u", "content": "b", "name": "x"}]"#, Err("unknown field"));
    }
}
