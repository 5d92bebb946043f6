//! Judges in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use openapi::{ScoreInput, ScoreResult};
use rubrics::{
    Ask, Input, Models, NoModels, Pool, Priority, Registry, Scored, Scorer, Tape, Tools,
};
use serve::convert::{self, Echo, Frame};

use super::journal::Judge;
use super::judging::{Judged, Judging};
use crate::error::CliError;
use crate::scorers;

/// Jobs that may wait in the pool. What is under way is bounded by the window of chunks, which
/// holds far fewer: this bound is never reached.
const POOL_JOBS: usize = 1 << 20;

/// Scorers of this process and the threads that run them.
pub(crate) struct Local {
    scorers: Vec<Arc<Scorer>>,
    digests: Vec<String>,
    /// The scorers' digests with those of the models that they ask.
    identities: Vec<String>,
    tools: Tools,
    explain: bool,
}

impl Local {
    /// Finds the scorers and starts the threads.
    pub(crate) fn new(
        names: &[String],
        config: Option<&Path>,
        threads: usize,
        explain: bool,
    ) -> Result<Self, CliError> {
        let registry = scorers::registry(config)?;
        let (scorers, models) = scorers::named(&registry, config, names)?;
        Self::of(scorers, models, threads, explain)
    }

    /// Takes every scorer of a registry that asks no model.
    pub(crate) fn with_rules(
        registry: &Registry,
        threads: usize,
        explain: bool,
    ) -> Result<Self, CliError> {
        let rules = registry.iter().filter(|scorer| !scorer.asks_models());
        Self::of(rules.cloned().collect(), Arc::new(NoModels), threads, explain)
    }

    /// Keeps what engines are asked for, in a measurement.
    pub(crate) fn with_tape(mut self, tape: Arc<Tape>) -> Self {
        self.tools.tape = Some(tape);
        self
    }

    /// Takes scorers and what they ask.
    pub(crate) fn of(
        scorers: Vec<Arc<Scorer>>,
        models: Arc<dyn Models>,
        threads: usize,
        explain: bool,
    ) -> Result<Self, CliError> {
        let pool = Pool::new(threads, POOL_JOBS)
            .map_err(|error| CliError::Failed(format!("cannot start threads: {error}")))?;
        let identity = |scorer: &Arc<Scorer>| rubrics::sha256_text(&scorer.digest_with(&*models));
        Ok(Self {
            digests: scorers.iter().map(|scorer| scorer.digest_text()).collect(),
            identities: scorers.iter().map(identity).collect(),
            scorers,
            tools: Tools { pool, models, tape: None },
            explain,
        })
    }

    /// Position of the scorer called `name`.
    pub(crate) fn find(&self, name: &str) -> Result<usize, CliError> {
        let names = self.scorers.iter().map(|scorer| scorer.name());
        let found = names.clone().position(|known| known == name);
        found.ok_or_else(|| scorers::unknown(name, names))
    }

    /// Number of scorers.
    pub(crate) fn count(&self) -> usize {
        self.scorers.len()
    }

    /// Number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.tools.pool.threads()
    }

    /// One result for each input, from one scorer.
    pub(crate) fn score(&self, scorer: usize, inputs: &[Arc<Input>]) -> Vec<ScoreResult> {
        let ask = Ask { priority: Priority::Batch, explain: self.explain, ..Ask::default() };
        let outcomes =
            crate::block_on(rubrics::score(&self.scorers[scorer], inputs, ask, &self.tools));
        let result = |(index, scored): (usize, Scored)| {
            let frame = Frame {
                scorer_digest: &self.digests[scorer],
                queue: Duration::ZERO,
                exec: Duration::ZERO,
                cached: false,
            };
            convert::result(index, Echo::default(), &scored.outcome, frame)
        };
        outcomes.into_iter().enumerate().map(result).collect()
    }
}

impl Judging for Local {
    fn judges(&self) -> Vec<Judge> {
        let named = self.scorers.iter().zip(&self.identities);
        named
            .map(|(scorer, digest)| Judge {
                name: scorer.name().to_owned(),
                digest: digest.clone(),
            })
            .collect()
    }

    fn asks_models(&self) -> bool {
        self.scorers.iter().any(|scorer| scorer.asks_models())
    }

    fn judge(&self, inputs: Vec<ScoreInput>) -> Result<Vec<Judged>, CliError> {
        let inputs: Vec<Arc<Input>> =
            inputs.into_iter().map(|input| Arc::new(convert::input(input).0)).collect();
        let mut judged: Vec<Vec<ScoreResult>> = vec![Vec::new(); inputs.len()];
        for scorer in 0..self.scorers.len() {
            for (results, result) in judged.iter_mut().zip(self.score(scorer, &inputs)) {
                results.push(result);
            }
        }
        Ok(judged.into_iter().map(Ok).collect())
    }
}
