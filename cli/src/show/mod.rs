//! `tribunal show`: scored rows as one page that opens in any browser, or in the terminal.

mod page;
mod terminal;

use std::path::{Path, PathBuf};

use base::file::write_atomic;
use base::human::grouped;
use base::seeded::Draws;
use datasets::json_text::json_row;
use datasets::raw_row::RawRow;
use datasets::source::{Batch, Dataset};
use scoring::mapping::Mapping;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::dataset_args::SourceArgs;
use crate::error::{CliError, CommandOutcome};
use crate::score::MappingArgs;

const EXAMPLES: &str = "\
Examples:
  tribunal show scored.parquet
  tribunal show scored.parquet --terminal
  tribunal show scored.jsonl -o look.html --rows 500 --seed 7
  tribunal filter scored.jsonl -o wrong.jsonl --where \"scores.math.score = 0\"
  tribunal show wrong.jsonl

The page has the distributions of scores, statuses and reasons, filters, and of each row the
response with its extracted answer and steps marked, the reference and the reason. It holds its
rows and loads nothing. Of more rows than --rows, so many are drawn uniformly; texts above 20,000
characters are cut. --terminal shows the same rows here, with the keys in its last line.

Exit code: 0 the page was written; 1 some rows have no verdict or cannot be read; 2 wrong use.";

/// Characters of a text that the page holds.
const LONGEST_TEXT: usize = 20_000;

/// Fields of a verdict that say how it was computed and not what was found.
const LEFT_OUT: [&str; 3] = ["digests", "usage", "signature"];

/// Shows scored rows as a page, or in the terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ShowArgs {
    /// Files that `tribunal score` has written, globs, dataset folders, or `-` for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
    /// The page [default: the name of the first input with the ending html]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Show the rows in this terminal, and write no page
    #[arg(long, conflicts_with_all = ["output", "overwrite"])]
    terminal: bool,
    /// Most rows that are shown
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Seed of the draw, where there are more
    #[arg(long, value_name = "SEED", default_value = "0")]
    seed: u64,
    /// Replace a page that exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    mapping: MappingArgs,
    #[command(flatten)]
    reading: SourceArgs,
}

/// What the page holds.
#[derive(Debug, Serialize)]
struct ShownRows {
    /// Readable rows of the inputs.
    total: u64,
    rows: Vec<ShownRow>,
}

/// A row of the page.
#[derive(Debug, Serialize)]
struct ShownRow {
    /// Its number in its file.
    row: u64,
    id: Option<Value>,
    input: Value,
    scores: Map<String, Value>,
}

/// Rows that the page leaves out.
#[derive(Debug, Default)]
struct LeftOutRows {
    count: u64,
    /// Why the first of them is left out, as a sentence without its full stop.
    first: Option<String>,
}

impl LeftOutRows {
    fn add(&mut self, file: &str, row: u64, reason: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| format!("{file}:{row}: {reason}"));
    }
}

/// Runs the command.
pub(crate) fn run(args: ShowArgs) -> Result<CommandOutcome, CliError> {
    let output = match &args.output {
        _ if args.terminal => None,
        Some(output) => Some(output.clone()),
        None => Some(default_output(&args.inputs[0])?),
    };
    if let Some(output) = output.as_ref().filter(|output| output.exists() && !args.overwrite) {
        let message = format!("{} exists already; --overwrite replaces it", output.display());
        return Err(CliError::Usage(message));
    }
    let dataset = args.reading.open(&args.inputs, output.as_slice())?;
    let mapping = Mapping::resolve(args.mapping.options())?;
    let (shown, left_out) = read(&dataset, &mapping, args.rows, &mut Draws::new(args.seed))?;
    if shown.rows.is_empty() {
        let reason = left_out.first.unwrap_or_else(|| "there are no rows".to_owned());
        return Err(CliError::Usage(format!("nothing to show: {reason}")));
    }
    let source = args.inputs.join(", ");
    match output {
        None => terminal::run(&source, shown)?,
        Some(output) => {
            let page = page::html(&source, &shown);
            write_atomic(&output, page.as_bytes()).map_err(CliError::file("write", &output))?;
            let (n_rows, total) =
                (grouped(shown.rows.len() as u64, ','), grouped(shown.total, ','));
            eprintln!("{n_rows} of {total} rows\nwrote {}", output.display());
        }
    }
    if let Some(first) = left_out.first {
        eprintln!("{} rows are left out; the first: {first}", grouped(left_out.count, ','));
        return Ok(CommandOutcome::SomeFailed);
    }
    Ok(CommandOutcome::Done)
}

/// The first input's name with another ending, in the current folder.
fn default_output(input: &str) -> Result<PathBuf, CliError> {
    let stem = Path::new(input).file_stem().filter(|_| input != "-" && !input.contains('*'));
    match stem {
        Some(stem) => Ok(Path::new(stem).with_extension("html")),
        None => Err(CliError::Usage("--output FILE.html is needed for this input".to_owned())),
    }
}

/// Draws at most `most` rows, each with the same chance, in their order.
fn read(
    dataset: &Dataset,
    mapping: &Mapping,
    most: u64,
    draws: &mut Draws,
) -> Result<(ShownRows, LeftOutRows), CliError> {
    let total = dataset.rows();
    let (mut needed, mut left) = (most.min(total), total);
    let (mut rows, mut left_out) = (Vec::new(), LeftOutRows::default());
    for batch in dataset.batches() {
        let batch = batch?;
        for reject in &batch.rejects {
            left_out.add(&reject.file, reject.row, &reject.reason);
        }
        for index in 0..batch.data.num_rows() {
            // Selection sampling (Knuth, volume 2, algorithm S).
            let is_drawn =
                (draws.below(usize::try_from(left).unwrap_or(usize::MAX)) as u64) < needed;
            left = left.saturating_sub(1);
            if !is_drawn {
                continue;
            }
            needed -= 1;
            match shown(&batch, index, mapping)? {
                Ok(row) => rows.push(row),
                Err(reason) => left_out.add(&batch.file, batch.rows.number(index), &reason),
            }
        }
    }
    Ok((ShownRows { total, rows }, left_out))
}

/// A row of the page, or why it is left out.
fn shown(
    batch: &Batch,
    index: usize,
    mapping: &Mapping,
) -> Result<Result<ShownRow, String>, CliError> {
    let line = json_row(&batch.data, index).map_err(|error| {
        let row = batch.rows.number(index);
        CliError::Failed(format!("{}:{row}: {error}", batch.file))
    })?;
    let line = String::from_utf8(line).expect("JSON is text");
    let read = || -> Result<ShownRow, String> {
        let row = RawRow::parse(&line)?;
        let input = mapping.input(&row)?;
        let mut input = serde_json::to_value(&input).expect("an input serialises");
        clip(&mut input);
        let id = mapping.id(&row).filter(|id| id.get() != "null");
        Ok(ShownRow {
            row: batch.rows.number(index),
            id: id.map(|id| serde_json::from_str(id.get()).expect("a raw value is JSON")),
            input,
            scores: scores(&row)?,
        })
    };
    Ok(read())
}

/// The verdicts of a row by scorer, without what [`LEFT_OUT`] names.
fn scores(row: &RawRow<'_>) -> Result<Map<String, Value>, String> {
    let mut scores = match row.column("scores")? {
        Some(column) => serde_json::from_str::<Option<Map<String, Value>>>(column.get())
            .map_err(|_| "'scores' is not an object of verdicts".to_owned())?
            .unwrap_or_default(),
        None => flat_scores(row)?,
    };
    // A table has a column for each scorer; a row without a verdict of one has a null there.
    scores.retain(|_, verdict| verdict.get("status").is_some_and(Value::is_string));
    if scores.is_empty() {
        return Err("the row has no verdict".to_owned());
    }
    for verdict in scores.values_mut() {
        if let Value::Object(fields) = verdict {
            fields.retain(|name, value| !value.is_null() && !LEFT_OUT.contains(&name.as_str()));
        }
        clip(verdict);
    }
    Ok(scores)
}

/// The verdicts in the columns of `tribunal score --flat`, with the fields that these have.
fn flat_scores(row: &RawRow<'_>) -> Result<Map<String, Value>, String> {
    // Every scorer has a column of digests, and no other column is likely to have that ending.
    let names = row.names().filter_map(|name| name.strip_suffix("_scorer"));
    let mut scores = Map::new();
    for name in names.filter(|name| row.names().any(|own| own == format!("{name}_status"))) {
        let cell = |ending: &str| -> Result<Value, String> {
            let value = row.column(&format!("{name}_{ending}"))?;
            Ok(value.map_or(Value::Null, |value| {
                serde_json::from_str(value.get()).expect("a raw value is JSON")
            }))
        };
        // A table of texts names no types: an answer that is a number may have become one.
        let candidate = match cell("candidate")? {
            answer @ (Value::Number(_) | Value::Bool(_)) => Value::String(answer.to_string()),
            answer @ (Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
                answer
            }
        };
        let verdict = json!({
            "status": cell("status")?,
            "score": cell("score")?,
            "raw": cell("raw")?,
            "label": cell("label")?,
            "reason": object([("code", cell("reason")?), ("detail", cell("detail")?)]),
            "candidate": object([("text", candidate)]),
        });
        scores.insert(name.to_owned(), verdict);
    }
    if scores.is_empty() {
        return Err("no column 'scores', and none of `tribunal score --flat`".to_owned());
    }
    Ok(scores)
}

/// An object of these fields; null where the first has no value.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    if fields[0].1.is_null() {
        return Value::Null;
    }
    fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// Cuts each long text of a value.
fn clip(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clip),
        Value::Object(fields) => fields.values_mut().for_each(clip),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_kept_without_how_they_were_made() {
        let check = |row: &str, expected: Result<Value, &str>| {
            let found = scores(&RawRow::parse(row).expect("JSON")).map(Value::Object);
            assert_eq!(found, expected.map_err(str::to_owned), "{row}");
        };
        let (none, no_object) = ("the row has no verdict", "'scores' is not an object of verdicts");
        check(
            r#"{"scores": {"a": {"status": "ok", "score": 1, "raw": null, "digests": {}}, "b": null}}"#,
            Ok(json!({"a": {"status": "ok", "score": 1}})),
        );
        check(r#"{"scores": {"a": {"status": null, "score": null}}}"#, Err(none));
        check(r#"{"scores": null}"#, Err(none));
        check(r#"{"scores": 3}"#, Err(no_object));
        check(
            r#"{"a_status": "ok", "a_score": 0, "a_label": null, "a_reason": "different", "a_detail": "1 ≠ 2",
                "a_candidate": 1, "a_scorer": "sha256:0", "b_scorer": "x"}"#,
            Ok(json!({"a": {"status": "ok", "score": 0, "candidate": {"text": "1"},
                "reason": {"code": "different", "detail": "1 ≠ 2"}}})),
        );
        check(r#"{"a_status": null, "a_scorer": null}"#, Err(none));
        check(
            r#"{"a_status": "ok"}"#,
            Err("no column 'scores', and none of `tribunal score --flat`"),
        );
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut value = json!({"a": ["é".repeat(LONGEST_TEXT), "é".repeat(LONGEST_TEXT + 1)]});
        clip(&mut value);
        let lengths: Vec<usize> = value["a"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|text| text.as_str().expect("a text").chars().count())
            .collect();
        assert_eq!(lengths, [LONGEST_TEXT, LONGEST_TEXT + 1]);
        assert!(value["a"][1].as_str().expect("a text").ends_with('…'));
    }

    #[test]
    fn page_is_beside_the_caller() {
        let check = |input: &str, expected: Option<&str>| {
            assert_eq!(default_output(input).ok().as_deref(), expected.map(Path::new), "{input}");
        };
        check("folder/scored.parquet", Some("scored.html"));
        check("scored.jsonl", Some("scored.html"));
        check("-", None);
        check("data/*.jsonl", None);
    }
}
