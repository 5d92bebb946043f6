//! Outputs of a step: sequences advance, and finished ones leave.

use models::RowOutput;

use crate::cache::SequenceId;
use crate::error::RequestError;
use crate::request::{TaskOutput, Usage};
use crate::sampling::SampledToken;

use super::sequence::{SequenceProgress, SequenceStatus};
use super::state::Scheduler;
use super::step::{Member, Step};

/// The result of a step for one sequence.
#[derive(Debug, PartialEq)]
pub enum SchedulerEvent {
    /// A generation has one more token and continues.
    Token(SequenceId, SampledToken),
    /// A sequence is done; no event follows for it.
    Done {
        /// The sequence.
        id: SequenceId,
        /// Its output and token counts, or why there is none.
        result: Result<(TaskOutput, Usage), RequestError>,
        /// The token that ended it; `None` for rows and failures.
        last: Option<SampledToken>,
    },
}

impl Scheduler {
    /// Takes the outputs of a step, or why it failed, and gives the events that follow. A failed
    /// step fails its own sequences only.
    pub fn finish(
        &mut self,
        step: Step,
        outcome: Result<impl Into<Vec<RowOutput>>, String>,
    ) -> Vec<SchedulerEvent> {
        let n_rows: usize = step.members.iter().map(|member| member.n_rows).sum();
        let outcome = outcome.and_then(|outputs| {
            let rows: Vec<RowOutput> = outputs.into();
            match rows.len() {
                given if given == n_rows => Ok(rows),
                given => Err(format!("it gave {given} outputs for {n_rows} rows")),
            }
        });
        match outcome {
            Ok(rows) => {
                let mut rows = rows.into_iter();
                let mut events = Vec::new();
                for member in step.members {
                    let own = rows.by_ref().take(member.n_rows).collect();
                    events.extend(self.advance(&member, own));
                }
                events
            }
            Err(what) => {
                tracing::error!(what, "a step failed");
                self.totals.failed_steps += 1;
                let fail = |member: Member| self.fail(member.id, RequestError::Model(what.clone()));
                step.members.into_iter().filter_map(fail).collect()
            }
        }
    }

    /// Advances one sequence by its part of a successful step. `None` if it has nothing to report,
    /// or was cancelled or preempted meanwhile.
    fn advance(&mut self, member: &Member, rows: Vec<RowOutput>) -> Option<SchedulerEvent> {
        let state = self.sequences.get_mut(&member.id)?;
        if state.status != SequenceStatus::Running {
            return None;
        }
        let end = state.computed + member.n_tokens;
        state.usage.computed_tokens += member.n_tokens;
        self.totals.computed_tokens += member.n_tokens as u64;
        let progress = match state.accept(rows, end, self.revision) {
            Ok(progress) => progress,
            // Keys and values that gave no number are not cached for others either.
            Err(error) => return self.fail(member.id, error),
        };
        state.computed = end;
        let table = state.table.as_mut().expect("members of a step hold blocks");
        self.cache.commit(table, end);
        self.wake(member.id, end);
        match progress {
            SequenceProgress::Pending => None,
            SequenceProgress::Token(sampled) => {
                self.totals.output_tokens += 1;
                Some(SchedulerEvent::Token(member.id, sampled))
            }
            SequenceProgress::Done(last) => {
                self.totals.output_tokens += u64::from(last.is_some());
                let state = self.remove(member.id).expect("it is in the map");
                Some(SchedulerEvent::Done { id: member.id, result: Ok(state.into_output()), last })
            }
        }
    }

    fn fail(&mut self, id: SequenceId, error: RequestError) -> Option<SchedulerEvent> {
        self.remove(id)?;
        Some(SchedulerEvent::Done { id, result: Err(error), last: None })
    }
}
