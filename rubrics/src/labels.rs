//! Verdict labels: probabilities of the answers of a judge, read at one position without generation.
//!
//! Each label must be one distinct token after the prompt, in every configured spelling. Other
//! tokenizers are refused at load: the difference between the first tokens of two words is
//! meaningless.

use std::sync::Arc;

use engine::{Origin, Output, OutputSpec, Task, Text};
use serde::Serialize;

use crate::models::{Prompted, Served};
use crate::outcome::{Failure, FailureKind};

/// Spellings of a label that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spelling {
    /// The word by itself and the word after a space, their probabilities together.
    #[default]
    Both,
    /// The word by itself.
    Bare,
    /// The word after a space.
    Spaced,
}

/// Spellings by their names in configurations.
pub(crate) const SPELLINGS: &[(&str, Spelling)] =
    &[("both", Spelling::Both), ("bare", Spelling::Bare), ("spaced", Spelling::Spaced)];

/// Labels as tokens after one prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labels {
    /// The tokens of all labels, those of a label side by side.
    columns: Arc<[u32]>,
    /// Tokens of each label.
    spellings: usize,
}

/// Log-probabilities of labels; finite.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LabelRead {
    /// Log-probability of each label over its spellings, in nats, in order.
    pub(crate) log_probs: Vec<f64>,
    /// Total probability of the labels.
    pub(crate) mass: f64,
}

impl Labels {
    /// The labels as they would follow `prompt`.
    ///
    /// # Errors
    /// The label and the spelling that is no token of its own.
    pub(crate) fn after(
        served: &Served,
        prompt: &Prompted,
        labels: &[&str],
        spelling: Spelling,
    ) -> Result<Self, String> {
        let variants: &[&str] = match spelling {
            Spelling::Both => &["", " "],
            Spelling::Bare => &[""],
            Spelling::Spaced => &[" "],
        };
        let mut columns = Vec::with_capacity(labels.len() * variants.len());
        for label in labels {
            for variant in variants {
                let id = token_after(served, prompt, &format!("{variant}{label}"))?;
                if columns.contains(&id) {
                    return Err(format!("the labels {labels:?} are not all different tokens"));
                }
                columns.push(id);
            }
        }
        Ok(Self { columns: columns.into(), spellings: variants.len() })
    }

    /// The task that reads the labels at the end of a prompt.
    pub(crate) fn task(&self, prompt: &Prompted) -> Task {
        Task::labels(prompt.token_ids.len() - 1, self.columns.clone(), true)
    }

    /// The task that reads the labels at several tokens of one sequence.
    pub(crate) fn task_at(&self, at: &[usize]) -> Task {
        let read = |at: &usize| {
            let columns = self.columns.clone();
            let mass = true;
            (*at, OutputSpec::Labels { columns, mass })
        };
        Task::Rows(at.iter().map(read).collect())
    }

    /// The tokens of each label, in order.
    pub(crate) fn token_ids(&self) -> impl Iterator<Item = &[u32]> {
        self.columns.chunks(self.spellings)
    }

    /// The log-probabilities of the labels from an output.
    ///
    /// # Errors
    /// [`FailureKind::Internal`] for numbers that are not finite, or another output.
    pub(crate) fn read(&self, output: &Output) -> Result<LabelRead, Failure> {
        let Output::Labels { logits, log_normalizer: Some(normalizer) } = output else {
            return Err(not_read("another output than was asked for"));
        };
        if logits.len() != self.columns.len() {
            return Err(not_read("another number of labels than was asked for"));
        }
        let spelled = logits.chunks(self.spellings);
        let log_probs: Vec<f64> =
            spelled.map(|logits| log_sum_exp(logits) - f64::from(*normalizer)).collect();
        if log_probs.iter().any(|value| !value.is_finite()) {
            return Err(not_read("a number for a label that is not finite"));
        }
        // Rounding may push a certainty past 1.
        let mass = log_probs.iter().map(|value| value.exp()).sum::<f64>();
        Ok(LabelRead { log_probs, mass: mass.min(1.0) })
    }
}

impl LabelRead {
    /// Share of each label among the labels; they sum to 1.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let most = self.log_probs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = self.log_probs.iter().map(|x| (x - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    /// The log-probability of the first label less that of the second.
    pub(crate) fn margin(&self) -> f64 {
        self.log_probs[0] - self.log_probs[1]
    }

    /// Fails if the model assigns the labels too little probability.
    ///
    /// # Errors
    /// [`FailureKind::Abstain`] where the labels hold less than `least` together.
    pub(crate) fn enough_mass(&self, least: f64) -> Result<(), Failure> {
        if self.mass >= least {
            return Ok(());
        }
        let detail = format!(
            "the labels hold a probability of {:.3} together, below min_label_mass = {least}",
            self.mass
        );
        let reason = verifiers::Reason::with("low_label_mass", detail);
        Err(Failure::new(FailureKind::Abstain, reason))
    }
}

/// The single token of `label` after a prompt.
fn token_after(served: &Served, prompt: &Prompted, label: &str) -> Result<u32, String> {
    // Text after a special token is encoded separately; only the end of the prompt matters then.
    let before = tail(prompt);
    let mut text = before.clone();
    text.push_str(label, Origin::Request);
    let alone = served.encode(&before)?;
    let with = served.encode(&text)?;
    match with.strip_prefix(alone.as_slice()) {
        Some([id]) => Ok(*id),
        Some(ids) => Err(format!(
            "the label {label:?} is {} tokens of this model; a verdict must be one",
            ids.len()
        )),
        None => Err(format!("the label {label:?} changes how the end of the prompt is read")),
    }
}

/// The last bytes of a prompt, which decide how the text after it is tokenised.
fn tail(prompt: &Prompted) -> Text {
    const TAIL_BYTES: usize = 64;
    let text = prompt.text.as_str();
    let mut from = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    prompt.text.part(from..text.len())
}

fn log_sum_exp(logits: &[f32]) -> f64 {
    let logits = logits.iter().copied().map(f64::from);
    let most = logits.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + logits.map(|x| (x - most).exp()).sum::<f64>().ln()
}

fn not_read(what: &'static str) -> Failure {
    let reason = verifiers::Reason::with("not_finite", format!("the model gave {what}"));
    Failure::new(FailureKind::Internal, reason)
}
