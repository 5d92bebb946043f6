//! The report as one self-contained HTML file, with inline style sheet and SVG plots.

use std::fmt::Write as _;

use super::plots::{Figure, figures};
use super::{LoadReport, table};
use crate::error::LoadError;
use crate::phase::Phase;

const STYLE: &str = "\
:root { color-scheme: light dark; --page: #fff; --text: #1c1f23; --quiet: #5b6470; --line: #d9dde3;
  --panel: #f6f7f9; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --text: #e6e8eb; --quiet: #a0a8b3;
  --line: #343a42; --panel: #1e2126; --bad: #ff8a80; } }
body { margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 60rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
p, figcaption { color: var(--quiet); margin: .25rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 1rem 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  white-space: nowrap; width: 100%; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 500; } th:first-child, td:first-child, .left { text-align: left; }
.left { white-space: normal; overflow-wrap: anywhere; }
.note { background: var(--panel); border-left: 3px solid var(--quiet); padding: .5rem .75rem;
  margin: .5rem 0; color: var(--text); } .bad { border-color: var(--bad); color: var(--bad); }
figure { margin: 0; } svg { width: 100%; height: auto; display: block; }
svg text { fill: currentColor; font-family: system-ui, sans-serif; }
svg [stroke='#000000'] { stroke: currentColor; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: .25rem 0;
  padding: 0; } .legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem;
  border-radius: 2px; vertical-align: -1px; }
";

/// Renders the page.
pub(super) fn render(report: &LoadReport) -> Result<String, LoadError> {
    let title = format!("Load test of {}", escape(&report.about.scorer));
    let head = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    let plots: String = figures(report)?.iter().map(section).collect();
    let parts = [
        head,
        facts(report),
        remarks(report),
        measurements(report),
        plots,
        ends(&report.phases),
        "</body>\n</html>\n".to_owned(),
    ];
    Ok(parts.concat())
}

fn facts(report: &LoadReport) -> String {
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
    let mut list = String::from("<dl>\n");
    for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(list, "<dt>{name}</dt><dd>{}</dd>", escape(text)).expect("a string takes text");
    }
    list + "</dl>\n"
}

fn remarks(report: &LoadReport) -> String {
    let knee = table::knee(report).into_iter();
    let note = |text: String| {
        let class = if text.starts_with("FAILED") { "note bad" } else { "note" };
        format!("<p class=\"{class}\">{}</p>\n", escape(&text))
    };
    knee.chain(report.notes()).map(note).collect()
}

fn measurements(report: &LoadReport) -> String {
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
    format!("<h2>Results</h2>\n{}", html_table(&heads, rows, ""))
}

/// Request classes, delays that are part of the latencies, and examples of failures.
fn ends(phases: &[Phase]) -> String {
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
    let body = html_table(&heads, rows, " class=\"left\"");
    format!(
        "<h2>How requests ended</h2>\n<p>Wait: for a free connection. Lag: by which the generator \
         was late. Both are part of the latency. Generator: share of one core.</p>\n{body}"
    )
}

/// A table; `last` holds the attributes of its last column.
fn html_table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>, last: &str) -> String {
    let row = |cells: &[String], tag: &str| {
        let cell = |(at, text): (usize, &String)| {
            let attributes = if at + 1 == cells.len() { last } else { "" };
            format!("<{tag}{attributes}>{}</{tag}>", escape(text))
        };
        format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let heads: Vec<_> = heads.iter().map(|head| (*head).to_owned()).collect();
    let body: String = rows.map(|cells| row(&cells, "td")).collect();
    format!("<div class=\"scroll\"><table>\n{}{body}</table></div>\n", row(&heads, "th"))
}

fn section(figure: &Figure) -> String {
    let entry = |(name, colour): &(String, String)| {
        format!("<li><i style=\"background: {colour}\"></i>{}</li>", escape(name))
    };
    let legend: String = figure.legend.iter().map(entry).collect();
    // The title as the drawing's accessible name.
    let label = format!("<svg role=\"img\" aria-label=\"{}\"", figure.title);
    format!(
        "<h2>{}</h2>\n<figure>\n<ul class=\"legend\">{legend}</ul>\n{}<figcaption>{}</figcaption>\n\
         </figure>\n",
        figure.title,
        figure.svg.replacen("<svg", &label, 1),
        escape(&figure.caption)
    )
}

/// Escapes text for an element or an attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
