//! The example of docs/datasets.md over GSM8K: its commands run as they stand there, and each of its
//! numbers is counted again from the rows, without the code that made them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::documents::blocks;
use crate::program::{Folder, Ran, shared_data, tribunal};

const MODELS: [&str; 4] =
    ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"];

/// The section of the page.
fn section() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/datasets.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let (_, section) = page.split_once("\n## GSM8K").expect("the section");
    section.split("\n## ").next().unwrap_or_default().to_owned()
}

/// Runs a block of commands as a shell does.
fn shell(folder: &Folder, commands: &str) -> Ran {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_tribunal"));
    let place = program.parent().expect("a program is in a folder");
    let script = format!("PATH=\"{}:$PATH\"\nset -e\n{commands}", place.display());
    let ran = Command::new("sh").args(["-c", &script]).current_dir(folder.path("")).output();
    ran.expect("a shell").into()
}

/// Counts that the page states: the number before each of some words.
fn stated(text: &str, words: &str) -> u64 {
    let at = text.find(words).expect(words);
    let number = text[..at].trim_end().rsplit([' ', '\n', '(', '-', '|']).next();
    let digits = number.unwrap_or_default().replace(',', "");
    digits.parse().expect(words)
}

/// The solutions of each question with their labels, in the order of the file.
fn labelled(data: &Path) -> Vec<(String, Vec<(String, bool)>)> {
    let text = std::fs::read_to_string(data.join("gsm8k/example_model_solutions.jsonl"));
    let of_line = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let solution = |model: &&str| {
            let solution = row[*model]["solution"].as_str().expect("a text");
            let label = row[*model]["is_correct"].as_bool().expect("a label");
            (solution.to_owned(), label)
        };
        let question = row["question"].as_str().expect("a text").to_owned();
        (question, MODELS.iter().map(solution).collect())
    };
    text.expect("the file is there").lines().map(of_line).collect()
}

#[test]
fn the_help_has_the_example_of_the_page() {
    let help = tribunal(["filter", "--help"]).ends(0).stdout;
    let words = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    };
    let (help, section) = (words(&help), section());
    let commands = blocks(&section, "sh").concat();
    for command in words(&commands).split("tribunal ").skip(1) {
        assert!(help.contains(command.trim()), "{command}");
    }
}

#[test]
fn the_example_over_gsm8k_gives_the_numbers_of_the_page() {
    let Some(data) = shared_data() else {
        println!("skipped: the folder shared/data is not beside the checkout");
        return;
    };
    let section = section();
    let folder = Folder::new();
    let name = "example_model_solutions.jsonl";
    std::fs::copy(data.join("gsm8k").join(name), folder.path(name)).expect("ours");
    let mut said = String::new();
    for block in blocks(&section, "sh") {
        said += &shell(&folder, block).ends(0).stderr;
    }
    // The output on the page equals the printed one, except for times.
    for block in blocks(&section, "text") {
        for line in block.lines() {
            assert!(said.contains(line), "{line:?} was not printed:\n{said}");
        }
    }
    let questions = labelled(&data);
    assert_eq!(stated(&section, "questions, four"), questions.len() as u64);
    let rows = folder.rows("scored.jsonl");
    assert_eq!(rows.len(), 4 * questions.len());
    let mut by_passed: BTreeMap<usize, u64> = BTreeMap::new();
    for (_, solutions) in &questions {
        let passed = solutions.iter().filter(|(_, right)| *right).count();
        *by_passed.entry(passed).or_default() += 1;
    }
    // The labels of the data say which solution is right; the scores agree with all of them.
    for (row, (_, right)) in rows.iter().zip(questions.iter().flat_map(|(_, all)| all)) {
        assert_eq!(row["scores"]["math"]["score"].as_f64() == Some(1.0), *right, "{row}");
    }
    for (passed, words) in [
        (0, "questions with none right"),
        (1, "with one"),
        (2, "with two"),
        (3, "with three"),
        (4, "with all four"),
    ] {
        assert_eq!(stated(&section, words), by_passed[&passed], "{words}");
    }
    let in_band = by_passed[&1] + by_passed[&2] + by_passed[&3];
    assert_eq!(stated(&section, "questions are in the band"), in_band);
    let converted = "tribunal filter band.parquet -o band.jsonl\ntribunal filter pairs.parquet -o pairs.jsonl\n";
    shell(&folder, converted).ends(0);
    check_band(&folder, &questions);
    check_pairs(&folder, &questions, &section);
}

/// The rows of the band are the solutions of the questions with one to three right ones, in order.
fn check_band(folder: &Folder, questions: &[(String, Vec<(String, bool)>)]) {
    let is_in_band = |solutions: &[(String, bool)]| {
        (1..=3).contains(&solutions.iter().filter(|(_, right)| *right).count())
    };
    let expected: Vec<&str> = questions
        .iter()
        .filter(|(_, solutions)| is_in_band(solutions))
        .flat_map(|(_, solutions)| solutions.iter().map(|(text, _)| text.as_str()))
        .collect();
    let rows = folder.rows("band.jsonl");
    let found: Vec<&str> =
        rows.iter().map(|row| row["solution"].as_str().expect("a text")).collect();
    assert!(found == expected, "{} and {} rows", found.len(), expected.len());
}

/// Each pair is of a question of the band, in order, and of the best and the worst of its solutions.
fn check_pairs(folder: &Folder, questions: &[(String, Vec<(String, bool)>)], section: &str) {
    let mut scores: BTreeMap<(String, String), f64> = BTreeMap::new();
    let mut of_question: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in folder.rows("scored.jsonl") {
        let text = |name: &str| row[name].as_str().expect("a text").to_owned();
        let score = |scorer: &str| row["scores"][scorer]["score"].as_f64();
        let Some((math, arithmetic)) = score("math").zip(score("arithmetic")) else {
            continue;
        };
        let score = math + arithmetic / 10.0;
        scores.insert((text("question"), text("solution")), score);
        of_question.entry(text("question")).or_default().push(score);
    }
    let mut expected = Vec::new();
    for (question, solutions) in questions {
        let n_right = solutions.iter().filter(|(_, right)| *right).count();
        let own = &of_question[question];
        let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = own.iter().copied().fold(f64::INFINITY, f64::min);
        if (1..=3).contains(&n_right) && most - least >= 0.5 {
            expected.push((question, most, least));
        }
    }
    let pairs = folder.rows("pairs.jsonl");
    assert_eq!(stated(section, "pairs, of a right"), pairs.len() as u64);
    assert_eq!(pairs.len(), expected.len());
    for (row, (question, most, least)) in pairs.iter().zip(expected) {
        assert_eq!(row["prompt"], **question);
        let of = |name: &str| {
            let text = row[name].as_str().expect("a text").to_owned();
            scores[&(question.clone(), text)]
        };
        assert_eq!((of("chosen"), of("rejected")), (most, least), "{question}");
        let number = |name: &str| row[name].as_f64().expect("a number");
        assert_eq!((number("chosen_score"), number("rejected_score")), (most, least));
        assert!((number("margin") - (most - least)).abs() < 1e-12);
    }
}
