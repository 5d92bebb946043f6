//! Fair queueing between clients.
//!
//! Start-time fair queueing (Goyal, Vin and Cheng, 1997) on tokens: each client's queue has a
//! virtual time that grows by the tokens admitted from it, and the queue with the least virtual
//! time goes next. A queue that becomes empty keeps its time until the others reach it, so that a
//! client is charged for its last sequence too. A client with ten thousand waiting sequences delays
//! another's first one by at most one sequence. Every operation takes logarithmic time.

use std::collections::{BTreeSet, HashMap};

use crate::cache::SequenceId;

/// Times of empty queues that are kept at most. A client may be an address, and there is no bound
/// on the number of addresses.
const MAX_FINISHES: usize = 4096;

/// The new sequences of one priority.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By client.
    lines: HashMap<u64, ClientQueue>,
    /// (virtual time, client) of every client's queue.
    order: BTreeSet<(u64, u64)>,
    /// Virtual time of the queue that went last. A new queue starts there, so that idle time earns
    /// no credit, or at its client's last finish if that is later.
    clock: u64,
    /// Virtual time of each empty queue whose time is beyond the clock, by client.
    finishes: HashMap<u64, u64>,
    /// (virtual time, client) of `finishes`.
    finish_order: BTreeSet<(u64, u64)>,
    len: usize,
}

/// One client's sequences, in order of arrival; never empty.
#[derive(Debug)]
struct ClientQueue {
    waiting: BTreeSet<SequenceId>,
    time: u64,
}

impl Queue {
    /// Adds a sequence to its client's queue.
    pub(super) fn push(&mut self, client: u64, id: SequenceId) {
        let line = self.lines.entry(client).or_insert_with(|| {
            let finish = self.finishes.remove(&client);
            if let Some(finish) = finish {
                self.finish_order.remove(&(finish, client));
            }
            let time = finish.map_or(self.clock, |finish| finish.max(self.clock));
            self.order.insert((time, client));
            ClientQueue { waiting: BTreeSet::new(), time }
        });
        if line.waiting.insert(id) {
            self.len += 1;
        }
    }

    /// Takes the next sequence; its client is charged `cost` tokens for it.
    pub(super) fn pop(&mut self, cost: impl FnOnce(SequenceId) -> u64) -> Option<SequenceId> {
        let (time, client) = self.order.pop_first()?;
        let line = self.lines.get_mut(&client).expect("ordered lines exist");
        let id = line.waiting.pop_first().expect("no line is empty");
        line.time = time.saturating_add(cost(id));
        self.clock = time;
        self.len -= 1;
        if line.waiting.is_empty() {
            let finish = line.time;
            self.lines.remove(&client);
            self.keep_finish(client, finish);
        } else {
            self.order.insert((line.time, client));
            self.drop_finishes();
        }
        Some(id)
    }

    /// Keeps the time of a queue that has become empty.
    fn keep_finish(&mut self, client: u64, finish: u64) {
        self.finishes.insert(client, finish);
        self.finish_order.insert((finish, client));
        self.drop_finishes();
    }

    /// Drops the finishes that the clock has reached, which are no charge any more, and the least
    /// ones beyond [`MAX_FINISHES`].
    fn drop_finishes(&mut self) {
        while let Some((finish, client)) = self.finish_order.first().copied() {
            if finish > self.clock && self.finish_order.len() <= MAX_FINISHES {
                return;
            }
            self.finish_order.pop_first();
            self.finishes.remove(&client);
        }
    }

    /// Removes a sequence from its client's queue, if it is there.
    pub(super) fn remove(&mut self, client: u64, id: SequenceId) {
        let Some(line) = self.lines.get_mut(&client) else {
            return;
        };
        if line.waiting.remove(&id) {
            self.len -= 1;
        }
        if line.waiting.is_empty() {
            let time = line.time;
            self.order.remove(&(time, client));
            self.lines.remove(&client);
            self.keep_finish(client, time);
        }
    }

    /// Number of sequences.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes (client, cost) in order, and checks the order in which clients are served.
    fn check(arrivals: &[(u64, u64)], expected: &[u64]) {
        let mut queue = Queue::default();
        for (id, (client, _)) in (0..).zip(arrivals) {
            queue.push(*client, SequenceId(id));
        }
        let of = |id: SequenceId| arrivals[usize::try_from(id.0).unwrap()];
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.pop(|id| of(id).1)).map(|id| of(id).0).collect();
        assert_eq!(order, expected, "{arrivals:?}");
        assert_eq!(queue.len(), 0);
        assert!(queue.order.is_empty() && queue.lines.is_empty());
    }

    #[test]
    fn client_with_one_sequence_at_a_time_is_charged_for_each() {
        let mut queue = Queue::default();
        let cost = |id: SequenceId| if id.0 < 100 { 50 } else { 10 };
        for id in 100..120 {
            queue.push(2, SequenceId(id));
        }
        queue.push(1, SequenceId(0));
        let mut served = Vec::new();
        for next in 1..=12 {
            let id = queue.pop(cost).expect("client 2 waits");
            served.push(if id.0 < 100 { 1 } else { 2 });
            if id.0 < 100 {
                queue.push(1, SequenceId(next));
            }
        }
        // One long sequence is worth five short ones.
        assert_eq!(served, [1, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn cancelled_sequence_does_not_clear_its_clients_charge() {
        let mut queue = Queue::default();
        queue.push(1, SequenceId(0));
        queue.push(1, SequenceId(1));
        assert_eq!(queue.pop(|_| 50), Some(SequenceId(0)));
        queue.remove(1, SequenceId(1));
        queue.push(1, SequenceId(2));
        queue.push(2, SequenceId(3));
        assert_eq!(queue.pop(|_| 50), Some(SequenceId(3)));
    }

    #[test]
    fn kept_charges_are_bounded_and_end_with_the_clock() {
        let mut queue = Queue::default();
        for client in 0..MAX_FINISHES as u64 + 10 {
            queue.push(client, SequenceId(client));
            queue.pop(|_| 10 + client);
        }
        assert_eq!((queue.finishes.len(), queue.finish_order.len()), (MAX_FINISHES, MAX_FINISHES));
        let last = MAX_FINISHES as u64 + 9;
        queue.push(last, SequenceId(1 << 20));
        queue.pop(|_| 10);
        assert_eq!(queue.finishes, HashMap::from([(last, 20 + last)]));
        assert_eq!(queue.finish_order.len(), 1);
    }

    #[test]
    fn clients_alternate_by_tokens() {
        check(&[], &[]);
        check(&[(1, 5), (1, 5), (1, 5)], &[1, 1, 1]);
        check(&[(1, 10), (1, 10), (1, 10), (2, 10), (2, 10)], &[1, 2, 1, 2, 1]);
        // One long sequence is worth five short ones.
        check(
            &[(1, 50), (1, 50), (2, 10), (2, 10), (2, 10), (2, 10), (2, 10), (2, 10)],
            &[1, 2, 2, 2, 2, 2, 1, 2],
        );
    }

    #[test]
    fn new_client_gets_no_credit_for_idle_time() {
        let mut queue = Queue::default();
        for id in 0..100 {
            queue.push(1, SequenceId(id));
        }
        for _ in 0..50 {
            queue.pop(|_| 10);
        }
        queue.push(2, SequenceId(200));
        queue.push(2, SequenceId(201));
        queue.push(2, SequenceId(202));
        let next: Vec<u64> = (0..4).filter_map(|_| queue.pop(|_| 10)).map(|id| id.0).collect();
        assert_eq!(next, [200, 50, 201, 51]);
    }

    #[test]
    fn removed_sequence_is_not_popped() {
        let mut queue = Queue::default();
        queue.push(1, SequenceId(0));
        queue.push(2, SequenceId(1));
        queue.remove(1, SequenceId(0));
        queue.remove(1, SequenceId(0));
        queue.remove(3, SequenceId(7));
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.pop(|_| 1), Some(SequenceId(1)));
        assert_eq!(queue.pop(|_| 1), None);
    }
}
