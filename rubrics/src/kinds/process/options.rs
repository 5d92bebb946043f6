//! The options of a process scorer.

use serde::Serialize;

use crate::combine::shaping::{Ending, Shaping};
use crate::combine::steps::Aggregation;
use crate::config::Section;
use crate::kinds::Names;
use crate::kinds::options::{LabelOptions, read_share};
use crate::split::{SPLITTERS, Splitter};

/// The labels of Math-Shepherd.
const SHEPHERD_LABELS: [&str; 2] = ["+", "-"];
/// From here on a step counts as right.
const THRESHOLD: f64 = 0.5;

/// The options, with their defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ProcessOptions {
    pub(super) model: String,
    pub(super) method: StepMethod,
    /// Text after each step, at which it is read.
    pub(super) separator: String,
    /// Text between a separator and the next step.
    pub(super) joint: String,
    pub(super) splitter: Splitter,
    pub(super) aggregate: Aggregate,
    /// Below it a step is wrong.
    pub(super) threshold: f64,
    pub(super) shaping: Option<Shaping>,
}

/// Output that is read at a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepMethod {
    /// The model's head.
    Head {
        /// Output of a right step; by default the second of two, or the only one.
        score_index: Option<usize>,
    },
    /// Label tokens.
    Labels {
        /// Labels of a right and of a wrong step.
        labels: [String; 2],
        reading: LabelOptions,
    },
}

/// Aggregation of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Aggregate {
    /// By their scores.
    Of(Aggregation),
    /// The share of steps before the first wrong one.
    FirstError,
}

const AGGREGATES: &[(&str, Aggregate)] = &[
    ("min", Aggregate::Of(Aggregation::Min)),
    ("product", Aggregate::Of(Aggregation::Product)),
    ("mean", Aggregate::Of(Aggregation::Mean)),
    ("last", Aggregate::Of(Aggregation::Last)),
    ("sum_logits", Aggregate::Of(Aggregation::SumOfLogits)),
    ("first_error", Aggregate::FirstError),
];

#[derive(Clone, Copy)]
enum Way {
    Head,
    Labels,
}

#[derive(Clone, Copy)]
enum ShapingKind {
    Clip,
    Delta,
    ClipDelta,
}

impl ProcessOptions {
    /// Reads a `[[scorer]]` table.
    pub(super) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Self> {
        let ways = [("head", Way::Head), ("labels", Way::Labels)];
        let way = section.word("method", &ways).unwrap_or(Way::Head);
        let method = match way {
            Way::Head => Some(StepMethod::Head { score_index: index(section) }),
            Way::Labels => {
                let reading = LabelOptions::read(section);
                read_step_labels(section).map(|labels| StepMethod::Labels { labels, reading })
            }
        };
        let separator = separator(section, way);
        let joint = section.text("joint");
        let splitter = section.word("splitter", SPLITTERS);
        let aggregate = section.word("aggregate", AGGREGATES);
        let threshold = read_share(section, "threshold");
        let shaping = shaping(section);
        let model = names.model(section, "model");
        Some(Self {
            model: model?,
            method: method?,
            separator: separator?,
            joint: joint.unwrap_or_else(|| way.joint().to_owned()),
            splitter: splitter.unwrap_or_default(),
            aggregate: aggregate.unwrap_or(AGGREGATES[0].1),
            threshold: threshold.unwrap_or(THRESHOLD),
            shaping,
        })
    }

    /// Default options, for a model that requests name as a scorer.
    pub(super) fn native(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            method: StepMethod::Head { score_index: None },
            separator: Way::Head.separator().to_owned(),
            joint: Way::Head.joint().to_owned(),
            splitter: Splitter::default(),
            aggregate: AGGREGATES[0].1,
            threshold: THRESHOLD,
            shaping: None,
        }
    }
}

impl Way {
    /// The default of Qwen2.5-Math-PRM or of Math-Shepherd.
    fn separator(self) -> &'static str {
        match self {
            Self::Head => "<extra_0>",
            Self::Labels => " ки",
        }
    }

    /// The default of Qwen2.5-Math-PRM or of Math-Shepherd.
    fn joint(self) -> &'static str {
        match self {
            Self::Head => "",
            Self::Labels => "\n",
        }
    }
}

fn separator(section: &Section<'_, '_>, way: Way) -> Option<String> {
    if !section.has("separator") {
        return Some(way.separator().to_owned());
    }
    let separator = section.text("separator")?;
    if separator.is_empty() {
        section.problem("separator", "expected a text with something in it");
        return None;
    }
    Some(separator)
}

fn read_step_labels(section: &Section<'_, '_>) -> Option<[String; 2]> {
    if !section.has("labels") {
        return Some(SHEPHERD_LABELS.map(str::to_owned));
    }
    let labels = section.texts("labels")?;
    match <[String; 2]>::try_from(labels) {
        Ok([right, wrong]) if right != wrong && !right.is_empty() && !wrong.is_empty() => {
            Some([right, wrong])
        }
        Ok(_) | Err(_) => {
            let message =
                "expected two different labels: that of a right step and that of a wrong one";
            section.problem("labels", message);
            None
        }
    }
}

fn index(section: &Section<'_, '_>) -> Option<usize> {
    let index = section.integer("score_index", 0..1 << 16)?;
    usize::try_from(index).ok()
}

/// `shaping`, with `eta` and `ending` where it takes them.
fn shaping(section: &Section<'_, '_>) -> Option<Shaping> {
    let shapes = [
        ("clip", ShapingKind::Clip),
        ("delta", ShapingKind::Delta),
        ("clip_delta", ShapingKind::ClipDelta),
    ];
    let endings = [("success_only", Ending::SuccessOnly), ("own_score", Ending::OwnScore)];
    let eta = || section.number("eta").unwrap_or(THRESHOLD);
    let ending = || section.word("ending", &endings).unwrap_or_default();
    Some(match section.word("shaping", &shapes)? {
        ShapingKind::Clip => Shaping::Clip { eta: eta() },
        ShapingKind::Delta => Shaping::Delta { ending: ending() },
        ShapingKind::ClipDelta => Shaping::ClipThenDelta { eta: eta(), ending: ending() },
    })
}
