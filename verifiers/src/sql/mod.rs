//! Verdicts by running SQL: a query of a response and a gold query over the same databases.
//!
//! Both run in `SQLite` inside this process, read-only, under an authorizer and limits of length,
//! depth, steps, time and memory ([`engine`]). Their results are data, compared here by the rules
//! of [`SqlMode`]. This is no [`Verifier`](crate::Verifier): some published rewards leave [0, 1],
//! and time is one of the limits. docs/sql.md has every rule.

mod compare;
mod engine;
mod extract;
mod functions;
mod mathematics;
mod ordered;
mod partial;
mod reals;
mod statement;
mod table;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{Reason, VerifyError};
use engine::{QueryFault, QueryResult, SqlQuery};
pub use table::{SqlPlace, SqlTableError, table};
pub use task::{SqlFolder, SqlTask};

/// The rule of equality and the reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlMode {
    /// Equal multisets of rows, in the order of the gold query where it has one, ties in any order.
    #[default]
    Rows,
    /// Equal sets of rows (BIRD).
    Bird,
    /// Equal multisets of rows under some order of the columns; equal lists if the gold query says
    /// `ORDER BY` anywhere (Spider's test suites).
    Spider,
    /// 1 for equal sets of rows, 0 for others, -1 for a response out of form (MARS-SQL).
    Mars,
    /// 10 times the share of rows and columns that match, 0.5 for a query that runs and matches
    /// nothing, 0 for one that does not run (PaVeRL-SQL).
    Paverl,
}

/// What a query may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SqlLimits {
    /// Instructions of `SQLite`'s virtual machine.
    pub steps: u64,
    /// Processor time: what a few instructions on long values may take.
    pub time: Duration,
}

impl Default for SqlLimits {
    fn default() -> Self {
        Self { steps: 500_000_000, time: Duration::from_secs(30) }
    }
}

/// How a query is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SqlPolicy {
    /// The rule of equality and the reward.
    pub mode: SqlMode,
    /// Limits of each query.
    pub limits: SqlLimits,
    /// Relative difference up to which two numbers are equal, if either is a float. In
    /// [`SqlMode::Rows`] alone.
    pub tolerance: f64,
    /// Whether columns may have another order. In [`SqlMode::Rows`] alone.
    pub any_columns: bool,
    /// Whether rows must match as a whole. In [`SqlMode::Paverl`] alone.
    pub row_check: bool,
}

impl Default for SqlPolicy {
    fn default() -> Self {
        Self {
            mode: SqlMode::default(),
            limits: SqlLimits::default(),
            tolerance: 1e-9,
            any_columns: false,
            row_check: false,
        }
    }
}

/// What became of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlVerdict {
    /// Equal to the gold query on every database.
    Ok,
    /// Another result.
    WrongAnswer,
    /// It is no query that `SQLite` runs.
    QueryError,
    /// It does what only reading does not need: writing, attaching, settings, other functions.
    Refused,
    /// More steps or time than allowed.
    Limit,
    /// More memory than allowed.
    Memory,
    /// A longer result than allowed.
    Output,
    /// The response has no query.
    Missing,
    /// The response is out of form (MARS-SQL).
    Form,
}

impl SqlVerdict {
    /// The code in reasons.
    pub fn code(self) -> &'static str {
        match self {
            Self::Ok => "rows_equal",
            Self::WrongAnswer => "rows_differ",
            Self::QueryError => "query_failed",
            Self::Refused => "query_refused",
            Self::Limit => "query_limit",
            Self::Memory => "memory_limit",
            Self::Output => "result_too_long",
            Self::Missing => "no_query",
            Self::Form => "out_of_form",
        }
    }

    /// The label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::WrongAnswer => "wa",
            Self::QueryError => "re",
            Self::Refused => "security",
            Self::Limit => "tle",
            Self::Memory => "mle",
            Self::Output => "ole",
            Self::Missing => "no_answer",
            Self::Form => "bad_format",
        }
    }
}

/// The verdict on a response.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlResult {
    /// Of the first database on which the query is not right.
    pub verdict: SqlVerdict,
    /// In [0, 1]; [`SqlMode::Mars`]: -1, 0 or 1; [`SqlMode::Paverl`]: 0, 0.5, or up to 10.
    pub reward: f64,
    /// For people.
    pub detail: String,
    /// Steps of all queries, in units of 200.
    pub work: u64,
}

/// Why there is no verdict. Never the response's fault.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlError {
    /// The reference or its database cannot be used, or the gold query fails.
    Reference(VerifyError),
    /// The caller's deadline passed, or it has left.
    Cancelled,
    /// The query needs more memory than is free beside others, and more time than they may wait.
    Overloaded,
}

/// How long the caller of a query waits.
#[derive(Debug, Default)]
pub struct SqlCaller {
    /// When an answer is of no use to it any more.
    pub deadline: Option<Instant>,
    /// Whether it has left.
    pub left: AtomicBool,
}

impl SqlCaller {
    fn is_gone(&self, now: Instant) -> bool {
        self.left.load(Ordering::Relaxed) || self.deadline.is_some_and(|end| now >= end)
    }
}

impl SqlError {
    fn reference(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Reference(VerifyError::BadReference(Reason::with(code, detail.into())))
    }

    /// In words.
    fn words(self) -> String {
        match self {
            Self::Reference(VerifyError::BadReference(reason) | VerifyError::Undecided(reason)) => {
                reason.detail.map_or_else(|| reason.code.to_owned(), std::borrow::Cow::into_owned)
            }
            Self::Cancelled => "cancelled".to_owned(),
            Self::Overloaded => "overloaded".to_owned(),
        }
    }
}

/// Judges the query of `response`, until `caller` is gone.
///
/// # Errors
/// [`SqlError`]: a bad reference, also where the gold query fails, the caller's end, or overload.
pub fn judge(
    response: &str,
    task: &SqlTask,
    policy: &SqlPolicy,
    caller: &Arc<SqlCaller>,
) -> Result<SqlResult, SqlError> {
    let query = extract::query(response, policy.mode);
    let mut judged = Judged { task, policy, caller, work: 0 };
    // The gold query first, so that an unusable reference is reported whatever the response.
    let mut worst: Option<(SqlVerdict, f64, String)> = None;
    for (index, database) in task.databases().iter().enumerate() {
        let gold = judged.gold(index)?;
        let Ok(query) = &query else { continue };
        let (verdict, share, detail) = judged.compared(database, query, &gold)?;
        let detail = match task.databases() {
            [_] => detail,
            _ => format!("{}: {detail}", database.name()),
        };
        if worst.as_ref().is_none_or(|(_, least, _)| share < *least) {
            worst = Some((verdict, share, detail));
        }
        if verdict != SqlVerdict::Ok && policy.mode != SqlMode::Paverl {
            break;
        }
    }
    let (verdict, share, detail) = match (query, worst) {
        (Ok(_), Some(worst)) => worst,
        (Ok(_), None) => unreachable!("a task has a database"),
        (Err((verdict, detail)), _) => (verdict, 0.0, detail),
    };
    let reward = reward(policy.mode, verdict, share);
    Ok(SqlResult { verdict, reward, detail, work: judged.work })
}

/// The reward of a verdict with the matching `share`, in [0, 1].
fn reward(mode: SqlMode, verdict: SqlVerdict, share: f64) -> f64 {
    match (mode, verdict) {
        (SqlMode::Mars, SqlVerdict::Form) => -1.0,
        (SqlMode::Paverl, SqlVerdict::Ok | SqlVerdict::WrongAnswer) if share > 0.0 => 10.0 * share,
        (SqlMode::Paverl, SqlVerdict::Ok | SqlVerdict::WrongAnswer) => 0.5,
        (_, SqlVerdict::Ok) => 1.0,
        _ => 0.0,
    }
}

/// What a gold query gives on a database.
struct GoldRows {
    rows: Arc<QueryResult>,
    order: ordered::GoldOrder,
}

struct Judged<'a> {
    task: &'a SqlTask,
    policy: &'a SqlPolicy,
    caller: &'a Arc<SqlCaller>,
    work: u64,
}

impl Judged<'_> {
    fn run(
        &mut self,
        database: &task::SqlSource,
        sql: &str,
        is_gold: bool,
    ) -> Result<Arc<QueryResult>, QueryFault> {
        let (limits, query) = (&self.policy.limits, SqlQuery { sql, is_gold });
        let (result, work) = engine::run(database, query, limits, self.caller);
        self.work += work;
        result
    }

    /// The rows of the gold query, and their order where it counts.
    fn gold(&mut self, index: usize) -> Result<GoldRows, SqlError> {
        let task = self.task;
        let (database, sql) = (&task.databases()[index], task.gold());
        let rows = self.run(database, sql, true).map_err(|fault| match fault {
            QueryFault::Cancelled => SqlError::Cancelled,
            QueryFault::Overloaded => SqlError::Overloaded,
            QueryFault::Database(why) => {
                SqlError::reference("bad_database", format!("{}: {why}", database.name()))
            }
            QueryFault::Query(verdict, why) => {
                let detail = format!("the gold query fails on {}: {why}", database.name());
                SqlError::reference(
                    if verdict == SqlVerdict::Limit { "gold_limit" } else { "gold_failed" },
                    detail,
                )
            }
        })?;
        let order = match self.policy.mode {
            SqlMode::Rows => {
                ordered::GoldOrder::find(sql, &rows, |sql| self.run(database, sql, true).ok())
            }
            SqlMode::Bird | SqlMode::Spider | SqlMode::Mars | SqlMode::Paverl => {
                ordered::GoldOrder::Free
            }
        };
        Ok(GoldRows { rows, order })
    }

    /// Runs the query and compares: verdict, matching share, detail.
    fn compared(
        &mut self,
        database: &task::SqlSource,
        query: &str,
        gold: &GoldRows,
    ) -> Result<(SqlVerdict, f64, String), SqlError> {
        let found = match self.run(database, query, false) {
            Ok(found) => found,
            Err(QueryFault::Query(verdict, why)) => return Ok((verdict, 0.0, why)),
            Err(QueryFault::Cancelled) => return Err(SqlError::Cancelled),
            Err(QueryFault::Overloaded) => return Err(SqlError::Overloaded),
            Err(QueryFault::Database(why)) => {
                return Err(SqlError::reference("bad_database", why));
            }
        };
        let share = match self.policy.mode {
            SqlMode::Bird | SqlMode::Mars => {
                f64::from(u8::from(compare::equal_sets(&gold.rows, &found)))
            }
            SqlMode::Spider => {
                let in_order = statement::says_order_by(self.task.gold());
                f64::from(u8::from(compare::equal_as_suites(&gold.rows, &found, in_order)))
            }
            SqlMode::Rows => f64::from(u8::from(ordered::equal(
                gold,
                &found,
                self.policy.tolerance,
                self.policy.any_columns,
            ))),
            SqlMode::Paverl => partial::share(&gold.rows, &found, self.policy.row_check),
        };
        let verdict = if share >= 1.0 { SqlVerdict::Ok } else { SqlVerdict::WrongAnswer };
        let detail =
            format!("expected {}, found {}", compare::shown(&gold.rows), compare::shown(&found));
        Ok((verdict, share, detail))
    }
}
