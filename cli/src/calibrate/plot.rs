//! The reliability of probabilities as an SVG file: predicted against observed frequencies.

use plotters::prelude::*;

use super::report::Curve;
use crate::error::CliError;

const SIZE: (u32, u32) = (640, 640);

/// The quietest grey that shows on a light and on a dark page.
const GRID: RGBAColor = RGBAColor(128, 128, 128, 0.25);

/// Before and after.
const COLOURS: [RGBColor; 2] = [RGBColor(150, 150, 150), RGBColor(31, 119, 180)];

/// Draws the curves around the diagonal, on which said and true are equal.
pub(super) fn reliability(curves: &[Curve; 2]) -> Result<String, CliError> {
    let mut svg = String::new();
    draw(&mut svg, curves)
        .map_err(|error| CliError::Failed(format!("cannot draw the plot: {error}")))?;
    Ok(svg)
}

fn draw(svg: &mut String, curves: &[Curve; 2]) -> Result<(), Box<dyn std::error::Error>> {
    let broken = |error: &dyn std::fmt::Display| error.to_string();
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| broken(&error))?;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .x_label_area_size(46)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..1.0, 0.0..1.0)
        .map_err(|error| broken(&error))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .label_style(("sans-serif", 16))
        .axis_desc_style(("sans-serif", 17))
        .x_desc("probability said")
        .y_desc("share that came true")
        .draw()
        .map_err(|error| broken(&error))?;
    let diagonal = DashedLineSeries::new([(0.0, 0.0), (1.0, 1.0)], 6, 5, BLACK.mix(0.5).into());
    chart.draw_series(diagonal).map_err(|error| broken(&error))?;
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let points = || curve.bins.iter().map(|bin| (bin.mean, bin.right));
        let line = LineSeries::new(points(), colour.stroke_width(2));
        chart
            .draw_series(line)
            .map_err(|error| broken(&error))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour));
        let marks = points().map(|at| Circle::new(at, 4, colour.filled()));
        chart.draw_series(marks).map_err(|error| broken(&error))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(("sans-serif", 16))
        .border_style(GRID)
        .draw()
        .map_err(|error| broken(&error))?;
    root.present().map_err(|error| broken(&error))?;
    Ok(())
}
