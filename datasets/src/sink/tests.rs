//! Outputs of every format appear completely or not at all.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, NullArray, RecordBatch, StringArray, StringViewArray};

use super::*;
use crate::json_text::json_lines;
use crate::source::{Dataset, SourceOptions};

fn rows(n_rows: i64) -> RecordBatch {
    let text =
        |n: i64| (n % 3 > 0).then(|| "é,\"x\"\n".repeat(usize::try_from(n % 5).expect("small")));
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n_rows));
    let t: ArrayRef = Arc::new((0..n_rows).map(text).collect::<StringArray>());
    let fields: Fields = vec![Field::new("x", DataType::Int64, true)].into();
    let s: ArrayRef = Arc::new(arrow::array::StructArray::new(fields, vec![n.clone()], None));
    RecordBatch::try_from_iter_with_nullable([("n", n, true), ("t", t, true), ("s", s, true)])
        .expect("columns of one length")
}

fn write(
    output: &str,
    options: &SinkOptions,
    batch: &RecordBatch,
    step: usize,
) -> Result<WrittenOutput> {
    let mut sink = Sink::create(output, batch.schema_ref(), options)?;
    for start in (0..batch.num_rows()).step_by(step) {
        sink.write(&batch.slice(start, step.min(batch.num_rows() - start)))?;
    }
    sink.finish()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("ours");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("ours").file_name();
    let mut names: Vec<String> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn folder() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_owned();
    (folder, move |name: &str| path.join(name).display().to_string())
}

#[test]
fn what_is_written_is_read_again() {
    let batch = rows(1000);
    let expected = json_lines(&batch).expect("JSON");
    for name in ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst", "o.parquet"] {
        let (folder, path) = folder();
        write(&path(name), &SinkOptions::default(), &batch, 77).expect("ours");
        assert_eq!(names(folder.path()), [name]);
        let dataset = Dataset::open(&[path(name)], &SourceOptions::default()).expect("readable");
        let text: String = dataset
            .batches()
            .map(|batch| json_lines(&batch.expect("readable").data).expect("JSON"))
            .collect();
        assert_eq!(text, expected, "{name}");
    }
}

#[test]
fn cells_between_commas_are_flat() {
    #[track_caller]
    fn check(name: &str, batch: &RecordBatch, expected: &str) {
        let (_folder, path) = folder();
        write(&path(name), &SinkOptions::default(), batch, 10).expect("ours");
        let text = fs::read_to_string(path(name)).expect("written");
        assert_eq!(text, expected);
    }
    let lines = "n,t,s\n0,,\"{\"\"x\"\":0}\"\n1,\"é,\"\"x\"\"\n\",\"{\"\"x\"\":1}\"\n";
    check("o.csv", &rows(2), lines);
    check("o.csv", &rows(0), "n,t,s\n");
    check("o.tsv", &rows(1), "n\tt\ts\n0\t\t\"{\"\"x\"\":0}\"\n");
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let batch = rows(3000);
    for name in ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst", "o.parquet", "o.csv"] {
        let bytes = |step| {
            let (_folder, path) = folder();
            write(&path(name), &SinkOptions::default(), &batch, step).expect("ours");
            fs::read(path(name)).expect("written")
        };
        let whole = bytes(3000);
        for step in [1, 100, 255, 1024] {
            assert!(bytes(step) == whole, "{name} in steps of {step}");
        }
    }
}

#[test]
fn shards_have_their_rows() {
    #[track_caller]
    fn check(n_rows: i64, shard_rows: u64, expected: &[(&str, u64)]) {
        let (folder, path) = folder();
        let options = SinkOptions { shard_rows: Some(shard_rows), ..SinkOptions::default() };
        let written = write(&path("o.parquet"), &options, &rows(n_rows), 4).expect("ours");
        let found: Vec<(String, u64)> = written
            .files
            .iter()
            .map(|(path, rows)| {
                (path.file_name().expect("a name").to_string_lossy().into_owned(), *rows)
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect();
        assert_eq!(found, expected);
        assert_eq!(names(folder.path()).len(), expected.len());
        let dataset = Dataset::open(&[path("")], &SourceOptions::default()).expect("a folder");
        assert_eq!(dataset.rows(), u64::try_from(n_rows).expect("small"));
    }
    check(
        10,
        4,
        &[
            ("o-00000-of-00003.parquet", 4),
            ("o-00001-of-00003.parquet", 4),
            ("o-00002-of-00003.parquet", 2),
        ],
    );
    check(8, 4, &[("o-00000-of-00002.parquet", 4), ("o-00001-of-00002.parquet", 4)]);
    check(3, 4, &[("o-00000-of-00001.parquet", 3)]);
    check(0, 4, &[("o-00000-of-00001.parquet", 0)]);
}

#[test]
fn what_is_there_stays_unless_it_may_go() {
    let (folder, path) = folder();
    let replace = SinkOptions { overwrite: true, ..SinkOptions::default() };
    let shards = |shard_rows, overwrite| SinkOptions {
        shard_rows: Some(shard_rows),
        overwrite,
        format: None,
    };
    let write = |options: &SinkOptions, n_rows| write(&path("o.jsonl"), options, &rows(n_rows), 10);
    write(&SinkOptions::default(), 2).expect("nothing is there");
    let before = fs::read(path("o.jsonl")).expect("written");
    assert!(matches!(write(&SinkOptions::default(), 3), Err(DatasetError::Exists { .. })));
    assert_eq!(fs::read(path("o.jsonl")).expect("still there"), before);
    write(&replace, 3).expect("it may go");
    assert_ne!(fs::read(path("o.jsonl")).expect("written"), before);
    fs::remove_file(path("o.jsonl")).expect("ours");
    write(&shards(1, false), 3).expect("nothing is there");
    assert!(matches!(write(&shards(2, false), 3), Err(DatasetError::Exists { .. })));
    write(&shards(2, true), 3).expect("they may go");
    assert_eq!(names(folder.path()), ["o-00000-of-00002.jsonl", "o-00001-of-00002.jsonl"]);
}

#[test]
fn two_runs_never_write_one_output() {
    let (folder, path) = folder();
    let schema = rows(1).schema();
    let first = Sink::create(&path("o.csv"), &schema, &SinkOptions::default()).expect("ours");
    let second = Sink::create(&path("o.csv"), &schema, &SinkOptions::default());
    assert!(matches!(second, Err(DatasetError::Locked { .. })));
    drop(first);
    // A sink that is dropped before its end leaves nothing.
    assert_eq!(names(folder.path()), [""; 0]);
    write(&path("o.csv"), &SinkOptions::default(), &rows(1), 1).expect("the lock is free again");
}

#[test]
fn what_a_killed_run_left_is_written_over() {
    let (folder, path) = folder();
    fs::write(path("o.jsonl.partial"), "{\"half\":").expect("ours");
    fs::write(path("o.jsonl.lock"), "").expect("ours");
    write(&path("o.jsonl"), &SinkOptions::default(), &rows(1), 1).expect("the lock is free");
    assert_eq!(names(folder.path()), ["o.jsonl"]);
}

#[test]
fn bad_outputs_are_errors() {
    #[track_caller]
    fn check(output: &str, options: &SinkOptions, part: &str) {
        let error = write(output, options, &rows(3), 1).expect_err(output).to_string();
        assert!(error.contains(part), "{error}");
    }
    let (folder, path) = folder();
    let shards = SinkOptions { shard_rows: Some(1), ..SinkOptions::default() };
    check(&path("o"), &SinkOptions::default(), "says no format");
    check(&path(""), &SinkOptions::default(), "is a folder");
    check(&path("o.parquet.gz"), &SinkOptions::default(), "leave .gz out");
    check(&path("gone/o.csv"), &SinkOptions::default(), "cannot write");
    check("-", &shards, "have no names");
    // A device that is always full.
    if Path::new("/dev/full").exists() {
        check("/dev/full", &SinkOptions::default(), "cannot write /dev/full: No space left");
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn layouts_that_few_read_become_plain() {
    let (_folder, path) = folder();
    let view: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
    let nothing: ArrayRef = Arc::new(NullArray::new(2));
    let batch = RecordBatch::try_from_iter_with_nullable([("v", view, true), ("z", nothing, true)]);
    write(&path("o.parquet"), &SinkOptions::default(), &batch.expect("columns"), 1).expect("ours");
    let dataset = Dataset::open(&[path("o.parquet")], &SourceOptions::default()).expect("readable");
    let types: Vec<&DataType> = dataset.schema().fields().iter().map(|f| f.data_type()).collect();
    assert_eq!(types, [&DataType::Utf8, &DataType::Utf8]);
    let batch = dataset.batches().next().expect("one").expect("readable");
    assert_eq!(
        json_lines(&batch.data).expect("JSON"),
        "{\"v\":\"a\",\"z\":null}\n{\"v\":null,\"z\":null}\n"
    );
}
