//! Evaluates a scorer on an input.
//!
//! [`evaluate`] splits the input into samples and calls the scorer's method on each; a pipeline
//! evaluates its parts in the same way. Verifiers run on the worker threads of the pool: a scorer
//! without models is evaluated there from beginning to end ([`Runner::Worker`]), and the same
//! function then waits for nothing but its next time slice. Scorers with models are evaluated on
//! the caller's task ([`Runner::Engines`]), which hands parts without models to a worker.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::bounds::{TimeSlice, WorkBounds};
use crate::engine_client::EngineClient;
use crate::kinds::{KindContext, OtherScorers, ScoreFuture};
use crate::outcome::{Failure, Outcome};
use crate::pipeline::Pipeline;
use crate::sample::Sample;
use crate::scorer::ScorerMethod;
use crate::{Input, Passage, Responses, ScoreOptions, Scorer, group};

/// Place of an evaluation.
#[derive(Clone, Copy)]
pub(crate) enum Runner<'a> {
    /// On this thread, without models.
    Worker(Worker<'a>),
    /// On the caller's task, with engines and worker threads to call.
    Engines(&'a EngineClient<'a>),
}

/// Evaluation on one thread: its options, its bounds, and when it lets others run.
#[derive(Clone, Copy)]
pub(crate) struct Worker<'a> {
    pub(crate) options: &'a ScoreOptions,
    pub(crate) bounds: &'a WorkBounds,
    pub(crate) slice: &'a TimeSlice,
}

/// Evaluates one input on this thread. A scorer that calls models is refused; [`crate::score`]
/// evaluates it.
pub fn evaluate_now(scorer: &Arc<Scorer>, input: &Arc<Input>, options: &ScoreOptions) -> Outcome {
    let (bounds, slice) = (WorkBounds::new(options), TimeSlice::endless(Instant::now()));
    let worker = Worker { options, bounds: &bounds, slice: &slice };
    now(evaluate(scorer, input, Runner::Worker(worker)))
}

/// The result of an evaluation on a worker that is not interrupted.
fn now(evaluation: impl Future<Output = Outcome>) -> Outcome {
    evaluation.now_or_never().expect("an endless time slice is never over")
}

/// Evaluates one input.
pub(crate) async fn evaluate(
    scorer: &Arc<Scorer>,
    input: &Arc<Input>,
    runner: Runner<'_>,
) -> Outcome {
    scorer.refuse_unused_fields(input)?;
    match &input.responses {
        Responses::Missing => Err(Failure::response_missing()),
        Responses::Conflicting => Err(Failure::response_conflict()),
        Responses::One(passage) => {
            evaluate_sample(scorer, Sample::new(input, passage)?, runner).await
        }
        Responses::Group(passages) if passages.is_empty() => Err(Failure::responses_empty()),
        Responses::Group(passages) => {
            let samples = passages.iter().map(|passage| Sample::new(input, passage));
            evaluate_group(scorer, samples.collect(), runner).await
        }
    }
}

/// A scorer that compares needs every response; any other scores those that it can.
async fn evaluate_group(
    scorer: &Arc<Scorer>,
    samples: Vec<Result<Sample<'_>, Failure>>,
    runner: Runner<'_>,
) -> Outcome {
    if let (ScorerMethod::Model(model), Runner::Engines(client)) = (scorer.method(), runner) {
        match samples.iter().find_map(|sample| sample.as_ref().err()) {
            None => {
                let parts = PartScorers { scorers: scorer.parts(), client };
                let context = KindContext { client, scorers: &parts };
                let samples = samples.into_iter().flatten().collect();
                return model.evaluate_group(samples, context).await;
            }
            Some(failure) if scorer.is_pairwise() => return Err(failure.clone()),
            Some(_) => {}
        }
    }
    let outcomes = samples.into_iter().map(|sample| async move {
        match sample {
            Ok(sample) => evaluate_sample(scorer, sample, runner).await,
            Err(failure) => Err(failure),
        }
    });
    let group = group::outcome_mean(runner.all(outcomes).await);
    match scorer.method() {
        ScorerMethod::Pipeline(pipeline) => pipeline.normalise(group),
        ScorerMethod::Answer(_) | ScorerMethod::Arithmetic(_) | ScorerMethod::Model(_) => group,
    }
}

/// Evaluates one response.
async fn evaluate_sample(scorer: &Arc<Scorer>, sample: Sample<'_>, runner: Runner<'_>) -> Outcome {
    let (options, bounds) = (runner.options(), runner.bounds());
    bounds.check()?;
    match (scorer.method(), runner) {
        (_, Runner::Engines(client)) if !scorer.is_async() => {
            evaluate_on_worker(scorer, sample, client).await
        }
        (ScorerMethod::Answer(answer), _) => {
            answer.evaluate(sample.input, sample.response, options.explain, bounds)
        }
        (ScorerMethod::Arithmetic(arithmetic), _) => {
            arithmetic.evaluate(sample.input, sample.response, bounds)
        }
        (ScorerMethod::Pipeline(pipeline), _) => {
            evaluate_pipeline(pipeline, scorer.parts(), sample, runner).await
        }
        (ScorerMethod::Model(model), Runner::Engines(client)) => {
            let parts = PartScorers { scorers: scorer.parts(), client };
            model.evaluate(sample, KindContext { client, scorers: &parts }).await
        }
        (ScorerMethod::Model(_), Runner::Worker(_)) => {
            let detail = "this scorer asks models or other scorers, which one thread cannot do";
            Err(Failure::refused("models_needed", detail))
        }
    }
}

/// Hands the evaluation of a scorer without models to a worker thread.
async fn evaluate_on_worker(
    scorer: &Arc<Scorer>,
    sample: Sample<'_>,
    client: &EngineClient<'_>,
) -> Outcome {
    let (scorer, input, options) = (scorer.clone(), sample.input.clone(), *client.options());
    let bounds = client.bounds().clone();
    let passage = Passage::Text(sample.response.to_owned());
    let evaluation = move || {
        let sample = Sample::new(&input, &passage)?;
        let slice = TimeSlice::endless(Instant::now());
        let worker = Worker { options: &options, bounds: &bounds, slice: &slice };
        now(evaluate_sample(&scorer, sample, Runner::Worker(worker)))
    };
    client.run(evaluation).await?
}

/// Evaluates the parts side by side if the pipeline needs all of them anyway, and one after the
/// other where one part may make the next unnecessary. On a worker nothing runs side by side.
async fn evaluate_pipeline(
    pipeline: &Pipeline,
    parts: &[Arc<Scorer>],
    sample: Sample<'_>,
    runner: Runner<'_>,
) -> Outcome {
    let is_sequential = pipeline.is_sequential() || matches!(runner, Runner::Worker(_));
    let outcomes = if is_sequential {
        let mut outcomes = vec![None; parts.len()];
        while let Some(next) = pipeline.next(&outcomes) {
            outcomes[next] = Some(boxed(&parts[next], sample, runner).await);
        }
        outcomes
    } else {
        let outcomes = join_all(parts.iter().map(|part| boxed(part, sample, runner))).await;
        outcomes.into_iter().map(Some).collect()
    };
    let combined = pipeline.combine(outcomes)?;
    Ok(if runner.options().explain { pipeline.explained(combined) } else { combined })
}

/// The recursion of a pipeline into its parts.
fn boxed<'a>(scorer: &'a Arc<Scorer>, sample: Sample<'a>, runner: Runner<'a>) -> ScoreFuture<'a> {
    Box::pin(evaluate_sample(scorer, sample, runner))
}

impl<'a> Runner<'a> {
    fn options(&self) -> &'a ScoreOptions {
        match self {
            Self::Worker(worker) => worker.options,
            Self::Engines(client) => client.options(),
        }
    }

    fn bounds(&self) -> &'a WorkBounds {
        match self {
            Self::Worker(worker) => worker.bounds,
            Self::Engines(client) => client.bounds(),
        }
    }

    /// The results of all evaluations, side by side where they may wait for engines.
    async fn all<F: Future<Output = Outcome>>(
        &self,
        evaluations: impl ExactSizeIterator<Item = F>,
    ) -> Vec<Outcome> {
        match self {
            Self::Engines(_) => join_all(evaluations).await,
            Self::Worker(worker) => {
                let mut outcomes = Vec::with_capacity(evaluations.len());
                for evaluation in evaluations {
                    worker.slice.give_way(Instant::now()).await;
                    outcomes.push(evaluation.await);
                }
                outcomes
            }
        }
    }
}

/// The scorers that a kind may call.
struct PartScorers<'a> {
    scorers: &'a [Arc<Scorer>],
    client: &'a EngineClient<'a>,
}

impl OtherScorers for PartScorers<'_> {
    fn evaluate<'a>(&'a self, name: &'a str, sample: Sample<'a>) -> ScoreFuture<'a> {
        match self.scorers.iter().find(|scorer| scorer.name() == name) {
            Some(scorer) => boxed(scorer, sample, Runner::Engines(self.client)),
            None => Box::pin(std::future::ready(Err(Failure::internal()))),
        }
    }
}
