//! `tribunal config scorer`: the options of a scorer kind with an example.
//!
//! Names come from the reader of the kind, and texts from the tables of the documents, which are part of
//! the program: nothing is written twice.

use std::fmt::Write as _;

use rubrics::Registry;
use serde_json::Value;

/// The page with all kinds and the options that many of them have.
const SCORERS: (&str, &str) = ("docs/scorers.md", include_str!("../../../docs/scorers.md"));

macro_rules! page {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../", $name)))
    };
}

/// Keys of every table, which its first lines have.
const EVERY_TABLE: [&str; 2] = ["name", "kind"];

/// A row of a table of options.
struct OptionRow {
    names: Vec<String>,
    /// The first cell.
    shown: String,
    default: String,
    meaning: String,
}

/// The text of the command: all kinds, or the table of one with its options.
pub(super) fn text(kind: Option<&str>) -> String {
    if let Some(kind) = kind {
        return of_kind(kind);
    }
    let mut text =
        "# The kinds of scorers; `tribunal config scorer KIND` has the options of one.\n"
            .to_owned();
    for kind in Registry::kinds() {
        writeln!(text, "{kind:<14} {}", kind_row(kind)[1]).expect("to memory");
    }
    text
}

fn of_kind(kind: &str) -> String {
    let pages = [pages(kind), vec![SCORERS]].concat();
    let row = kind_row(kind);
    let mut text = format!("# {kind}: {}\n", row[1]);
    let names: Vec<&str> = pages.iter().map(|(name, _)| *name).collect();
    writeln!(text, "# Of {}.\n\n{}\n", names.join(", "), example(kind, &pages)).expect("to memory");
    let schema = schema(kind);
    let keys = schema["properties"].as_object().expect("a table has keys");
    let mut open: Vec<&str> = keys.keys().map(String::as_str).collect();
    open.retain(|key| !EVERY_TABLE.contains(key));
    text += "# Options:\n";
    // The row of a verifier lists its options with their values; that of a model's kind has its cost there.
    if let Some(options) = row.get(3).filter(|options| !options.is_empty() && is_verifier(&row)) {
        writeln!(text, "#   {options}").expect("to memory");
    }
    for (_, page) in &pages {
        for row in option_rows(section(page, kind)) {
            let count = open.len();
            open.retain(|key| !row.names.iter().any(|name| name == key));
            if open.len() < count {
                let default = match row.default.as_str() {
                    "" => String::new(),
                    default => format!(" (default: {default})"),
                };
                writeln!(text, "#   {}{default}: {}", row.shown, row.meaning).expect("to memory");
            }
        }
    }
    for key in open {
        writeln!(text, "#   {key}: {}", values(&keys[key])).expect("to memory");
    }
    text
}

fn is_verifier(row: &[String]) -> bool {
    row.len() == 4 && !row[1].ends_with('?')
}

/// The pages that describe a kind.
fn pages(kind: &str) -> Vec<(&'static str, &'static str)> {
    match kind {
        "math" | "arithmetic" => vec![page!("docs/math.md")],
        "instructions" => vec![page!("docs/instructions.md")],
        "code" => vec![page!("docs/sandbox.md")],
        "lp-program" => vec![page!("docs/verifiers.md"), page!("docs/sandbox.md")],
        "sql" => vec![page!("docs/sql.md")],
        "verilog" => vec![page!("docs/verilog.md")],
        "critic" => vec![page!("docs/scorers/critic.md")],
        "grounded" => vec![page!("docs/scorers/grounded.md")],
        "judge" => vec![page!("docs/scorers/judge.md")],
        "pipeline" => vec![page!("docs/scorers/pipeline.md")],
        "principles" => vec![page!("docs/scorers/principles.md")],
        "process" => vec![page!("docs/scorers/process.md")],
        "reward" => vec![page!("docs/scorers/reward.md")],
        "rubric" => vec![page!("docs/scorers/rubric.md")],
        "tool" => vec![page!("docs/scorers/tool.md")],
        "validate" => vec![page!("docs/scorers/validate.md")],
        _ => vec![page!("docs/verifiers.md")],
    }
}

/// The section of a page that is about a kind; the page where there is none.
fn section<'p>(page: &'p str, kind: &str) -> &'p str {
    let kind = if kind == "lp-program" { "lp" } else { kind };
    let rest = page.split_once(&format!("\n## `{kind}`\n")).map(|(_, rest)| rest);
    rest.map_or(page, |rest| rest.split("\n## ").next().unwrap_or(rest))
}

/// The cells of a kind's row among those of all kinds.
fn kind_row(kind: &str) -> Vec<String> {
    let (_, page) = SCORERS;
    let kinds = page.split_once("## Kinds\n").map_or(page, |(_, kinds)| kinds);
    let rows = kinds.lines().filter_map(cells);
    let mut rows = rows.map(|row| row.iter().map(|cell| plain(cell)).collect::<Vec<_>>());
    rows.find(|row| row[0] == kind).expect("a test holds that every kind has a row")
}

/// The first table of this kind in the documents, else one with its required keys.
fn example(kind: &str, pages: &[(&str, &str)]) -> String {
    let blocks = pages.iter().flat_map(|(_, page)| page.split("```toml\n").skip(1));
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let mut tables = blocks.flat_map(|block| block.split("[[scorer]]\n").skip(1));
    let line = format!("kind = \"{kind}\"");
    let found = tables.find(|table| table.lines().any(|own| own.starts_with(&line)));
    let table = found.map_or_else(|| required(kind), str::to_owned);
    format!("[[scorer]]\n{}", table.trim_end())
}

fn required(kind: &str) -> String {
    let schema = schema(kind);
    let mut table = format!("name = \"my-{kind}\"\nkind = \"{kind}\"\n");
    let keys = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for key in keys.filter(|key| !EVERY_TABLE.contains(key)) {
        let value = &schema["properties"][key]["enum"][0];
        writeln!(table, "{key} = {value}").expect("to memory");
    }
    table
}

/// The JSON schema of the tables of a kind.
fn schema(kind: &str) -> Value {
    let mut schemas = Registry::kind_schemas().into_iter();
    let found = schemas.find(|schema| schema["properties"]["kind"]["const"] == kind);
    found.expect("every kind has a schema")
}

/// What a key may hold, in words.
fn values(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        return words.join(", ");
    }
    match &schema["type"] {
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "a value".to_owned(),
    }
}

/// The rows of the tables on a page whose first column is named `option` or `key`.
fn option_rows(page: &str) -> Vec<OptionRow> {
    let (mut rows, mut columns) = (Vec::new(), 0);
    for line in page.lines() {
        let Some(cells) = cells(line) else {
            columns = 0;
            continue;
        };
        if matches!(cells[0].as_str(), "option" | "key") {
            columns = cells.len();
        } else if cells.len() == columns && !cells[0].starts_with("---") {
            let default = if columns == 3 { plain(&cells[1]) } else { String::new() };
            rows.push(OptionRow {
                names: names(&cells[0]),
                shown: plain(&cells[0]),
                default,
                meaning: plain(&cells[columns - 1]),
            });
        }
    }
    rows
}

/// The keys in a cell, which are its spans of code: `a`, `a = 1` or `[[scorer.a]]`.
fn names(cell: &str) -> Vec<String> {
    let spans = cell.split('`').skip(1).step_by(2);
    let name = |span: &str| {
        let span = span.trim_start_matches("[[scorer.");
        span.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(span).to_owned()
    };
    spans.map(name).collect()
}

/// The cells of a line of a table; `None` for another line.
fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    // A bar within a cell is escaped.
    let cells = row.replace("\\|", "\u{0}");
    Some(cells.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect())
}

/// A text without marks of code, and links as their words.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (head, words) = before.rsplit_once('[').unwrap_or((before, ""));
        plain.push_str(head);
        plain.push_str(words);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_valid_table_and_all_of_its_keys() {
        for kind in Registry::kinds() {
            let text = of_kind(kind);
            let config = &mut serve::Config::default();
            // Folders are relative to a file, and here is none.
            let table: Vec<&str> =
                text.lines().filter(|line| !line.starts_with("databases = ")).collect();
            let table = table.join("\n");
            let (_, problems) = serve::config::read_text_with(kind, &table, config, &["m"]);
            assert!(problems.is_empty(), "{problems:?}: {text}");
            let schema = schema(kind);
            let keys = schema["properties"].as_object().expect("a table");
            let missing: Vec<&String> = keys.keys().filter(|key| !text.contains(*key)).collect();
            assert!(missing.is_empty(), "{missing:?}: {text}");
            assert!(!text.contains("](") && !text.contains('`'), "{text}");
        }
    }

    #[test]
    fn tables_are_read_with_their_defaults() {
        let text = of_kind("regex");
        for line in [
            "# regex: a pattern, in linear time;",
            "\n[[scorer]]\nname = \"my-regex\"\nkind = \"regex\"\n",
            "#   pattern (default: none): the pattern; the gold is then not used\n",
            "#   trim (default: true): cut white space",
            "#   extract = \"answer\": the final answer:",
            "#   fuel (default: 200000): units of counted work",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let judge = of_kind("judge");
        assert!(
            judge.contains("#   scale_min, scale_max (default: 0 and 9; 10 for lists): "),
            "{judge}"
        );
    }
}
