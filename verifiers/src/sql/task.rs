//! Tasks: the reference of an input as a gold query and the databases that it runs on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::SqlError;
use crate::{Gold, VerifyError};

/// The gold query and its databases.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlTask {
    gold: String,
    /// At least one.
    databases: Vec<SqlSource>,
}

/// A database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SqlSource {
    /// A file of `SQLite`, of this state.
    File { path: PathBuf, bytes: u64, modified: Option<SystemTime> },
    /// What these statements make, in memory.
    Script { script: Arc<str>, name: String },
}

impl SqlSource {
    /// The name in messages: never a path.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::File { path, .. } => {
                path.file_name().and_then(|name| name.to_str()).unwrap_or("the database")
            }
            Self::Script { name, .. } => name,
        }
    }
}

/// The folder of databases that references name by `db_id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlFolder {
    /// Holds `ID/ID.sqlite` or `ID.sqlite`, as BIRD and Spider do.
    pub path: PathBuf,
    /// Whether every file `*.sqlite` of the folder `ID` counts (Spider's test suites).
    pub all_variants: bool,
}

/// Fields that hold a gold query: ours, BIRD's, Spider's, `NeMo`-Gym's.
const QUERY_FIELDS: [&str; 4] = ["sql", "SQL", "query", "gt_sql"];
/// Databases of a task at most.
const MAX_DATABASES: usize = 100;
/// Bytes of the statements that make a database at most.
const MAX_SCRIPT_BYTES: usize = 4 << 20;
/// Endings of files of `SQLite`.
const EXTENSIONS: [&str; 2] = ["sqlite", "db"];

impl SqlTask {
    /// Reads a reference; `folder` has the databases of references that name one.
    ///
    /// # Errors
    /// [`SqlError::Reference`] with the place.
    pub fn read(gold: Gold<'_>, folder: Option<&SqlFolder>) -> Result<Self, SqlError> {
        match gold {
            Gold::Missing => Err(SqlError::Reference(VerifyError::missing_reference())),
            Gold::Object(fields) => Self::from_fields(fields, folder),
            Gold::Text(text) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => Self::from_fields(&fields, folder),
                _ => Err(malformed("the reference is no object")),
            },
            Gold::AnyOf(_) => Err(malformed("the reference is a list and no object")),
        }
    }

    /// The gold query.
    pub(super) fn gold(&self) -> &str {
        &self.gold
    }

    pub(super) fn databases(&self) -> &[SqlSource] {
        &self.databases
    }

    fn from_fields(
        fields: &Map<String, Value>,
        folder: Option<&SqlFolder>,
    ) -> Result<Self, SqlError> {
        let gold = QUERY_FIELDS.iter().find_map(|name| fields.get(*name));
        let gold = match gold {
            Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
            Some(_) => return Err(malformed("the gold query is no text or empty")),
            None => return Err(malformed("'sql' is missing")),
        };
        let databases = match (fields.get("database"), fields.get("db_id")) {
            (Some(_), Some(_)) => {
                return Err(malformed("give either 'database' or 'db_id', not both"));
            }
            (Some(scripts), None) => self::scripts(scripts)?,
            (None, Some(Value::String(id))) => files(id, folder)?,
            (None, Some(_)) => return Err(malformed("'db_id' is no text")),
            (None, None) => return Err(malformed("'database' or 'db_id' is missing")),
        };
        Ok(Self { gold, databases })
    }
}

fn malformed(detail: impl Into<String>) -> SqlError {
    SqlError::reference("malformed_reference", detail)
}

pub(super) fn no_database(detail: impl Into<String>) -> SqlError {
    SqlError::reference("bad_database", detail)
}

/// Databases given as statements: one, or a list of variants.
pub(super) fn scripts(value: &Value) -> Result<Vec<SqlSource>, SqlError> {
    let texts = match value {
        Value::String(_) => std::slice::from_ref(value),
        Value::Array(texts) if !texts.is_empty() && texts.len() <= MAX_DATABASES => texts,
        Value::Array(texts) => {
            return Err(malformed(format!(
                "'database' has {} variants; it has 1 to {MAX_DATABASES}",
                texts.len()
            )));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(malformed("'database' is neither a text nor a list of texts"));
        }
    };
    let one = |(index, text): (usize, &Value)| {
        let name = format!("database[{index}]");
        match text.as_str() {
            Some(text) if text.len() <= MAX_SCRIPT_BYTES => {
                Ok(SqlSource::Script { script: text.into(), name })
            }
            Some(text) => Err(malformed(format!(
                "{name} has {} bytes; at most {MAX_SCRIPT_BYTES} are run",
                text.len()
            ))),
            None => Err(malformed(format!("{name} is no text"))),
        }
    };
    texts.iter().enumerate().map(one).collect()
}

/// The files of the database `id`.
pub(super) fn files(id: &str, folder: Option<&SqlFolder>) -> Result<Vec<SqlSource>, SqlError> {
    let folder = folder
        .ok_or_else(|| no_database("a database is named, and the scorer has no 'databases'"))?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    if id.is_empty() || id.starts_with('.') || !id.chars().all(is_name) {
        return Err(no_database(format!("'{}' is no name of a database", id.escape_debug())));
    }
    let own = folder.path.join(id);
    let mut paths = if folder.all_variants { listed(&own) } else { Vec::new() };
    if paths.is_empty() {
        let places = EXTENSIONS.iter().flat_map(|end| {
            [own.join(format!("{id}.{end}")), folder.path.join(format!("{id}.{end}"))]
        });
        paths = places.filter(|path| path.is_file()).take(1).collect();
    }
    if paths.is_empty() {
        return Err(no_database(format!("there is no database '{id}'")));
    }
    if paths.len() > MAX_DATABASES {
        let detail = format!("'{id}' has {} variants; at most {MAX_DATABASES}", paths.len());
        return Err(no_database(detail));
    }
    let source = |path: PathBuf| {
        let state = std::fs::metadata(&path).map_err(|error| no_database(error.to_string()))?;
        Ok(SqlSource::File { bytes: state.len(), modified: state.modified().ok(), path })
    };
    paths.into_iter().map(source).collect()
}

/// The files of `SQLite` in a folder, by name.
fn listed(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|end| EXTENSIONS.iter().any(|e| end == *e)))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
}
