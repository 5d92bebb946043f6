//! The sweep: a closed loop estimates the peak, open loops offer shares of it, and the knee follows.

use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;

use crate::bench::Bench;
use crate::closed;
use crate::config::{Stop, check_rate};
use crate::error::LoadError;
use crate::open::{self, OpenLoad};
use crate::phase::{Load, Phase};
use crate::progress::LoadProgress;

/// Loads of a sweep, as shares of the peak.
const SHARES: [f64; 9] = [0.10, 0.25, 0.50, 0.75, 0.90, 1.00, 1.25, 1.50, 2.00];

/// Goodput that a load must reach, as a share of the offered inputs.
const GOOD_SHARE: f64 = 0.95;

/// The last load that the server carries well.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Knee {
    /// The load as a share of the peak.
    pub share_of_peak: f64,
    /// Requests/s offered.
    pub offered_rps: f64,
    /// Verdicts/s within the objective.
    pub goodput_verdicts_per_s: f64,
    /// p99 of the latency in milliseconds.
    pub p99_ms: f64,
    /// Whether a lower load did worse, which makes the knee doubtful.
    pub doubtful: bool,
}

/// Settings of a sweep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SweepSettings {
    /// Connections of the closed loop.
    pub(crate) concurrency: usize,
    /// The most connections of an open loop.
    pub(crate) connections: usize,
    /// Measured time of each loop.
    pub(crate) duration: Duration,
}

/// Runs the closed loop and every open one; the first phase is the closed loop.
pub(crate) async fn run(
    bench: &Rc<Bench>,
    settings: SweepSettings,
    progress: &mut dyn LoadProgress,
) -> Result<Vec<Phase>, LoadError> {
    let SweepSettings { concurrency, connections, duration } = settings;
    let estimate = closed::run(bench, concurrency, Stop::After(duration), progress).await;
    progress.end(&estimate.line());
    let peak = estimate.achieved();
    if peak <= 0.0 {
        return Err(LoadError::NoPeak { detail: estimate.tally.to_string() });
    }
    let mut phases = vec![estimate];
    for (stream, share) in (1..).zip(SHARES) {
        let rate = peak * share;
        check_rate(rate, bench.settings.warmup + duration)?;
        let share_of_peak = Some(share);
        let load = OpenLoad { rate, share_of_peak, connections, duration, stream };
        let phase = open::run(bench, load, progress).await?;
        progress.end(&phase.line());
        phases.push(phase);
    }
    Ok(phases)
}

/// The last load of a sweep with goodput of at least 95 % of the offered inputs and p99 within the
/// objective; `None` if there is no such load.
pub(crate) fn knee(phases: &[Phase], objective: Duration) -> Option<Knee> {
    // A load without a due request says nothing.
    let loads = phases.iter().filter(|phase| phase.tally.total() > 0);
    let loads = loads.filter_map(|phase| share(phase.load).map(|share| (share, phase)));
    let carried: Vec<_> = loads.map(|load| (load, is_carried(load.1, objective))).collect();
    let last = carried.iter().rposition(|(_, carried)| *carried)?;
    let ((share_of_peak, phase), _) = carried[last];
    Some(Knee {
        share_of_peak,
        offered_rps: phase.offered(),
        goodput_verdicts_per_s: phase.goodput(),
        p99_ms: phase.latency.quantile_ms(0.99),
        doubtful: carried[..last].iter().any(|(_, carried)| !carried),
    })
}

fn share(load: Load) -> Option<f64> {
    match load {
        Load::Closed { .. } => None,
        Load::Open { share_of_peak, .. } => share_of_peak,
    }
}

fn is_carried(phase: &Phase, objective: Duration) -> bool {
    let enough = phase.goodput() >= GOOD_SHARE * phase.offered_inputs();
    let fast = phase.latency.quantile_ms(0.99) <= objective.as_secs_f64() * 1000.0;
    enough && fast
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use openapi::Status;

    use super::*;
    use crate::client::Exchange;
    use crate::config::TimeLimits;
    use crate::outcome::{Class, Verdicts};
    use crate::phase::{Delay, Recorder, Times};

    const OBJECTIVE: Duration = Duration::from_millis(50);

    /// A load of one second and a hundred requests, of which `fast` take 10 ms and the rest `slow_ms`.
    fn phase(share: f64, (fast, slow_ms): (usize, u64)) -> Phase {
        let rules =
            TimeLimits { timeout: Duration::from_secs(10), deadline: None, objective: OBJECTIVE };
        let load = Load::Open { rate: 100.0, share_of_peak: Some(share) };
        let start = Instant::now();
        let mut recorder = Recorder::new(load, 1, rules, start, start);
        for request in 0..100 {
            let mut verdicts = Verdicts::default();
            verdicts.add(Status::Ok, false);
            let ms = if request < fast { 10 } else { slow_ms };
            let times =
                Times { due: start, delay: Delay::None, done: start + Duration::from_millis(ms) };
            recorder.record(times, Exchange { class: Class::Ok, verdicts, detail: None });
        }
        recorder.finish(Some(Duration::from_secs(1)), None)
    }

    type Case<'a> = (&'a [(usize, u64)], Option<(f64, bool)>);

    #[test]
    fn knee_is_the_last_load_within_the_objective() {
        let (good, brink, slow, bad) = ((100, 0), (99, 2000), (98, 51), (50, 2000));
        // Load, and the expected knee: its share and whether it is doubtful.
        let table: [Case<'_>; 7] = [
            (&[good, good, bad], Some((2.0, false))),
            (&[good, brink, slow, bad], Some((2.0, false))),
            (&[good, bad, good, bad], Some((3.0, true))),
            (&[good], Some((1.0, false))),
            (&[slow], None),
            (&[bad, bad], None),
            (&[], None),
        ];
        for (loads, expected) in table {
            let shares = (1..).map(f64::from);
            let phases: Vec<_> = shares.zip(loads).map(|(at, load)| phase(at, *load)).collect();
            let found = knee(&phases, OBJECTIVE).map(|knee| (knee.share_of_peak, knee.doubtful));
            assert_eq!(found, expected, "{loads:?}");
        }
    }

    #[test]
    fn closed_loop_is_never_the_knee() {
        let closed = Phase { load: Load::Closed { concurrency: 1 }, ..phase(1.0, (100, 0)) };
        assert_eq!(knee(&[closed], OBJECTIVE), None);
    }
}
