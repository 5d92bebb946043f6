//! A run: probe the server, run the phases, write the reports.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::runtime;
use tokio::task::{LocalSet, spawn_local};

use crate::args::BenchServe;
use crate::bench::{Bench, Settings};
use crate::client::try_connect;
use crate::closed;
use crate::config::{Config, LoadPlan};
use crate::error::LoadError;
use crate::memory::{self, Memory};
use crate::open::{self, OpenLoad};
use crate::outcome::Class;
use crate::phase::Phase;
use crate::progress::LoadProgress;
use crate::report::{About, LoadReport};
use crate::sweep::{self, SweepSettings};

/// Longest wait for the first connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Shortest timeout of the first reply, whatever `--timeout` is: a server may still be warming up.
const FIRST_REPLY: Duration = Duration::from_secs(2);

/// Runs the load of `args`, reports to `progress`, and writes the files of `args`. Blocks until the
/// run is over.
///
/// # Errors
/// [`LoadError::Usage`], [`LoadError::Read`] and [`LoadError::Rows`] before anything is sent;
/// [`LoadError::Unreachable`] after one attempt to connect; [`LoadError::NotScoring`] when the
/// reply to one request, sent before the load, is none that load could repair;
/// [`LoadError::NoPeak`] when a sweep has nothing to sweep to; [`LoadError::Write`] and
/// [`LoadError::Plot`] when a report cannot be made.
pub fn run(args: &BenchServe, progress: &mut dyn LoadProgress) -> Result<LoadReport, LoadError> {
    let config = Config::resolve(args)?;
    let about = About::new(args)?;
    let runtime =
        runtime::Builder::new_current_thread().enable_all().build().map_err(LoadError::Start)?;
    let (phases, memory) = LocalSet::new().block_on(&runtime, measure(config, progress))?;
    let report = LoadReport::new(about, phases, memory);
    report.write_files(args)?;
    Ok(report)
}

async fn measure(
    config: Config,
    progress: &mut dyn LoadProgress,
) -> Result<(Vec<Phase>, Option<Memory>), LoadError> {
    let Config { target, workload, plan, rules, warmup, seed, pid } = config;
    let bench = Rc::new(Bench::new(target, workload, Settings { rules, warmup, seed }));
    probe(&bench).await?;
    let memory = pid.map(|pid| watch_memory(pid, bench.run_start));
    let phases = phases(&bench, plan, progress).await?;
    Ok((phases, memory.map(|memory| memory.borrow().clone())))
}

fn watch_memory(pid: u32, start: Instant) -> Rc<RefCell<Memory>> {
    let mut memory = Memory { pid, samples: Vec::new() };
    memory.sample(start);
    let memory = Rc::new(RefCell::new(memory));
    drop(spawn_local(memory::watch(memory.clone(), start)));
    memory
}

async fn phases(
    bench: &Rc<Bench>,
    plan: LoadPlan,
    progress: &mut dyn LoadProgress,
) -> Result<Vec<Phase>, LoadError> {
    let phase = match plan {
        LoadPlan::Closed { concurrency, stop } => {
            closed::run(bench, concurrency, stop, progress).await
        }
        LoadPlan::Open { rate, connections, duration } => {
            let load = OpenLoad { rate, share_of_peak: None, connections, duration, stream: 0 };
            open::run(bench, load, progress).await?
        }
        LoadPlan::Sweep { concurrency, connections, duration } => {
            let settings = SweepSettings { concurrency, connections, duration };
            return sweep::run(bench, settings, progress).await;
        }
    };
    progress.end(&phase.line());
    Ok(vec![phase])
}

/// Sends one request before the load, so that a wrong port, key or scorer gives one clear message
/// instead of a report full of errors. A busy server passes.
async fn probe(bench: &Bench) -> Result<(), LoadError> {
    let url = || bench.target.url.clone();
    let limit = bench.settings.rules.timeout.max(FIRST_REPLY);
    try_connect(&bench.target, CONNECT)
        .await
        .map_err(|source| LoadError::Unreachable { url: url(), source })?;
    let exchange = bench.connection().exchange(bench.next_body(), Instant::now() + limit).await;
    let detail = exchange.detail.unwrap_or_default();
    let detail = match exchange.class {
        Class::ClientError => format!("it refused the first request: {detail}"),
        Class::BadReply => format!("its first reply was {detail}"),
        Class::Timeout => format!("it did not answer the first request within {limit:?}"),
        Class::Lost => {
            format!("it closed the connection before its first reply was whole: {detail}")
        }
        Class::ConnectionError => format!("it accepted one connection and no second: {detail}"),
        Class::Ok
        | Class::Late
        | Class::Limited
        | Class::Overloaded
        | Class::Unavailable
        | Class::DeadlinePassed
        | Class::ServerError
        | Class::Unsent => return Ok(()),
    };
    Err(LoadError::NotScoring { url: url(), detail })
}
