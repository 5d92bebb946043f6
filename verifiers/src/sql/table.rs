//! The rows of a query as text, for a model that asks for them.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::engine::{self, QueryFault, SqlCell, SqlQuery};
use super::task::{self, SqlSource};
use super::{SqlCaller, SqlError, SqlFolder, SqlLimits};

/// What a query of a model runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlPlace<'a> {
    /// What these statements make, in memory; nothing for an empty text.
    Script(&'a str),
    /// A database of the folder, by its name.
    Named(&'a str),
}

/// Why a query has no rows.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlTableError {
    /// The query's, or the fault of the statements or the name beside it; in words for the model.
    Query(String),
    /// Never the query's fault.
    Failed(SqlError),
}

/// Runs `query` and returns its columns and rows as JSON, until `caller` is gone.
///
/// # Errors
/// [`SqlTableError`].
pub fn table(
    query: &str,
    place: SqlPlace<'_>,
    folder: Option<&SqlFolder>,
    limits: &SqlLimits,
    caller: &Arc<SqlCaller>,
) -> Result<String, SqlTableError> {
    let own = |text: String| Err(SqlTableError::Query(text));
    let sources = match place {
        SqlPlace::Script(script) => task::scripts(&Value::from(script)),
        SqlPlace::Named(name) => task::files(name, folder),
    };
    let source = match sources {
        Ok(sources) => sources.into_iter().next().expect("there is one, or an error"),
        Err(error) => return own(error.words()),
    };
    let query = SqlQuery { sql: query, is_gold: false };
    let result = match engine::run(&source, query, limits, caller).0 {
        Ok(result) => result,
        Err(QueryFault::Query(_, why)) => return own(why),
        Err(QueryFault::Database(why)) => match source {
            SqlSource::Script { .. } => return own(format!("the statements failed: {why}")),
            SqlSource::File { .. } => {
                return Err(SqlTableError::Failed(task::no_database(why)));
            }
        },
        Err(QueryFault::Cancelled) => return Err(SqlTableError::Failed(SqlError::Cancelled)),
        Err(QueryFault::Overloaded) => return Err(SqlTableError::Failed(SqlError::Overloaded)),
    };
    let rows = result.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>());
    Ok(json!({ "columns": result.columns, "rows": rows.collect::<Vec<_>>() }).to_string())
}

/// A value in JSON. Bytes are hexadecimal, as `SQLite` writes them.
fn cell(cell: &SqlCell) -> Value {
    match cell {
        SqlCell::Null => Value::Null,
        SqlCell::Integer(number) => json!(number),
        SqlCell::Real(number) if number.is_finite() => json!(number),
        SqlCell::Real(number) => json!(number.to_string()),
        SqlCell::Text(bytes) => json!(String::from_utf8_lossy(bytes)),
        SqlCell::Blob(bytes) => {
            let mut literal = "X'".to_owned();
            for byte in bytes {
                write!(literal, "{byte:02X}").expect("a String takes all");
            }
            json!(literal + "'")
        }
    }
}
