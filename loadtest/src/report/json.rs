//! The report as one JSON object. Names carry their unit; the order of fields is fixed.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{LoadReport, Machine};
use crate::histogram::Quantiles;
use crate::outcome::{Class, Tally};
use crate::phase::{Load, Phase};
use crate::sweep::Knee;

#[derive(Serialize)]
struct LoadSummary<'a> {
    bench: &'static str,
    label: Option<&'a str>,
    started: &'a str,
    flags: &'a [String],
    url: &'a str,
    scorer: &'a str,
    inputs: &'a str,
    batch: usize,
    cache: &'static str,
    seed: u64,
    objective_ms: f64,
    deadline_ms: Option<f64>,
    timeout_ms: f64,
    machine: &'a Machine,
    failed: bool,
    notes: Vec<String>,
    knee: Option<Knee>,
    memory: Option<MemorySummary>,
    phases: Vec<PhaseSummary>,
}

#[derive(Serialize)]
struct MemorySummary {
    pid: u32,
    samples: usize,
    first_bytes: u64,
    last_bytes: u64,
    min_bytes: u64,
    max_bytes: u64,
}

#[derive(Serialize)]
struct PhaseSummary {
    name: String,
    #[serde(rename = "loop")]
    kind: &'static str,
    concurrency: Option<usize>,
    rate: Option<f64>,
    share_of_peak: Option<f64>,
    window_s: f64,
    elapsed_s: f64,
    intended: u64,
    offered_rps: f64,
    achieved_rps: f64,
    verdicts_per_s: f64,
    goodput_verdicts_per_s: f64,
    latency_ms: Quantiles,
    connection_wait_ms: Quantiles,
    generator_lag_ms: Quantiles,
    refusal_ms: Quantiles,
    generator_cpu: Option<f64>,
    classes: Map<String, Value>,
    warmup_classes: Map<String, Value>,
    verdicts: Map<String, Value>,
    cached_verdicts: u64,
    examples: Map<String, Value>,
    seconds: Vec<SecondSummary>,
}

/// One second of a phase: requests that ended ok, other requests, verdicts, verdicts of goodput.
#[derive(Serialize)]
struct SecondSummary {
    ok: u64,
    errors: u64,
    verdicts: u64,
    good: u64,
}

/// Renders one line without a line end.
pub(super) fn render(report: &LoadReport) -> String {
    serde_json::to_string(&summary(report)).expect("a summary has string keys")
}

fn summary(report: &LoadReport) -> LoadSummary<'_> {
    let about = &report.about;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    LoadSummary {
        bench: "serve",
        label: about.label.as_deref(),
        started: &about.started,
        flags: &about.flags,
        url: &about.url,
        scorer: &about.scorer,
        inputs: &about.inputs,
        batch: about.batch,
        cache: about.cache,
        seed: about.seed,
        objective_ms: ms(about.rules.objective),
        deadline_ms: about.rules.deadline.map(ms),
        timeout_ms: ms(about.rules.timeout),
        machine: &about.machine,
        failed: report.failed(),
        notes: report.notes(),
        knee: report.knee,
        memory: report.memory.as_ref().and_then(memory),
        phases: report.phases.iter().map(phase).collect(),
    }
}

fn memory(memory: &crate::Memory) -> Option<MemorySummary> {
    let (min_bytes, max_bytes) = memory.range()?;
    Some(MemorySummary {
        pid: memory.pid,
        samples: memory.samples.len(),
        first_bytes: memory.samples.first()?.1,
        last_bytes: memory.samples.last()?.1,
        min_bytes,
        max_bytes,
    })
}

fn phase(phase: &Phase) -> PhaseSummary {
    let (kind, concurrency, rate, share_of_peak) = match phase.load {
        Load::Closed { concurrency } => ("closed", Some(concurrency), None, None),
        Load::Open { rate, share_of_peak } => ("open", None, Some(rate), share_of_peak),
    };
    let statuses = phase.verdicts.present();
    let examples = phase.examples.iter();
    PhaseSummary {
        name: phase.load.name(),
        kind,
        concurrency,
        rate,
        share_of_peak,
        window_s: phase.window.as_secs_f64(),
        elapsed_s: phase.elapsed.as_secs_f64(),
        intended: phase.tally.total(),
        offered_rps: phase.offered(),
        achieved_rps: phase.achieved(),
        verdicts_per_s: phase.verdicts_per_s(),
        goodput_verdicts_per_s: phase.goodput(),
        latency_ms: phase.latency.quantiles(),
        connection_wait_ms: phase.connection_wait.quantiles(),
        generator_lag_ms: phase.generator_lag.quantiles(),
        refusal_ms: phase.refusal.quantiles(),
        generator_cpu: phase.generator_cpu,
        classes: classes(&phase.tally),
        warmup_classes: classes(&phase.warmup),
        verdicts: statuses.map(|(name, count)| (name.to_owned(), count.into())).collect(),
        cached_verdicts: phase.verdicts.cached(),
        examples: examples.map(|(class, text)| ((*class).to_owned(), (&**text).into())).collect(),
        seconds: phase.seconds.iter().map(second).collect(),
    }
}

fn second(second: &crate::Second) -> SecondSummary {
    let ok = second.tally.get(Class::Ok);
    SecondSummary {
        ok,
        errors: second.tally.total() - ok,
        verdicts: second.verdicts,
        good: second.good,
    }
}

/// Every class with its count, zeros included, so that programs find a fixed set of fields.
fn classes(tally: &Tally) -> Map<String, Value> {
    let counts = Class::ALL.into_iter().map(|class| (class, tally.get(class)));
    counts.map(|(class, count)| (class.name().to_owned(), count.into())).collect()
}
