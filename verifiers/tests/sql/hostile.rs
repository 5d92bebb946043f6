//! Queries that would read, write, load, or never end: each ends as a verdict of its own, and the
//! next query runs as if nothing had been.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::json;
use verifiers::sql::{SqlCaller, SqlError, SqlLimits, SqlMode, SqlPolicy, SqlVerdict, judge};

use super::{SHOP, judged, limits, policy, task, verdict};

#[test]
fn attacks_end_by_their_verdicts() {
    use SqlVerdict::{Limit, Memory, Output, QueryError, Refused};
    let rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000000)";
    let mut wrong = Vec::new();
    let long = "replace(printf('%100000d', 0), ' ', 'ab')";
    for (query, expected) in [
        // Writing and settings.
        ("INSERT INTO item VALUES (9, '', 0, '', 0)".to_owned(), &[Refused][..]),
        ("DELETE FROM item".to_owned(), &[Refused]),
        ("DROP TABLE item".to_owned(), &[Refused]),
        ("CREATE TABLE more (a)".to_owned(), &[Refused]),
        ("CREATE TEMP TABLE more (a)".to_owned(), &[Refused]),
        ("UPDATE item SET price = 0 RETURNING price".to_owned(), &[Refused]),
        ("WITH a AS (SELECT 1) DELETE FROM item".to_owned(), &[Refused]),
        ("PRAGMA writable_schema = ON".to_owned(), &[Refused]),
        ("PRAGMA hard_heap_limit = 1".to_owned(), &[Refused]),
        ("SELECT * FROM pragma_database_list".to_owned(), &[Refused]),
        ("BEGIN".to_owned(), &[Refused]),
        ("VACUUM INTO 'copy.db'".to_owned(), &[Refused, QueryError]),
        // Files and code.
        ("ATTACH 'other.db' AS other".to_owned(), &[Refused]),
        ("SELECT load_extension('x.so')".to_owned(), &[Refused, QueryError]),
        ("SELECT fts3_tokenizer('simple')".to_owned(), &[Refused]),
        ("SELECT readfile('/etc/passwd')".to_owned(), &[QueryError]),
        ("SELECT * FROM fsdir('/')".to_owned(), &[QueryError]),
        ("SELECT 'a' REGEXP '(a*)*b'".to_owned(), &[QueryError, Refused]),
        // Chance and long values of nothing.
        ("SELECT name FROM item ORDER BY random()".to_owned(), &[Refused]),
        ("SELECT randomblob(1000000000)".to_owned(), &[Refused]),
        ("SELECT zeroblob(1000000000)".to_owned(), &[Refused]),
        ("SELECT printf('%1000000000d', 1)".to_owned(), &[Output]),
        (format!("SELECT replace({long}, 'ab', {long})"), &[Output, QueryError]),
        // Steps.
        (format!("{rows} SELECT count(*) FROM c"), &[Limit]),
        ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT 1 FROM c".to_owned(), &[Limit]),
        (format!("SELECT count(*) FROM {}", ["item"; 12].join(" , ").replace("item", "item i")), &[Limit, QueryError]),
        ("SELECT count(*) FROM item a, item b, item c, item d, item e, item f, item g, item h, item i, item j".to_owned(), &[Limit]),
        // Long steps.
        (format!("{rows} SELECT count(*) FROM c WHERE printf('%900000d', x) LIKE '%a%b%c'"), &[Limit]),
        (format!("{rows} SELECT max(trim(printf('%900000d', x), printf('%900000d', -x))) FROM c"), &[Limit]),
        (format!("{rows} SELECT sum(instr(printf('%900000d', x), printf('%400000d', -x))) FROM c"), &[Limit]),
        // Memory and results.
        (format!("{rows} SELECT x, printf('%900000d', x) FROM c"), &[Output]),
        (format!("{rows} SELECT printf('%900000d', x) y FROM c ORDER BY y"), &[Memory]),
        (format!("{rows} SELECT group_concat(printf('%9000d', x)) FROM c"), &[Limit, Output]),
        (format!("{rows} SELECT json_group_array(printf('%9000d', x)) FROM c"), &[Limit, Output]),
        // Depth and length.
        (format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)), &[QueryError]),
        (format!("SELECT {}1", "NOT ".repeat(5000)), &[QueryError]),
        (format!("SELECT {}1", "- ".repeat(9000)), &[QueryError]),
        (format!("SELECT {}1{}", "CASE WHEN 1 THEN ".repeat(2000), " END".repeat(2000)), &[QueryError]),
        (format!("SELECT * FROM {}item{}", "(SELECT * FROM ".repeat(2000), ")".repeat(2000)), &[QueryError]),
        (format!("SELECT 1{}", " UNION SELECT 1".repeat(3000)), &[QueryError]),
        (format!("SELECT 1 WHERE $x(') {}", "(".repeat(5000)), &[QueryError]),
        (format!("SELECT '{}'", "x".repeat(1_000_000)), &[QueryError]),
        (format!("SELECT 1{}", ", 1".repeat(3000)), &[QueryError]),
        (chained(30, "SELECT * FROM"), &[Limit, Memory, QueryError]),
        (chained(3000, "\u{feff}SELECT * FROM"), &[QueryError]),
        ("SELECT 1; ".repeat(6000), &[QueryError]),
        ("\0SELECT 1".to_owned(), &[QueryError]),
    ] {
        // Long steps are ended by their time.
        let time = Duration::from_millis(if *expected == [Limit] { 100 } else { 5000 });
        let policy = SqlPolicy {
            limits: SqlLimits { time, ..limits() },
            ..policy(SqlMode::Rows)
        };
        let found = verdict("SELECT count(*) FROM item", &query, &policy);
        let start: String = query.chars().take(120).collect();
        if !expected.contains(&found) {
            wrong.push(format!("{found:?} and not {expected:?}: {start}"));
        }
        let next = verdict("SELECT count(*) FROM item", "SELECT 5", &policy);
        assert_eq!(next, SqlVerdict::Ok, "after {start}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Results whose columns could be exchanged in more ways than can be tried, and fit in none.
#[test]
fn arrangements_of_columns_are_bounded() {
    let gold = format!("SELECT {}3", "0, ".repeat(19));
    let shared = format!("SELECT {}3, 3", "0, ".repeat(18));
    let any = SqlPolicy { any_columns: true, ..policy(SqlMode::Rows) };
    for policy in [&policy(SqlMode::Spider), &any] {
        for query in [format!("SELECT 0{}", ", 0".repeat(19)), shared.clone()] {
            assert_eq!(verdict(&gold, &query, policy), SqlVerdict::WrongAnswer, "{query}");
            assert_eq!(verdict(&query, &gold, policy), SqlVerdict::WrongAnswer, "{query}");
        }
        let turned = format!("SELECT 3{}", ", 0".repeat(19));
        assert_eq!(verdict(&gold, &turned, policy), SqlVerdict::Ok);
    }
}

/// Common table expressions, each of which uses the one before twice.
fn chained(length: usize, select: &str) -> String {
    let mut query = "WITH t0(x) AS (VALUES (1))".to_owned();
    for number in 1..length {
        let before = number - 1;
        write!(query, ", t{number} AS ({select} t{before} a JOIN t{before} b USING (x))")
            .expect("a text takes it");
    }
    format!("{query} SELECT count(*) FROM t{}", length - 1)
}

#[test]
fn scripts_of_databases_are_bounded() {
    let rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 90000000)";
    for script in [
        "ATTACH 'other.db' AS other;".to_owned(),
        "CREATE TABLE t (a); PRAGMA hard_heap_limit = 1;".to_owned(),
        "CREATE VIRTUAL TABLE t USING fts5(a);".to_owned(),
        "CREATE TABLE t (a); CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END;"
            .to_owned(),
        format!("CREATE TABLE t AS {rows} SELECT x FROM c;"),
        format!("CREATE TABLE t AS {rows} SELECT printf('%900000d', x) FROM c;"),
        "SELECT load_extension('x.so');".to_owned(),
    ] {
        let reference = json!({"sql": "SELECT 1", "database": script});
        let result = judged("SELECT 1", &reference, &policy(SqlMode::Rows));
        assert!(matches!(result, Err(SqlError::Reference(_))), "{script}: {result:?}");
    }
    let dump = "PRAGMA foreign_keys=OFF; BEGIN TRANSACTION; CREATE TABLE t (a); COMMIT;";
    let reference = json!({"sql": "SELECT a FROM t", "database": dump});
    let result = judged("SELECT a FROM t", &reference, &policy(SqlMode::Rows));
    assert_eq!(result.map(|result| result.verdict), Ok(SqlVerdict::Ok));
}

#[test]
fn caller_ends_a_query() {
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT 1 FROM c";
    let reference = json!({"sql": "SELECT 1", "database": SHOP});
    let task = task(&reference).expect("a task");
    for caller in [
        SqlCaller { left: AtomicBool::new(true), deadline: None },
        SqlCaller { left: AtomicBool::new(false), deadline: Some(Instant::now()) },
    ] {
        let result = judge(endless, &task, &policy(SqlMode::Rows), &Arc::new(caller));
        assert_eq!(result, Err(SqlError::Cancelled));
    }
}

#[test]
fn neighbours_of_a_memory_bomb_keep_their_verdicts() {
    let bomb = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000000) \
                SELECT printf('%900000d', x) y FROM c ORDER BY y";
    let sorted = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20) \
                  SELECT count(*) FROM (SELECT printf('%900000d', x) y FROM c ORDER BY y)";
    std::thread::scope(|scope| {
        let bomb = scope.spawn(|| verdict("SELECT 1", bomb, &policy(SqlMode::Rows)));
        for _ in 0..20 {
            assert_eq!(verdict("SELECT 20", sorted, &policy(SqlMode::Rows)), SqlVerdict::Ok);
        }
        assert_eq!(bomb.join().expect("it ends"), SqlVerdict::Memory);
    });
}
