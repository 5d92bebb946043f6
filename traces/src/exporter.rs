//! The queue of finished spans, and the thread that sends them to a collector.
//!
//! A collector that is dead or slow costs spans and nothing else: the queue has a bound, what comes
//! when it is full is dropped, and what a collector does not take after [`ATTEMPTS`] attempts is
//! given up. Both are counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::StatusCode;
use ureq::http::header::RETRY_AFTER;

use crate::otlp;
use crate::span::Span;

/// Most spans in the queue, some megabytes of memory.
const QUEUE_SPANS: usize = 4096;
/// Most spans of a body.
const BATCH_SPANS: usize = 512;
/// Longest time that spans wait for others to fill a body.
const BATCH_DELAY: Duration = Duration::from_secs(2);
/// Attempts at a body that a collector could not take for now.
const ATTEMPTS: u32 = 3;
/// Pause before the second attempt, doubled before each further one.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause that a collector may ask for.
const MOST_PAUSE: Duration = Duration::from_secs(30);
/// Most bytes of a collector's reply that are read.
const REPLY_BYTES: u64 = 64 << 10;

/// Where spans are sent and what they are sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExporterOptions {
    /// The URL that bodies are posted to, path included.
    pub url: String,
    /// Further headers of a request, such as a key.
    pub headers: Vec<(String, String)>,
    /// Longest time of a request.
    pub timeout: Duration,
    /// Attributes of the process, `service.name` included.
    pub resource: Vec<(String, String)>,
}

/// Numbers of spans since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// Taken by the collector.
    pub exported: u64,
    /// Dropped because the queue was full or closed.
    pub dropped: u64,
    /// Not taken by the collector.
    pub failed: u64,
}

/// A handle of the queue. When it is dropped, the thread ends after its present request.
#[derive(Debug)]
pub struct Exporter {
    shared: Arc<ExportState>,
}

#[derive(Debug, Default)]
struct ExportState {
    queue: Mutex<Queue>,
    /// Notified when the thread has something to do, and when it has ended.
    changed: Condvar,
    exported: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    spans: VecDeque<Span>,
    /// When the first of `spans` came.
    since: Option<Instant>,
    /// Until when the thread may work on, once no more spans are taken.
    closing: Option<Instant>,
    ended: bool,
}

impl Exporter {
    /// Starts the thread.
    ///
    /// # Errors
    /// A thread that does not start.
    pub(crate) fn start(options: ExporterOptions) -> std::io::Result<Exporter> {
        let shared: Arc<ExportState> = Arc::default();
        let sender = Sender::new(options, Arc::clone(&shared));
        std::thread::Builder::new().name("traces".to_owned()).spawn(move || sender.run())?;
        Ok(Exporter { shared })
    }

    pub(crate) fn record(&self, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let mut queue = self.shared.lock();
        let room = match queue.closing {
            None => QUEUE_SPANS - queue.spans.len(),
            Some(_) => 0,
        };
        let (taken, before) = (room.min(spans.len()), queue.spans.len());
        add(&self.shared.dropped, spans.len() - taken);
        queue.spans.extend(spans.into_iter().take(taken));
        let after = queue.spans.len();
        if before == 0 && after > 0 {
            queue.since = Some(Instant::now());
        }
        drop(queue);
        if before == 0 || (before < BATCH_SPANS && after >= BATCH_SPANS) {
            self.shared.changed.notify_all();
        }
    }

    pub(crate) fn counts(&self) -> SpanCounts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SpanCounts {
            exported: get(&self.shared.exported),
            dropped: get(&self.shared.dropped),
            failed: get(&self.shared.failed),
        }
    }

    pub(crate) fn shutdown(&self, deadline: Instant) {
        self.shared.close(deadline);
        let mut queue = self.shared.lock();
        while !queue.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                add(&self.shared.dropped, queue.spans.len());
                queue.spans.clear();
                return;
            }
            queue = wait(&self.shared.changed, queue, left);
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.shared.close(Instant::now());
    }
}

impl ExportState {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes no more spans; the thread may work until `deadline`.
    fn close(&self, deadline: Instant) {
        self.lock().closing.get_or_insert(deadline);
        self.changed.notify_all();
    }

    /// Waits for the spans of a body; `None` once all is sent or the time of closing is over.
    fn next_batch(&self) -> Option<Vec<Span>> {
        let mut queue = self.lock();
        loop {
            let now = Instant::now();
            let (waited, closing) = (queue.since.map(|since| now - since), queue.closing);
            let is_due = queue.spans.len() >= BATCH_SPANS || closing.is_some();
            match (waited, closing) {
                (_, Some(deadline)) if queue.spans.is_empty() || deadline <= now => {
                    add(&self.dropped, queue.spans.len());
                    queue.spans.clear();
                    return None;
                }
                (None, _) => queue = wait(&self.changed, queue, Duration::MAX),
                (Some(waited), _) if is_due || waited >= BATCH_DELAY => {
                    let count = queue.spans.len().min(BATCH_SPANS);
                    let batch = queue.spans.drain(..count).collect();
                    queue.since = (!queue.spans.is_empty()).then_some(now);
                    return Some(batch);
                }
                (Some(waited), _) => {
                    queue = wait(&self.changed, queue, BATCH_DELAY.saturating_sub(waited));
                }
            }
        }
    }

    /// Waits for `pause`; returns false at once where the queue is closing.
    fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut queue = self.lock();
        while queue.closing.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            queue = wait(&self.changed, queue, left);
        }
        false
    }
}

fn wait<'q>(
    changed: &Condvar,
    queue: MutexGuard<'q, Queue>,
    most: Duration,
) -> MutexGuard<'q, Queue> {
    // A wait of a day is as good as one without end, and no clock overflows.
    let most = most.min(Duration::from_hours(24));
    changed.wait_timeout(queue, most).unwrap_or_else(PoisonError::into_inner).0
}

fn add(count: &AtomicU64, amount: usize) {
    count.fetch_add(amount as u64, Ordering::Relaxed);
}

/// What became of a body.
enum Sent {
    /// The collector took all but so many spans.
    Taken { rejected: u64 },
    /// The collector cannot take it now; with the pause that it asks for.
    Busy { cause: String, pause: Option<Duration> },
    /// The collector will not take it.
    Refused { cause: String },
}

/// The thread's part.
struct Sender {
    agent: Agent,
    options: ExporterOptions,
    shared: Arc<ExportState>,
}

/// Marks the queue as ended, also if the thread ends in a panic.
struct Ending(Arc<ExportState>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.closing.get_or_insert_with(Instant::now);
        queue.ended = true;
        drop(queue);
        self.0.changed.notify_all();
    }
}

impl Sender {
    fn new(options: ExporterOptions, shared: Arc<ExportState>) -> Sender {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // Proxy variables of the environment are ignored: only the configuration counts.
            .proxy(None)
            .build();
        Sender { agent: Agent::new_with_config(config), options, shared }
    }

    fn run(self) {
        let _ending = Ending(Arc::clone(&self.shared));
        // One line says that spans are lost, and one that they are taken again.
        let mut is_lost = false;
        while let Some(batch) = self.shared.next_batch() {
            let count = batch.len() as u64;
            let lost = match self.export(&otlp::body(&self.options.resource, &batch)) {
                Ok(rejected) => {
                    if is_lost {
                        tracing::info!("the collector takes spans again");
                    }
                    is_lost = false;
                    rejected.min(count)
                }
                Err(cause) => {
                    if !is_lost {
                        tracing::warn!(cause, "spans are lost: the collector does not take them");
                    }
                    is_lost = true;
                    count
                }
            };
            self.shared.exported.fetch_add(count - lost, Ordering::Relaxed);
            self.shared.failed.fetch_add(lost, Ordering::Relaxed);
        }
    }

    /// Sends a body until it is taken; returns how many of its spans are not.
    fn export(&self, body: &[u8]) -> Result<u64, String> {
        let mut attempt = 1;
        loop {
            match self.send(body) {
                Sent::Taken { rejected } => return Ok(rejected),
                Sent::Refused { cause } => return Err(cause),
                Sent::Busy { cause, pause } => {
                    let own = PAUSE * 2_u32.pow(attempt - 1);
                    let pause = pause.unwrap_or(own).min(MOST_PAUSE);
                    if attempt == ATTEMPTS || !self.shared.pause(pause) {
                        return Err(cause);
                    }
                    attempt += 1;
                }
            }
        }
    }

    fn send(&self, body: &[u8]) -> Sent {
        let closing = self.shared.lock().closing;
        let left = closing.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.unwrap_or(Duration::MAX).min(self.options.timeout);
        let request = self.agent.post(&self.options.url).config();
        let mut request = request.timeout_global(Some(timeout)).build();
        request = request.header("content-type", "application/json");
        for (name, value) in &self.options.headers {
            request = request.header(name, value);
        }
        let mut reply = match request.send(body) {
            Ok(reply) => reply,
            Err(error) => return Sent::Busy { cause: error.to_string(), pause: None },
        };
        let status = reply.status();
        if status.is_success() {
            let text = reply.body_mut().with_config().limit(REPLY_BYTES).read_to_vec();
            // The collector has taken the spans, whatever becomes of its reply.
            return Sent::Taken { rejected: otlp::rejected(&text.unwrap_or_default()) };
        }
        let cause = format!("status {}", status.as_u16());
        let is_busy = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ];
        if !is_busy.contains(&status) {
            return Sent::Refused { cause };
        }
        let pause = reply.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let pause = pause.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        Sent::Busy { cause, pause }
    }
}
