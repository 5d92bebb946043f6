//! Endings as models write them, boxed and not: each is extracted and judged by the default
//! configuration. The rows are in `endings/rows.txt`, by kind, right ones and near misses, in
//! `endings/peers.txt`, by the issues in which other graders' mistakes were reported, and in
//! `endings/set*.jsonl`, written and labelled without sight of the rules. Of the latter some are
//! judged against their label; those are in `endings/open.txt`, by set and line.

#[path = "timing/mod.rs"]
mod timing;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use verifiers::extract::{self, AnswerPolicy, ExtractedTexts};
use verifiers::math::Math;
use verifiers::{
    Candidate, Certainty, Claim, Fuel, Gold, UnitScore, Verdict, Verifier, VerifyError,
};

const ROWS: &str = include_str!("endings/rows.txt");

const PEERS: &str = include_str!("endings/peers.txt");

/// Sets of endings with their names.
const SETS: [(&str, &str); 27] = [
    ("set1", include_str!("endings/set1.jsonl")),
    ("set2", include_str!("endings/set2.jsonl")),
    ("set3", include_str!("endings/set3.jsonl")),
    ("set4", include_str!("endings/set4.jsonl")),
    ("set5", include_str!("endings/set5.jsonl")),
    ("set7", include_str!("endings/set7.jsonl")),
    ("set8", include_str!("endings/set8.jsonl")),
    ("set9", include_str!("endings/set9.jsonl")),
    ("set10", include_str!("endings/set10.jsonl")),
    ("set11", include_str!("endings/set11.jsonl")),
    ("set12", include_str!("endings/set12.jsonl")),
    ("set13", include_str!("endings/set13.jsonl")),
    ("set14", include_str!("endings/set14.jsonl")),
    ("set15", include_str!("endings/set15.jsonl")),
    ("set16", include_str!("endings/set16.jsonl")),
    ("set17", include_str!("endings/set17.jsonl")),
    ("set18", include_str!("endings/set18.jsonl")),
    ("set19", include_str!("endings/set19.jsonl")),
    ("set20", include_str!("endings/set20.jsonl")),
    ("set21", include_str!("endings/set21.jsonl")),
    ("set22", include_str!("endings/set22.jsonl")),
    ("set23", include_str!("endings/set23.jsonl")),
    ("set24", include_str!("endings/set24.jsonl")),
    ("set25", include_str!("endings/set25.jsonl")),
    ("set26", include_str!("endings/set26.jsonl")),
    ("set27", include_str!("endings/set27.jsonl")),
    ("set28", include_str!("endings/set28.jsonl")),
];

/// Lines `set rejected numbers` of rows that are rejected although their label is right, and `set
/// accepted numbers` of the opposite.
const OPEN: &str = include_str!("endings/open.txt");

/// A line `kind || + or - || gold || response`; `\n` is a line break where a blank follows it.
struct Ending<'a> {
    kind: &'a str,
    is_right: bool,
    gold: &'a str,
    response: String,
}

fn ending(line: &str) -> Ending<'_> {
    let fields: Vec<&str> = line.splitn(4, " || ").collect();
    assert_eq!(fields.len(), 4, "{line:?}");
    let (kind, sign, gold, response) = (fields[0], fields[1], fields[2], fields[3]);
    assert!(matches!(sign, "+" | "-"), "{line:?}");
    let response = response.replace("\\n ", "\n");
    Ending { kind, is_right: sign == "+", gold, response }
}

fn judged(question: Option<&str>, gold: &str, response: &str) -> Result<Verdict, VerifyError> {
    let found = extract::answer(response, &AnswerPolicy::default());
    let texts = found.map(|found| found.texts(response));
    let candidate = texts.as_ref().map_or(Candidate::Missing, ExtractedTexts::candidate);
    let claim = Claim {
        gold: Gold::Text(gold),
        candidate,
        response: Some(response),
        question,
        explain: false,
    };
    Math::default().verify(&claim, &mut Fuel::default())
}

fn is_accepted(question: Option<&str>, gold: &str, response: &str) -> bool {
    matches!(judged(question, gold, response), Ok(verdict) if verdict.score == UnitScore::ONE)
}

/// Judges rows by kind; returns how many near misses and right answers each kind has.
fn check_rows(rows: &str) -> BTreeMap<&str, [usize; 2]> {
    let mut wrong = Vec::new();
    let mut kinds: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for line in rows.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let ending = ending(line);
        kinds.entry(ending.kind).or_default()[usize::from(ending.is_right)] += 1;
        if is_accepted(None, ending.gold, &ending.response) != ending.is_right {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{} of these are misjudged:\n{}", wrong.len(), wrong.join("\n"));
    kinds
}

#[test]
fn endings_are_judged_as_labelled() {
    let kinds = check_rows(ROWS);
    // Every kind has right answers and near misses.
    assert!(kinds.values().all(|[near, right]| *near > 0 && *right > 0), "{kinds:?}");
}

#[test]
fn what_other_graders_misjudged_is_judged_right() {
    check_rows(PEERS);
}

/// The listed rows of a set that are judged so.
fn open_rows(set: &str, judged: &str) -> BTreeSet<usize> {
    let prefix = format!("{set} {judged} ");
    let listed = OPEN.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_default();
    listed.split_whitespace().map(|number| number.parse().expect("a row's number")).collect()
}

#[test]
fn sets_are_judged_as_labelled_but_for_open_rows() {
    for (name, rows) in SETS {
        let (mut rejected, mut accepted) = (BTreeSet::new(), BTreeSet::new());
        for (number, line) in (1..).zip(rows.lines()) {
            let row: Value = serde_json::from_str(line).expect("a row is JSON");
            let text = |field: &str| row[field].as_str().expect("a row has its texts");
            let is_right = row["correct"].as_bool().expect("a row has its label");
            match (is_accepted(Some(text("question")), text("gold"), text("response")), is_right) {
                (true, false) => accepted.insert(number),
                (false, true) => rejected.insert(number),
                (true, true) | (false, false) => false,
            };
        }
        assert_eq!(rejected, open_rows(name, "rejected"), "{name}: rejected, and listed as such");
        assert_eq!(accepted, open_rows(name, "accepted"), "{name}: accepted, and listed as such");
    }
}

/// The rows that a cascade hands on to its next part are those of docs/real-data.md.
#[test]
fn shares_that_go_on_are_those_of_the_page() {
    let page = include_str!("../../docs/real-data.md");
    let mut missing = Vec::new();
    for (name, rows) in SETS {
        let rows: Vec<Value> =
            rows.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect();
        let (mut handed_on, mut right) = (0, 0);
        for row in &rows {
            let text = |field: &str| row[field].as_str().expect("a row has its texts");
            let judged = judged(Some(text("question")), text("gold"), text("response"));
            let goes_on = match judged {
                Ok(verdict) => {
                    verdict.score != UnitScore::ONE && verdict.certainty == Certainty::Presumed
                }
                Err(error) => matches!(error, VerifyError::Undecided(_)),
            };
            handed_on += usize::from(goes_on);
            right += usize::from(goes_on && row["correct"] == true);
        }
        let line = format!("| endings, {name} | {} | {handed_on} | {right} |", rows.len());
        missing.extend(Some(line).filter(|line| !page.contains(line)));
    }
    assert!(missing.is_empty(), "docs/real-data.md lacks\n{}", missing.join("\n"));
}

#[test]
#[ignore = "prints times for docs/performance.md"]
fn print_times() {
    let lines = SETS.iter().flat_map(|(_, rows)| rows.lines());
    let rows: Vec<Value> =
        lines.map(|line| serde_json::from_str(line).expect("a row is JSON")).collect();
    let text =
        |index: usize, field: &str| rows[index][field].as_str().expect("a row has its texts");
    timing::print("endings with questions", rows.len(), |index| {
        is_accepted(Some(text(index, "question")), text(index, "gold"), text(index, "response"));
    });
}
