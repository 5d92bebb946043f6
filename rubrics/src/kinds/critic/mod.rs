//! `kind = "critic"`: a model reads a solution and says in words which of its steps are wrong.
//!
//! | mode | what it asks | from |
//! |---|---|---|
//! | `capo` | several critiques list the wrong steps; a vote decides, and token rewards follow | CAPO (2508.02298) |
//! | `thoughts` | labels for the steps of a thought, from its own reflections | TP-GRPO (2507.23317) |
//! | `retrospective` | a word for every step once the whole was read | `StepORLM` (2509.22558) |
//! | `rerank` | the model's own verdict on each of many responses | Is PRM Necessary? (2505.11227) |
//!
//! What critics write is read strictly: the verdict is the last line or there is none, and a
//! critique that cannot be read is never a number. The steps of a solution are quoted and numbered,
//! so that nothing in them passes for a step of ours.

mod capo;
mod rerank;
mod retrospective;
mod steps;
mod thoughts;
mod verdict;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use engine::Grammar;
use futures_util::future::{join, join_all};
use serde::Serialize;
use serde_json::{Value, json};

use super::asked::{self, Log};
use super::options::{LabelOptions, Slots, Wording, WritingOptions};
use super::{Case, Judging, Kind, Reads};
use crate::config::{Section, nearest};
use crate::models::Models;
use crate::outcome::{Failure, Outcome};
use crate::registry::Scope;
use crate::session::{Session, Written, stream_of};
use crate::split::{SPLITTERS, Splitter};
use crate::{Scorer, Turn, group};

use capo::Capo;
use rerank::Rerank;
use retrospective::Retrospective;
use thoughts::Thoughts;

/// What configurations call it.
pub(crate) const WORD: &str = "critic";

/// Tokens that a critique may have unless the configuration says otherwise.
const MAX_TOKENS: usize = 2048;

/// The options.
#[derive(Debug, Clone, Serialize)]
struct Critic {
    model: String,
    #[serde(flatten)]
    mode: Mode,
}

/// What is asked, with its own options.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
enum Mode {
    Capo(Capo),
    Thoughts(Thoughts),
    Retrospective(Retrospective),
    Rerank(Rerank),
}

/// How a critic writes.
#[derive(Debug, Clone, Serialize)]
struct Critique {
    #[serde(flatten)]
    writing: WritingOptions,
    /// Whether the last line is forced into its form while it is written.
    constrain: bool,
}

impl Critique {
    fn read(section: &Section<'_, '_>, temperature: f32) -> Self {
        let default = WritingOptions { temperature, ..WritingOptions::greedy(MAX_TOKENS) };
        Self {
            writing: WritingOptions::read(section, default),
            constrain: section.boolean("constrain").unwrap_or(true),
        }
    }

    /// Has `samples` critiques written of one prompt. They share all of it, and differ by chance.
    async fn ask(
        &self,
        asked: Asked<'_>,
        session: &Session<'_>,
        log: &mut Log,
    ) -> Result<Vec<Written>, Failure> {
        let served = session.served(asked.model)?;
        let prompt = asked::prompt(session, &served, asked.turns, self.writing.reasoning).await?;
        let one = |sample: u64| {
            let mut writing = self.writing.writing(stream_of(&prompt, sample));
            writing.grammar = self.constrain.then(|| asked.last_line.clone());
            (&prompt, writing)
        };
        let all: Vec<_> = (0..asked.samples).map(one).collect();
        let written = session.write(&served, &all, &mut log.trace).await?;
        for critique in &written {
            log.wrote("critique", critique);
        }
        Ok(written)
    }
}

/// What is asked of a critic.
struct Asked<'a> {
    model: &'a str,
    turns: Vec<Turn>,
    samples: u64,
    /// What the whole text must be where it is constrained.
    last_line: Grammar,
}

pub(crate) fn read(section: &Section<'_, '_>, scope: &Scope<'_>) -> Option<Box<dyn Kind>> {
    #[derive(Clone, Copy)]
    enum Word {
        Capo,
        Thoughts,
        Retrospective,
        Rerank,
    }
    let words = [
        ("capo", Word::Capo),
        ("thoughts", Word::Thoughts),
        ("retrospective", Word::Retrospective),
        ("rerank", Word::Rerank),
    ];
    section.require("mode");
    let word = section.word("mode", &words);
    let model = scope.model(section, "model");
    let mode = match word? {
        Word::Capo => Mode::Capo(Capo::read(section, scope)?),
        Word::Thoughts => Mode::Thoughts(Thoughts::read(section, scope)?),
        Word::Retrospective => Mode::Retrospective(Retrospective::read(section, scope)?),
        Word::Rerank => Mode::Rerank(Rerank::read(section)?),
    };
    Some(Box::new(Critic { model: model?, mode }))
}

/// `splitter` (`blank_lines`): what separates the steps of a response that comes without `steps`.
fn splitter(section: &Section<'_, '_>) -> Splitter {
    section.word("splitter", SPLITTERS).unwrap_or_default()
}

/// The scorer that `outcome` names: one that comes before this one in the file, or a built-in one.
fn outcome_scorer(section: &Section<'_, '_>, scope: &Scope<'_>) -> Result<Option<Outside>, ()> {
    let least = super::options::share(section, "outcome_threshold").unwrap_or(0.5);
    let Some(name) = section.text("outcome") else {
        return if section.has("outcome") { Err(()) } else { Ok(None) };
    };
    if let Some(scorer) = scope.registry.get(&name) {
        let scorer = Arc::clone(scorer);
        return Ok(Some(Outside { scorer, least }));
    }
    let names = scope.registry.iter().map(|scorer| scorer.name());
    let hint =
        nearest(&name, names).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    let message = format!("no scorer '{name}' comes before this one{hint}");
    section.problem("outcome", message);
    Err(())
}

/// Who says whether a solution is right, beside the critic.
#[derive(Debug, Clone)]
struct Outside {
    scorer: Arc<Scorer>,
    /// The least score of a right solution.
    least: f64,
}

/// What a model is asked, and side by side with it the outcome of the scorer, where there is one.
async fn beside<'a, T>(
    asking: impl Future<Output = T>,
    outside: Option<&'a Outside>,
    case: Case<'a>,
    session: &'a Session<'a>,
) -> (T, Option<Outcome>) {
    let outcome = async {
        match outside {
            None => None,
            Some(outside) => Some(outside.judge(case, session).await),
        }
    };
    join(asking, outcome).await
}

/// The scorer's own digest is part of the whole one's: only what is ours stands here.
impl Serialize for Outside {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.scorer.name(), self.least).serialize(serializer)
    }
}

impl Outside {
    /// What the scorer says of a response.
    async fn judge<'a>(&'a self, case: Case<'a>, session: &'a Session<'a>) -> Outcome {
        crate::walk::judge_case(&self.scorer, case, session).await
    }

    /// Whether an outcome says that the solution is right.
    ///
    /// # Errors
    /// The scorer's failure, in its name.
    fn is_right(&self, outcome: &Outcome) -> Result<bool, Failure> {
        match outcome {
            Ok(reward) => Ok(reward.score >= self.least),
            Err(failure) => {
                let code = failure.reason.code;
                let detail = failure.reason.detail.as_deref().unwrap_or(code);
                let detail = format!("outcome '{}': {detail}", self.scorer.name());
                let reason = verifiers::Reason::with(code, detail);
                Err(Failure::new(failure.kind, reason))
            }
        }
    }
}

impl Mode {
    fn outside(&self) -> Option<&Outside> {
        match self {
            Self::Capo(capo) => capo.outcome.as_ref(),
            Self::Thoughts(thoughts) => Some(&thoughts.outcome),
            Self::Retrospective(retrospective) => retrospective.outcome.as_ref(),
            Self::Rerank(_) => None,
        }
    }
}

impl Kind for Critic {
    fn word(&self) -> &'static str {
        WORD
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

    fn scorers(&self) -> Vec<&Arc<Scorer>> {
        let outside = self.mode.outside().into_iter();
        outside.map(|outside| &outside.scorer).collect()
    }

    fn reads(&self) -> Reads {
        Reads { steps: !matches!(self.mode, Mode::Rerank(_)), ..Reads::default() }
    }

    fn compares(&self) -> bool {
        matches!(self.mode, Mode::Rerank(_))
    }

    fn floor(&self) -> Option<f64> {
        match self.mode {
            Mode::Capo(_) | Mode::Retrospective(_) => Some(0.0),
            // A thought is asked about beside an outcome, which says by itself what nothing earns;
            // and what is compared is judged together.
            Mode::Thoughts(_) | Mode::Rerank(_) => None,
        }
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        match &self.mode {
            Mode::Capo(capo) => {
                let reasoning = capo.critique.writing.reasoning;
                asked::try_wording(&served, &capo.wording, reasoning).map(drop)
            }
            Mode::Thoughts(thoughts) => {
                let reasoning = thoughts.critique.writing.reasoning;
                let mut wordings = [&thoughts.right, &thoughts.wrong].into_iter();
                wordings.try_for_each(|wording| {
                    asked::try_wording(&served, wording, reasoning).map(drop)
                })
            }
            Mode::Retrospective(retrospective) => {
                let reasoning = retrospective.critique.writing.reasoning;
                asked::try_wording(&served, &retrospective.wording, reasoning).map(drop)
            }
            Mode::Rerank(rerank) => rerank.check(&served),
        }
    }

    fn judge<'a>(&'a self, case: Case<'a>, session: &'a Session<'a>) -> Judging<'a> {
        Box::pin(async move {
            match &self.mode {
                Mode::Capo(capo) => capo.judge(&self.model, case, session).await,
                Mode::Retrospective(mode) => mode.judge(&self.model, case, session).await,
                Mode::Thoughts(thoughts) => {
                    let mut group = thoughts.judge_all(&self.model, vec![case], session).await;
                    group.remove(0)
                }
                Mode::Rerank(_) => Err(Failure::refused("group_needed", "it compares responses")),
            }
        })
    }

    fn judge_group<'a>(&'a self, cases: Vec<Case<'a>>, session: &'a Session<'a>) -> Judging<'a> {
        Box::pin(async move {
            match &self.mode {
                Mode::Capo(_) | Mode::Retrospective(_) => {
                    let judged = cases.into_iter().map(|case| self.judge(case, session));
                    group::mean(join_all(judged).await)
                }
                Mode::Thoughts(thoughts) => {
                    group::mean(thoughts.judge_all(&self.model, cases, session).await)
                }
                Mode::Rerank(rerank) => rerank.judge_group(&self.model, cases, session).await,
            }
        })
    }
}
