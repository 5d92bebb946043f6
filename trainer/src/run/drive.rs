//! Drives a run to its end: steps, logs, evaluations, checkpoints.

use base::time::unix_time;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::TrainingRun;
use crate::error::{Result, TrainError};
use crate::log::{EventFile, JsonLines, ProgressLine, Record, RunProgress};
use crate::metrics::Metrics;

/// An event of a run.
#[derive(Debug)]
pub enum News<'a> {
    /// A completed step.
    Step {
        /// Progress of the run.
        line: ProgressLine,
        /// Its numbers.
        metrics: &'a Metrics,
    },
    /// A completed evaluation.
    Evaluation {
        /// Number of completed steps.
        step: u64,
        /// Its numbers.
        metrics: &'a Metrics,
    },
    /// A written checkpoint.
    Checkpoint(&'a Path),
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether all steps were taken; otherwise the run was stopped and can be resumed.
    pub complete: bool,
    /// Number of completed steps.
    pub done: u64,
    /// The last checkpoint.
    pub checkpoint: Option<PathBuf>,
}

/// The log files of a run: `metrics.jsonl`, `evaluations.jsonl`, `transcripts.jsonl` of a policy with
/// tools, and `TensorBoard`'s under `events`.
struct Logs {
    steps: JsonLines,
    evaluations: JsonLines,
    transcripts: Option<JsonLines>,
    events: EventFile,
}

impl Logs {
    fn open(run: &TrainingRun) -> Result<Logs> {
        let (folder, done) = (run.folder(), run.done());
        let resumed_at = (done > 0).then_some(done + 1);
        // Entries after the checkpoint are written again; without a checkpoint, all entries are,
        // including the evaluation before the first step.
        let lines = |name: &str| {
            let path = folder.join(name);
            if done == 0 {
                begin_anew(&path)?;
            }
            JsonLines::resume(&path, done)
        };
        Ok(Logs {
            steps: lines("metrics.jsonl")?,
            evaluations: lines("evaluations.jsonl")?,
            transcripts: run
                .config()
                .tools
                .is_some()
                .then(|| lines("transcripts.jsonl"))
                .transpose()?,
            events: EventFile::create(
                &folder.join("events"),
                unix_time().as_secs_f64(),
                resumed_at,
            )?,
        })
    }

    fn step(&mut self, step: u64, metrics: &Metrics) -> Result<()> {
        let record = record(step, "", metrics);
        self.steps.write(&record)?;
        if let (Some(transcripts), Some(transcript)) = (&mut self.transcripts, metrics.transcript())
        {
            transcripts.write_fields(step, transcript)?;
        }
        self.events.write(&record)
    }

    fn evaluation(&mut self, step: u64, metrics: &Metrics) -> Result<()> {
        self.evaluations.write(&record(step, "", metrics))?;
        self.events.write(&record(step, "evaluation/", metrics))
    }
}

/// Takes steps until the run is complete or `stop` is set; then finishes the current step and
/// writes a checkpoint. Before it returns the error of an evaluation, or of a step that left the
/// weights as they were, it writes a checkpoint too. A resumed run begins with the evaluation that is
/// due after its last step and that its log lacks.
///
/// # Errors
/// The first step, evaluation, log or checkpoint that fails.
pub fn drive(
    run: &mut TrainingRun,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<Ended> {
    let mut logs = Logs::open(run)?;
    let mut progress = RunProgress::new(run.steps());
    let begin = Instant::now();
    let mut checkpoint = None;
    if run.evaluation_is_due() && logs.evaluations.last_step() != Some(run.done()) {
        evaluate(run, &mut logs, tell)?;
    }
    let mut stopped = stop.load(Ordering::Relaxed);
    while run.done() < run.steps() && !stopped {
        let step = run.done() + 1;
        let metrics = match run.step() {
            Ok(metrics) => metrics,
            Err(error) => {
                save_steps(run, &logs, tell)?;
                return Err(error.at_step(step));
            }
        };
        logs.step(run.done(), &metrics)?;
        let line = progress.observe(run.done(), begin.elapsed(), metrics.get("reward"));
        tell(News::Step { line, metrics: &metrics });
        if run.evaluation_is_due()
            && let Err(error) = evaluate(run, &mut logs, tell)
        {
            save_steps(run, &logs, tell)?;
            return Err(error);
        }
        // Read once per step: a stop after this takes effect after the next one.
        stopped = stop.load(Ordering::Relaxed);
        if run.checkpoint_is_due() || stopped {
            logs.steps.sync()?;
            let path = run.checkpoint()?;
            tell(News::Checkpoint(&path));
            checkpoint = Some(path);
        }
    }
    Ok(Ended { complete: run.done() >= run.steps(), done: run.done(), checkpoint })
}

/// Writes a checkpoint of steps that have none, so that a failure, such as of a server that went away,
/// does not lose them.
fn save_steps(run: &TrainingRun, logs: &Logs, tell: &mut dyn FnMut(News<'_>)) -> Result<()> {
    if run.has_unsaved_steps() {
        logs.steps.sync()?;
        tell(News::Checkpoint(&run.checkpoint()?));
    }
    Ok(())
}

/// Removes the log of a run that wrote no checkpoint.
fn begin_anew(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(TrainError::File { path: path.display().to_string(), source }),
    }
}

fn evaluate(run: &mut TrainingRun, logs: &mut Logs, tell: &mut dyn FnMut(News<'_>)) -> Result<()> {
    let begin = Instant::now();
    let mut metrics = run.evaluate()?;
    metrics.set("time/evaluation", begin.elapsed().as_secs_f64());
    logs.evaluation(run.done(), &metrics)?;
    tell(News::Evaluation { step: run.done(), metrics: &metrics });
    Ok(())
}

fn record(step: u64, prefix: &str, metrics: &Metrics) -> Record {
    let mut record = Record::new(step, unix_time().as_secs_f64());
    for (name, value) in metrics.iter() {
        record.set(&format!("{prefix}{name}"), value);
    }
    record
}
