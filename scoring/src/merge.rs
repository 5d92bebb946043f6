//! Merges the outputs of shards into the output that one run would have written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::format::{self, Format};
use datasets::manifest::{self, Manifest, OutputFile, Time};
use datasets::sink::{Sink, SinkOptions, beside};
use datasets::source::{Dataset, SourceOptions, TextColumns};
use serde_json::{Map, Value, json};

use crate::error::RunError;
use crate::files::{PartialFile, refuse_same_file};
use crate::progress::TerminalBar;
use crate::selection::Shard;

/// The output of one shard and its manifest.
struct ShardOutput {
    name: String,
    shard: Shard,
    files: Vec<PathBuf>,
    rows: u64,
    manifest: Value,
}

/// Counts of a merge.
#[derive(Debug, Clone, Copy)]
pub struct Merged {
    /// Rows of the output.
    pub rows: u64,
    /// Number of parts.
    pub parts: usize,
}

/// Puts the outputs of shards together, as the output and the manifest that a run without shards
/// would have written.
///
/// # Errors
/// Parts that are missing, repeated, changed or not of one run, and what the system refuses.
pub fn merge(parts: &[String], output: &str, options: &SinkOptions) -> Result<Merged, RunError> {
    let started = Instant::now();
    let mut parts =
        parts.iter().map(|name| ShardOutput::read(name)).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| part.shard.index);
    refuse_strangers(&parts)?;
    refuse_gaps(&parts)?;
    // Before anything is written: a rejects file that is gone is an error.
    let rejects = parts.iter().map(ShardOutput::rejects).collect::<Result<Vec<_>, _>>()?;
    let target = Path::new(output);
    for file in parts.iter().flat_map(|part| &part.files) {
        refuse_same_file(&file.display().to_string(), &[target.to_owned()])?;
    }
    let files = parts.iter().flat_map(|part| &part.files);
    let names: Vec<String> = files.map(|file| file.display().to_string()).collect();
    let dataset = Dataset::open(&names, &source(&names, output, options))?;
    let mut sink = Sink::create(output, dataset.schema(), options)?;
    let bar = TerminalBar::start("rows", dataset.rows(), false);
    let count = bar.counter();
    for batch in dataset.batches() {
        let batch = batch?;
        if let Some(reject) = batch.rejects.first() {
            let (file, row, reason) = (&reject.file, reject.row, &reject.reason);
            return Err(RunError::Failed(format!("{file}:{row}: {reason}")));
        }
        sink.write(&batch.data)?;
        count(batch.data.num_rows() as u64);
    }
    drop(bar);
    let written = sink.finish()?;
    merge_rejects(rejects.into_iter().flatten(), target)?;
    let manifest = merged(&parts, &written.files, Time::now(started.elapsed()))?;
    manifest.write(target)?;
    Ok(Merged { rows: written.rows, parts: parts.len() })
}

/// How parts are opened. Between texts of one format all values stay as they are written: a part by
/// itself may show other types than all of them.
fn source(parts: &[String], output: &str, options: &SinkOptions) -> SourceOptions {
    let named = |name: &str| format::by_name(Path::new(name)).0;
    let wanted = options.format.or(named(output)).unwrap_or(Format::Jsonl);
    let is_text = wanted != Format::Parquet;
    let is_same = parts.iter().all(|part| named(part) == Some(wanted));
    let texts = if is_text && is_same { TextColumns::All } else { TextColumns::ByCells };
    SourceOptions { texts, ..SourceOptions::default() }
}

impl ShardOutput {
    fn read(name: &str) -> Result<Self, RunError> {
        let output = Path::new(name);
        let path = manifest::path_for(output);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            RunError::Usage(format!(
                "{name} has no manifest that can be read ({}: {error}); only outputs of `tribunal \
                 score --shard` can be merged",
                path.display()
            ))
        })?;
        let bad = |what: &str| RunError::Usage(format!("{}: {what}", path.display()));
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

    /// Refuses a part that does not have the rows of its manifest.
    fn refuse_changed(&self) -> Result<(), RunError> {
        let names: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        let dataset = Dataset::open(&names, &SourceOptions::default())?;
        if dataset.rows() == self.rows {
            return Ok(());
        }
        Err(RunError::Usage(format!(
            "{} has {} rows, and its manifest says {}; score this shard again",
            self.name,
            dataset.rows(),
            self.rows
        )))
    }

    /// The file of its rejected rows; `None` if it has none.
    fn rejects(&self) -> Result<Option<PathBuf>, RunError> {
        let output = Path::new(&self.name);
        let named = self.manifest["rejects"].as_str().map(PathBuf::from);
        // The part and its files may have been moved to another folder.
        let moved = named.as_ref().and_then(|path| path.file_name());
        let moved = moved.map(|name| output.with_file_name(name));
        let places = [moved, named, Some(beside(output, ".rejects.jsonl"))];
        let found = places.into_iter().flatten().find(|path| path.exists());
        match (found, self.manifest["counts"]["rejected"].as_u64()) {
            (_, Some(0)) => Ok(None),
            (None, Some(rejected)) => Err(RunError::Usage(format!(
                "{}: the file of its {rejected} rejected rows is not there",
                self.name
            ))),
            (found, _) => Ok(found),
        }
    }

    /// Returns a value that must be the same in all parts: the inputs by content, or an option.
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
fn refuse_strangers(parts: &[ShardOutput]) -> Result<(), RunError> {
    let Some((first, rest)) = parts.split_first() else {
        return Ok(());
    };
    let options = parts.iter().filter_map(|part| part.manifest["options"].as_object());
    let names = options.flat_map(|options| options.keys().map(String::as_str));
    let names: BTreeSet<&str> = names.filter(|name| *name != "shard").collect();
    let names: Vec<&str> = std::iter::once("inputs").chain(names).collect();
    for part in rest {
        for name in &names {
            if part.identity(name) != first.identity(name) {
                return Err(RunError::Usage(format!(
                    "{} and {} are not of one run: their {name} differ",
                    first.name, part.name
                )));
            }
        }
        if part.shard.count != first.shard.count {
            return Err(RunError::Usage(format!(
                "{} is one of {} shards and {} one of {}",
                first.name, first.shard.count, part.name, part.shard.count
            )));
        }
    }
    Ok(())
}

/// Refuses shards that are missing or there twice. The parts are in order.
fn refuse_gaps(parts: &[ShardOutput]) -> Result<(), RunError> {
    let twice = parts.windows(2).find(|pair| pair[0].shard == pair[1].shard);
    if let Some([one, other]) = twice {
        return Err(RunError::Usage(format!(
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
    Err(RunError::Usage(format!("missing: shard {}", missing.join(", "))))
}

fn merge_rejects(files: impl Iterator<Item = PathBuf>, output: &Path) -> Result<(), RunError> {
    let mut merged = PartialFile::create(&beside(output, ".rejects.jsonl"))?;
    for path in files {
        merged.write(&std::fs::read(&path).map_err(RunError::file("read", &path))?)?;
    }
    merged.commit(true)
}

/// The manifest of the run without shards.
fn merged(
    parts: &[ShardOutput],
    files: &[(PathBuf, u64)],
    time: Time,
) -> Result<Manifest, RunError> {
    let first = &parts.first().expect("the command line requires one").manifest;
    let inputs = serde_json::from_value(first["inputs"].clone());
    let inputs =
        inputs.map_err(|error| RunError::Usage(format!("a manifest's inputs: {error}")))?;
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
        rejects: None,
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
