//! Rows of any format through the scorers, as tables: columns in, the same columns and verdicts out.
//!
//! Verdicts of an unfinished run wait in `OUT.verdicts`; the output is written from its beginning
//! every time, which costs little beside judging, and appears whole or not at all.

mod cells;
mod chunks;
mod layout;
mod selection;
mod verdicts;
mod work;

use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::manifest::Time;
use datasets::sink::{self, Sink, SinkOptions};
use datasets::source::{Dataset, InputFile, Limits};
use openapi::Status;

use self::cells::Bound;
use self::chunks::Chunks;
use self::layout::{Form, Layout, Old};
pub(crate) use self::selection::Shard;
use self::selection::{Choice, Selection};
use self::work::{Process, Scored};
use super::ahead::{Ahead, Known};
use super::input::{STREAM, refuse_same_file};
use super::journal::Counts;
use super::judging::Judging;
use super::partial::{PartialFile, beside};
use super::plan::Plan;
use super::progress::Progress;
use super::store::{self, Found, Store};
use super::{WINDOW_BYTES, report};
use crate::dataset_files::{FormatArg, SourceArgs};
use crate::error::{CliError, Outcome};
use crate::stream::{self, Window};
use crate::tally::STATUSES;

/// Rows that are judged and kept at once.
const CHUNK_ROWS: usize = 1024;

/// Rows of a request to a server.
const REQUEST_ROWS: usize = 256;

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 4 << 20;

/// Of the mark that a run leaves among its verdicts before it gives its output a name: a run that is
/// stopped between that and its end may be run again over its own output.
const NAMING: store::Key = [0xff; 16];

/// What only tables have.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    #[command(flatten)]
    pub(super) reading: SourceArgs,
    #[command(flatten)]
    pub(super) choice: ChoiceArgs,
    #[command(flatten)]
    pub(super) writing: WritingArgs,
}

/// Which rows are scored.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rows")]
pub(super) struct ChoiceArgs {
    /// Score only N rows, each with the same chance
    #[arg(long, value_name = "N")]
    pub(super) sample: Option<u64>,
    /// Seed of the draw
    #[arg(long, value_name = "SEED", default_value = "0")]
    pub(super) seed: u64,
    /// Score one of n pieces of the rows, counted from 1: `3/8`; `tribunal merge` puts the outputs
    /// together
    #[arg(long, value_name = "i/n")]
    pub(super) shard: Option<Shard>,
    /// Score only the rows whose verdicts have one of these statuses, or none, and keep the other
    /// verdicts
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = status)]
    pub(super) retry_status: Vec<Status>,
}

/// How the output is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct WritingArgs {
    /// Format of the output [default: by its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) output_format: Option<FormatArg>,
    /// Rows of an output file; then OUT becomes several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) shard_rows: Option<u64>,
    /// Write flat columns `NAME_status`, `NAME_score` … and no column `scores`
    #[arg(long)]
    pub(super) flat: bool,
}

fn status(name: &str) -> Result<Status, String> {
    let named = |status: &&Status| serve::convert::status_name(**status) == name;
    let names = || STATUSES.iter().map(|status| serve::convert::status_name(*status));
    STATUSES.iter().find(named).copied().ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        format!("the statuses are {}", names.join(", "))
    })
}

impl TableArgs {
    /// Whether something was said that only tables have.
    pub(super) fn is_wanted(&self) -> bool {
        let choice = &self.choice;
        !self.reading.is_plain()
            || choice.sample.is_some()
            || choice.shard.is_some()
            || !choice.retry_status.is_empty()
            || self.writing.output_format.is_some()
            || self.writing.shard_rows.is_some()
            || self.writing.flat
    }
}

/// A run over tables.
struct Run<'p> {
    plan: &'p Plan,
    judging: &'p dyn Judging,
    dataset: Dataset,
    selection: Selection,
    bound: Bound,
    layout: Layout,
}

/// Runs the command.
pub(super) fn run(plan: &Plan) -> Result<Outcome, CliError> {
    let sink = sink_options(plan);
    let verdicts = plan.target.output().map(|path| beside(path, ".verdicts"));
    // What an unfinished run has named already may be its own: its verdicts say so later.
    let overwrite = sink.overwrite || verdicts.as_ref().is_some_and(|path| path.exists());
    sink::check(&plan.output, &SinkOptions { overwrite, ..sink.clone() })?;
    let rows = if plan.remote.url.is_some() { REQUEST_ROWS } else { CHUNK_ROWS };
    let limits = Limits { rows, bytes: CHUNK_BYTES };
    let dataset = Dataset::open(&plan.inputs, &plan.table.reading.options(limits))?;
    refuse_inputs(plan, &dataset)?;
    let choice = &plan.table.choice;
    let selection = Selection::new(
        dataset.rows(),
        Choice { sample: choice.sample, seed: choice.seed, limit: plan.limit, shard: choice.shard },
    );
    let bound = Bound::find(&plan.mapping, dataset.schema())?;
    let (form, old) = (form(plan), old(plan));
    let layout = Layout::new(dataset.schema(), &plan.scorers, form, old)?;
    let judging = plan.judging()?;
    let run = Run { plan, judging: &*judging, dataset, selection, bound, layout };
    run.go(&sink, verdicts)
}

fn form(plan: &Plan) -> Form {
    if plan.table.writing.flat { Form::Flat } else { Form::Nested }
}

fn old(plan: &Plan) -> Old {
    if !plan.table.choice.retry_status.is_empty() {
        Old::Retried
    } else if plan.overwrite_scores {
        Old::Replaced
    } else {
        Old::Refused
    }
}

fn sink_options(plan: &Plan) -> SinkOptions {
    SinkOptions {
        format: plan.table.writing.output_format.map(FormatArg::format),
        shard_rows: plan.table.writing.shard_rows,
        overwrite: plan.existing.overwrite,
    }
}

fn refuse_inputs(plan: &Plan, dataset: &Dataset) -> Result<(), CliError> {
    let Some(output) = plan.target.output() else {
        return Ok(());
    };
    let outputs = [output.to_owned(), beside(output, ".partial")];
    let files = dataset.files().iter().filter(|file| !file.is_stdin());
    for file in files {
        refuse_same_file(file.name(), &outputs)?;
    }
    Ok(())
}

impl Run<'_> {
    fn go(&self, options: &SinkOptions, verdicts: Option<PathBuf>) -> Result<Outcome, CliError> {
        let started = Instant::now();
        let mut store = self.store(verdicts)?;
        let overwrite = options.overwrite || store.has(&NAMING);
        let options = SinkOptions { overwrite, ..options.clone() };
        let mut sink = match Sink::create(&self.plan.output, self.layout.schema(), &options) {
            Ok(sink) => sink,
            Err(error) => {
                if store.len() == 0 {
                    store.remove()?;
                }
                return Err(error.into());
            }
        };
        let digests = self.plan.target.output().map(|_| {
            let dataset = self.dataset.clone();
            std::thread::spawn(move || dataset.digests())
        });
        if self.judging.asks_models() {
            self.ask_ahead(&mut store)?;
        }
        let (counts, rejects, progress) = self.score(&mut sink, &mut store)?;
        store.put(NAMING, b"")?;
        let written = sink.finish()?;
        if let Some(rejects) = rejects {
            rejects.commit(true)?;
        }
        if let Some(digests) = digests {
            let inputs = digests
                .join()
                .map_err(|_| CliError::Failed("the inputs could not be hashed".to_owned()))??;
            let time = Time::now(started.elapsed());
            let manifest =
                self.plan.manifest(self.judging, inputs, &counts, (&written.files, time));
            manifest.write(Path::new(&self.plan.output))?;
        }
        store.remove()?;
        report(self.plan, self.judging, counts, &progress)
    }

    /// Where verdicts wait until the output has its name.
    fn store(&self, verdicts: Option<PathBuf>) -> Result<Store, CliError> {
        let inputs: Vec<String> = self.dataset.files().iter().map(identity).collect();
        let header = self.plan.verdict_header(&inputs.join("\n"), self.judging.judges());
        let Some(path) = verdicts else {
            return Store::unnamed(&std::env::temp_dir(), &header);
        };
        let store = Store::open(&path, &header, self.plan.existing.restart)?;
        if store.is_of_other_input() {
            eprintln!(
                "the input has changed since the unfinished run: rows that are the same keep their \
                 verdicts"
            );
        }
        Ok(store)
    }

    fn ask_ahead(&self, store: &mut Store) -> Result<(), CliError> {
        let folder = self.plan.work_folder();
        let mut ahead = Ahead::new(&folder)?;
        let process = self.process(self.judging, None);
        let mut chunks = self.chunks();
        while let Some(chunk) = chunks.next()? {
            for input in process.inputs(&chunk)? {
                ahead.add(&input, store)?;
            }
        }
        ahead.judge(self.judging, store)
    }

    fn process<'r>(&'r self, judging: &'r dyn Judging, found: Option<&'r Found>) -> Process<'r> {
        let retried = self.plan.table.choice.retry_status.as_slice();
        Process {
            bound: &self.bound,
            layout: &self.layout,
            judging,
            scorers: &self.plan.scorers,
            retried: Some(retried).filter(|statuses| !statuses.is_empty()),
            form: self.plan.target.reject_form(),
            found,
        }
    }

    fn score(
        &self,
        sink: &mut Sink,
        store: &mut Store,
    ) -> Result<(Counts, Option<PartialFile>, Progress), CliError> {
        let mut counts = Counts::new(self.plan.scorers.len());
        let rejects = self.plan.target.rejects();
        let mut rejects = rejects.map(PartialFile::create).transpose()?;
        let mut progress =
            Progress::start(Some(self.selection.len()), &counts, self.plan.target.is_stdout());
        let found: Found = store.found();
        let known = Known::new(self.judging, store);
        let asks_models = self.judging.asks_models();
        let judging = if asks_models { &known } else { self.judging };
        let process = self.process(judging, Some(&found).filter(|_| !asks_models));
        let mut chunks = self.chunks();
        let window = Window { workers: self.plan.lanes, bytes: WINDOW_BYTES };
        let scored = stream::run(
            window,
            move || chunks.next(),
            |chunk| process.chunk(&chunk),
            |scored: Scored| {
                if let Some((key, payload)) = &scored.record {
                    store.put(*key, payload)?;
                }
                sink.write(&scored.data)?;
                match &mut rejects {
                    Some(file) => file.write(&scored.rejects)?,
                    None => progress.notes(&scored.rejects),
                }
                counts.merge(&scored.counts);
                progress.know(scored.known_rows);
                progress.update(counts.rows(), &counts);
                Ok(())
            },
        );
        progress.finish();
        if scored.is_err() && store.len() > 0 && self.plan.target.output().is_some() {
            let rows = counts.rows();
            eprintln!("{rows} rows are done; the same command goes on from there");
        }
        scored?;
        Ok((counts, rejects, progress))
    }

    fn chunks(&self) -> Chunks {
        Chunks::new(&self.dataset, self.selection.clone())
    }
}

/// What tells whether a file is the one that it was; standard input is never.
fn identity(file: &InputFile) -> String {
    let metadata = std::fs::metadata(file.path());
    let modified = metadata.and_then(|metadata| metadata.modified());
    format!("{} {} {:?}", file.name(), file.bytes(), modified.ok())
}

/// Whether an input can only be read as a table.
pub(super) fn is_table(input: &str) -> bool {
    use datasets::format::{Compression, Format, by_name};
    if input == STREAM {
        return false;
    }
    let path = Path::new(input);
    let (format, compression) = by_name(path);
    let is_text = matches!(format, None | Some(Format::Jsonl)) && compression == Compression::Plain;
    // A name that nobody has may be a glob.
    !is_text || path.is_dir() || (!path.exists() && input.contains(['*', '?', '[']))
}
