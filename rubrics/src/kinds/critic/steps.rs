//! The steps of a solution: where they stand, and how a prompt shows them.

use std::fmt::Write as _;
use std::ops::Range;

use verifiers::arithmetic;

use crate::kinds::prompting::quotation;
use crate::outcome::{CodePoints, Failure, StepScore};
use crate::sample::Sample;
use crate::split::Splitter;

/// The steps of one response; there is at least one.
pub(super) struct Steps<'r> {
    response: &'r str,
    /// Byte ranges of the response, in order.
    spans: Vec<Range<usize>>,
}

/// The critique of a step.
pub(super) struct Mark {
    pub(super) score: Option<f64>,
    pub(super) raw: Option<f64>,
    pub(super) label: &'static str,
    pub(super) critique: Option<String>,
}

impl<'r> Steps<'r> {
    /// Those of the client, or else what the splitter makes of the response.
    ///
    /// # Errors
    /// A refusal: there is none, or the client's do not stand in the response.
    pub(super) fn of(sample: &Sample<'r>, splitter: Splitter) -> Result<Self, Failure> {
        Self::within(sample, 0..sample.response.len(), splitter)
    }

    /// The same for the thought of the response alone.
    ///
    /// # Errors
    /// A refusal, also where the response has no thought.
    pub(super) fn of_thought(sample: &Sample<'r>) -> Result<Self, Failure> {
        let thought = thought(sample.response).ok_or_else(|| {
            let detail = "the response has no <think> text to judge";
            Failure::refused("no_thought", detail)
        })?;
        Self::within(sample, thought, Splitter::BlankLines)
    }

    fn within(
        sample: &Sample<'r>,
        range: Range<usize>,
        splitter: Splitter,
    ) -> Result<Self, Failure> {
        let response = sample.response;
        let text = &response[range.clone()];
        let spans = match &sample.input.steps {
            None => splitter.split(text),
            Some(steps) => {
                arithmetic::locate(text, steps).ok_or_else(Failure::steps_not_in_response)?
            }
        };
        if spans.is_empty() {
            return Err(Failure::refused("no_steps", "there is no step to judge"));
        }
        let moved = |span: Range<usize>| span.start + range.start..span.end + range.start;
        Ok(Self { response, spans: spans.into_iter().map(moved).collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The steps as a prompt shows them, numbered from 1. What a step says is quoted, so that only
    /// our own marks begin at the margin.
    pub(super) fn numbered(&self) -> String {
        let mut out = String::new();
        for (index, span) in self.spans.iter().enumerate() {
            let text = quotation(&self.response[span.clone()]);
            write!(out, "<step {}>\n{text}", index + 1).expect("a string takes everything");
        }
        out
    }

    /// The rewards of the steps; `mark` is asked with their indices.
    pub(super) fn rewards(&self, mut mark: impl FnMut(usize) -> Mark) -> Vec<StepScore> {
        let mut points = CodePoints::new(self.response);
        let spans = self.spans.iter().enumerate();
        let rewards = spans.map(|(index, span)| {
            let mark = mark(index);
            StepScore {
                span: points.range(span),
                score: mark.score,
                raw: mark.raw,
                label: mark.label.into(),
                critique: mark.critique,
                equalities: None,
            }
        });
        rewards.collect()
    }

    /// From the beginning of the first to the end of the last of some steps, in code points.
    pub(super) fn stretch(&self, steps: &Range<usize>) -> Range<usize> {
        let (first, last) = (&self.spans[steps.start], &self.spans[steps.end - 1]);
        CodePoints::new(self.response).range(&(first.start..last.end))
    }

    /// What follows the thought, or nothing.
    pub(super) fn after_thought(response: &str) -> &str {
        thought(response).map_or("", |range| {
            let rest = &response[range.end..];
            rest.strip_prefix(CLOSE).unwrap_or(rest)
        })
    }
}

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// The text between `<think>` and the last `</think>`. Templates prefill the opening tag, and a
/// thought that was cut never closes, so that one tag of the two is enough.
fn thought(response: &str) -> Option<Range<usize>> {
    let close = response.rfind(CLOSE);
    let end = close.unwrap_or(response.len());
    match response[..end].find(OPEN) {
        Some(at) => Some(at + OPEN.len()..end),
        None => close.map(|end| 0..end),
    }
}
