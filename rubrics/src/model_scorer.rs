//! A kind with the options that every kind takes: the domain, the minimum of content and the
//! calibration.

use futures_util::future::join_all;
use serde_json::{Value, json};
use verifiers::Reason;

use crate::calibration::ScorerCalibration;
use crate::domain::Domain;
use crate::kinds::{KindContext, ScorerKind};
use crate::models::Models;
use crate::outcome::{Failure, Outcome, Score};
use crate::sample::Sample;

/// A kind with the options that every kind takes.
pub(crate) struct ModelScorer {
    kind: Box<dyn ScorerKind>,
    common: CommonOptions,
}

/// Options that every kind takes.
#[derive(Debug, Clone)]
pub(crate) struct CommonOptions {
    /// The prompts that the scorer takes; `None` for all.
    pub(crate) domain: Option<Domain>,
    /// Non-blank characters below which a response gets [`ScorerKind::min_score`] without a call
    /// of the model.
    pub(crate) min_content: usize,
    /// Maps the raw value to the score; `None` for the kind's own mapping.
    pub(crate) calibration: Option<ScorerCalibration>,
}

impl Default for CommonOptions {
    fn default() -> Self {
        Self { domain: None, min_content: 1, calibration: None }
    }
}

impl ModelScorer {
    pub(crate) fn new(kind: Box<dyn ScorerKind>, common: CommonOptions) -> Self {
        Self { kind, common }
    }

    pub(crate) fn kind(&self) -> &dyn ScorerKind {
        &*self.kind
    }

    /// Content of the scorer's digest; `scorers` are the digests of [`ScorerKind::scorers`].
    pub(crate) fn digest_options(&self, scorers: &[String]) -> Value {
        let calibration = self.common.calibration.as_ref();
        let calibration = calibration.map(|map| map.to_json(Value::Null));
        let mut common =
            json!({ "min_content": self.common.min_content, "calibration": calibration });
        if let Some(domain) = &self.common.domain {
            common["domain"] = domain.to_json();
        }
        json!([self.kind.options(), common, scorers])
    }

    /// Checks the kind against the served models.
    ///
    /// # Errors
    /// Missing requirements, for the operator.
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

    /// Scores one response.
    pub(crate) async fn evaluate(&self, sample: Sample<'_>, context: KindContext<'_>) -> Outcome {
        if self.kind.is_pairwise() {
            let detail = "this scorer compares responses: give 'responses', two or more";
            return Err(Failure::refused("group_needed", detail));
        }
        if let Some(outcome) = self.without_model(&sample) {
            return outcome;
        }
        self.calibrate(self.kind.evaluate(sample, context).await)
    }

    /// Scores the responses of a group.
    pub(crate) async fn evaluate_group(
        &self,
        samples: Vec<Sample<'_>>,
        context: KindContext<'_>,
    ) -> Outcome {
        if self.kind.is_pairwise() && samples.len() < 2 {
            let detail = "a group of one has nothing to be compared with";
            return Err(Failure::refused("group_of_one", detail));
        }
        if self.kind.is_pairwise() {
            samples.iter().try_for_each(|sample| self.refuse_domain(sample))?;
            return self.kind.evaluate_group(samples, context).await;
        }
        let gated: Vec<Option<Outcome>> =
            samples.iter().map(|sample| self.without_model(sample)).collect();
        if self.common.calibration.is_none() && gated.iter().all(Option::is_none) {
            return self.kind.evaluate_group(samples, context).await;
        }
        let outcomes = samples.into_iter().zip(gated).map(|(sample, gated)| async move {
            match gated {
                Some(outcome) => outcome,
                None => self.calibrate(self.kind.evaluate(sample, context).await),
            }
        });
        self.kind.aggregate_group(join_all(outcomes).await)
    }

    /// Replaces the score by the calibration of the raw value.
    fn calibrate(&self, outcome: Outcome) -> Outcome {
        let mut scored = outcome?;
        if let (Some(calibration), Some(raw)) = (&self.common.calibration, scored.raw) {
            scored.score = calibration.map.apply(raw);
        }
        Ok(scored)
    }

    /// The outcome of a response for which no model is called; `None` for one that needs it.
    fn without_model(&self, sample: &Sample<'_>) -> Option<Outcome> {
        let refused = self.refuse_domain(sample).err().map(Err);
        refused.or_else(|| self.too_little_content(sample))
    }

    fn refuse_domain(&self, sample: &Sample<'_>) -> Result<(), Failure> {
        self.common.domain.as_ref().map_or(Ok(()), |domain| domain.refuse(sample))
    }

    /// The minimum score for a response with less than `min_content`; `None` if it has enough.
    /// Models have been found to praise an empty page, so they are not called for one.
    fn too_little_content(&self, sample: &Sample<'_>) -> Option<Outcome> {
        let content = sample.response.chars().filter(|c| !c.is_whitespace());
        let found = content.take(self.common.min_content).count();
        if found >= self.common.min_content {
            return None;
        }
        let score = self.kind.min_score(sample)?;
        let detail = format!(
            "the response has {found} characters that are no white space; min_content is {}",
            self.common.min_content
        );
        Some(Ok(Score {
            label: Some("too_little_content".into()),
            ..Score::proven(score, Reason::with("too_little_content", detail))
        }))
    }
}
