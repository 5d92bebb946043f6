//! Fair queueing between clients.
//!
//! Start-time fair queueing (Goyal, Vin and Cheng, 1997) on tokens: each client's queue has a
//! virtual time that grows by the tokens admitted from it, and the queue with the least virtual
//! time goes next. A client with ten thousand waiting sequences delays another's first one by at
//! most one sequence. Every operation takes logarithmic time.

use std::collections::{BTreeSet, HashMap};

use crate::cache::SequenceId;

/// The new sequences of one priority.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By client.
    lines: HashMap<u64, ClientQueue>,
    /// (virtual time, client) of every client's queue.
    order: BTreeSet<(u64, u64)>,
    /// Virtual time of the queue that went last. A new queue starts there, so that idle time earns
    /// no credit.
    clock: u64,
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
            self.order.insert((self.clock, client));
            ClientQueue { waiting: BTreeSet::new(), time: self.clock }
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
        self.clock = time;
        self.len -= 1;
        if line.waiting.is_empty() {
            self.lines.remove(&client);
        } else {
            line.time = time.saturating_add(cost(id));
            self.order.insert((line.time, client));
        }
        Some(id)
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
            self.order.remove(&(line.time, client));
            self.lines.remove(&client);
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
