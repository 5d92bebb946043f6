//! SPARK's cache: judge items wait for the next judge phase, first in, first out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::item::TrainingItem;

/// Queue of judge items. A normal step adds its items, and afterwards at most one batch of the
/// oldest is taken; the rest stays for later steps of the pass (SPARK, arXiv 2509.22624, as in
/// the authors' code). Serialisable, so that a resumed run continues with the same items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemQueue {
    batch: usize,
    items: VecDeque<TrainingItem>,
    /// Whether a recycled step is due: a normal step followed the last one.
    due: bool,
}

impl ItemQueue {
    /// An empty queue whose recycled steps have `batch` items; 64 in the authors' scripts, the
    /// number of prompts of a normal step. A batch of 0 has 1 item.
    pub fn new(batch: usize) -> Self {
        Self { batch: batch.max(1), items: VecDeque::new(), due: false }
    }

    /// Empties the queue at the start of a pass through the problems.
    pub fn begin_episode(&mut self) {
        self.items.clear();
        self.due = false;
    }

    /// Adds the items of a normal step; a recycled step is due.
    pub fn end_of_normal_step(&mut self, items: Vec<TrainingItem>) {
        self.items.extend(items);
        self.due = true;
    }

    /// The items of a recycled step, if one is due and there are enough.
    pub fn take(&mut self) -> Option<Vec<TrainingItem>> {
        if !self.due || self.items.len() < self.batch {
            return None;
        }
        self.due = false;
        Some(self.items.drain(..self.batch).collect())
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_data::fixtures::problem;

    fn items(range: std::ops::Range<u64>) -> Vec<TrainingItem> {
        range.map(|index| problem(index, "1")).collect()
    }

    fn indices(items: Option<Vec<TrainingItem>>) -> Option<Vec<u64>> {
        items.map(|items| items.iter().map(|item| item.index).collect())
    }

    #[test]
    fn c1_spark_queue() {
        let mut cache = ItemQueue::new(4);
        assert_eq!(cache.take(), None, "nothing came yet");
        cache.end_of_normal_step(items(0..3));
        assert_eq!(cache.take(), None, "less than a batch");
        cache.end_of_normal_step(items(3..10));
        assert_eq!(indices(cache.take()), Some(vec![0, 1, 2, 3]));
        assert_eq!(cache.take(), None, "one recycled step a normal step");
        assert_eq!(cache.len(), 6, "leftovers stay");
        let text = serde_json::to_string(&cache).expect("serialises");
        let mut resumed: ItemQueue = serde_json::from_str(&text).expect("reads");
        assert_eq!(resumed, cache);
        resumed.end_of_normal_step(Vec::new());
        assert_eq!(indices(resumed.take()), Some(vec![4, 5, 6, 7]));
        resumed.begin_episode();
        assert!(resumed.is_empty());
        resumed.end_of_normal_step(items(10..14));
        resumed.begin_episode();
        assert_eq!(resumed.take(), None);
    }
}
