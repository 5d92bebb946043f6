//! Judging where models are asked: the walk through scorers and their parts, without holding a
//! thread while an engine works.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::kinds::{Case, Judging};
use crate::outcome::{Failure, Outcome};
use crate::pipeline::Pipeline;
use crate::scorer::Method;
use crate::session::Session;
use crate::{Input, Responses, Scorer};

/// Judges one input.
pub(crate) fn judge<'a>(
    scorer: &'a Arc<Scorer>,
    input: &'a Arc<Input>,
    session: &'a Session<'a>,
) -> Judging<'a> {
    Box::pin(async move {
        scorer.refuse_unread_fields(input)?;
        match &input.responses {
            Responses::Missing => Err(Failure::response_missing()),
            Responses::Conflicting => Err(Failure::response_conflict()),
            Responses::One(passage) => {
                let case = Case::new(input, passage)?;
                judge_case(scorer, case, session).await
            }
            Responses::Group(passages) => {
                if passages.is_empty() {
                    return Err(Failure::responses_empty());
                }
                let cases = passages.iter().map(|passage| Case::new(input, passage));
                judge_group(scorer, cases.collect(), session).await
            }
        }
    })
}

/// A scorer that compares needs every response; any other judges those that can be judged.
async fn judge_group<'a>(
    scorer: &'a Arc<Scorer>,
    cases: Vec<Result<Case<'a>, Failure>>,
    session: &'a Session<'a>,
) -> Outcome {
    let broken = cases.iter().find_map(|case| case.as_ref().err());
    if let Method::Model(method) = scorer.method() {
        match broken {
            None => {
                let cases = cases.into_iter().flatten().collect();
                return method.judge_group(cases, session).await;
            }
            Some(failure) if scorer.compares() => return Err(failure.clone()),
            Some(_) => {}
        }
    }
    let judged = cases.into_iter().map(|case| async move {
        match case {
            Ok(case) => judge_case(scorer, case, session).await,
            Err(failure) => Err(failure),
        }
    });
    scorer.grouped(join_all(judged).await)
}

/// Judges one response.
pub(crate) fn judge_case<'a>(
    scorer: &'a Arc<Scorer>,
    case: Case<'a>,
    session: &'a Session<'a>,
) -> Judging<'a> {
    Box::pin(async move {
        match scorer.method() {
            Method::Model(method) => method.judge(case, session).await,
            Method::Pipeline(pipeline, scorers) if scorer.walks() => {
                judge_pipeline(pipeline, scorers, case, session).await
            }
            Method::Answer(_) | Method::Arithmetic(..) | Method::Pipeline(..) => {
                let (scorer, input) = (Arc::clone(scorer), Arc::clone(case.input));
                let (response, ask) = (case.response.to_owned(), *session.ask());
                let work = move || scorer.judge_text(&input, &response, &ask);
                session.run(work).await?
            }
        }
    })
}

async fn judge_pipeline<'a>(
    pipeline: &'a Pipeline,
    scorers: &'a [Arc<Scorer>],
    case: Case<'a>,
    session: &'a Session<'a>,
) -> Outcome {
    if !pipeline.asks_in_turn() {
        let judged = scorers.iter().map(|scorer| judge_case(scorer, case, session));
        let outcomes = join_all(judged).await;
        return pipeline.combine(outcomes.into_iter().map(Some).collect());
    }
    let mut outcomes = vec![None; scorers.len()];
    while let Some(next) = pipeline.next(&outcomes) {
        outcomes[next] = Some(judge_case(&scorers[next], case, session).await);
    }
    pipeline.combine(outcomes)
}
