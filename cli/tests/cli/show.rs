//! `tribunal show`: scored rows as one page.

use serde_json::{Value, json};

use crate::program::{Folder, dataset, rows, tribunal};

/// The rows that a page holds.
#[track_caller]
fn held(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"rows\">").expect("the page holds rows");
    let (json, _) = rest.split_once("</script>").expect("the element is closed");
    serde_json::from_str(json).expect("the rows are JSON")
}

fn scored(folder: &Folder, name: &str, n_rows: usize) -> String {
    let input = folder.write("in.jsonl", dataset(n_rows));
    let output = folder.name(name);
    let scorers = ["--scorer", "math", "--scorer", "arithmetic", "--explain"];
    tribunal(["score", &input, "-o", &output].iter().chain(&scorers)).ends(0);
    output
}

#[test]
fn lines_and_tables_give_the_same_page() {
    let folder = Folder::new();
    let page_of = |name: &str| {
        let input = scored(&folder, name, 12);
        let page = folder.name("page.html");
        tribunal(["show", &input, "-o", &page, "--overwrite"]).ends(0).says(&["12 of 12 rows"]);
        held(&String::from_utf8(folder.read("page.html")).expect("text"))
    };
    let lines = page_of("scored.jsonl");
    let row = &lines["rows"][5];
    assert_eq!((&row["row"], &row["id"]), (&json!(6), &json!(5)), "{row}");
    let verdict = &row["scores"]["math"];
    assert_eq!(verdict["label"], "different", "{row}");
    let span = &verdict["candidate"]["span"];
    let [start, end] = [&span[0], &span[1]].map(|end| end.as_u64().expect("a place"));
    let response = row["input"]["response"].as_str().expect("a text");
    let (start, end) =
        (usize::try_from(start).expect("small"), usize::try_from(end).expect("small"));
    assert_eq!(verdict["candidate"]["text"], response[start..end]);
    assert!(verdict.get("digests").is_none() && verdict.get("raw").is_none(), "{verdict}");
    assert!(row["scores"]["arithmetic"]["steps"].is_array(), "{row}");
    let inputs = |page: &Value| -> Vec<Value> {
        let rows = page["rows"].as_array().expect("rows").iter();
        rows.map(|row| json!([row["input"], row["scores"]["math"]["reason"]])).collect()
    };
    for name in ["scored.parquet", "scored.csv", "scored.tsv.gz"] {
        let table = page_of(name);
        assert_eq!(table["total"], 12);
        assert_eq!(inputs(&table), inputs(&lines), "{name}");
    }
    let (flat, page) = (folder.name("flat.csv"), folder.name("flat.html"));
    let args = ["--scorer", "math", "--scorer", "arithmetic", "--explain", "--flat"];
    tribunal(["score", &folder.name("in.jsonl"), "-o", &flat].iter().chain(&args)).ends(0);
    tribunal(["show", &flat, "-o", &page]).ends(0);
    let flat = held(&String::from_utf8(folder.read("flat.html")).expect("text"));
    assert_eq!(inputs(&flat), inputs(&lines));
}

#[test]
fn more_rows_are_drawn_evenly_and_alike_for_a_seed() {
    let folder = Folder::new();
    let input = scored(&folder, "scored.jsonl", 60);
    let drawn = |seed: &str| -> Vec<u64> {
        let page = folder.name("page.html");
        let args = ["show", &input, "-o", &page, "--rows", "15", "--seed", seed, "--overwrite"];
        tribunal(args).ends(0).says(&["15 of 60 rows"]);
        let page = String::from_utf8(folder.read("page.html")).expect("text");
        assert!(page.contains("15 of 60 rows, drawn uniformly"));
        let rows = held(&page)["rows"].as_array().expect("rows").clone();
        rows.iter().map(|row| row["row"].as_u64().expect("a number")).collect()
    };
    let first = drawn("1");
    assert_eq!(first.len(), 15);
    assert!(first.is_sorted(), "{first:?}");
    assert_eq!(first, drawn("1"));
    assert_ne!(first, drawn("2"));
}

#[test]
fn rows_without_verdicts_are_counted_and_files_without_any_refused() {
    let folder = Folder::new();
    let text = folder.read(scored(&folder, "scored.jsonl", 3).rsplit('/').next().expect("a name"));
    let text = String::from_utf8(text).expect("text") + "{\"response\": \"x\", \"scores\": {}}\n";
    assert_eq!(rows(&text).len(), 4);
    let mixed = folder.write("mixed.jsonl", text);
    let page = folder.name("page.html");
    let says = [
        "3 of 4 rows",
        "1 rows are left out; the first: ",
        "mixed.jsonl:4: the row has no verdict",
    ];
    tribunal(["show", &mixed, "-o", &page]).ends(1).says(&says);
    tribunal(["show", &mixed, "-o", &page])
        .ends(2)
        .says(&["exists already; --overwrite replaces it"]);
    let plain = folder.write("plain.jsonl", dataset(2));
    let page = folder.name("other.html");
    let said = ["nothing to show", "no column 'scores'"];
    tribunal(["show", &plain, "-o", &page]).ends(2).says(&said);
    tribunal(["show", &plain, "-o", &plain, "--overwrite"]).ends(2);
    tribunal(["show", &folder.name("none.jsonl"), "-o", &page]).ends(2);
    assert!(!folder.path("other.html").exists());
}
