//! Sends the lines of a batch, as many at a time as there are permits, and puts what comes of them
//! into its journal.
//!
//! Lines that the journal has are not sent again. A line for which there is no room waits; what
//! cannot be written down waits too, and is not sent again for it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinError, JoinSet};

use super::local_routes::LocalRoutes;
use super::waiting::{aside, stopped};
use crate::batches::ids::LineId;
use crate::batches::journal::{Entry, Fate, Journal};
use crate::batches::lines::{self, Asked, Bounds, Lines};
use crate::batches::record::BatchRecord;
use crate::batches::{Batches, ENDPOINTS, Live, StorageError, output};
use crate::caller::digest_u64;
use crate::clock::unix_seconds;
use crate::extensions::BatchLine;
use crate::state::State;

/// Lines and bytes that are read ahead.
const AHEAD: (usize, usize) = (256, 4 << 20);

/// The time between tries to write down what the disk does not take.
const RETRY: Duration = Duration::from_millis(500);

/// How the sending ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// There is nothing left to send, or the batch's time is over.
    Closed,
    /// Somebody wants the batch's end.
    Cancelled,
    /// The server stops.
    Stopped,
}

/// The sending of a batch.
pub(super) struct Sending<'w> {
    pub(super) batches: &'w Arc<Batches>,
    pub(super) state: &'w Data<State>,
    pub(super) routes: &'w LocalRoutes,
    pub(super) permits: &'w Arc<Semaphore>,
    pub(super) live: &'w Arc<Live>,
    pub(super) batch: &'w BatchRecord,
}

type Answers = JoinSet<Option<Entry>>;

impl Sending<'_> {
    /// Sends what is not answered.
    ///
    /// # Errors
    /// What the disk says before anything is sent.
    pub(super) async fn run(self) -> Result<Ended, StorageError> {
        let Some(path) = ENDPOINTS.into_iter().find(|path| *path == self.batch.endpoint) else {
            // The batch is of a server that had more routes.
            return Ok(Ended::Closed);
        };
        let mut book = self.open().await?;
        self.show(&book);
        let mut stop = self.batches.stop.subscribe();
        let line = self.line_terms();
        let mut answers = Answers::new();
        let mut unsaved = Vec::new();
        let ended = loop {
            book = self.save(book, &mut unsaved, &mut stop).await?;
            if book.queue.is_empty() && !book.at_end {
                book = book.read_ahead().await?;
            }
            let over = Instant::now() >= line.deadline;
            if over || (book.queue.is_empty() && answers.is_empty()) {
                break Ended::Closed;
            }
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break Ended::Stopped,
                () = self.live.cancelled.notified() => break Ended::Cancelled,
                () = tokio::time::sleep_until(line.deadline.into()) => break Ended::Closed,
                Some(answer) = answers.join_next(), if !answers.is_empty() => {
                    unsaved.extend(taken(answer));
                    unsaved.extend(ready(&mut answers));
                }
                permit = self.permits.clone().acquire_owned(), if !book.queue.is_empty() => {
                    let permit = permit.expect("nobody closes it");
                    let (number, asked) = book.queue.pop_front().expect("it was just looked at");
                    let call = Call { routes: self.routes.clone(), path, number, asked, line };
                    answers.spawn_local(call.answer(permit, stop.clone()));
                }
            }
        };
        unsaved.extend(ready(&mut answers));
        if ended == Ended::Stopped {
            let rest = async {
                while let Some(answer) = answers.join_next().await {
                    unsaved.extend(taken(answer));
                }
            };
            // What is not done by then is done after the next start.
            let _ = tokio::time::timeout(self.state.config.drain, rest).await;
        }
        self.save(book, &mut unsaved, &mut stop).await?;
        Ok(ended)
    }

    async fn open(&self) -> Result<Book, StorageError> {
        let (batches, batch) = (self.batches.clone(), self.batch.clone());
        aside(move || {
            let journal = Journal::open(&batches.disk, &batches.disk.journal(&batch.id))?;
            let file = batches.content(&batch.input)?;
            let bounds = batches.bounds;
            Ok(Book {
                journal,
                lines: Lines::new(BufReader::new(file), bounds.line_bytes),
                bounds,
                endpoint: batch.endpoint,
                queue: VecDeque::new(),
                at_end: false,
            })
        })
        .await
    }

    /// Writes down what is not written down. Where the disk takes nothing it is tried again until
    /// it does, or the server stops.
    async fn save(
        &self,
        mut book: Book,
        unsaved: &mut Vec<Entry>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Book, StorageError> {
        while !unsaved.is_empty() {
            let entries = std::mem::take(unsaved);
            let (now, left, written) = aside(move || {
                let written = book.journal.append(&entries);
                Ok((book, entries, written))
            })
            .await?;
            book = now;
            match written {
                Ok(()) => {
                    for entry in &left {
                        self.state.metrics.batch_line(entry.fate == Fate::Good);
                    }
                    self.show(&book);
                }
                Err(error) => {
                    let error = StorageError::from(error);
                    tracing::error!(%error, "answers of a batch wait for the disk");
                    self.state.metrics.batch_fault();
                    *unsaved = left;
                    tokio::select! {
                        () = stopped(stop) => break,
                        () = tokio::time::sleep(RETRY) => {}
                    }
                }
            }
        }
        Ok(book)
    }

    /// Says how far the batch is.
    fn show(&self, book: &Book) {
        let counts = [(&self.live.completed, Fate::Good), (&self.live.failed, Fate::Bad)];
        for (count, fate) in counts {
            count.store(book.journal.count(fate), Ordering::Relaxed);
        }
    }

    fn line_terms(&self) -> BatchLine {
        let left = self.batch.expires_at().saturating_sub(unix_seconds());
        BatchLine {
            client: digest_u64(self.batch.owner.as_bytes()),
            deadline: Instant::now() + Duration::from_secs(left),
        }
    }
}

/// What a batch asks, and what came of it.
struct Book {
    journal: Journal,
    lines: Lines<BufReader<File>>,
    bounds: Bounds,
    endpoint: String,
    /// Lines that were read and are not sent.
    queue: VecDeque<(u32, Asked)>,
    at_end: bool,
}

impl Book {
    /// Reads lines that the journal does not have.
    async fn read_ahead(mut self) -> Result<Book, StorageError> {
        aside(move || {
            let mut bytes = 0;
            while self.queue.len() < AHEAD.0 && bytes < AHEAD.1 {
                let Some((number, raw)) = self.lines.next()? else {
                    self.at_end = true;
                    break;
                };
                if self.journal.has(number) {
                    continue;
                }
                // All lines were found to be good; one that is not any more is left unanswered.
                if let Ok(asked) = lines::read(&raw, &self.endpoint, self.bounds) {
                    bytes += asked.body.len();
                    self.queue.push_back((number, asked));
                }
            }
            Ok(self)
        })
        .await
    }
}

/// A line that is sent.
struct Call {
    routes: LocalRoutes,
    path: &'static str,
    number: u32,
    asked: Asked,
    line: BatchLine,
}

impl Call {
    /// What comes of it. Nothing where the server stops first.
    async fn answer(
        self,
        permit: OwnedSemaphorePermit,
        mut stop: watch::Receiver<bool>,
    ) -> Option<Entry> {
        let _held_until_the_end = permit;
        let id = match LineId::new() {
            Ok(id) => id,
            Err(error) => {
                tracing::error!(%error, "a line of a batch has no name");
                return None;
            }
        };
        let body = Bytes::from(self.asked.body);
        loop {
            let posting = self.routes.post(self.path, id.as_str(), body.clone(), self.line);
            let answer = match AssertUnwindSafe(posting).catch_unwind().await {
                Ok(Ok(answer)) => answer,
                Ok(Err(cause)) => {
                    tracing::error!(cause, "a line of a batch could not be sent");
                    return Some(output::broken(self.number, &id, &self.asked.custom_id));
                }
                Err(_) => {
                    tracing::error!("a panic behind a line of a batch");
                    return Some(output::broken(self.number, &id, &self.asked.custom_id));
                }
            };
            let late = answer.status == StatusCode::GATEWAY_TIMEOUT;
            if late && Instant::now() >= self.line.deadline {
                // It is the batch's time that is over: the line was not answered.
                return None;
            }
            let Some(wait) = answer.busy else {
                let custom_id = &self.asked.custom_id;
                return Some(output::answered(self.number, &id, custom_id, &answer));
            };
            tokio::select! {
                () = stopped(&mut stop) => return None,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}

fn taken(answer: Result<Option<Entry>, JoinError>) -> Option<Entry> {
    // A task that was ended has nothing to say; one cannot panic past its catch.
    answer.ok().flatten()
}

/// What has come and was not taken.
fn ready(answers: &mut Answers) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(answer) = answers.try_join_next() {
        entries.extend(taken(answer));
    }
    entries
}
