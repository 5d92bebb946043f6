//! `tribunal calibrate`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::program::{Folder, rows, tribunal, tribunal_reading};

/// Rows whose raw values are three times too sure of themselves.
fn labelled(n_rows: u32) -> String {
    let mut text = String::new();
    for row in 0..n_rows {
        let raw = f64::from(row % 25) / 2.0 - 6.0;
        let right = 1.0 / (1.0 + (-raw / 3.0).exp());
        // Where each raw value comes for the nth time, the share of labels follows the sigmoid.
        let share = (f64::from(row / 25) * 0.618_033_988_75).fract();
        let label = u8::from(share < right);
        writeln!(text, r#"{{"id": {row}, "raw": {raw}, "label": {label}}}"#)
            .expect("writing to memory does not fail");
    }
    text
}

/// The last line of standard output.
fn summary(stdout: &str) -> Value {
    rows(stdout.lines().last().expect("it printed")).remove(0)
}

#[test]
fn a_map_is_fitted_measured_and_written() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", labelled(2500));
    for (method, field) in
        [("temperature", "temperature"), ("platt", "platt"), ("isotonic", "isotonic")]
    {
        let (output, plot) = (folder.name("helpful.json"), folder.name("plot.svg"));
        let ran = tribunal([
            "calibrate",
            &input,
            "-o",
            &output,
            "--method",
            method,
            "--plot",
            &plot,
            "--json",
        ])
        .ends(0);
        let said = summary(&ran.stdout);
        let written: Value =
            serde_json::from_slice(&folder.read("helpful.json")).expect("it is JSON");
        assert_eq!(said, written);
        assert_eq!(written["name"], "helpful");
        let map = &written["map"][field];
        assert!(!map.is_null(), "{written}");
        if method == "temperature" {
            let t = map.as_f64().expect("a number");
            assert!((t - 3.0).abs() < 0.15, "{t}");
        }
        let about = &written["about"];
        assert_eq!(about["rows"], 2500);
        let figure = |of: &str, name: &str| about[of][name].as_f64().expect("a figure");
        for better in ["in_sample", "cross_validated"] {
            for name in ["ece", "ece_mass", "brier", "nll"] {
                let (before, after) = (figure("uncalibrated", name), figure(better, name));
                assert!(after < before, "{method} {better} {name}: {before} {after}");
            }
        }
        assert!(ran.stdout.contains("cross-validated"), "{}", ran.stdout);
        let plot = String::from_utf8(folder.read("plot.svg")).expect("SVG is text");
        assert!(plot.starts_with("<svg") && plot.contains("uncalibrated"));
    }
    assert_eq!(folder.names(), ["helpful.json", "in.jsonl", "plot.svg"]);
}

#[test]
fn verdicts_of_a_scorer_are_rows_too() {
    let folder = Folder::new();
    let mut text = String::new();
    for (index, row) in rows(&labelled(100)).iter().enumerate() {
        let (raw, label) = (&row["raw"], row["label"] == 1);
        let verdict = match index % 10 {
            0 => r#"{"status": "timeout", "raw": null}"#.to_owned(),
            1 => r#"{"status": "ok", "raw": null}"#.to_owned(),
            _ => format!(r#"{{"status": "ok", "score": 0.5, "raw": {raw}}}"#),
        };
        writeln!(
            text,
            r#"{{"truth": {label}, "raw": "not this one", "scores": {{"helpful": {verdict}}}}}"#
        )
        .expect("writing to memory does not fail");
    }
    let output = folder.name("c.json");
    let args = ["calibrate", "-", "-o", &output, "--scorer", "helpful"];
    let args = args.iter().chain(&["--label", "truth", "--name", "v2", "--json"]);
    let ran = tribunal_reading(text.as_bytes(), args).ends(0);
    let said = summary(&ran.stdout);
    assert_eq!(said["name"], "v2");
    let about = &said["about"];
    assert_eq!(about["rows"], 80);
    assert_eq!(about["scorer"], "helpful");
    assert_eq!(about["left_out"]["timeout"], 10);
    assert_eq!(about["left_out"]["no_raw_value"], 10);
}

#[test]
fn rows_that_cannot_be_calibrated_are_refused() {
    let check = |text: &str, more: &[&str], expected: &[&str]| {
        let folder = Folder::new();
        let input = folder.write("in.jsonl", text);
        let output = folder.name("c.json");
        let args = ["calibrate", &input, "-o", &output];
        tribunal(args.iter().chain(more)).ends(2).says(expected);
        assert_eq!(folder.names(), ["in.jsonl"]);
    };
    let good = labelled(100);
    check("", &[], &["0 rows", "at least 20"]);
    check(&labelled(19), &[], &["19 rows", "at least 20"]);
    let right = "{\"raw\": 1, \"label\": 1}\n{\"raw\": 2, \"label\": true}\n".repeat(20);
    check(&right, &[], &["of 40 samples 40 are right"]);
    let same = "{\"raw\": 1, \"label\": 1}\n{\"raw\": 1, \"label\": 0}\n".repeat(20);
    check(&same, &[], &["the same number"]);
    let turned = "{\"raw\": 1, \"label\": 0}\n{\"raw\": -1, \"label\": 1}\n".repeat(20);
    for method in ["temperature", "platt", "isotonic"] {
        check(&turned, &["--method", method], &["no rising map"]);
    }
    let bad = good.clone() + "{\"raw\": 1e999, \"label\": 1}\n{\"raw\": NaN, \"label\": 1}\n";
    check(&bad, &[], &["2 rows cannot be read", "in.jsonl:101: ", "in.jsonl:102: "]);
    check(&"{}\n".repeat(30), &[], &["30 rows cannot be read; the first 10"]);
    check(&good, &["--scorer", "x"], &["no column 'scores'"]);
    check(&good, &["--method", "spline"], &["spline"]);
    check(&good, &["--folds", "1"], &["--folds"]);
}

#[test]
fn small_classes_have_no_cross_validation() {
    let folder = Folder::new();
    let mut text = "{\"raw\": -1, \"label\": 0}\n{\"raw\": -2, \"label\": 0}\n".repeat(15);
    text += "{\"raw\": 1, \"label\": 1}\n{\"raw\": -1.5, \"label\": 1}\n";
    let input = folder.write("in.jsonl", text);
    let output = folder.name("c.json");
    let ran = tribunal(["calibrate", &input, "-o", &output, "--json"]).ends(0);
    let about = summary(&ran.stdout)["about"].clone();
    assert!(about["cross_validated"].is_null(), "{about}");
    let why = about["cross_problem"].as_str().expect("a reason");
    assert!(why.contains("5 folds need 5 samples"), "{why}");
    assert!(ran.stdout.contains("no cross-validated figures"));
}

#[test]
fn the_input_is_not_overwritten() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", labelled(100));
    tribunal(["calibrate", &input, "-o", &input]).ends(2);
    assert_eq!(folder.read("in.jsonl"), labelled(100).as_bytes());
}
