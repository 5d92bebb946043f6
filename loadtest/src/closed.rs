//! The closed loop: each connection sends its next request when it has the reply to the last.
//!
//! It finds the peak of a server and hides its stalls: while a reply is late, the requests that users
//! would have sent are not sent, and their waits are not measured. Trust the open loop for latency.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::bench::{Bench, CpuClock, SharedRecorder, with_progress};
use crate::config::Stop;
use crate::outcome::Class;
use crate::phase::{Delay, Load, Phase, Times};
use crate::progress::LoadProgress;

/// Wait after a failed connect, so that a dead server does not cause a busy loop.
const PAUSE: Duration = Duration::from_millis(20);

struct Closed {
    bench: Rc<Bench>,
    recorder: SharedRecorder,
    /// Requests sent before this are warm-up.
    start: Instant,
    stop: Stop,
    measured: Cell<u64>,
}

/// Runs one closed loop: warm-up, then the measurement.
pub(crate) async fn run(
    bench: &Rc<Bench>,
    concurrency: usize,
    stop: Stop,
    progress: &mut dyn LoadProgress,
) -> Phase {
    let load = Load::Closed { concurrency };
    progress.begin(&load.name());
    let start = Instant::now() + bench.settings.warmup;
    let recorder = bench.recorder(load, start);
    let closed = Rc::new(Closed {
        bench: bench.clone(),
        recorder: recorder.clone(),
        start,
        stop,
        measured: Cell::new(0),
    });
    let cpu = CpuClock::start();
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        workers.spawn_local(work(closed.clone()));
    }
    let all = async { while workers.join_next().await.is_some() {} };
    let share = |elapsed, ended| stop.share(bench.settings.warmup, elapsed, ended);
    with_progress(all, &recorder, share, progress).await;
    let planned = match stop {
        Stop::After(duration) => Some(duration),
        Stop::Requests(_) => None,
    };
    recorder.borrow().finish(planned, cpu.share())
}

/// One connection: requests until the loop stops.
async fn work(closed: Rc<Closed>) {
    let mut connection = closed.bench.connection();
    while closed.wants_more() {
        let body = closed.bench.next_body();
        let due = Instant::now();
        let exchange = connection.exchange(body, due + closed.bench.settings.rules.timeout).await;
        let failed_to_connect = exchange.class == Class::ConnectionError;
        let times = Times { due, delay: Delay::None, done: Instant::now() };
        closed.recorder.borrow_mut().record(times, exchange);
        if failed_to_connect {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Closed {
    /// Whether to send another request now; if so, counts it.
    fn wants_more(&self) -> bool {
        let now = Instant::now();
        if now < self.start {
            return true;
        }
        match self.stop {
            Stop::After(duration) => now < self.start + duration,
            Stop::Requests(limit) => {
                let measured = self.measured.get();
                self.measured.set(measured + 1);
                measured < limit
            }
        }
    }
}

impl Stop {
    /// The share of the loop that is over.
    #[expect(clippy::cast_precision_loss, reason = "for a progress bar")]
    fn share(self, warmup: Duration, elapsed: Duration, ended: u64) -> f64 {
        match self {
            Self::After(duration) => elapsed.as_secs_f64() / (warmup + duration).as_secs_f64(),
            Self::Requests(limit) => ended as f64 / limit as f64,
        }
    }
}
