//! `kind = "sql"`: runs the query of a response and a gold query over the same databases.
//!
//! `verifiers::sql` runs and compares them. The scorer calls no model; it has threads of its own,
//! because a query may take seconds, which would hold a verifier thread.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};
use verifiers::sql::{
    self, SqlCaller, SqlError, SqlFolder, SqlLimits, SqlMode, SqlPolicy, SqlTask,
};
use verifiers::{Certainty, Reason};

use super::{KindContext, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, Score};
use crate::pool::{VerifierPool, catch_panic};
use crate::sample::Sample;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "sql";

/// Queries that wait for a thread; the others wait as futures.
const QUEUE: usize = 1024;
/// Bytes of a thread's stack: `SQLite`'s parser recurses.
const STACK_BYTES: usize = 8 << 20;

/// A policy, its databases, and the threads that run queries.
struct SqlScorer {
    policy: SqlPolicy,
    folder: Option<SqlFolder>,
    slots: usize,
    /// Started by the first query.
    threads: OnceLock<VerifierPool>,
    queue: Semaphore,
}

/// Reads the options; `base` is the folder that paths are relative to, `None` if no file may be
/// read.
pub(crate) fn read(section: &Section<'_, '_>, base: Option<&Path>) -> Box<dyn ScorerKind> {
    let modes = [
        ("rows", SqlMode::Rows),
        ("bird", SqlMode::Bird),
        ("spider", SqlMode::Spider),
        ("mars", SqlMode::Mars),
        ("paverl", SqlMode::Paverl),
    ];
    let default = SqlPolicy::default();
    let tolerance = section.number("tolerance").unwrap_or(default.tolerance);
    if !(0.0..1.0).contains(&tolerance) {
        section.problem("tolerance", "give a number from 0 to below 1");
    }
    let time = section.integer("time_ms", 1..3_600_001).map(Duration::from_millis);
    let limits = SqlLimits {
        steps: section.integer("steps", 1000..u64::MAX).unwrap_or(default.limits.steps),
        time: time.unwrap_or(default.limits.time),
    };
    let columns = [("given", false), ("any", true)];
    let policy = SqlPolicy {
        mode: section.word("mode", &modes).unwrap_or_default(),
        limits,
        tolerance,
        any_columns: section.word("columns", &columns).unwrap_or(default.any_columns),
        row_check: section.boolean("row_check").unwrap_or(default.row_check),
    };
    let variants = [("one", false), ("all", true)];
    let all_variants = section.word("variants", &variants).unwrap_or(false);
    let folder = section.text("databases").and_then(|path| {
        let path = base?.join(path);
        if !path.is_dir() {
            section.problem("databases", format!("'{}' is no folder", path.display()));
        }
        Some(SqlFolder { path, all_variants })
    });
    let slots = section.integer("slots", 1..1025).and_then(|slots| usize::try_from(slots).ok());
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    Box::new(SqlScorer {
        policy,
        folder,
        slots: slots.unwrap_or_else(processors),
        threads: OnceLock::new(),
        queue: Semaphore::new(QUEUE),
    })
}

impl ScorerKind for SqlScorer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "runs the query of a response and compares its rows with those of a gold query"
    }

    /// The options that may change a score. The number of threads does not.
    fn options(&self) -> Value {
        let folder = self.folder.as_ref();
        json!({
            "policy": self.policy,
            "databases": folder.map(|folder| folder.path.to_string_lossy()),
            "all_variants": folder.is_some_and(|folder| folder.all_variants),
        })
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context))
    }
}

/// Ends a query whose caller has left.
struct CancelQuery(Arc<SqlCaller>);

impl Drop for CancelQuery {
    fn drop(&mut self) {
        self.0.left.store(true, Ordering::Relaxed);
    }
}

impl SqlScorer {
    async fn evaluate_sample(&self, sample: Sample<'_>, context: KindContext<'_>) -> Outcome {
        let gold = super::answer::gold(sample.input.reference.as_ref());
        let task = SqlTask::read(gold, self.folder.as_ref()).map_err(failure)?;
        let permit = self.queue.acquire().await;
        let _queued = permit.expect("the semaphore is never closed");
        context.client.bounds().check()?;
        let options = context.client.options();
        let caller = SqlCaller { deadline: options.deadline, ..SqlCaller::default() };
        let waiting = CancelQuery(Arc::new(caller));
        let (reply, answer) = oneshot::channel();
        let (response, policy) = (sample.response.to_owned(), self.policy);
        let caller = Arc::clone(&waiting.0);
        let job = move || {
            // A dropped receiver is a cancelled call.
            let _ = reply.send(catch_panic(|| {
                sql::judge(&response, &task, &policy, &caller).map_err(failure)
            }));
        };
        let submitted = self.threads()?.submit(options.priority, Box::new(job));
        submitted.map_err(|_| Failure::queue_full())?;
        let result = answer.await.map_err(|_| Failure::internal())???;
        context.client.bounds().spend(result.work);
        let reason = Reason::explained(result.verdict.code(), options.explain, || result.detail);
        Ok(Score {
            score: result.reward,
            raw: None,
            label: Some(result.verdict.label().into()),
            reason,
            certainty: Certainty::Proven,
            evidence: Evidence::default(),
        })
    }

    fn threads(&self) -> Result<&VerifierPool, Failure> {
        if let Some(threads) = self.threads.get() {
            return Ok(threads);
        }
        let started =
            VerifierPool::with_stack(self.slots, QUEUE, STACK_BYTES).map_err(|error| {
                tracing::error!(%error, "no thread for queries");
                Failure::internal()
            })?;
        Ok(self.threads.get_or_init(|| started))
    }
}

fn failure(error: SqlError) -> Failure {
    match error {
        SqlError::Reference(error) => Failure::from_error(error, Evidence::default()),
        SqlError::Cancelled => Failure::deadline_passed(),
        SqlError::Overloaded => {
            let detail = "the query needs the memory of all others for longer than they may wait";
            Failure::new(FailureKind::Overloaded, Reason::with("memory_busy", detail))
        }
    }
}
