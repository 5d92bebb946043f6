//! The open loop: requests are sent when they are due, independently of earlier ones.
//!
//! Three parts share one schedule. A *pacemaker* thread sleeps until the next request is due and
//! releases it: the timers of the event loop tick in milliseconds, which is longer than many
//! replies take. The *dispatcher* gives each released request to a free connection, the one used
//! last, so that a light load keeps few connections busy and warm. A *server task* owns a
//! connection until no released request is left, and then puts it back.
//!
//! ```text
//!   0 ........ taken ........ released ........ schedule.len()
//!     sent or done   waiting for      not yet due
//!                    a connection
//! ```

use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::spawn_local;

use crate::arrivals::poisson;
use crate::bench::{Bench, CpuClock, SharedRecorder, with_progress};
use crate::client::{Connection, Exchange};
use crate::error::LoadError;
use crate::outcome::Class;
use crate::phase::{Delay, Load, Phase, Times};
use crate::progress::LoadProgress;

/// Time between the computation of a schedule and its start.
const HEAD_START: Duration = Duration::from_millis(5);

/// Shortest time between two wake-ups of the pacemaker, so that a high rate does not take a core from
/// the server. Requests that become due meanwhile are released together.
const GRAIN: Duration = Duration::from_micros(50);

/// One open loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenLoad {
    /// Requests per second.
    pub(crate) rate: f64,
    /// The rate as a share of the peak, in a sweep.
    pub(crate) share_of_peak: Option<f64>,
    /// The most connections.
    pub(crate) connections: usize,
    /// Measured time.
    pub(crate) duration: Duration,
    /// Stream of the seed from which arrivals are drawn.
    pub(crate) stream: u64,
}

/// State shared by pacemaker and dispatcher.
#[derive(Default)]
struct Released {
    /// Requests that are due.
    count: AtomicUsize,
    changed: Notify,
}

struct Open {
    bench: Rc<Bench>,
    recorder: SharedRecorder,
    /// Due times in nanoseconds from `begin`.
    schedule: Arc<[u64]>,
    begin: Instant,
    released: Arc<Released>,
    /// Requests that a connection has taken up.
    taken: Cell<usize>,
    /// Requests that have ended.
    ended: Cell<usize>,
    all_ended: Notify,
    idle: RefCell<Vec<Connection>>,
    /// Connections that may still be opened.
    unmade: Cell<usize>,
}

/// Runs one open loop. Warm-up and measurement are one schedule, so that the measurement starts under
/// load.
pub(crate) async fn run(
    bench: &Rc<Bench>,
    load: OpenLoad,
    progress: &mut dyn LoadProgress,
) -> Result<Phase, LoadError> {
    let span = bench.settings.warmup + load.duration;
    let schedule = poisson(load.rate, span, bench.settings.seed, load.stream).into();
    let named = Load::Open { rate: load.rate, share_of_peak: load.share_of_peak };
    progress.begin(&named.name());
    let begin = Instant::now() + HEAD_START;
    let recorder = bench.recorder(named, begin + bench.settings.warmup);
    let open = Rc::new(Open {
        bench: bench.clone(),
        recorder: recorder.clone(),
        schedule,
        begin,
        released: Arc::default(),
        taken: Cell::new(0),
        ended: Cell::new(0),
        all_ended: Notify::new(),
        idle: RefCell::new(Vec::new()),
        unmade: Cell::new(load.connections),
    });
    let cpu = CpuClock::start();
    open.start_pacemaker()?;
    let share = |elapsed: Duration, _| elapsed.as_secs_f64() / span.as_secs_f64();
    with_progress(open.dispatch(), &recorder, share, progress).await;
    Ok(recorder.borrow().finish(Some(load.duration), cpu.share()))
}

impl Open {
    fn start_pacemaker(&self) -> Result<(), LoadError> {
        let (schedule, begin) = (self.schedule.clone(), self.begin);
        let released = Arc::downgrade(&self.released);
        let pace = move || {
            sharpen_timers();
            let mut count = 0;
            while let Some(due) = schedule.get(count) {
                sleep_until(begin + Duration::from_nanos(*due));
                let now = begin.elapsed().as_nanos();
                let is_due = |due: &&u64| u128::from(**due) <= now;
                count += schedule[count..].iter().take_while(is_due).count();
                let Some(released) = released.upgrade() else {
                    return;
                };
                released.count.store(count, Ordering::Release);
                released.changed.notify_one();
                thread::sleep(GRAIN);
            }
        };
        let thread = thread::Builder::new().name("pacemaker".to_owned());
        thread.spawn(pace).map(drop).map_err(LoadError::Start)
    }

    /// Gives released requests to free connections until every request of the schedule has ended.
    async fn dispatch(self: Rc<Self>) {
        while self.ended.get() < self.schedule.len() {
            while let Some((connection, number)) = self.pair() {
                spawn_local(self.clone().serve(connection, number));
            }
            tokio::select! {
                () = self.released.changed.notified() => {}
                () = self.all_ended.notified() => {}
            }
        }
    }

    /// A free connection and a request for it.
    fn pair(&self) -> Option<(Connection, usize)> {
        if !self.is_due() {
            return None;
        }
        let connection = self.free_connection()?;
        self.take().map(|number| (connection, number))
    }

    /// The connection that was used last, or a new one.
    fn free_connection(&self) -> Option<Connection> {
        if let Some(connection) = self.idle.borrow_mut().pop() {
            return Some(connection);
        }
        let left = self.unmade.get().checked_sub(1)?;
        self.unmade.set(left);
        Some(self.bench.connection())
    }

    /// Whether a due request is not yet taken.
    fn is_due(&self) -> bool {
        self.taken.get() < self.released.count.load(Ordering::Acquire)
    }

    /// Takes the next due request.
    fn take(&self) -> Option<usize> {
        self.is_due().then(|| self.taken.replace(self.taken.get() + 1))
    }

    /// Sends request `number`, then waiting ones, and returns the connection to the pool.
    async fn serve(self: Rc<Self>, mut connection: Connection, number: usize) {
        self.request(&mut connection, number, Delay::Generator).await;
        while let Some(number) = self.take() {
            self.request(&mut connection, number, Delay::Connection).await;
        }
        self.idle.borrow_mut().push(connection);
    }

    async fn request(
        &self,
        connection: &mut Connection,
        number: usize,
        delay: fn(Duration) -> Delay,
    ) {
        let due = self.begin + Duration::from_nanos(self.schedule[number]);
        let give_up = due + self.bench.settings.rules.timeout;
        let taken = Instant::now();
        let exchange = if taken < give_up {
            connection.exchange(self.bench.next_body(), give_up).await
        } else {
            Exchange::without_reply(Class::Unsent)
        };
        let delay = delay(taken.saturating_duration_since(due));
        let times = Times { due, delay, done: Instant::now() };
        self.recorder.borrow_mut().record(times, exchange);
        self.ended.set(self.ended.get() + 1);
        if self.ended.get() == self.schedule.len() {
            self.all_ended.notify_one();
        }
    }
}

fn sleep_until(time: Instant) {
    thread::sleep(time.saturating_duration_since(Instant::now()));
}

/// Reduces the timer slack of this thread on Linux, which is 50 microseconds by default. If that
/// fails, sleeps are that much longer, and the generator's lag shows it.
fn sharpen_timers() {
    const SLACK_NS: &str = "1000";
    let link = fs::read_link("/proc/thread-self");
    let thread = link.as_ref().ok().and_then(|link| link.file_name()?.to_str());
    if let Some(thread) = thread {
        fs::write(format!("/proc/{thread}/timerslack_ns"), SLACK_NS).ok();
    }
}
