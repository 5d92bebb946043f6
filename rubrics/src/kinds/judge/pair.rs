//! Comparison of responses: every pair in both orders, by the difference of the log-probabilities
//! of the two verdicts.
//!
//! A pair of equal texts is a tie without a request: any preference would be about positions and
//! not about texts. A pair whose orders disagree has no verdict unless the configuration averages
//! them.

use std::borrow::Cow;

use verifiers::Reason;

use super::ask::{JudgeCaller, JudgeReply, Slots};
use super::form::JudgementForm;
use super::rules::{Average, Inconsistent, ScoringRules};
use super::slots::{common_slots, shared_conversation};
use crate::Message;
use crate::combine::preference::preference;
use crate::combine::tournament::mean_wins;
use crate::group;
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, PartReport, Score};
use crate::sample::Sample;
use base::stats::sigmoid;

/// The slots that a wording must have.
pub(super) const SLOTS: &[&str] = &["response_a", "response_b"];

/// The verdict on a pair.
#[derive(Debug, Clone, Copy)]
struct PairVerdict {
    /// Probability that the first response is better.
    probability: f64,
    /// Its log-odds.
    log_odds: f64,
    /// Preference of the judge for the first position, from -1 to 1; `None` without a request.
    position_bias: Option<f64>,
}

/// Two responses of a group and their verdict; `first < second`.
struct JudgedPair {
    first: usize,
    second: usize,
    found: Result<PairVerdict, Failure>,
}

pub(super) fn slots(form: &JudgementForm, conversation: &[Message], responses: [&str; 2]) -> Slots {
    let mut slots = common_slots(form, conversation);
    slots.push(("response_a", responses[0].to_owned()));
    slots.push(("response_b", responses[1].to_owned()));
    slots
}

pub(super) async fn judge_pairs(
    mut caller: JudgeCaller<'_>,
    rules: ScoringRules,
    samples: &[Sample<'_>],
) -> Outcome {
    let form = &caller.prompt_options.form;
    let mut questions = Vec::new();
    let mut pairs = Vec::new();
    let thinking = caller.prompt_options.thinking;
    let shown = samples.iter().map(|sample| thinking.shown(sample.response));
    let shown: Vec<Cow<'_, str>> = shown.collect();
    let conversation = shared_conversation(samples)?;
    for (second, b) in shown.iter().enumerate() {
        for (first, a) in shown[..second].iter().enumerate() {
            let is_tie = a == b;
            pairs.push((first, second, is_tie));
            if !is_tie {
                questions.push((slots(form, &conversation, [a, b]), 2));
                questions.push((slots(form, &conversation, [b, a]), 2));
            }
        }
    }
    let answers =
        if questions.is_empty() { Vec::new() } else { caller.ask(questions, true).await? };
    let mut answers = answers.into_iter();
    let mut answer = || answers.next().expect("every question has an answer");
    let found = |(first, second, is_tie)| {
        let found = if is_tie {
            Ok(TIE)
        } else {
            let (in_order, swapped) = (answer(), answer());
            both(in_order, swapped).and_then(|orders| decide(orders, rules))
        };
        JudgedPair { first, second, found }
    };
    let pairs: Vec<JudgedPair> = pairs.into_iter().map(found).collect();
    overall(&pairs, samples.len(), caller.evidence)
}

/// Equal texts are equally good.
const TIE: PairVerdict = PairVerdict { probability: 0.5, log_odds: 0.0, position_bias: None };

/// Returns the margins of the first position, in both orders.
fn both(
    in_order: Result<JudgeReply, Failure>,
    swapped: Result<JudgeReply, Failure>,
) -> Result<[f64; 2], Failure> {
    let margin = |answered: JudgeReply| answered.labels.expect("winners are read").margin();
    Ok([margin(in_order?), margin(swapped?)])
}

/// Decides a pair by the margins of the first position.
fn decide([in_order, swapped]: [f64; 2], rules: ScoringRules) -> Result<PairVerdict, Failure> {
    let found = preference(sigmoid(in_order), sigmoid(swapped));
    let found = found.expect("a logistic function is from 0 to 1");
    if !found.is_consistent && rules.inconsistent == Inconsistent::Abstain {
        let detail = format!(
            "the judge prefers the response in the same place in both orders, with log-odds of \
             {in_order:.3} and {swapped:.3}"
        );
        let reason = Reason::with("order_inconsistent", detail);
        return Err(Failure::new(FailureKind::Abstain, reason));
    }
    let (probability, log_odds) = match rules.average {
        Average::LogOdds => {
            let mean = f64::midpoint(in_order, -swapped);
            (sigmoid(mean), mean)
        }
        Average::Probability => (found.probability, log_odds(found.probability)),
    };
    Ok(PairVerdict { probability, log_odds, position_bias: Some(found.position_bias) })
}

/// Log-odds of a probability; certainties stay finite.
fn log_odds(probability: f64) -> f64 {
    let p = probability.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
    (p / (1.0 - p)).ln()
}

/// The outcome for the group: the first response's, with all responses beside it.
fn overall(pairs: &[JudgedPair], count: usize, mut evidence: Evidence) -> Outcome {
    let mut against = vec![vec![None; count]; count];
    for pair in pairs {
        if let Ok(decided) = &pair.found {
            against[pair.first][pair.second] = Some(decided.probability);
            against[pair.second][pair.first] = Some(1.0 - decided.probability);
        }
    }
    let wins = mean_wins(&against).into_iter().enumerate();
    let outcomes = wins.map(|(at, wins)| member(pairs, at, wins));
    let mut members = group::ranked(outcomes.collect());
    for (member, against) in members.iter_mut().zip(against) {
        member.against = Some(against);
    }
    let first = members[0].outcome.clone();
    evidence.members = Some(members);
    evidence.parts = position_bias(pairs).map(|bias| vec![bias]);
    match first {
        Ok(mut scored) => {
            if let [pair] = pairs {
                let decided = pair.found.as_ref().expect("the first response has a score");
                scored.raw = Some(decided.log_odds);
                scored.label = Some(winner(decided.probability).into());
            }
            Ok(Score { evidence, ..scored })
        }
        Err(failure) => Err(failure.with_evidence(evidence)),
    }
}

/// The outcome of one response. A pair without a verdict does not count where others decide; a pair
/// that could not be judged fails both of its responses.
fn member(pairs: &[JudgedPair], at: usize, wins: Option<f64>) -> Outcome {
    let own = pairs.iter().filter(|pair| pair.first == at || pair.second == at);
    let failures = own.filter_map(|pair| pair.found.as_ref().err());
    let mut failures: Vec<&Failure> = failures.collect();
    failures.sort_by_key(|failure| failure.kind == FailureKind::Abstain);
    let broken = failures.first().filter(|first| first.kind != FailureKind::Abstain);
    match (broken, wins) {
        (None, Some(score)) => Ok(Score::proven(score, Reason::code("win_rate"))),
        (Some(failure), _) => Err((*failure).clone()),
        (None, None) => {
            let first = failures.first().expect("a pair without a verdict has a failure");
            Err((*first).clone())
        }
    }
}

/// Returns the mean position bias over all judged pairs, from -1 to 1; 0 for an unbiased judge.
fn position_bias(pairs: &[JudgedPair]) -> Option<PartReport> {
    let found = pairs.iter().filter_map(|pair| pair.found.as_ref().ok());
    let biases: Vec<f64> = found.filter_map(|decided| decided.position_bias).collect();
    #[expect(clippy::cast_precision_loss, reason = "a group has few pairs")]
    let count = biases.len() as f64;
    let mean = biases.iter().sum::<f64>() / count;
    (!biases.is_empty()).then(|| PartReport {
        name: "position_bias".to_owned(),
        weight: 0.0,
        outcome: Some(Ok(Score::proven(mean, Reason::code("position_bias")))),
    })
}

fn winner(probability: f64) -> &'static str {
    match probability.total_cmp(&0.5) {
        std::cmp::Ordering::Less => "second",
        std::cmp::Ordering::Equal => "tie",
        std::cmp::Ordering::Greater => "first",
    }
}
