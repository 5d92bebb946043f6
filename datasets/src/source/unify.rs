//! One schema for several files.
//!
//! Columns go together by name. Types that differ are widened where no value changes by it:
//! nulls to anything, integers to wider ones and to floating-point numbers, objects by their
//! fields, lists by their items. Everything else is an error that names file, column and types.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::{InputFile, MissingColumns};
use crate::json_text::is_json_text;
use crate::{DatasetError, Result};

/// The schema that takes the rows of all files. A text without rows has no columns to say.
pub(super) fn unify(files: &[InputFile], missing: MissingColumns) -> Result<SchemaRef> {
    let mut with_rows: Vec<&InputFile> =
        files.iter().filter(|file| file.rows() > 0 || !file.schema().fields().is_empty()).collect();
    // A text whose rows are all of another file's kind may say names without types.
    if with_rows.iter().any(|file| file.rows() > 0) {
        with_rows.retain(|file| file.rows() > 0);
    }
    let mut fields: Vec<(Field, &str)> = Vec::new();
    for (index, file) in with_rows.iter().enumerate() {
        for field in file.schema().fields() {
            match fields.iter_mut().find(|(own, _)| own.name() == field.name()) {
                Some((own, first)) => {
                    *own =
                        widened(own, field).map_err(|path| conflict(file.name(), first, &path))?;
                }
                None if index == 0 => fields.push((field.as_ref().clone(), file.name())),
                None => {
                    refuse_missing(missing, with_rows[0].name(), field.name(), file.name())?;
                    fields.push((field.as_ref().clone().with_nullable(true), file.name()));
                }
            }
        }
        for (own, first) in &mut fields {
            if file.schema().field_with_name(own.name()).is_err() {
                refuse_missing(missing, file.name(), own.name(), first)?;
                own.set_nullable(true);
            }
        }
    }
    let fields: Vec<Field> = fields.into_iter().map(|(field, _)| field).collect();
    Ok(Arc::new(Schema::new(fields)))
}

fn refuse_missing(missing: MissingColumns, file: &str, column: &str, other: &str) -> Result<()> {
    match missing {
        MissingColumns::Null => Ok(()),
        MissingColumns::Refuse => {
            let problem = format!(
                "is missing, but {other} has it; --missing-columns null fills it with nulls"
            );
            Err(DatasetError::column(file, column, problem))
        }
    }
}

/// Two types that do not go together, and where.
#[derive(Debug, PartialEq, Eq)]
struct Conflict {
    /// Names from the column inwards.
    path: String,
    left: String,
    right: String,
}

fn conflict(file: &str, other: &str, conflict: &Conflict) -> DatasetError {
    let Conflict { path, left, right } = conflict;
    let problem = format!("is {right} here, but {left} in {other}");
    DatasetError::column(file, path, problem)
}

/// The column that takes the cells of both.
fn widened(left: &Field, right: &Field) -> std::result::Result<Field, Conflict> {
    let name = left.name();
    let nullable = left.is_nullable() || right.is_nullable();
    let differ = || Conflict { path: name.clone(), left: type_name(left), right: type_name(right) };
    if *left.data_type() == DataType::Null {
        return Ok(right.clone().with_name(name).with_nullable(true));
    }
    if *right.data_type() == DataType::Null {
        return Ok(left.clone().with_nullable(true));
    }
    if is_json_text(left) != is_json_text(right) {
        return Err(differ());
    }
    let data_type = match (left.data_type(), right.data_type()) {
        (DataType::Struct(left), DataType::Struct(right)) => {
            let mut fields: Vec<Field> = Vec::new();
            for own in left {
                let other = right.iter().find(|field| field.name() == own.name());
                fields.push(match other {
                    Some(other) => widened(own, other).map_err(|c| c.within(name))?,
                    None => own.as_ref().clone().with_nullable(true),
                });
            }
            let is_new = |field: &&Arc<Field>| left.iter().all(|own| own.name() != field.name());
            let new = right.iter().filter(is_new);
            fields.extend(new.map(|field| field.as_ref().clone().with_nullable(true)));
            DataType::Struct(fields.into())
        }
        (DataType::List(left), DataType::List(right)) => {
            DataType::List(Arc::new(widened(left, right).map_err(|c| c.within(name))?))
        }
        (DataType::LargeList(left), DataType::LargeList(right) | DataType::List(right))
        | (DataType::List(left), DataType::LargeList(right)) => {
            DataType::LargeList(Arc::new(widened(left, right).map_err(|c| c.within(name))?))
        }
        (left, right) => flat(left, right).ok_or_else(differ)?,
    };
    Ok(left.clone().with_data_type(data_type).with_nullable(nullable))
}

impl Conflict {
    fn within(mut self, name: &str) -> Self {
        self.path = format!("{name}.{}", self.path);
        self
    }
}

/// The type that takes the values of both, which have no parts.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other type stands for itself")]
fn flat(left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right {
        return Some(left.clone());
    }
    let is_text =
        |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let plain = |t: &DataType| match t {
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        other => other.clone(),
    };
    let (left, right) = (plain(left), plain(right));
    if left == right {
        Some(left)
    } else if is_text(&left) && is_text(&right) {
        Some(DataType::LargeUtf8)
    } else if left.is_integer() && right.is_integer() {
        wider_integer(&left, &right)
    } else if left.is_numeric() && right.is_numeric() {
        let is_plain = |t: &DataType| t.is_integer() || t.is_floating();
        (is_plain(&left) && is_plain(&right)).then_some(DataType::Float64)
    } else {
        None
    }
}

fn wider_integer(left: &DataType, right: &DataType) -> Option<DataType> {
    let width = |t: &DataType| t.primitive_width().unwrap_or(8);
    let both = [left, right];
    if both.iter().all(|t| t.is_unsigned_integer()) || both.iter().all(|t| t.is_signed_integer()) {
        let wider = both.into_iter().max_by_key(|t| width(t))?;
        return Some(wider.clone());
    }
    let unsigned = both.into_iter().find(|t| t.is_unsigned_integer())?;
    // No integer takes all of both.
    (width(unsigned) < 8).then_some(DataType::Int64)
}

/// A type in words.
fn type_name(field: &Field) -> String {
    if is_json_text(field) {
        return "JSON of several types".to_owned();
    }
    super::type_name(field.data_type())
}
