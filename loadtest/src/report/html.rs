//! The report as one self-contained HTML file, with inline style sheet and SVG plots.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::page::{Page, fact_list, html_table, paragraph, section};
use super::plots::figures;
use super::{LoadReport, table};
use crate::error::LoadError;
use crate::phase::Phase;

/// Renders the page.
pub(super) fn render(report: &LoadReport) -> Result<String, LoadError> {
    let mut page = Page::new(&format!("Load test of {}", report.about.scorer));
    page.add(&facts(report));
    page.add(&remarks(report));
    page.add(&measurements(report));
    for figure in figures(report)? {
        page.add(&section(&figure));
    }
    page.add(&ends(&report.phases));
    Ok(page.finish())
}

fn facts(report: &LoadReport) -> Markup {
    let about = &report.about;
    let machine =
        [about.machine.cores.map(|cores| format!("{cores} cores")), about.machine.cpu.clone()];
    let machine = machine.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let facts = [
        ("Label", about.label.clone().unwrap_or_default()),
        ("Server", format!("{}, scorer {}", about.url, about.scorer)),
        ("Inputs", format!("{}, {} a request, cache {}", about.inputs, about.batch, about.cache)),
        ("Seed", about.seed.to_string()),
        ("Started", about.started.clone()),
        ("Generator on", machine),
        ("Flags", about.flags.join(" ")),
    ];
    fact_list(&facts)
}

fn remarks(report: &LoadReport) -> Markup {
    html! {
        @for text in table::knee(report).into_iter().chain(report.notes()) {
            (paragraph(&text, text.starts_with("FAILED")))
        }
    }
}

fn measurements(report: &LoadReport) -> Markup {
    let heads = [
        "Load",
        "Offered req/s",
        "Achieved req/s",
        "Verdicts/s",
        "Goodput/s",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "p99.9 ms",
        "Max ms",
    ];
    let rows = report.phases.iter().map(|phase| {
        let latency = phase.latency.quantiles();
        let rates = [phase.offered(), phase.achieved(), phase.verdicts_per_s(), phase.goodput()];
        let times = [latency.p50, latency.p90, latency.p99, latency.p99_9, latency.max];
        let mut cells = vec![phase.load.name()];
        cells.extend(rates.map(table::rate));
        cells.extend(times.map(table::milliseconds));
        cells
    });
    html! {
        h2 { "Results" }
        (html_table(&heads, rows, None))
    }
}

/// Request classes, delays that are part of the latencies, and examples of failures.
fn ends(phases: &[Phase]) -> Markup {
    let heads = ["Load", "Requests", "Wait p99 ms", "Lag p99 ms", "Generator", "Ends and verdicts"];
    let rows = phases.iter().map(|phase| {
        let p99 = |latencies: &crate::Latencies| table::milliseconds(latencies.quantile_ms(0.99));
        let cpu = phase.generator_cpu.map_or("-".to_owned(), |cpu| format!("{:.0} %", cpu * 100.0));
        let statuses = phase.verdicts.present().map(|(name, count)| format!("{name} {count}"));
        let mut text =
            format!("{}; verdicts: {}", phase.tally, statuses.collect::<Vec<_>>().join(", "));
        for (class, example) in &phase.examples {
            write!(text, "; first {class}: {example}").expect("a string takes text");
        }
        vec![
            phase.load.name(),
            phase.tally.total().to_string(),
            p99(&phase.connection_wait),
            p99(&phase.generator_lag),
            cpu,
            text,
        ]
    });
    html! {
        h2 { "How requests ended" }
        p {
            "Wait: for a free connection. Lag: by which the generator was late. Both are part of the latency. \
             Generator: share of one core."
        }
        (html_table(&heads, rows, Some("left")))
    }
}
