use super::*;
use crate::kinds::options::WritingOptions;

fn capo(vote: Vote, all_failed: AllFailed) -> Capo {
    Capo {
        critique: Critique { writing: WritingOptions::greedy(8), constrain: false },
        wording: Wording::built_in("critic-wrong-steps"),
        splitter: Splitter::default(),
        critiques: 4,
        vote,
        all_failed,
        weights: Weights::default(),
        show_reference: false,
        outcome: None,
    }
}

/// Critiques as the model wrote them.
fn read_critiques(texts: &[&str], n_steps: usize) -> Vec<Result<Listed, Failure>> {
    let read = texts.iter();
    read.map(|text| verdict::listed(text, verdict::WRONG, n_steps)).collect()
}

#[test]
fn a3_capo_votes_over_written_critiques() {
    let texts = [
        "Wrong steps: [1, 2]",
        "Step 1: no.\nWrong steps: [1]",
        "Wrong steps: [1, 3, 9]",
        "I am not sure.",
    ];
    let check = |vote, expected: &[f64]| {
        let counted = capo(vote, AllFailed::Fail).vote(&read_critiques(&texts, 4), 4);
        let counted = counted.expect("three can be read");
        assert_eq!((counted.readable, counted.critiques, counted.foreign), (3, 4, 1));
        assert_eq!(counted.weights.len(), expected.len());
        for (weight, expected) in counted.weights.iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-12, "{vote:?}");
        }
        assert_eq!(counted.reason().code, "critique_vote_flagged");
    };
    let third = 1.0 / 3.0;
    check(Vote::Intersection, &[1.0, 0.0, 0.0, 0.0]);
    check(Vote::Majority, &[1.0, 0.0, 0.0, 0.0]);
    check(Vote::Union, &[1.0, 1.0, 1.0, 0.0]);
    check(Vote::Average, &[1.0, third, third, 0.0]);
}

#[test]
fn a3_capo_unreadable_critiques_fail_unless_configured() {
    let texts = ["Wrong steps: none", "", "[1]", "Wrong steps: [1] or so"];
    let vote = |all_failed| capo(Vote::Union, all_failed).vote(&read_critiques(&texts, 2), 2);
    let failure = vote(AllFailed::Fail).expect_err("nothing was read");
    assert_eq!(failure.kind, FailureKind::ParseError);
    let counted = vote(AllFailed::NoErrors).expect("T_err is empty");
    assert_eq!(counted.weights, [0.0, 0.0]);
    assert_eq!(counted.reason().code, "no_critique_read");
}
