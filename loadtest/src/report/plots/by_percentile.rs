//! The distribution of latencies.

use super::{Figure, latency_axis, objective, phase_colour};
use crate::error::LoadError;
use crate::phase::Phase;
use crate::report::LoadReport;
use crate::report::chart::{Axis, AxisScale, Chart, ChartLine};

pub(super) fn latency(report: &LoadReport) -> Result<Figure, LoadError> {
    let phases = &report.phases;
    let curve = |(at, phase): (usize, &Phase)| {
        let points = phase.latency.curve().into_iter().filter(|(_, ms)| *ms > 0.0).collect();
        let (name, colour) = (phase.load.name(), phase_colour(phases, at));
        ChartLine { name, colour, dashed: false, points }
    };
    let mut lines: Vec<_> = phases.iter().enumerate().map(curve).collect();
    let nines = lines.iter().flat_map(|line| line.points.iter().map(|(nines, _)| *nines));
    let x = 0.0..nines.fold(1.0, f64::max);
    lines.push(objective(report, x.end));
    let chart = Chart {
        title: "Latency by percentile",
        x: Axis { label: "percentile", range: x, name: Box::new(percentile), ticks: 8, grid: true },
        y: latency_axis(&lines),
        scale: AxisScale::Logarithmic,
        lines,
        blocks: Vec::new(),
    };
    Figure::new(&chart, "Each step to the right is ten times fewer requests.")
}

/// The percentile at a number of nines: 0 is the minimum, 1 is 90 %, 2 is 99 %. Empty in between.
fn percentile(nines: f64) -> String {
    if (nines - nines.round()).abs() > 0.01 {
        return String::new();
    }
    let percent = 100.0 * (1.0 - 10f64.powf(-nines));
    format!("{percent:.*} %", decimals(nines))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nines are between 0 and the logarithm of a count"
)]
fn decimals(nines: f64) -> usize {
    (nines - 2.0).max(0.0).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_are_percentiles() {
        let table = [
            (0.0, "0 %"),
            (1.0, "90 %"),
            (2.0, "99 %"),
            (3.0, "99.9 %"),
            (4.0, "99.99 %"),
            (0.5, ""),
        ];
        for (nines, expected) in table {
            assert_eq!(percentile(nines), expected);
        }
    }
}
