//! `tribunal verify-signature`: checks signed verdicts.

use std::fmt::Write as _;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use datasets::format::{Compression, Format, by_name};
use datasets::json_text::json_lines;
use datasets::raw_row::RawRow;
use datasets::source::{Dataset, SourceOptions};
use scoring::files::STREAM;
use scoring::mapping::Mapping;
use serde_json::value::RawValue;
use serve::signing::{Claims, InvalidSignature, PublicKeys};

use crate::error::{CliError, CommandOutcome};
use crate::score::MappingArgs;

const EXAMPLES: &str = "\
Examples:
  curl -s http://127.0.0.1:8080/v1/keys > keys.json
  tribunal verify-signature --keys keys.json reply.json
  tribunal verify-signature --keys key.pub.pem scored.jsonl
  tribunal verify-signature --keys keys.json scored.parquet --response model.solution

A file holds replies of POST /v1/score, results, the output of a batch, or rows with the column
`scores` that `tribunal score` writes. For rows the input is read from its columns, by the same
options as for `tribunal score`, and compared with the signed digest. Each verdict is a line on
standard output: its row, its scorer or place, and `valid` with the digest of the scorer and the
time of the signature, or `invalid` with the reason.

Exit code: 0 every verdict is signed by one of the keys; 1 some are not, or there is none; 2 wrong
use.";

/// Checks signed verdicts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifySignatureArgs {
    /// Files of verdicts, or `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Public keys: the reply of GET /v1/keys, or PEM as `openssl pkey -pubout` writes it
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Do not compare inputs: the rows lack the texts that were scored
    #[arg(long)]
    no_inputs: bool,
    #[command(flatten)]
    mapping: MappingArgs,
}

/// Runs the command.
pub(crate) fn run(args: VerifySignatureArgs) -> Result<CommandOutcome, CliError> {
    let keys = PublicKeys::read(&args.keys);
    let keys =
        keys.map_err(|error| CliError::Usage(format!("{}: {error}", args.keys.display())))?;
    let mapping = Mapping::resolve(args.mapping.options())?;
    let mapping = Some(mapping).filter(|_| !args.no_inputs);
    let mut checker = Checker { keys, mapping, valid: 0, invalid: 0 };
    for file in &args.files {
        checker.file(file)?;
    }
    let Checker { valid, invalid, .. } = checker;
    eprintln!("{valid} valid, {invalid} invalid");
    Ok(CommandOutcome::failed_if(invalid > 0 || valid == 0))
}

struct Checker {
    keys: PublicKeys,
    /// How inputs are read from rows; `None` compares none.
    mapping: Option<Mapping>,
    valid: u64,
    invalid: u64,
}

/// A verdict of a row or a reply.
struct Found {
    /// Its scorer, or its place in a list.
    name: String,
    json: String,
    /// Whether the input stands beside it.
    in_row: bool,
}

impl Checker {
    fn file(&mut self, name: &str) -> Result<(), CliError> {
        let path = Path::new(name);
        if name == STREAM {
            return self.json(name, std::io::stdin().lock());
        }
        let (format, compression) = by_name(path);
        if matches!(format, None | Some(Format::Jsonl)) && compression == Compression::Plain {
            let file = std::fs::File::open(path).map_err(CliError::file("read", path))?;
            return self.json(name, file);
        }
        self.table(name)
    }

    /// Checks JSON values one after another: lines, or a reply over several lines.
    fn json(&mut self, name: &str, source: impl Read) -> Result<(), CliError> {
        let source = serde_json::Deserializer::from_reader(BufReader::new(source));
        for (number, value) in (1..).zip(source.into_iter::<Box<RawValue>>()) {
            let value = value.map_err(|error| CliError::Failed(format!("{name}: {error}")))?;
            self.row(number, value.get())?;
        }
        Ok(())
    }

    fn table(&mut self, name: &str) -> Result<(), CliError> {
        let dataset = Dataset::open(&[name.to_owned()], &SourceOptions::default())?;
        let mut number = 0;
        for batch in dataset.batches() {
            let batch = batch?;
            let lines = json_lines(&batch.data)
                .map_err(|error| CliError::Failed(format!("{name}: {error}")))?;
            for line in lines.lines() {
                number += 1;
                self.row(number, line)?;
            }
        }
        Ok(())
    }

    fn row(&mut self, number: u64, text: &str) -> Result<(), CliError> {
        let mut lines = String::new();
        let mut count = |lines: &mut String, name: &str, checked: Result<String, String>| {
            let line = match &checked {
                Ok(proven) => format!("{number} {name} valid {proven}"),
                Err(reason) => format!("{number} {name} invalid: {reason}"),
            };
            writeln!(lines, "{line}").expect("writing to memory does not fail");
            *if checked.is_ok() { &mut self.valid } else { &mut self.invalid } += 1;
        };
        match RawRow::parse(text).and_then(|row| Ok((found(text, &row)?, row))) {
            Err(reason) => count(&mut lines, "-", Err(reason)),
            Ok((found, row)) => {
                for verdict in found {
                    let mapping = self.mapping.as_ref().filter(|_| verdict.in_row);
                    let checked = check(&self.keys, mapping, &row, &verdict.json);
                    count(&mut lines, &verdict.name, checked);
                }
            }
        }
        crate::print(&lines)
    }
}

/// The verdicts of a reply, of a line of a batch's output, of a scored row, or the row itself.
fn found(text: &str, row: &RawRow<'_>) -> Result<Vec<Found>, String> {
    let results = match row.column("results")? {
        Some(results) => Some(results),
        None => row.at("response.body.results")?,
    };
    if let Some(results) = results {
        let results: Vec<&RawValue> =
            serde_json::from_str(results.get()).map_err(|error| error.to_string())?;
        let found = |(place, json): (usize, &RawValue)| Found {
            name: place.to_string(),
            json: json.get().to_owned(),
            in_row: false,
        };
        return Ok(results.into_iter().enumerate().map(found).collect());
    }
    let Some(scores) = row.column("scores")? else {
        return Ok(vec![Found { name: "-".to_owned(), json: text.to_owned(), in_row: false }]);
    };
    // A cell of CSV holds the object as text.
    let scores = match serde_json::from_str::<String>(scores.get()) {
        Ok(cell) => cell,
        Err(_) => scores.get().to_owned(),
    };
    let scores = RawRow::parse(&scores)?;
    let given = scores.columns().iter().filter(|(_, json)| json.get() != "null");
    let found = given.map(|(name, json)| Found {
        name: name.to_string(),
        json: json.get().to_owned(),
        in_row: true,
    });
    Ok(found.collect())
}

/// Checks a verdict; what it proves, or why it proves nothing.
fn check(
    keys: &PublicKeys,
    mapping: Option<&Mapping>,
    row: &RawRow<'_>,
    verdict: &str,
) -> Result<String, String> {
    let invalid = |error: InvalidSignature| error.to_string();
    let claims = Claims::parse(verdict).map_err(invalid)?;
    keys.check(&claims).map_err(invalid)?;
    if let Some(mapping) = mapping {
        let input = mapping.input(row)?;
        claims.check_input(&input).map_err(invalid)?;
    }
    let created = claims.signature().map_or(0, |signature| signature.created);
    Ok(format!("scorer={} created={created}", claims.scorer()))
}
