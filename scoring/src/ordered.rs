//! A parallel map over chunks with results in order and bounded memory.
//!
//! One thread reads, several process, and the calling thread distributes chunks and takes results;
//! they share nothing but channels. A chunk counts against the window from its submission until its
//! result is taken, so that results do not pile up behind one slow chunk. Reading has its own thread so
//! that an input that pauses does not hold results back.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};

/// A chunk that holds memory while it is in flight.
pub trait Held: Send + 'static {
    /// Bytes that the chunk holds.
    fn held_bytes(&self) -> usize;
}

/// Limits of the chunks in flight.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Threads that process chunks.
    pub workers: usize,
    /// Bytes of chunks; one chunk is always admitted.
    pub bytes: usize,
}

/// Chunks in flight per worker: one in process, and some to even out their cost.
const CHUNKS_PER_WORKER: usize = 4;

/// The result of `process` for a chunk, or its panic.
type Processed<T, E> = thread::Result<Result<T, E>>;

struct Job<C> {
    index: u64,
    chunk: C,
}

struct Finished<T, E> {
    index: u64,
    held_bytes: usize,
    result: Processed<T, E>,
}

/// Passes the chunks of `next` through `process` on several threads, and their results to `take` in
/// order. A panic of `process` is passed on.
///
/// After an error the reading thread is left behind if it waits for input.
///
/// # Errors
/// The first error in the order of the chunks; the results before it have been taken, and none
/// after it.
pub fn map<C: Held, T: Send, E: Send + 'static>(
    window: Window,
    next: impl FnMut() -> Result<Option<C>, E> + Send + 'static,
    process: impl Fn(C) -> Result<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let (chunks_in, chunks) = bounded(1);
    thread::spawn(move || send_chunks(next, &chunks_in));
    let (jobs, jobs_out) = unbounded::<Job<C>>();
    let (results_in, results) = unbounded();
    thread::scope(|scope| {
        // Moved in, so that the workers end when this closure does, however it does.
        let jobs = jobs;
        for _ in 0..window.workers.max(1) {
            let (jobs_out, results_in, process) = (jobs_out.clone(), results_in.clone(), &process);
            scope.spawn(move || work(&jobs_out, &results_in, process));
        }
        drop((jobs_out, results_in));
        let mut flow = Flow::new(window);
        let mut end = Ok(());
        loop {
            match flow.wait(&chunks, &results) {
                Event::Read(Ok(Some(chunk))) => flow.send(chunk, &jobs),
                Event::Read(Ok(None)) => flow.ended = true,
                Event::Read(Err(error)) => (flow.ended, end) = (true, Err(error)),
                Event::Finished(finished) => {
                    flow.waiting.insert(finished.index, finished);
                }
                Event::Over => return end,
            }
            while let Some(result) = flow.pop() {
                take(result.unwrap_or_else(|panic| resume_unwind(panic))?)?;
            }
        }
    })
}

/// Reads until the end, the first error, or until the receiver is gone.
fn send_chunks<C, E>(
    mut next: impl FnMut() -> Result<Option<C>, E>,
    chunks: &Sender<Result<Option<C>, E>>,
) {
    loop {
        let read = next();
        let more = matches!(read, Ok(Some(_)));
        if chunks.send(read).is_err() || !more {
            return;
        }
    }
}

/// Events that the calling thread waits for.
enum Event<C, T, E> {
    Read(Result<Option<C>, E>),
    Finished(Finished<T, E>),
    /// Everything that was read has been taken.
    Over,
}

/// Chunks in flight.
struct Flow<T, E> {
    window: Window,
    sent: u64,
    taken: u64,
    held_bytes: usize,
    ended: bool,
    /// Results that arrived before their turn.
    waiting: BTreeMap<u64, Finished<T, E>>,
}

impl<T, E> Flow<T, E> {
    fn new(window: Window) -> Self {
        Self { window, sent: 0, taken: 0, held_bytes: 0, ended: false, waiting: BTreeMap::new() }
    }

    fn under_way(&self) -> u64 {
        self.sent - self.taken
    }

    fn has_room(&self) -> bool {
        let chunks = (self.window.workers.max(1) * CHUNKS_PER_WORKER) as u64;
        let room = self.under_way() < chunks && self.held_bytes < self.window.bytes;
        // After a failure the results before it are still wanted, and nothing new.
        let failed = self.waiting.values().any(|f| !matches!(f.result, Ok(Ok(_))));
        !self.ended && !failed && (room || self.under_way() == 0)
    }

    fn wait<C>(
        &self,
        chunks: &Receiver<Result<Option<C>, E>>,
        results: &Receiver<Finished<T, E>>,
    ) -> Event<C, T, E> {
        let none = never();
        let chunks = if self.has_room() { chunks } else { &none };
        if self.ended && self.under_way() == 0 {
            return Event::Over;
        }
        select! {
            recv(chunks) -> read => Event::Read(read.expect("the reader says when it ends")),
            recv(results) -> finished => {
                Event::Finished(finished.expect("workers live as long as their queue"))
            }
        }
    }

    fn send<C: Held>(&mut self, chunk: C, jobs: &Sender<Job<C>>) {
        self.held_bytes += chunk.held_bytes();
        let index = self.sent;
        self.sent += 1;
        jobs.send(Job { index, chunk }).expect("workers outlive the queue");
    }

    /// Returns the next result in order; `None` if it has not arrived.
    fn pop(&mut self) -> Option<Processed<T, E>> {
        let finished = self.waiting.remove(&self.taken)?;
        self.taken += 1;
        self.held_bytes -= finished.held_bytes;
        Some(finished.result)
    }
}

fn work<C: Held, T, E>(
    jobs: &Receiver<Job<C>>,
    results: &Sender<Finished<T, E>>,
    process: &impl Fn(C) -> Result<T, E>,
) {
    for Job { index, chunk } in jobs {
        let held_bytes = chunk.held_bytes();
        let result = catch_unwind(AssertUnwindSafe(|| process(chunk)));
        if results.send(Finished { index, held_bytes, result }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    const WINDOW: Window = Window { workers: 3, bytes: 64 };

    /// Numbers of two rows, each of two bytes.
    struct Chunk(Vec<u64>);

    impl Held for Chunk {
        fn held_bytes(&self) -> usize {
            2 * self.0.len()
        }
    }

    fn source(rows: u64) -> impl FnMut() -> io::Result<Option<Chunk>> + Send + 'static {
        let mut numbers = 1..=rows;
        move || {
            let chunk: Vec<u64> = numbers.by_ref().take(2).collect();
            Ok(Some(Chunk(chunk)).filter(|chunk| !chunk.0.is_empty()))
        }
    }

    #[test]
    fn results_come_in_order_of_the_chunks() {
        let mut taken = Vec::new();
        let process = |chunk: Chunk| {
            let numbers = chunk.0;
            // Uneven work, so that results overtake each other.
            let spin = (0..numbers[0] % 7 * 2000).fold(0, |sum, n| std::hint::black_box(sum ^ n));
            Ok((numbers, spin))
        };
        let take = |(numbers, _)| {
            taken.extend::<Vec<u64>>(numbers);
            Ok(())
        };
        map(WINDOW, source(501), process, take).expect("nothing fails");
        assert_eq!(taken, (1..=501).collect::<Vec<_>>());
    }

    #[test]
    fn results_before_an_error_are_taken_and_none_after_it() {
        for failing in [1, 2, 77, 200] {
            let mut taken = 0;
            let process = |chunk: Chunk| match chunk.0[0].div_ceil(2) {
                number if number == failing => Err(io::Error::other("failed")),
                number => Ok(number),
            };
            let take = |number| {
                taken = number;
                Ok(())
            };
            assert!(map(WINDOW, source(400), process, take).is_err());
            assert_eq!(taken, failing - 1);
        }
    }

    #[test]
    fn error_of_take_ends_the_map() {
        let refuse = |()| Err(io::Error::other("disk full"));
        assert!(map(WINDOW, source(400), |_: Chunk| Ok(()), refuse).is_err());
    }

    #[test]
    fn chunks_before_a_read_error_are_taken() {
        let (mut source, mut reads, mut taken) = (source(400), 0, 0);
        let broken = move || {
            reads += 1;
            if reads > 5 { Err(io::Error::other("disk gone")) } else { source() }
        };
        let take = |()| {
            taken += 1;
            Ok(())
        };
        assert!(map(WINDOW, broken, |_: Chunk| Ok(()), take).is_err());
        assert_eq!(taken, 5);
    }

    #[test]
    fn results_are_taken_while_the_input_pauses() {
        // The input goes on only when the result of what it gave is there.
        let (taken_in, taken) = bounded(1);
        let (mut source, mut is_first) = (source(400), true);
        let pausing = move || {
            if !std::mem::take(&mut is_first) {
                taken.recv().expect("the result of the chunk before");
            }
            source()
        };
        let take = |()| {
            taken_in.send(()).expect("the reader waits");
            Ok(())
        };
        map(WINDOW, pausing, |_: Chunk| Ok(()), take).expect("nothing fails");
    }

    #[test]
    #[should_panic(expected = "a worker's panic")]
    fn panic_of_a_worker_is_passed_on() {
        let process = |_: Chunk| -> io::Result<()> { panic!("a worker's panic") };
        let _ = map(WINDOW, source(400), process, |()| Ok(()));
    }
}
