//! Questions and their answers, over every format alike.

mod groups;
mod near_duplicates;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::groups::Band;
use datasets::DatasetError;
use datasets::json_text::json_lines;
use datasets::scan::ReadObserver;
use datasets::sink::{Sink, SinkOptions};
use datasets::source::Dataset;
use datasets::source::SourceOptions;

/// Keeps what it is given.
#[derive(Default)]
struct CollectedLines {
    lines: String,
}

impl RowSink for CollectedLines {
    fn begin(&mut self, _schema: &SchemaRef) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        self.lines += &json_lines(batch).expect("every type has JSON");
        Ok(())
    }
}

/// Rows with scores as `tribunal score` writes them.
fn rows(n_rows: u32) -> String {
    let mut text = String::new();
    for row in 0..n_rows {
        let score = f64::from(row * 7 % 11) / 10.0;
        let name = ["ada", "bob", "cy"][row as usize % 3];
        let score = match row % 10 {
            9 => "null".to_owned(),
            _ => score.to_string(),
        };
        writeln!(
            text,
            "{{\"id\":{row},\"Name\":\"{name}\",\"scores\":{{\"math\":{{\"status\":\"ok\",\"score\":{score}}}}}}}",
        )
        .expect("to memory");
    }
    text
}

/// A dataset in a file of each format, text and Parquet, of several row groups.
struct Files {
    _folder: tempfile::TempDir,
    spill: PathBuf,
    datasets: Vec<Dataset>,
}

fn files(lines: &str) -> Files {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = folder.path().join("f.jsonl");
    std::fs::write(&text, lines).expect("ours");
    let open = |path: PathBuf| {
        Dataset::open(&[path.display().to_string()], &SourceOptions::default()).expect("readable")
    };
    let from_text = open(text);
    let columnar = folder.path().join("f.parquet").display().to_string();
    let mut sink =
        Sink::create(&columnar, from_text.schema(), &SinkOptions::default()).expect("ours");
    for batch in from_text.batches() {
        sink.write(&batch.expect("readable").data).expect("ours");
    }
    sink.finish().expect("ours");
    let from_columns = open(columnar.into());
    Files {
        spill: folder.path().join("spill"),
        _folder: folder,
        datasets: vec![from_text, from_columns],
    }
}

fn resources(memory_bytes: usize, spill: &std::path::Path) -> FilterResources {
    FilterResources { threads: 2, memory_bytes, texts_bytes: None, spill: spill.to_owned() }
}

fn query_rows(
    dataset: &Dataset,
    spill: &std::path::Path,
    options: FilterOptions,
) -> Result<(String, FilterReport)> {
    let mut kept = CollectedLines::default();
    let plan = FilterPlan::new(dataset, options, resources(MEMORY_BYTES, spill))?;
    let report = plan.run(&mut kept, Box::new(|_| Ok(())))?;
    Ok((kept.lines, report))
}

fn of(condition: &str) -> FilterOptions {
    FilterOptions {
        wheres: vec![condition.to_owned()],
        select: Some("id".to_owned()),
        ..FilterOptions::default()
    }
}

/// Checks the ids of the rows that are kept and what each condition dropped, in every format.
#[track_caller]
fn check(options: &FilterOptions, ids: &[u32], dropped: &[(&str, u64)]) {
    let files = files(&rows(20));
    for dataset in &files.datasets {
        let (lines, report) =
            query_rows(dataset, &files.spill, options.clone()).expect("a good question");
        let expected: Vec<String> = ids.iter().map(|id| format!("{{\"id\":{id}}}\n")).collect();
        let expected = expected.concat();
        assert_eq!(lines, expected, "{options:?}");
        let found: Vec<(&str, Option<u64>)> = report
            .dropped
            .iter()
            .map(|dropped| (dropped.condition.as_str(), dropped.rows))
            .collect();
        let expected: Vec<_> = dropped.iter().map(|(text, rows)| (*text, Some(*rows))).collect();
        assert_eq!(found, expected, "{options:?}");
        assert_eq!((report.read, report.written), (20, ids.len() as u64));
    }
}

#[test]
fn conditions_drop_rows_and_are_counted() {
    check(&of("id >= 17"), &[17, 18, 19], &[("id >= 17", 17)]);
    check(&of("scores['math']['score'] = 1.0"), &[3, 14], &[("scores['math']['score'] = 1.0", 18)]);
    check(&of("scores.math.score = 1.0"), &[3, 14], &[("scores.math.score = 1.0", 18)]);
    check(&of("scores.math.score IS NULL"), &[9, 19], &[("scores.math.score IS NULL", 18)]);
    // A null is no, and so is its opposite.
    check(
        &of("NOT scores.math.score < 2 AND id > 0"),
        &[],
        &[("NOT scores.math.score < 2", 20), ("id > 0", 0)],
    );
    check(
        &of("Name = 'ada' AND (id > 5 AND scores.math.status = 'ok') AND id BETWEEN 0 AND 12"),
        &[6, 9, 12],
        &[
            ("Name = 'ada'", 13),
            ("id > 5", 2),
            ("scores.math.status = 'ok'", 0),
            ("id BETWEEN 0 AND 12", 2),
        ],
    );
    check(
        &of("id = 1 OR Name = 'cy' AND id < 3"),
        &[1, 2],
        &[("id = 1 OR Name = 'cy' AND id < 3", 18)],
    );
    check(
        &of("\"Name\" LIKE 'b%' AND true"),
        &[1, 4, 7, 10, 13, 16, 19],
        &[("\"Name\" LIKE 'b%'", 13), ("true", 0)],
    );
    check(
        &of("length(Name) = 2 AND upper(Name) = 'CY' AND id < 9"),
        &[2, 5, 8],
        &[("length(Name) = 2", 14), ("upper(Name) = 'CY'", 0), ("id < 9", 3)],
    );
    let two = FilterOptions { wheres: vec!["id < 4".to_owned(), "id > 1".to_owned()], ..of("") };
    check(&two, &[2, 3], &[("id < 4", 16), ("id > 1", 2)]);
}

#[test]
fn rows_are_ordered_drawn_and_cut() {
    let order = |by: &str, top_k, limit| FilterOptions {
        order_by: Some(by.to_owned()),
        top_k,
        limit,
        ..of("id < 8")
    };
    let by = ("id < 8", 12);
    check(&order("scores.math.score DESC", None, None), &[3, 6, 1, 4, 7, 2, 5, 0], &[by]);
    check(&order("Name, id DESC", None, None), &[6, 3, 0, 7, 4, 1, 5, 2], &[by]);
    // Rows that are equal in the order stay in that of the file.
    check(&order("Name", None, None), &[0, 3, 6, 1, 4, 7, 2, 5], &[by]);
    let top = "top 2 by scores.math.score DESC";
    check(&order("scores.math.score DESC", Some(2), None), &[3, 6], &[by, (top, 6)]);
    check(&order("id DESC", None, Some(3)), &[7, 6, 5], &[by, ("limit 3", 5)]);
    // Nulls come last both ways.
    let all = |by: &str| FilterOptions { order_by: Some(by.to_owned()), ..of("id IN (9, 3, 0)") };
    let by = ("id IN (9, 3, 0)", 17);
    check(&all("scores.math.score"), &[0, 3, 9], &[by]);
    check(&all("scores.math.score DESC"), &[3, 0, 9], &[by]);
    let limit = FilterOptions { wheres: Vec::new(), limit: Some(40), ..of("") };
    let every: Vec<u32> = (0..20).collect();
    check(&limit, &every, &[("limit 40", 0)]);
}

#[test]
fn limit_ends_reading_early() {
    let files = files(&rows(20));
    let options = FilterOptions { limit: Some(3), ..of("id > 2") };
    for dataset in &files.datasets {
        let (lines, report) =
            query_rows(dataset, &files.spill, options.clone()).expect("a good question");
        assert_eq!(lines, "{\"id\":3}\n{\"id\":4}\n{\"id\":5}\n");
        assert!(report.dropped.iter().all(|dropped| dropped.rows.is_none()), "{report:?}");
    }
}

#[test]
fn samples_follow_from_the_seed() {
    let files = files(&rows(200));
    let draw = |dataset: &Dataset, seed| {
        let options = FilterOptions {
            sample: Some(20),
            seed,
            select: Some("id".to_owned()),
            ..FilterOptions::default()
        };
        query_rows(dataset, &files.spill, options).expect("a good question")
    };
    let (first, report) = draw(&files.datasets[0], 1);
    assert_eq!(first.lines().count(), 20);
    assert_eq!(report.dropped, [DroppedRows::rows("sample 20".to_owned(), Some(180))]);
    assert_eq!(draw(&files.datasets[1], 1).0, first, "the format has no say");
    assert_ne!(draw(&files.datasets[0], 2).0, first);
    let ids: Vec<u64> =
        first.lines().map(|line| line[6..line.len() - 1].parse().expect("an id")).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[test]
fn duplicates_go() {
    let by = |columns: &[&str], condition: &str| FilterOptions {
        dedupe: Some(Dedupe::Exact { by: columns.iter().map(|c| (*c).to_owned()).collect() }),
        ..of(condition)
    };
    check(
        &by(&["Name"], "id > 3"),
        &[4, 5, 6],
        &[("id > 3", 4), ("equal to an earlier row in Name", 13)],
    );
    check(
        &by(&["Name", "id"], "id < 2"),
        &[0, 1],
        &[("id < 2", 18), ("equal to an earlier row in Name, id", 0)],
    );
    check(
        &by(&["scores"], "id IN (0, 11, 9, 19)"),
        &[0, 9],
        &[("id IN (0, 11, 9, 19)", 16), ("equal to an earlier row in scores", 2)],
    );
    check(&by(&[], "id < 2"), &[0, 1], &[("id < 2", 18), ("equal to an earlier row", 0)]);
}

#[test]
fn columns_are_selected() {
    #[track_caller]
    fn check(select: &str, expected: &str) {
        let files = files(&rows(20));
        for dataset in &files.datasets {
            let options = FilterOptions { select: Some(select.to_owned()), ..of("id = 3") };
            let (lines, _) = query_rows(dataset, &files.spill, options).expect("a good question");
            assert_eq!(lines, expected, "{select}");
        }
    }
    check("id", "{\"id\":3}\n");
    check("scores.math.score", "{\"scores.math.score\":1.0}\n");
    check("scores['math']['score'], id", "{\"scores.math.score\":1.0,\"id\":3}\n");
    check("Name AS who, id + 1 AS next", "{\"who\":\"ada\",\"next\":4}\n");
    check(
        "scores.math.score AS s, scores",
        "{\"s\":1.0,\"scores\":{\"math\":{\"status\":\"ok\",\"score\":1.0}}}\n",
    );
    check(
        "*, id * 2 AS twice",
        "{\"id\":3,\"Name\":\"ada\",\"scores\":{\"math\":{\"status\":\"ok\",\"score\":1.0}},\"twice\":6}\n",
    );
    check(
        "CASE WHEN scores.math.score > 0.5 THEN 'good' ELSE 'bad' END AS kind",
        "{\"kind\":\"good\"}\n",
    );
    check("1 AS one", "{\"one\":1}\n");
}

#[test]
fn whole_queries_are_answered() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let files = files(&rows(20));
        for dataset in &files.datasets {
            let options = FilterOptions { sql: Some(sql.to_owned()), ..FilterOptions::default() };
            let (lines, _) = query_rows(dataset, &files.spill, options).expect("a good question");
            assert_eq!(lines, expected, "{sql}");
        }
    }
    check("SELECT id FROM data WHERE id > 17", "{\"id\":18}\n{\"id\":19}\n");
    check("SELECT count(*) AS n FROM data", "{\"n\":20}\n");
    check(
        "SELECT Name, count(*) AS n, max(scores.math.score) AS best FROM data GROUP BY Name ORDER BY Name LIMIT 1",
        "{\"Name\":\"ada\",\"n\":7,\"best\":1.0}\n",
    );
    check(
        "SELECT d.id FROM data d WHERE d.scores.math.score > (SELECT avg(scores.math.score) FROM data) AND d.id < 4",
        "{\"id\":1}\n{\"id\":3}\n",
    );
    check(
        "WITH best AS (SELECT Name, id, row_number() OVER (PARTITION BY Name ORDER BY scores.math.score DESC) AS r \
           FROM data) SELECT id FROM best WHERE r = 1 ORDER BY id",
        "{\"id\":1}\n{\"id\":3}\n{\"id\":14}\n",
    );
    check(
        "SELECT Name AS a, id AS b, id AS c FROM data LIMIT 1",
        "{\"a\":\"ada\",\"b\":0,\"c\":0}\n",
    );
}

#[track_caller]
fn check_refused(options: &FilterOptions, parts: &[&str]) {
    let files = files(&rows(3));
    let error =
        query_rows(&files.datasets[0], &files.spill, options.clone()).map(|(lines, _)| lines);
    let error = error.expect_err("a bad question").to_string();
    for part in parts {
        assert!(error.contains(part), "{error:?} does not say {part:?}");
    }
}

#[test]
fn bad_conditions_are_errors_with_their_place() {
    let check = check_refused;
    check(&of("scor > 1"), &["--where: no column 'scor' at character 1", "near: 'scores'"]);
    check(&of("id > 0 AND name = 'x'"), &["no column 'name' at character 12", "near: 'Name'"]);
    check(&of("zzzz > 1"), &["the columns are 'id', 'Name', 'scores'"]);
    check(&of("scores.math.scor > 1"), &["--where", "scor", "near: 'scores.math.score'"]);
    check(&of("id >"), &["--where", "Expected"]);
    check(&of("id > 1 id"), &["--where", "character 8"]);
    check(&of(""), &["--where"]);
    check(&of("id"), &["--where: 'id' is integer, and no condition"]);
    check(&of("count(*) > 1"), &["more than one row", "--sql"]);
    check(&of("id > (SELECT 1)"), &["--where"]);
    check(&of("frobnicate(id)"), &["--where", "frobnicate"]);
    check(&of("id = $1"), &["--where"]);
    check(&of("1 / (id - id) > 0"), &["ivi"]);
}

#[test]
fn bad_questions_are_errors_with_their_place() {
    let check = check_refused;
    let select =
        |text: &str| FilterOptions { select: Some(text.to_owned()), ..FilterOptions::default() };
    check(&select("nam"), &["--select: no column 'nam' at character 1", "near: 'Name'"]);
    check(&select("id,\n nam"), &["at line 2, character 2"]);
    check(&select("id, id"), &["--select"]);
    check(&select("id AS \"scores.math\", scores.math"), &["two columns are named 'scores.math'"]);
    check(
        &select("scores['math'].score"),
        &["a dot cannot follow brackets", "scores['NAME']['score']"],
    );
    check(&select("count(*)"), &["--select", "--sql"]);
    check(&select("id FROM data WHERE id > 1 --"), &["--select"]);
    check(&select("id; DROP TABLE data"), &["--select"]);
    let order =
        |text: &str| FilterOptions { order_by: Some(text.to_owned()), ..FilterOptions::default() };
    check(&order("ids"), &["--order-by: no column 'ids'", "near: 'id'"]);
    check(&order("id LIMIT 1"), &["--order-by"]);
    check(&order("id; DELETE FROM data"), &["--order-by"]);
    let sql = |text: &str| FilterOptions { sql: Some(text.to_owned()), ..FilterOptions::default() };
    check(&sql("SELEC id FROM data"), &["--sql", "at character 1"]);
    check(&sql("SELECT idd FROM data"), &["--sql: no column 'idd' at character 8", "near: 'id'"]);
    check(&sql("SELECT id, id FROM data"), &["--sql"]);
    check(&sql("SELECT id FROM date"), &["--sql", "date"]);
    let both = FilterOptions { sql: Some("SELECT 1".to_owned()), ..of("id > 1") };
    check(&both, &["--sql is a whole query"]);
    check(&FilterOptions { top_k: Some(3), ..FilterOptions::default() }, &["--order-by"]);
    let unknown = FilterOptions {
        dedupe: Some(Dedupe::Exact { by: vec!["nam".to_owned()] }),
        ..FilterOptions::default()
    };
    check(&unknown, &["no column 'nam'", "near: 'Name'"]);
}

/// Without the bound, 9,000 of them overflow the stack or plan for a minute.
#[test]
fn long_chains_of_operators_are_refused_and_long_lists_are_read() {
    let files = files(&rows(20));
    let wheres = |text: String| FilterOptions { wheres: vec![text], ..of("true") };
    let ors = |n: usize| vec!["id = 3"; n].join(" OR ");
    let refused = [
        wheres(ors(9_000)),
        wheres(vec!["id = 3"; 9_000].join(" AND ")),
        wheres(format!("id = {}3", "1 + ".repeat(9_000))),
        wheres(format!("{}true", "NOT ".repeat(9_000))),
        wheres(format!("id = 3 OR ({} OR id = 3)", ors(300))),
        FilterOptions { select: Some(format!("id, {} AS x", ors(9_000))), ..of("true") },
        FilterOptions {
            sql: Some(format!("SELECT id FROM data WHERE {}", ors(9_000))),
            ..FilterOptions::default()
        },
        wheres(format!("id = {}3{}", "(".repeat(9_000), ")".repeat(9_000))),
        wheres(format!("id = '{}'", "x".repeat(1 << 20))),
    ];
    for options in refused {
        let error = query_rows(&files.datasets[0], &files.spill, options).expect_err("too long");
        assert!(matches!(error, DatasetError::Query { .. }), "{error}");
    }
    let accepted =
        [wheres(ors(200)), wheres(format!("id IN ({})", vec!["3, -3"; 9_000].join(", ")))];
    for options in &accepted {
        let (lines, _) =
            query_rows(&files.datasets[0], &files.spill, options.clone()).expect("a list");
        assert_eq!(lines, "{\"id\":3}\n");
    }
}

#[test]
fn nothing_but_queries_over_data_is_run() {
    let files = files(&rows(3));
    let target = files.spill.with_file_name("stolen.csv");
    let text = files.spill.with_file_name("f.jsonl");
    for sql in [
        format!("COPY data TO '{}'", target.display()),
        "CREATE TABLE t AS SELECT * FROM data".to_owned(),
        format!("CREATE EXTERNAL TABLE t STORED AS JSON LOCATION '{}'", text.display()),
        "INSERT INTO data SELECT * FROM data".to_owned(),
        "DELETE FROM data".to_owned(),
        "UPDATE data SET id = 1".to_owned(),
        "DROP TABLE data".to_owned(),
        "SET datafusion.execution.batch_size = 1".to_owned(),
        "EXPLAIN SELECT * FROM data".to_owned(),
        "SHOW TABLES".to_owned(),
        "SELECT 1; SELECT 2".to_owned(),
        format!("SELECT * FROM '{}'", text.display()),
        format!("SELECT * FROM read_csv('{}')", text.display()),
        "SELECT * FROM generate_series(1, 1000000000000)".to_owned(),
        "SELECT * FROM information_schema.tables".to_owned(),
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT * FROM t"
            .to_owned(),
        "SELECT * INTO t FROM data".to_owned(),
        format!("{}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("SELECT {}1 FROM data", "-".repeat(9).replace('-', "- ").repeat(2000)),
    ] {
        let options = FilterOptions { sql: Some(sql.clone()), ..FilterOptions::default() };
        let found = query_rows(&files.datasets[0], &files.spill, options);
        assert!(matches!(found, Err(DatasetError::Query { .. })), "{sql}");
    }
    assert!(!target.exists());
}

#[test]
fn changed_file_ends_the_run() {
    let files = files(&rows(20));
    for dataset in &files.datasets {
        let path = dataset.files()[0].path();
        let mut bytes = std::fs::read(path).expect("ours");
        bytes.pop();
        std::fs::write(path, bytes).expect("ours");
        for options in [FilterOptions::default(), of("id > 1")] {
            let ran = query_rows(dataset, &files.spill, options).map(|(lines, _)| lines);
            let error = ran.expect_err("another file").to_string();
            assert!(error.contains("was changed while it was read"), "{error}");
        }
    }
}

#[test]
fn sorts_beyond_memory_spill_to_files() {
    let files = files(&rows(60_000));
    let sort = |memory_bytes| {
        let options = FilterOptions {
            order_by: Some("Name DESC, scores.math.score".to_owned()),
            ..FilterOptions::default()
        };
        let resources = resources(memory_bytes, &files.spill);
        let mut kept = CollectedLines::default();
        let plan =
            FilterPlan::new(&files.datasets[1], options, resources).expect("a good question");
        plan.run(&mut kept, Box::new(|_| Ok(()))).expect("there is room on the disk");
        kept.lines
    };
    let in_memory = sort(MEMORY_BYTES);
    assert!(in_memory.len() > 4 << 20, "2 MiB hold all of it");
    assert!(sort(2 << 20) == in_memory);
    let ids = |name: &str| in_memory.lines().filter(|line| line.contains(name)).count();
    assert_eq!(ids("\"ada\""), 20_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A condition over columns of any kind keeps the rows that looking at each row keeps.
    #[test]
    fn formats_agree(values in prop::collection::vec((0i64..6, prop::option::of(-2.0..2.0f64)), 1..60),
                     bound in 0i64..6, score in -2.0..2.0f64) {
        let lines = values
            .iter()
            .map(|(n, score)| format!("{{\"n\":{n},\"s\":{{\"x\":{}}}}}\n", serde_json::json!(score)));
        let files = files(&lines.collect::<Vec<_>>().concat());
        let options = FilterOptions {
            wheres: vec![format!("n >= {bound} AND s.x > {score:?}")],
            ..FilterOptions::default()
        };
        prop_assume!(values.iter().any(|(_, score)| score.is_some()));
        let kept = values.iter().filter(|(n, s)| *n >= bound && s.is_some_and(|s| s > score)).count();
        let below = values.iter().filter(|(n, _)| *n < bound).count();
        let mut found = Vec::new();
        for dataset in &files.datasets {
            let (lines, report) = query_rows(dataset, &files.spill, options.clone()).expect("a good question");
            prop_assert_eq!(report.written, kept as u64);
            prop_assert_eq!(report.dropped[0].rows, Some(below as u64));
            found.push(lines);
        }
        prop_assert_eq!(&found[0], &found[1]);
    }
}

/// Each pass reads each row once, whatever the conditions keep.
#[test]
fn observer_counts_the_rows_of_each_pass() {
    let near = Dedupe::Near { by: vec!["Name".to_owned()], similarity: 0.9, words: 1 };
    let band = Band::new(0.0, 1.0).expect("a band");
    let group = GroupOptions {
        by: "Name".to_owned(),
        score: None,
        prompt: None,
        response: None,
        operation: GroupOperation::PassRate { band, mark: 0.5, least: 1 },
    };
    let both = FilterOptions { dedupe: Some(near), group: Some(group), ..of("id < 9") };
    let sorted = FilterOptions { order_by: Some("id DESC".to_owned()), ..of("id < 9") };
    let sql = "SELECT count(*) FROM data".to_owned();
    let sql = FilterOptions { sql: Some(sql), ..FilterOptions::default() };
    let files = files(&rows(20));
    for (options, expected) in [(of("id < 0"), 20), (sorted, 20), (both, 60), (sql, 20)] {
        for dataset in &files.datasets {
            let resources = resources(MEMORY_BYTES, &files.spill);
            let plan = FilterPlan::new(dataset, options.clone(), resources).expect("it is valid");
            assert_eq!(plan.rows_to_read(), expected, "{options:?}");
            let count = Arc::new(AtomicU64::new(0));
            let own = count.clone();
            let on_read = move |rows| {
                own.fetch_add(rows, Ordering::Relaxed);
            };
            let plan = plan.observed_by(ReadObserver::new(on_read));
            plan.run(&mut CollectedLines::default(), Box::new(|_| Ok(()))).expect("it runs");
            assert_eq!(count.load(Ordering::Relaxed), expected, "{options:?}");
        }
    }
}
