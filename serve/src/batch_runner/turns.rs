//! Whose turn it is: which of the waiting batches is worked on next.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use crate::batches::UnfinishedBatch;
use crate::batches::ids::BatchId;

/// The turns that batches have had.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The number of the last turn of each; none for a batch that has had none.
    last: HashMap<BatchId, u64>,
    next: u64,
    /// Batches that are not begun before a time, because the work on them failed.
    delayed: HashMap<BatchId, Instant>,
}

/// How many batches of each owner are worked on.
#[derive(Debug, Default)]
pub(super) struct Owners(HashMap<String, usize>);

impl Owners {
    /// Counts the batches that are worked on.
    pub(super) fn of(
        batches: &[UnfinishedBatch],
        is_active: impl Fn(&UnfinishedBatch) -> bool,
    ) -> Owners {
        let mut owners = Owners::default();
        batches.iter().filter(|batch| is_active(batch)).for_each(|batch| owners.add(batch));
        owners
    }

    pub(super) fn add(&mut self, batch: &UnfinishedBatch) {
        *self.0.entry(batch.owner.clone()).or_default() += 1;
    }

    fn active(&self, owner: &str) -> usize {
        self.0.get(owner).copied().unwrap_or(0)
    }
}

impl Turns {
    /// The position of the next one: of the owner with the fewest batches that are worked on, one that
    /// is soon done before one whose lines are sent, and then the one whose last turn is longest ago.
    pub(super) fn next(&self, waiting: &[UnfinishedBatch], owners: &Owners) -> Option<usize> {
        let rank = |(_, batch): &(usize, &UnfinishedBatch)| {
            let last = self.last.get(&batch.id).copied();
            (owners.active(&batch.owner), batch.is_sending, last, batch.place)
        };
        waiting.iter().enumerate().min_by_key(rank).map(|(position, _)| position)
    }

    /// Begins a turn of a batch.
    pub(super) fn begin(&mut self, id: &BatchId) {
        self.next += 1;
        self.last.insert(id.clone(), self.next);
        self.delayed.remove(id);
    }

    /// Begins a batch no sooner than at `until`.
    pub(super) fn delay(&mut self, id: BatchId, until: Instant) {
        self.delayed.insert(id, until);
    }

    /// Whether a batch is not to be begun yet.
    pub(super) fn is_delayed(&self, id: &BatchId, now: Instant) -> bool {
        self.delayed.get(id).is_some_and(|until| now < *until)
    }

    /// Waits until the first delay that lies ahead ends; for ever if there is none.
    pub(super) async fn delay_ends(&self) {
        let now = Instant::now();
        match self.delayed.values().filter(|until| now < **until).min() {
            Some(until) => tokio::time::sleep_until((*until).into()).await,
            None => std::future::pending().await,
        }
    }

    /// Forgets the batches that are over.
    pub(super) fn forget_all_but(&mut self, unfinished: &[UnfinishedBatch]) {
        let known: HashSet<&BatchId> = unfinished.iter().map(|batch| &batch.id).collect();
        self.last.retain(|id, _| known.contains(id));
        self.delayed.retain(|id, _| known.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(owner: &str, place: u64, is_sending: bool) -> UnfinishedBatch {
        let id = BatchId::new().expect("randomness");
        UnfinishedBatch { id, owner: owner.to_owned(), place, is_sending }
    }

    /// The places of the batches in the order in which they are begun, without any of them ending.
    fn order(turns: &mut Turns, mut waiting: Vec<UnfinishedBatch>) -> Vec<u64> {
        let mut owners = Owners::default();
        let mut places = Vec::new();
        while let Some(next) = turns.next(&waiting, &owners) {
            let batch = waiting.swap_remove(next);
            owners.add(&batch);
            turns.begin(&batch.id);
            places.push(batch.place);
        }
        places
    }

    #[test]
    fn owner_with_many_batches_does_not_hold_up_another() {
        let mut waiting: Vec<UnfinishedBatch> = (0..4).map(|n| batch("a", n, true)).collect();
        waiting.extend([batch("b", 4, true), batch("b", 5, false)]);
        assert_eq!(order(&mut Turns::default(), waiting), [5, 0, 1, 4, 2, 3]);
    }

    #[test]
    fn batches_of_an_owner_take_turns() {
        let waiting: Vec<UnfinishedBatch> = (0..3).map(|n| batch("a", n, true)).collect();
        let mut turns = Turns::default();
        turns.begin(&waiting[0].id);
        turns.begin(&waiting[2].id);
        assert_eq!(order(&mut turns, waiting.clone()), [1, 0, 2]);
        turns.forget_all_but(&waiting[1..]);
        assert_eq!(order(&mut turns, waiting.clone()), [0, 1, 2], "it is as good as new");
    }
    #[test]
    fn batch_that_failed_waits_and_the_others_go_on() {
        let waiting = [batch("a", 0, true), batch("a", 1, true)];
        let (mut turns, now) = (Turns::default(), Instant::now());
        let until = now + std::time::Duration::from_secs(30);
        turns.delay(waiting[0].id.clone(), until);
        assert!(turns.is_delayed(&waiting[0].id, now) && !turns.is_delayed(&waiting[1].id, now));
        assert!(!turns.is_delayed(&waiting[0].id, until));
    }
}
