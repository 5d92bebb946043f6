//! The options of a reward scorer.

use serde::Serialize;

use crate::config::Section;
use crate::kinds::Names;
use crate::models::Served;

/// The options, with their defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RewardOptions {
    pub(super) model: String,
    pub(super) score: ScoreTransform,
    pub(super) counted: CountedOutputs,
    /// Whether the configuration names the outputs that count, as it must if there are several.
    chosen: bool,
    /// Names of the outputs, in order; they may be left out.
    labels: Option<Vec<String>>,
}

/// Map from logits to score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScoreTransform {
    /// Its logistic function, in [0, 1].
    #[default]
    Sigmoid,
    /// The logit itself.
    Raw,
    /// The probability of a class among all of them.
    Softmax,
}

/// Outputs that count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CountedOutputs {
    /// One of them, from 0.
    One(usize),
    /// All of them, each with its weight.
    Weighted(Vec<f64>),
}

/// More outputs than any head has.
const MOST_OUTPUTS: u64 = 1 << 16;

impl RewardOptions {
    /// Whether verdicts have a logit: weighted probabilities have none.
    pub(super) fn has_raw(&self) -> bool {
        match (&self.counted, self.score) {
            (CountedOutputs::Weighted(_), ScoreTransform::Softmax) => false,
            (CountedOutputs::Weighted(_), ScoreTransform::Raw | ScoreTransform::Sigmoid)
            | (CountedOutputs::One(_), _) => true,
        }
    }

    /// Reads a `[[scorer]]` table.
    pub(super) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Self> {
        let words = [
            ("sigmoid", ScoreTransform::Sigmoid),
            ("raw", ScoreTransform::Raw),
            ("softmax", ScoreTransform::Softmax),
        ];
        let score = section.word("score", &words).unwrap_or_default();
        let labels = read_output_labels(section);
        let counted = counted(section, labels.as_deref());
        let model = names.model(section, "model");
        let (model, counted) = (model?, counted?);
        if let (Some(labels), Some(CountedOutputs::Weighted(weights))) = (&labels, &counted)
            && labels.len() != weights.len()
        {
            let message = format!("{} weights for {} labels", weights.len(), labels.len());
            section.problem("weights", message);
            return None;
        }
        Some(Self {
            model,
            score,
            chosen: counted.is_some(),
            counted: counted.unwrap_or(CountedOutputs::One(0)),
            labels,
        })
    }

    /// Default options, for a model that requests name as a scorer.
    pub(super) fn native(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            score: ScoreTransform::default(),
            counted: CountedOutputs::One(0),
            chosen: false,
            labels: None,
        }
    }

    /// Whether the model's head has what counts.
    pub(super) fn fit(&self, served: &Served) -> Result<(), String> {
        let name = served.name();
        let n = served.head_labels();
        let n = n.ok_or_else(|| format!("'{name}' has no score head"))?;
        let has = format!("the head of '{name}' has {n} outputs");
        if n > 1 && !self.chosen {
            return Err(format!(
                "{has}: say with `label` which one counts, or with `weights` what each is worth"
            ));
        }
        if n == 1 && self.score == ScoreTransform::Softmax {
            return Err(format!(
                "the head of '{name}' has one output, and score = \"softmax\" is for several"
            ));
        }
        if let Some(labels) = &self.labels
            && labels.len() != n
        {
            return Err(format!("{has}, and {} are named by `labels`", labels.len()));
        }
        match &self.counted {
            CountedOutputs::One(index) if *index >= n => {
                Err(format!("{has}, counted from 0, and `label` is {index}"))
            }
            CountedOutputs::Weighted(weights) if weights.len() != n => {
                Err(format!("{has}, and there are {} `weights`", weights.len()))
            }
            CountedOutputs::One(_) | CountedOutputs::Weighted(_) => Ok(()),
        }
    }

    /// Returns the name of an output.
    pub(super) fn name(&self, index: usize) -> String {
        let label = self.labels.as_ref().and_then(|labels| labels.get(index));
        label.map_or_else(|| format!("output {index}"), Clone::clone)
    }
}

fn read_output_labels(section: &Section<'_, '_>) -> Option<Vec<String>> {
    let labels = section.texts("labels")?;
    let repeated = |index: &usize| labels[..*index].contains(&labels[*index]);
    if let Some(index) = (1..labels.len()).find(repeated) {
        section.problem("labels", format!("'{}' is named twice", labels[index]));
        return None;
    }
    Some(labels)
}

/// Reads `label` or `weights`, at most one of which may be given: `Some(None)` without either,
/// `None` if the given one is invalid.
#[expect(clippy::option_option, reason = "an error and an absent option differ")]
fn counted(section: &Section<'_, '_>, labels: Option<&[String]>) -> Option<Option<CountedOutputs>> {
    if section.has("label") && section.has("weights") {
        section.problem("weights", "give either `label` or `weights`, not both");
        return None;
    }
    if section.has("label") {
        return label(section, labels).map(|index| Some(CountedOutputs::One(index)));
    }
    if !section.has("weights") {
        return Some(None);
    }
    let weights = section.numbers("weights")?;
    if weights.iter().all(|weight| *weight == 0.0) {
        section.problem("weights", "at least one weight must be other than 0");
        return None;
    }
    Some(Some(CountedOutputs::Weighted(weights)))
}

/// An index from 0, or one of the names.
fn label(section: &Section<'_, '_>, labels: Option<&[String]>) -> Option<usize> {
    let given = section.scalar("label")?;
    if let Some(index) = labels.and_then(|all| all.iter().position(|label| *label == given)) {
        return Some(index);
    }
    if let Ok(index) = given.parse::<usize>()
        && (index as u64) < MOST_OUTPUTS
    {
        return Some(index);
    }
    let message = format!("'{given}' is neither an output, counted from 0, nor one of `labels`");
    section.problem("label", message);
    None
}
