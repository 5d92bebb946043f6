//! The published solutions to GSM8K, with labels.

use serde_json::Value;

use crate::program::{Folder, shared_data, tribunal};

const COLUMNS: [&str; 4] =
    ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"];

#[test]
fn scores_agree_with_every_label_of_gsm8k() {
    let Some(data) = shared_data() else {
        println!("skipped: the folder shared/data is not beside the checkout");
        return;
    };
    let input = data.join("gsm8k/example_model_solutions.jsonl");
    let input = input.to_str().expect("a plain path");
    let folder = Folder::new();
    let mut n_compared = 0;
    for column in COLUMNS {
        let (output, response) = (folder.name(column), format!("{column}.solution"));
        let mut args =
            vec!["score", input, "-o", &output, "--scorer", "math", "--extract-reference"];
        args.extend(["--response", &response, "--reference", "ground_truth"]);
        tribunal(args).ends(0);
        for (number, row) in folder.rows(column).into_iter().enumerate() {
            let label = row[column]["is_correct"].as_bool().expect("a label");
            let verdict = &row["scores"]["math"];
            assert_eq!(verdict["status"], "ok", "row {number} of {column}: {verdict}");
            let right = verdict["score"].as_f64() == Some(1.0);
            assert_eq!(right, label, "row {number} of {column}: {verdict}");
            n_compared += 1;
        }
    }
    assert_eq!(n_compared, 5276);
}

#[test]
fn columns_of_real_data_are_kept_byte_for_byte() {
    let Some(data) = shared_data() else {
        println!("skipped: the folder shared/data is not beside the checkout");
        return;
    };
    let folder = Folder::new();
    for (file, response, reference) in
        [("gsm8k/test.jsonl", "answer", "answer"), ("math/lighteval.jsonl", "pred", "gold")]
    {
        let path = data.join(file);
        let (input, output) = (path.to_str().expect("a plain path"), folder.name("out.jsonl"));
        let mut args = vec!["score", input, "-o", &output, "--scorer", "math", "--overwrite"];
        args.extend(["--response", response, "--reference", reference, "--extract-reference"]);
        tribunal(args).ends(0);
        let given = std::fs::read_to_string(&path).expect("the file is there");
        let made = String::from_utf8(folder.read("out.jsonl")).expect("text");
        assert_eq!(given.lines().count(), made.lines().count());
        for (given, made) in given.lines().zip(made.lines()) {
            let kept = given.strip_suffix('}').expect("an object");
            let added = made.strip_prefix(kept).unwrap_or_else(|| panic!("{given}\n{made}"));
            let added = added.strip_prefix(",\"scores\":").expect("the new column");
            let scores: Value = serde_json::from_str(&added[..added.len() - 1]).expect("JSON");
            assert!(scores["math"]["status"].is_string());
        }
    }
}
