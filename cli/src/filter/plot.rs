//! Plots of a run as SVG.

use base::human::grouped;
use curation::histogram::Histogram;
use plotters::prelude::*;

use crate::error::CliError;

const SIZE: (u32, u32) = (720, 260);

/// The quietest grey that shows on a light and on a dark page.
const GRID: RGBAColor = RGBAColor(128, 128, 128, 0.25);

const BAR: RGBColor = RGBColor(31, 119, 180);

const DROPPED: RGBColor = RGBColor(214, 39, 40);

/// The bars of a histogram, which counts `what`. Those outside of a band have another colour.
pub(super) fn bars(
    histogram: &Histogram,
    what: &str,
    band: Option<(f64, f64)>,
) -> Result<String, CliError> {
    let mut svg = String::new();
    draw(&mut svg, histogram, what, band)
        .map_err(|error| CliError::Failed(format!("cannot draw the plot: {error}")))?;
    Ok(svg)
}

fn draw(
    svg: &mut String,
    histogram: &Histogram,
    what: &str,
    band: Option<(f64, f64)>,
) -> Result<(), Box<dyn std::error::Error>> {
    let broken = |error: &dyn std::fmt::Display| error.to_string();
    let (Some(first), Some(last)) = (histogram.bars.first(), histogram.bars.last()) else {
        return Ok(());
    };
    let most = histogram.bars.iter().map(|bar| bar.count).max();
    let most = most.unwrap_or(0).max(1);
    // A little room above the highest bar.
    let top = most + most.div_ceil(20);
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| broken(&error))?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(first.low..last.high, 0..top)
        .map_err(|error| broken(&error))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 16))
        .x_desc(histogram.column.as_str())
        .y_label_formatter(&|count| grouped(*count, ','))
        .y_desc(what)
        .draw()
        .map_err(|error| broken(&error))?;
    let bars = histogram.bars.iter().map(|bar| {
        let corners = [(bar.low, 0), (bar.high, bar.count)];
        let is_in = |(low, high): (f64, f64)| bar.low <= high && low < bar.high;
        let colour = if band.is_none_or(is_in) { BAR } else { DROPPED };
        let mut bar = Rectangle::new(corners, colour.filled());
        bar.set_margin(0, 0, 1, 1);
        bar
    });
    chart.draw_series(bars).map_err(|error| broken(&error))?;
    root.present().map_err(|error| broken(&error))?;
    Ok(())
}
