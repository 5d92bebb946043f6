//! `mode = "capo"`: several critiques of one solution, a vote over the steps that they call wrong,
//! and the token rewards that follow (CAPO, generative credit assignment, 2508.02298).

use serde::Serialize;
use verifiers::Reason;

use super::critique::{
    Criticised, Critique, CritiqueRequest, OutcomeScorer, outcome_scorer, splitter, steps_prompt,
};
use super::steps::{Mark, Steps};
use super::verdict::{self, Listed};
use crate::combine::critique::{self, Vote, Weights};
use crate::config::Section;
use crate::engine_client::GeneratedText;
use crate::kinds::options::{Slots, Wording};
use crate::kinds::prompting::{EvaluationLog, mean, uncombined};
use crate::kinds::{KindContext, Names};
use crate::outcome::{
    Evidence, Failure, FailureKind, Outcome, PartReport, Score, SpanNote, StepScore,
};
use crate::sample::Sample;
use crate::split::Splitter;

/// Label of spans with token rewards.
const TOKEN_REWARD: &str = "token_reward";

/// The options of the mode.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Capo {
    #[serde(flatten)]
    pub(super) critique: Critique,
    pub(super) wording: Wording,
    splitter: Splitter,
    critiques: u64,
    vote: Vote,
    all_failed: AllFailed,
    weights: Weights,
    show_reference: bool,
    pub(super) outcome: Option<OutcomeScorer>,
}

/// Result if no critique is readable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum AllFailed {
    /// Nothing is known.
    #[default]
    Fail,
    /// No step counts as wrong.
    NoErrors,
}

impl Capo {
    pub(super) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Self> {
        let votes = [
            ("intersection", Vote::Intersection),
            ("majority", Vote::Majority),
            ("union", Vote::Union),
            ("average", Vote::Average),
            ("greedy", Vote::Greedy),
        ];
        let failed = [("fail", AllFailed::Fail), ("no_errors", AllFailed::NoErrors)];
        let slots = Slots { needed: &["problem", "steps"], optional: &["reference"] };
        let vote = section.word("vote", &votes).unwrap_or(Vote::Intersection);
        let is_greedy = vote == Vote::Greedy;
        let outcome = outcome_scorer(section, names);
        let weight = |key, default| {
            super::super::options::number_within(section, key, 0.0, 1e6).unwrap_or(default)
        };
        let default = Weights::default();
        let capo = Self {
            critique: Critique::read(section, if is_greedy { 0.0 } else { 0.7 }),
            wording: Wording::read(section, "critic-wrong-steps", slots)?,
            splitter: splitter(section),
            critiques: section.integer("critiques", 1..65).unwrap_or(if is_greedy { 1 } else { 4 }),
            vote,
            all_failed: section.word("all_failed", &failed).unwrap_or_default(),
            weights: Weights {
                whole: weight("weight_whole", default.whole),
                process: weight("weight_process", default.process),
            },
            show_reference: section.boolean("show_reference").unwrap_or(false),
            outcome: outcome.ok()?,
        };
        if capo.critiques > 1 && capo.critique.writing.temperature == 0.0 {
            let rule = "at temperature 0 all critiques are the same: ask for 1, or raise it";
            section.problem("critiques", rule);
        }
        Some(capo)
    }

    pub(super) async fn evaluate<'a>(
        &'a self,
        model: &'a str,
        sample: Sample<'a>,
        context: KindContext<'a>,
    ) -> Outcome {
        let steps = Steps::of(&sample, self.splitter)?;
        let request = CritiqueRequest {
            model,
            turns: steps_prompt(&self.wording, &sample, &steps, self.show_reference)?,
            samples: self.critiques,
            last_line: verdict::list_grammar(verdict::WRONG),
        };
        let scorer = self.outcome.as_ref();
        let asking =
            self.critique.ask_with_outcome(request, &self.wording, scorer, (sample, context));
        let Criticised { written, outcome, log } = asking.await?;
        let voted = written.and_then(|written| self.voted(&steps, &written));
        let voted = match voted {
            Ok(voted) => voted,
            Err(failure) => return Err(log.failed(failure)),
        };
        self.conclude(voted, outcome, log)
    }

    /// The vote over critiques as they were written.
    fn voted(&self, steps: &Steps<'_>, written: &[GeneratedText]) -> Result<Voted, Failure> {
        let read = written.iter().map(|critique| {
            let text = critique.whole()?;
            verdict::listed(text, verdict::WRONG, steps.len())
        });
        let read: Vec<Result<Listed, Failure>> = read.collect();
        let vote = self.vote(&read, steps.len())?;
        let said = |index: usize| {
            let named = read.iter().zip(written).filter(|(listed, _)| {
                let listed = listed.as_ref();
                listed.is_ok_and(|listed| listed.numbers.contains(&(index + 1)))
            });
            let mut said = named.filter_map(|(_, text)| verdict::said_of(&text.text, index + 1));
            said.next()
        };
        let steps = steps.rewards(|index| {
            let weight = vote.weights[index];
            Mark {
                score: Some(1.0 - weight),
                raw: None,
                label: if weight < 0.5 { "right" } else { "wrong" },
                critique: said(index),
            }
        });
        Ok(Voted { vote, steps })
    }

    /// Takes the vote over parsed critiques.
    ///
    /// # Errors
    /// No critique is readable, and the configuration has no rule for it.
    fn vote(
        &self,
        read: &[Result<Listed, Failure>],
        n_steps: usize,
    ) -> Result<CritiqueVote, Failure> {
        let named = |listed: &Result<Listed, Failure>| {
            let listed = listed.as_ref().ok()?;
            Some(listed.numbers.clone())
        };
        let critiques: Vec<_> = read.iter().map(named).collect();
        let counted = critique::vote(&critiques, n_steps, self.vote);
        if counted.readable == 0 && self.all_failed == AllFailed::Fail {
            let first = read.iter().find_map(|listed| listed.as_ref().err());
            return Err(first.cloned().unwrap_or_else(|| {
                Failure::new(FailureKind::Internal, Reason::code("no_critique"))
            }));
        }
        let foreign = read.iter().flatten().map(|listed| listed.foreign).sum();
        Ok(CritiqueVote {
            weights: counted.weights,
            readable: counted.readable,
            critiques: read.len(),
            foreign,
        })
    }

    /// Returns the verdict, with token rewards if an outcome says whether the solution is right.
    fn conclude(&self, voted: Voted, outcome: Option<Outcome>, log: EvaluationLog) -> Outcome {
        let spans = match (&self.outcome, &outcome) {
            (Some(outside), Some(outcome)) => {
                let right = outside.is_right(outcome);
                Some(right.and_then(|right| self.token_rewards(&voted, right)))
            }
            (None, _) | (_, None) => None,
        };
        let part = self.outcome.as_ref().map(|outside| PartReport {
            name: outside.name.clone(),
            weight: self.weights.whole,
            outcome,
        });
        let evidence = Evidence {
            steps: Some(voted.steps),
            parts: part.map(|part| vec![part]),
            ..log.evidence()
        };
        let spans = match spans {
            Some(Err(failure)) => return Err(failure.with_evidence(evidence)),
            Some(Ok(spans)) => Some(spans),
            None => None,
        };
        let wrong = mean(&voted.vote.weights);
        Ok(Score {
            label: Some(if wrong > 0.0 { "wrong_steps" } else { "no_wrong_step" }.into()),
            evidence: Evidence { spans, ..evidence },
            ..Score::proven(1.0 - wrong, voted.vote.reason())
        })
    }

    fn token_rewards(&self, voted: &Voted, right: bool) -> Result<Vec<SpanNote>, Failure> {
        let rewards = critique::step_rewards(right, &voted.vote.weights, self.weights);
        let rewards = rewards.map_err(uncombined)?;
        let notes = voted.steps.iter().zip(rewards).map(|(step, reward)| SpanNote {
            span: step.span.clone(),
            label: TOKEN_REWARD.into(),
            value: Some(reward),
        });
        Ok(notes.collect())
    }
}

/// Steps after a vote.
struct Voted {
    vote: CritiqueVote,
    steps: Vec<StepScore>,
}

/// A vote and what it rests on.
#[derive(Debug)]
struct CritiqueVote {
    /// For each step how wrong it is, in [0, 1].
    weights: Vec<f64>,
    readable: usize,
    critiques: usize,
    foreign: usize,
}

impl CritiqueVote {
    fn reason(&self) -> Reason {
        let code = match (self.readable, self.foreign) {
            (0, _) => "no_critique_read",
            (_, 0) if self.readable == self.critiques => "critique_vote",
            _ => "critique_vote_flagged",
        };
        let detail = format!(
            "{} of {} critiques were read; {} of the numbers in them belong to no step",
            self.readable, self.critiques, self.foreign
        );
        Reason::with(code, detail)
    }
}

#[cfg(test)]
mod tests;
