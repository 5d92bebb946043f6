//! Figures whose horizontal axis is time.

use std::time::Duration;

use super::{BLUE, Figure, class_colour, phase_colour};
use crate::error::LoadError;
use crate::memory::Memory;
use crate::outcome::Class;
use crate::phase::{Phase, Second};
use crate::report::chart::ChartLine;
use crate::report::page::over_time;
use crate::report::table::{mib, rate};

/// A shorter rest of a second at the end of a phase is left out, because its rate would be noise.
const SHORTEST_SECOND: f64 = 0.25;

pub(super) fn throughput(phases: &[Phase]) -> Result<Figure, LoadError> {
    let line = |(at, phase): (usize, &Phase)| {
        let points = each_second(phase, Duration::ZERO, |second| second.verdicts);
        let (name, colour) = (phase.load.name(), phase_colour(phases, at));
        ChartLine { name, colour, dashed: false, points }
    };
    let lines = phases.iter().enumerate().map(line).collect();
    let labels = ("s since the measurement began", "verdicts/s");
    Figure::new(
        &over_time("Throughput over time", labels, lines),
        "Verdicts of each second. A load above the peak goes on after its window until every \
         request has ended.",
    )
}

pub(super) fn errors(phases: &[Phase]) -> Result<Figure, LoadError> {
    let line = |class: Class| {
        let rates = |phase| each_second(phase, phase.started, |second| second.tally.get(class));
        let points = phases.iter().flat_map(rates).collect();
        let (name, colour) = (class.name().to_owned(), class_colour(class));
        ChartLine { name, colour, dashed: false, points }
    };
    let lines: Vec<_> = super::errors(phases).into_iter().map(line).collect();
    let caption =
        if lines.is_empty() { "Every request ended ok." } else { "All phases, one after another." };
    let labels = ("s since the run began", "requests/s");
    Figure::new(&over_time("Errors over time", labels, lines), caption)
}

pub(super) fn memory(memory: &Memory) -> Result<Figure, LoadError> {
    let points = memory.samples.iter().map(|(at, bytes)| (*at, mib(*bytes))).collect();
    let name = format!("process {}", memory.pid);
    let lines = vec![ChartLine { name, colour: BLUE, dashed: false, points }];
    let caption = match memory.range() {
        Some((least, most)) => {
            format!("{} to {} MiB, sampled every 0.5 s.", rate(mib(least)), rate(mib(most)))
        }
        None => "The process ended before the first sample.".to_owned(),
    };
    let labels = ("s since the run began", "MiB");
    Figure::new(&over_time("Resident memory of the server", labels, lines), caption)
}

/// Each second's count as a rate at its middle, in seconds after `offset`. The last second may be
/// partial.
#[expect(clippy::cast_precision_loss, reason = "counts and seconds stay far below 2^52")]
fn each_second(phase: &Phase, offset: Duration, count: impl Fn(&Second) -> u64) -> Vec<(f64, f64)> {
    let elapsed = phase.elapsed.as_secs_f64();
    let point = |(at, second): (usize, &Second)| {
        let covered = (elapsed - at as f64).min(1.0);
        let middle = offset.as_secs_f64() + at as f64 + covered / 2.0;
        (covered >= SHORTEST_SECOND).then(|| (middle, count(second) as f64 / covered))
    };
    phase.seconds.iter().enumerate().filter_map(point).collect()
}
