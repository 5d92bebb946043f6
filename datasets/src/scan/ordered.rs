//! Pieces of work done side by side, whose results come out in order.
//!
//! Workers take pieces from the front. What a worker finds before its turn is kept, up to a number
//! of bytes for all of them; the piece whose turn it is always has room, so that nobody waits for
//! somebody who waits.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::{DatasetError, Result};

/// Bytes that the piece at the front may have waiting.
const FRONT_BYTES: usize = 32 << 20;

/// Bytes that all pieces behind it may have waiting.
const BEHIND_BYTES: usize = 160 << 20;

/// Results of pieces, in the order of the pieces. Workers stop when it is dropped.
pub(super) struct Ordered<T> {
    shared: Arc<Shared<T>>,
}

/// What workers and the reader share. A lock, because several workers wait for one reader and the
/// reader for the one worker whose turn it is; it is held for moments, once a batch.
struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    pieces: Vec<Piece<T>>,
    /// The piece whose results are read.
    front: usize,
    /// The first piece that nobody has taken.
    next: usize,
    /// Bytes that wait, of all pieces.
    bytes: usize,
    is_over: bool,
}

struct Piece<T> {
    waiting: VecDeque<(Result<T>, usize)>,
    bytes: usize,
    is_done: bool,
}

/// Where a worker puts the results of its piece.
pub(super) struct Out<'s, T> {
    shared: &'s Shared<T>,
    piece: usize,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state
            .lock()
            .expect("nobody panics while holding the lock: it guards plain bookkeeping")
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<T>>) -> MutexGuard<'s, State<T>> {
        self.changed
            .wait(state)
            .expect("nobody panics while holding the lock: it guards plain bookkeeping")
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

impl<T> Out<'_, T> {
    /// Hands over a result of so many bytes, once there is room. False if nobody wants any more.
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

impl<T: Send + 'static> Ordered<T> {
    /// Starts `workers` threads over `n_pieces` pieces. `work` puts the results of a piece.
    pub(super) fn start<F>(n_pieces: usize, workers: usize, work: F) -> Self
    where
        F: Fn(usize, &Out<'_, T>) + Send + Sync + 'static,
    {
        let empty = || Piece { waiting: VecDeque::new(), bytes: 0, is_done: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
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
                    let out = Out { shared: &shared, piece };
                    // A reader of a broken file that panics must not leave the others waiting.
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

impl<T> Iterator for Ordered<T> {
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

impl<T> Drop for Ordered<T> {
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
            let ordered = Ordered::start(n_pieces, workers, move |piece, out| {
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
            // Each result is more than all the room there is.
            check(50, workers, 1 << 30);
        }
    }

    #[test]
    fn an_error_is_the_last_result() {
        let ordered = Ordered::start(10, 2, |piece, out| {
            out.put(Ok(piece), 1);
            if piece == 3 {
                out.put(Err(DatasetError::file("f", "broken")), 0);
            }
        });
        let found: Vec<bool> = ordered.map(|item| item.is_ok()).collect();
        assert_eq!(found, [true, true, true, true, false]);
    }

    #[test]
    fn a_panic_is_an_error() {
        let ordered = Ordered::start(2, 1, |piece, out| {
            assert!(piece == 0, "a worker's panic, which this test is about");
            out.put(Ok(piece), 1);
        });
        let found: Vec<bool> = ordered.map(|item| item.is_ok()).collect();
        assert_eq!(found, [true, false]);
    }

    #[test]
    fn a_reader_may_leave_early() {
        let mut ordered = Ordered::start(100, 3, |_, out| while out.put(Ok(()), 1 << 20) {});
        assert!(ordered.next().is_some());
        let shared = Arc::downgrade(&ordered.shared);
        drop(ordered);
        // Workers let go of what they share once they see that nobody reads.
        while shared.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}
