//! Rows of a JSONL file, as inputs.

use std::path::Path;

use openapi::{Content, Reference, ScoreInput};
use serde::Deserialize;

use crate::error::{LoadError, WrongRows};

/// Wrong rows that are listed; the others are counted.
const SHOWN: usize = 5;

/// The columns that can be sent. Others are ignored.
#[derive(Deserialize)]
struct InputRow {
    prompt: Option<Content>,
    question: Option<Content>,
    response: Option<Content>,
    pred: Option<Content>,
    reference: Option<Reference>,
    gold: Option<Reference>,
}

impl InputRow {
    fn into_input(self) -> Result<ScoreInput, String> {
        let response = match (self.response, self.pred) {
            (Some(response), None) | (None, Some(response)) => response,
            (None, None) => return Err("has neither `response` nor `pred`".to_owned()),
            (Some(_), Some(_)) => return Err("has both `response` and `pred`".to_owned()),
        };
        let reference = match (self.reference, self.gold) {
            (Some(_), Some(_)) => return Err("has both `reference` and `gold`".to_owned()),
            (reference, gold) => reference.or(gold),
        };
        Ok(ScoreInput {
            prompt: self.prompt.or(self.question),
            response: Some(response),
            reference,
            ..ScoreInput::default()
        })
    }
}

/// Reads every row of `path`; blank lines are skipped.
pub(super) fn read_rows(path: &Path) -> Result<Vec<ScoreInput>, LoadError> {
    let text =
        std::fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let rows = (1..).zip(lines).filter(|(_, line)| !line.is_empty());
    let (mut inputs, mut first, mut total) = (Vec::new(), Vec::new(), 0);
    for (number, line) in rows {
        match parse(line) {
            Ok(input) => inputs.push(input),
            Err(complaint) => {
                total += 1;
                if first.len() < SHOWN {
                    first.push((number, complaint));
                }
            }
        }
    }
    if total > 0 {
        return Err(LoadError::Rows(WrongRows { path: path.to_owned(), first, total }));
    }
    if inputs.is_empty() {
        return Err(LoadError::usage("--input", format!("{} has no rows", path.display())));
    }
    Ok(inputs)
}

fn parse(line: &[u8]) -> Result<ScoreInput, String> {
    // A list would fill the fields by position.
    if !line.starts_with(b"{") {
        return Err("is not a JSON object".to_owned());
    }
    match openapi::parse_body::<InputRow>(line) {
        Ok(row) => row.into_input(),
        Err(openapi::BodyError::Malformed { column, message, .. }) => {
            Err(format!("is not JSON: {message} at column {column}"))
        }
        Err(openapi::BodyError::Invalid { path, message }) => Err(format!("`{path}`: {message}")),
    }
}
