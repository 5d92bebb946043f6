//! Continuous batching as plain data: the tokens that run in the next step.
//!
//! A step has a budget of tokens. It takes the next token of every generation, then prefill chunks.
//! Interactive sequences go before batch sequences, which keep an eighth of the budget. While an
//! interactive sequence waits for blocks, a batch sequence is admitted only if none runs. While an
//! interactive generation decodes, prefill takes an eighth of a step, to bound the time between
//! tokens. A sequence whose prefix another sequence is computing waits for it. When KV blocks run
//! out, the least urgent sequence is preempted and recomputed later; the most urgent one can always
//! continue, because a sequence that would not fit alone is refused at submission.
//!
//! The scheduler does not depend on channels, clocks or tensors.
//!
//! | file | content |
//! |---|---|
//! | `state` | the sequences and their queues: add, remove, preempt, requeue, wake |
//! | `plan` | [`Scheduler::schedule`]: decodes and prefill chunks of the next step |
//! | `admit` | admission from the queues |
//! | `finish` | [`Scheduler::finish`]: outputs of a step become events |
//! | `sequence`, `task` | one sequence and its task's progress |
//! | `queue` | fair queueing between clients |

mod admit;
mod finish;
mod plan;
mod queue;
mod sequence;
mod state;
mod step;
mod task;

pub use finish::SchedulerEvent;
pub use sequence::Sequence;
pub use state::{Scheduler, SchedulerConfig, Totals};
pub use step::Step;
pub use task::{GenerationState, RowsState, TaskState};
