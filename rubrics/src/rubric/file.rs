//! One reader for rubrics in TOML, in JSON, in a scorer's table and in a request.

use std::cell::RefCell;
use std::sync::LazyLock;

use serde_json::Value;

use super::check;
use super::definition::{Method, Rubric};
use super::item::RubricItem;
use super::read_item::{self, Worth};
use super::rubicon::{Interaction, Rubicon, Saturation, Shaping};
use super::table::{RubricFault, Table};
use crate::config::{Document, PathSegment, Problem, Section, nearest};

/// Most items of a rubric.
pub const MAX_ITEMS: usize = 1000;

/// The rubric `builtin:defence`, whose vetoes other rubrics may add to their items.
pub(super) const DEFENCE_TEXT: &str = include_str!("../../rubrics/defence.toml");

/// The vetoes of the defence, without weight.
static DEFENCE: LazyLock<Vec<RubricItem>> = LazyLock::new(|| {
    let rubric = parse("defence", DEFENCE_TEXT, &[]).expect("the defence is valid");
    let named = rubric.items.into_iter().map(|item| RubricItem {
        id: format!("defence:{}", item.id),
        points: 0.0,
        ..item
    });
    named.collect()
});
/// Most pairs that add something.
const MAX_INTERACTIONS: usize = 1000;

/// Faults of a rubric above which unknown ids get no suggestion.
const MAX_HINTS: usize = 16;

/// Parses a rubric file: TOML, or JSON if its name ends with `.json`. A JSON file may be just the
/// list of items. `scorers` are the names of the scorers that items may use.
///
/// # Errors
/// All its problems, with their places.
pub fn parse(file: &str, text: &str, scorers: &[&str]) -> Result<Rubric, Vec<Problem>> {
    let scorers: Vec<String> = scorers.iter().map(ToString::to_string).collect();
    if std::path::Path::new(file).extension().is_some_and(|end| end == "json") {
        return parse_json(file, text, &scorers);
    }
    let document = Document::new(file, text);
    let rubric = {
        let table = document.parse();
        from_section(&document.root(&table), &scorers)
    };
    let problems = document.into_problems();
    match rubric {
        Some(rubric) if problems.is_empty() => Ok(rubric),
        Some(_) | None => Err(problems),
    }
}

fn parse_json(file: &str, text: &str, scorers: &[String]) -> Result<Rubric, Vec<Problem>> {
    let problem =
        |line, key: String, message: String| Problem { file: file.to_owned(), line, key, message };
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let message = format!("not JSON: {error}");
        vec![problem(Some(error.line()), String::new(), message)]
    })?;
    let value = if value.is_array() { serde_json::json!({ "items": value }) } else { value };
    from_json(&value, scorers).map_err(|faults| {
        faults
            .into_iter()
            .map(|fault| problem(None, path_text("", &fault.at), fault.message))
            .collect()
    })
}

/// Parses the rubric in a table of a TOML file; faults become problems of its document.
pub(crate) fn from_section(section: &Section<'_, '_>, scorers: &[String]) -> Option<Rubric> {
    match from_json(&section.to_json(), scorers) {
        Ok(rubric) => Some(rubric),
        Err(faults) => {
            for fault in faults {
                section.problem_at(&fault.at, fault.message);
            }
            None
        }
    }
}

/// Parses the rubric in a JSON object.
///
/// # Errors
/// All its faults, with their places; at least one.
pub(crate) fn from_json(value: &Value, scorers: &[String]) -> Result<Rubric, Vec<RubricFault>> {
    let faults = RefCell::default();
    let rubric = Table::of(value, Vec::new(), &faults).and_then(|root| read_root(root, scorers));
    let faults = faults.into_inner();
    match rubric {
        Some(rubric) if faults.is_empty() => Ok(rubric),
        Some(_) | None => Err(faults),
    }
}

/// A place as text, such as `rubric.items[2].points`.
pub(crate) fn path_text(root: &str, at: &[PathSegment]) -> String {
    let mut text = root.to_owned();
    for step in at {
        step.write_to(&mut text);
    }
    text
}

fn read_root(root: Table<'_>, scorers: &[String]) -> Option<Rubric> {
    for about in ["name", "description"] {
        root.text(about);
    }
    let aggregate = root.table("aggregate");
    let words = [("points", Worth::Points), ("rubicon", Worth::Weight)];
    let worth = aggregate.as_ref().and_then(|table| table.word("method", &words));
    let worth = worth.unwrap_or(Worth::Points);
    let items = read_items(&root, worth, scorers);
    let known = items.as_deref().unwrap_or_default();
    let ending = read_aggregate(&root, aggregate, worth, known);
    root.finish();
    let mut items: Vec<RubricItem> = items?.into_iter().map(|(_, item)| item).collect();
    let (rubric, is_defended) = ending?;
    if is_defended {
        items.extend(DEFENCE.iter().cloned());
    }
    Some(Rubric { items, ..rubric })
}

/// Reads the items and reports faults of them and between them.
fn read_items(
    root: &Table<'_>,
    worth: Worth,
    scorers: &[String],
) -> Option<Vec<(usize, RubricItem)>> {
    root.require("items");
    let count = root.get("items")?.as_array().map(Vec::len);
    if let Some(count) = count
        && !(1..=MAX_ITEMS).contains(&count)
    {
        root.fault("items", format!("{count} items; there are 1 to {MAX_ITEMS}"));
        return None;
    }
    let tables = root.tables("items")?;
    let whole = count == Some(tables.len());
    let read: Vec<Option<(usize, RubricItem)>> = tables
        .into_iter()
        .map(|(index, table)| Some((index, read_item::read_item(table, index, worth, scorers)?)))
        .collect();
    let is_whole = whole && read.iter().all(Option::is_some);
    let items: Vec<(usize, RubricItem)> = read.into_iter().flatten().collect();
    check::ids(root, &items);
    check::vetoes(root, &items);
    is_whole.then_some(items)
}

/// The rubric without its items, and whether the defence is to be added.
fn read_aggregate(
    root: &Table<'_>,
    table: Option<Table<'_>>,
    worth: Worth,
    items: &[(usize, RubricItem)],
) -> Option<(Rubric, bool)> {
    let mut rubric = Rubric {
        items: Vec::new(),
        method: match worth {
            Worth::Points => Method::Points,
            Worth::Weight => Method::Rubicon(Rubicon::default()),
        },
        clip: false,
        veto_score: 0.0,
    };
    let Some(table) = table else {
        if !root.has("aggregate") && !items.is_empty() {
            check::some_positive(root, items);
        }
        return (!root.has("aggregate")).then_some((rubric, false));
    };
    rubric.clip = table.boolean("clip").unwrap_or(false);
    if let Some(score) = table.number("veto") {
        if ![0.0, -1.0].contains(&score) {
            table.fault("veto", "a veto gives 0 or -1");
        }
        rubric.veto_score = score;
    }
    let is_defended = table.boolean("defence").unwrap_or(false);
    match worth {
        Worth::Points => {
            for key in ["base", "saturation", "interactions", "shaping"] {
                table.refuse(key, "this is for method = \"rubicon\"");
            }
            if !table.boolean("allow_no_positive").unwrap_or(false) && !items.is_empty() {
                check::some_positive(root, items);
            }
        }
        Worth::Weight => {
            table.refuse("allow_no_positive", "this is for method = \"points\"");
            rubric.method = Method::Rubicon(read_rubicon(&table, items));
        }
    }
    table.finish();
    Some((rubric, is_defended))
}

fn read_rubicon(table: &Table<'_>, items: &[(usize, RubricItem)]) -> Rubicon {
    Rubicon {
        base: table.amount("base").unwrap_or(0.0),
        saturation: table.table("saturation").and_then(read_saturation),
        interactions: read_interactions(table, items),
        shaping: table.table("shaping").and_then(read_shaping),
    }
}

fn read_saturation(table: Table<'_>) -> Option<Saturation> {
    table.require("kind");
    let is_tanh = table.word("kind", &[("tanh", true), ("cap", false)]);
    let read = match is_tanh {
        Some(true) => {
            table.require("a");
            let a = number_within(&table, "a", 1e-6, 1e3);
            a.map(Saturation::Tanh)
        }
        Some(false) => {
            table.require("at");
            table.amount("at").map(Saturation::Cap)
        }
        None => None,
    };
    table.finish();
    read
}

fn read_shaping(table: Table<'_>) -> Option<Shaping> {
    table.require("knee");
    table.require("power");
    let (knee, power) = (table.amount("knee"), number_within(&table, "power", 1.0, 16.0));
    let top = if table.has("top") { table.amount("top") } else { Some(1.0) };
    if let (Some(knee), Some(top)) = (knee, top)
        && knee >= top
    {
        table.fault("knee", format!("must be below the top, {top}"));
    }
    table.finish();
    Some(Shaping { knee: knee?, power: power?, top: top? })
}

fn number_within(table: &Table<'_>, key: &'static str, least: f64, most: f64) -> Option<f64> {
    let number = table.number(key)?;
    if !(least..=most).contains(&number) {
        table.fault(key, format!("must be from {least} to {most}"));
        return None;
    }
    Some(number)
}

fn read_interactions(table: &Table<'_>, items: &[(usize, RubricItem)]) -> Vec<Interaction> {
    if !table.has("interactions") {
        return Vec::new();
    }
    let tables = table.tables("interactions").unwrap_or_default();
    if tables.len() > MAX_INTERACTIONS {
        let message = format!("{} pairs; there are at most {MAX_INTERACTIONS}", tables.len());
        table.fault("interactions", message);
        return Vec::new();
    }
    let mut found: Vec<Interaction> = Vec::new();
    for (_, pair) in tables {
        pair.require("gamma");
        let gamma = pair.amount("gamma");
        let ends = read_pair(&pair, items);
        if let (Some(gamma), Some(ends)) = (gamma, ends) {
            if found.iter().any(|known| known.items == ends) {
                pair.fault("items", "this pair is given twice");
            }
            found.push(Interaction { items: ends, gamma });
        }
        pair.finish();
    }
    found
}

fn read_pair(pair: &Table<'_>, items: &[(usize, RubricItem)]) -> Option<(usize, usize)> {
    pair.require("items");
    let [a, b] = pair.texts("items")?[..] else {
        pair.fault("items", "expected the ids of two items");
        return None;
    };
    let place = |id: &str| {
        let found = items.iter().find(|(_, item)| item.id == id);
        if found.is_none() {
            let ids = items.iter().map(|(_, item)| item.id.as_str());
            // A search for each of many faults would take long, and only some of them are listed.
            let near = (pair.n_faults() < MAX_HINTS).then(|| nearest(id, ids)).flatten();
            let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            pair.fault("items", format!("no item is called '{id}'{hint}"));
        }
        found.map(|(index, _)| *index)
    };
    let (a, b) = (place(a), place(b));
    let (a, b) = (a?, b?);
    if a == b {
        pair.fault("items", "an item does not interact with itself");
        return None;
    }
    Some((a.min(b), a.max(b)))
}
