//! Rows as tables of any format: columns in, the same columns and verdicts out.
//!
//! Verdicts of an unfinished run are kept in `OUT.verdicts`. The output is written from its beginning
//! in every run, which costs little beside scoring, and appears under its name when it is complete.

mod cells;
mod chunks;
mod layout;
mod process;
mod verdict_columns;

use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::manifest::Time;
use datasets::sink::{self, Sink, SinkOptions, beside};
use datasets::source::{BatchLimits, Dataset, InputFile};

use self::cells::BoundColumns;
use self::chunks::Chunks;
use self::layout::{ExistingVerdicts, ScoredLayout, VerdictForm};
use self::process::{ScoredTable, TableScorer};
use crate::backend::Backend;
use crate::counts::Counts;
use crate::error::RunError;
use crate::files::{PartialFile, refuse_existing, refuse_same_file};
use crate::job::{Job, WINDOW_BYTES};
use crate::ordered::{self, Window};
use crate::prefetch::prefetch;
use crate::row_progress::RowProgress;
use crate::selection::{RowSelection, Selection};
use crate::signed_backend::SignedBackend;
use crate::stored_backend::StoredBackend;
use crate::summary::ScoreSummary;
use crate::verdict_store::{self, StoreSnapshot, VerdictStore};

/// Rows that are scored and kept together.
const CHUNK_ROWS: usize = 1024;

/// Rows of a request to a server.
const REQUEST_ROWS: usize = 256;

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 4 << 20;

/// Key of the mark that a run leaves in its store before it gives its output a name: a run that is
/// stopped between that and its end may be run again over its own output.
const NAMING: verdict_store::VerdictKey = [0xff; 16];

/// A run over tables.
struct TableRun<'j> {
    job: &'j Job,
    backend: &'j dyn Backend,
    dataset: Dataset,
    selection: Selection,
    bound: BoundColumns,
    layout: ScoredLayout,
}

/// Scores the rows of a dataset as tables.
pub(crate) fn run(job: &Job) -> Result<ScoreSummary, RunError> {
    let sink = job.sink_options();
    let verdicts = job.target.output().map(|path| beside(path, ".verdicts"));
    // An output that exists may be that of an unfinished run; its store says so later.
    let overwrite = sink.overwrite || verdicts.as_ref().is_some_and(|path| path.exists());
    sink::check(&job.output, &SinkOptions { overwrite, ..sink.clone() })?;
    refuse_existing(overwrite, job.target.rejects().map(Path::to_owned).as_ref())?;
    let rows = if job.remote.url.is_some() { REQUEST_ROWS } else { CHUNK_ROWS };
    let limits = BatchLimits { rows, bytes: CHUNK_BYTES };
    let dataset = Dataset::open(&job.inputs, &job.table.source(limits, &job.mapping))?;
    refuse_inputs(job, &dataset)?;
    let rows = &job.table.rows;
    let wanted =
        RowSelection { sample: rows.sample, seed: rows.seed, limit: job.limit, shard: rows.shard };
    let selection = Selection::new(dataset.rows(), wanted);
    let bound = BoundColumns::find(&job.mapping, dataset.schema())?;
    let (form, old) = (form(job), old(job));
    let layout = ScoredLayout::new(dataset.schema(), &job.scorers, form, old)?;
    let backend = job.backend()?;
    let run = TableRun { job, backend: &*backend, dataset, selection, bound, layout };
    run.execute(&sink, verdicts)
}

fn form(job: &Job) -> VerdictForm {
    match (job.table.writing.flat, &job.signer) {
        (true, _) => VerdictForm::Flat,
        (false, None) => VerdictForm::Nested,
        (false, Some(_)) => VerdictForm::Signed,
    }
}

fn old(job: &Job) -> ExistingVerdicts {
    if !job.table.rows.retry_status.is_empty() {
        ExistingVerdicts::Retried
    } else if job.existing.overwrite_scores {
        ExistingVerdicts::Replaced
    } else {
        ExistingVerdicts::Refused
    }
}

fn refuse_inputs(job: &Job, dataset: &Dataset) -> Result<(), RunError> {
    let named = job.target.output().into_iter().chain(job.target.rejects());
    let mut outputs: Vec<PathBuf> =
        named.flat_map(|path| [path.to_owned(), beside(path, ".partial")]).collect();
    if let (Some(output), Some(_)) = (job.target.output(), job.table.writing.shard_rows) {
        outputs.extend(sink::shards_there(output));
    }
    let files = dataset.files().iter().filter(|file| !file.is_stdin());
    for file in files {
        refuse_same_file(file.name(), &outputs)?;
    }
    Ok(())
}

impl TableRun<'_> {
    fn execute(
        &self,
        options: &SinkOptions,
        verdicts: Option<PathBuf>,
    ) -> Result<ScoreSummary, RunError> {
        let started = Instant::now();
        let mut store = self.store(verdicts)?;
        let overwrite = options.overwrite || store.has(&NAMING);
        let options = SinkOptions { overwrite, ..options.clone() };
        let mut sink = match Sink::create(&self.job.output, self.layout.schema(), &options) {
            Ok(sink) => sink,
            Err(error) => {
                if store.len() == 0 {
                    store.remove()?;
                }
                return Err(error.into());
            }
        };
        let digests = self.job.target.output().map(|_| {
            let dataset = self.dataset.clone();
            std::thread::spawn(move || dataset.digests())
        });
        if self.backend.uses_models() {
            let scorer = self.scorer(self.backend, None);
            let mut chunks = self.chunks();
            let folder = self.job.work_folder();
            let inputs = |chunk: &chunks::TableChunk| scorer.inputs(chunk);
            prefetch(self.backend, &mut store, &folder, || chunks.next(), inputs)?;
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
                .map_err(|_| RunError::Failed("the inputs could not be hashed".to_owned()))??;
            let time = Time::now(started.elapsed());
            let manifest = self.job.manifest(self.backend, inputs, &counts, (&written.files, time));
            manifest.write(Path::new(&self.job.output))?;
        }
        store.remove()?;
        Ok(ScoreSummary::new(self.job, self.backend, counts, &progress))
    }

    /// The store of verdicts until the output has its name.
    fn store(&self, verdicts: Option<PathBuf>) -> Result<VerdictStore, RunError> {
        let inputs: Vec<String> = self.dataset.files().iter().map(identity).collect();
        let header = self.job.verdict_header(&inputs.join("\n"), self.backend.scorers());
        let Some(path) = verdicts else {
            return VerdictStore::unnamed(&std::env::temp_dir(), &header);
        };
        let store = VerdictStore::open(&path, &header, self.job.existing.mode.restart)?;
        if store.is_of_other_input() {
            eprintln!(
                "the input has changed since the unfinished run: rows that are the same keep their \
                 verdicts"
            );
        }
        Ok(store)
    }

    fn scorer<'r>(
        &'r self,
        backend: &'r dyn Backend,
        stored: Option<&'r StoreSnapshot>,
    ) -> TableScorer<'r> {
        let retried = self.job.table.rows.retry_status.as_slice();
        TableScorer {
            bound: &self.bound,
            layout: &self.layout,
            backend,
            scorers: &self.job.scorers,
            retried: Some(retried).filter(|statuses| !statuses.is_empty()),
            form: self.job.target.reject_form(),
            stored,
        }
    }

    fn score(
        &self,
        sink: &mut Sink,
        store: &mut VerdictStore,
    ) -> Result<(Counts, Option<PartialFile>, RowProgress), RunError> {
        let mut counts = Counts::new(self.job.scorers.len());
        let rejects = self.job.target.rejects();
        let mut rejects = rejects.map(PartialFile::create).transpose()?;
        let to_stdout = self.job.target.is_stdout();
        let mut progress = RowProgress::start(Some(self.selection.len()), &counts, to_stdout);
        let snapshot = store.snapshot();
        let stored = StoredBackend::new(self.backend, store);
        let uses_models = self.backend.uses_models();
        let backend = if uses_models { &stored } else { self.backend };
        let signed = SignedBackend::new(backend, self.job.signer.as_ref());
        let scorer = self.scorer(&signed, Some(&snapshot).filter(|_| !uses_models));
        let mut chunks = self.chunks();
        let window = Window { workers: self.job.workers, bytes: WINDOW_BYTES };
        let scored = ordered::map(
            window,
            move || chunks.next(),
            |chunk| scorer.score(&chunk),
            |scored: ScoredTable| {
                if let Some((key, payload)) = &scored.record {
                    store.put(*key, payload)?;
                }
                sink.write(&scored.data)?;
                match &mut rejects {
                    Some(file) => file.write(&scored.rejects)?,
                    None => progress.notes(&scored.rejects),
                }
                counts.merge(&scored.counts);
                progress.add_resumed(scored.known_rows);
                progress.update(counts.rows(), &counts);
                Ok(())
            },
        );
        progress.finish();
        if scored.is_err() && store.len() > 0 && self.job.target.output().is_some() {
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

/// Name, size and time of change of a file, by which a later run knows it.
fn identity(file: &InputFile) -> String {
    let metadata = std::fs::metadata(file.path());
    let modified = metadata.and_then(|metadata| metadata.modified());
    format!("{} {} {:?}", file.name(), file.bytes(), modified.ok())
}
