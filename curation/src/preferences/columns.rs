//! Columns of preference pairs: prompt and responses for scorers, and existing scores or strengths.

use datasets::column::Column;
use datasets::{DatasetError, RecordBatch, Result, SchemaRef};
use openapi::{Content, ScoreInput};

use crate::contents::{CellContent, contents};

/// The columns of prompt, chosen and rejected response.
pub struct PairColumns {
    /// `None` if both responses are conversations that begin with the prompt.
    prompt: Option<Column>,
    chosen: Column,
    rejected: Column,
}

/// A vote from columns of the rows.
pub enum ScoreDifference {
    /// A column of differences.
    Column(Column),
    /// The score of the chosen response less that of the rejected one.
    Scores(Column, Column),
}

/// Subtracts the score of the rejected response from that of the chosen one; `None` without both,
/// or if the difference is not finite.
pub fn difference(chosen: Option<f64>, rejected: Option<f64>) -> Option<f64> {
    Some(chosen? - rejected?).filter(|difference| difference.is_finite())
}

/// Finds the positions of two top-level columns, which are exchanged in flipped pairs.
///
/// # Errors
/// [`DatasetError`] for a column that is missing or nested.
pub fn exchanged_columns(
    schema: &SchemaRef,
    (first, second): (&str, &str),
    option: &str,
) -> Result<(usize, usize)> {
    let position = |path: &str| -> Result<usize> {
        let column = Column::find(schema, path, option)?;
        column.top_level().ok_or_else(|| {
            DatasetError::Usage(format!(
                "{option}: '{path}' is part of a column, and only whole columns change places when \
                 a pair is flipped"
            ))
        })
    };
    Ok((position(first)?, position(second)?))
}

impl ScoreDifference {
    /// Finds columns of differences, then pairs of score columns.
    ///
    /// # Errors
    /// [`DatasetError`] for columns that are missing, hold no numbers or do not come in pairs.
    pub fn find(
        schema: &SchemaRef,
        strengths: &[String],
        chosen: &[String],
        rejected: &[String],
    ) -> Result<Vec<Self>> {
        if chosen.len() != rejected.len() {
            return Err(DatasetError::Usage(format!(
                "--chosen-score is given {} times and --rejected-score {} times; they go in pairs",
                chosen.len(),
                rejected.len()
            )));
        }
        let find = |path: &String, option| -> Result<Column> {
            let column = Column::find(schema, path, option)?;
            column.numeric(option)?;
            Ok(column)
        };
        let strengths = strengths.iter().map(|path| find(path, "--strength").map(Self::Column));
        let scores = chosen.iter().zip(rejected).map(|(chosen, rejected)| {
            let chosen = find(chosen, "--chosen-score")?;
            Ok(Self::Scores(chosen, find(rejected, "--rejected-score")?))
        });
        strengths.chain(scores).collect()
    }

    /// Returns the name of the voter.
    pub fn name(&self) -> String {
        match self {
            Self::Column(column) => column.path().to_owned(),
            Self::Scores(chosen, rejected) => format!("{}-{}", chosen.path(), rejected.path()),
        }
    }

    /// Returns the positions of both score columns, which are exchanged with the responses; `None`
    /// unless both are top-level.
    pub fn exchanged(&self) -> Option<(usize, usize)> {
        match self {
            Self::Column(_) => None,
            Self::Scores(chosen, rejected) => Some((chosen.top_level()?, rejected.top_level()?)),
        }
    }

    /// Reads the votes on the pairs of a batch.
    ///
    /// # Errors
    /// [`DatasetError::File`] for a batch with other columns.
    pub fn read(&self, batch: &RecordBatch) -> Result<Vec<Option<f64>>> {
        let numbers = |column: &Column| column.numbers(batch).map_err(|error| column.error(&error));
        match self {
            Self::Column(column) => numbers(column),
            Self::Scores(chosen, rejected) => {
                let both = numbers(chosen)?.into_iter().zip(numbers(rejected)?);
                Ok(both.map(|(chosen, rejected)| difference(chosen, rejected)).collect())
            }
        }
    }
}

impl PairColumns {
    /// Finds the columns. Without a path for the prompt, a column `prompt` is used if there is one.
    ///
    /// # Errors
    /// [`DatasetError::Query`] for a column that is missing.
    pub fn find(
        schema: &SchemaRef,
        prompt: Option<&str>,
        chosen: &str,
        rejected: &str,
    ) -> Result<Self> {
        let prompt = match prompt {
            Some(path) => Some(Column::find(schema, path, "--prompt")?),
            None => Column::find(schema, "prompt", "--prompt").ok(),
        };
        Ok(Self {
            prompt,
            chosen: Column::find(schema, chosen, "--chosen")?,
            rejected: Column::find(schema, rejected, "--rejected")?,
        })
    }

    /// Returns the positions of the responses, which are exchanged in flipped pairs.
    ///
    /// # Errors
    /// [`DatasetError::Usage`] for a nested column.
    pub fn exchanged(&self) -> Result<(usize, usize)> {
        let position = |column: &Column, option: &str| {
            column.top_level().ok_or_else(|| {
                DatasetError::Usage(format!(
                    "{option}: '{}' is part of a column; responses are whole columns",
                    column.path()
                ))
            })
        };
        Ok((position(&self.chosen, "--chosen")?, position(&self.rejected, "--rejected")?))
    }

    /// Returns the scorer inputs of a batch, each with both responses; a row that is not a pair is
    /// an error with its reason.
    ///
    /// # Errors
    /// [`DatasetError::File`] for a batch with other columns.
    pub fn inputs(
        &self,
        batch: &RecordBatch,
    ) -> Result<Vec<std::result::Result<ScoreInput, String>>> {
        let prompts = match &self.prompt {
            Some(prompt) => contents(prompt, batch)?,
            None => vec![Ok(None); batch.num_rows()],
        };
        let chosen = contents(&self.chosen, batch)?;
        let rejected = contents(&self.rejected, batch)?;
        let rows = prompts.into_iter().zip(chosen).zip(rejected);
        Ok(rows.map(|((prompt, chosen), rejected)| self.input(prompt, chosen, rejected)).collect())
    }

    fn input(
        &self,
        prompt: CellContent,
        chosen: CellContent,
        rejected: CellContent,
    ) -> std::result::Result<ScoreInput, String> {
        let required = |response: CellContent, column: &Column| {
            response?.ok_or_else(|| format!("column '{}' is null", column.path()))
        };
        let chosen = required(chosen, &self.chosen)?;
        let rejected = required(rejected, &self.rejected)?;
        let (prompt, chosen, rejected) = match prompt? {
            None => split_common_prefix(chosen, rejected),
            Some(prompt) => (Some(prompt), chosen, rejected),
        };
        Ok(ScoreInput { prompt, responses: Some(vec![chosen, rejected]), ..ScoreInput::default() })
    }
}

/// Splits off the common beginning of two conversations as their prompt, leaving at least one
/// message in each; many datasets without a prompt column have this form.
fn split_common_prefix(chosen: Content, rejected: Content) -> (Option<Content>, Content, Content) {
    match (chosen, rejected) {
        (Content::Messages(mut chosen), Content::Messages(mut rejected)) => {
            let most = chosen.len().min(rejected.len()).saturating_sub(1);
            let alike = chosen.iter().zip(&rejected).take(most);
            let n_alike = alike.take_while(|(a, b)| a == b).count();
            rejected.drain(..n_alike);
            let prompt: Vec<_> = chosen.drain(..n_alike).collect();
            let prompt = (!prompt.is_empty()).then_some(Content::Messages(prompt));
            (prompt, Content::Messages(chosen), Content::Messages(rejected))
        }
        (chosen, rejected) => (None, chosen, rejected),
    }
}

#[cfg(test)]
mod tests {
    use openapi::Message;

    use super::*;

    fn messages(texts: &[&str]) -> Content {
        let message =
            |text: &&str| Message { role: "user".to_owned(), content: (*text).to_owned() };
        Content::Messages(texts.iter().map(message).collect())
    }

    #[test]
    fn common_prefix_of_conversations_becomes_the_prompt() {
        #[track_caller]
        fn check(both: (&[&str], &[&str]), expected: (Option<&[&str]>, &[&str], &[&str])) {
            let found = split_common_prefix(messages(both.0), messages(both.1));
            let expected = (expected.0.map(messages), messages(expected.1), messages(expected.2));
            assert_eq!(found, expected, "{both:?}");
        }
        check((&["q", "a"], &["q", "b"]), (Some(&["q"]), &["a"], &["b"]));
        check((&["q", "a"], &["q", "a"]), (Some(&["q"]), &["a"], &["a"]));
        check((&["a"], &["b"]), (None, &["a"], &["b"]));
        check((&["q"], &["q", "b"]), (None, &["q"], &["q", "b"]));
        check((&[], &["b"]), (None, &[], &["b"]));
        let text = Content::Text("x".to_owned());
        let (prompt, _, _) = split_common_prefix(text.clone(), text);
        assert_eq!(prompt, None);
    }
}
