//! Scorer kinds, one file or folder each: options, a check against the served models, and
//! evaluation of a sample.
//!
//! [`answer`] and [`arithmetic`] run verifiers. All others implement [`ScorerKind`]: they call
//! models through a [`KindContext`], but for [`code`], [`lp_program`] and [`verilog`], which wait for
//! processes, and [`sql`], which runs queries. A kind does not use the registry or other scorers directly: it reads its options
//! from a configuration section and [`Names`], and calls another scorer by its name.
//!
//! To add a kind that calls a model:
//!
//! 1. a file or folder here, with a `mod` line and tests;
//! 2. a row of `MODEL_KINDS` in `registry/kind_table.rs`;
//! 3. its wording as a file of `rubrics/prompts`, listed in `FILES` of `prompt/mod.rs` and in
//!    `versions.tsv`;
//! 4. for an optional input field that no kind reads yet, a flag of [`InputFields`], its check in
//!    `scorer.rs`, and the field wherever `principles` is one: `input.rs`, `ScoreInput` of the
//!    crate `openapi`, `serve/src/convert.rs`, `serve/src/signing/input.rs`, `scoring/src/mapping`;
//! 5. a page of `docs/scorers` named as the kind, with a configuration, a request and a reply,
//!    which `tests/scorer_examples.rs` runs; a row of `docs/scorers.md`, and of `docs/papers.md`
//!    for a paper;
//! 6. a scorer of the embedded model in `registry/default_model.toml`, and its name in the list of
//!    `docs/configuration.md`;
//! 7. if it reads a vocabulary, a row of `KINDS` in `tests/http/mixed.rs`.
//!
//! A verifier is added as `verifiers/src/lib.rs` lists. A formula of pipelines is a variant of
//! [`Combine`](crate::pipeline::Combine): its name in `registry/pipelines/read.rs`, its value in
//! `pipeline/combined.rs`, the other matches that the compiler names, tests in `pipeline/tests.rs`,
//! and a row of `docs/scorers/pipeline.md`.

pub(crate) mod answer;
pub(crate) mod arithmetic;
pub(crate) mod code;
pub(crate) mod critic;
pub(crate) mod grounded;
pub(crate) mod judge;
pub(crate) mod lp_program;
mod names;
pub(crate) mod native;
pub(crate) mod options;
pub(crate) mod principles;
pub(crate) mod process;
mod prompting;
pub(crate) mod reward;
pub(crate) mod rubric;
pub(crate) mod sql;
pub(crate) mod tool;
pub mod toolbox;
pub(crate) mod validate;
pub(crate) mod verilog;

use std::future::Future;
use std::pin::Pin;

use futures_util::future::join_all;
use serde_json::Value;

use crate::engine_client::EngineClient;
use crate::group;
use crate::models::Models;
use crate::outcome::Outcome;
use crate::programs::Programs;
use crate::sample::Sample;

pub(crate) use names::Names;

/// An evaluation in progress.
pub(crate) type ScoreFuture<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Evaluates samples by calling models. Immutable once its options are read.
pub(crate) trait ScorerKind: Send + Sync {
    /// Name of the kind in configurations.
    fn name(&self) -> &'static str;

    /// Purpose in one sentence, without its full stop.
    fn description(&self) -> &'static str;

    /// Revision, raised with every change that may change a score.
    fn revision(&self) -> u32 {
        1
    }

    /// Everything that may change a score: options with their defaults, digests of prompts.
    fn options(&self) -> Value;

    /// Names of the models and adapters that it calls.
    fn models(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Names of the scorers that it calls through [`KindContext::scorer`].
    fn scorers(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The sandbox that it runs programs in.
    fn programs(&self) -> Option<&Programs> {
        None
    }

    /// Optional input fields that it uses.
    fn input_fields(&self) -> InputFields {
        InputFields::default()
    }

    /// Whether it compares the responses of a group and refuses a single response.
    fn is_pairwise(&self) -> bool {
        false
    }

    /// Whether raw values are logits or differences of log-probabilities, which a calibration can
    /// map to scores.
    fn calibrates(&self) -> bool {
        false
    }

    /// Score of an empty response; `None` if empty responses are evaluated like any other.
    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        None
    }

    /// Checks that the served models have the heads, labels and roles that it needs.
    ///
    /// # Errors
    /// Missing requirements, for the operator.
    fn check(&self, _: &dyn Models) -> Result<(), String> {
        Ok(())
    }

    /// Scores one response.
    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a>;

    /// Scores the responses of a group, of which there is at least one: each by itself unless the
    /// kind compares them.
    fn evaluate_group<'a>(
        &'a self,
        samples: Vec<Sample<'a>>,
        context: KindContext<'a>,
    ) -> ScoreFuture<'a> {
        Box::pin(async move {
            let outcomes = samples.into_iter().map(|sample| self.evaluate(sample, context));
            self.aggregate_group(join_all(outcomes).await)
        })
    }

    /// Combines the outcomes of responses that were scored one by one; their mean by default.
    fn aggregate_group(&self, outcomes: Vec<Outcome>) -> Outcome {
        group::outcome_mean(outcomes)
    }
}

/// The services that a kind may call during an evaluation.
#[derive(Clone, Copy)]
pub(crate) struct KindContext<'a> {
    /// Calls engines and worker threads.
    pub(crate) client: &'a EngineClient<'a>,
    /// The scorers of [`ScorerKind::scorers`].
    pub(crate) scorers: &'a dyn OtherScorers,
}

/// Scorers that another scorer calls.
pub(crate) trait OtherScorers: Sync {
    /// Evaluates a sample with the scorer called `name`; an internal failure if there is none.
    fn evaluate<'a>(&'a self, name: &'a str, sample: Sample<'a>) -> ScoreFuture<'a>;
}

/// Optional fields of an input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of an input, independent of the others"
)]
pub(crate) struct InputFields {
    /// `steps`.
    pub(crate) steps: bool,
    /// `principles`.
    pub(crate) principles: bool,
    /// `rubric`.
    pub(crate) rubric: bool,
    /// `context`.
    pub(crate) context: bool,
}

impl InputFields {
    /// The fields that are in either set.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps || other.steps,
            principles: self.principles || other.principles,
            rubric: self.rubric || other.rubric,
            context: self.context || other.context,
        }
    }
}
