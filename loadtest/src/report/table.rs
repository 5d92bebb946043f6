//! The report as plain text of at most 100 columns.

use std::fmt::Write as _;

use super::LoadReport;
use crate::args::time_text;
use crate::memory::Memory;
use crate::phase::Phase;

/// Columns that a line may fill.
const WIDTH: usize = 100;

/// Width of the column that names the load.
const NAME: usize = 14;

/// Longest example of a failure.
const EXAMPLE: usize = 160;

/// Renders the text, with a line end after each line.
pub(super) fn render(report: &LoadReport) -> String {
    let mut lines = head(report);
    lines.push(String::new());
    lines.extend(measurements(&report.phases));
    lines.push(String::new());
    lines.extend(delays(&report.phases));
    lines.push(String::new());
    lines.extend(report.phases.iter().flat_map(ends));
    lines.extend(report.memory.iter().filter_map(memory));
    let verdict = knee(report);
    let remarks: Vec<_> = verdict.into_iter().chain(report.notes()).collect();
    if !remarks.is_empty() {
        lines.push(String::new());
        lines.extend(remarks.iter().flat_map(|remark| wrap("", remark)));
    }
    lines.iter().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

fn head(report: &LoadReport) -> Vec<String> {
    let about = &report.about;
    let mut facts = format!(
        "{} at {}, {} inputs a request ({}), cache {}, seed {}; objective {}",
        about.scorer,
        about.url,
        about.batch,
        about.inputs,
        about.cache,
        about.seed,
        time_text(about.rules.objective),
    );
    if let Some(deadline) = about.rules.deadline {
        write!(facts, ", deadline {}", time_text(deadline)).expect("a string takes text");
    }
    let machine = [
        about.machine.cores.map(|cores| format!("{cores} cores")),
        about.machine.cpu.clone(),
        about.label.clone(),
    ];
    let place = machine.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let mut lines = wrap("", &facts);
    lines.extend(wrap("", &format!("{} on {place}", about.started)));
    lines
}

/// Rates and latencies, one line for each load.
fn measurements(phases: &[Phase]) -> Vec<String> {
    let heads = ["offered", "achieved", "verdicts", "goodput"];
    let times = ["p50", "p90", "p99", "p99.9", "max"];
    let mut lines =
        vec![row("load", &heads, &times), row("", &["req/s", "req/s", "/s", "/s"], &["ms"; 5])];
    for phase in phases {
        let rates =
            [phase.offered(), phase.achieved(), phase.verdicts_per_s(), phase.goodput()].map(rate);
        let latency = phase.latency.quantiles();
        let times = [latency.p50, latency.p90, latency.p99, latency.p99_9, latency.max];
        lines.push(row(&phase.load.name(), &rates, &times.map(milliseconds)));
    }
    lines
}

/// Delays that are part of the latencies but not the server's, and the time until a refusal.
fn delays(phases: &[Phase]) -> Vec<String> {
    let groups = ["connection wait", "generator lag", "refusal"];
    let mut first = format!("{:NAME$}", "");
    for group in groups {
        write!(first, "{group:>24}").expect("a string takes text");
    }
    write!(first, "{:>11}", "generator").expect("a string takes text");
    let kinds = ["p50", "p99", "max"].map(|kind| format!("{kind:>8}")).concat();
    let mut lines = vec![first, format!("{:NAME$}{}{:>11}", "load, ms", kinds.repeat(3), "cpu")];
    for phase in phases {
        let mut line = format!("{:NAME$}", phase.load.name());
        for latencies in [&phase.connection_wait, &phase.generator_lag, &phase.refusal] {
            let times = latencies.quantiles();
            for time in [times.p50, times.p99, times.max] {
                let text = if times.count == 0 { "-".to_owned() } else { milliseconds(time) };
                write!(line, "{text:>8}").expect("a string takes text");
            }
        }
        let cpu = phase.generator_cpu.map_or("-".to_owned(), |cpu| format!("{:.0} %", cpu * 100.0));
        write!(line, "{cpu:>11}").expect("a string takes text");
        lines.push(line);
    }
    lines
}

/// Request classes of a load, and an example of each failure.
fn ends(phase: &Phase) -> Vec<String> {
    let mut text = format!("{} requests: {}", phase.tally.total(), phase.tally);
    let statuses = phase.verdicts.present().map(|(name, count)| format!("{name} {count}"));
    let statuses = statuses.collect::<Vec<_>>().join(", ");
    write!(text, "; {} verdicts: {statuses}", phase.verdicts.total()).expect("a string takes text");
    if phase.warmup.broken_promises() > 0 {
        write!(text, "; warm-up: {}", phase.warmup).expect("a string takes text");
    }
    let mut lines = wrap(&phase.load.name(), &text);
    for (class, example) in &phase.examples {
        let example: String = example.chars().take(EXAMPLE).collect();
        lines.extend(wrap("", &format!("{:NAME$}first {class}: {example}", "")));
    }
    lines
}

fn memory(memory: &Memory) -> Option<String> {
    let (least, most) = memory.range()?;
    Some(format!(
        "Memory of process {}: {} to {} MiB resident, {} samples",
        memory.pid,
        rate(mib(least)),
        rate(mib(most)),
        memory.samples.len()
    ))
}

pub(super) fn knee(report: &LoadReport) -> Option<String> {
    let sweep = report.phases.len() > 1;
    sweep.then(|| match &report.knee {
        Some(knee) => format!(
            "Knee: {:.0} % of peak, {} requests/s offered, {} verdicts/s within the objective, p99 \
             {} ms",
            knee.share_of_peak * 100.0,
            rate(knee.offered_rps),
            rate(knee.goodput_verdicts_per_s),
            milliseconds(knee.p99_ms)
        ),
        None => "Knee: none, no load met the objective".to_owned(),
    })
}

fn row(name: &str, rates: &[impl AsRef<str>; 4], times: &[impl AsRef<str>; 5]) -> String {
    let mut line = format!("{name:NAME$}");
    for (rate, width) in rates.iter().zip([10, 10, 11, 11]) {
        write!(line, "{:>width$}", rate.as_ref()).expect("a string takes text");
    }
    for time in times {
        write!(line, "{:>8}", time.as_ref()).expect("a string takes text");
    }
    line
}

/// A rate, with one decimal below 1000.
pub(super) fn rate(value: f64) -> String {
    if value < 1000.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// Bytes in mebibytes.
#[expect(clippy::cast_precision_loss, reason = "memory sizes are far below 2^52 bytes")]
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Milliseconds with at least three digits, and microseconds at most.
pub(super) fn milliseconds(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.3}")
    } else if value < 1000.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Wraps `text` at words. With a `name`, later lines are indented below the name column. A word
/// longer than a line is truncated.
fn wrap(name: &str, text: &str) -> Vec<String> {
    let indent = if name.is_empty() { 2 } else { NAME };
    let mut line = if name.is_empty() { String::new() } else { format!("{name:NAME$}") };
    let leading = text.len() - text.trim_start().len();
    line.push_str(&text[..leading]);
    let mut lines = Vec::new();
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty() && !line.ends_with(' '));
        if line.chars().count() + gap + word.chars().count() > WIDTH && !line.trim().is_empty() {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if gap == 1 {
            line.push(' ');
        }
        line.extend(word.chars().take(WIDTH - indent));
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let words = |count: usize| vec!["12345678"; count].join(" ");
        assert_eq!(wrap("", "a b"), ["a b"]);
        assert_eq!(wrap("closed 4", "a"), ["closed 4      a"]);
        let lines = wrap("closed 4", &words(30));
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() <= WIDTH));
        assert!(lines[1].starts_with("              1"));
        let long = wrap("", &"x".repeat(500));
        assert!(long.iter().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn figures_have_three_digits() {
        let table = [
            (0.0, "0.000"),
            (0.085, "0.085"),
            (9.999, "9.999"),
            (12.34, "12.3"),
            (12345.6, "12346"),
        ];
        for (value, expected) in table {
            assert_eq!(milliseconds(value), expected);
        }
        assert_eq!((rate(12.34), rate(1234.5)), ("12.3".to_owned(), "1234".to_owned()));
    }
}
