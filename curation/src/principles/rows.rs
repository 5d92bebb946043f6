//! Rows with human feedback.

use datasets::column::Column;
use datasets::{DatasetError, RecordBatch, SchemaRef};
use openapi::{Content, Message};
use serde_json::Value;

use crate::contents::contents;

/// The columns of prompt, response and feedback.
pub struct FeedbackColumns {
    prompt: Column,
    response: Column,
    feedback: Vec<Column>,
}

/// A response with its feedback.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedbackRow {
    /// The prompt and the response.
    pub conversation: Vec<Message>,
    /// Name and text of each annotator who wrote something.
    pub annotators: Vec<(String, String)>,
}

impl FeedbackColumns {
    /// Finds the columns by their paths.
    ///
    /// # Errors
    /// [`DatasetError`] for a column that is missing or named twice.
    pub fn find(
        schema: &SchemaRef,
        prompt: &str,
        response: &str,
        feedback: &[String],
    ) -> datasets::Result<Self> {
        if let Some(at) = (1..feedback.len()).find(|at| feedback[..*at].contains(&feedback[*at])) {
            let message = format!("--feedback '{}' is named twice", feedback[at]);
            return Err(DatasetError::Usage(message));
        }
        let feedback = feedback.iter().map(|path| Column::find(schema, path, "--feedback"));
        Ok(Self {
            prompt: Column::find(schema, prompt, "--prompt")?,
            response: Column::find(schema, response, "--response")?,
            feedback: feedback.collect::<Result<_, _>>()?,
        })
    }

    /// The columns that each principle is written with, by their new names: those of `carry`, prompt
    /// and response.
    ///
    /// # Errors
    /// [`DatasetError::Query`] for a column that is missing.
    pub fn carried(
        &self,
        carry: &[String],
        schema: &SchemaRef,
    ) -> datasets::Result<Vec<(String, Column)>> {
        let mut taken = Vec::new();
        for path in carry {
            taken.push((path.clone(), Column::find(schema, path, "--carry")?));
        }
        taken.push(("prompt".to_owned(), self.prompt.clone()));
        taken.push(("response".to_owned(), self.response.clone()));
        Ok(taken)
    }

    /// Reads the rows of a batch; a row that cannot be used is an error with its reason.
    ///
    /// # Errors
    /// [`DatasetError::File`] for a batch with other columns.
    pub fn rows(&self, batch: &RecordBatch) -> datasets::Result<Vec<Result<FeedbackRow, String>>> {
        let prompts = contents(&self.prompt, batch)?;
        let responses = contents(&self.response, batch)?;
        let mut rows: Vec<Result<FeedbackRow, String>> = prompts
            .into_iter()
            .zip(responses)
            .map(|(prompt, response)| self.conversation(prompt?, response?))
            .collect();
        for column in &self.feedback {
            let cells = column.json(batch).map_err(|error| column.error(&error))?;
            for (row, cell) in rows.iter_mut().zip(cells.iter()) {
                let (Ok(known), Some(cell)) = (&mut *row, cell) else {
                    continue;
                };
                match annotators(column.path(), cell) {
                    Ok(more) => known.annotators.extend(more),
                    Err(reason) => *row = Err(reason),
                }
            }
        }
        Ok(rows)
    }

    fn conversation(
        &self,
        prompt: Option<Content>,
        response: Option<Content>,
    ) -> Result<FeedbackRow, String> {
        let null = |column: &Column| format!("column '{}' is null", column.path());
        let mut conversation = messages(prompt.ok_or_else(|| null(&self.prompt))?, "user");
        conversation.extend(messages(response.ok_or_else(|| null(&self.response))?, "assistant"));
        Ok(FeedbackRow { conversation, annotators: Vec::new() })
    }
}

impl FeedbackRow {
    /// The texts of the annotators.
    pub fn feedback(&self) -> Vec<String> {
        self.annotators.iter().map(|(_, words)| words.clone()).collect()
    }
}

fn messages(content: Content, role: &str) -> Vec<Message> {
    match content {
        Content::Text(content) => vec![Message { role: role.to_owned(), content }],
        Content::Messages(messages) => messages,
    }
}

/// Names and texts of the annotators of a cell: the column itself for a text, the items of a list.
/// Blank texts are skipped.
fn annotators(path: &str, cell: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = |what: &str| {
        format!("column '{path}' holds {what}, and feedback is a text or a list of texts")
    };
    let value: Value = serde_json::from_str(cell).map_err(|error| wrong(&error.to_string()))?;
    let named = match value {
        Value::Null => Vec::new(),
        Value::String(words) => vec![(path.to_owned(), words)],
        Value::Array(items) => {
            let items = items.into_iter().enumerate().map(|(at, item)| match item {
                Value::Null => Ok((format!("{path}.{at}"), String::new())),
                Value::String(words) => Ok((format!("{path}.{at}"), words)),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    Err(wrong("a list of something else"))
                }
            });
            items.collect::<Result<_, _>>()?
        }
        Value::Bool(_) | Value::Number(_) => return Err(wrong("a number or a truth value")),
        Value::Object(_) => return Err(wrong("an object")),
    };
    Ok(named.into_iter().filter(|(_, words)| !words.trim().is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_becomes_annotators() {
        #[track_caller]
        fn check(cell: &str, expected: Result<&[(&str, &str)], &str>) {
            match (annotators("f", cell), expected) {
                (Ok(found), Ok(expected)) => {
                    let found: Vec<(&str, &str)> =
                        found.iter().map(|(name, words)| (name.as_str(), words.as_str())).collect();
                    assert_eq!(found, expected, "{cell}");
                }
                (Err(found), Err(part)) => assert!(found.contains(part), "{cell}: {found}"),
                (found, expected) => panic!("{cell}: {found:?} and not {expected:?}"),
            }
        }
        check(r#""good""#, Ok(&[("f", "good")]));
        check(r#"["good", null, " ", "bad"]"#, Ok(&[("f.0", "good"), ("f.3", "bad")]));
        check("[]", Ok(&[]));
        check(r#""""#, Ok(&[]));
        check("null", Ok(&[]));
        check("5", Err("holds a number"));
        check("{}", Err("holds an object"));
        check(r#"["a", 5]"#, Err("a list of something else"));
    }
}
