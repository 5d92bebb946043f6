//! The figures of a report, and their common parts.

mod by_load;
mod by_percentile;
mod over_time;

use plotters::style::RGBColor;

use super::LoadReport;
use super::chart::{Axis, BLUE, Chart, ChartLine, Figure, GREEN, GREY, ORANGE, RED, decades};
use crate::args::time_text;
use crate::error::LoadError;
use crate::outcome::Class;
use crate::phase::{Load, Phase};

/// From cool to hot, for loads from light to heavy.
const LOADS: [RGBColor; 9] = [
    BLUE,
    RGBColor(58, 143, 183),
    RGBColor(53, 167, 156),
    RGBColor(79, 174, 98),
    RGBColor(143, 174, 60),
    RGBColor(201, 162, 39),
    ORANGE,
    RGBColor(214, 83, 60),
    RGBColor(181, 48, 94),
];

/// Every figure, in the order of the page.
pub(super) fn figures(report: &LoadReport) -> Result<Vec<Figure>, LoadError> {
    let phases = &report.phases;
    let mut figures = vec![
        by_load::latency(report)?,
        by_load::throughput(phases)?,
        over_time::throughput(phases)?,
        by_load::errors(phases)?,
        over_time::errors(phases)?,
        by_percentile::latency(report)?,
    ];
    if let Some(memory) = &report.memory {
        figures.push(over_time::memory(memory)?);
    }
    Ok(figures)
}

impl Figure {
    /// A drawn chart whose legend names its lines.
    pub(super) fn new(chart: &Chart, caption: impl Into<String>) -> Result<Self, LoadError> {
        let lines = chart.lines.iter();
        let legend = lines.map(|line| (line.name.clone(), hex(line.colour))).collect();
        let (title, caption) = (chart.title, caption.into());
        Ok(Self { title, caption, legend, svg: chart.svg()? })
    }
}

fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The objective as a dashed line from the left edge to `x_end`.
fn objective(report: &LoadReport, x_end: f64) -> ChartLine {
    let ms = report.about.rules.objective.as_secs_f64() * 1000.0;
    let name = format!("objective {}", time_text(report.about.rules.objective));
    ChartLine { name, colour: GREY, dashed: true, points: vec![(0.0, ms), (x_end, ms)] }
}

fn latency_axis(lines: &[ChartLine]) -> Axis {
    let points = lines.iter().flat_map(|line| &line.points);
    Axis::numbers("latency, ms", decades(points.map(|(_, ms)| *ms)))
}

fn phase_colour(phases: &[Phase], at: usize) -> RGBColor {
    let is_open = |phase: &&Phase| matches!(phase.load, Load::Open { .. });
    match phases[at].load {
        Load::Closed { .. } => GREY,
        Load::Open { .. } => LOADS[phases[..at].iter().filter(is_open).count() % LOADS.len()],
    }
}

/// The error classes that occurred in any phase.
fn errors(phases: &[Phase]) -> Vec<Class> {
    let occurred = |class: &Class| phases.iter().any(|phase| phase.tally.get(*class) > 0);
    let errors = Class::ALL.into_iter().filter(|class| *class != Class::Ok);
    errors.filter(occurred).collect()
}

fn class_colour(class: Class) -> RGBColor {
    match class {
        Class::Ok => GREEN,
        Class::Late => RGBColor(201, 162, 39),
        Class::Limited => ORANGE,
        Class::Overloaded => BLUE,
        Class::Unavailable => RGBColor(53, 167, 156),
        Class::DeadlinePassed => RGBColor(138, 99, 184),
        Class::ClientError => RGBColor(181, 48, 94),
        Class::ServerError => RGBColor(214, 83, 60),
        Class::BadReply => RGBColor(140, 86, 75),
        Class::Timeout => RGBColor(110, 110, 110),
        Class::Unsent => RGBColor(170, 170, 170),
        Class::ConnectionError => RGBColor(23, 152, 190),
        Class::Lost => RGBColor(227, 26, 92),
    }
}
