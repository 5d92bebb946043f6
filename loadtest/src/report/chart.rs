//! Drawing of plots: axes, lines, bars. It must not depend on load tests.
//!
//! Text and axes are drawn in black, which the page's style sheet turns into its text colour, so
//! that a plot is legible on light and dark pages. Legends are part of the page, where the width of
//! letters is known.

use std::fmt::Display;
use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::error::LoadError;

/// Drawing units; the page scales them.
const SIZE: (u32, u32) = (900, 340);

/// Lines with at most so many points get a mark at each.
const MARKED: usize = 40;

/// A light grey that is visible on light and dark pages.
const GRID: RGBAColor = RGBAColor(128, 128, 128, 0.25);

pub(super) const BLUE: RGBColor = RGBColor(59, 111, 182);
pub(super) const ORANGE: RGBColor = RGBColor(224, 129, 47);
pub(super) const RED: RGBColor = RGBColor(208, 60, 60);
pub(super) const GREEN: RGBColor = RGBColor(53, 160, 120);
pub(super) const GREY: RGBColor = RGBColor(128, 128, 128);

/// A plot with what the page writes around it.
pub(super) struct Figure {
    pub(super) title: &'static str,
    pub(super) caption: String,
    /// Name and colour, such as `#3b6fb6`.
    pub(super) legend: Vec<(String, String)>,
    pub(super) svg: String,
}

/// A line.
pub(super) struct ChartLine {
    pub(super) name: String,
    pub(super) colour: RGBColor,
    pub(super) dashed: bool,
    pub(super) points: Vec<(f64, f64)>,
}

/// A filled rectangle from `low` to `high` around `x`.
pub(super) struct Block {
    pub(super) colour: RGBColor,
    pub(super) x: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// An axis: its label, the names of its numbers, and the most numbers to name.
pub(super) struct Axis {
    pub(super) label: &'static str,
    pub(super) range: Range<f64>,
    pub(super) name: Box<dyn Fn(f64) -> String>,
    pub(super) ticks: usize,
    /// Whether grid lines start at the named numbers.
    pub(super) grid: bool,
}

impl Axis {
    /// An axis with plain numbers.
    pub(super) fn numbers(label: &'static str, range: Range<f64>) -> Self {
        Self { label, range, name: Box::new(short), ticks: 10, grid: true }
    }
}

/// The scale of the vertical axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AxisScale {
    Linear,
    Logarithmic,
}

/// A plot.
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) scale: AxisScale,
    pub(super) lines: Vec<ChartLine>,
    pub(super) blocks: Vec<Block>,
}

impl Chart {
    /// The plot as an `<svg>` element.
    pub(super) fn svg(&self) -> Result<String, LoadError> {
        let mut svg = String::new();
        let range = self.y.range.clone();
        match self.scale {
            AxisScale::Linear => self.draw(&mut svg, range)?,
            AxisScale::Logarithmic => self.draw(&mut svg, range.log_scale())?,
        }
        // A page needs no namespace, and a fixed size would prevent scaling.
        let (width, height) = SIZE;
        let fixed = format!(r#"width="{width}" height="{height}" "#);
        Ok(svg.replacen(&fixed, "", 1).replacen(r#" xmlns="http://www.w3.org/2000/svg""#, "", 1))
    }

    fn draw<Y>(&self, svg: &mut String, y: Y) -> Result<(), LoadError>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let failed = |error: &dyn Display| LoadError::Plot {
            plot: self.title.to_owned(),
            detail: error.to_string(),
        };
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(78)
            .build_cartesian_2d(self.x.range.clone(), y)
            .map_err(|error| failed(&error))?;
        let mut mesh = chart.configure_mesh();
        if !self.x.grid {
            mesh.disable_x_mesh();
        }
        mesh.light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(BLACK.mix(0.6))
            .label_style(("sans-serif", 16))
            .axis_desc_style(("sans-serif", 17))
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .x_labels(self.x.ticks)
            .y_labels(self.y.ticks)
            .x_label_formatter(&|value| (self.x.name)(*value))
            .y_label_formatter(&|value| (self.y.name)(*value))
            .draw()
            .map_err(|error| failed(&error))?;
        for Block { colour, x, low, high } in &self.blocks {
            let corners = [(x - 0.3, *high), (x + 0.3, *low)];
            let block = Rectangle::new(corners, colour.filled());
            chart.draw_series([block]).map_err(|error| failed(&error))?;
        }
        for line in &self.lines {
            let style = line.colour.stroke_width(2);
            let points = line.points.iter().copied();
            let drawn = if line.dashed {
                chart.draw_series(DashedLineSeries::new(points, 6, 5, style)).map(drop)
            } else {
                chart.draw_series(LineSeries::new(points, style)).map(drop)
            };
            drawn.map_err(|error| failed(&error))?;
            if !line.dashed && line.points.len() <= MARKED {
                let marks = line.points.iter().map(|at| Circle::new(*at, 3, line.colour.filled()));
                chart.draw_series(marks).map_err(|error| failed(&error))?;
            }
        }
        root.present().map_err(|error| failed(&error))
    }
}

/// A number for an axis, without trailing zeros and with k or M if large.
fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

/// A non-empty range from zero to a little over the largest value.
pub(super) fn from_zero(values: impl Iterator<Item = f64>) -> Range<f64> {
    let most = values.fold(0.0, f64::max);
    if most > 0.0 { 0.0..most * 1.06 } else { 0.0..1.0 }
}

/// A non-empty range between powers of ten around the positive values.
pub(super) fn decades(values: impl Iterator<Item = f64>) -> Range<f64> {
    let positive = values.filter(|value| *value > 0.0);
    let (least, most) = positive.fold((f64::MAX, 0.0), |(least, most): (f64, f64), value| {
        (least.min(value), most.max(value))
    });
    if most <= 0.0 {
        return 0.1..10.0;
    }
    let (low, high) = (least.log10().floor(), most.log10().ceil());
    // A single value that is a power of ten would give an empty range, and an axis names only
    // powers inside its range.
    10f64.powf(low) * 0.98..10f64.powf(high.max(low + 1.0)) * 1.02
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_numbers_are_short() {
        let table = [
            (0.0, "0"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (50.0, "50"),
            (1000.0, "1000"),
            (10_000.0, "10k"),
            (12_500.0, "12.5k"),
            (1_250_000.0, "1.25M"),
            (200.0, "200"),
        ];
        for (value, expected) in table {
            assert_eq!(short(value), expected);
        }
    }

    #[test]
    fn ranges_hold_their_values_and_are_not_empty() {
        let table: [&[f64]; 6] = [&[], &[0.0], &[1.0], &[0.05, 3.0], &[10.0, 1000.0], &[7.0, 7.0]];
        for values in table {
            for range in [from_zero(values.iter().copied()), decades(values.iter().copied())] {
                assert!(range.start < range.end, "{values:?}");
                let inside = values.iter().filter(|value| **value > 0.0);
                assert!(inside.clone().all(|value| range.start <= *value && *value <= range.end));
            }
        }
    }
}
