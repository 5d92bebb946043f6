//! Combines the outcomes of a group's responses.

use std::borrow::Cow;

use verifiers::Reason;

use crate::outcome::{Evidence, Failure, Member, Outcome, Score, Trace};

/// Mean of the scores of the responses, which for right and wrong answers is the pass rate; the
/// first failure if a response has none.
pub(crate) fn outcome_mean(outcomes: Vec<Outcome>) -> Outcome {
    let trace = trace(&outcomes);
    let members = ranked(outcomes);
    let scores: Result<Vec<f64>, &Failure> =
        members.iter().map(|member| member.outcome.as_ref().map(|scored| scored.score)).collect();
    let whole = scores.map(|scores| {
        #[expect(clippy::cast_precision_loss, reason = "a group has far fewer than 2^53 members")]
        let count = scores.len() as f64;
        scores.iter().sum::<f64>() / count
    });
    let failed = whole.map_err(|failure| (failure.kind, failure.reason.clone()));
    let evidence = Evidence { members: Some(members), trace, ..Evidence::default() };
    match failed {
        Ok(score) => Ok(Score {
            label: Some(Cow::Borrowed("group")),
            evidence,
            ..Score::proven(score, Reason::code("group_mean"))
        }),
        Err((kind, reason)) => Err(Failure::new(kind, reason).with_evidence(evidence)),
    }
}

/// Group members with competition ranks: equal scores share the best rank.
pub(crate) fn ranked(outcomes: Vec<Outcome>) -> Vec<Member> {
    let score = |outcome: &Outcome| outcome.as_ref().ok().map(|scored| scored.score);
    let scores: Vec<Option<f64>> = outcomes.iter().map(score).collect();
    let rank = |own: f64| 1 + scores.iter().flatten().filter(|other| **other > own).count();
    let ranks: Vec<Option<usize>> = scores.iter().map(|own| own.map(rank)).collect();
    let members = outcomes.into_iter().zip(ranks);
    members
        .map(|(outcome, rank)| Member { outcome, rank, normalised: None, against: None })
        .collect()
}

/// Sum of the traces of the outcomes; `None` if no model was called.
pub(crate) fn trace<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Option<Trace> {
    let mut whole: Option<Trace> = None;
    for outcome in outcomes {
        let evidence = Evidence::of(outcome);
        if let Some(trace) = &evidence.trace {
            whole.get_or_insert_default().add(trace);
        }
    }
    whole
}
