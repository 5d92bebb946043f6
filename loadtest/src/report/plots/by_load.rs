//! Figures whose horizontal axis is the load.

use super::{BLUE, Figure, GREEN, GREY, ORANGE, RED, class_colour, hex, latency_axis, objective};
use crate::error::LoadError;
use crate::phase::{Load, Phase};
use crate::report::LoadReport;
use crate::report::chart::{Axis, AxisScale, Block, Chart, ChartLine, from_zero};

/// The open loops, or the closed loop if there are none: a closed loop hides its stalls.
fn comparable(phases: &[Phase]) -> Vec<&Phase> {
    let open = phases.iter().filter(|phase| matches!(phase.load, Load::Open { .. }));
    let open: Vec<_> = open.collect();
    if open.is_empty() { phases.iter().collect() } else { open }
}

pub(super) fn latency(report: &LoadReport) -> Result<Figure, LoadError> {
    let phases = comparable(&report.phases);
    let line = |name: &str, colour, quantile: f64| {
        let point = |phase: &&Phase| (phase.offered(), phase.latency.quantile_ms(quantile));
        let points = phases.iter().map(point).filter(|(_, ms)| *ms > 0.0).collect();
        ChartLine { name: name.to_owned(), colour, dashed: false, points }
    };
    let x = from_zero(phases.iter().map(|phase| phase.offered()));
    let lines = vec![
        line("p50", BLUE, 0.5),
        line("p99", ORANGE, 0.99),
        line("p99.9", RED, 0.999),
        objective(report, x.end),
    ];
    let chart = Chart {
        title: "Latency against load",
        x: Axis::numbers("offered, requests/s", x),
        y: latency_axis(&lines),
        scale: AxisScale::Logarithmic,
        lines,
        blocks: Vec::new(),
    };
    Figure::new(
        &chart,
        "From the time a request was due to its whole reply. Requests that timed out count with \
         the time they waited.",
    )
}

pub(super) fn throughput(phases: &[Phase]) -> Result<Figure, LoadError> {
    let phases = comparable(phases);
    let line = |name: &str, colour, dashed, rate: fn(&Phase) -> f64| {
        let point = |phase: &&Phase| (phase.offered_inputs(), rate(phase));
        ChartLine {
            name: name.to_owned(),
            colour,
            dashed,
            points: phases.iter().map(point).collect(),
        }
    };
    let lines = vec![
        line("offered", GREY, true, Phase::offered_inputs),
        line("verdicts", BLUE, false, Phase::verdicts_per_s),
        line("goodput", GREEN, false, Phase::goodput),
    ];
    let points = || lines.iter().flat_map(|line| &line.points);
    let (x, y) = (from_zero(points().map(|(x, _)| *x)), from_zero(points().map(|(_, y)| *y)));
    let chart = Chart {
        title: "Throughput and goodput against load",
        x: Axis::numbers("offered, inputs/s", x),
        y: Axis::numbers("verdicts/s", y),
        scale: AxisScale::Linear,
        lines,
        blocks: Vec::new(),
    };
    Figure::new(&chart, "Goodput counts the verdicts of replies within the objective.")
}

#[expect(clippy::cast_precision_loss, reason = "a sweep has ten loads")]
pub(super) fn errors(phases: &[Phase]) -> Result<Figure, LoadError> {
    let classes = super::errors(phases);
    let blocks: Vec<_> =
        phases.iter().enumerate().flat_map(|(at, phase)| stack(phase, at as f64)).collect();
    let names: Vec<_> = phases.iter().map(|phase| short_name(phase.load)).collect();
    let name = move |x: f64| {
        let is_at = |(at, _): &(usize, &String)| (x - *at as f64).abs() < 0.01;
        let found = names.iter().enumerate().find(is_at);
        found.map(|(_, name)| name.clone()).unwrap_or_default()
    };
    let x = -0.5..phases.len() as f64 - 0.5;
    let y = from_zero(blocks.iter().map(|block| block.high));
    let chart = Chart {
        title: "Errors by class and load",
        x: Axis {
            label: "load",
            range: x,
            name: Box::new(name),
            ticks: 2 * phases.len() + 1,
            grid: false,
        },
        y: Axis::numbers("% of requests", y),
        scale: AxisScale::Linear,
        lines: Vec::new(),
        blocks,
    };
    let caption = if classes.is_empty() {
        "Every request ended ok."
    } else {
        "Share of the requests that were meant to be sent."
    };
    let entry = |class: crate::Class| (class.name().to_owned(), hex(class_colour(class)));
    let legend = classes.into_iter().map(entry).collect();
    Ok(Figure { legend, ..Figure::new(&chart, caption)? })
}

/// The name of a load for the load axis.
fn short_name(load: Load) -> String {
    let name = load.name();
    name.strip_prefix("open ").map_or_else(|| name.clone(), str::to_owned)
}

/// Stacked errors of one load, in percent of its requests.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn stack(phase: &Phase, x: f64) -> Vec<Block> {
    let total = phase.tally.total().max(1) as f64;
    let errors = phase.tally.present().filter(|(class, _)| *class != crate::Class::Ok);
    let block = |low: &mut f64, (class, count): (crate::Class, u64)| {
        let high = *low + 100.0 * count as f64 / total;
        let low = std::mem::replace(low, high);
        Some(Block { colour: class_colour(class), x, low, high })
    };
    errors.scan(0.0, block).collect()
}
