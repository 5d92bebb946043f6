//! `tribunal merge`: the outputs of shards as the one output that a run without shards would have
//! written.

use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::manifest::{self, Manifest, Output as OutputFile, Time};
use datasets::sink::{Sink, beside};
use datasets::source::{Dataset, Limits};
use serde_json::{Map, Value, json};

use crate::dataset_files::{FileArgs, SourceArgs};
use crate::error::{CliError, Outcome};
use crate::score::{PartialFile, Shard, refuse_same_file};
use crate::tally::grouped;

const EXAMPLES: &str = "\
Example, on two machines and then on one of them:
  tribunal score data/ -o part1.parquet --scorer math --shard 1/2
  tribunal score data/ -o part2.parquet --scorer math --shard 2/2
  tribunal merge part1.parquet part2.parquet -o scored.parquet

Every part has its manifest beside it (PART.manifest.json), which says what it is a part of. Parts may
be named in any order. Refused are: a part that is missing or there twice, parts of other inputs, of
other scorers or of other options, and a part whose rows are not as many as its manifest says.

Exit code: 0 done; 1 something failed; 2 the parts do not go together.";

/// Puts the outputs of shards together.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArgs {
    /// The outputs of `tribunal score --shard i/n`, all n of them
    #[arg(value_name = "PART", required = true)]
    parts: Vec<String>,
    /// Where all rows go
    #[arg(short, long, value_name = "OUT")]
    output: String,
    #[command(flatten)]
    files: FileArgs,
}

/// One output and what its manifest says.
struct Part {
    name: String,
    shard: Shard,
    files: Vec<PathBuf>,
    rows: u64,
    manifest: Value,
}

/// Runs the command.
pub(crate) fn run(args: &MergeArgs) -> Result<Outcome, CliError> {
    let started = Instant::now();
    let mut parts =
        args.parts.iter().map(|name| Part::read(name)).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| part.shard.index);
    refuse_strangers(&parts)?;
    refuse_gaps(&parts)?;
    let output = Path::new(&args.output);
    for file in parts.iter().flat_map(|part| &part.files) {
        refuse_same_file(&file.display().to_string(), &[output.to_owned()])?;
    }
    let options = args.files.options();
    let files = parts.iter().flat_map(|part| &part.files);
    let names: Vec<String> = files.map(|file| file.display().to_string()).collect();
    let dataset = Dataset::open(&names, &SourceArgs::plain().options(Limits::default()))?;
    let mut sink = Sink::create(&args.output, dataset.schema(), &options)?;
    for batch in dataset.batches() {
        let batch = batch?;
        if let Some(reject) = batch.rejects.first() {
            let (file, row, reason) = (&reject.file, reject.row, &reject.reason);
            return Err(CliError::Failed(format!("{file}:{row}: {reason}")));
        }
        sink.write(&batch.data)?;
    }
    let written = sink.finish()?;
    merge_rejects(&parts, output)?;
    let manifest = merged(&parts, &written.files, Time::now(started.elapsed()))?;
    manifest.write(output)?;
    let rows = grouped(written.rows);
    eprintln!("{rows} rows of {} parts\nwrote {}", parts.len(), args.output);
    Ok(Outcome::Done)
}

impl Part {
    fn read(name: &str) -> Result<Self, CliError> {
        let output = Path::new(name);
        let path = manifest::path_for(output);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            CliError::Usage(format!(
                "{name} has no manifest that can be read ({}: {error}); only outputs of `tribunal \
                 score --shard` can be merged",
                path.display()
            ))
        })?;
        let bad = |what: &str| CliError::Usage(format!("{}: {what}", path.display()));
        let manifest: Value =
            serde_json::from_str(&text).map_err(|error| bad(&format!("not JSON: {error}")))?;
        let shard = manifest.pointer("/options/shard").cloned().unwrap_or_default();
        let shard = serde_json::from_value::<Option<Shard>>(shard).ok().flatten();
        let shard = shard.ok_or_else(|| bad("it is not of a run with --shard"))?;
        let outputs = manifest.get("outputs").and_then(Value::as_array);
        let outputs = outputs.ok_or_else(|| bad("it names no outputs"))?;
        let (mut files, mut rows) = (Vec::new(), 0);
        for output_file in outputs {
            let file = output_file.get("file").and_then(Value::as_str);
            let n_rows = output_file.get("rows").and_then(Value::as_u64);
            let (Some(file), Some(n_rows)) = (file, n_rows) else {
                return Err(bad("an output has no name or no rows"));
            };
            files.push(output.with_file_name(file));
            rows += n_rows;
        }
        let part = Self { name: name.to_owned(), shard, files, rows, manifest };
        part.refuse_changed()?;
        Ok(part)
    }

    /// A part that was cut or written over is not what its manifest speaks of.
    fn refuse_changed(&self) -> Result<(), CliError> {
        let names: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        let dataset = Dataset::open(&names, &SourceArgs::plain().options(Limits::default()))?;
        if dataset.rows() == self.rows {
            return Ok(());
        }
        Err(CliError::Usage(format!(
            "{} has {} rows, and its manifest says {}; score this shard again",
            self.name,
            dataset.rows(),
            self.rows
        )))
    }

    /// What must be the same in all parts: inputs by content, program, and every option but the
    /// shard.
    fn identity(&self, what: &str) -> Value {
        match what {
            "inputs" => {
                let inputs = self.manifest["inputs"].as_array().cloned().unwrap_or_default();
                // Machines may keep the same file under other names.
                let content = |input: Value| json!([input["bytes"], input["digest"]]);
                inputs.into_iter().map(content).collect()
            }
            what => self.manifest["options"][what].clone(),
        }
    }
}

/// Refuses parts that are not of one run.
fn refuse_strangers(parts: &[Part]) -> Result<(), CliError> {
    let Some((first, rest)) = parts.split_first() else {
        return Ok(());
    };
    let options = first.manifest["options"].as_object().cloned().unwrap_or_default();
    let names = options.keys().map(String::as_str).filter(|name| *name != "shard");
    let names: Vec<&str> = std::iter::once("inputs").chain(names).collect();
    for part in rest {
        for name in &names {
            if part.identity(name) != first.identity(name) {
                return Err(CliError::Usage(format!(
                    "{} and {} are not of one run: their {name} differ",
                    first.name, part.name
                )));
            }
        }
        if part.shard.count != first.shard.count {
            return Err(CliError::Usage(format!(
                "{} is one of {} shards and {} one of {}",
                first.name, first.shard.count, part.name, part.shard.count
            )));
        }
    }
    Ok(())
}

/// Refuses shards that are missing or there twice. The parts are in order.
fn refuse_gaps(parts: &[Part]) -> Result<(), CliError> {
    let twice = parts.windows(2).find(|pair| pair[0].shard == pair[1].shard);
    if let Some([one, other]) = twice {
        return Err(CliError::Usage(format!(
            "{} and {} are both shard {}/{}",
            one.name, other.name, one.shard.index, one.shard.count
        )));
    }
    let count = parts.first().map_or(0, |part| part.shard.count);
    let has = |index: &u64| parts.iter().any(|part| part.shard.index == *index);
    let missing: Vec<String> =
        (1..=count).filter(|index| !has(index)).map(|index| format!("{index}/{count}")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::Usage(format!("missing: shard {}", missing.join(", "))))
}

fn merge_rejects(parts: &[Part], output: &Path) -> Result<(), CliError> {
    let mut merged = PartialFile::create(&beside(output, ".rejects.jsonl"))?;
    for part in parts {
        let path = beside(Path::new(&part.name), ".rejects.jsonl");
        match std::fs::read(&path) {
            Ok(lines) => merged.write(&lines)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(CliError::file("read", &path)(error)),
        }
    }
    merged.commit(true)
}

/// The manifest of the run without shards.
fn merged(parts: &[Part], files: &[(PathBuf, u64)], time: Time) -> Result<Manifest, CliError> {
    let first = &parts.first().expect("the command line asks for one").manifest;
    let inputs = serde_json::from_value(first["inputs"].clone());
    let inputs =
        inputs.map_err(|error| CliError::Usage(format!("a manifest's inputs: {error}")))?;
    let mut options = first["options"].clone();
    options["shard"] = Value::Null;
    let mut counts = Value::Object(Map::new());
    for part in parts {
        add(&mut counts, &part.manifest["counts"]);
    }
    Ok(Manifest {
        manifest: 1,
        program: concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: "merge".to_owned(),
        inputs,
        options,
        counts,
        outputs: OutputFile::of(files),
        time,
    })
}

/// Adds counts at every depth.
fn add(sum: &mut Value, more: &Value) {
    match more {
        Value::Object(more) => {
            if let Value::Null = sum {
                *sum = Value::Object(Map::new());
            }
            for (name, more) in more {
                add(&mut sum[name.as_str()], more);
            }
        }
        Value::Number(more) => {
            *sum = json!(sum.as_u64().unwrap_or(0) + more.as_u64().unwrap_or(0));
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
    }
}
