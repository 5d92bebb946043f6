//! `mode = "retrospective"`: the model reads the trajectory to its end before it judges steps; the
//! reward is the share of right steps, beside an outcome of a solver or verifier (`StepORLM`,
//! 2509.22558).

use serde::Serialize;
use verifiers::Reason;

use super::critique::{
    Criticised, Critique, CritiqueRequest, OutcomeScorer, outcome_scorer, splitter, steps_prompt,
};
use super::steps::{Mark, Steps};
use super::verdict::{self, StepJudgements};
use crate::combine::steps::share_right;
use crate::config::Section;
use crate::engine_client::GeneratedText;
use crate::kinds::options::{Slots, Wording};
use crate::kinds::prompting::uncombined;
use crate::kinds::{KindContext, Names};
use crate::outcome::{Evidence, Failure, Outcome, PartReport, Score};
use crate::sample::Sample;
use crate::split::Splitter;

/// The options of the mode.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Retrospective {
    #[serde(flatten)]
    pub(super) critique: Critique,
    pub(super) wording: Wording,
    splitter: Splitter,
    show_reference: bool,
    pub(super) outcome: Option<OutcomeScorer>,
}

impl Retrospective {
    pub(super) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Self> {
        let slots = Slots { needed: &["problem", "steps"], optional: &["reference", "count"] };
        let outcome = outcome_scorer(section, names);
        Some(Self {
            critique: Critique::read(section, 0.0),
            wording: Wording::read(section, "critic-retrospective", slots)?,
            splitter: splitter(section),
            show_reference: section.boolean("show_reference").unwrap_or(false),
            outcome: outcome.ok()?,
        })
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
            samples: 1,
            last_line: verdict::judgement_grammar(steps.len()),
        };
        let scorer = self.outcome.as_ref();
        let asking =
            self.critique.ask_with_outcome(request, &self.wording, scorer, (sample, context));
        let Criticised { written, outcome, log } = asking.await?;
        let judged = written.and_then(|written| {
            let text = written[0].whole()?;
            Ok((verdict::read_judgements(text, steps.len())?, written))
        });
        match judged {
            Err(failure) => Err(log.failed(failure)),
            Ok((judged, written)) => {
                let evidence = Evidence {
                    steps: Some(marked(&steps, &judged, &written[0])),
                    ..log.evidence()
                };
                self.conclude(&judged, outcome, evidence)
            }
        }
    }

    /// Returns the share of right steps. The outcome does not change it; the label says whether the
    /// two agree, which decides the use of the critique.
    fn conclude(
        &self,
        judged: &StepJudgements,
        outcome: Option<Outcome>,
        evidence: Evidence,
    ) -> Outcome {
        if let Some(Err(failure)) = &outcome
            && !failure.kind.is_lasting()
        {
            return Err(Failure::new(failure.kind, failure.reason.clone()).with_evidence(evidence));
        }
        let score = share_right(&judged.steps).map_err(uncombined)?;
        let overall = if judged.overall { "right" } else { "wrong" };
        let said = self.outcome.as_ref().zip(outcome.as_ref());
        let label = match said.map(|(outside, outcome)| outside.is_right(outcome)) {
            None => overall,
            Some(Ok(right)) if right == judged.overall => "agrees",
            Some(Ok(_)) => "disagrees",
            Some(Err(_)) => "outcome_unknown",
        };
        let part = self.outcome.as_ref().map(|outside| PartReport {
            name: outside.name.clone(),
            weight: 0.0,
            outcome,
        });
        let detail = format!("the critique calls the solution {overall} as a whole");
        Ok(Score {
            label: Some(label.into()),
            evidence: Evidence { parts: part.map(|part| vec![part]), ..evidence },
            ..Score::proven(score, Reason::with("steps_judged", detail))
        })
    }
}

fn marked(
    steps: &Steps<'_>,
    judged: &StepJudgements,
    written: &GeneratedText,
) -> Vec<crate::outcome::StepScore> {
    steps.rewards(|index| {
        let right = judged.steps[index];
        Mark {
            score: Some(f64::from(u8::from(right))),
            raw: None,
            label: if right { "right" } else { "wrong" },
            critique: verdict::said_of(&written.text, index + 1),
        }
    })
}
