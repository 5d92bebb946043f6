//! Grades for the responses of a group side by side, over several random orders.
//!
//! Listwise judging with orders averaged is our construction on the lines of URPO
//! (arXiv 2507.17515), whose referee is not public: two orders or more keep the judge's fondness for
//! a place from deciding.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use verifiers::Reason;

use super::ask::{JudgeCaller, JudgeReply, Slots};
use super::form::{JudgementForm, Said};
use super::slots::{common_slots, shared_conversation};
use crate::Message;
use crate::group;
use crate::outcome::{Evidence, Failure, Outcome, Score};
use crate::prompt::quoted;
use crate::sample::Sample;

/// The slots that a wording must have.
pub(super) const SLOTS: &[&str] = &["responses"];

pub(super) fn slots(form: &JudgementForm, conversation: &[Message], responses: &[&str]) -> Slots {
    let mut listed = String::new();
    for (number, response) in (1..).zip(responses) {
        let quotation = quoted(response);
        write!(listed, "Response {number}:\n{quotation}").expect("memory takes it");
    }
    let mut slots = common_slots(form, conversation);
    slots.push(("responses", listed.trim_end_matches('\n').to_owned()));
    slots
}

pub(super) async fn judge_list(
    mut caller: JudgeCaller<'_>,
    orders: u64,
    samples: &[Sample<'_>],
) -> Outcome {
    let form = caller.prompt_options.form.clone();
    let thinking = caller.prompt_options.thinking;
    let shown = samples.iter().map(|sample| thinking.shown(sample.response));
    let shown: Vec<Cow<'_, str>> = shown.collect();
    let responses: Vec<&str> = shown.iter().map(|text| &**text).collect();
    let conversation = shared_conversation(samples)?;
    let seed = caller.client.options().seed;
    let orders = balanced(orders, |n| order(seed, n, &conversation, &responses));
    let questions = orders.iter().map(|order| {
        let shown: Vec<&str> = order.iter().map(|at| responses[*at]).collect();
        (slots(&form, &conversation, &shown), shown.len())
    });
    let answers = caller.ask(questions.collect(), false).await?;
    let evidence = caller.evidence;
    match means(&orders, answers, responses.len()) {
        Ok(grades) => {
            let members = grades.into_iter().map(|grade| Ok(score_of(grade, &form)));
            let mut whole = group::outcome_mean(members.collect())?;
            let members = whole.evidence.members.take();
            whole.evidence = Evidence { members, ..evidence };
            Ok(whole)
        }
        Err(failure) => Err(failure.with_evidence(evidence)),
    }
}

/// The mean grade of each response over the orders. An order that cannot be read leaves the others
/// unbalanced, so it fails them all.
fn means(
    orders: &[Vec<usize>],
    answers: Vec<Result<JudgeReply, Failure>>,
    count: usize,
) -> Result<Vec<f64>, Failure> {
    #[expect(clippy::cast_precision_loss, reason = "there are few orders")]
    let n_orders = orders.len() as f64;
    let mut means = vec![0.0; count];
    for (order, answered) in orders.iter().zip(answers) {
        let judgement = answered?.judgement.expect("lists are written");
        let grades = match judgement.said {
            Said::Grades(grades) => grades,
            Said::Grade(_) | Said::Winner(_) => unreachable!("a list was requested"),
        };
        for (at, grade) in order.iter().zip(grades) {
            means[*at] += f64::from(grade) / n_orders;
        }
    }
    Ok(means)
}

/// `count` orders, every other one the reverse of the one before it: where their number is even, each
/// response has the same mean place.
fn balanced(count: u64, order: impl Fn(u64) -> Vec<usize>) -> Vec<Vec<usize>> {
    let one = |n: u64| {
        let mut order = order(n / 2);
        if n % 2 == 1 {
            order.reverse();
        }
        order
    };
    (0..count).map(one).collect()
}

/// Returns a random order determined by the seed and the judged texts: Fisher and Yates with the
/// numbers of a hash.
fn order(seed: u64, n: u64, conversation: &[Message], responses: &[&str]) -> Vec<usize> {
    let mut hash = Sha256::new_with_prefix(seed.to_le_bytes());
    hash.update(n.to_le_bytes());
    let turns = conversation.iter().flat_map(|turn| [&*turn.role, &*turn.content]);
    for text in turns.chain(responses.iter().copied()) {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let key = hash.finalize();
    let mut order: Vec<usize> = (0..responses.len()).collect();
    for last in (1..order.len()).rev() {
        let draw = Sha256::new_with_prefix(key).chain_update((last as u64).to_le_bytes());
        let draw = draw.finalize();
        let draw = u64::from_le_bytes(*draw.first_chunk().expect("a digest has 32 bytes"));
        let at = usize::try_from(draw % (last as u64 + 1)).expect("it is at most an index");
        order.swap(last, at);
    }
    order
}

fn score_of(grade: f64, form: &JudgementForm) -> Score {
    Score { raw: Some(grade), ..Score::proven(form.share(grade), Reason::code("listed_grade")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_order_is_reversed() {
        for responses in [&["a", "b"][..], &["a", "b", "c"]] {
            let orders = balanced(4, |n| order(5, n, &[], responses));
            for pair in orders.chunks(2) {
                let reversed: Vec<usize> = pair[0].iter().rev().copied().collect();
                assert_eq!(pair[1], reversed);
            }
        }
        assert_eq!(balanced(1, |_| vec![1, 0]), [[1, 0]]);
    }

    #[test]
    fn e3_orders_are_random_and_determined_by_the_input() {
        let responses = ["a", "b", "c", "d"];
        let own = |seed, n| order(seed, n, &[], &responses);
        assert_eq!(own(1, 0), own(1, 0));
        let mut counts = [[0; 4]; 4];
        for seed in 0..2000 {
            let order = own(seed, 0);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
            for (place, at) in order.iter().enumerate() {
                counts[place][*at] += 1;
            }
        }
        assert!(counts.iter().flatten().all(|n| (400..600).contains(n)), "{counts:?}");
        assert!((0..50).any(|n| own(1, n) != own(1, 0)));
        assert!((0..50).any(|n| order(n, 0, &[], &["a", "x"]) != order(n, 0, &[], &["x", "a"])));
    }
}
