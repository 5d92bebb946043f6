//! `mode = "thoughts"`: the steps of a `<think>` text, labelled by the reflections in it, and the
//! advantages of its tokens (TP-GRPO, 2507.23317).
//!
//! Another scorer measures the outcome, because labels mean something else in a right solution
//! than in a wrong one. Rewards are relative to the group: outcomes are standardised over it, and
//! what a wrong thought costs grows with its accuracy. A response whose outcome could not be
//! measured is no part of either.

use futures_util::future::join_all;
use serde::Serialize;
use verifiers::Reason;

use super::critique::{Critique, CritiqueRequest, OutcomeScorer, outcome_scorer};
use super::steps::{Mark, Steps};
use super::verdict::{self, Listed};
use crate::combine::Variance;
use crate::combine::group::{Normalisation, advantages};
use crate::combine::thoughts::{Thought, ThoughtLabel, advantage, capability, merge};
use crate::config::Section;
use crate::engine_client::GeneratedText;
use crate::kinds::options::{Slots, Wording};
use crate::kinds::prompting::{self, EvaluationLog, uncombined};
use crate::kinds::{KindContext, Names};
use crate::outcome::{Evidence, Failure, Outcome, PartReport, Score, SpanNote};
use crate::sample::Sample;

/// Label of spans with advantages.
const TOKEN_ADVANTAGE: &str = "token_advantage";
/// Addend of the deviation, which bounds the advantages of a group with little spread.
const EPSILON: f64 = 1e-9;

/// The options of the mode.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Thoughts {
    #[serde(flatten)]
    pub(super) critique: Critique,
    /// Prompt for a right solution.
    pub(super) right: Wording,
    /// Prompt for a wrong solution.
    pub(super) wrong: Wording,
    alpha: f64,
    variance: Variance,
    pub(super) outcome: OutcomeScorer,
}

impl Thoughts {
    pub(super) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Self> {
        let variances = [("unbiased", Variance::Unbiased), ("population", Variance::Population)];
        let slots = Slots { needed: &["problem", "steps"], optional: &["answer"] };
        let right = Wording::read(section, "critic-thoughts-right", slots);
        let wrong = Wording::read_from(section, "message_wrong", "critic-thoughts-wrong", slots);
        section.require("outcome");
        let outcome = outcome_scorer(section, names);
        let alpha = section.number("alpha").unwrap_or(0.5);
        if alpha <= 0.0 {
            section.problem("alpha", "must be above 0");
        }
        Some(Self {
            critique: Critique::read(section, 0.0),
            right: right?,
            wrong: wrong?,
            alpha,
            variance: section.word("variance", &variances).unwrap_or(Variance::Unbiased),
            outcome: outcome.ok()??,
        })
    }

    /// Judges the responses of a group, which may be one.
    pub(super) async fn evaluate_all<'a>(
        &'a self,
        model: &'a str,
        samples: Vec<Sample<'a>>,
        context: KindContext<'a>,
    ) -> Vec<Outcome> {
        let members = samples.into_iter().map(|sample| self.member(model, sample, context));
        let members = join_all(members).await;
        let known: Vec<f64> = members
            .iter()
            .filter_map(|member| self.outcome.is_right(&member.outcome).ok())
            .map(|right| f64::from(u8::from(right)))
            .collect();
        let scale = self.scale(&known);
        let mut standard = scale.iter().flat_map(|scale| scale.outcomes.iter().copied());
        let judged = members.into_iter().map(|member| {
            // A member without an outcome takes no place in the list of those with one.
            let right = match self.outcome.is_right(&member.outcome) {
                Ok(right) => right,
                Err(failure) => return member.failed(failure, self),
            };
            let (Some(outcome), Ok(scale)) = (standard.next(), &scale) else {
                let failure = scale.as_ref().err().cloned();
                let failure = failure.unwrap_or_else(Failure::internal);
                return member.failed(failure, self);
            };
            let place = MemberStatistics { right, outcome, capability: scale.capability };
            self.conclude(&member, &place)
        });
        judged.collect()
    }

    /// Standardised outcomes of those that have one, and what a wrong thought costs.
    fn scale(&self, known: &[f64]) -> Result<GroupStatistics, Failure> {
        if known.is_empty() {
            return Ok(GroupStatistics { outcomes: Vec::new(), capability: 0.0 });
        }
        let how = Normalisation::Grpo { variance: self.variance, epsilon: EPSILON };
        let accuracy = prompting::mean(known);
        Ok(GroupStatistics {
            outcomes: advantages(known, how).map_err(uncombined)?,
            capability: capability(self.alpha, accuracy).map_err(uncombined)?,
        })
    }

    async fn member<'a>(
        &'a self,
        model: &'a str,
        sample: Sample<'a>,
        context: KindContext<'a>,
    ) -> Member<'a> {
        let outcome = self.outcome.evaluate(sample, context).await;
        let mut log = None;
        let labelled = match self.outcome.is_right(&outcome) {
            Ok(right) => self.labelled(right, (model, sample, context), &mut log).await,
            Err(failure) => Err(failure),
        };
        Member { outcome, labelled, log }
    }

    /// The steps of a thought with their labels.
    async fn labelled<'a>(
        &self,
        right: bool,
        (model, sample, context): (&'a str, Sample<'a>, KindContext<'a>),
        log: &mut Option<EvaluationLog>,
    ) -> Result<Labelled<'a>, Failure> {
        let steps = Steps::of_thought(&sample)?;
        let (wording, marker) =
            if right { (&self.right, verdict::WRONG) } else { (&self.wrong, verdict::MATCHING) };
        let turns = wording.fill(&[
            ("problem", &prompting::problem(&sample)?),
            ("steps", &steps.numbered()),
            ("answer", &prompting::quotation(Steps::after_thought(sample.response))),
        ]);
        let log = log.insert(EvaluationLog::new(
            context.client,
            &context.client.served(model)?,
            &[&**wording],
        ));
        let request =
            CritiqueRequest { model, turns, samples: 1, last_line: verdict::list_grammar(marker) };
        let written = self.critique.ask(request, context.client, log).await?.remove(0);
        let listed = verdict::listed(written.whole()?, marker, steps.len())?;
        Ok(Labelled {
            labels: step_labels(right, &listed, steps.len()),
            steps,
            foreign: listed.foreign,
            written,
        })
    }

    fn conclude(&self, member: &Member<'_>, place: &MemberStatistics) -> Outcome {
        let labelled = match &member.labelled {
            Ok(labelled) => labelled,
            Err(failure) => return member.failed(failure.clone(), self),
        };
        let rewards = rewards(&labelled.labels, place);
        let (values, thoughts) = match rewards {
            Ok(rewards) => rewards,
            Err(failure) => return member.failed(failure, self),
        };
        let steps = labelled.steps.rewards(|index| {
            let label = labelled.labels[index];
            Mark {
                score: label_score(label),
                raw: Some(values[index]),
                label: word(label),
                critique: verdict::said_of(&labelled.written.text, index + 1),
            }
        });
        let note = |thought: &Thought| SpanNote {
            span: labelled.steps.stretch(&thought.steps),
            label: TOKEN_ADVANTAGE.into(),
            value: Some(values[thought.steps.start]),
        };
        let spans = thoughts.iter().map(note).collect();
        let detail = format!(
            "r_c = {}, standardised outcome {}; {} numbers belong to no step",
            place.capability, place.outcome, labelled.foreign
        );
        let evidence = Evidence { steps: Some(steps), spans: Some(spans), ..member.evidence(self) };
        Ok(Score {
            raw: Some(place.outcome),
            label: Some(if place.right { "right" } else { "wrong" }.into()),
            evidence,
            ..Score::proven(
                f64::from(u8::from(place.right)),
                Reason::with("thoughts_labelled", detail),
            )
        })
    }
}

/// Statistics of a group that its members are scored by.
struct GroupStatistics {
    outcomes: Vec<f64>,
    capability: f64,
}

/// Statistics of a member in its group.
struct MemberStatistics {
    right: bool,
    /// Its outcome, standardised.
    outcome: f64,
    /// Cost of a wrong thought.
    capability: f64,
}

/// A response on its way.
struct Member<'a> {
    outcome: Outcome,
    labelled: Result<Labelled<'a>, Failure>,
    log: Option<EvaluationLog>,
}

/// A thought with labels.
struct Labelled<'a> {
    steps: Steps<'a>,
    labels: Vec<ThoughtLabel>,
    foreign: usize,
    written: GeneratedText,
}

impl Member<'_> {
    /// Evidence: the outcome and the critique.
    fn evidence(&self, mode: &Thoughts) -> Evidence {
        let evidence = self.log.clone().map(EvaluationLog::evidence).unwrap_or_default();
        let mut trace = evidence.trace;
        if let Some(outside) = crate::group::trace([&self.outcome]) {
            trace.get_or_insert_default().add(&outside);
        }
        let part = PartReport {
            name: mode.outcome.name.clone(),
            weight: 1.0,
            outcome: Some(self.outcome.clone()),
        };
        Evidence { parts: Some(vec![part]), trace, ..evidence }
    }

    fn failed(&self, failure: Failure, mode: &Thoughts) -> Outcome {
        Err(failure.with_evidence(self.evidence(mode)))
    }
}

/// Labels from the numbers that a critic lists: of wrong steps in a right solution, of matching
/// ones in a wrong solution.
fn step_labels(right: bool, listed: &Listed, n_steps: usize) -> Vec<ThoughtLabel> {
    let (named, others) = if right {
        (ThoughtLabel::Wrong, ThoughtLabel::Right)
    } else {
        (ThoughtLabel::Matching, ThoughtLabel::Mismatched)
    };
    let mut labels = vec![others; n_steps];
    for number in &listed.numbers {
        labels[number - 1] = named;
    }
    labels
}

/// The advantage of each step, and the thoughts that they make.
fn rewards(
    labels: &[ThoughtLabel],
    place: &MemberStatistics,
) -> Result<(Vec<f64>, Vec<Thought>), Failure> {
    let values = labels.iter().map(|label| advantage(*label, place.outcome, place.capability));
    let values: Result<Vec<f64>, _> = values.collect();
    Ok((values.map_err(uncombined)?, merge(labels)))
}

/// The value of a mismatched step is unknown.
fn label_score(label: ThoughtLabel) -> Option<f64> {
    match label {
        ThoughtLabel::Right => Some(1.0),
        ThoughtLabel::Wrong | ThoughtLabel::Matching => Some(0.0),
        ThoughtLabel::Mismatched => None,
    }
}

fn word(label: ThoughtLabel) -> &'static str {
    match label {
        ThoughtLabel::Right => "right",
        ThoughtLabel::Wrong => "wrong",
        ThoughtLabel::Matching => "matching",
        ThoughtLabel::Mismatched => "mismatched",
    }
}
