//! `kind = "reward"`: how good a response is, by a model's score head at its last token.

use serde::Serialize;
use serde_json::{Value, json};
use verifiers::{Reason, Standing};

use engine::{Output, Want};

use super::{Case, Judging, Kind};
use crate::calibration::sigmoid;
use crate::config::Section;
use crate::models::{Chat, Models};
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, Reward, Trace};
use crate::registry::Scope;
use crate::session::Session;

/// What configurations call it.
pub(crate) const WORD: &str = "reward";

/// The options.
#[derive(Debug, Clone, Serialize)]
struct RewardKind {
    model: String,
    score: Score,
}

/// What the score is of the logit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Score {
    /// Its logistic function, in [0, 1].
    #[default]
    Sigmoid,
    /// The logit itself.
    Raw,
}

pub(crate) fn read(section: &Section<'_, '_>, scope: &Scope<'_>) -> Option<Box<dyn Kind>> {
    let words = [("sigmoid", Score::Sigmoid), ("raw", Score::Raw)];
    let score = section.word("score", &words).unwrap_or_default();
    let model = scope.model(section, "model")?;
    Some(Box::new(RewardKind { model, score }))
}

impl Kind for RewardKind {
    fn word(&self) -> &'static str {
        WORD
    }

    fn description(&self) -> &'static str {
        "scores a response with a model's reward head"
    }

    fn options(&self) -> Value {
        json!(self)
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.model]
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        match served.head_labels() {
            Some(1) => Ok(()),
            Some(n) => Err(format!("'{}' has a head of {n} outputs, not 1", self.model)),
            None => Err(format!("'{}' has no score head", self.model)),
        }
    }

    fn judge<'a>(&'a self, case: Case<'a>, session: &'a Session<'a>) -> Judging<'a> {
        Box::pin(self.judge_one(case, session))
    }
}

impl RewardKind {
    async fn judge_one(&self, case: Case<'_>, session: &Session<'_>) -> Outcome {
        let served = session.served(&self.model)?;
        let turns = case.conversation();
        let rendering = served.clone();
        let prompt = session
            .run(move || rendering.prompt(&Chat::whole(&turns)))
            .await??;
        let last = prompt.token_ids.len() - 1;
        let mut trace = Trace::default();
        let want = vec![(prompt.token_ids.clone(), Want::scores([last]))];
        let outputs = session.read(&served, want, &mut trace).await?;
        let [Output::Head(logits)] = &outputs[0][..] else {
            return Err(not_a_scalar());
        };
        let [logit] = logits[..] else {
            return Err(not_a_scalar());
        };
        let raw = f64::from(logit);
        Ok(Reward {
            score: match self.score {
                Score::Sigmoid => sigmoid(raw),
                Score::Raw => raw,
            },
            raw: Some(raw),
            label: None,
            reason: Reason::code("reward_head"),
            standing: Standing::Proven,
            evidence: Evidence {
                trace: Some(trace),
                ..Evidence::default()
            },
        })
    }
}

fn not_a_scalar() -> Failure {
    let reason = Reason::with(
        "head_unusable",
        "the head gave something other than one number",
    );
    Failure::new(FailureKind::Internal, reason)
}

#[cfg(test)]
mod tests;
