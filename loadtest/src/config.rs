//! Resolution of flags into a run. Every contradiction is found here, before anything is sent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use openapi::{MAX_INPUTS, Options};

use crate::args::{BenchServe, Cache, Generate};
use crate::arrivals::MAX_ARRIVALS;
use crate::error::LoadError;
use crate::target::ServerTarget;
use crate::wire::Wire;
use crate::workload::{Common, Workload};

/// The most connections of a run, well below the ports of one address pair.
const MAX_CONNECTIONS: usize = 10_000;

/// The longest time of a flag, far below the range of a clock.
const LONGEST: Duration = Duration::from_hours(7 * 24);

const CONCURRENCY: usize = 16;
const CONNECTIONS: usize = 256;
const DURATION: Duration = Duration::from_secs(10);

/// A resolved run.
pub(crate) struct Config {
    pub(crate) target: ServerTarget,
    pub(crate) workload: Workload,
    pub(crate) plan: LoadPlan,
    pub(crate) rules: TimeLimits,
    pub(crate) warmup: Duration,
    pub(crate) seed: u64,
    pub(crate) pid: Option<u32>,
}

/// How replies are classified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    /// A request times out this long after it was due.
    pub(crate) timeout: Duration,
    /// A 200 after this is late.
    pub(crate) deadline: Option<Duration>,
    /// Verdicts of replies within this are goodput.
    pub(crate) objective: Duration,
}

/// Which loops to run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LoadPlan {
    Closed { concurrency: usize, stop: Stop },
    Open { rate: f64, connections: usize, duration: Duration },
    Sweep { concurrency: usize, connections: usize, duration: Duration },
}

/// When a closed loop stops.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stop {
    After(Duration),
    Requests(u64),
}

impl Config {
    /// Reads the files that the flags name, and refuses contradictions.
    pub(crate) fn resolve(args: &BenchServe) -> Result<Self, LoadError> {
        check_batch(args.batch)?;
        check_wire(args)?;
        check_times(args)?;
        let plan = plan(args)?;
        for path in [args.json.as_ref().and_then(Option::as_ref), args.report.as_ref()] {
            path.map_or(Ok(()), |path| check_output(path))?;
        }
        if let Some(pid) = args.pid {
            crate::memory::resident_bytes(pid).map_err(|error| {
                LoadError::usage("--pid", format!("no memory figure for process {pid}: {error}"))
            })?;
        }
        Ok(Self {
            target: ServerTarget::resolve(
                &args.url,
                &args.wire.path(&args.scorer),
                args.api_key_file.as_deref(),
            )?,
            workload: workload(args)?,
            plan,
            rules: rules(args),
            warmup: args.warmup,
            seed: args.seed,
            pid: args.pid,
        })
    }
}

fn check_batch(batch: usize) -> Result<(), LoadError> {
    if (1..=MAX_INPUTS).contains(&batch) {
        return Ok(());
    }
    Err(LoadError::usage("--batch", format!("{batch} is not between 1 and {MAX_INPUTS}")))
}

/// Wires other than the native one have no options, and some take one input per request.
fn check_wire(args: &BenchServe) -> Result<(), LoadError> {
    let refuse = |flag, why: &str| Err(LoadError::usage(flag, why));
    if args.wire == Wire::Native {
        return Ok(());
    }
    if args.wire.is_single() && args.batch != 1 {
        return refuse("--batch", "this --wire has one input a request: say `--batch 1`");
    }
    if args.cache.is_some() || (args.input.is_some() && args.unique == Some(true)) {
        return refuse("--cache", "this --wire has no such option");
    }
    if args.deadline_ms.is_some() {
        return refuse("--deadline-ms", "this --wire has no such option");
    }
    Ok(())
}

fn check_times(args: &BenchServe) -> Result<(), LoadError> {
    let deadline = args.deadline_ms.map(Duration::from_millis);
    let times = [
        ("--duration", args.duration),
        ("--timeout", Some(args.timeout)),
        ("--slo", Some(args.slo)),
        ("--deadline-ms", deadline),
    ];
    for (flag, time) in times {
        if time.is_some_and(|time| time.is_zero()) {
            return Err(LoadError::usage(flag, "must be above zero"));
        }
    }
    for (flag, time) in times.into_iter().chain([("--warmup", Some(args.warmup))]) {
        if time.is_some_and(|time| time > LONGEST) {
            return Err(LoadError::usage(flag, "must not be over a week"));
        }
    }
    Ok(())
}

fn plan(args: &BenchServe) -> Result<LoadPlan, LoadError> {
    let duration = args.duration.unwrap_or(DURATION);
    let refuse = |given: bool, flag, why: &str| {
        if given { Err(LoadError::usage(flag, why)) } else { Ok(()) }
    };
    let open = args.rate.is_some() || args.sweep;
    refuse(
        args.rate.is_some() && args.sweep,
        "--sweep",
        "chooses its own rates: leave --rate out",
    )?;
    refuse(open && args.requests.is_some(), "--requests", "stops a closed loop only")?;
    refuse(
        args.requests.is_some() && args.duration.is_some(),
        "--requests",
        "and --duration both say when to stop: give one",
    )?;
    refuse(args.requests == Some(0), "--requests", "must be above zero")?;
    refuse(
        args.rate.is_some() && args.concurrency.is_some(),
        "--concurrency",
        "belongs to the closed loop: an open loop has --connections",
    )?;
    refuse(!open && args.connections.is_some(), "--connections", "needs --rate or --sweep")?;
    let concurrency = connections("--concurrency", args.concurrency.unwrap_or(CONCURRENCY))?;
    let connections = connections("--connections", args.connections.unwrap_or(CONNECTIONS))?;
    if args.sweep {
        return Ok(LoadPlan::Sweep { concurrency, connections, duration });
    }
    if let Some(rate) = args.rate {
        check_rate(rate, args.warmup + duration)?;
        return Ok(LoadPlan::Open { rate, connections, duration });
    }
    let stop = args.requests.map_or(Stop::After(duration), Stop::Requests);
    Ok(LoadPlan::Closed { concurrency, stop })
}

fn connections(flag: &'static str, count: usize) -> Result<usize, LoadError> {
    if (1..=MAX_CONNECTIONS).contains(&count) {
        return Ok(count);
    }
    Err(LoadError::usage(flag, format!("{count} is not between 1 and {MAX_CONNECTIONS}")))
}

/// Refuses an invalid rate, and a schedule that would not fit into memory.
pub(crate) fn check_rate(rate: f64, span: Duration) -> Result<(), LoadError> {
    if !(rate.is_finite() && rate > 0.0) {
        let message = format!("{rate} is not a finite number of requests/s above zero");
        return Err(LoadError::usage("--rate", message));
    }
    if rate * span.as_secs_f64() > MAX_ARRIVALS {
        let message = format!("{rate} requests/s for {span:?} are over {MAX_ARRIVALS} requests");
        return Err(LoadError::usage("--duration", message));
    }
    Ok(())
}

/// The rules of a run.
pub(crate) fn rules(args: &BenchServe) -> TimeLimits {
    let deadline = args.deadline_ms.map(Duration::from_millis);
    TimeLimits { timeout: args.timeout, deadline, objective: args.slo }
}

/// Checks before the run that a report's folder exists.
fn check_output(path: &Path) -> Result<(), LoadError> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    };
    let problem = if path.is_dir() {
        "is a folder"
    } else if !folder.is_dir() {
        "its folder does not exist"
    } else {
        return Ok(());
    };
    let source = std::io::Error::other(problem);
    Err(LoadError::Write { path: PathBuf::from(path), source })
}

fn workload(args: &BenchServe) -> Result<Workload, LoadError> {
    let cache = cache(args)?;
    let options =
        Options { deadline_ms: args.deadline_ms, cache: cache.into(), ..Options::default() };
    let common = Common { wire: args.wire, scorer: &args.scorer, batch: args.batch, options };
    match (&args.input, args.generate) {
        (Some(path), _) => Workload::from_file(path, &common),
        (None, Generate::Gsm8kLike) => {
            Workload::generated(args.seed, args.unique.unwrap_or(true), &common)
        }
    }
}

/// The cache option. Rows of a file cannot be made distinct, so `--unique` bypasses the cache for them.
pub(crate) fn cache(args: &BenchServe) -> Result<Cache, LoadError> {
    let unique_rows = args.input.is_some() && args.unique == Some(true);
    match args.cache {
        Some(Cache::Use) if unique_rows => Err(LoadError::usage(
            "--cache",
            "the rows of --input repeat, so `--unique` and `--cache use` contradict each other",
        )),
        Some(cache) => Ok(cache),
        None if unique_rows => Ok(Cache::Bypass),
        None => Ok(Cache::Use),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        bench: BenchServe,
    }

    fn args(line: &str) -> BenchServe {
        let words = ["bench"].into_iter().chain(line.split_whitespace());
        Program::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).bench
    }

    /// The flag that is refused, or nothing.
    fn check(args: &BenchServe, expected: Option<&str>) {
        let refused = match Config::resolve(args) {
            Ok(_) => None,
            Err(LoadError::Usage { flag, .. }) => Some(flag),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(refused, expected, "{:?}", args.flags());
    }

    #[test]
    fn invalid_arguments_are_refused() {
        let table = [
            ("", None),
            ("--rate 1000", None),
            ("--sweep --concurrency 4 --connections 8", None),
            ("--requests 1 --warmup 0s", None),
            ("--rate 0", Some("--rate")),
            ("--rate -3", Some("--rate")),
            ("--rate NaN", Some("--rate")),
            ("--rate inf", Some("--rate")),
            ("--rate 1000000 --duration 1h", Some("--duration")),
            ("--duration 0s", Some("--duration")),
            ("--batch 0", Some("--batch")),
            ("--batch 10001", Some("--batch")),
            ("--requests 0", Some("--requests")),
            ("--concurrency 0", Some("--concurrency")),
            ("--rate 5 --connections 0", Some("--connections")),
            ("--connections 5", Some("--connections")),
            ("--timeout 0s", Some("--timeout")),
            ("--slo 0ms", Some("--slo")),
            ("--deadline-ms 0", Some("--deadline-ms")),
            ("--deadline-ms 18446744073709551615", Some("--deadline-ms")),
            ("--timeout 1000000000h", Some("--timeout")),
            ("--warmup 1000000000h", Some("--warmup")),
            ("--url https://127.0.0.1", Some("--url")),
            ("--pid 4294967295", Some("--pid")),
        ];
        for (line, expected) in table {
            check(&args(line), expected);
        }
    }

    /// Callers that fill the struct themselves meet the same refusals as a command line.
    #[test]
    fn contradictions_are_refused_without_clap() {
        let both = BenchServe { sweep: true, ..args("--rate 5") };
        check(&both, Some("--sweep"));
        let counted = BenchServe { requests: Some(5), ..args("--rate 5") };
        check(&counted, Some("--requests"));
        let twice = BenchServe { requests: Some(5), ..args("--duration 5s") };
        check(&twice, Some("--requests"));
        let mixed = BenchServe { concurrency: Some(5), ..args("--rate 5") };
        check(&mixed, Some("--concurrency"));
    }

    #[test]
    fn report_in_missing_folder_is_refused() {
        for path in ["no/such/folder/report.html", "."] {
            let wrong = BenchServe { report: Some(PathBuf::from(path)), ..args("") };
            assert!(matches!(Config::resolve(&wrong), Err(LoadError::Write { .. })), "{path}");
        }
    }

    #[test]
    fn unique_rows_bypass_the_cache() {
        let table = [
            ("", Some(Cache::Use)),
            ("--unique", Some(Cache::Use)),
            ("--cache bypass", Some(Cache::Bypass)),
            ("--input x", Some(Cache::Use)),
            ("--input x --unique", Some(Cache::Bypass)),
            ("--input x --unique false", Some(Cache::Use)),
            ("--input x --unique --cache bypass", Some(Cache::Bypass)),
            ("--input x --unique --cache use", None),
        ];
        for (line, expected) in table {
            assert_eq!(cache(&args(line)).ok(), expected, "{line}");
        }
    }
}
