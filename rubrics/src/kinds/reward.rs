//! `kind = "reward"`: score of a response by a model's score head at the last token.
//!
//! A head of one output is the scalar reward model of preference training (Training a Helpful and
//! Harmless Assistant with Reinforcement Learning from Human Feedback, 2204.05862), and a value
//! head is read in the same way. A head with several outputs is reduced to one of them or to their
//! weighted sum: qualities such as those of `HelpSteer2` (2406.08673), or classes with softmax
//! probabilities.
//!
//! A model without a head, trained to end a conversation with a verdict, is read for two label
//! tokens at the same place ([`labelled`]).

mod labelled;
mod options;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use verifiers::Reason;

use engine::{Output, Task};

use super::{KindContext, Names, ScoreFuture, ScorerKind};
use crate::Message;
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::models::{Chat, Models, Prompted, Served, wording_digest};
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, PartReport, Score, Trace};
use crate::sample::Sample;
use base::stats::sigmoid;

use options::{CountedOutputs, RewardOptions, ScoreTransform};

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "reward";

struct RewardKind {
    options: RewardOptions,
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let ways = [("head", false), ("labels", true)];
    if section.word("method", &ways).unwrap_or(false) {
        return labelled::read(section, names);
    }
    let options = RewardOptions::read(section, names)?;
    Some(Box::new(RewardKind { options }))
}

/// The kind with default options, for a model that requests name as a scorer.
///
/// # Errors
/// What the model lacks.
pub(crate) fn native(served: &Served) -> Result<Box<dyn ScorerKind>, String> {
    let options = RewardOptions::native(served.name());
    options.fit(served)?;
    Ok(Box::new(RewardKind { options }))
}

impl ScorerKind for RewardKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "scores a response with a model's reward head"
    }

    fn revision(&self) -> u32 {
        3
    }

    fn options(&self) -> Value {
        json!(self.options)
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.options.model]
    }

    fn calibrates(&self) -> bool {
        self.options.has_raw()
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.options.model);
        self.options.fit(&served.expect("its name was checked"))
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context.client))
    }
}

impl RewardKind {
    async fn evaluate_sample(&self, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        let served = client.served(&self.options.model)?;
        let turns = sample.conversation();
        let rendering = served.clone();
        let prompt = client.run(move || tokenized(&rendering, &turns)).await??;
        let at = served.host.config.whole_text_position(&prompt.token_ids);
        let mut trace = Trace { prompt: Some(wording_digest(&served, &[])), ..Trace::default() };
        let sequences = vec![(prompt.token_ids.clone(), Task::scores([at]))];
        let outputs = client.read(&served, sequences, &mut trace).await?;
        let [Output::Head(logits)] = &outputs[0][..] else {
            return Err(unusable("the model gave another output than its head's"));
        };
        let logits: Vec<f64> = logits.iter().copied().map(f64::from).collect();
        self.options.reward(&logits, trace)
    }
}

impl RewardOptions {
    /// The reward of a head's outputs.
    fn reward(&self, logits: &[f64], trace: Trace) -> Outcome {
        let scores = match self.score {
            ScoreTransform::Raw => logits.to_vec(),
            ScoreTransform::Sigmoid => logits.iter().copied().map(sigmoid).collect(),
            ScoreTransform::Softmax => base::stats::softmax(logits),
        };
        let (score, raw) = self.whole(logits, &scores)?;
        if !score.is_finite() || raw.is_some_and(|raw| !raw.is_finite()) {
            return Err(unusable("the head gave numbers too large to combine"));
        }
        let label = match self.score {
            ScoreTransform::Softmax => Some(self.name(likeliest(&scores)).into()),
            ScoreTransform::Raw | ScoreTransform::Sigmoid => None,
        };
        let parts = (logits.len() > 1).then(|| self.parts(logits, &scores));
        Ok(Score {
            raw,
            label,
            evidence: Evidence { parts, trace: Some(trace), ..Evidence::default() },
            ..Score::proven(score, Reason::code("reward_head"))
        })
    }

    /// The score and the unbounded value behind it.
    fn whole(&self, logits: &[f64], scores: &[f64]) -> Result<(f64, Option<f64>), Failure> {
        match &self.counted {
            CountedOutputs::One(index) => {
                let (Some(logit), Some(score)) = (logits.get(*index), scores.get(*index)) else {
                    return Err(unusable("the head has fewer outputs than it had"));
                };
                let raw = match self.score {
                    ScoreTransform::Raw | ScoreTransform::Sigmoid => *logit,
                    ScoreTransform::Softmax => margin(logits, *index),
                };
                Ok((*score, Some(raw)))
            }
            CountedOutputs::Weighted(weights) => {
                if weights.len() != logits.len() {
                    return Err(unusable("the head has not as many outputs as it had"));
                }
                let sum = |values: &[f64]| weights.iter().zip(values).map(|(w, x)| w * x).sum();
                let raw: f64 = sum(logits);
                Ok(match self.score {
                    ScoreTransform::Raw => (raw, Some(raw)),
                    ScoreTransform::Sigmoid => (sigmoid(raw), Some(raw)),
                    // A mean of the weights by probability has no logit.
                    ScoreTransform::Softmax => (sum(scores), None),
                })
            }
        }
    }

    /// Each output by itself.
    fn parts(&self, logits: &[f64], scores: &[f64]) -> Vec<PartReport> {
        let outputs = logits.iter().zip(scores).enumerate();
        let part = |(index, (raw, score)): (usize, (&f64, &f64))| PartReport {
            name: self.name(index),
            weight: match &self.counted {
                CountedOutputs::One(counted) => f64::from(u8::from(*counted == index)),
                CountedOutputs::Weighted(weights) => weights[index],
            },
            outcome: Some(Ok(Score {
                raw: Some(*raw),
                ..Score::proven(*score, Reason::code("reward_head"))
            })),
        };
        outputs.map(part).collect()
    }
}

/// Renders and encodes a conversation to at least one token.
///
/// # Errors
/// A refusal: the model cannot take this conversation.
fn tokenized(served: &Served, turns: &[Message]) -> Result<Prompted, Failure> {
    let prompt = served.prompt(&Chat::without_generation_prompt(turns))?;
    if prompt.token_ids.is_empty() {
        let detail = "the chat template makes nothing of this conversation";
        return Err(Failure::refused("prompt_not_rendered", detail));
    }
    Ok(prompt)
}

/// Log-odds of one class against all others.
fn margin(logits: &[f64], index: usize) -> f64 {
    let others = logits.iter().enumerate().filter(|(at, _)| *at != index);
    let others = others.map(|(_, logit)| *logit);
    let most = others.clone().fold(f64::NEG_INFINITY, f64::max);
    logits[index] - most - others.map(|x| (x - most).exp()).sum::<f64>().ln()
}

/// The first of the greatest.
fn likeliest(scores: &[f64]) -> usize {
    let mut best = 0;
    for (index, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = index;
        }
    }
    best
}

fn unusable(what: &'static str) -> Failure {
    Failure::new(FailureKind::Internal, Reason::with("head_unusable", what))
}
