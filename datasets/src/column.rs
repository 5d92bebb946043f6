//! Columns and nested fields by dotted paths.
//! `scores.reward.score` is a nested field, and
//! `scores.reward.candidates.0.score` goes through the first item of a list. A column whose own name
//! has dots takes precedence.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema};
use arrow::error::ArrowError;

use crate::json_text::{is_json_text, json_cells};
use crate::source::type_name;
use crate::{DatasetError, Result};

/// Jaro-Winkler similarity from which a name is suggested.
const MIN_SIMILARITY: f64 = 0.6;

/// A column, or a field or list item inside one.
#[derive(Debug, Clone)]
pub struct Column {
    path: String,
    /// Position of the column in the schema.
    index: usize,
    /// Fields and items to take, from the outside inwards.
    steps: Vec<PathStep>,
    field: FieldRef,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathStep {
    /// The field at this position.
    Field(usize),
    /// The item at this position; null for a shorter list.
    Item(usize),
}

impl Column {
    /// Finds a path in a schema. `option` is the command-line option of the path, for messages.
    ///
    /// # Errors
    /// [`DatasetError::Query`] for an unknown path, with the most similar name.
    pub fn find(schema: &Schema, path: &str, option: &str) -> Result<Self> {
        if let Some((index, field)) = schema.column_with_name(path) {
            return Ok(Self {
                path: path.to_owned(),
                index,
                steps: Vec::new(),
                field: Arc::new(field.clone()),
            });
        }
        let mut names = path.split('.');
        let first = names.next().unwrap_or_default();
        let unknown = |field: &str, within: &[String]| {
            let near = nearest(field, within);
            let near = near.map_or(String::new(), |near| format!("; near: '{near}'"));
            query(option, format!("no column '{path}'{near}"))
        };
        let Some((index, field)) = schema.column_with_name(first) else {
            let own: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
            return Err(unknown(path, &own));
        };
        let mut steps = Vec::new();
        let mut field: FieldRef = Arc::new(field.clone());
        let mut so_far = first.to_owned();
        for name in names {
            let (step, inner) = inside(&field, name).map_err(|within| {
                let whole: Vec<String> = within.iter().map(|n| format!("{so_far}.{n}")).collect();
                unknown(&format!("{so_far}.{name}"), &whole)
            })?;
            steps.push(step);
            field = inner;
            so_far = format!("{so_far}.{name}");
        }
        Ok(Self { path: path.to_owned(), index, steps, field })
    }

    /// The path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Arrow field of the values, with type and metadata.
    pub fn field(&self) -> &FieldRef {
        &self.field
    }

    /// Position of the column in the schema; `None` for a path into a column.
    pub fn top_level(&self) -> Option<usize> {
        self.steps.is_empty().then_some(self.index)
    }

    /// Checks that the values are numbers.
    ///
    /// # Errors
    /// [`DatasetError::Query`] with the actual type.
    pub fn numeric(&self, option: &str) -> Result<()> {
        let data_type = self.field.data_type();
        if data_type.is_numeric() || *data_type == DataType::Null {
            return Ok(());
        }
        let held = if is_json_text(&self.field) {
            "values of several types".to_owned()
        } else {
            type_name(data_type)
        };
        let problem = format!("'{}' holds {held}, and not numbers", self.path);
        Err(query(option, problem))
    }

    /// Extracts the values, one for each row of a batch.
    ///
    /// # Errors
    /// [`ArrowError`] where the batch has another schema.
    pub fn values(&self, batch: &RecordBatch) -> std::result::Result<ArrayRef, ArrowError> {
        let mut values = batch.column(self.index).clone();
        for step in &self.steps {
            values = match step {
                PathStep::Field(at) => {
                    let object = values.as_struct();
                    let part = object.column(*at);
                    match object.nulls() {
                        None => part.clone(),
                        Some(nulls) => {
                            let is_null = arrow::array::BooleanArray::new(!nulls.inner(), None);
                            arrow::compute::nullif(part, &is_null)?
                        }
                    }
                }
                PathStep::Item(at) => items(&values, *at)?,
            };
        }
        Ok(values)
    }

    /// Extracts numbers, one for each row of a batch; `None` for null and numbers that are not finite.
    ///
    /// # Errors
    /// As [`Column::values`].
    pub fn numbers(
        &self,
        batch: &RecordBatch,
    ) -> std::result::Result<Vec<Option<f64>>, ArrowError> {
        let values = cast(&self.values(batch)?, &DataType::Float64)?;
        let numbers: &Float64Array = values.as_primitive::<Float64Type>();
        Ok(numbers.iter().map(|number| number.filter(|number| number.is_finite())).collect())
    }

    /// Wraps an error of reading this column.
    pub fn error(&self, error: &ArrowError) -> DatasetError {
        DatasetError::file(&format!("column '{}'", self.path), error)
    }

    /// Extracts the values as JSON, one for each row of a batch; a null stays null.
    ///
    /// # Errors
    /// As [`Column::values`], and for a type without a JSON form.
    pub fn json(&self, batch: &RecordBatch) -> std::result::Result<StringArray, ArrowError> {
        json_cells(&self.field, &self.values(batch)?)
    }
}

/// Resolves a name inside a type.
///
/// # Errors
/// The names that exist there.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else has anything inside")]
fn inside(field: &Field, name: &str) -> std::result::Result<(PathStep, FieldRef), Vec<String>> {
    match field.data_type() {
        DataType::Struct(fields) => match fields.find(name) {
            Some((at, inner)) => Ok((PathStep::Field(at), inner.clone())),
            None => Err(fields.iter().map(|field| field.name().clone()).collect()),
        },
        DataType::List(inner) | DataType::LargeList(inner) => match name.parse() {
            Ok(at) => Ok((PathStep::Item(at), inner.clone())),
            Err(_) => Err(vec!["0".to_owned()]),
        },
        _ => Err(Vec::new()),
    }
}

/// Takes the item at a position of each list.
fn items(lists: &ArrayRef, at: usize) -> std::result::Result<ArrayRef, ArrowError> {
    let (values, ranges): (ArrayRef, Vec<(usize, usize)>);
    if let Some(list) = lists.as_list_opt::<i32>() {
        values = list.values().clone();
        ranges = list.value_offsets().windows(2).map(range_of).collect();
    } else {
        let list = lists.as_list::<i64>();
        values = list.values().clone();
        ranges = list.value_offsets().windows(2).map(range_of).collect();
    }
    let place = |(row, (start, end)): (usize, (usize, usize))| {
        let is_there = !lists.is_null(row) && at < end - start;
        is_there.then(|| (start + at) as u64)
    };
    let places: UInt64Array = ranges.into_iter().enumerate().map(place).collect();
    take(&values, &places, None)
}

fn range_of<T: Copy + TryInto<usize>>(offsets: &[T]) -> (usize, usize) {
    let offset = |offset: T| {
        let whole: std::result::Result<usize, _> = offset.try_into();
        whole.unwrap_or_default()
    };
    (offset(offsets[0]), offset(offsets[1]))
}

/// The most similar name; `None` if none is similar enough.
fn nearest<'n>(name: &str, names: &'n [String]) -> Option<&'n str> {
    let wanted = name.to_lowercase();
    let alike = |known: &&String| strsim::jaro_winkler(&wanted, &known.to_lowercase());
    let best = names.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
    (alike(&best) >= MIN_SIMILARITY).then_some(best)
}

fn query(option: &str, problem: String) -> DatasetError {
    DatasetError::Query { place: option.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use arrow::json::ReaderBuilder;
    use arrow::json::reader::infer_json_schema;

    use super::*;

    fn batch(lines: &str) -> RecordBatch {
        let (schema, _) = infer_json_schema(lines.as_bytes(), None).expect("JSON lines");
        let reader = ReaderBuilder::new(Arc::new(schema)).build(lines.as_bytes());
        let mut batches = reader.expect("a schema");
        batches.next().expect("rows").expect("rows of the schema")
    }

    const LINES: &str = r#"
        {"a": 1, "b.c": 5, "s": {"m": {"x": 0.5}, "l": [{"v": 1}, {"v": 2}]}, "t": "x"}
        {"a": null, "b.c": 6, "s": {"m": null, "l": [{"v": 3}]}, "t": "y"}
        {"a": 3, "b.c": 7, "s": null, "t": null}
    "#;

    #[test]
    fn path_selects_nested_values() {
        #[track_caller]
        fn check(path: &str, expected: [Option<f64>; 3]) {
            let batch = batch(LINES);
            let column = Column::find(batch.schema_ref(), path, "--x").expect(path);
            column.numeric("--x").expect(path);
            assert_eq!(column.numbers(&batch).expect(path), expected, "{path}");
            // The rows of a slice are its own.
            let tail = column.numbers(&batch.slice(1, 2)).expect(path);
            assert_eq!(tail, expected[1..], "{path}");
        }
        check("a", [Some(1.0), None, Some(3.0)]);
        check("b.c", [Some(5.0), Some(6.0), Some(7.0)]);
        check("s.m.x", [Some(0.5), None, None]);
        check("s.l.0.v", [Some(1.0), Some(3.0), None]);
        check("s.l.1.v", [Some(2.0), None, None]);
        check("s.l.7.v", [None, None, None]);
    }

    #[test]
    fn unknown_path_is_refused_with_a_similar_name() {
        #[track_caller]
        fn check(path: &str, parts: &[&str]) {
            let batch = batch(LINES);
            let found = Column::find(batch.schema_ref(), path, "--strength");
            let found = found.and_then(|column| column.numeric("--strength").map(|()| column));
            let error = found.expect_err(path).to_string();
            for part in parts {
                assert!(error.contains(part), "{part:?} is missing: {error}");
            }
        }
        check("S", &["--strength: no column 'S'", "near: 's'"]);
        check("s.n.x", &["no column 's.n.x'", "near: 's."]);
        check("s.m.y", &["near: 's.m.x'"]);
        check("s.l.first", &["near: 's.l.0'"]);
        check("a.b", &["no column 'a.b'"]);
        check("t", &["'t' holds text, and not numbers"]);
        check("s.m", &["'s.m' holds an object of x"]);
        check("", &["no column ''"]);
    }

    #[test]
    fn values_are_written_as_json() {
        let batch = batch(LINES);
        let column = Column::find(batch.schema_ref(), "s.l", "--x").expect("a list");
        let cells = column.json(&batch).expect("JSON");
        let cells: Vec<Option<&str>> = cells.iter().collect();
        assert_eq!(cells, [Some(r#"[{"v":1},{"v":2}]"#), Some(r#"[{"v":3}]"#), None]);
    }
}
