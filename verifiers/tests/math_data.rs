//! The maths verifier against published test cases of other verifiers, three sets in all.
//!
//! Rows on which we disagree with a label are listed in `math_data/disagreements.tsv`: the set, the
//! line of its file, and why. A row that is listed must disagree and no other may, so that the list
//! stays exact. Entries marked unsupported count against us; the other labels are wrong, or of a
//! policy that is not ours by default.

#[path = "timing/mod.rs"]
mod timing;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use verifiers::extract::{self, AnswerPolicy, ExtractedTexts};
use verifiers::math::{Math, MathConfig};
use verifiers::{Candidate, Claim, Fuel, Gold, UnitScore, Verdict, Verifier, VerifyError};

const DISAGREEMENTS: &str = include_str!("math_data/disagreements.tsv");

/// Reads the rows of a set; `None`, with a message, if the data are absent.
fn rows(set: &str) -> Option<Vec<Value>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/math")
        .join(format!("{set}.jsonl"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return None;
    };
    let row = |line| serde_json::from_str(line).expect("a line of the file is JSON");
    Some(text.lines().map(row).collect())
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

/// Longer gold texts are solutions.
const MAX_GOLD: usize = 150;

/// The answer in a gold text, which may be a whole solution.
fn answer_in(text: &str) -> String {
    if text.len() <= MAX_GOLD && !text.contains("boxed") {
        return text.to_owned();
    }
    match extract::answer(text, &AnswerPolicy::default()) {
        None => text.to_owned(),
        Some(found) if found.members.is_empty() => found.text.to_owned(),
        Some(found) => {
            let members: Vec<&str> = found.members.iter().map(|span| &text[span.clone()]).collect();
            members.join(", ")
        }
    }
}

/// A response against a gold answer that may be a whole solution itself.
fn judge_response(row: &Value, math: &Math) -> Result<Verdict, VerifyError> {
    let (gold, response) = (text(row, "gold"), text(row, "pred"));
    let found = extract::answer(response, &AnswerPolicy::default());
    let texts = found.map(|found| found.texts(response));
    let candidate = texts.as_ref().map_or(Candidate::Missing, ExtractedTexts::candidate);
    judge(&answer_in(gold), candidate, math)
}

fn judge(gold: &str, candidate: Candidate<'_>, math: &Math) -> Result<Verdict, VerifyError> {
    let claim =
        Claim { gold: Gold::Text(gold), candidate, response: None, question: None, explain: true };
    math.verify(&claim, &mut Fuel::default())
}

fn is_equal(judged: &Result<Verdict, VerifyError>) -> bool {
    matches!(judged, Ok(verdict) if verdict.score == UnitScore::ONE)
}

/// Results of a set's rows.
#[derive(Debug, Default)]
struct Tally {
    rows: usize,
    agreed: usize,
    false_accepts: usize,
    false_rejects: usize,
    argued: usize,
    /// Disagreements that are not listed.
    unlisted: Vec<String>,
    /// Listed rows on which there is no disagreement.
    stale: Vec<usize>,
}

/// The listed lines of `set`, with their arguments.
fn listed(set: &str) -> BTreeMap<usize, &'static str> {
    let entry = |line: &'static str| {
        let mut fields = line.splitn(3, '\t');
        let (own, number, why) = (fields.next()?, fields.next()?, fields.next()?);
        (own == set).then(|| (number.parse().expect("a line number"), why))
    };
    DISAGREEMENTS.lines().filter_map(entry).collect()
}

/// Checks the rows of `set` against the disagreements under `list`.
fn check(set: &str, list: &str, judge: impl Fn(&Value) -> Result<Verdict, VerifyError>) {
    let Some(rows) = rows(set) else {
        return;
    };
    let listed = listed(list);
    let mut tally = Tally::default();
    for (line, row) in (1..).zip(&rows) {
        if text(row, "kind").starts_with("mcq") {
            continue;
        }
        let expected = row["expected"].as_bool().expect("a label");
        let judged = judge(row);
        let found = is_equal(&judged);
        tally.rows += 1;
        match (found == expected, listed.contains_key(&line)) {
            (true, is_listed) => {
                tally.agreed += 1;
                if is_listed {
                    tally.stale.push(line);
                }
            }
            (false, true) => {
                let is_ours = listed[&line].starts_with("unsupported");
                tally.argued += usize::from(!is_ours);
            }
            (false, false) => {
                let (gold, pred) = (text(row, "gold"), text(row, "pred"));
                let shown = |text: &str| {
                    text.chars()
                        .rev()
                        .take(90)
                        .collect::<Vec<_>>()
                        .into_iter()
                        .rev()
                        .collect::<String>()
                };
                tally.unlisted.push(format!(
                    "{line}: expected {expected}, gold {:?}, pred {:?}: {judged:?}",
                    shown(gold),
                    shown(pred)
                ));
            }
        }
        tally.false_accepts += usize::from(found && !expected);
        tally.false_rejects += usize::from(!found && expected);
    }
    let per_mille = 1000 * tally.agreed / tally.rows.max(1);
    println!(
        "{set}: {} of {} rows agree ({}.{} %), {} false accepts, {} false rejects by label; {} of the disagreements are argued",
        tally.agreed,
        tally.rows,
        per_mille / 10,
        per_mille % 10,
        tally.false_accepts,
        tally.false_rejects,
        tally.argued,
    );
    assert!(tally.unlisted.is_empty(), "{}", tally.unlisted.join("\n"));
    assert!(tally.stale.is_empty(), "{set}: listed, but no disagreement: {:?}", tally.stale);
    let counted = tally.rows - tally.argued;
    assert!(tally.agreed * 100 >= counted * 99, "{set}: {} of {counted}", tally.agreed);
}

#[test]
fn math_verify() {
    check("math_verify", "math_verify", |row| judge_response(row, &Math::default()));
}

/// Under the policy of its name the verifier decides as that library does, but for labels that
/// docs/real-data.md calls defects.
#[test]
fn math_verify_by_its_own_policy() {
    let math = Math::new(MathConfig::named("math-verify").expect("it is a policy"));
    check("math_verify", "math_verify_policy", |row| judge_response(row, &math));
}

#[test]
fn lighteval() {
    check("lighteval", "lighteval", |row| judge_response(row, &Math::default()));
}

#[test]
fn latex_readings() {
    check("latex_parse", "latex_parse", |row| {
        judge(text(row, "gold"), Candidate::Text(text(row, "pred")), &Math::default())
    });
}

#[test]
#[ignore = "prints times for docs/performance.md"]
fn print_times() {
    let all: Vec<Value> =
        ["math_verify", "lighteval"].iter().filter_map(|set| rows(set)).flatten().collect();
    let is_short = |row: &&Value| {
        let gold = text(row, "gold");
        !text(row, "kind").starts_with("mcq") && gold.len() <= MAX_GOLD && !gold.contains("boxed")
    };
    let rows: Vec<&Value> = all.iter().filter(is_short).collect();
    let math = Math::default();
    timing::print("published rows", rows.len(), |index| {
        let (gold, response) = (text(rows[index], "gold"), text(rows[index], "pred"));
        let found = extract::answer(response, &AnswerPolicy::default());
        let texts = found.map(|found| found.texts(response));
        let candidate = texts.as_ref().map_or(Candidate::Missing, ExtractedTexts::candidate);
        let claim = Claim {
            gold: Gold::Text(gold),
            candidate,
            response: None,
            question: None,
            explain: false,
        };
        drop(math.verify(&claim, &mut Fuel::default()));
    });
}
