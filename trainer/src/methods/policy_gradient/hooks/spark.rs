//! SPARK (`[method.spark]`): the step's rollouts become judging and reflection items, which are
//! trained on in the step's own update or in a separate one.

use super::super::auxiliary::AuxiliaryModels;
use super::super::config::{JudgeUpdate, SparkSection, Teach};
use super::super::hook::{Hook, HookContext, StepData};
use super::super::labels;
use super::super::rollouts::Phase;
use super::super::state::PolicyGradientState;
use super::super::train_step::update;
use super::super::update_batch::{Apply, UpdateBatch};
use crate::error::Result;
use crate::item::TrainingItem;
use crate::judge_data::{ItemQueue, Spark, Templates};

/// Makes judge data and trains on it.
#[derive(Debug)]
pub(in super::super) struct SparkHook {
    spark: Spark,
    teach: Teach,
    update: JudgeUpdate,
    queue: ItemQueue,
    /// Items of this step's judge phase; empty if none is due.
    due: Vec<TrainingItem>,
}

impl SparkHook {
    pub(in super::super) fn new(section: &SparkSection, prompts: usize) -> Result<SparkHook> {
        let templates = Templates::built_in(&section.templates)?;
        section.teach.check(&templates)?;
        Ok(SparkHook {
            spark: Spark::new(section.options.clone(), templates)?,
            teach: section.teach,
            update: section.update,
            queue: ItemQueue::new(section.batch.unwrap_or(prompts)),
            due: Vec::new(),
        })
    }
}

impl Hook for SparkHook {
    fn before_sampling(&mut self, _cx: &mut HookContext<'_>, new_pass: bool) -> Result<()> {
        if new_pass {
            self.queue.begin_episode();
        }
        Ok(())
    }

    fn after_scoring(&mut self, cx: &mut HookContext<'_>, data: &mut StepData) -> Result<()> {
        let recycled = self.spark.recycle(&data.verified, cx.seed(), cx.mistakes());
        cx.metrics.add_all("spark/", &recycled.counts);
        self.queue.end_of_normal_step(recycled.items);
        cx.metrics.set("spark/waiting", self.queue.len() as f64);
        self.due = self.queue.take().unwrap_or_default();
        if self.update == JudgeUpdate::Joint {
            let items = std::mem::take(&mut self.due);
            if self.teach.samples() {
                let scored = cx.rollouts.roll_out(cx.step, &items, Phase::Judge, cx.metrics)?;
                data.batch.train_groups.extend(scored.train_groups);
            }
            if self.teach.writes() {
                data.batch.labels = labels::encode(cx.rollouts, cx.step, &items)?;
            }
        }
        Ok(())
    }

    fn after_update(&mut self, cx: &mut HookContext<'_>, apply: &mut Apply<'_>) -> Result<()> {
        let items = std::mem::take(&mut self.due);
        if items.is_empty() {
            return Ok(());
        }
        if self.teach.samples() {
            let scored = cx.rollouts.roll_out(cx.step, &items, Phase::Judge, cx.metrics)?;
            let batch = UpdateBatch { train_groups: scored.train_groups, labels: Vec::new() };
            // A run with `spark` has no models beside the policy.
            let none = &mut AuxiliaryModels::default();
            cx.metrics.extend("judge/", &update(cx.config, cx.step, &batch, none, apply)?);
        }
        if self.teach.writes() {
            let labels = labels::encode(cx.rollouts, cx.step, &items)?;
            cx.metrics.extend("labels/", &labels::train(cx.step, &labels, apply)?);
        }
        Ok(())
    }

    fn save(&self, state: &mut PolicyGradientState) {
        state.judge_items = self.queue.clone();
    }

    fn restore(&mut self, state: &PolicyGradientState) -> Result<()> {
        self.queue = state.judge_items.clone();
        Ok(())
    }
}
