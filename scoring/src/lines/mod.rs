//! Rows as JSON lines: every byte of a line but its column `scores` stays as it was written, and a
//! journal beside the output lets a later run resume where an earlier one stopped.

mod chunk;
mod input;
mod journal;
mod output;
mod reader;
mod rejected_line;
mod resume;
mod scores_column;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::manifest::Time;
use datasets::raw_row::RawRow;
use datasets::sink::beside;
use datasets::source::InputDigest;
use serde::Serialize;

use self::chunk::LineScorer;
pub use self::input::Input;
use self::output::{LineOutput, StreamOutput};
pub use self::reader::{InputLine, LineChunk};
use self::resume::RunState;
use crate::backend::Backend;
use crate::counts::Counts;
use crate::error::RunError;
use crate::files::{PartialFile, refuse_existing};
use crate::header::{Header, ScorerIdentity};
use crate::job::{Job, WINDOW_BYTES};
use crate::mapping::Mapping;
use crate::ordered::{self, Window};
use crate::prefetch::prefetch;
use crate::row_progress::RowProgress;
use crate::signed_backend::SignedBackend;
use crate::stored_backend::StoredBackend;
use crate::summary::ScoreSummary;
use crate::target::Destination;
use crate::verdict_store::VerdictStore;

/// Options that shape the output besides scorers and input, as the journal's header has them.
#[derive(Debug, Serialize)]
struct HeaderOptions<'a> {
    mapping: &'a Mapping,
    explain: bool,
    overwrite_scores: bool,
    limit: Option<u64>,
    rejects: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<&'a str>,
}

/// Scores the lines of one input.
pub(crate) fn run(job: &Job) -> Result<ScoreSummary, RunError> {
    let started = Instant::now();
    let backend = job.backend()?;
    let mut input = Input::open(job.input(), job.limit)?;
    let bytes = input.total_bytes;
    check_first_rows(job, &mut input)?;
    match open_output(job, backend.scorers(), &mut input)? {
        RunState::Complete(counts) => {
            let progress = RowProgress::start(None, &counts, job.target.is_stdout());
            write_manifest(job, backend.as_ref(), &counts, (bytes, started))?;
            Ok(ScoreSummary::new(job, backend.as_ref(), counts, &progress))
        }
        RunState::InProgress(output) if backend.uses_models() && !input.is_stdin() => {
            let store = prefetched(job, backend.as_ref())?;
            let stored = StoredBackend::new(backend.as_ref(), &store);
            let (counts, progress) = score_lines(job, &stored, input, output)?;
            write_manifest(job, &stored, &counts, (bytes, started))?;
            store.remove()?;
            Ok(ScoreSummary::new(job, &stored, counts, &progress))
        }
        RunState::InProgress(output) => {
            let (counts, progress) = score_lines(job, backend.as_ref(), input, output)?;
            write_manifest(job, backend.as_ref(), &counts, (bytes, started))?;
            Ok(ScoreSummary::new(job, backend.as_ref(), counts, &progress))
        }
    }
}

/// Looks in the first rows for mistakes that would affect all rows.
fn check_first_rows(job: &Job, input: &mut Input) -> Result<(), RunError> {
    let Some(chunk) = input.peek()? else {
        return Ok(());
    };
    let rows = readable_rows(chunk);
    job.mapping.check(&rows)?;
    let scored = rows.iter().find_map(|row| scores_column::existing_score(row, &job.scorers));
    match scored {
        Some(name) if !job.existing.overwrite_scores => Err(RunError::Usage(format!(
            "rows of {} have a score of '{name}' already; --overwrite-scores replaces it",
            job.input()
        ))),
        Some(_) | None => Ok(()),
    }
}

fn readable_rows(chunk: &LineChunk) -> Vec<RawRow<'_>> {
    let kept = chunk.lines().filter(|line| line.cut.is_none());
    let texts = kept.filter_map(|line| std::str::from_utf8(line.bytes).ok());
    texts.filter_map(|text| RawRow::parse(text).ok()).collect()
}

/// Opens the output, where an earlier run stopped if there was one.
fn open_output(
    job: &Job,
    scorers: Vec<ScorerIdentity>,
    input: &mut Input,
) -> Result<RunState<LineOutput>, RunError> {
    let options = HeaderOptions {
        mapping: &job.mapping,
        explain: job.explain,
        overwrite_scores: job.existing.overwrite_scores,
        limit: job.limit,
        rejects: job.target.named_rejects(),
        signed_by: job.kid(),
    };
    let header = Header::of(job.input(), scorers, &options);
    let (name, sink): (PathBuf, Box<dyn Write>) = match &job.target.destination {
        Destination::File(paths) => {
            let opened = resume::open(paths.clone(), &header, job.existing.mode, input)?;
            return Ok(opened.map(LineOutput::File));
        }
        Destination::Stdout => (PathBuf::from("standard output"), Box::new(std::io::stdout())),
        Destination::Device(path) => {
            let opened = std::fs::OpenOptions::new().write(true).open(path);
            (path.clone(), Box::new(opened.map_err(RunError::file("write", path))?))
        }
    };
    let counts = Counts::new(header.scorers.len());
    let rejects = job.target.named_rejects();
    refuse_existing(job.existing.mode.overwrite, rejects.map(Path::to_owned).as_ref())?;
    let rejects = rejects.map(PartialFile::create).transpose()?;
    Ok(RunState::InProgress(LineOutput::Stream(StreamOutput { name, sink, rejects, counts })))
}

/// Scores the distinct inputs of the lines with models, and keeps the verdicts.
fn prefetched(job: &Job, backend: &dyn Backend) -> Result<VerdictStore, RunError> {
    let header = job.verdict_header(job.input(), backend.scorers());
    let folder = job.work_folder();
    let mut store = match job.target.output() {
        Some(output) => {
            VerdictStore::open(&beside(output, ".verdicts"), &header, job.existing.mode.restart)?
        }
        None => VerdictStore::unnamed(&folder, &header)?,
    };
    let scorer = LineScorer::new(job, backend);
    let mut input = Input::open(job.input(), job.limit)?;
    prefetch(
        backend,
        &mut store,
        &folder,
        || input.next_chunk(),
        |chunk| Ok(scorer.inputs(chunk)),
    )?;
    Ok(store)
}

fn score_lines(
    job: &Job,
    backend: &dyn Backend,
    mut input: Input,
    mut output: LineOutput,
) -> Result<(Counts, RowProgress), RunError> {
    let mut progress =
        RowProgress::start(input.total_bytes, output.counts(), job.target.is_stdout());
    let is_stdin = input.is_stdin();
    let signed = SignedBackend::new(backend, job.signer.as_ref());
    let scorer = LineScorer::new(job, &signed);
    let window = Window { workers: job.workers, bytes: WINDOW_BYTES };
    let scored = ordered::map(
        window,
        move || input.next_chunk(),
        |chunk| scorer.score(&chunk),
        |scored| {
            output.write(&scored, &progress)?;
            progress.update(scored.end.bytes, output.counts());
            Ok(())
        },
    );
    progress.finish();
    if let Err(error) = scored {
        if let (LineOutput::File(file), false) = (&output, is_stdin) {
            let rows = file.counts.rows();
            eprintln!("{rows} rows are done; the same command goes on from there");
        }
        return Err(error);
    }
    Ok((output.finish()?, progress))
}

/// Writes the manifest beside the output, where both input and output are files.
fn write_manifest(
    job: &Job,
    backend: &dyn Backend,
    counts: &Counts,
    (bytes, started): (Option<u64>, Instant),
) -> Result<(), RunError> {
    let (Some(output), Some(bytes)) = (job.target.output(), bytes) else {
        return Ok(());
    };
    let input = Path::new(job.input());
    let inputs = vec![InputDigest {
        file: job.input().to_owned(),
        bytes,
        digest: datasets::source::digest(input, bytes)?,
    }];
    let files = [(output.to_owned(), counts.scored)];
    let time = Time::now(started.elapsed());
    job.manifest(backend, inputs, counts, (&files, time)).write(output)?;
    Ok(())
}
