//! Extraction and the maths verifier against GSM8K: the gold answers of its test set and the
//! labelled solutions of four models, 5,276 in all.

use std::path::PathBuf;

use serde_json::Value;
use verifiers::extract::{self, AnswerPolicy};
use verifiers::math::Math;
use verifiers::{Candidate, Claim, Fuel, Gold, Verdict, Verifier};

/// Reads the rows of a data file; `None`, with a message, if the data are absent.
fn rows(file: &str) -> Option<Vec<Value>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gsm8k").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return None;
    };
    let row = |line| serde_json::from_str(line).expect("a line of the file is JSON");
    Some(text.lines().map(row).collect())
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().expect("the field is a text")
}

fn judge(question: Option<&str>, response: &str, gold: &str) -> Verdict {
    let math = Math::default();
    let found = extract::answer(response, &AnswerPolicy::default());
    let candidate = found.map_or(Candidate::Missing, |found| Candidate::Text(found.text));
    let claim = Claim {
        gold: Gold::Text(gold),
        candidate,
        response: Some(response),
        question,
        explain: true,
    };
    let verdict = math.verify(&claim, &mut Fuel::default());
    verdict.expect("the gold answer is a number")
}

#[test]
fn gold_answers_are_extracted_and_equal_themselves() {
    let Some(rows) = rows("test.jsonl") else {
        return;
    };
    assert_eq!(rows.len(), 1319);
    for row in &rows {
        let answer = text(row, "answer");
        let (_, gold) = answer.rsplit_once("#### ").expect("the answer is marked");
        let found = extract::answer(answer, &AnswerPolicy::default());
        let found = found.expect("the answer is marked");
        assert_eq!((found.text, found.source), (gold, "hash_marks"));
        assert_eq!(judge(None, answer, gold).label, "equal", "{gold}");
    }
}

#[test]
fn every_label_of_the_example_solutions_is_confirmed() {
    const MODELS: [&str; 4] =
        ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"];
    let Some(rows) = rows("example_model_solutions.jsonl") else {
        return;
    };
    let mut judged = 0;
    for (line, row) in (1..).zip(&rows) {
        let truth = text(row, "ground_truth");
        let (_, gold) = truth.rsplit_once("A: ").expect("the answer is marked");
        for model in MODELS {
            let solution = &row[model];
            let is_correct = solution["is_correct"].as_bool().expect("a label");
            let response = text(solution, "solution");
            for question in [None, Some(text(row, "question"))] {
                let verdict = judge(question, response, gold);
                let is_right = verdict.score.get() > 0.0;
                assert_eq!(is_right, is_correct, "line {line}, {model}: {verdict:?}");
            }
            judged += 1;
        }
    }
    assert_eq!(judged, 5276);
}

#[test]
fn counts_in_the_words_of_the_question_are_right() {
    let Some(rows) = rows("test.jsonl") else {
        return;
    };
    let mut judged = 0;
    for row in &rows {
        let (question, answer) = (text(row, "question"), text(row, "answer"));
        let (_, gold) = answer.rsplit_once("#### ").expect("the answer is marked");
        let Some((_, asked)) = question.rsplit_once("ow many ") else {
            continue;
        };
        let word: String = asked.chars().take_while(char::is_ascii_alphabetic).collect();
        if word.len() > 2 {
            let verdict =
                judge(Some(question), &format!("So \\boxed{{{gold}\\text{{ {word}}}}}."), gold);
            assert_eq!(verdict.label, "equal", "{question}: {verdict:?}");
            judged += 1;
        }
    }
    assert!(judged > 500, "only {judged} questions count something");
}
