//! Rows with feedback, out of a dataset.

use datasets::column::Column;
use datasets::{RecordBatch, SchemaRef};
use openapi::Content;
use rubrics::Turn;
use rubrics::feedback::Feedback;
use serde_json::Value;

use super::ColumnArgs;
use crate::contents::contents;
use crate::error::CliError;

/// Where things stand in a row.
pub(super) struct Columns {
    prompt: Column,
    response: Column,
    feedback: Vec<Column>,
}

/// A response and what its annotators wrote.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The prompt and the response.
    pub(super) conversation: Vec<Turn>,
    /// Who wrote something, and what.
    pub(super) annotators: Vec<(String, String)>,
}

impl Columns {
    pub(super) fn find(args: &ColumnArgs, schema: &SchemaRef) -> Result<Self, CliError> {
        let feedback = args.feedback();
        if let Some(at) = (1..feedback.len()).find(|at| feedback[..*at].contains(&feedback[*at])) {
            let message = format!("--feedback '{}' is named twice", feedback[at]);
            return Err(CliError::Usage(message));
        }
        let feedback = feedback.iter().map(|path| Column::find(schema, path, "--feedback"));
        Ok(Self {
            prompt: Column::find(schema, &args.prompt, "--prompt")?,
            response: Column::find(schema, &args.response, "--response")?,
            feedback: feedback.collect::<Result<_, _>>()?,
        })
    }

    /// Prompt, response and what else each principle's row carries, by the names that they get.
    pub(super) fn taken(
        &self,
        carry: &[String],
        schema: &SchemaRef,
    ) -> Result<Vec<(String, Column)>, CliError> {
        let mut taken = Vec::new();
        for path in carry {
            taken.push((path.clone(), Column::find(schema, path, "--carry")?));
        }
        taken.push(("prompt".to_owned(), self.prompt.clone()));
        taken.push(("response".to_owned(), self.response.clone()));
        Ok(taken)
    }

    /// The rows of a batch, or why one cannot be used.
    pub(super) fn rows(&self, batch: &RecordBatch) -> Result<Vec<Result<Row, String>>, CliError> {
        let prompts = contents(&self.prompt, batch)?;
        let responses = contents(&self.response, batch)?;
        let mut rows: Vec<Result<Row, String>> = prompts
            .into_iter()
            .zip(responses)
            .map(|(prompt, response)| self.conversation(prompt?, response?))
            .collect();
        for column in &self.feedback {
            let cells = column.json(batch).map_err(|error| {
                CliError::Failed(format!("column '{}': {error}", column.path()))
            })?;
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
    ) -> Result<Row, String> {
        let null = |column: &Column| format!("column '{}' is null", column.path());
        let mut conversation = turns(prompt.ok_or_else(|| null(&self.prompt))?, "user");
        conversation.extend(turns(response.ok_or_else(|| null(&self.response))?, "assistant"));
        Ok(Row { conversation, annotators: Vec::new() })
    }
}

impl Row {
    /// What the judge is asked, an annotator each.
    pub(super) fn feedback(&self) -> impl Iterator<Item = Feedback> {
        self.annotators.iter().map(|(_, words)| Feedback {
            conversation: self.conversation.clone(),
            feedback: words.clone(),
        })
    }

    /// What the annotators wrote.
    pub(super) fn words(&self) -> Vec<String> {
        self.annotators.iter().map(|(_, words)| words.clone()).collect()
    }
}

fn turns(content: Content, role: &str) -> Vec<Turn> {
    match content {
        Content::Text(content) => vec![Turn { role: role.to_owned(), content }],
        Content::Messages(messages) => messages
            .into_iter()
            .map(|message| Turn { role: message.role, content: message.content })
            .collect(),
    }
}

/// The annotators of a cell by their names: the column itself for a text, its items for a list. Who
/// wrote nothing is none.
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
    fn cells_have_annotators() {
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
