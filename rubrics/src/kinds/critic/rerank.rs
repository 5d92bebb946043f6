//! `mode = "rerank"`: a model's own verdict on each of its responses, and the response that it
//! chooses (Is PRM Necessary?, 2505.11227). The paper finds that this beats a majority only with
//! many responses, and that a self-score needs calibration before it becomes a reward.

use std::borrow::Cow;

use futures_util::future::join_all;
use serde::Serialize;
use verifiers::Reason;
use verifiers::extract::{self, AnswerPolicy};

use crate::combine::selection;
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::group;
use crate::kinds::options::{LabelOptions, Slots, Wording};
use crate::kinds::prompting::{self, EvaluationLog, uncombined};
use crate::labels::Labels;
use crate::models::Served;
use crate::outcome::{Evidence, Failure, Outcome, Score};
use crate::sample::Sample;

/// The verdicts, the good one first.
const VERDICTS: [&str; 2] = ["Yes", "No"];

/// The options of the mode.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Rerank {
    #[serde(flatten)]
    labels: LabelOptions,
    wording: Wording,
    select: Select,
}

/// Method of choosing a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Select {
    /// The one that the model believes in most.
    #[default]
    Best,
    /// The answer whose responses have most of its belief together.
    Vote,
}

impl Rerank {
    pub(super) fn read(section: &Section<'_, '_>) -> Option<Self> {
        let words = [("best", Select::Best), ("vote", Select::Vote)];
        let slots = Slots { needed: &["problem", "response"], optional: &[] };
        Some(Self {
            labels: LabelOptions::read(section),
            wording: Wording::read(section, "critic-self-check", slots)?,
            select: section.word("select", &words).unwrap_or_default(),
        })
    }

    pub(super) fn check(&self, served: &Served) -> Result<(), String> {
        let prompt = prompting::try_wording(served, &self.wording, false)?;
        Labels::after(served, &prompt, &VERDICTS, self.labels.spellings).map(drop)
    }

    pub(super) async fn evaluate_group<'a>(
        &'a self,
        model: &'a str,
        samples: Vec<Sample<'a>>,
        client: &'a EngineClient<'a>,
    ) -> Outcome {
        let answers: Vec<Option<String>> = samples.iter().map(final_answer).collect();
        let judged = samples.into_iter().map(|sample| self.member(model, sample, client));
        let judged = join_all(judged).await;
        let first = group::first_failure(judged.iter());
        let chosen = match &first {
            // A choice among those that met no full queue would depend on the machine's load.
            Some(failure) if !failure.kind.is_lasting() => Err(failure.clone()),
            Some(_) | None => self.choose(&judged, &answers),
        };
        let trace = group::trace(&judged);
        let score = |index: usize| judged[index].as_ref().map_or(0.0, |scored| scored.score);
        let chosen = chosen.map(|chosen| chosen.map(|index| (index, score(index))));
        let evidence =
            Evidence { trace, members: Some(group::ranked(judged)), ..Evidence::default() };
        match (chosen, first) {
            (Err(failure), _) | (Ok(None), Some(failure)) => Err(failure.with_evidence(evidence)),
            (Ok(Some((index, score))), _) => Ok(Score {
                label: Some(Cow::Owned(index.to_string())),
                evidence,
                ..Score::proven(
                    score,
                    Reason::with(self.code(), format!("responses[{index}] is chosen")),
                )
            }),
            (Ok(None), None) => {
                let detail = "no response marks an answer, so that there is nothing to vote on";
                let reason = Reason::with("no_answers", detail);
                let kind = crate::FailureKind::Abstain;
                Err(Failure::new(kind, reason).with_evidence(evidence))
            }
        }
    }

    fn code(&self) -> &'static str {
        match self.select {
            Select::Best => "best_of_group",
            Select::Vote => "weighted_vote",
        }
    }

    /// The chosen response. One that could not be judged is not chosen and has no vote.
    fn choose(
        &self,
        judged: &[Outcome],
        answers: &[Option<String>],
    ) -> Result<Option<usize>, Failure> {
        let measured = judged.iter().enumerate().filter_map(|(index, outcome)| {
            let scored = outcome.as_ref().ok()?;
            Some((index, scored.score))
        });
        let (places, scores): (Vec<usize>, Vec<f64>) = measured.unzip();
        if places.is_empty() {
            return Ok(None);
        }
        let chosen = match self.select {
            Select::Best => selection::best(&scores).map(Some),
            Select::Vote => {
                let answers: Vec<_> = places.iter().map(|at| answers[*at].as_deref()).collect();
                selection::weighted_vote(&answers, &scores)
            }
        };
        let chosen = chosen.map_err(uncombined)?;
        Ok(chosen.map(|index| places[index]))
    }

    /// Judges one response by the model.
    async fn member(&self, model: &str, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        if sample.response.trim().is_empty() {
            return Err(Failure::refused("response_empty", "there is nothing to judge"));
        }
        let turns = self.wording.fill(&[
            ("problem", &prompting::problem(&sample)?),
            ("response", &prompting::quotation(sample.response)),
        ]);
        let served = client.served(model)?;
        let mut log = EvaluationLog::new(client, &served, &[&*self.wording]);
        match self.believed(&served, turns, client, &mut log).await {
            Err(failure) => Err(log.failed(failure)),
            Ok((share, margin)) => Ok(Score {
                raw: Some(margin),
                evidence: log.evidence(),
                ..Score::proven(share, Reason::code("self_verdict"))
            }),
        }
    }

    async fn believed(
        &self,
        served: &Served,
        turns: Vec<crate::Message>,
        client: &EngineClient<'_>,
        log: &mut EvaluationLog,
    ) -> Result<(f64, f64), Failure> {
        let read = prompting::judge_by_labels(client, served, turns, (&VERDICTS, self.labels), log)
            .await?;
        Ok((read.shares()[0], read.margin()))
    }
}

/// The answer that a response marks.
fn final_answer(sample: &Sample<'_>) -> Option<String> {
    let found = extract::answer(sample.response, &AnswerPolicy::default())?;
    Some(found.text.trim().to_owned())
}
