//! Near-duplicates on their way through a run.

use serde_json::json;

use super::*;

fn near(by: &[&str], similarity: f64) -> FilterOptions {
    FilterOptions {
        dedupe: Some(Dedupe::Near {
            by: by.iter().map(|name| (*name).to_owned()).collect(),
            similarity,
            words: 2,
        }),
        select: Some("id".to_owned()),
        ..FilterOptions::default()
    }
}

/// Texts of twenty words, of which some are others.
fn lines() -> String {
    let text = |changed: &[usize]| -> String {
        let word = |at| {
            if changed.contains(&at) { format!("x{at} ") } else { format!("w{at} ") }
        };
        (0..20).map(word).collect()
    };
    let rows = [
        json!({"text": text(&[])}),
        json!({"text": null}),
        json!({"text": text(&[0])}),
        json!({"text": "quite another text of seven words"}),
        json!({"text": null}),
        json!({"text": text(&[]).to_uppercase()}),
        json!({"text": text(&[0, 19])}),
        json!({"text": ""}),
        json!({"text": " "}),
    ];
    let line = |(id, row): (usize, &serde_json::Value)| {
        let mut row = row.clone();
        row["id"] = json!(id);
        row["o"] = json!({"text": row["text"].clone(), "n": id});
        row.to_string() + "\n"
    };
    rows.iter().enumerate().map(line).collect()
}

/// Checks the ids that are left, in every format.
#[track_caller]
fn check(options: &FilterOptions, expected: &[u32]) -> NearReport {
    let files = files(&lines());
    let mut reports = files.datasets.iter().map(|dataset| {
        let (lines, report) =
            query_rows(dataset, &files.spill, options.clone()).expect("a good question");
        let kept: Vec<String> = expected.iter().map(|id| format!("{{\"id\":{id}}}\n")).collect();
        assert_eq!(lines, kept.concat(), "{options:?}");
        let gone: u64 = report.dropped.iter().filter_map(|dropped| dropped.rows).sum();
        assert_eq!(report.read, report.written + gone);
        report.near.expect("requested")
    });
    let first = reports.next().expect("a format");
    assert!(reports.all(|report| report == first));
    first
}

#[test]
fn first_of_a_cluster_is_kept() {
    // 18 of 20 shingles are shared with one word changed at an end, 17 of 21 with both.
    let report = check(&near(&["text"], 0.85), &[0, 1, 3, 4, 7]);
    assert_eq!((report.texts, report.without_text, report.too_long), (7, 2, 0));
    assert!(report.memory_bytes > 0);
    // Row 6 is near row 2 and not near row 0: it is of their cluster all the same.
    let without = FilterOptions { wheres: vec!["id <> 2".to_owned()], ..near(&["text"], 0.85) };
    check(&without, &[0, 1, 3, 4, 6, 7]);
    check(&near(&["text"], 1.0), &[0, 1, 2, 3, 4, 6, 7]);
    check(&near(&["o.text"], 0.85), &[0, 1, 3, 4, 7]);
    check(&near(&["text", "o.text"], 0.8), &[0, 1, 3, 4, 7]);
}

#[test]
fn late_text_joins_clusters() {
    let words = |range: std::ops::Range<usize>| -> String {
        let words: Vec<String> = range.map(|word| format!("w{word}")).collect();
        words.join(" ")
    };
    let texts = [words(0..20), words(4..24), words(2..22)];
    let lines: String = (0..)
        .zip(&texts)
        .map(|(id, text): (u32, &String)| json!({"id": id, "text": text}).to_string() + "\n")
        .collect();
    let files = files(&lines);
    // Neighbours share 17 of 21 shingles, the outer two 15 of 23.
    for dataset in &files.datasets {
        let (lines, _) = query_rows(dataset, &files.spill, near(&["text"], 0.8)).expect("good");
        assert_eq!(lines, "{\"id\":0}\n");
    }
}

#[test]
fn bad_questions_about_texts_are_errors() {
    #[track_caller]
    fn check(options: &FilterOptions, texts_bytes: Option<usize>, parts: &[&str]) {
        let files = files(&lines());
        for dataset in &files.datasets {
            let resources =
                FilterResources { texts_bytes, ..resources(MEMORY_BYTES, &files.spill) };
            let plan = FilterPlan::new(dataset, options.clone(), resources);
            let ran = plan
                .and_then(|plan| plan.run(&mut CollectedLines::default(), Box::new(|_| Ok(()))));
            let error = ran.expect_err("a bad question").to_string();
            for part in parts {
                assert!(error.contains(part), "{error:?} does not say {part:?}");
            }
        }
    }
    check(&near(&[], 0.8), None, &["--dedupe-by"]);
    check(&near(&["tex"], 0.8), None, &["--dedupe-by: no column 'tex'", "near: 'text'"]);
    check(&near(&["id"], 0.8), None, &["'id' is integer, and no text"]);
    check(&near(&["o"], 0.8), None, &["'o' is an object", "no text"]);
    for similarity in [0.0, -1.0, 0.01, 1.5, f64::NAN] {
        check(&near(&["text"], similarity), None, &["--similarity", "0.05 to 1"]);
    }
    check(&near(&["text"], 0.8), Some(1), &["--dedupe-by", "may hold 1", "memory"]);
}
