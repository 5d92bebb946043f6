//! A run as one page that opens in any browser, with nothing to load beside it.

use base::human::grouped;
use curation::filter::{DroppedRows, GroupReport};
use curation::histogram::Histogram;
use maud::{Markup, PreEscaped, html};

use super::plot;
use super::summary::{FilterSummary, groups_told, texts};
use crate::error::CliError;

/// The page.
pub(super) fn html(summary: &FilterSummary) -> Result<String, CliError> {
    let report = &summary.report;
    let title = format!("What became of {} rows", grouped(report.read, ','));
    let groups = report.groups.as_ref().map(of_groups).transpose()?;
    let histograms: Vec<Markup> =
        report.histograms.iter().map(of_column).collect::<Result<_, _>>()?;
    let body = html! {
        table {
            tr { th { "step" } th { "rows" } th {} }
            (table_line(&html! { "read" }, report.read, report.read, "bar"))
            (steps(&report.dropped, report.read))
            (table_line(&html! { "written" }, report.written, report.read, "bar"))
        }
        @if report.rejected > 0 {
            p { (grouped(report.rejected, ',')) " rows could not be read." }
        }
        @if let Some(near) = &report.near {
            p { (texts(near)) "." }
        }
        @if let Some(groups) = groups {
            (groups)
        }
        @for histogram in histograms {
            (histogram)
        }
        p { "Written to " code { (summary.output) } "." }
    };
    Ok(pages::page(&title, &body))
}

/// The numbers of a column.
fn of_column(histogram: &Histogram) -> Result<Markup, CliError> {
    let (rows, without) = (grouped(histogram.rows, ','), grouped(histogram.without, ','));
    let (min, max, mean) = (histogram.min, histogram.max, histogram.mean);
    Ok(html! {
        h2 { code { (histogram.column) } " of the rows that were written" }
        (PreEscaped(plot::bars(histogram, "rows", None)?))
        p { (format!("{rows} rows from {min:.3} to {max:.3}, mean {mean:.3}; {without} rows without a number.")) }
    })
}

/// The lines of the table of dropped rows. A decision with several reasons has a line of its
/// own above them.
fn steps(dropped: &[DroppedRows], read: u64) -> Markup {
    let condition = |row: &DroppedRows| html! { "dropped by " code { (row.condition) } };
    // Whether the line above is of the same decision.
    let goes_on = |at: usize| {
        let above = at.checked_sub(1).map(|above| &dropped[above]);
        above.is_some_and(|above| above.why.is_some() && above.condition == dropped[at].condition)
    };
    html! {
        @for (at, row) in dropped.iter().enumerate() {
            @if let Some(why) = row.why {
                @if !goes_on(at) {
                    tr { td colspan="3" { (condition(row)) } }
                }
                (dropped_line(&reason(why, row.groups), row.rows, read))
            } @else {
                (dropped_line(&condition(row), row.rows, read))
            }
        }
    }
}

/// One of the reasons of a decision.
fn reason(why: &str, groups: Option<u64>) -> Markup {
    html! {
        span.indent {
            (why)
            @if let Some(groups) = groups {
                " " span.quiet { "(" (grouped(groups, ',')) " groups)" }
            }
        }
    }
}

/// A line of dropped rows, whose number may be unknown.
fn dropped_line(text: &Markup, rows: Option<u64>, read: u64) -> Markup {
    rows.map_or_else(
        || html! { tr { td { (text) } td { "not known" } td {} } },
        |rows| table_line(text, rows, read, "bar lost"),
    )
}

/// What became of groups, and how their pass rates are spread.
fn of_groups(groups: &GroupReport) -> Result<Markup, CliError> {
    let told = html! { p { (groups_told(groups)) "." } };
    let Some(rates) = &groups.rates else {
        return Ok(told);
    };
    let (n, without) = (grouped(rates.rows, ','), grouped(rates.without, ','));
    let (min, max, mean) = (rates.min, rates.max, rates.mean);
    Ok(html! {
        (told)
        h2 { "Pass rates of all groups" }
        (PreEscaped(plot::bars(rates, "groups", groups.band)?))
        p {
            (format!("{n} groups from {min:.3} to {max:.3}, mean {mean:.3}; {without} groups without a score. "))
            "Blue groups are kept, red ones are not."
        }
    })
}

/// A line of the table, with a bar as long as its share of all rows.
fn table_line(text: &Markup, rows: u64, all: u64, class: &str) -> Markup {
    let share = u128::from(rows) * 1000 / u128::from(all.max(1));
    let width = format!("width: {}.{}%", share / 10, share % 10);
    html! {
        tr {
            td.left { (text) }
            td { (grouped(rows, ',')) }
            td.wide { span class=(class) { i style=(width) {} } }
        }
    }
}
