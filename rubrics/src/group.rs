//! Combines the outcomes of a group's responses.

use std::borrow::Cow;

use verifiers::Reason;

use crate::outcome::{Evidence, Failure, Member, Outcome, Score, Trace};

/// Mean of the scores of the responses, which for right and wrong answers is the pass rate; if a
/// response has none, the first transient failure, or else the first: a group with a member that may be
/// asked for again is not kept.
pub(crate) fn outcome_mean(outcomes: Vec<Outcome>) -> Outcome {
    let trace = trace(&outcomes);
    let members = ranked(outcomes);
    let failed = first_failure(members.iter().map(|member| &member.outcome));
    let scores = members.iter().flat_map(|member| &member.outcome).map(|scored| scored.score);
    #[expect(clippy::cast_precision_loss, reason = "a group has far fewer than 2^53 members")]
    let mean = scores.sum::<f64>() / members.len() as f64;
    let evidence = Evidence { members: Some(members), trace, ..Evidence::default() };
    match failed {
        None => Ok(Score {
            label: Some(Cow::Borrowed("group")),
            evidence,
            ..Score::proven(mean, Reason::code("group_mean"))
        }),
        Some(failure) => Err(failure.with_evidence(evidence)),
    }
}

/// The first transient failure without its evidence, or else the first; `None` if there is none.
pub(crate) fn first_failure<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Option<Failure> {
    let failures = outcomes.filter_map(|outcome| outcome.as_ref().err());
    let first = failures.min_by_key(|failure| failure.kind.is_lasting())?;
    Some(Failure::new(first.kind, first.reason.clone()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::FailureKind;

    #[test]
    fn transient_failures_of_members_come_first() {
        let check = |kinds: &[Option<FailureKind>], expected: Option<FailureKind>| {
            let outcome = |kind: &Option<FailureKind>| match kind {
                None => Ok(Score::proven(1.0, Reason::code("test"))),
                Some(kind) => Err(Failure::new(*kind, Reason::code("test"))),
            };
            let whole = outcome_mean(kinds.iter().map(outcome).collect());
            assert_eq!(whole.err().map(|failure| failure.kind), expected, "{kinds:?}");
        };
        let [abstain, refused, full, late] = [
            FailureKind::Abstain,
            FailureKind::Refused,
            FailureKind::Overloaded,
            FailureKind::Timeout,
        ]
        .map(Some);
        check(&[None, None], None);
        check(&[None, abstain, refused], abstain);
        check(&[abstain, None, full, late], full);
    }
}
