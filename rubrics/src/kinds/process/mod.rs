//! `kind = "process"`: scores of a response's steps by a process reward model.
//!
//! Two methods, both with one sequence and one forward for a response of any number of steps:
//!
//! - `head`: a token head is read at a separator token after each step. Two outputs are the wrong
//!   and the right of a step (Qwen2.5-Math-PRM, The Lessons of Developing Process Reward Models in
//!   Mathematical Reasoning, 2501.07301); one output is a logit.
//! - `labels`: the vocabulary is read for label tokens, `+` and `-`, at the place after each step
//!   (Math-Shepherd, 2312.08935).
//!
//! A step's `raw` is the log-odds of right against all other outputs or labels; its `score` is
//! their logistic function, which is the softmax.

mod layout;
mod options;
#[cfg(test)]
mod tests;
mod verdict;

use std::ops::Range;
use std::sync::Arc;

use engine::{Output, Task};
use serde_json::{Value, json};
use verifiers::arithmetic;

use super::{InputFields, KindContext, Names, ScoreFuture, ScorerKind};
use crate::Message;
use crate::combine::steps::Aggregation;
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::labels::{Labels, Spelling};
use crate::models::{Models, Prompted, Served, wording_digest};
use crate::outcome::{CodePoints, Failure, FailureKind, Outcome, Trace};
use crate::sample::Sample;

use layout::Laid;
use options::{Aggregate, ProcessOptions, StepMethod};
use verdict::StepValue;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "process";

struct ProcessKind {
    options: Arc<ProcessOptions>,
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let options = Arc::new(ProcessOptions::read(section, names)?);
    Some(Box::new(ProcessKind { options }))
}

/// The kind with default options, for a model that requests name as a scorer.
///
/// # Errors
/// What the model lacks.
pub(crate) fn native(served: &Served) -> Result<Box<dyn ScorerKind>, String> {
    let options = Arc::new(ProcessOptions::native(served.name()));
    fits(&options, served)?;
    Ok(Box::new(ProcessKind { options }))
}

/// A response on its way to the model.
struct Asked {
    laid: Laid,
    /// Ranges of the steps, in code points of the response.
    spans: Vec<Range<usize>>,
    /// The label tokens, where it is these that are read.
    labels: Option<Labels>,
}

impl ScorerKind for ProcessKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "scores every step of a response with a process reward model"
    }

    fn options(&self) -> Value {
        json!(*self.options)
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.options.model]
    }

    fn input_fields(&self) -> InputFields {
        InputFields { steps: true, ..InputFields::default() }
    }

    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        match self.options.aggregate {
            Aggregate::Of(Aggregation::SumOfLogits) => None,
            Aggregate::Of(
                Aggregation::Min | Aggregation::Product | Aggregation::Mean | Aggregation::Last,
            )
            | Aggregate::FirstError => Some(0.0),
        }
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.options.model);
        fits(&self.options, &served.expect("its name was checked"))
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context.client))
    }
}

impl ProcessKind {
    async fn evaluate_sample(&self, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        let served = client.served(&self.options.model)?;
        let given = sample.input.steps.clone();
        let turns = sample.conversation();
        let (options, rendering) = (self.options.clone(), served.clone());
        let request =
            client.run(move || ask(&options, &rendering, turns, given.as_deref())).await??;
        let task = match &request.labels {
            None => Task::scores(request.laid.at.iter().copied()),
            Some(labels) => labels.task_at(&request.laid.at),
        };
        let mut trace = Trace { prompt: Some(wording_digest(&served, &[])), ..Trace::default() };
        let sequence = vec![(request.laid.prompt.token_ids.clone(), task)];
        let outputs = client.read(&served, sequence, &mut trace).await?;
        let values = self.values(request.labels.as_ref(), &outputs[0], &mut trace)?;
        verdict::conclude(&self.options, &request.spans, &values, trace)
    }

    /// Reads the values of the steps.
    fn values(
        &self,
        labels: Option<&Labels>,
        outputs: &[Output],
        trace: &mut Trace,
    ) -> Result<Vec<StepValue>, Failure> {
        let values = outputs.iter().map(|output| match &self.options.method {
            StepMethod::Head { score_index } => match output {
                Output::Head(logits) => StepValue::of_head(logits, *score_index),
                Output::Vocab(_)
                | Output::Labels { .. }
                | Output::Logprob { .. }
                | Output::Hidden(_) => {
                    Err(verdict::unusable("the model gave another output than its head's"))
                }
            },
            StepMethod::Labels { reading, .. } => {
                let read = labels.expect("labels were looked up").read(output)?;
                trace.saw_mass(Some(read.mass));
                read.enough_mass(reading.min_label_mass)?;
                Ok(StepValue::of_margin(read.margin()))
            }
        });
        values.collect()
    }
}

/// Splits, renders and encodes. The last turn is the response's.
fn ask(
    options: &ProcessOptions,
    served: &Served,
    turns: Vec<Message>,
    given: Option<&[String]>,
) -> Result<Asked, Failure> {
    let response = &turns.last().expect("a response is a turn").content;
    let steps = steps_of(options, response, given)?;
    let mut points = CodePoints::new(response);
    let spans = steps.iter().map(|step| points.range(step)).collect();
    let laid = layout::lay(options, served, turns, &steps)?;
    let labels = match &options.method {
        StepMethod::Head { .. } => None,
        StepMethod::Labels { labels, reading } => {
            Some(labels_after(served, &laid, labels, reading.spellings)?)
        }
    };
    Ok(Asked { laid, spans, labels })
}

/// The labels as they follow the first step.
fn labels_after(
    served: &Served,
    laid: &Laid,
    labels: &[String; 2],
    spelling: Spelling,
) -> Result<Labels, Failure> {
    let prompt = Prompted {
        token_ids: laid.prompt.token_ids.clone(),
        text: laid.prompt.text.part(0..laid.first_end),
    };
    let labels = [labels[0].as_str(), labels[1].as_str()];
    let found = Labels::after(served, &prompt, &labels, spelling);
    found.map_err(|what| Failure::refused("labels_unusable", what))
}

/// The steps as byte ranges of the response.
fn steps_of(
    options: &ProcessOptions,
    response: &str,
    given: Option<&[String]>,
) -> Result<Vec<Range<usize>>, Failure> {
    let Some(given) = given else {
        let steps = options.splitter.split(response);
        if steps.is_empty() {
            let detail = options.splitter.missing();
            let reason = verifiers::Reason::with("no_steps", detail);
            return Err(Failure::new(FailureKind::Abstain, reason));
        }
        return Ok(steps);
    };
    if given.is_empty() {
        let detail = "'steps' is empty; leave it out to have the response split";
        return Err(Failure::refused("no_steps", detail));
    }
    if let Some(index) = given.iter().position(|step| step.trim().is_empty()) {
        let detail = format!("steps[{index}] has nothing in it");
        return Err(Failure::refused("step_empty", detail));
    }
    arithmetic::locate(response, given).ok_or_else(Failure::steps_not_in_response)
}

/// Checks a model by preparing a request with a response of one step.
fn fits(options: &ProcessOptions, served: &Served) -> Result<(), String> {
    has_outputs(options, served)?;
    let text = "First step.";
    let turns = vec![Message::new("user", "A question?"), Message::new("assistant", text)];
    let request = ask(options, served, turns, Some(&[text.to_owned()]));
    request.map(|_| ()).map_err(|failure| {
        let detail = failure.reason.detail;
        detail.map_or_else(|| failure.reason.code.to_owned(), Into::into)
    })
}

/// Checks that a model has the head or the vocabulary that the method reads.
fn has_outputs(options: &ProcessOptions, served: &Served) -> Result<(), String> {
    let name = served.name();
    let index = match &options.method {
        StepMethod::Labels { .. } if served.has_vocabulary() => return Ok(()),
        StepMethod::Labels { .. } => {
            return Err(format!("'{name}' has no vocabulary to read labels from"));
        }
        StepMethod::Head { score_index } => *score_index,
    };
    let n = served.head_labels();
    let n = n.ok_or_else(|| format!("'{name}' has no score head"))?;
    match index {
        Some(index) if index >= n => Err(format!(
            "score_index is {index}, and the head of '{name}' has {n} outputs, counted from 0"
        )),
        None if n > 2 => Err(format!(
            "the head of '{name}' has {n} outputs: say with score_index which one is a right step"
        )),
        Some(_) | None => Ok(()),
    }
}
