//! The parts of a self-contained report: facts, notes, tables, SVG plots.

use maud::{Markup, PreEscaped, html};
use plotters::style::RGBColor;

use super::chart::{
    Axis, AxisScale, BLUE, Chart, ChartLine, Figure, GREEN, GREY, ORANGE, RED, from_zero,
};
use crate::error::LoadError;

/// Colours of lines, in turn.
const COLOURS: [RGBColor; 5] = [BLUE, ORANGE, GREEN, RED, GREY];

/// A line over time.
#[derive(Debug, Clone)]
pub struct TimeSeries {
    /// Its name in the legend.
    pub name: String,
    /// Time and value.
    pub points: Vec<(f64, f64)>,
}

/// A report that grows from top to bottom, in the style of load tests.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    body: Markup,
}

impl Page {
    /// A page with a title.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), body: Markup::default() }
    }

    /// Adds a part below the others.
    pub(super) fn add(&mut self, part: &Markup) {
        self.body.0 += &part.0;
    }

    /// Adds a list of names and texts; those without text are left out.
    pub fn facts(&mut self, facts: &[(&str, String)]) {
        self.add(&fact_list(facts));
    }

    /// Adds a paragraph that stands out, in the colour of errors if `is_bad`.
    pub fn note(&mut self, text: &str, is_bad: bool) {
        self.add(&paragraph(text, is_bad));
    }

    /// Adds a table whose last column is text.
    pub fn table(&mut self, title: &str, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        self.add(&html! {
            h2 { (title) }
            (html_table(heads, rows, Some("left")))
        });
    }

    /// Adds a plot of lines over time; `labels` are those of the axes.
    ///
    /// # Errors
    /// [`LoadError::Plot`].
    pub fn plot(
        &mut self,
        title: &'static str,
        labels: (&'static str, &'static str),
        caption: &str,
        series: Vec<TimeSeries>,
    ) -> Result<(), LoadError> {
        let lines = series.into_iter().zip(COLOURS.iter().cycle());
        let line = |(TimeSeries { name, points }, colour): (TimeSeries, &RGBColor)| ChartLine {
            name,
            colour: *colour,
            dashed: false,
            points,
        };
        let chart = over_time(title, labels, lines.map(line).collect());
        self.add(&section(&Figure::new(&chart, caption)?));
        Ok(())
    }

    /// The whole page.
    pub fn finish(self) -> String {
        pages::page(&self.title, &self.body)
    }
}

/// A chart from zero on both axes.
pub(super) fn over_time(
    title: &'static str,
    labels: (&'static str, &'static str),
    lines: Vec<ChartLine>,
) -> Chart {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (x, y) = (from_zero(points().map(|(x, _)| *x)), from_zero(points().map(|(_, y)| *y)));
    Chart {
        title,
        x: Axis::numbers(labels.0, x),
        y: Axis::numbers(labels.1, y),
        scale: AxisScale::Linear,
        lines,
        blocks: Vec::new(),
    }
}

/// Names and texts; those without text are left out.
pub(super) fn fact_list(facts: &[(&str, String)]) -> Markup {
    html! {
        dl {
            @for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
                dt { (name) }
                dd { (text) }
            }
        }
    }
}

/// A paragraph that stands out.
pub(super) fn paragraph(text: &str, is_bad: bool) -> Markup {
    html! { p.note.bad[is_bad] { (text) } }
}

/// A table; `last` is the class of its last column.
pub(super) fn html_table(
    heads: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    last: Option<&str>,
) -> Markup {
    let class = |at: usize, length: usize| last.filter(|_| at + 1 == length);
    html! {
        div.scroll {
            table {
                tr {
                    @for (at, head) in heads.iter().enumerate() {
                        th class=[class(at, heads.len())] { (head) }
                    }
                }
                @for cells in rows {
                    tr {
                        @for (at, cell) in cells.iter().enumerate() {
                            td class=[class(at, cells.len())] { (cell) }
                        }
                    }
                }
            }
        }
    }
}

/// A plot with its legend and caption.
pub(super) fn section(figure: &Figure) -> Markup {
    // The title as the drawing's accessible name.
    let label = html! { svg role="img" aria-label=(figure.title) {} }.into_string();
    let label = label.trim_end_matches("></svg>");
    html! {
        h2 { (figure.title) }
        figure {
            ul.legend {
                @for (name, colour) in &figure.legend {
                    li { i style=(format!("background: {colour}")) {} (name) }
                }
            }
            (PreEscaped(figure.svg.replacen("<svg", label, 1)))
            figcaption { (figure.caption) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_its_parts_in_order_and_no_text_of_theirs_is_markup() {
        let mut page = Page::new("A <b>");
        page.facts(&[("Fact", "1 < 2".to_owned()), ("Nothing", String::new())]);
        page.note("bad & worse", true);
        page.table("Table", &["a", "b"], [vec!["1".to_owned(), "<i>".to_owned()]].into_iter());
        let series = TimeSeries { name: "line".to_owned(), points: vec![(0.0, 1.0), (1.0, 2.0)] };
        page.plot("Plot", ("s", "MiB"), "caption", vec![series]).expect("it can be drawn");
        let text = page.finish();
        let parts = [
            "<h1>A &lt;b&gt;</h1>",
            "<dt>Fact</dt><dd>1 &lt; 2</dd>",
            "<p class=\"note bad\">bad &amp; worse</p>",
            "<h2>Table</h2>",
            "&lt;i&gt;",
            "<h2>Plot</h2>",
            "<svg role=\"img\" aria-label=\"Plot\"",
            "</html>",
        ];
        let places: Vec<_> = parts.iter().map(|part| text.find(part)).collect();
        assert!(places.iter().all(Option::is_some), "{places:?}");
        assert!(places.is_sorted(), "{places:?}");
        assert!(!text.contains("Nothing"));
    }
}
