//! A run: a model, data, a method and an optimiser, step by step, with logs and checkpoints.

mod adapters;
mod answers;
mod auxiliary;
mod check;
mod checkpoint;
mod config;
mod drive;
mod evaluate;
mod folder;
mod judge_sets;
mod new_head;
mod push;
mod reflection;
mod sources;
mod training_run;

#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, latest};
pub use config::{
    AdapterSection, EvaluationSection, FrozenModel, MadeModel, OptimiserSection, POLICY,
    PolicySection, RunConfig, RunSection,
};
pub use drive::{Ended, News, drive};
pub use folder::RunFolder;
pub use judge_sets::{JudgeSet, SetSource};
pub use new_head::NewHead;
pub use sources::{ChainSource, DataSource, MixtureSource};
pub use training_run::{Resume, TrainingRun};
