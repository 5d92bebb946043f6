//! Scorers of this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::DeviceName;
use openapi::{ScoreInput, ScoreResult};
use rubrics::{
    Input, Models, NoModels, Priority, Registry, RequestRecorder, ScoreOptions, Scorer,
    TimedOutcome, Tools, VerifierPool,
};
use serve::convert::{self, Frame, InputEcho};

use super::{Backend, RowResults};
use crate::error::RunError;
use crate::header::ScorerIdentity;
use crate::scorers;

/// Jobs that may wait in the pool. The window of chunks holds far fewer, so this bound is never
/// reached.
const POOL_JOBS: usize = 1 << 20;

/// Scorers of this process and the threads that run them.
pub struct LocalBackend {
    scorers: Vec<Arc<Scorer>>,
    digests: Vec<String>,
    /// The scorers' digests, each combined with those of its models.
    identities: Vec<String>,
    tools: Tools,
    explain: bool,
}

impl LocalBackend {
    /// Finds scorers by name, loads their models, on a device if one is given, and starts the threads.
    ///
    /// # Errors
    /// An unknown scorer, a wrong configuration file, and a model that cannot be loaded.
    pub fn new(
        names: &[String],
        (config, device): (Option<&Path>, Option<DeviceName>),
        threads: usize,
        explain: bool,
    ) -> Result<Self, RunError> {
        let registry = scorers::registry(config)?;
        let (scorers, models) = scorers::load_by_name(&registry, (config, device), names)?;
        Self::of(scorers, models, threads, explain)
    }

    /// Takes all scorers of a registry that use no model.
    pub fn with_rules(
        registry: &Registry,
        threads: usize,
        explain: bool,
    ) -> Result<Self, RunError> {
        let rules = registry.iter().filter(|scorer| !scorer.uses_models());
        Self::of(rules.cloned().collect(), Arc::new(NoModels), threads, explain)
    }

    /// Records the requests to engines, for a measurement.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Arc<RequestRecorder>) -> Self {
        self.tools.recorder = Some(recorder);
        self
    }

    /// Takes scorers and their models, and starts the threads.
    pub fn of(
        scorers: Vec<Arc<Scorer>>,
        models: Arc<dyn Models>,
        threads: usize,
        explain: bool,
    ) -> Result<Self, RunError> {
        let pool = VerifierPool::new(threads, POOL_JOBS)
            .map_err(|error| RunError::Failed(format!("cannot start threads: {error}")))?;
        let identity = |scorer: &Arc<Scorer>| base::digest::text(&scorer.digest_with(&*models));
        Ok(Self {
            digests: scorers.iter().map(|scorer| scorer.digest_text()).collect(),
            identities: scorers.iter().map(identity).collect(),
            scorers,
            tools: Tools { pool, models, recorder: None },
            explain,
        })
    }

    /// Returns the index of the scorer called `name`.
    pub fn find(&self, name: &str) -> Result<usize, RunError> {
        let names = self.scorers.iter().map(|scorer| scorer.name());
        let found = names.clone().position(|known| known == name);
        found.ok_or_else(|| scorers::unknown_scorer(name, names))
    }

    /// Number of scorers.
    pub fn count(&self) -> usize {
        self.scorers.len()
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.tools.pool.threads()
    }

    /// Scores inputs with one scorer: one result for each, in order.
    pub fn score_with(&self, scorer: usize, inputs: &[Arc<Input>]) -> Vec<ScoreResult> {
        let options = ScoreOptions {
            priority: Priority::Batch,
            explain: self.explain,
            ..ScoreOptions::default()
        };
        let outcomes =
            block_on(rubrics::score(&self.scorers[scorer], inputs, options, &self.tools));
        let result = |(index, scored): (usize, TimedOutcome)| {
            let frame = Frame {
                scorer_digest: &self.digests[scorer],
                queue: Duration::ZERO,
                exec: Duration::ZERO,
                cached: false,
            };
            convert::result(index, InputEcho::default(), &scored.outcome, frame)
        };
        outcomes.into_iter().enumerate().map(result).collect()
    }
}

/// Waits for `future` on this thread. The scorers' own threads do the work.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime without drivers needs nothing from the system").block_on(future)
}

impl Backend for LocalBackend {
    fn scorers(&self) -> Vec<ScorerIdentity> {
        let named = self.scorers.iter().zip(&self.identities);
        named
            .map(|(scorer, digest)| ScorerIdentity {
                name: scorer.name().to_owned(),
                digest: digest.clone(),
            })
            .collect()
    }

    fn uses_models(&self) -> bool {
        self.scorers.iter().any(|scorer| scorer.uses_models())
    }

    fn score(&self, inputs: Vec<ScoreInput>) -> Result<Vec<RowResults>, RunError> {
        let inputs: Vec<Arc<Input>> =
            inputs.into_iter().map(|input| Arc::new(convert::input(input).0)).collect();
        // Of this exact size: a vector that grows takes room for four results, which are large.
        let row = || Vec::with_capacity(self.scorers.len());
        let mut judged: Vec<Vec<ScoreResult>> =
            std::iter::repeat_with(row).take(inputs.len()).collect();
        for scorer in 0..self.scorers.len() {
            for (results, result) in judged.iter_mut().zip(self.score_with(scorer, &inputs)) {
                results.push(result);
            }
        }
        Ok(judged.into_iter().map(Ok).collect())
    }
}
