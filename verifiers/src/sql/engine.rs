//! Runs one query in `SQLite`, read-only and within its limits.
//!
//! `SQLite`'s heap and its limit belong to the process, so the connections of all threads share them.
//! A query that finds no memory is therefore run once more alone, with no other connection open:
//! whether it fits never depends on its neighbours.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use rustix::time::{ClockId, clock_gettime};

use super::functions::MAX_VALUE_BYTES;
use super::task::SqlSource;
use super::{SqlCaller, SqlLimits, SqlVerdict, functions, statement};

/// Bytes of `SQLite`'s heap over all connections of the process.
const HEAP_BYTES: u64 = 256 << 20;
/// Bytes of a query.
const MAX_QUERY_BYTES: usize = 64 << 10;
/// Bytes of a result, each cell with its own 32.
const MAX_RESULT_BYTES: usize = 32 << 20;
/// Columns of a result.
const MAX_COLUMNS: i32 = 200;
/// Pages of a database made by statements: 32 MiB.
const MAX_PAGES: u32 = 8192;
/// Instructions between two looks at the limits.
const STEPS_PER_LOOK: i32 = 200;
/// Processor time of a query that runs alone, while the others wait.
const ALONE: Duration = Duration::from_secs(5);
/// Open databases that wait for another query.
const MAX_IDLE: usize = 32;
/// Pages of a database in memory that may wait for another query: 4 MiB.
const MAX_IDLE_PAGES: u32 = 1024;

/// Results of gold queries that an open database keeps, and their cells.
const MAX_KEPT: usize = 8;
const MAX_KEPT_CELLS: usize = 1000;

/// Held while a query runs: shared, or alone by a query that found no memory beside others.
static HEAP: RwLock<()> = RwLock::new(());
/// Open databases without a query. They take of the same heap.
static IDLE: Mutex<Vec<OpenDatabase>> = Mutex::new(Vec::new());

/// A connection whose database is open, with its functions, limits and settings.
struct OpenDatabase {
    source: SqlSource,
    connection: Connection,
    /// Pages of a database in memory; 0 of a file.
    pages: u32,
    /// Whether the authorizer denied something of the query.
    denied: Arc<AtomicBool>,
    /// Results of gold queries, which the responses to one prompt share; the latest last.
    kept: Vec<(String, Arc<QueryResult>)>,
}

/// A value of a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SqlCell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// The rows of a query in their order, and the names of its columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryResult {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<SqlCell>>,
}

/// Why a query has no result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum QueryFault {
    /// The query's own fault.
    Query(SqlVerdict, String),
    /// The database cannot be opened or read.
    Database(String),
    /// The caller is gone.
    Cancelled,
    /// It needs to run alone for longer than others may wait.
    Overloaded,
}

/// A query, and whether it is a gold query, whose result may be needed again.
#[derive(Clone, Copy)]
pub(super) struct SqlQuery<'a> {
    pub(super) sql: &'a str,
    pub(super) is_gold: bool,
}

/// Runs a query on a database. Returns the result and the looks at the limits that it took.
pub(super) fn run(
    source: &SqlSource,
    query: SqlQuery<'_>,
    limits: &SqlLimits,
    caller: &Arc<SqlCaller>,
) -> (Result<Arc<QueryResult>, QueryFault>, u64) {
    let sql = query.sql;
    if sql.len() > MAX_QUERY_BYTES {
        let why = format!("{} bytes; a query has at most {MAX_QUERY_BYTES}", sql.len());
        return (Err(QueryFault::Query(SqlVerdict::QueryError, why)), 0);
    }
    if let Some(why) = statement::objection(sql) {
        return (Err(QueryFault::Query(SqlVerdict::QueryError, why)), 0);
    }
    let mut work = 0;
    let shared = {
        let _shared = HEAP.read().unwrap_or_else(PoisonError::into_inner);
        attempt(source, query, &Watch::new(limits, caller), &mut work)
    };
    match shared {
        Err(QueryFault::Query(SqlVerdict::Memory, _)) => {}
        result => return (result, work),
    }
    let _alone = HEAP.write().unwrap_or_else(PoisonError::into_inner);
    IDLE.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let watch = Watch::new(&SqlLimits { time: limits.time.min(ALONE), ..*limits }, caller);
    let result = attempt(source, query, &watch, &mut work);
    // Whether it would end within its own limit is not known.
    let is_cut = limits.time > ALONE && watch.stopped() == TIME_PASSED;
    (if is_cut { Err(QueryFault::Overloaded) } else { result }, work)
}

/// What a run is stopped by.
struct Watch {
    steps: u64,
    time: Duration,
    caller: Arc<SqlCaller>,
    state: Arc<WatchState>,
}

#[derive(Default)]
struct WatchState {
    looks: AtomicU64,
    /// Why it stopped the query: 0 for not.
    stopped: AtomicU8,
}

const STEPS_SPENT: u8 = 1;
const TIME_PASSED: u8 = 2;
const CALLER_LEFT: u8 = 3;

/// Processor time of this thread.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("processor time is not negative")
}

impl Watch {
    fn new(limits: &SqlLimits, caller: &Arc<SqlCaller>) -> Self {
        Self {
            steps: limits.steps,
            time: limits.time,
            caller: Arc::clone(caller),
            state: Arc::default(),
        }
    }

    fn stopped(&self) -> u8 {
        self.state.stopped.load(Ordering::Relaxed)
    }

    /// Watches what `connection` runs from now on, on this thread.
    fn attach(&self, connection: &mut Connection) -> Result<(), Error> {
        let most = self.steps / u64::from(STEPS_PER_LOOK.unsigned_abs());
        let (start, time, caller) = (processor_time(), self.time, Arc::clone(&self.caller));
        let state = Arc::clone(&self.state);
        // Reading processor time takes a system call, so it is read when it may have passed.
        let mut next = Instant::now() + time;
        let mut is_spent = move |now: Instant| {
            if now < next {
                return false;
            }
            let left = time.saturating_sub(processor_time().saturating_sub(start));
            next = now + left;
            left.is_zero()
        };
        let look = move || {
            let (looks, now) = (state.looks.fetch_add(1, Ordering::Relaxed), Instant::now());
            let stopped = if looks >= most {
                STEPS_SPENT
            } else if caller.is_gone(now) {
                CALLER_LEFT
            } else if is_spent(now) {
                TIME_PASSED
            } else {
                return false;
            };
            state.stopped.store(stopped, Ordering::Relaxed);
            true
        };
        connection.progress_handler(STEPS_PER_LOOK, Some(look))
    }

    /// The fault that an error of the query is.
    fn fault(&self, error: &Error) -> QueryFault {
        let own = |verdict, why: String| QueryFault::Query(verdict, why);
        match (self.stopped(), error.sqlite_error_code()) {
            (CALLER_LEFT, _) => QueryFault::Cancelled,
            (STEPS_SPENT, _) => own(SqlVerdict::Limit, format!("more than {} steps", self.steps)),
            (TIME_PASSED, _) => own(SqlVerdict::Limit, "more time than allowed".to_owned()),
            (_, Some(ErrorCode::OutOfMemory)) => {
                own(SqlVerdict::Memory, format!("more than {} MiB", HEAP_BYTES >> 20))
            }
            (_, Some(ErrorCode::TooBig)) => own(SqlVerdict::Output, error.to_string()),
            (
                _,
                Some(
                    ErrorCode::NotADatabase
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::CannotOpen
                    | ErrorCode::SystemIoFailure,
                ),
            ) => QueryFault::Database(error.to_string()),
            _ => own(SqlVerdict::QueryError, error.to_string()),
        }
    }
}

fn attempt(
    source: &SqlSource,
    query: SqlQuery<'_>,
    watch: &Watch,
    work: &mut u64,
) -> Result<Arc<QueryResult>, QueryFault> {
    let open = match taken(source) {
        Some(open) => Ok(open),
        None => OpenDatabase::open(source, watch),
    };
    let result = open.and_then(|mut open| {
        let result = open.kept_or_run(query, watch);
        if matches!(result, Ok(_) | Err(QueryFault::Query(SqlVerdict::QueryError, _))) {
            open.keep();
        }
        result
    });
    *work += watch.state.looks.load(Ordering::Relaxed);
    result
}

/// An open connection to the database; `None` if none waits.
fn taken(source: &SqlSource) -> Option<OpenDatabase> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = idle.iter().rposition(|open| open.source == *source)?;
    Some(idle.remove(at))
}

impl OpenDatabase {
    fn open(source: &SqlSource, watch: &Watch) -> Result<Self, QueryFault> {
        let broken = |error: Error| match watch.fault(&error) {
            fault @ (QueryFault::Cancelled
            | QueryFault::Overloaded
            | QueryFault::Query(SqlVerdict::Limit | SqlVerdict::Memory, _)) => fault,
            QueryFault::Query(_, why) | QueryFault::Database(why) => QueryFault::Database(why),
        };
        let mut connection = match source {
            SqlSource::File { path, .. } => {
                let mut uri = "file:".to_owned();
                for byte in path.as_os_str().as_encoded_bytes() {
                    let is_plain = byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
                    if is_plain {
                        uri.push(char::from(*byte));
                    } else {
                        write!(uri, "%{byte:02X}").expect("a text takes it");
                    }
                }
                // Nobody writes it while the program runs; so a log of changes needs no lock.
                uri.push_str("?immutable=1");
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX
                    | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(uri, flags)
            }
            SqlSource::Script { .. } => Connection::open_with_flags(
                ":memory:",
                OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            ),
        }
        .map_err(broken)?;
        let pages = Self::prepare(source, &mut connection, watch).map_err(broken)?;
        let denied = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&denied);
        let reads = move |context: AuthContext<'_>| {
            let answer = may_read(context);
            flag.fetch_or(answer == Authorization::Deny, Ordering::Relaxed);
            answer
        };
        connection.authorizer(Some(reads)).map_err(broken)?;
        Ok(Self { source: source.clone(), connection, pages, denied, kept: Vec::new() })
    }

    /// Settings, limits and functions, and the content of a database that statements make, whose
    /// pages it counts.
    fn prepare(
        source: &SqlSource,
        connection: &mut Connection,
        watch: &Watch,
    ) -> Result<u32, Error> {
        // In memory: a query writes no file, and its sorting counts against the heap.
        connection.execute_batch(&format!(
            "PRAGMA hard_heap_limit = {HEAP_BYTES}; PRAGMA temp_store = MEMORY; \
             PRAGMA cell_size_check = ON;"
        ))?;
        for (setting, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        ] {
            connection.set_db_config(setting, value)?;
        }
        let bytes = i32::try_from(MAX_VALUE_BYTES).expect("1 MiB");
        for (limit, value) in [
            (Limit::SQLITE_LIMIT_LENGTH, bytes),
            (Limit::SQLITE_LIMIT_COLUMN, MAX_COLUMNS),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
            (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
            (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
            (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
            (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1),
            (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            connection.set_limit(limit, value)?;
        }
        functions::register(connection)?;
        watch.attach(connection)?;
        let mut pages = 0;
        if let SqlSource::Script { script, .. } = source {
            connection.execute_batch(&format!("PRAGMA max_page_count = {MAX_PAGES}"))?;
            connection.authorizer(Some(may_build))?;
            connection.execute_batch(script)?;
            connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
            pages = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        }
        connection.set_limit(
            Limit::SQLITE_LIMIT_SQL_LENGTH,
            i32::try_from(MAX_QUERY_BYTES).expect("64 KiB"),
        )?;
        Ok(pages)
    }

    fn kept_or_run(
        &mut self,
        query: SqlQuery<'_>,
        watch: &Watch,
    ) -> Result<Arc<QueryResult>, QueryFault> {
        let kept = self.kept.iter().find(|(sql, _)| query.is_gold && sql == query.sql);
        if let Some((_, result)) = kept {
            return Ok(Arc::clone(result));
        }
        let result = Arc::new(self.query(query.sql, watch)?);
        let cells = result.rows.len() * result.columns.len();
        if query.is_gold && cells <= MAX_KEPT_CELLS && !functions::may_read_clock(query.sql) {
            if self.kept.len() == MAX_KEPT {
                self.kept.remove(0);
            }
            self.kept.push((query.sql.to_owned(), Arc::clone(&result)));
        }
        Ok(result)
    }

    fn query(&mut self, sql: &str, watch: &Watch) -> Result<QueryResult, QueryFault> {
        let denied = Arc::clone(&self.denied);
        denied.store(false, Ordering::Relaxed);
        let fault = |error: Error| {
            let fault = watch.fault(&error);
            if let QueryFault::Query(SqlVerdict::QueryError, why) = &fault
                && denied.load(Ordering::Relaxed)
            {
                return QueryFault::Query(SqlVerdict::Refused, why.clone());
            }
            fault
        };
        watch.attach(&mut self.connection).map_err(fault)?;
        let mut statement = self.connection.prepare(sql).map_err(fault)?;
        let width = statement.column_count();
        if width == 0 {
            let why = "it returns no columns".to_owned();
            return Err(QueryFault::Query(SqlVerdict::QueryError, why));
        }
        let columns = statement.column_names().map(str::to_owned).collect();
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let mut found = statement.raw_query();
        while let Some(row) = found.next().map_err(fault)? {
            let mut cells = Vec::with_capacity(width);
            for index in 0..width {
                let cell = SqlCell::new(row.get_ref(index).map_err(fault)?);
                bytes += 32 + cell.bytes();
                cells.push(cell);
            }
            if bytes > MAX_RESULT_BYTES {
                let why = format!("its result has more than {MAX_RESULT_BYTES} bytes");
                return Err(QueryFault::Query(SqlVerdict::Output, why));
            }
            rows.push(cells);
        }
        Ok(QueryResult { columns, rows })
    }

    /// Lets the connection wait for another query, if its content in memory is small.
    fn keep(self) {
        if self.pages > MAX_IDLE_PAGES {
            return;
        }
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        idle.push(self);
    }
}

/// What a query may do: read, call the listed functions, recurse.
fn may_read(context: AuthContext<'_>) -> Authorization {
    let is_allowed = if let AuthAction::Function { function_name } = context.action {
        functions::is_allowed(function_name)
    } else {
        matches!(
            context.action,
            AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive
        )
    };
    if is_allowed { Authorization::Allow } else { Authorization::Deny }
}

/// What the statements of a database may do: make tables, views and indexes, and fill them.
fn may_build(context: AuthContext<'_>) -> Authorization {
    let is_building = matches!(
        context.action,
        AuthAction::CreateTable { .. }
            | AuthAction::CreateView { .. }
            | AuthAction::CreateIndex { .. }
            | AuthAction::Reindex { .. }
            | AuthAction::Insert { .. }
            | AuthAction::Update { .. }
            | AuthAction::Delete { .. }
            | AuthAction::Transaction { .. }
    );
    // The first line of a dump, without its effect.
    let is_first_line = matches!(
        context.action,
        AuthAction::Pragma { pragma_name, .. } if pragma_name.eq_ignore_ascii_case("foreign_keys")
    );
    if is_building {
        Authorization::Allow
    } else if is_first_line {
        Authorization::Ignore
    } else {
        may_read(context)
    }
}

impl SqlCell {
    fn new(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
            Self::Text(bytes) | Self::Blob(bytes) => bytes.len(),
        }
    }
}
