//! Open connections: their number, which of them is closed for a new one at the limit, and the deadlines
//! of each.
//!
//! The framework bounds the first head of a connection and the time between requests. What it does
//! not bound is bounded here, around its sockets: readers that stall, replies without an end, later
//! heads that trickle, bodies that go on after their reply, and the number of connections.
//!
//! A crate of its own: it depends on no route and no scorer, and the loop of HTTP/1 is compiled once
//! for all applications, beside the crates that the routes wait for.

mod server;
mod socket;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

pub use self::server::{BEAT, HttpService, Server, http_service};
pub use self::socket::ReplyBody;

/// Descriptors for everything but connections: models, files of batches, pipes of code scorers.
const RESERVE: usize = 256;

/// Most connections unless configured, whatever the descriptor limit.
const MOST: usize = 20_000;

/// A connection may be closed for a new one when its reader has taken no bytes for this time.
const STALL: Duration = Duration::from_secs(1);

/// The limits of a server's connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Open connections; 0 for what the descriptor limit leaves for them.
    pub connections: usize,
    /// Open connections of each address; 0 for any number.
    pub address_connections: usize,
    /// Longest time from the first byte of a head to its last.
    pub head_timeout: Duration,
    /// Longest time in which the rest of a body is read and dropped after its reply.
    pub linger_timeout: Duration,
    /// Longest time between two requests.
    pub idle_timeout: Duration,
    /// Longest time in which a reader takes no byte of a reply.
    pub write_timeout: Duration,
    /// Longest time from the beginning of a reply to its end.
    pub reply_timeout: Duration,
    /// How long a connection without a request stays open in a drain.
    pub drain_idle: Duration,
}

/// The open connections of a server, and what they hold.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    limits: ConnectionLimits,
    start: Instant,
    /// A lock, because at the limit a new connection is compared with all others. Taken once per
    /// connection, not per request.
    table: Mutex<Table>,
    /// When the drain began, in nanoseconds after `start`; [`NEVER`] before.
    drained_at: AtomicU64,
    output_bytes: AtomicUsize,
    events: [AtomicU64; EVENTS.len()],
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<u64, Arc<Connection>>,
    per_address: HashMap<IpAddr, usize>,
    opened: u64,
}

/// What happened to connections, as a metric names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionEvent {
    Refused,
    GaveWay,
    TimedOut,
}

/// Names of the events, in their order.
const EVENTS: [&str; 3] = ["refused", "gave_way", "timed_out"];

/// A connection, shared by its socket, the requests on it and the table.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    address: IpAddr,
    server: Arc<Connections>,
    phase: AtomicU8,
    /// When the phase began, in nanoseconds after the server's start.
    since: AtomicU64,
    /// When the phase must be over.
    deadline: AtomicU64,
    /// When the reader stopped taking bytes; [`NEVER`] while it takes them.
    stalled_at: AtomicU64,
    /// Whether a request on it had a key, or needed none.
    known: AtomicBool,
    closed: AtomicBool,
    /// Bytes of replies that have not been written.
    output_bytes: AtomicUsize,
    waker: AtomicWaker,
}

/// No request has begun.
const WAITING: u8 = 0;
/// A part of a head has arrived.
const HEAD: u8 = 1;
/// A request is being read or answered.
const ANSWERING: u8 = 2;
/// A reply is being made and written.
const REPLYING: u8 = 3;
/// The rest of a reply is being written.
const FLUSHING: u8 = 4;

/// No time.
const NEVER: u64 = u64::MAX;

/// Why a connection is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refused;

impl Connections {
    /// An empty table.
    pub fn new(limits: ConnectionLimits) -> Arc<Connections> {
        Arc::new(Connections {
            most: most_connections(limits.connections),
            limits,
            start: Instant::now(),
            table: Mutex::default(),
            drained_at: AtomicU64::new(NEVER),
            output_bytes: AtomicUsize::new(0),
            events: Default::default(),
        })
    }

    /// Number of open connections.
    pub fn len(&self) -> usize {
        self.table().open.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of replies that are in memory because their readers have not taken them.
    pub fn output_bytes(&self) -> usize {
        self.output_bytes.load(Ordering::Relaxed)
    }

    /// How often each event happened, by its name.
    pub fn events(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.events.iter().map(|count| count.load(Ordering::Relaxed));
        EVENTS.into_iter().zip(counts)
    }

    /// Adds a connection. At the limit another one is closed for it; see [`Connection::spared`].
    ///
    /// # Errors
    /// [`Refused`] where the address is at its limit, or where no connection may be closed.
    fn open(self: &Arc<Self>, address: IpAddr) -> Result<Arc<Connection>, Refused> {
        let mut table = self.table();
        let of_address = table.per_address.get(&address).copied().unwrap_or(0);
        let of_each = self.limits.address_connections;
        let full = of_each != 0 && of_address >= of_each;
        if full || (table.open.len() >= self.most && !self.make_room(&mut table)) {
            drop(table);
            self.count(ConnectionEvent::Refused);
            return Err(Refused);
        }
        table.opened += 1;
        let id = table.opened;
        let now = self.nanos(Instant::now());
        let connection = Arc::new(Connection {
            id,
            address,
            server: Arc::clone(self),
            phase: AtomicU8::new(WAITING),
            since: AtomicU64::new(now),
            deadline: AtomicU64::new(after(
                now,
                self.limits.head_timeout + self.limits.idle_timeout,
            )),
            stalled_at: AtomicU64::new(NEVER),
            known: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            output_bytes: AtomicUsize::new(0),
            waker: AtomicWaker::new(),
        });
        table.open.insert(id, Arc::clone(&connection));
        *table.per_address.entry(address).or_default() += 1;
        Ok(connection)
    }

    /// Closes a connection to make room: one on which no request has passed the guard, else one
    /// between requests, else one whose reader has stalled; among these the one that has been in its
    /// state the longest. Returns whether there was one.
    fn make_room(&self, table: &mut Table) -> bool {
        let now = self.nanos(Instant::now());
        let spared = table.open.values().filter_map(|one| Some((one.spared(now)?, one)));
        let Some((_, least)) = spared.min_by_key(|(order, _)| *order) else {
            return false;
        };
        let least = Arc::clone(least);
        self.close_for_others(table, &least);
        true
    }

    fn close_for_others(&self, table: &mut Table, one: &Connection) {
        table.forget(one);
        one.close();
        self.count(ConnectionEvent::GaveWay);
    }

    /// Closes a connection because the file descriptors have run out.
    fn free_descriptor(&self) {
        self.make_room(&mut self.table());
    }

    /// Closes the connection whose reader has stalled for the longest time, to free the memory and
    /// permits of its reply.
    pub fn end_longest_stall(&self) {
        let mut table = self.table();
        if let Some(first) = self.stalled(&table).first() {
            self.close_for_others(&mut table, first);
        }
    }

    /// Whether unread replies take less than `most` bytes. Where they take more, connections whose
    /// readers have stalled are closed until they do, those that have stalled for the longest time
    /// first.
    pub fn output_fits(&self, most: usize) -> bool {
        if self.output_bytes() < most {
            return true;
        }
        let mut table = self.table();
        for one in self.stalled(&table) {
            self.close_for_others(&mut table, &one);
            one.release_output();
            if self.output_bytes() < most {
                return true;
            }
        }
        false
    }

    /// Closes every connection whose reader has stalled with a reply in memory.
    pub fn end_stalled(&self) {
        self.output_fits(1);
    }

    /// The connections whose readers have stalled, those of the longest time first.
    fn stalled(&self, table: &Table) -> Vec<Arc<Connection>> {
        let now = self.nanos(Instant::now());
        let stalled = table.open.values().filter(|one| one.has_stalled(now));
        let mut stalled: Vec<Arc<Connection>> = stalled.cloned().collect();
        stalled.sort_unstable_by_key(|one| one.stalled_at.load(Ordering::Relaxed));
        stalled
    }

    /// Begins the drain: from now on a connection between requests is closed once it has been idle for
    /// `drain_idle`.
    fn begin_drain(&self) {
        self.drained_at.store(self.nanos(Instant::now()), Ordering::Release);
    }

    /// Wakes every connection, so that it checks its deadline.
    fn wake_all(&self) {
        self.table().open.values().for_each(|one| one.waker.wake());
    }

    /// Closes every connection, also those with a request in hand.
    fn close_all(&self) {
        self.table().open.values().for_each(|one| one.close());
    }

    fn count(&self, event: ConnectionEvent) {
        self.events[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        // A panic elsewhere leaves a table whose connections still leave it one by one.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nanos(&self, at: Instant) -> u64 {
        let elapsed = at.saturating_duration_since(self.start).as_nanos();
        u64::try_from(elapsed).unwrap_or(NEVER)
    }

    fn instant(&self, nanos: u64) -> Option<Instant> {
        self.start.checked_add(Duration::from_nanos(nanos)).filter(|_| nanos != NEVER)
    }
}

/// The end of a time that began at `now`.
fn after(now: u64, time: Duration) -> u64 {
    now.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(NEVER))
}

impl Table {
    /// Takes a connection out of the table, once.
    fn forget(&mut self, connection: &Connection) {
        if self.open.remove(&connection.id).is_none() {
            return;
        }
        if let Some(count) = self.per_address.get_mut(&connection.address) {
            *count -= 1;
            if *count == 0 {
                self.per_address.remove(&connection.address);
            }
        }
    }
}

impl Connection {
    /// Enters the phase of a request, in which the time limits of requests apply and not those of
    /// connections.
    pub fn begin_request(&self) {
        self.enter(ANSWERING, None);
    }

    /// The request passed the guard.
    pub fn mark_known(&self) {
        self.known.store(true, Ordering::Relaxed);
    }

    /// Enters the phase of a reply of `bytes` bytes, or 0 where the length is not known.
    fn begin_reply(&self, bytes: usize) {
        self.output_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.server.output_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.enter(REPLYING, Some(self.server.limits.reply_timeout));
    }

    /// The last byte of the reply was made; its deadline holds until it is written.
    pub fn end_reply(&self) {
        self.phase.store(FLUSHING, Ordering::Relaxed);
    }

    /// Bytes have arrived.
    fn bytes_arrived(&self) {
        if self.phase() == WAITING {
            let phase = self.deadline.load(Ordering::Relaxed);
            self.enter(
                HEAD,
                Some(self.server.limits.head_timeout + self.server.limits.linger_timeout),
            );
            // Later bytes do not extend the deadline.
            self.deadline.fetch_min(phase, Ordering::Relaxed);
        }
    }

    /// The system has taken `bytes` bytes: of replies, and of their heads, which are not counted.
    fn wrote(&self, bytes: usize) {
        let order = Ordering::Relaxed;
        // One step, as another thread may release the rest meanwhile.
        let rest = |held: usize| Some(held.saturating_sub(bytes));
        let held = self.output_bytes.fetch_update(order, order, rest).unwrap_or_default();
        self.server.output_bytes.fetch_sub(held.min(bytes), order);
    }

    /// All bytes that were made have been written.
    fn wrote_all(&self) {
        if self.phase() == FLUSHING {
            // The framework closes most idle connections itself; not those where it waits for the rest
            // of a body, or where it has stopped reading.
            let limits = &self.server.limits;
            self.enter(WAITING, Some(limits.idle_timeout + limits.head_timeout));
        }
        if self.phase() != REPLYING {
            self.release_output();
        }
    }

    fn release_output(&self) {
        let bytes = self.output_bytes.swap(0, Ordering::Relaxed);
        if bytes > 0 {
            self.server.output_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn enter(&self, phase: u8, time: Option<Duration>) {
        let now = self.server.nanos(Instant::now());
        self.since.store(now, Ordering::Relaxed);
        let deadline = time.map_or(NEVER, |time| after(now, time));
        self.deadline.store(deadline, Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
    }

    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Relaxed)
    }

    /// The deadline of the phase; `None` without one.
    fn deadline(&self) -> Option<Instant> {
        self.server.instant(self.deadline.load(Ordering::Relaxed))
    }

    /// Sets the time since when the reader has taken no bytes; `None` if it takes them.
    fn set_stalled(&self, at: Option<Instant>) {
        let nanos = at.map_or(NEVER, |at| self.server.nanos(at));
        self.stalled_at.store(nanos, Ordering::Relaxed);
    }

    fn has_stalled(&self, now: u64) -> bool {
        let at = self.stalled_at.load(Ordering::Relaxed);
        at != NEVER && now >= after(at, STALL)
    }

    /// The order in which connections are closed for new ones, the least first; `None` if it is not.
    fn spared(&self, now: u64) -> Option<(u8, u64)> {
        let since = self.since.load(Ordering::Relaxed);
        match (self.phase(), self.known.load(Ordering::Relaxed)) {
            (WAITING | HEAD, false) => Some((0, since)),
            (WAITING | HEAD, true) => Some((1, since)),
            _ if self.has_stalled(now) => Some((2, self.stalled_at.load(Ordering::Relaxed))),
            _ => None,
        }
    }

    /// Whether a drain closes it now.
    fn is_drained(&self) -> bool {
        let began = self.server.drained_at.load(Ordering::Acquire);
        if began == NEVER || self.phase() != WAITING {
            return false;
        }
        let since = self.since.load(Ordering::Relaxed);
        self.server.nanos(Instant::now()) >= after(since, self.server.limits.drain_idle)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Removes it from the table and subtracts its bytes.
    fn end(&self) {
        self.release_output();
        self.server.table().forget(self);
    }
}

/// The configured number of connections, or what the descriptor limit leaves for them.
fn most_connections(configured: usize) -> usize {
    let descriptors = descriptor_limit().unwrap_or(1024);
    let spare = descriptors.saturating_sub(RESERVE.min(descriptors / 2)).max(1);
    if configured == 0 { spare.min(MOST) } else { configured.min(spare) }
}

/// The number of descriptors that this process may have.
fn descriptor_limit() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let soft = line.split_ascii_whitespace().next()?;
    Some(soft.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of `connections` connections at most, with times of a second.
    pub(crate) fn of_seconds(connections: usize) -> Arc<Connections> {
        let second = Duration::from_secs(1);
        Connections::new(ConnectionLimits {
            connections,
            address_connections: 0,
            head_timeout: second,
            linger_timeout: second,
            idle_timeout: second,
            write_timeout: second,
            reply_timeout: second,
            drain_idle: second,
        })
    }

    #[test]
    fn stalled_readers_are_closed_until_their_output_fits() {
        let mut server = of_seconds(10);
        let own = Arc::get_mut(&mut server).expect("it has no connection yet");
        own.start = own.start.checked_sub(Duration::from_secs(10)).expect("the machine runs");
        let now = Instant::now();
        let open = |stalled_s: Option<u64>| {
            let one = server.open(IpAddr::from([127, 0, 0, 1])).expect("room");
            one.begin_reply(1000);
            one.set_stalled(stalled_s.and_then(|s| now.checked_sub(Duration::from_secs(s))));
            one
        };
        let all = [None, None, Some(2), Some(5), Some(3)].map(open);
        let closed = || all.each_ref().map(|one| one.is_closed());
        assert!(server.output_fits(5001));
        assert_eq!(closed(), [false; 5]);
        assert!(server.output_fits(3500), "the two that have stalled longest are enough");
        assert_eq!(closed(), [false, false, false, true, true]);
        assert!(!server.output_fits(1500), "the others may still read");
        assert_eq!(closed(), [false, false, true, true, true]);
        assert_eq!((server.output_bytes(), server.len()), (2000, 2));
        for one in &all {
            one.end();
        }
        assert_eq!((server.output_bytes(), server.len()), (0, 0));
    }
}
