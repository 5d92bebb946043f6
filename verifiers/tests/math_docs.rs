//! The examples of `docs/math.md` hold: each row of its tables is run as it stands.

#![expect(clippy::panic, reason = "a page that cannot be read fails the test")]

use serde_json::{Map, Value};
use verifiers::math::{Math, MathConfig, POLICIES, Tolerance};
use verifiers::{Candidate, Certainty, Claim, Fuel, Gold, Verifier, VerifyError};

const EXAMPLES: [&str; 5] = ["flag", "gold", "candidate", "verdict", "reason"];
const KEYS: [&str; 3] = ["key", "default", "meaning"];

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/math.md");
    std::fs::read_to_string(path).expect("the page is in the repository")
}

/// The rows of all tables with `header`.
fn rows(page: &str, header: &[&str]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut is_wanted = None;
    for line in page.lines() {
        let Some(cells) = cells(line) else {
            is_wanted = None;
            continue;
        };
        match is_wanted {
            None => is_wanted = Some(cells == header),
            Some(true) if !cells[0].starts_with("---") => rows.push(cells),
            Some(_) => {}
        }
    }
    rows
}

/// The cells of a line of a table; `\|` is a bar inside a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let joined = inner.replace("\\|", "\u{0}");
    let cell = |cell: &str| cell.trim().replace('\u{0}', "|");
    Some(joined.split('|').map(cell).collect())
}

/// The text of a code span.
fn code(cell: &str) -> &str {
    cell.trim_matches('`')
}

/// The configuration that `key = value` makes of the default one.
fn config(flag: &str) -> MathConfig {
    let Some((key, value)) = code(flag).split_once(" = ") else {
        assert!(flag.is_empty(), "{flag} is no flag");
        return MathConfig::default();
    };
    let value: Value = serde_json::from_str(value).unwrap_or_else(|e| panic!("{flag}: {e}"));
    let bound = || {
        let text = value.as_str().expect("a bound is a text");
        text.parse().expect("the page shows bounds that can be used")
    };
    let tolerance = match key {
        "tolerance" => {
            assert_eq!(value, "gold_digits", "{flag}");
            Tolerance::GoldDigits
        }
        "policy" => {
            let name = value.as_str().expect("a policy has a name");
            return MathConfig::named(name).expect("the page names policies that there are");
        }
        "absolute" => Tolerance::Absolute(bound()),
        "relative" => Tolerance::Relative(bound()),
        _ => {
            let object = Map::from_iter([(key.to_owned(), value)]);
            let policy = serde_json::from_value(Value::Object(object));
            return MathConfig {
                policy: policy.unwrap_or_else(|error| panic!("{flag}: {error}")),
                ..MathConfig::default()
            };
        }
    };
    MathConfig { tolerance, ..MathConfig::default() }
}

/// Verdict and reason, in the words of the page.
fn verdict(
    config: MathConfig,
    question: Option<&str>,
    gold: &str,
    candidate: &str,
) -> (&'static str, &'static str) {
    let claim = Claim {
        gold: Gold::Text(gold),
        candidate: Candidate::Text(candidate),
        response: None,
        question,
        explain: true,
    };
    match Math::new(config).verify(&claim, &mut Fuel::default()) {
        Ok(verdict) => {
            let word = match (verdict.label, verdict.certainty) {
                ("not_compared", Certainty::Presumed) => "not compared",
                (label, _) => label,
            };
            (word, verdict.reason.code)
        }
        Err(VerifyError::BadReference(reason)) => ("bad reference", reason.code),
        Err(VerifyError::Undecided(reason)) => ("undecided", reason.code),
    }
}

#[test]
fn every_example_holds() {
    let rows = rows(&page(), &EXAMPLES);
    let mut failures = Vec::new();
    for row in &rows {
        let found = verdict(config(&row[0]), None, code(&row[1]), code(&row[2]));
        if found != (row[3].as_str(), code(&row[4])) {
            failures.push(format!("{row:?} gives {found:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(rows.len() > 70, "only {} examples were found", rows.len());
}

#[test]
fn every_question_asks_what_the_page_says() {
    let rows = rows(&page(), &["question", "gold", "candidate", "verdict", "reason"]);
    for row in &rows {
        let found = verdict(MathConfig::default(), Some(&row[0]), code(&row[1]), code(&row[2]));
        assert_eq!(found, (row[3].as_str(), code(&row[4])), "{row:?}");
    }
    assert!(rows.len() > 10, "only {} examples were found", rows.len());
}

#[test]
fn the_table_of_policies_holds() {
    let mut header = vec!["switch".to_owned()];
    header.extend(POLICIES.map(|name| format!("`{name}`")));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = rows(&page(), &header);
    for (column, name) in (1..).zip(POLICIES) {
        let config = MathConfig::named(name).expect("it is a policy");
        let config = serde_json::to_value(config).expect("a configuration is data");
        let shown: Vec<(&str, &str)> =
            rows.iter().map(|row| (code(&row[0]), code(&row[column]))).collect();
        let switches = config.as_object().expect("a configuration is an object");
        let known: Vec<(&str, String)> = switches
            .iter()
            .filter(|(key, _)| *key != "constants")
            .map(|(key, value)| (key.as_str(), value.to_string()))
            .collect();
        let known: Vec<(&str, &str)> =
            known.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert_eq!(shown, known, "{name}");
    }
}

#[test]
fn every_flag_is_explained_and_no_other() {
    let policy = serde_json::to_value(MathConfig::default()).expect("a policy is data");
    let policy = policy.as_object().expect("a policy is an object");
    let known: Vec<&str> =
        policy.keys().map(String::as_str).filter(|key| *key != "constants").collect();
    let rows = rows(&page(), &KEYS);
    let explained: Vec<&str> = rows.iter().map(|row| code(&row[0])).collect();
    assert_eq!(explained, known);
    for row in &rows[1..] {
        assert_eq!(code(&row[1]), policy[code(&row[0])].to_string(), "{}", row[0]);
    }
}
