//! Verdicts on queries: the known traps of comparing results, published rewards, and attacks.

mod hostile;
mod throughput;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use verifiers::sql::{
    SqlError, SqlFolder, SqlLimits, SqlMode, SqlPolicy, SqlResult, SqlTask, SqlVerdict, judge,
};
use verifiers::{Gold, VerifyError};

const SHOP: &str = "
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, kind TEXT, stock INTEGER);
    INSERT INTO item VALUES (1, 'pen', 1.5, 'office', 10), (2, 'ink', 4.0, 'office', NULL),
      (3, 'cup', 4.0, 'kitchen', 3), (4, 'pan', 25.0, 'kitchen', 3), (5, 'pen', 2.0, NULL, 0);
    CREATE TABLE sale (item INTEGER, day TEXT, amount TEXT);
    INSERT INTO sale VALUES (1, '2024-01-02', '9'), (1, '2024-01-03', '10'), (3, '2024-01-03', '2');";

fn limits() -> SqlLimits {
    SqlLimits { steps: 2_000_000, time: Duration::from_secs(5) }
}

fn policy(mode: SqlMode) -> SqlPolicy {
    SqlPolicy { mode, limits: limits(), ..SqlPolicy::default() }
}

fn task(reference: &Value) -> Result<SqlTask, SqlError> {
    SqlTask::read(Gold::Object(reference.as_object().expect("an object")), None)
}

fn judged(response: &str, reference: &Value, policy: &SqlPolicy) -> Result<SqlResult, SqlError> {
    judge(response, &task(reference)?, policy, &Arc::default())
}

/// The verdict on a query over [`SHOP`].
fn verdict(gold: &str, query: &str, policy: &SqlPolicy) -> SqlVerdict {
    let reference = json!({"sql": gold, "database": SHOP});
    judged(query, &reference, policy).expect("the gold query runs").verdict
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of queries and their verdicts")]
fn rows_are_compared_by_their_meaning() {
    use SqlVerdict::{Ok, QueryError, WrongAnswer};
    let rule = policy(SqlMode::Rows);
    for (gold, query, expected) in [
        // Order without ORDER BY, and columns.
        ("SELECT name FROM item", "SELECT name FROM item ORDER BY price DESC", Ok),
        ("SELECT name, price FROM item", "SELECT price, name FROM item", WrongAnswer),
        ("SELECT name FROM item", "SELECT name AS label FROM item;", Ok),
        ("SELECT name FROM item", "SELECT name, price FROM item", WrongAnswer),
        // Repetitions.
        ("SELECT name FROM item", "SELECT DISTINCT name FROM item", WrongAnswer),
        ("SELECT kind FROM item", "SELECT kind FROM item UNION SELECT kind FROM item", WrongAnswer),
        // Order, with ties in any order.
        (
            "SELECT name FROM item ORDER BY price",
            "SELECT name FROM item ORDER BY price DESC",
            WrongAnswer,
        ),
        ("SELECT id FROM item ORDER BY price", "SELECT id FROM item ORDER BY price, id DESC", Ok),
        ("SELECT id FROM item ORDER BY price", "SELECT id FROM item ORDER BY id", WrongAnswer),
        (
            "SELECT id, price FROM item ORDER BY 2 DESC",
            "SELECT id, price FROM item ORDER BY price DESC, id DESC",
            Ok,
        ),
        (
            "SELECT price p, id FROM item ORDER BY p",
            "SELECT price, id FROM item ORDER BY price, -id",
            Ok,
        ),
        (
            "SELECT kind, COUNT(*) FROM item GROUP BY kind ORDER BY COUNT(*) DESC",
            "SELECT kind, COUNT(*) c FROM item GROUP BY kind ORDER BY c DESC, kind DESC",
            Ok,
        ),
        (
            "SELECT name FROM item UNION ALL SELECT day FROM sale ORDER BY 1",
            "SELECT day FROM sale UNION ALL SELECT name FROM item ORDER BY 1",
            Ok,
        ),
        (
            "SELECT DISTINCT kind FROM item ORDER BY kind",
            "SELECT kind FROM item GROUP BY 1 ORDER BY 1",
            Ok,
        ),
        // The order of a subquery is none of the result.
        (
            "SELECT name FROM (SELECT * FROM item ORDER BY price)",
            "SELECT name FROM item ORDER BY id DESC",
            Ok,
        ),
        // A limit that cuts through ties keeps any of them, and no others.
        ("SELECT id FROM item ORDER BY price DESC LIMIT 2", "SELECT 4 UNION ALL SELECT 2", Ok),
        ("SELECT id FROM item ORDER BY price DESC LIMIT 2", "SELECT 4 UNION ALL SELECT 3", Ok),
        (
            "SELECT id FROM item ORDER BY price DESC LIMIT 2",
            "SELECT 4 UNION ALL SELECT 1",
            WrongAnswer,
        ),
        (
            "SELECT id FROM item ORDER BY price DESC LIMIT 2",
            "SELECT 4 UNION ALL SELECT 4",
            WrongAnswer,
        ),
        ("SELECT id FROM item ORDER BY price DESC LIMIT 1 OFFSET 1", "SELECT 3", Ok),
        ("SELECT id FROM item ORDER BY price DESC LIMIT 1, 1", "SELECT 4", WrongAnswer),
        // NULL is neither 0 nor a text; NULLs first.
        ("SELECT stock FROM item WHERE id = 2", "SELECT NULL", Ok),
        ("SELECT stock FROM item WHERE id = 2", "SELECT 0", WrongAnswer),
        ("SELECT stock FROM item WHERE id = 2", "SELECT ''", WrongAnswer),
        ("SELECT COUNT(stock) FROM item", "SELECT COUNT(*) FROM item", WrongAnswer),
        (
            "SELECT id FROM item ORDER BY stock",
            "SELECT id FROM item ORDER BY stock NULLS LAST",
            WrongAnswer,
        ),
        (
            "SELECT id FROM item ORDER BY stock DESC NULLS LAST",
            "SELECT id FROM item ORDER BY stock DESC",
            Ok,
        ),
        // Numbers and texts.
        ("SELECT 10", "SELECT '10'", WrongAnswer),
        (
            "SELECT amount FROM sale ORDER BY amount",
            "SELECT amount FROM sale ORDER BY CAST(amount AS INTEGER)",
            WrongAnswer,
        ),
        (
            "SELECT MAX(amount) FROM sale",
            "SELECT MAX(CAST(amount AS INTEGER)) FROM sale",
            WrongAnswer,
        ),
        ("SELECT SUM(price) / COUNT(price) FROM item", "SELECT AVG(price) FROM item", Ok),
        ("SELECT 0.1 + 0.2", "SELECT 0.3", Ok),
        ("SELECT 3", "SELECT 3.0", Ok),
        ("SELECT 7 / 2", "SELECT 7 / 2.0", WrongAnswer),
        (
            "SELECT 0.30000000000000004 a, 5 UNION ALL SELECT 0.3, 7",
            "SELECT 0.3, 5 UNION ALL SELECT 0.3, 7",
            Ok,
        ),
        (
            "SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 2",
            "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 2",
            WrongAnswer,
        ),
        // Equal columns of other meaning.
        ("SELECT MAX(id) FROM item WHERE id = 3", "SELECT AVG(id) FROM item WHERE id = 3", Ok),
        ("SELECT id FROM item WHERE 0", "SELECT id FROM item WHERE price > 100", Ok),
        ("SELECT id FROM item WHERE 0", "SELECT id, name FROM item WHERE 0", WrongAnswer),
        // No query.
        ("SELECT 1", "SELECT nothing FROM item", QueryError),
        ("SELECT 1", "SELEC 1", QueryError),
        ("SELECT 1", "SELECT 1; SELECT 1", QueryError),
        ("SELECT 1", "-- only this", QueryError),
        ("SELECT 1", "SELECT ?1", QueryError),
        ("SELECT 1", "SELECT 1 -- ; DROP TABLE item\n", Ok),
        ("SELECT ';'", "SELECT char(59) /* ; */;", Ok),
    ] {
        assert_eq!(verdict(gold, query, &rule), expected, "{gold}\n{query}");
    }
    let any = SqlPolicy { any_columns: true, ..rule };
    let both =
        ("SELECT name, price FROM item ORDER BY price", "SELECT price, name FROM item ORDER BY 1");
    assert_eq!(verdict(both.0, both.1, &any), Ok);
    let exact = SqlPolicy { tolerance: 0.0, ..rule };
    assert_eq!(verdict("SELECT 0.1 + 0.2", "SELECT 0.3", &exact), WrongAnswer);
}

/// Rows and numbers that a tolerance must not confuse.
#[test]
fn tolerance_holds_for_whole_rows() {
    use SqlVerdict::{Ok, WrongAnswer};
    let rule = SqlPolicy { tolerance: 0.01, ..policy(SqlMode::Rows) };
    let (gold, swapped) = (
        "SELECT 10.0, 'x', 1 UNION ALL SELECT 10.01, 'y', 2",
        "SELECT 10.004, 'x', 1 UNION ALL SELECT 10.003, 'y', 2",
    );
    for (gold, query, expected) in [
        // Rows that stand in another order by their floats.
        (gold, swapped, Ok),
        (swapped, gold, Ok),
        (
            "SELECT 10.0, 1 UNION ALL SELECT 10.01, 2",
            "SELECT 10.004, 1 UNION ALL SELECT 10.003, 2",
            Ok,
        ),
        (gold, "SELECT 10.004, 'y', 1 UNION ALL SELECT 10.003, 'x', 2", WrongAnswer),
        (gold, "SELECT 10.004, 'x', 1 UNION ALL SELECT 10.2, 'y', 2", WrongAnswer),
        // Infinity is equal to itself and to no other number.
        ("SELECT 9e999", "SELECT 9e999", Ok),
        ("SELECT 9e999", "SELECT 1.5", WrongAnswer),
        ("SELECT 9e999", "SELECT -9e999", WrongAnswer),
        ("SELECT 1.5", "SELECT 9e999", WrongAnswer),
    ] {
        assert_eq!(verdict(gold, query, &rule), expected, "{gold}\n{query}");
    }
}

/// Functions of our own in the place of those that `SQLite` has, or may have.
#[test]
fn functions_are_those_of_sqlite() {
    let rule = policy(SqlMode::Rows);
    for (gold, query) in [
        // Mathematics.
        (
            "SELECT 2.0, 2.0, 1.0, -2.0, -1.0",
            "SELECT ceil(1.5), CEILING(1.5), floor(1.5), floor(-1.5), trunc(-1.5)",
        ),
        (
            "SELECT 'integer', 'integer', 'real', 3",
            "SELECT typeof(ceil(3)), typeof(floor(' 3 ')), typeof(trunc(3.0)), ceil(3)",
        ),
        (
            "SELECT 2.0, 2.0, 3.0, 3.0, 3.0, 1.0",
            "SELECT sqrt(4), log(100), log(2, 8), log10(1000), log2(8), ln(exp(1))",
        ),
        ("SELECT 8.0, 8.0, 1.0, -1.0", "SELECT pow(2, 3), power('2', 3), mod(10, 3), mod(-10, 3)"),
        (
            "SELECT 180.0, 0.0, 1.0, 0.0, 0.0",
            "SELECT degrees(pi()), sin(0), cos(radians(0)), atan2(0, 1), acosh(1)",
        ),
        (
            "SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
            "SELECT sqrt(-1), ln(0), log(1, 8), acos(2), mod(1, 0), sqrt(NULL), ceil('x'), sqrt(x'34')",
        ),
        // Texts of floats.
        ("SELECT CAST(1.0 / 3 AS TEXT)", "SELECT trim(1.0 / 3)"),
        ("SELECT CAST(0.1 + 0.2 AS TEXT)", "SELECT ltrim(0.1 + 0.2)"),
        ("SELECT CAST(1e15 AS TEXT)", "SELECT replace(1e15, 'x', '')"),
        ("SELECT CAST(price * 1.1 AS TEXT) FROM item", "SELECT rtrim(price * 1.1) FROM item"),
        ("SELECT instr('' || (1.0 / 3), '2')", "SELECT instr(1.0 / 3, '2')"),
    ] {
        assert_eq!(verdict(gold, query, &rule), SqlVerdict::Ok, "{gold}\n{query}");
    }
}

#[test]
fn published_rules_are_those_of_their_graders() {
    use SqlVerdict::{Ok, WrongAnswer};
    for (mode, gold, query, expected) in [
        (SqlMode::Bird, "SELECT name FROM item", "SELECT DISTINCT name FROM item", Ok),
        (
            SqlMode::Bird,
            "SELECT name FROM item ORDER BY id",
            "SELECT name FROM item ORDER BY name",
            Ok,
        ),
        (SqlMode::Bird, "SELECT 0.1 + 0.2", "SELECT 0.3", WrongAnswer),
        (SqlMode::Bird, "SELECT 3", "SELECT 3.0", Ok),
        (SqlMode::Bird, "SELECT name, id FROM item", "SELECT id, name FROM item", WrongAnswer),
        (SqlMode::Spider, "SELECT name, id FROM item", "SELECT id, name FROM item", Ok),
        (SqlMode::Spider, "SELECT name FROM item", "SELECT DISTINCT name FROM item", WrongAnswer),
        (
            SqlMode::Spider,
            "SELECT id FROM item ORDER BY price",
            "SELECT id FROM item ORDER BY price, id DESC",
            WrongAnswer,
        ),
        (
            SqlMode::Spider,
            "SELECT name, id FROM item ORDER BY id",
            "SELECT id, name FROM item ORDER BY id",
            Ok,
        ),
        (SqlMode::Spider, "SELECT id, stock FROM item WHERE id = 9", "SELECT 1 WHERE 0", Ok),
    ] {
        assert_eq!(verdict(gold, query, &policy(mode)), expected, "{mode:?}: {gold}\n{query}");
    }
}

#[test]
fn i4_mars_rewards() {
    let database = "CREATE TABLE t (n, s); INSERT INTO t VALUES (1, 'a'), (2, 'b');";
    let reference = json!({"sql": "SELECT n, s FROM t", "database": database});
    let solved = |sql: &str| format!("<think>so</think><solution>{sql}</solution>");
    let twice = "SELECT 2, 'b' UNION ALL SELECT 1, 'a' UNION ALL SELECT 1, 'a'";
    for (response, expected) in [
        (solved(twice), 1.0),
        (solved("```sql\nSELECT * FROM t\n```"), 1.0),
        (solved("SELECT n FROM t"), 0.0),
        (solved("SELECT n FROM missing"), 0.0),
        (solved(""), 0.0),
        (
            format!(
                "<think>a</think><sql>{twice}</sql><observation>2</observation> {}",
                solved(twice)
            ),
            1.0,
        ),
        (
            format!(
                "<think>a</think><sql>x</sql><observation>2</observation> <solution>{twice}</solution>"
            ),
            -1.0,
        ),
        (format!("<solution>{twice}</solution>"), -1.0),
        (format!("<think>a</think>{twice}"), -1.0),
        (format!("{}{}", solved(twice), solved(twice)), -1.0),
        (solved("<sql>SELECT 1</sql>"), -1.0),
    ] {
        let reward =
            judged(&response, &reference, &policy(SqlMode::Mars)).expect("a verdict").reward;
        assert!((reward - expected).abs() < 1e-12, "{reward} for {response}");
    }
}

#[test]
fn i4_paverl_rewards() {
    let table =
        "CREATE TABLE t (n, s); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');";
    let reference = json!({"sql": "SELECT n, s FROM t", "database": table});
    let block = |sql: &str| format!("So:\n```sql\n{sql}\n```");
    let loose = policy(SqlMode::Paverl);
    let sound = SqlPolicy { row_check: true, ..loose };
    // Column by column the pairs are right, row by row two of four.
    let misaligned = "SELECT n, CASE n WHEN 1 THEN 'b' WHEN 2 THEN 'a' ELSE s END FROM t";
    for (policy, query, expected) in [
        (&loose, "SELECT n, 'none' FROM t WHERE n < 4", 3.75),
        (&loose, "SELECT n, s FROM t ORDER BY n DESC", 10.0),
        (&loose, "SELECT s, n FROM t WHERE n > 0", 10.0),
        (&loose, "SELECT n + 0.002, s FROM t", 10.0),
        (&loose, "SELECT 'nothing of it' FROM t", 0.5),
        (&loose, "SELECT n FROM nowhere_at_all", 0.0),
        (&loose, "SELECT a.n, a.s FROM t a, t b WHERE 1", 0.5),
        (&loose, misaligned, 10.0),
        (&sound, misaligned, 5.0),
        (&sound, "SELECT n, s FROM t ORDER BY n DESC", 10.0),
    ] {
        let reward = judged(&block(query), &reference, policy).expect("a verdict").reward;
        assert!((reward - expected).abs() < 1e-9, "{reward} for {query}");
    }
    let short = judged(&block("SELECT 1"), &reference, &loose).expect("a verdict");
    assert_eq!((short.verdict, short.reward.to_bits()), (SqlVerdict::Missing, 0));
}

#[test]
fn queries_are_found_in_responses() {
    let reference = json!({"sql": "SELECT 1", "database": "CREATE TABLE t (a);"});
    for (response, expected) in [
        ("SELECT 1", SqlVerdict::Ok),
        ("First\n```sql\nSELECT 2\n```\nno:\n```sql\nSELECT 1\n```", SqlVerdict::Ok),
        ("```SQLite\nSELECT 1\n```\n```\nnotes\n```", SqlVerdict::Ok),
        ("```\nSELECT 1\n```", SqlVerdict::Ok),
        ("<think>```sql\nSELECT 2\n```</think>SELECT 1", SqlVerdict::Ok),
        ("<think>SELECT 1</think>", SqlVerdict::Missing),
        ("", SqlVerdict::Missing),
        ("```sql\n```", SqlVerdict::Missing),
    ] {
        let result = judged(response, &reference, &policy(SqlMode::Rows)).expect("a verdict");
        assert_eq!(result.verdict, expected, "{response:?}");
    }
}

#[test]
fn every_variant_counts() {
    let variant = |rows: &str| format!("CREATE TABLE t (a); INSERT INTO t VALUES {rows};");
    let variants = [variant("(1), (2)"), variant("(2), (2)")];
    let reference = json!({"sql": "SELECT a FROM t WHERE a > 1", "database": variants});
    for (query, expected) in [
        ("SELECT a FROM t WHERE a = 2", SqlVerdict::Ok),
        ("SELECT DISTINCT a FROM t WHERE a > 1", SqlVerdict::WrongAnswer),
    ] {
        let result = judged(query, &reference, &policy(SqlMode::Rows)).expect("a verdict");
        assert_eq!(result.verdict, expected, "{query}: {}", result.detail);
    }
}

/// The code of a bad reference.
fn bad(result: Result<SqlResult, SqlError>) -> &'static str {
    match result {
        Err(SqlError::Reference(VerifyError::BadReference(reason))) => reason.code,
        other => unreachable!("a bad reference was expected: {other:?}"),
    }
}

#[test]
fn unusable_references_are_no_verdicts() {
    let table = "CREATE TABLE t (a);";
    let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c";
    for (reference, expected) in [
        (json!({}), "malformed_reference"),
        (json!({"sql": " ", "database": table}), "malformed_reference"),
        (json!({"sql": 3, "database": table}), "malformed_reference"),
        (json!({"sql": "SELECT 1"}), "malformed_reference"),
        (json!({"sql": "SELECT 1", "database": []}), "malformed_reference"),
        (json!({"sql": "SELECT 1", "database": [table, 3]}), "malformed_reference"),
        (json!({"sql": "SELECT 1", "database": vec![table; 101]}), "malformed_reference"),
        (json!({"sql": "SELECT 1", "database": table, "db_id": "x"}), "malformed_reference"),
        (json!({"sql": "SELECT 1", "db_id": "shop"}), "bad_database"),
        (json!({"sql": "SELECT 1", "database": "CREATE TABLE t (a"}), "bad_database"),
        (json!({"sql": "SELECT 1", "database": "no statement"}), "bad_database"),
        (json!({"sql": "SELECT b FROM t", "database": table}), "gold_failed"),
        (json!({"sql": "DELETE FROM t", "database": table}), "gold_failed"),
        (json!({"sql": endless, "database": table}), "gold_limit"),
    ] {
        // Whatever the response is.
        for response in ["SELECT 1", ""] {
            let result = judged(response, &reference, &policy(SqlMode::Rows));
            assert_eq!(bad(result), expected, "{reference}");
        }
    }
}

fn in_folder(
    folder: &Path,
    all_variants: bool,
    id: &str,
    sql: &str,
) -> Result<SqlResult, SqlError> {
    let folder = SqlFolder { path: folder.to_owned(), all_variants };
    let reference = json!({"SQL": sql, "db_id": id});
    let gold = Gold::Object(reference.as_object().expect("an object"));
    let task = SqlTask::read(gold, Some(&folder))?;
    judge(sql, &task, &policy(SqlMode::Bird), &Arc::default())
}

#[test]
fn databases_are_files_of_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let make = |path: &str, statements: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        let connection = rusqlite::Connection::open(&path).expect("a database");
        connection.execute_batch(statements).expect("it is filled");
    };
    make("one/one.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (1);");
    make("one/one_v1.sqlite", "CREATE TABLE t (b);");
    make("two.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a);");
    std::fs::write(folder.path().join("text.sqlite"), "This is no database at all. ".repeat(99))
        .expect("a file");
    std::fs::write(folder.path().join("empty.sqlite"), "").expect("a file");
    let ok = |all, id| in_folder(folder.path(), all, id, "SELECT a FROM t").map(|r| r.verdict);
    assert_eq!(ok(false, "one"), Ok(SqlVerdict::Ok));
    assert_eq!(ok(false, "two"), Ok(SqlVerdict::Ok));
    for (all, id, expected) in [
        // Its variant has no such column.
        (true, "one", "gold_failed"),
        (false, "text", "bad_database"),
        (false, "empty", "gold_failed"),
        (false, "three", "bad_database"),
        (false, "../two", "bad_database"),
        (false, "one/one", "bad_database"),
        (false, "", "bad_database"),
    ] {
        let result = in_folder(folder.path(), all, id, "SELECT a FROM t");
        assert_eq!(bad(result), expected, "{id}");
    }
    let before = std::fs::read(folder.path().join("one/one.sqlite")).expect("the file");
    let written = in_folder(folder.path(), false, "one", "INSERT INTO t VALUES (2)");
    assert_eq!(bad(written), "gold_failed");
    assert!(before == std::fs::read(folder.path().join("one/one.sqlite")).expect("the file"));
}
