//! The progress of a task: rows read and tokens generated so far.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use models::batch::{Output, OutputSpec};
use models::{RowOutput, TokenDraw};

use crate::error::RequestError;
use crate::request::TaskOutput;
use crate::sampling::{FinishReason, SampleError, SampledToken, Sampler};

/// A task and its outputs so far.
#[derive(Debug)]
pub enum TaskState {
    /// Rows to read.
    Rows(RowsState),
    /// Tokens to generate.
    Generation(Box<GenerationState>),
}

/// Rows that are read as their tokens are computed.
#[derive(Debug)]
pub struct RowsState {
    /// In order of tokens.
    rows: Vec<PendingRow>,
    /// In the order of the task.
    outputs: Vec<Option<Output>>,
    /// Number of `rows` that are read.
    n_read: usize,
}

#[derive(Debug)]
struct PendingRow {
    /// Index of the token.
    at: usize,
    read: OutputSpec,
    /// Index among the outputs.
    output: usize,
}

/// A generation and its tokens so far.
#[derive(Debug)]
pub struct GenerationState {
    sampler: Sampler,
    tokens: Vec<SampledToken>,
    finish: Option<FinishReason>,
}

impl TaskState {
    /// A task of rows: for each the index of a token and the output to compute there.
    pub fn rows(rows: Vec<(usize, OutputSpec)>) -> TaskState {
        let outputs = vec![None; rows.len()];
        let mut rows: Vec<PendingRow> = rows
            .into_iter()
            .enumerate()
            .map(|(output, (at, read))| PendingRow { at, read, output })
            .collect();
        rows.sort_by_key(|row| row.at);
        TaskState::Rows(RowsState { rows, outputs, n_read: 0 })
    }

    /// A task of generation.
    pub fn generation(sampler: Sampler) -> TaskState {
        TaskState::Generation(Box::new(GenerationState {
            sampler,
            tokens: Vec::new(),
            finish: None,
        }))
    }

    /// Whether an output of the score head is read.
    pub(crate) fn reads_head(&self) -> bool {
        match self {
            TaskState::Rows(rows) => rows.rows.iter().any(|row| row.read == OutputSpec::Head),
            TaskState::Generation(_) => false,
        }
    }

    /// The output of a generation that was resumed at its end and needs no computation; otherwise
    /// `None`.
    pub(crate) fn finished_output(&self) -> Option<TaskOutput> {
        match self {
            TaskState::Rows(_) => None,
            TaskState::Generation(generation) => Some(TaskOutput::Tokens {
                tokens: Vec::new(),
                finish: generation.sampler.ended()?.clone(),
            }),
        }
    }

    /// The output of a finished task.
    ///
    /// # Panics
    /// If it is not finished.
    pub(super) fn into_output(self) -> TaskOutput {
        match self {
            TaskState::Rows(rows) => TaskOutput::Rows(
                rows.outputs
                    .into_iter()
                    .map(|output| output.expect("every row of a finished task is read"))
                    .collect(),
            ),
            TaskState::Generation(generation) => TaskOutput::Tokens {
                tokens: generation.tokens,
                finish: generation.finish.expect("a finished generation has its reason"),
            },
        }
    }
}

impl RowsState {
    /// Index of the last token that is read; 0 if there are no rows.
    pub(super) fn last_token(&self) -> usize {
        self.rows.last().map_or(0, |row| row.at)
    }

    /// Index of the first token still to be read; `None` if all are.
    pub(super) fn next_token(&self) -> Option<usize> {
        self.rows.get(self.n_read).map(|row| row.at)
    }

    /// The unread rows in `span`, as indices into the span.
    pub(super) fn in_span(&self, span: &Range<usize>) -> Vec<(usize, OutputSpec)> {
        self.rows[self.n_read..]
            .iter()
            .take_while(|row| row.at < span.end)
            .map(|row| (row.at - span.start, row.read.clone()))
            .collect()
    }

    /// Stores the outputs of the next rows.
    pub(super) fn accept(&mut self, outputs: Vec<RowOutput>) -> Result<(), RequestError> {
        for output in outputs {
            let row = &self.rows[self.n_read];
            let RowOutput::Output(output) = output else {
                let what = format!("the forward drew a token at position {}, unasked", row.at);
                return Err(RequestError::Model(what));
            };
            check_finite(&output, row.at)?;
            self.outputs[row.output] = Some(output);
            self.n_read += 1;
        }
        Ok(())
    }

    /// Marks every row as unread.
    pub(super) fn reset(&mut self) {
        self.n_read = 0;
    }
}

impl GenerationState {
    /// How a forward draws the next token; `None` where its logits are needed, also for a
    /// constraint that panics, which then fails this sequence only.
    pub(super) fn draw(&mut self) -> Option<TokenDraw> {
        let sampler = &mut self.sampler;
        catch_unwind(AssertUnwindSafe(|| sampler.draw())).ok().flatten()
    }

    /// Samples the token at `position` from logits under the weights of `revision`, or takes the
    /// one that was drawn. The flag says whether it is the last.
    pub(super) fn accept(
        &mut self,
        output: RowOutput,
        position: usize,
        revision: u64,
    ) -> Result<(SampledToken, bool), RequestError> {
        // A constraint runs third-party code on untrusted grammars: a panic there fails this
        // sequence only.
        let sampler = &mut self.sampler;
        let next = || match output {
            RowOutput::Output(Output::Vocab(mut logits)) => Some(sampler.next(&mut logits)),
            RowOutput::Token(drawn) => Some(sampler.take(drawn)),
            RowOutput::Output(_) => None,
        };
        let next = catch_unwind(AssertUnwindSafe(next))
            .map_err(|_| RequestError::Constraint("choosing a token panicked".to_owned()))?
            .ok_or_else(|| {
                let what = "the forward gave no logits for a row whose logits were requested";
                RequestError::Model(what.to_owned())
            })?
            .map_err(|error| match error {
                SampleError::NotFinite(value) => RequestError::NotFinite {
                    value,
                    place: format!("in the logits at position {}", position - 1),
                },
                SampleError::Constraint(what) => RequestError::Constraint(what),
            })?;
        let sampled = SampledToken { revision, ..next.sampled };
        self.tokens.push(sampled.clone());
        self.finish = next.finish;
        Ok((sampled, self.finish.is_some()))
    }
}

/// Fails on a non-finite number, which must never become a score.
fn check_finite(output: &Output, at: usize) -> Result<(), RequestError> {
    let first = |numbers: &[f32]| numbers.iter().copied().find(|x| !x.is_finite());
    let (found, what) = match output {
        Output::Head(scores) => (first(scores), "score"),
        Output::Vocab(logits) => (first(logits), "logits"),
        Output::Labels { logits, log_normalizer } => {
            let mass = log_normalizer.filter(|x| !x.is_finite());
            (first(logits).or(mass), "label logits")
        }
        Output::Logprob { logprob, entropy } => (first(&[*logprob, *entropy]), "log-probability"),
        Output::Hidden(state) => (first(state), "hidden state"),
    };
    match found {
        None => Ok(()),
        Some(value) => {
            Err(RequestError::NotFinite { value, place: format!("in the {what} at position {at}") })
        }
    }
}
