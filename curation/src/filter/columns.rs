//! Column sets of a pass, and column paths as SQL.

use std::fmt::Write as _;

use arrow::datatypes::{DataType, SchemaRef};

use datasets::Result;
use query::{SqlOption, near_names};

/// The columns that a pass reads.
#[derive(Debug, Clone, Default)]
pub(super) struct NeededColumns {
    names: Vec<String>,
    is_all: bool,
}

impl NeededColumns {
    pub(super) fn all() -> Self {
        Self { names: Vec::new(), is_all: true }
    }

    pub(super) fn add(&mut self, names: impl IntoIterator<Item = String>) {
        self.names.extend(names);
    }

    /// Adds the columns of exact deduplication; all if the list is empty.
    pub(super) fn add_exact(&mut self, columns: Option<&[String]>) {
        match columns {
            Some([]) => self.is_all = true,
            Some(columns) => self.names.extend(columns.iter().cloned()),
            None => {}
        }
    }

    /// Ascending positions; `None` for all columns.
    pub(super) fn positions(&self, schema: &SchemaRef) -> Option<Vec<usize>> {
        if self.is_all {
            return None;
        }
        let position = |name: &String| schema.index_of(name).ok();
        let mut columns: Vec<usize> = self.names.iter().filter_map(position).collect();
        columns.sort_unstable();
        columns.dedup();
        Some(columns)
    }
}

/// Projects a schema; `None` keeps all columns.
pub(super) fn projected(schema: &SchemaRef, columns: Option<&[usize]>) -> SchemaRef {
    match columns {
        Some(columns) => {
            let schema = schema.project(columns);
            std::sync::Arc::new(schema.expect("positions of this schema"))
        }
        None => schema.clone(),
    }
}

/// A column, or a field inside one by a path with dots, as SQL. A column whose whole name has the
/// dots comes first.
///
/// # Errors
/// [`datasets::DatasetError::Query`] for an unknown path, with similar names.
pub(super) fn quoted(path: &str, schema: &SchemaRef, place: SqlOption) -> Result<String> {
    let missing = || place.error(format!("no column '{path}'{}", near_names(path, schema)));
    if schema.index_of(path).is_ok() {
        return Ok(sql(path, &[]));
    }
    let mut names = path.split('.');
    let first = names.next().unwrap_or_default();
    let column = schema.field_with_name(first).map_err(|_| missing())?;
    let mut data_type = column.data_type();
    let inner: Vec<&str> = names.collect();
    for name in &inner {
        let DataType::Struct(fields) = data_type else {
            return Err(missing());
        };
        let field = fields.iter().find(|field| field.name() == name);
        data_type = field.ok_or_else(missing)?.data_type();
    }
    Ok(sql(first, &inner))
}

/// A column and the fields inside it as SQL, whatever characters their names have.
pub(super) fn sql(column: &str, fields: &[&str]) -> String {
    let mut text = format!("\"{}\"", column.replace('"', "\"\""));
    for field in fields {
        let name = field.replace('\'', "''");
        write!(text, "['{name}']").expect("to memory");
    }
    text
}
