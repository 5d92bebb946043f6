//! Sends the lines of a batch under a limit of concurrency, and journals their replies.
//!
//! Lines with an outcome in the journal are not sent again. A line that meets an overload is
//! retried; while it waits, lines of other batches are sent. A reply that cannot be written waits
//! for the disk, and its line is not sent again.
//!
//! The attempt at a line is journalled before the line is sent. A line that was in flight when an
//! earlier process died may have killed it: it is sent alone, with no other line of any batch in
//! flight, so that a further death has one suspect. After `batches.max_attempts` deaths it is not
//! sent again and becomes an error line of code `dead_letter`.

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
use super::waiting::stopped;
use crate::batches::ids::LineId;
use crate::batches::journal::{Journal, JournalEvent, JournalRecord, LineOutcome};
use crate::batches::lines::{self, LineLimits, LineRequest, Lines};
use crate::batches::record::BatchRecord;
use crate::batches::{BatchProgress, Batches, ENDPOINTS, StorageError, output};
use crate::caller::digest_u64;
use crate::clock::unix_seconds;
use crate::extensions::BatchLine;
use crate::state::State;

/// Most lines and bytes that are read ahead.
const READ_AHEAD: (usize, usize) = (256, 4 << 20);

/// Interval between attempts to write replies after an I/O error.
const RETRY: Duration = Duration::from_millis(500);

/// Interval of the check, after the end of a turn, whether other batches wait.
const TURN_CHECK: Duration = Duration::from_millis(500);

/// How sending ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All lines are answered, or the batch has expired.
    Closed,
    /// The client cancelled the batch.
    Cancelled,
    /// The server stops.
    Stopped,
    /// The turn is over, and other batches wait.
    Yielded,
}

/// The sender of a batch's lines.
pub(super) struct BatchSender<'w> {
    pub(super) batches: &'w Arc<Batches>,
    pub(super) state: &'w Data<State>,
    pub(super) routes: &'w LocalRoutes,
    pub(super) permits: &'w Arc<Semaphore>,
    pub(super) progress: &'w Arc<BatchProgress>,
    pub(super) batch: &'w BatchRecord,
}

type Answers = JoinSet<Option<JournalRecord>>;

impl BatchSender<'_> {
    /// Sends the unanswered lines.
    ///
    /// # Errors
    /// I/O errors before the first line is sent.
    pub(super) async fn run(self) -> Result<Ended, StorageError> {
        let Some(path) = ENDPOINTS.into_iter().find(|path| *path == self.batch.endpoint) else {
            // The batch was created by a version of the server with more routes.
            return Ok(Ended::Closed);
        };
        let mut send_state = self.open().await?;
        self.show(&send_state);
        let mut stop = self.batches.stop.subscribe();
        let line = self.line_terms();
        let mut answers = Answers::new();
        let (mut unsaved, mut granted, mut has_sent) = (Vec::new(), None, false);
        let turn_end = Instant::now() + self.batches.turn;
        let turn_over = watch::Sender::new(false);
        let mut yields = false;
        let ended = loop {
            let is_turn_over = Instant::now() >= turn_end;
            // Each turn sends a line at least, however long it waited for one. A turn that has begun
            // to end is not continued: its lines that wait for an overload to end have given up.
            yields |= is_turn_over && has_sent && self.batches.has_waiting.load(Ordering::Relaxed);
            if yields {
                turn_over.send_replace(true);
            }
            let room =
                if yields { 0 } else { self.batches.concurrency.saturating_sub(answers.len()) };
            let begun = self.begin(&mut send_state, granted.take(), room);
            has_sent |= !begun.is_empty();
            unsaved.extend(begun.iter().map(|begun| JournalEvent::Begun(begun.line.number)));
            send_state = self.save(send_state, &mut unsaved, &mut stop).await?;
            if !unsaved.is_empty() {
                // The server stopped before the disk took them: none of these is sent.
                break Ended::Stopped;
            }
            for BegunLine { line: queued, permit } in begun {
                let call = LineCall { routes: self.routes.clone(), path, queued, line };
                let ends = LineEnds { server: stop.clone(), turn: turn_over.subscribe() };
                answers.spawn_local(call.answer(permit, ends));
            }
            if yields && answers.is_empty() {
                break Ended::Yielded;
            }
            if !yields && send_state.queue.is_empty() && !send_state.at_end {
                send_state = send_state.read_ahead(self.batches).await?;
                unsaved.append(&mut send_state.given_up);
                continue;
            }
            let over = Instant::now() >= line.deadline;
            if over || (send_state.queue.is_empty() && answers.is_empty()) {
                break Ended::Closed;
            }
            let has_room = !yields && answers.len() < self.batches.concurrency;
            let next = send_state.queue.front().filter(|_| has_room);
            let next = next.map(|line| self.permits_of(line));
            let turn_check = turn_end.max(Instant::now() + TURN_CHECK);
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break Ended::Stopped,
                () = self.progress.cancelled.notified() => break Ended::Cancelled,
                () = tokio::time::sleep_until(line.deadline.into()) => break Ended::Closed,
                () = tokio::time::sleep_until(turn_check.into()), if !yields => {}
                Some(answer) = answers.join_next(), if !answers.is_empty() => {
                    unsaved.extend(taken(answer));
                    unsaved.extend(ready(&mut answers));
                }
                permit = self.permits.clone().acquire_many_owned(next.unwrap_or(1)),
                if next.is_some() => {
                    granted = Some(permit.expect("the semaphore is never closed"));
                }
            }
        };
        unsaved.extend(ready(&mut answers));
        if ended == Ended::Stopped {
            self.drain(&mut answers, &mut unsaved).await;
        }
        self.save(send_state, &mut unsaved, &mut stop).await?;
        Ok(ended)
    }

    /// Waits for lines in flight when the server stops. Lines that are not done in time are sent
    /// again after the next start.
    async fn drain(&self, answers: &mut Answers, unsaved: &mut Vec<JournalEvent>) {
        let rest = async {
            while let Some(answer) = answers.join_next().await {
                unsaved.extend(taken(answer));
            }
        };
        let _ = tokio::time::timeout(self.state.config.drain, rest).await;
    }

    /// Takes lines from the queue while there are permits, at most `room`; `granted` is the permit
    /// of the first.
    ///
    /// A line that waits for an overload to end holds no permit, so permits alone do not limit the
    /// lines of a batch that are begun and not answered.
    fn begin(
        &self,
        send_state: &mut SendState,
        granted: Option<OwnedSemaphorePermit>,
        room: usize,
    ) -> Vec<BegunLine> {
        let mut begun = Vec::new();
        let mut granted = granted;
        while begun.len() < room
            && let Some(line) = send_state.queue.front()
        {
            let permits = self.permits_of(line);
            let permit = granted
                .take()
                .or_else(|| self.permits.clone().try_acquire_many_owned(permits).ok());
            let Some(permit) = permit else {
                break;
            };
            let line = send_state.queue.pop_front().expect("it was just looked at");
            begun.push(BegunLine { line, permit });
        }
        begun
    }

    /// Returns the number of permits of a line: all of them if it is to be sent alone.
    fn permits_of(&self, line: &QueuedLine) -> u32 {
        let count = if line.is_suspect { self.batches.concurrency } else { 1 };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    async fn open(&self) -> Result<SendState, StorageError> {
        let batch = self.batch.clone();
        let opening = self.batches.run(move |batches| {
            let journal = Journal::open(&batches.disk, &batches.disk.journal(&batch.id))?;
            let file = batches.content(&batch.input)?;
            let limits = batches.limits;
            Ok(SendState {
                journal,
                lines: Lines::new(BufReader::new(file), limits.line_bytes),
                limits,
                endpoint: batch.endpoint,
                queue: VecDeque::new(),
                given_up: Vec::new(),
                at_end: false,
            })
        });
        opening.await
    }

    /// Journals the replies; retries after I/O errors until they are written or the server stops.
    async fn save(
        &self,
        mut send_state: SendState,
        unsaved: &mut Vec<JournalEvent>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<SendState, StorageError> {
        while !unsaved.is_empty() {
            let events = std::mem::take(unsaved);
            let writing = self.batches.run(move |_| {
                let written = send_state.journal.append(&events);
                Ok((send_state, events, written))
            });
            let (now, left, written) = writing.await?;
            send_state = now;
            match written {
                Ok(()) => {
                    for event in &left {
                        if let JournalEvent::Ended(record) = event {
                            let is_success = record.outcome == LineOutcome::Succeeded;
                            self.state.metrics.batch_line(is_success);
                        }
                    }
                    self.show(&send_state);
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
        Ok(send_state)
    }

    /// Publishes the batch's progress.
    fn show(&self, send_state: &SendState) {
        let counts = [
            (&self.progress.completed, LineOutcome::Succeeded),
            (&self.progress.failed, LineOutcome::Failed),
        ];
        for (count, outcome) in counts {
            count.store(send_state.journal.count(outcome), Ordering::Relaxed);
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

/// The state of sending: input, queue and journal.
struct SendState {
    journal: Journal,
    lines: Lines<BufReader<File>>,
    limits: LineLimits,
    endpoint: String,
    /// Lines that are read and not yet sent.
    queue: VecDeque<QueuedLine>,
    /// Outcomes of lines that are not sent again.
    given_up: Vec<JournalEvent>,
    at_end: bool,
}

/// A line that waits to be sent.
struct QueuedLine {
    number: u32,
    request: LineRequest,
    /// It was in flight when a process died.
    is_suspect: bool,
}

/// A line that is about to be sent.
struct BegunLine {
    line: QueuedLine,
    permit: OwnedSemaphorePermit,
}

impl SendState {
    /// Reads ahead lines without an outcome, and gives up those with too many process deaths.
    async fn read_ahead(mut self, batches: &Arc<Batches>) -> Result<SendState, StorageError> {
        let reading = batches.run(move |batches| {
            let mut bytes = 0;
            while self.queue.len() < READ_AHEAD.0 && bytes < READ_AHEAD.1 {
                let Some((number, raw)) = self.lines.next()? else {
                    self.at_end = true;
                    break;
                };
                if self.journal.has(number) {
                    continue;
                }
                // All lines passed validation; one that fails now is left unanswered.
                let Ok(request) = lines::read(&raw, &self.endpoint, self.limits) else {
                    continue;
                };
                let deaths = batches.deaths(self.journal.attempts(number));
                if deaths >= batches.max_attempts {
                    tracing::error!(
                        line = number,
                        deaths,
                        "a line of a batch is given up: processes ended while they answered it"
                    );
                    let record = output::dead_letter(number, &request.custom_id, deaths)?;
                    self.given_up.push(JournalEvent::Ended(record));
                    continue;
                }
                bytes += request.body.len();
                let is_suspect = deaths > 0;
                self.queue.push_back(QueuedLine { number, request, is_suspect });
            }
            Ok(self)
        });
        reading.await
    }
}

/// Signals that end the wait of a line for an overload to end.
struct LineEnds {
    /// The server stops.
    server: watch::Receiver<bool>,
    /// The batch's turn is over.
    turn: watch::Receiver<bool>,
}

/// A line to send.
struct LineCall {
    routes: LocalRoutes,
    path: &'static str,
    queued: QueuedLine,
    line: BatchLine,
}

impl LineCall {
    /// Sends the line until it has a reply; `None` if the server stops or the batch expires first,
    /// or if the turn ends while the line waits for an overload to end.
    async fn answer(
        self,
        permit: OwnedSemaphorePermit,
        mut ends: LineEnds,
    ) -> Option<JournalRecord> {
        let mut permit = permit;
        let id = match LineId::new() {
            Ok(id) => id,
            Err(error) => {
                tracing::error!(%error, "a line of a batch has no name");
                return None;
            }
        };
        let QueuedLine { number, request: LineRequest { custom_id, body }, is_suspect } =
            self.queued;
        let body = Bytes::from(body);
        loop {
            let posting = self.routes.post(self.path, id.as_str(), body.clone(), self.line);
            let answer = match AssertUnwindSafe(posting).catch_unwind().await {
                Ok(Ok(answer)) => answer,
                Ok(Err(cause)) => {
                    tracing::error!(cause, "a line of a batch could not be sent");
                    return Some(output::broken(number, &id, &custom_id));
                }
                Err(_) => {
                    tracing::error!("a panic behind a line of a batch");
                    return Some(output::broken(number, &id, &custom_id));
                }
            };
            let late = answer.status == StatusCode::GATEWAY_TIMEOUT;
            if late && Instant::now() >= self.line.deadline {
                // The batch has expired: the line counts as unanswered.
                return None;
            }
            let Some(wait) = answer.busy else {
                return Some(output::answered(number, &id, &custom_id, &answer));
            };
            permit = if is_suspect {
                // It keeps its permits: if the process dies while it waits, the death counts
                // against it, so no other line may be in flight.
                sleep_unless_ended(wait, &mut ends).await?;
                permit
            } else {
                let permits = Arc::clone(permit.semaphore());
                drop(permit);
                sleep_unless_ended(wait, &mut ends).await?;
                acquire_unless_ended(permits, &mut ends).await?
            };
        }
    }
}

/// Sleeps; `None` at the end of the turn or the server.
async fn sleep_unless_ended(wait: Duration, ends: &mut LineEnds) -> Option<()> {
    tokio::select! {
        () = stopped(&mut ends.server) => None,
        () = stopped(&mut ends.turn) => None,
        () = tokio::time::sleep(wait) => Some(()),
    }
}

/// Acquires a permit; `None` at the end of the turn or the server.
async fn acquire_unless_ended(
    permits: Arc<Semaphore>,
    ends: &mut LineEnds,
) -> Option<OwnedSemaphorePermit> {
    tokio::select! {
        () = stopped(&mut ends.server) => None,
        () = stopped(&mut ends.turn) => None,
        permit = permits.acquire_owned() => Some(permit.expect("the semaphore is never closed")),
    }
}

fn taken(answer: Result<Option<JournalRecord>, JoinError>) -> Option<JournalEvent> {
    // Aborted tasks have no reply; panics are caught inside the task.
    answer.ok().flatten().map(JournalEvent::Ended)
}

/// Takes the replies that have arrived.
fn ready(answers: &mut Answers) -> Vec<JournalEvent> {
    let mut events = Vec::new();
    while let Some(answer) = answers.try_join_next() {
        events.extend(taken(answer));
    }
    events
}
