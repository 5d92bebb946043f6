//! `kind = "sql"`: runs the query of a response and a gold query over the same databases.
//!
//! `verifiers::sql` runs and compares them. The scorer calls no model.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use verifiers::sql::{self, SqlFolder, SqlLimits, SqlMode, SqlPolicy, SqlTask};
use verifiers::{Certainty, Reason};

use super::{KindContext, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::outcome::{Evidence, Outcome, Score};
use crate::queries::{Queries, failure};
use crate::sample::Sample;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "sql";

/// A policy, its databases, and the threads that run queries.
struct SqlScorer {
    policy: SqlPolicy,
    folder: Option<SqlFolder>,
    queries: Queries,
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
    let limits = read_limits(section);
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
    let folder = read_folder(section, base, all_variants);
    Box::new(SqlScorer { policy, folder, queries: Queries::new(read_slots(section)) })
}

/// The limits of a query.
pub(crate) fn read_limits(section: &Section<'_, '_>) -> SqlLimits {
    let default = SqlLimits::default();
    let time = section.integer("time_ms", 1..3_600_001).map(Duration::from_millis);
    SqlLimits {
        steps: section.integer("steps", 1000..u64::MAX).unwrap_or(default.steps),
        time: time.unwrap_or(default.time),
    }
}

/// The folder of databases.
pub(crate) fn read_folder(
    section: &Section<'_, '_>,
    base: Option<&Path>,
    all_variants: bool,
) -> Option<SqlFolder> {
    let path = base?.join(section.text("databases")?);
    if !path.is_dir() {
        section.problem("databases", format!("'{}' is no folder", path.display()));
    }
    Some(SqlFolder { path, all_variants })
}

/// Runs at a time.
pub(crate) fn read_slots(section: &Section<'_, '_>) -> Option<usize> {
    section.integer("slots", 1..1025).and_then(|slots| usize::try_from(slots).ok())
}

impl ScorerKind for SqlScorer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn revision(&self) -> u32 {
        2
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

impl SqlScorer {
    async fn evaluate_sample(&self, sample: Sample<'_>, context: KindContext<'_>) -> Outcome {
        let gold = super::answer::gold(sample.input.reference.as_ref());
        let task = SqlTask::read(gold, self.folder.as_ref()).map_err(failure)?;
        let (response, policy) = (sample.response.to_owned(), self.policy);
        let work = move |caller: &_| sql::judge(&response, &task, &policy, caller);
        let result = self.queries.run(context.client, work).await?.map_err(failure)?;
        context.client.bounds().spend(result.work);
        let explain = context.client.options().explain;
        let reason = Reason::explained(result.verdict.code(), explain, || result.detail);
        Ok(Score {
            score: result.reward,
            raw: None,
            label: Some(result.verdict.label().into()),
            reason,
            certainty: Certainty::Proven,
            evidence: Evidence::default(),
        })
    }
}
