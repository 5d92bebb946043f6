//! The judge's period: answers become judging and reflection items, and the items are learnt from.

use serde::{Deserialize, Serialize};

use super::learn::{Lesson, learn};
use super::roll::{Rolled, Rolls};
use super::{Apply, Period, PolicyGradient, Teach, at};
use crate::error::Result;
use crate::item::Item;
use crate::methods::Step;
use crate::metrics::Metrics;
use crate::policy::Sequence;

/// Which step of the optimiser recycled items are learnt in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// One of their own after the player's, as SPARK has it (arXiv 2509.22624). An adaptive optimiser
    /// makes each step about as long as the last, however few items there are, so that this asks for
    /// about as many items as problems.
    #[default]
    Own,
    /// The player's: items are answered under the same weights, and player, judge and labels weigh
    /// what `streams` says, each stream over its own tokens (as URPO trains, arXiv 2507.17515).
    Joint,
}

impl PolicyGradient {
    pub(super) fn update(&self) -> Update {
        let section = self.config.spark.as_ref();
        section.map_or(Update::Own, |section| section.update)
    }

    fn teach(&self) -> Teach {
        let section = self.config.spark.as_ref();
        section.map_or(Teach::Rewards, |section| section.teach)
    }

    /// Items of the step's answers and of what waits of earlier ones; none where no judge's period
    /// is due.
    pub(super) fn recycle(
        &mut self,
        step: &Step<'_>,
        solved: &Rolls,
        metrics: &mut Metrics,
    ) -> Vec<Item> {
        let Some(spark) = &self.spark else {
            return Vec::new();
        };
        let recycled = spark.recycle(&solved.all, at(step), self.old());
        metrics.add_all("spark/", &recycled.counts);
        self.cache.end_of_normal_step(recycled.items);
        metrics.set("spark/waiting", self.cache.len() as f64);
        self.cache.take().unwrap_or_default()
    }

    /// A step of the optimiser on rewarded answers to items, and one on their labels, as the run
    /// teaches by the one, the other or both.
    pub(super) fn judge_period(
        &self,
        step: &Step<'_>,
        items: &[Item],
        apply: &mut Apply<'_>,
        metrics: &mut Metrics,
    ) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        if self.teach().samples() {
            let rolls = self.roll(step, items, Period::Judge, metrics)?;
            let lesson = Lesson { groups: &rolls.teaching, labels: &[] };
            let learned = learn(&self.config, step, &lesson, apply)?;
            metrics.extend("judge/", &learned);
        }
        if self.teach().writes() {
            let learned = self.teach_labels(step, items, apply)?;
            metrics.extend("labels/", &learned);
        }
        Ok(())
    }

    /// Rewarded answers to items beside the player's groups, and the items' labels.
    pub(super) fn beside(
        &self,
        step: &Step<'_>,
        items: &[Item],
        batch: &mut Vec<Rolled>,
        metrics: &mut Metrics,
    ) -> Result<Vec<Sequence>> {
        if self.teach().samples() {
            batch.extend(self.roll(step, items, Period::Judge, metrics)?.teaching);
        }
        if self.teach().writes() {
            return self.labelled(step, items);
        }
        Ok(Vec::new())
    }
}
