//! What all kinds that ask models have in common around their own judgement.

use std::sync::Arc;

use serde_json::{Value, json};
use verifiers::{Certainty, Reason};

use crate::Scorer;
use crate::calibration::ScorerCalibration;
use crate::kinds::{Case, Kind, Reads};
use crate::models::Models;
use crate::outcome::{Evidence, Failure, Outcome, Reward};
use crate::session::Session;

/// A kind with the options that every kind takes.
pub(crate) struct ModelMethod {
    kind: Box<dyn Kind>,
    common: Common,
}

/// Options that every kind takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Common {
    /// Characters that are no white space which a response must have to be judged at all, where
    /// the kind has a least score.
    pub(crate) min_content: usize,
    /// What makes the score of the raw value, in the place of what the kind makes of it.
    pub(crate) calibration: Option<ScorerCalibration>,
}

impl Default for Common {
    fn default() -> Self {
        Self { min_content: 1, calibration: None }
    }
}

impl ModelMethod {
    pub(crate) fn new(kind: Box<dyn Kind>, common: Common) -> Self {
        Self { kind, common }
    }

    pub(crate) fn kind(&self) -> &dyn Kind {
        &*self.kind
    }

    /// For the digest.
    pub(crate) fn options(&self) -> Value {
        let parts = self.kind.scorers();
        let parts: Vec<String> = parts.iter().map(|scorer| scorer.digest_text()).collect();
        let calibration = self.common.calibration.as_ref();
        let calibration = calibration.map(|map| map.to_json(Value::Null));
        let common = json!({ "min_content": self.common.min_content, "calibration": calibration });
        json!([self.kind.options(), common, parts])
    }

    /// What it and the scorers that it asks read.
    pub(crate) fn reads(&self) -> Reads {
        self.kind.reads()
    }

    /// Checks it against the models that are being served.
    pub(crate) fn check(&self, models: &dyn Models) -> Result<(), String> {
        for name in self.kind.models() {
            if models.find(name).is_none() {
                let near = models.near(name);
                let hint = match &near[..] {
                    [] => String::new(),
                    near => format!("; did you mean {}?", near.join(", ")),
                };
                return Err(format!("no model or adapter is called '{name}'{hint}"));
            }
        }
        self.kind.check(models)
    }

    pub(crate) async fn judge<'a>(&'a self, case: Case<'a>, session: &'a Session<'a>) -> Outcome {
        if self.kind.compares() {
            let detail = "this scorer compares responses: give 'responses', two or more";
            return Err(Failure::refused("group_needed", detail));
        }
        if let Some(outcome) = self.gate(&case) {
            return outcome;
        }
        self.calibrated(self.kind.judge(case, session).await)
    }

    /// The outcome with the score that the calibration makes of its raw value.
    fn calibrated(&self, outcome: Outcome) -> Outcome {
        let mut reward = outcome?;
        if let (Some(calibration), Some(raw)) = (&self.common.calibration, reward.raw) {
            reward.score = calibration.map.apply(raw);
        }
        Ok(reward)
    }

    pub(crate) async fn judge_group<'a>(
        &'a self,
        cases: Vec<Case<'a>>,
        session: &'a Session<'a>,
    ) -> Outcome {
        if self.kind.compares() && cases.len() < 2 {
            let detail = "a group of one has nothing to be compared with";
            return Err(Failure::refused("group_of_one", detail));
        }
        let gated: Vec<Option<Outcome>> = cases.iter().map(|case| self.gate(case)).collect();
        let is_plain = self.common.calibration.is_none() && gated.iter().all(Option::is_none);
        if self.kind.compares() || is_plain {
            return self.kind.judge_group(cases, session).await;
        }
        let judged = cases.into_iter().zip(gated).map(|(case, gated)| async move {
            match gated {
                Some(outcome) => outcome,
                None => self.calibrated(self.kind.judge(case, session).await),
            }
        });
        self.kind.gather(futures_util::future::join_all(judged).await)
    }

    /// A response with next to nothing in it gets the least score unasked: models have been found
    /// to praise an empty page.
    fn gate(&self, case: &Case<'_>) -> Option<Outcome> {
        let score = self.kind.floor()?;
        let content = case.response.chars().filter(|c| !c.is_whitespace());
        let found = content.take(self.common.min_content).count();
        if found >= self.common.min_content {
            return None;
        }
        let detail = format!(
            "the response has {found} characters that are no white space; min_content is {}",
            self.common.min_content
        );
        Some(Ok(Reward {
            score,
            raw: None,
            label: Some("too_little_content".into()),
            reason: Reason::with("too_little_content", detail),
            certainty: Certainty::Proven,
            evidence: Evidence::default(),
        }))
    }

    /// The scorers that it asks.
    pub(crate) fn scorers(&self) -> Vec<&Arc<Scorer>> {
        self.kind.scorers()
    }
}
