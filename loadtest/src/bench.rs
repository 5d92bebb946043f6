//! The state that all loops of a run share: server, bodies and request numbers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hyper::body::Bytes;

use crate::client::Connection;
use crate::config::TimeLimits;
use crate::phase::{Load, Recorder};
use crate::progress::LoadProgress;
use crate::target::ServerTarget;
use crate::workload::Workload;

/// Time between two reports of progress.
const TICK: Duration = Duration::from_millis(250);

/// The state that all loops of a run share. One thread uses it, so plain cells suffice.
pub(crate) struct Bench {
    pub(crate) target: Rc<ServerTarget>,
    pub(crate) settings: Settings,
    /// When the run began.
    pub(crate) run_start: Instant,
    workload: Workload,
    next_number: Cell<u64>,
}

/// Settings of all loops of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) rules: TimeLimits,
    pub(crate) warmup: Duration,
    pub(crate) seed: u64,
}

/// The record of the running phase.
pub(crate) type SharedRecorder = Rc<RefCell<Recorder>>;

impl Bench {
    pub(crate) fn new(target: ServerTarget, workload: Workload, settings: Settings) -> Self {
        Self {
            target: Rc::new(target),
            settings,
            run_start: Instant::now(),
            workload,
            next_number: Cell::new(0),
        }
    }

    /// Inputs in each request.
    pub(crate) fn batch(&self) -> usize {
        self.workload.batch()
    }

    /// The body of the next request. Numbers continue through warm-ups and phases, so that a phase
    /// never sends inputs that are in the server's cache from an earlier one.
    pub(crate) fn next_body(&self) -> Bytes {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        self.workload.body(number)
    }

    /// A new connection, not yet open.
    pub(crate) fn connection(&self) -> Connection {
        Connection::new(self.target.clone(), self.workload.wire(), self.batch())
    }

    /// A record of a phase whose measurement begins at `start`.
    pub(crate) fn recorder(&self, load: Load, start: Instant) -> SharedRecorder {
        let recorder =
            Recorder::new(load, self.batch(), self.settings.rules, self.run_start, start);
        Rc::new(RefCell::new(recorder))
    }
}

/// Runs `work` and reports progress meanwhile. `share` gives the finished share of it from the
/// elapsed time and the number of measured requests that have ended.
pub(crate) async fn with_progress<F: Future>(
    work: F,
    recorder: &RefCell<Recorder>,
    share: impl Fn(Duration, u64) -> f64,
    progress: &mut dyn LoadProgress,
) -> F::Output {
    let begin = Instant::now();
    let mut work = std::pin::pin!(work);
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            output = &mut work => return output,
            _ = ticks.tick() => {
                let (ended, ok) = recorder.borrow().progress();
                progress.tick(share(begin.elapsed(), ended).min(1.0), ended, ok);
            }
        }
    }
}

/// Processor time of this thread, which is all of the generator but its pacemaker.
pub(crate) struct CpuClock {
    wall: Instant,
    cpu: Option<Duration>,
}

impl CpuClock {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: thread_cpu() }
    }

    /// Share of one core used since the start; `None` if the system does not report it.
    pub(crate) fn share(&self) -> Option<f64> {
        let used = thread_cpu()?.checked_sub(self.cpu?)?;
        let wall = self.wall.elapsed().as_secs_f64();
        (wall > 0.0).then(|| used.as_secs_f64() / wall)
    }
}

/// The first field of `schedstat` is the time on a processor in nanoseconds.
fn thread_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
