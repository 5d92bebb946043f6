//! Inputs of every format, complete and damaged.

use std::fs;
use std::io::Write as _;

use ::parquet::arrow::ArrowWriter;
use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray};

use super::*;
use crate::DatasetError;

/// Files of a test; `NAME.gz` and `NAME.zst` are packed.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        for (name, content) in files {
            folder.write(name, content);
        }
        folder
    }

    fn name(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, content: &[u8]) {
        let bytes = match name.rsplit_once('.') {
            Some((_, "gz")) => {
                let mut out =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                out.write_all(content).expect("to memory");
                out.finish().expect("to memory")
            }
            Some((_, "zst")) => zstd::encode_all(content, 1).expect("to memory"),
            Some(_) | None => content.to_vec(),
        };
        fs::write(self.name(name), bytes).expect("the folder is ours");
    }

    fn parquet(&self, name: &str, columns: Vec<(&str, ArrayRef)>) {
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        let file = fs::File::create(self.name(name)).expect("the folder is ours");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a schema");
        writer.write(&batch).expect("the folder is ours");
        writer.close().expect("the folder is ours");
    }

    fn open(&self, names: &[&str], options: &SourceOptions) -> Result<Dataset> {
        let names: Vec<String> = names.iter().map(|name| self.name(name)).collect();
        Dataset::open(&names, options)
    }

    /// The error's text without the name of the folder, which differs from test to test.
    fn shown(&self, error: &DatasetError) -> String {
        let folder = format!("{}/", self.0.path().display());
        error.to_string().replace(&folder, "")
    }
}

fn lines(batches: Batches) -> Result<String> {
    let mut text = String::new();
    for batch in batches {
        text += &crate::json_text::json_lines(&batch?.data).expect("every type has JSON");
    }
    Ok(text)
}

#[track_caller]
fn check(
    files: &[(&str, &[u8])],
    options: &SourceOptions,
    expected: std::result::Result<&str, &str>,
) {
    let folder = Folder::new(files);
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let found = folder.open(&names, options).and_then(|dataset| lines(dataset.batches()));
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{names:?}"),
        (Err(error), Err(part)) => {
            let shown = folder.shown(&error);
            assert!(shown.contains(part), "{shown:?} does not say {part:?}");
        }
        (Ok(found), Err(part)) => panic!("{names:?}: {found}, but {part}"),
        (Err(error), Ok(_)) => panic!("{names:?}: {error}"),
    }
}

fn defaults() -> SourceOptions {
    SourceOptions::default()
}

#[test]
fn texts_are_read() {
    let rows = Ok("{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n");
    check(&[("f.jsonl", b"{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n")], &defaults(), rows);
    check(&[("f.jsonl.gz", b"{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n")], &defaults(), rows);
    check(&[("f.jsonl.zst", b"{\"a\":1,\"b\":\"x\"}\n{\"a\":2}")], &defaults(), rows);
    check(
        &[("f.jsonl", b"\xef\xbb\xbf{\"a\":1,\"b\":\"x\"}\r\n\r\n{\"a\":2}\r\n")],
        &defaults(),
        rows,
    );
    check(&[("f.csv", b"a,b\n1,x\n2,\n")], &defaults(), rows);
    check(&[("f.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n2,\"\"")], &defaults(), rows);
    check(&[("f.csv.gz", b"a,b\n1,x\n2,\n")], &defaults(), rows);
    check(&[("f.tsv", b"a\tb\n1\tx\n2\t\n")], &defaults(), rows);
    check(&[("f.csv", b"a,b\n1,\"x\ny\"\n")], &defaults(), Ok("{\"a\":1,\"b\":\"x\\ny\"}\n"));
    check(&[("f.csv", b",b\n1,x\n")], &defaults(), Ok("{\"Unnamed: 0\":1,\"b\":\"x\"}\n"));
    check(
        &[("f.jsonl", b"{\"a\":\"x\"}\n{\"a\":[1, 2]}\n{\"a\":null}\n")],
        &defaults(),
        Ok("{\"a\":\"x\"}\n{\"a\":[1, 2]}\n{\"a\":null}\n"),
    );
    let bare = SourceOptions { format: Some(Format::Csv), ..defaults() };
    check(&[("f.txt", b"a\n1\n")], &bare, Ok("{\"a\":1}\n"));
    check(&[("f", b"\n {\"a\":1}\n")], &defaults(), Ok("{\"a\":1}\n"));
}

#[test]
fn cells_of_text_columns_stay_as_they_are() {
    let named = |names: &[&str]| SourceOptions {
        texts: TextColumns::Named(names.iter().map(|name| (*name).to_owned()).collect()),
        ..defaults()
    };
    let cells: &[u8] = b"a,b\n1.50,1.50\n2,True\n";
    check(
        &[("f.csv", cells)],
        &named(&["a", "c"]),
        Ok("{\"a\":\"1.50\",\"b\":\"1.50\"}\n{\"a\":\"2\",\"b\":\"True\"}\n"),
    );
    check(&[("f.csv", b"a,b\n1.50,2\n")], &named(&["a"]), Ok("{\"a\":\"1.50\",\"b\":2}\n"));
    let all = SourceOptions { texts: TextColumns::All, ..defaults() };
    check(&[("f.tsv", b"a\tb\n\t2\n")], &all, Ok("{\"a\":null,\"b\":\"2\"}\n"));
    let written: &[u8] = b"{\"a\":1.50,\"b\":[1, {}]}\n{\"a\":\"x\",\"b\":null}\n";
    let text = std::str::from_utf8(written).expect("text");
    check(&[("f.jsonl", written)], &all, Ok(text));
}

#[test]
fn verdicts_in_cells_are_objects() {
    let verdicts: &[u8] = b"r,scores\nx,\"{\"\"m\"\":{\"\"score\"\":1}}\"\ny,\nz,\"{\"\"n\"\":{\"\"score\"\":0.5}}\"\n";
    let objects = "{\"r\":\"x\",\"scores\":{\"m\":{\"score\":1},\"n\":null}}\n\
                   {\"r\":\"y\",\"scores\":null}\n\
                   {\"r\":\"z\",\"scores\":{\"m\":null,\"n\":{\"score\":0.5}}}\n";
    check(&[("f.csv", verdicts)], &defaults(), Ok(objects));
    check(&[("f.csv", b"scores\n")], &defaults(), Ok(""));
    check(&[("f.tsv", b"a\tscores\n1\t{}\n")], &defaults(), Ok("{\"a\":1,\"scores\":{}}\n"));
    // Cells that are no objects, and other columns, are what they were.
    check(&[("f.csv", b"scores\n1\n2\n")], &defaults(), Ok("{\"scores\":1}\n{\"scores\":2}\n"));
    check(
        &[("f.csv", b"scores\n{}\nnone\n")],
        &defaults(),
        Ok("{\"scores\":\"{}\"}\n{\"scores\":\"none\"}\n"),
    );
    check(&[("f.csv", b"a\n{}\n")], &defaults(), Ok("{\"a\":\"{}\"}\n"));
}

#[test]
fn files_without_rows_are_read() {
    check(&[("f.jsonl", b"")], &defaults(), Ok(""));
    check(&[("f.jsonl", b"\n\n")], &defaults(), Ok(""));
    check(&[("f.csv", b"")], &defaults(), Ok(""));
    check(&[("f.csv", b"a,b\n")], &defaults(), Ok(""));
    check(&[("f.jsonl", b""), ("g.jsonl", b"{\"a\":1}\n")], &defaults(), Ok("{\"a\":1}\n"));
    check(&[("f.csv", b"a,b\n"), ("g.csv", b"a,b\n1,2\n")], &defaults(), Ok("{\"a\":1,\"b\":2}\n"));
}

#[test]
fn bad_files_are_errors() {
    check(&[], &defaults(), Err("no input is named"));
    check(&[("f.parquet", b"")], &defaults(), Err("f.parquet: an empty file is no Parquet file"));
    check(
        &[("f.parquet", b"{\"a\":1}")],
        &defaults(),
        Err("f.parquet: not a Parquet file by its first"),
    );
    check(&[("f.parquet", b"PAR1 and then no more")], &defaults(), Err("may have been cut off"));
    check(
        &[("f.jsonl", b"PAR1....PAR1")],
        &defaults(),
        Err("f.jsonl: a Parquet file by its first bytes"),
    );
    check(&[("f.txt", b"a,b\n")], &defaults(), Err("give it with --format"));
    check(&[("f.json", b"[\n {\"a\":1},\n {\"a\":2}")], &defaults(), Err("array is not closed"));
    check(&[("f.csv", b"a,a\n1,2\n")], &defaults(), Err("f.csv: column 'a' is named twice"));
    check(&[("f.jsonl", b"a\nb\n")], &defaults(), Err("f.jsonl:1: "));
    let open = "f.csv:3: a quote is opened in this row and never closed";
    check(&[("f.csv", b"a,b\n1,2\n1,\"x\n2,y\n3,z\n")], &defaults(), Err(open));
    check(&[("f.csv", b"a,b\n1,2\n1,\"x\"\"")], &defaults(), Err(open));
    check(&[("f.csv", b"a,\"b\n1,2\n")], &defaults(), Err("f.csv:1: a quote is opened"));
    // A quote within a cell opens nothing.
    check(&[("f.csv", b"a\n5\" disk\n")], &defaults(), Ok("{\"a\":\"5\\\" disk\"}\n"));
    let folder = Folder::new(&[("f.jsonl.gz", b"{\"a\":1}\n".repeat(1000).as_slice())]);
    let whole = fs::read(folder.name("f.jsonl.gz")).expect("ours");
    fs::write(folder.name("f.jsonl.gz"), &whole[..whole.len() / 2]).expect("ours");
    let error = folder.open(&["f.jsonl.gz"], &defaults()).expect_err("half a file");
    assert!(folder.shown(&error).contains("it was cut off"), "{error}");
    let error = folder.open(&["gone.jsonl"], &defaults()).expect_err("no file");
    assert!(folder.shown(&error).starts_with("cannot read gone.jsonl: "), "{error}");
}

#[test]
fn files_go_together_by_name() {
    let pair = |left: &'static [u8], right: &'static [u8]| [("f.jsonl", left), ("g.jsonl", right)];
    check(
        &pair(b"{\"a\":1,\"b\":2}", b"{\"b\":3,\"a\":4}"),
        &defaults(),
        Ok("{\"a\":1,\"b\":2}\n{\"a\":4,\"b\":3}\n"),
    );
    check(&pair(b"{\"a\":1}", b"{\"a\":2.5}"), &defaults(), Ok("{\"a\":1.0}\n{\"a\":2.5}\n"));
    check(
        &pair(b"{\"a\":9007199254740993}", b"{\"a\":2.5}"),
        &defaults(),
        Err(
            "f.jsonl: Cast error: column 'a' has fractions in other files, and 9007199254740993 here",
        ),
    );
    check(
        &pair(b"{\"a\":0.5}", b"{\"a\":9007199254740992}"),
        &defaults(),
        Ok("{\"a\":0.5}\n{\"a\":9.007199254740992e15}\n"),
    );
    check(&pair(b"{\"a\":null}", b"{\"a\":[1]}"), &defaults(), Ok("{\"a\":null}\n{\"a\":[1]}\n"));
    check(
        &pair(b"{\"a\":{\"b\":1}}", b"{\"a\":{\"c\":[{\"d\":1}]}}"),
        &defaults(),
        Ok("{\"a\":{\"b\":1,\"c\":null}}\n{\"a\":{\"b\":null,\"c\":[{\"d\":1}]}}\n"),
    );
    check(
        &pair(b"{\"a\":[{\"b\":1}]}", b"{\"a\":[{\"b\":0.5,\"c\":\"x\"}]}"),
        &defaults(),
        Ok("{\"a\":[{\"b\":1.0,\"c\":null}]}\n{\"a\":[{\"b\":0.5,\"c\":\"x\"}]}\n"),
    );
    check(
        &pair(b"{\"a\":1}", b"{\"a\":\"x\"}"),
        &defaults(),
        Err("g.jsonl: column 'a' is text here, but integer in "),
    );
    check(
        &pair(b"{\"a\":{\"b\":1}}", b"{\"a\":{\"b\":true}}"),
        &defaults(),
        Err("g.jsonl: column 'a.b' is boolean here, but integer in "),
    );
    let mixed = b"{\"a\":1}\n{\"a\":\"x\"}";
    check(&pair(mixed, b"{\"a\":\"x\"}"), &defaults(), Err("but JSON of several types in"));
    check(
        &pair(b"{\"a\":1}", b"{\"a\":1,\"b\":2}"),
        &defaults(),
        Err("f.jsonl: column 'b' is missing"),
    );
    check(
        &pair(b"{\"a\":1,\"b\":2}", b"{\"a\":1}"),
        &defaults(),
        Err("g.jsonl: column 'b' is missing"),
    );
    let nulls = SourceOptions { missing: MissingColumns::Null, ..defaults() };
    check(
        &pair(b"{\"a\":1}", b"{\"b\":2}"),
        &nulls,
        Ok("{\"a\":1,\"b\":null}\n{\"a\":null,\"b\":2}\n"),
    );
}

#[test]
fn parquet_files_are_read_and_widened() {
    let folder = Folder::new(&[("c.csv", b"n,t\n5,z\n")]);
    let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    folder.parquet("a.parquet", vec![("n", Arc::new(Int32Array::from(vec![1]))), ("t", text("x"))]);
    folder.parquet("b.parquet", vec![("t", text("y")), ("n", Arc::new(Int64Array::from(vec![2])))]);
    let dataset =
        folder.open(&["a.parquet", "b.parquet", "c.csv"], &defaults()).expect("they go together");
    assert_eq!(dataset.rows(), 3);
    let found = lines(dataset.batches()).expect("readable");
    assert_eq!(found, "{\"n\":1,\"t\":\"x\"}\n{\"n\":2,\"t\":\"y\"}\n{\"n\":5,\"t\":\"z\"}\n");
    let digests = dataset.digests().expect("readable");
    assert_eq!(digests.len(), 3);
    assert!(digests.iter().all(|d| d.digest.starts_with("sha256:") && d.digest.len() == 71));
}

#[test]
fn broken_records_are_rejected() {
    #[track_caller]
    fn check(name: &str, content: &[u8], rows: u64, expected: &[(u64, &str)]) {
        let folder = Folder::new(&[(name, content)]);
        let dataset = folder.open(&[name], &defaults()).expect("some rows are readable");
        assert_eq!(dataset.rows(), rows, "{name}");
        let (mut found, mut rejects) = (0, Vec::new());
        for batch in dataset.batches() {
            let batch = batch.expect("readable");
            found += batch.data.num_rows() as u64;
            rejects.extend(batch.rejects);
        }
        assert_eq!(found, rows, "{name}");
        assert_eq!(rejects.len(), expected.len(), "{rejects:?}");
        for (reject, (row, part)) in rejects.iter().zip(expected) {
            assert_eq!(reject.row, *row, "{reject:?}");
            assert!(reject.reason.contains(part), "{reject:?}");
        }
    }
    check("f.csv", b"a,b\n1,2\n3\n\n4,5,6\n7,8\n", 2, &[(3, "1 cells"), (4, "3 cells")]);
    check("f.csv", b"a,b\n1,\xff\n3,4\n", 1, &[(2, "'b' is not UTF-8")]);
    check("f.csv", b"a,b\n\"x\ny\",1\n2\n", 1, &[(3, "1 cells")]);
    check("f.jsonl", b"{\"a\":1}\n\xff\n{\"a\":", 1, &[(2, "not UTF-8"), (3, "EOF")]);
}

#[test]
fn a_file_that_changes_is_an_error() {
    let folder = Folder::new(&[("f.jsonl", b"{\"a\":1}\n")]);
    let dataset = folder.open(&["f.jsonl"], &defaults()).expect("readable");
    // Lines that another process adds are those of the next run.
    folder.write("f.jsonl", b"{\"a\":1}\n{\"a\":2}\n");
    assert_eq!(lines(dataset.batches()).expect("readable"), "{\"a\":1}\n");
    folder.write("f.jsonl", b"{}\n");
    let error = lines(dataset.batches()).expect_err("another file");
    assert!(error.to_string().contains("changed while it was read"), "{error}");
}

#[test]
fn large_cells_are_read() {
    let cell = "x".repeat(50 << 20);
    let line = format!("{{\"a\":\"{cell}\"}}\n{{\"a\":\"y\"}}\n");
    let folder = Folder::new(&[("f.jsonl", line.as_bytes())]);
    let dataset = folder.open(&["f.jsonl"], &defaults()).expect("readable");
    let sizes: Vec<usize> =
        dataset.batches().map(|batch| batch.expect("readable").data.num_rows()).collect();
    // The large cell fills a batch.
    assert_eq!(sizes, [1, 1]);
}
