//! `kind = "critic"`: a model reads a solution and lists its wrong steps in words.
//!
//! | mode | generated text | from |
//! |---|---|---|
//! | `capo` | several critiques list the wrong steps; a vote decides, and token rewards follow | CAPO (2508.02298) |
//! | `thoughts` | labels for the steps of a thought, from its own reflections | TP-GRPO (2507.23317) |
//! | `retrospective` | a word for every step after reading the complete solution | `StepORLM` (2509.22558) |
//! | `rerank` | the model's own verdict on each of many responses | Is PRM Necessary? (2505.11227) |
//!
//! The text is parsed strictly: the verdict is the last line or there is none, and a critique that
//! cannot be parsed is never a number. The steps of a solution are quoted and numbered, so that no
//! text in them is taken for a step of the prompt.

mod capo;
mod critique;
mod rerank;
mod retrospective;
mod steps;
mod thoughts;
mod verdict;

#[cfg(test)]
mod tests;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::{Value, json};

use super::prompting;
use super::{InputFields, KindContext, Names, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::group;
use crate::models::Models;
use crate::outcome::Failure;
use crate::sample::Sample;

use capo::Capo;
use critique::OutcomeScorer;
use rerank::Rerank;
use retrospective::Retrospective;
use thoughts::Thoughts;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "critic";

/// The options.
#[derive(Debug, Clone, Serialize)]
struct Critic {
    model: String,
    #[serde(flatten)]
    mode: Mode,
}

/// Modes with their options.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
enum Mode {
    Capo(Capo),
    Thoughts(Thoughts),
    Retrospective(Retrospective),
    Rerank(Rerank),
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    #[derive(Clone, Copy)]
    enum CriticMode {
        Capo,
        Thoughts,
        Retrospective,
        Rerank,
    }
    let words = [
        ("capo", CriticMode::Capo),
        ("thoughts", CriticMode::Thoughts),
        ("retrospective", CriticMode::Retrospective),
        ("rerank", CriticMode::Rerank),
    ];
    let word = section.required_word("mode", &words);
    let model = names.model(section, "model");
    let mode = match word? {
        CriticMode::Capo => Mode::Capo(Capo::read(section, names)?),
        CriticMode::Thoughts => Mode::Thoughts(Thoughts::read(section, names)?),
        CriticMode::Retrospective => Mode::Retrospective(Retrospective::read(section, names)?),
        CriticMode::Rerank => Mode::Rerank(Rerank::read(section)?),
    };
    Some(Box::new(Critic { model: model?, mode }))
}

impl Mode {
    fn outcome_scorer(&self) -> Option<&OutcomeScorer> {
        match self {
            Self::Capo(capo) => capo.outcome.as_ref(),
            Self::Thoughts(thoughts) => Some(&thoughts.outcome),
            Self::Retrospective(retrospective) => retrospective.outcome.as_ref(),
            Self::Rerank(_) => None,
        }
    }
}

impl ScorerKind for Critic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        match self.mode {
            Mode::Capo(_) => "finds the wrong steps of a solution by a vote of critiques",
            Mode::Thoughts(_) => "labels the steps of a thought by its own reflections",
            Mode::Retrospective(_) => "looks back on a whole solution and judges every step",
            Mode::Rerank(_) => "chooses among responses by a model's own verdicts",
        }
    }

    fn options(&self) -> Value {
        json!(self)
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.model]
    }

    fn scorers(&self) -> Vec<&str> {
        self.mode.outcome_scorer().into_iter().map(|scorer| scorer.name.as_str()).collect()
    }

    fn input_fields(&self) -> InputFields {
        InputFields { steps: !matches!(self.mode, Mode::Rerank(_)), ..InputFields::default() }
    }

    fn is_pairwise(&self) -> bool {
        matches!(self.mode, Mode::Rerank(_))
    }

    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        match self.mode {
            Mode::Capo(_) | Mode::Retrospective(_) => Some(0.0),
            // A thought is judged beside an outcome, which alone scores an empty response; and what
            // is compared is judged together.
            Mode::Thoughts(_) | Mode::Rerank(_) => None,
        }
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        match &self.mode {
            Mode::Capo(capo) => {
                let reasoning = capo.critique.writing.reasoning;
                prompting::try_wording(&served, &capo.wording, reasoning).map(drop)
            }
            Mode::Thoughts(thoughts) => {
                let reasoning = thoughts.critique.writing.reasoning;
                let mut wordings = [&thoughts.right, &thoughts.wrong].into_iter();
                wordings.try_for_each(|wording| {
                    prompting::try_wording(&served, wording, reasoning).map(drop)
                })
            }
            Mode::Retrospective(retrospective) => {
                let reasoning = retrospective.critique.writing.reasoning;
                prompting::try_wording(&served, &retrospective.wording, reasoning).map(drop)
            }
            Mode::Rerank(rerank) => rerank.check(&served),
        }
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(async move {
            match &self.mode {
                Mode::Capo(capo) => capo.evaluate(&self.model, sample, context).await,
                Mode::Retrospective(mode) => mode.evaluate(&self.model, sample, context).await,
                Mode::Thoughts(thoughts) => {
                    let mut group = thoughts.evaluate_all(&self.model, vec![sample], context).await;
                    group.remove(0)
                }
                Mode::Rerank(_) => Err(Failure::refused("group_needed", "it compares responses")),
            }
        })
    }

    fn evaluate_group<'a>(
        &'a self,
        samples: Vec<Sample<'a>>,
        context: KindContext<'a>,
    ) -> ScoreFuture<'a> {
        Box::pin(async move {
            match &self.mode {
                Mode::Capo(_) | Mode::Retrospective(_) => {
                    let outcomes = samples.into_iter().map(|sample| self.evaluate(sample, context));
                    group::outcome_mean(join_all(outcomes).await)
                }
                Mode::Thoughts(thoughts) => {
                    group::outcome_mean(thoughts.evaluate_all(&self.model, samples, context).await)
                }
                Mode::Rerank(rerank) => {
                    rerank.evaluate_group(&self.model, samples, context.client).await
                }
            }
        })
    }
}
