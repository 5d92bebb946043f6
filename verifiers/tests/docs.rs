//! The examples of `docs/verifiers.md` hold: each row of its tables is run as it stands.

#![expect(clippy::panic, reason = "a page that cannot be read fails the test")]

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use verifiers::choice::{ChoiceConfig, ChoiceVerifier};
use verifiers::exact::{ExactConfig, ExactVerifier};
use verifiers::format::{FormatConfig, FormatVerifier};
use verifiers::json::{JsonConfig, JsonVerifier, Syntax};
use verifiers::length::{LengthConfig, LengthVerifier};
use verifiers::lp::{LpConfig, LpVerifier};
use verifiers::pattern::{PatternConfig, PatternVerifier};
use verifiers::text::{TextConfig, TextVerifier};
use verifiers::{Candidate, Claim, Fuel, Gold, Verifier, VerifyError};

const EXAMPLES: [&str; 5] = ["config", "gold", "candidate", "score", "reason"];
const KEYS: [&str; 3] = ["key", "default", "meaning"];

/// A table with its section.
struct Table {
    section: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verifiers.md");
    std::fs::read_to_string(path).expect("the page is in the repository")
}

fn tables(page: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut section = String::new();
    let mut in_table = false;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.trim_matches('`').clone_into(&mut section);
        }
        let Some(cells) = cells(line) else {
            in_table = false;
            continue;
        };
        if !in_table {
            tables.push(Table { section: section.clone(), header: cells, rows: Vec::new() });
        } else if !cells[0].starts_with("---") {
            tables.last_mut().expect("a table is open").rows.push(cells);
        }
        in_table = true;
    }
    tables
}

/// The cells of a line of a table; `\|` is a bar inside a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let joined = inner.replace("\\|", "\u{0}");
    let cells = joined.split('|').map(|cell| cell.trim().replace('\u{0}', "|"));
    Some(cells.collect())
}

/// The text of a code span, whatever number of backticks it has.
fn code(cell: &str) -> &str {
    let fence = cell.len() - cell.trim_start_matches('`').len();
    cell[fence..cell.len() - fence].trim()
}

fn value(cell: &str) -> Value {
    if cell.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(code(cell)).unwrap_or_else(|error| panic!("{cell}: {error}"))
}

/// The configuration in `cell`; a blank one is the default.
fn config<C: DeserializeOwned>(cell: &str) -> C {
    let mut value = value(cell);
    if value.is_null() {
        value = Value::Object(Map::new());
    }
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{cell}: {error}"))
}

fn verifier(section: &str, cell: &str) -> Box<dyn Verifier> {
    const OK: &str = "the page shows configurations that can be used";
    match section {
        "choice" => Box::new(ChoiceVerifier::new(config(cell))),
        "text" => Box::new(TextVerifier::new(config(cell))),
        "exact" => Box::new(ExactVerifier::new(config(cell))),
        "regex" => Box::new(PatternVerifier::new(config(cell)).expect(OK)),
        "format" => Box::new(FormatVerifier::new(config(cell)).expect(OK)),
        "json" | "structured" => Box::new(JsonVerifier::new(config(cell)).expect(OK)),
        "length" => Box::new(LengthVerifier::new(config(cell)).expect(OK)),
        "lp" => Box::new(LpVerifier::new(&config(cell)).expect(OK)),
        other => panic!("no verifier is known for the examples of section {other}"),
    }
}

/// Score and reason, in the words of the page.
fn verdict(verifier: &dyn Verifier, gold: &Value, candidate: &Value) -> (String, String) {
    let list: Vec<String> = gold
        .as_array()
        .into_iter()
        .flatten()
        .map(|text| text.as_str().expect("lists hold texts").to_owned())
        .collect();
    let gold = match gold {
        Value::Null => Gold::Missing,
        Value::String(text) => Gold::Text(text),
        Value::Array(_) => Gold::AnyOf(&list),
        Value::Object(fields) => Gold::Object(fields),
        Value::Bool(_) | Value::Number(_) => panic!("{gold} is no gold answer"),
    };
    let candidate = candidate.as_str().map_or(Candidate::Missing, Candidate::Text);
    let claim = Claim { gold, candidate, response: None, question: None, explain: true };
    match verifier.verify(&claim, &mut Fuel::default()) {
        Ok(verdict) => (verdict.score.get().to_string(), verdict.reason.code.to_owned()),
        Err(VerifyError::BadReference(reason)) => ("bad_reference".into(), reason.code.into()),
        Err(VerifyError::Undecided(reason)) => ("undecided".into(), reason.code.into()),
    }
}

#[test]
fn every_example_holds() {
    let mut failures = Vec::new();
    let mut examples = 0;
    for table in tables(&page()) {
        if table.header != EXAMPLES {
            continue;
        }
        for row in table.rows {
            assert_eq!(row.len(), EXAMPLES.len(), "{}: {row:?}", table.section);
            let verifier = verifier(&table.section, &row[0]);
            assert_eq!(verifier.id().name, table.section);
            let found = verdict(&*verifier, &value(&row[1]), &value(&row[2]));
            if found != (row[3].clone(), code(&row[4]).to_owned()) {
                failures.push(format!("{}: {row:?} gives {found:?}", table.section));
            }
            examples += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(examples > 50, "only {examples} examples were found");
}

/// The keys of a configuration.
fn keys<C: DeserializeOwned + Serialize>() -> Vec<String> {
    keys_of(&config::<C>(""))
}

fn keys_of(config: &impl Serialize) -> Vec<String> {
    let value = serde_json::to_value(config).expect("a configuration is data");
    let fields = value.as_object().expect("a configuration is an object");
    fields.keys().cloned().collect()
}

#[test]
fn every_key_is_explained_and_no_other() {
    let known = [
        ("choice", keys::<ChoiceConfig>()),
        ("text", keys::<TextConfig>()),
        ("exact", keys::<ExactConfig>()),
        ("regex", keys::<PatternConfig>()),
        ("format", keys::<FormatConfig>()),
        ("json", keys::<JsonConfig>()),
        ("structured", keys_of(&JsonConfig { syntax: Syntax::Yaml, ..JsonConfig::default() })),
        ("length", keys::<LengthConfig>()),
        ("lp", keys::<LpConfig>()),
    ];
    let tables = tables(&page());
    // The list at the top of the page and the sections with options are those of `known`.
    let verifiers = known.each_ref().map(|(section, _)| *section);
    let with_keys = tables.iter().filter(|table| table.header == KEYS);
    assert_eq!(with_keys.map(|table| table.section.as_str()).collect::<Vec<_>>(), verifiers);
    let list = tables.iter().find(|table| table.header[0] == "verifier").expect("a list");
    // One that has a page of its own is explained there.
    let here = list.rows.iter().filter(|row| row[0].contains("](#"));
    let names = here.map(|row| row[0].split('`').nth(1).expect("a name"));
    assert_eq!(names.collect::<Vec<_>>(), verifiers);
    for (section, keys) in known {
        let table = tables
            .iter()
            .find(|table| table.section == section && table.header == KEYS)
            .unwrap_or_else(|| panic!("section {section} has no table of keys"));
        let explained: Vec<&str> = table.rows.iter().map(|row| code(&row[0])).collect();
        assert_eq!(explained, keys, "{section}");
    }
}
