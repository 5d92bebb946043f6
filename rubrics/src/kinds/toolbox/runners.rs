//! Programs and queries of a model, under the limits of the scorers `code` and `sql`.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use verifiers::sql::{self, SqlFolder, SqlLimits, SqlPlace, SqlTableError};

use super::result::{ToolResult, cut};
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::kinds::{code as code_kind, sql as sql_kind};
use crate::outcome::Failure;
use crate::programs::{Ending, Limits, ProgramRun, ProgramTest, Programs, SandboxConfig};
use crate::queries::{self, Queries};

/// Arguments of `python_interpreter`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    code: String,
}

/// Arguments of `sql`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SqlArguments {
    query: String,
    #[serde(default)]
    setup: Option<String>,
    #[serde(default)]
    database: Option<String>,
}

/// What runs programs and queries; `None` if no tool needs it.
#[derive(Clone, Default, Serialize)]
pub(super) struct Runners {
    #[serde(skip_serializing_if = "Option::is_none")]
    python: Option<PythonRunner>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<SqlRunner>,
}

#[derive(Clone, Serialize)]
struct PythonRunner {
    limits: Limits,
    floor: sandbox::Floor,
    #[serde(skip)]
    programs: Arc<Programs>,
}

#[derive(Clone, Serialize)]
struct SqlRunner {
    limits: SqlLimits,
    #[serde(
        rename = "databases",
        skip_serializing_if = "Option::is_none",
        serialize_with = "path_of"
    )]
    folder: Option<SqlFolder>,
    #[serde(skip)]
    queries: Arc<Queries>,
}

/// A folder of databases by its path, as the kind `sql` has it in its digest.
#[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
fn path_of<S: Serializer>(folder: &Option<SqlFolder>, serializer: S) -> Result<S::Ok, S::Error> {
    folder.as_ref().map(|folder| folder.path.to_string_lossy()).serialize(serializer)
}

impl Runners {
    /// Reads the options of the tools that the scorer has.
    pub(super) fn read(
        section: &Section<'_, '_>,
        base: Option<&Path>,
        has_python: bool,
        has_sql: bool,
    ) -> Self {
        let python = has_python.then(|| {
            let config: SandboxConfig = code_kind::read_sandbox(section);
            PythonRunner {
                limits: code_kind::read_limits(section),
                floor: config.floor,
                programs: Arc::new(Programs::new(config)),
            }
        });
        let sql = has_sql.then(|| SqlRunner {
            limits: sql_kind::read_limits(section),
            folder: sql_kind::read_folder(section, base, false),
            queries: Arc::new(Queries::new(sql_kind::read_slots(section))),
        });
        Self { python, sql }
    }

    pub(super) fn programs(&self) -> Option<&Programs> {
        self.python.as_ref().map(|python| &*python.programs)
    }

    /// Runs a program and describes what it did, stdout and stderr with at most `most` bytes each.
    ///
    /// # Errors
    /// Failures of the sandbox, which the program is not to blame for.
    pub(super) async fn run_program(
        &self,
        program: Program,
        most: usize,
        client: &EngineClient<'_>,
    ) -> Result<ToolResult, Failure> {
        let python = self.python.as_ref().expect("the tool is listed");
        let test = ProgramTest::Program { stdin: String::new() };
        let deadline = client.options().deadline;
        let (programs, limits) = (&python.programs, python.limits);
        let report = match programs.run_until(program.code, test, limits, deadline).await? {
            ProgramRun::Ran(report) => report,
            ProgramRun::NotCompiled(why) => {
                let message = json!({"status": "error", "ending": "not_compiled", "success": false,
                    "return_code": 1, "stdout": "", "stderr": cut(why, most)});
                return Ok(ToolResult::new(&message, false));
            }
        };
        client.bounds().spend(report.guest.cpu_us);
        let ending = report.ending(&limits);
        let is_ok = ending == Ending::Finished;
        let text = |bytes: &[u8]| cut(String::from_utf8_lossy(bytes).into_owned(), most);
        let code = report.guest.exit.or(report.guest.signal.map(|signal| -signal));
        let message = json!({
            "status": if is_ok { "ok" } else { "error" },
            "ending": ending.name(),
            "success": is_ok,
            "return_code": code,
            "stdout": text(&report.stdout),
            "stderr": text(&report.stderr),
        });
        Ok(ToolResult::new(&message, is_ok))
    }

    /// Runs a query; its error is for the model.
    ///
    /// # Errors
    /// A database of the server that cannot be read, and overload.
    pub(super) async fn run_query(
        &self,
        query: SqlArguments,
        client: &EngineClient<'_>,
    ) -> Result<Result<String, String>, Failure> {
        let sql = self.sql.as_ref().expect("the tool is listed");
        if query.setup.is_some() && query.database.is_some() {
            return Ok(Err("give either setup or database, not both".to_owned()));
        }
        let (limits, folder) = (sql.limits, sql.folder.clone());
        let work = move |caller: &_| {
            let place = match (&query.database, &query.setup) {
                (Some(name), _) => SqlPlace::Named(name),
                (None, setup) => SqlPlace::Script(setup.as_deref().unwrap_or_default()),
            };
            sql::table(&query.query, place, folder.as_ref(), &limits, caller)
        };
        match sql.queries.run(client, work).await? {
            Ok(rows) => Ok(Ok(rows)),
            Err(SqlTableError::Query(why)) => Ok(Err(why)),
            Err(SqlTableError::Failed(error)) => Err(queries::failure(error)),
        }
    }
}
