//! The counts in `docs/real-data.md`, made again from the data: every gold solution of the GSM8K
//! test set and four models' solutions to each of its questions.
//!
//! Without the data the tests print one line and pass. `print_counts` prints the table for the
//! page, and `print_sample` the reports that were judged by hand:
//!
//! ```text
//! cargo test --release -p verifiers --test arithmetic_gsm8k -- --ignored --nocapture print_sample
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use verifiers::Fuel;
use verifiers::arithmetic::{
    Arithmetic, ArithmeticStep, EqualityCheck, EqualityRule, StepLabel, StepReport,
};

/// The models whose solutions are in the data, by their keys.
const MODELS: [&str; 4] =
    ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"];

/// The seed of the sample that the page shows.
const SAMPLE_SEED: u64 = 4;

/// Reports in the sample.
const SAMPLE_SIZE: usize = 50;

/// A solution with its labels.
struct Solution {
    /// `gold`, or a key of [`MODELS`].
    author: &'static str,
    /// Line in its file, from 0.
    row: usize,
    question: String,
    text: String,
    /// Whether the final answer is labelled right; `None` for gold solutions.
    is_correct: Option<bool>,
}

/// A file of the data set, or nothing where the data is absent.
fn rows(name: &str) -> Option<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gsm8k");
    let path: PathBuf = folder.join(name);
    if !path.exists() {
        println!("skipped: {name} of GSM8K is not here");
        return None;
    }
    let text = std::fs::read_to_string(path).expect("the file is readable");
    let rows = text.lines().map(serde_json::from_str);
    Some(rows.collect::<Result<_, _>>().expect("each line is JSON"))
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Every solution, gold first, then by model.
fn solutions() -> Option<Vec<Solution>> {
    let mut all = Vec::new();
    for (row, value) in rows("test.jsonl")?.iter().enumerate() {
        all.push(Solution {
            author: "gold",
            row,
            question: text(&value["question"]),
            text: text(&value["answer"]),
            is_correct: None,
        });
    }
    let models = rows("example_model_solutions.jsonl")?;
    for author in MODELS {
        for (row, value) in models.iter().enumerate() {
            all.push(Solution {
                author,
                row,
                question: text(&value["question"]),
                text: text(&value[author]["solution"]),
                is_correct: value[author]["is_correct"].as_bool(),
            });
        }
    }
    Some(all)
}

fn check(solution: &Solution) -> StepReport {
    Arithmetic::default().check(&solution.text, None, &mut Fuel::default())
}

/// The rows of the table, in its order, with the count of each author.
type Table = BTreeMap<(usize, String), BTreeMap<&'static str, usize>>;

/// Adds one to a row for an author.
fn count(table: &mut Table, author: &'static str, position: usize, row: &str, by: usize) {
    let cells = table.entry((position, row.to_owned())).or_default();
    *cells.entry(author).or_default() += by;
}

fn rule_row(rule: EqualityRule) -> &'static str {
    match rule {
        EqualityRule::Exact => "right, exactly",
        EqualityRule::Rounded => "right, written rounded",
        EqualityRule::Truncated => "right, written truncated",
        EqualityRule::FloatingPoint => "right, within floating-point error",
        EqualityRule::PercentPoints => "right, written in percent",
    }
}

fn count_check(table: &mut Table, author: &'static str, check: &EqualityCheck) {
    count(table, author, 5, "equalities", 1);
    match check {
        EqualityCheck::Right { rule, .. } => count(table, author, 6, rule_row(*rule), 1),
        EqualityCheck::Wrong { run_on: false, .. } => count(table, author, 7, "wrong", 1),
        EqualityCheck::Wrong { run_on: true, .. } => {
            count(table, author, 7, "wrong, a run-on chain", 1);
        }
        EqualityCheck::DividesByZero => count(table, author, 7, "wrong, divides by zero", 1),
        EqualityCheck::Unchecked { why } => {
            let row = format!("unchecked: {}", why.as_str());
            count(table, author, 8, &row, 1);
        }
    }
}

fn count_solution(table: &mut Table, solution: &Solution) {
    let author = solution.author;
    let report = check(solution);
    assert!(!report.exhausted, "{author} {}", solution.row);
    count(table, author, 0, "solutions", 1);
    count(table, author, 1, "steps", report.steps.len());
    for step in &report.steps {
        let label = step.label();
        let row = format!("steps {}", label.as_str());
        let position = match label {
            StepLabel::Right => 2,
            StepLabel::Wrong => 3,
            StepLabel::Unchecked => 4,
        };
        count(table, author, position, &row, 1);
        for equality in &step.equalities {
            count_check(table, author, &equality.check);
        }
    }
    let (position, kind) = match solution.is_correct {
        None => return count_wrong(table, author, 9, "solutions with a wrong step", &report),
        Some(true) => (10, "answer right"),
        Some(false) => (11, "answer wrong"),
    };
    count(table, author, position, &format!("{kind}: solutions"), 1);
    let row = format!("{kind}: with a wrong step");
    count_wrong(table, author, position, &row, &report);
    count_wrong(table, author, 9, "solutions with a wrong step", &report);
}

fn count_wrong(
    table: &mut Table,
    author: &'static str,
    position: usize,
    row: &str,
    report: &StepReport,
) {
    let has_wrong = usize::from(report.first_wrong.is_some());
    count(table, author, position, row, has_wrong);
}

/// The table as lines of Markdown.
fn lines(solutions: &[Solution]) -> Vec<String> {
    let mut table = Table::new();
    for solution in solutions {
        count_solution(&mut table, solution);
    }
    let row = |((_, name), cells): (&(usize, String), &BTreeMap<&str, usize>)| {
        let cell = |author| match cells.get(author) {
            None if author == "gold" && name.starts_with("answer") => "-".to_owned(),
            count => count.copied().unwrap_or_default().to_string(),
        };
        let cells: Vec<String> = ["gold"].into_iter().chain(MODELS).map(cell).collect();
        format!("| {name} | {} |", cells.join(" | "))
    };
    table.iter().map(row).collect()
}

/// The section of the page that this file answers for.
fn section() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/real-data.md");
    let page = std::fs::read_to_string(page).expect("docs/real-data.md is in the repository");
    page.split("\n## ")
        .find(|section| section.starts_with("Arithmetic"))
        .expect("the page has a section on arithmetic")
        .to_owned()
}

#[test]
fn page_has_the_current_counts() {
    let Some(solutions) = solutions() else { return };
    let section = section();
    for line in lines(&solutions) {
        assert!(section.contains(&line), "docs/real-data.md lacks the row\n{line}");
    }
}

#[test]
fn page_has_the_current_sample() {
    let Some(solutions) = solutions() else { return };
    let (section, wrong) = (section(), wrong_steps(&solutions));
    for (number, (solution, step)) in (1..).zip(sample(wrong, SAMPLE_SEED)) {
        let (author, row, step) = (solution.author, solution.row, step.index);
        let start = format!("\n| {number} | {author} {row}, step {step} | ");
        assert!(section.contains(&start), "docs/real-data.md lacks the row{start}");
    }
}

#[test]
#[ignore = "prints the table for docs/real-data.md"]
fn print_counts() {
    let Some(solutions) = solutions() else { return };
    println!("| | gold | {} |", MODELS.join(" | "));
    println!("|---|---|---|---|---|---|");
    for line in lines(&solutions) {
        println!("{line}");
    }
}

/// The next number of the `SplitMix64` sequence.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Draws `SAMPLE_SIZE` of `items` without replacement, in the order of the draw.
fn sample<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    let mut state = seed;
    let mut drawn = Vec::new();
    while drawn.len() < SAMPLE_SIZE && !items.is_empty() {
        let range = u64::try_from(items.len()).expect("a length fits");
        let index = split_mix(&mut state) % range;
        drawn.push(items.swap_remove(usize::try_from(index).expect("below a length")));
    }
    drawn
}

/// Every wrong step of the models.
fn wrong_steps(solutions: &[Solution]) -> Vec<(&Solution, ArithmeticStep)> {
    let models = solutions.iter().filter(|solution| solution.author != "gold");
    let wrong = models.flat_map(|solution| {
        let steps = check(solution).steps.into_iter();
        let wrong = steps.filter(|step| step.label() == StepLabel::Wrong);
        wrong.map(move |step| (solution, step))
    });
    wrong.collect()
}

#[test]
#[ignore = "prints the wrong steps that were judged by hand for docs/real-data.md"]
fn print_sample() {
    let Some(solutions) = solutions() else { return };
    let wrong = wrong_steps(&solutions);
    println!("{} wrong steps, seed {SAMPLE_SEED}", wrong.len());
    for (number, (solution, step)) in (1..).zip(sample(wrong, SAMPLE_SEED)) {
        let (author, row) = (solution.author, solution.row);
        println!("\n{number}. {author} {row}, step {}", step.index);
        println!("   question: {}", solution.question.replace('\n', " "));
        println!("   step: {}", &solution.text[step.span.clone()]);
        for equality in &step.equalities {
            let label = equality.check.label().as_str();
            let fragment = &solution.text[equality.span.clone()];
            println!("   {label}: {fragment} -> {}", equality.check.detail());
        }
    }
}

#[test]
#[ignore = "prints how many solutions a second one core checks"]
fn print_speed() {
    let Some(solutions) = solutions() else { return };
    let models: Vec<&Solution> =
        solutions.iter().filter(|solution| solution.author != "gold").collect();
    let scorer = Arithmetic::default();
    for _ in 0..5 {
        let start = Instant::now();
        let steps: usize = models
            .iter()
            .map(|solution| {
                let fuel = &mut Fuel::default();
                scorer.check(&solution.text, None, fuel).steps.len()
            })
            .sum();
        let (n, time) = (models.len(), start.elapsed());
        println!("{n} solutions, {steps} steps in {time:?}");
    }
}
