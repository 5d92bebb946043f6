//! Principles as rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;

use super::SupportedPrinciple;
use datasets::column::Column;
use datasets::{DatasetError, Result};

/// Columns that are made, after those that are taken from the input.
const MADE: [(&str, DataType); 6] = [
    ("annotator", DataType::Utf8),
    ("principle", DataType::Utf8),
    ("verdict", DataType::Utf8),
    ("evidence", DataType::Utf8),
    ("evidence_ratio", DataType::Float64),
    ("agreement", DataType::Float64),
];

/// A principle of one row of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct PrincipleRow {
    /// The row, counted from 0 in its batch.
    pub row: usize,
    /// Whose feedback speaks of it.
    pub annotator: String,
    /// The principle.
    pub found: SupportedPrinciple,
}

/// Rows of principles, each with columns of the row that it is from.
#[derive(Debug, Clone)]
pub struct PrincipleTable {
    taken: Vec<Column>,
    schema: SchemaRef,
}

impl PrincipleTable {
    /// A table with these columns of the input under these names.
    ///
    /// # Errors
    /// [`DatasetError::Query`] for two columns of one name.
    pub fn new(taken: Vec<(String, Column)>) -> Result<Self> {
        let named = |(name, column): &(String, Column)| -> FieldRef {
            let field = column.field().as_ref().clone();
            Arc::new(field.with_name(name).with_nullable(true))
        };
        let mut fields: Vec<FieldRef> = taken.iter().map(named).collect();
        fields.extend(
            MADE.map(|(name, data_type)| Arc::new(Field::new(name, data_type, true)) as FieldRef),
        );
        let names: Vec<&String> = fields.iter().map(|field| field.name()).collect();
        if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(DatasetError::Query {
                place: "--carry".to_owned(),
                problem: format!("two columns would be called '{}'", names[at]),
            });
        }
        Ok(Self {
            schema: Arc::new(Schema::new(fields)),
            taken: taken.into_iter().map(|(_, column)| column).collect(),
        })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of some principles of a batch.
    ///
    /// # Errors
    /// [`ArrowError`] for a batch with other columns.
    pub fn rows(
        &self,
        batch: &RecordBatch,
        lines: &[PrincipleRow],
    ) -> std::result::Result<RecordBatch, ArrowError> {
        let places: UInt64Array = lines.iter().map(|line| Some(line.row as u64)).collect();
        let taken = self.taken.iter();
        let taken = taken.map(|column| take(&column.values(batch)?, &places, None));
        let mut columns: Vec<ArrayRef> = taken.collect::<std::result::Result<_, _>>()?;
        let text = |of: fn(&PrincipleRow) -> &str| -> ArrayRef {
            Arc::new(lines.iter().map(|line| Some(of(line))).collect::<StringArray>())
        };
        let number = |of: fn(&SupportedPrinciple) -> f64| -> ArrayRef {
            Arc::new(lines.iter().map(|line| Some(of(&line.found))).collect::<Float64Array>())
        };
        columns.extend([
            text(|line| &line.annotator),
            text(|line| &line.found.stated.principle),
            text(|line| line.found.stated.verdict.name()),
            text(|line| &line.found.stated.evidence),
            number(|found| found.evidence_ratio),
            number(|found| found.agreement),
        ]);
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PrincipleVerdict, StatedPrinciple};
    use super::*;

    #[test]
    fn principles_are_rows_with_columns_of_their_own_row() {
        let texts = |texts: [&str; 2]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        let batch = RecordBatch::try_from_iter([
            ("question", texts(["q", "r"])),
            ("response", texts(["a", "b"])),
        ]);
        let batch = batch.expect("columns of one length");
        let find = |path: &str| Column::find(batch.schema_ref(), path, "--x").expect("it is there");
        let taken = |names: [(&str, &str); 2]| {
            names.map(|(name, path)| (name.to_owned(), find(path))).to_vec()
        };
        let table = PrincipleTable::new(taken([("prompt", "question"), ("response", "response")]));
        let table = table.expect("names differ");
        let line = |row: usize| PrincipleRow {
            row,
            annotator: "feedback.0".to_owned(),
            found: SupportedPrinciple {
                stated: StatedPrinciple {
                    annotator: 0,
                    principle: "brevity".to_owned(),
                    verdict: PrincipleVerdict::No,
                    evidence: "long".to_owned(),
                },
                evidence_ratio: 100.0,
                vector: Vec::new(),
                agreement: 0.9,
            },
        };
        let rows = table.rows(&batch, &[line(1), line(0)]).expect("rows");
        let json = datasets::json_text::json_lines(&rows).expect("JSON");
        let expected = |prompt: &str, response: &str| {
            format!(
                "{{\"prompt\":\"{prompt}\",\"response\":\"{response}\",\
                 \"annotator\":\"feedback.0\",\"principle\":\"brevity\",\"verdict\":\"no\",\
                 \"evidence\":\"long\",\"evidence_ratio\":100.0,\"agreement\":0.9}}\n"
            )
        };
        assert_eq!(json, expected("r", "b") + &expected("q", "a"));
        let none = table.rows(&batch, &[]).expect("no rows");
        assert_eq!(none.num_rows(), 0);
        for clash in [
            [("prompt", "question"), ("prompt", "response")],
            [("prompt", "question"), ("verdict", "response")],
        ] {
            let error = PrincipleTable::new(taken(clash)).expect_err("names clash").to_string();
            assert!(error.contains("two columns would be called"), "{error}");
        }
    }
}
