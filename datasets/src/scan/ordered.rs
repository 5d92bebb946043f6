//! Parallel work on numbered pieces, with results in the order of the pieces.
//!
//! Workers take pieces from the front. Results of later pieces are buffered up to a total number of
//! bytes; the front piece has a buffer of its own, so that workers cannot deadlock.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::{DatasetError, Result};

/// Maximum buffered bytes of the front piece.
const FRONT_BYTES: usize = 32 << 20;

/// Maximum buffered bytes of all other pieces.
const BEHIND_BYTES: usize = 160 << 20;

/// Iterator over the results of all pieces, in order. Workers stop when it is dropped.
pub(super) struct OrderedResults<T> {
    shared: Arc<Shared<T>>,
}

/// State shared by workers and reader. A mutex with a condition variable, because workers wait for
/// the reader and the reader waits for the worker of the front piece; held briefly, once a batch.
struct Shared<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
}

struct QueueState<T> {
    pieces: Vec<PieceQueue<T>>,
    /// Index of the piece that is being read.
    front: usize,
    /// Index of the first piece without a worker.
    next: usize,
    /// Buffered bytes of all pieces.
    bytes: usize,
    is_over: bool,
}

struct PieceQueue<T> {
    waiting: VecDeque<(Result<T>, usize)>,
    bytes: usize,
    is_done: bool,
}

/// Handle with which a worker hands over the results of its piece.
pub(super) struct PieceOutput<'s, T> {
    shared: &'s Shared<T>,
    piece: usize,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().expect("no code panics while holding the lock")
    }

    fn wait<'s>(&self, state: MutexGuard<'s, QueueState<T>>) -> MutexGuard<'s, QueueState<T>> {
        self.changed.wait(state).expect("no code panics while holding the lock")
    }

    fn take(&self) -> Option<usize> {
        let mut state = self.lock();
        if state.is_over || state.next == state.pieces.len() {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    fn end(&self, piece: usize) {
        self.lock().pieces[piece].is_done = true;
        self.changed.notify_all();
    }
}

impl<T> PieceOutput<'_, T> {
    /// Hands over a result of `bytes` bytes, waiting for buffer space. Returns false if the reader has
    /// stopped.
    pub(super) fn put(&self, result: Result<T>, bytes: usize) -> bool {
        let mut state = self.shared.lock();
        loop {
            let own = state.pieces[self.piece].bytes;
            let has_room = if state.front == self.piece {
                own < FRONT_BYTES
            } else {
                state.bytes < BEHIND_BYTES
            };
            if state.is_over || has_room {
                break;
            }
            state = self.shared.wait(state);
        }
        if state.is_over {
            return false;
        }
        let piece = &mut state.pieces[self.piece];
        piece.waiting.push_back((result, bytes));
        piece.bytes += bytes;
        state.bytes += bytes;
        self.shared.changed.notify_all();
        true
    }
}

impl<T: Send + 'static> OrderedResults<T> {
    /// Starts `workers` threads over `n_pieces` pieces; `work` produces the results of one piece.
    pub(super) fn start<F>(n_pieces: usize, workers: usize, work: F) -> Self
    where
        F: Fn(usize, &PieceOutput<'_, T>) + Send + Sync + 'static,
    {
        let empty = || PieceQueue { waiting: VecDeque::new(), bytes: 0, is_done: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(QueueState {
                pieces: (0..n_pieces).map(|_| empty()).collect(),
                front: 0,
                next: 0,
                bytes: 0,
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let work = Arc::new(work);
        for _ in 0..workers.min(n_pieces).max(1) {
            let (shared, work) = (shared.clone(), work.clone());
            std::thread::spawn(move || {
                while let Some(piece) = shared.take() {
                    let out = PieceOutput { shared: &shared, piece };
                    // A panic on a corrupt file must not leave the reader waiting.
                    if std::panic::catch_unwind(AssertUnwindSafe(|| work(piece, &out))).is_err() {
                        let problem = "a file is broken in a way that its reader does not expect";
                        out.put(Err(DatasetError::file("input", problem)), 0);
                    }
                    shared.end(piece);
                }
            });
        }
        Self { shared }
    }
}

impl<T> Iterator for OrderedResults<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let mut state = self.shared.lock();
        loop {
            if state.is_over {
                return None;
            }
            let front = state.front;
            let piece = state.pieces.get_mut(front)?;
            if let Some((result, bytes)) = piece.waiting.pop_front() {
                piece.bytes -= bytes;
                state.bytes -= bytes;
                state.is_over |= result.is_err();
                self.shared.changed.notify_all();
                return Some(result);
            }
            if piece.is_done {
                state.front += 1;
                self.shared.changed.notify_all();
            } else {
                state = self.shared.wait(state);
            }
        }
    }
}

impl<T> Drop for OrderedResults<T> {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        #[track_caller]
        fn check(n_pieces: usize, workers: usize, bytes: usize) {
            let ordered = OrderedResults::start(n_pieces, workers, move |piece, out| {
                for item in 0..piece % 4 {
                    out.put(Ok((piece, item)), bytes);
                }
            });
            let found: Vec<(usize, usize)> = ordered.map(|item| item.expect("no error")).collect();
            let expected =
                (0..n_pieces).flat_map(|piece| (0..piece % 4).map(move |item| (piece, item)));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        for workers in [1, 2, 5] {
            check(0, workers, 0);
            check(1, workers, 1);
            check(50, workers, 1);
            // Each result is larger than both buffers.
            check(50, workers, 1 << 30);
        }
    }

    #[test]
    fn an_error_is_the_last_result() {
        let ordered = OrderedResults::start(10, 2, |piece, out| {
            out.put(Ok(piece), 1);
            if piece == 3 {
                out.put(Err(DatasetError::file("f", "broken")), 0);
            }
        });
        let found: Vec<bool> = ordered.map(|item| item.is_ok()).collect();
        assert_eq!(found, [true, true, true, true, false]);
    }

    #[test]
    fn worker_panic_becomes_an_error() {
        let ordered = OrderedResults::start(2, 1, |piece, out| {
            assert!(piece == 0, "a worker's panic, which this test is about");
            out.put(Ok(piece), 1);
        });
        let found: Vec<bool> = ordered.map(|item| item.is_ok()).collect();
        assert_eq!(found, [true, false]);
    }

    #[test]
    fn dropping_the_reader_stops_the_workers() {
        let mut ordered = OrderedResults::start(100, 3, |_, out| while out.put(Ok(()), 1 << 20) {});
        assert!(ordered.next().is_some());
        let shared = Arc::downgrade(&ordered.shared);
        drop(ordered);
        // Workers drop the shared state once they see that the reader is gone.
        while shared.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}
