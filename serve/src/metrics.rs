//! Prometheus metrics.
//!
//! Labels of scorers and models come from the configuration alone: a name sent by a client never
//! becomes a time series.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::EngineStatus;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use rubrics::programs::SandboxStatus;
use traces::SpanCounts;

use crate::memory::MemoryBudget;

/// A stage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Reading the body from the connection.
    Read,
    /// Parsing the body.
    Parse,
    /// Waiting, from submission to the start of work.
    Queue,
    /// Scoring or generating.
    Exec,
    /// Serialising the reply.
    Reply,
}

/// The cache result of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheSource {
    /// Stored.
    Hit,
    /// In flight for another request.
    Joined,
    /// Computed for this request.
    Miss,
}

impl EncodeLabelValue for Stage {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
        let name = match self {
            Stage::Read => "read",
            Stage::Parse => "parse",
            Stage::Queue => "queue",
            Stage::Exec => "exec",
            Stage::Reply => "reply",
        };
        name.encode(encoder)
    }
}

impl EncodeLabelValue for CacheSource {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
        let name = match self {
            CacheSource::Hit => "hit",
            CacheSource::Joined => "joined",
            CacheSource::Miss => "miss",
        };
        name.encode(encoder)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabels {
    scorer: String,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    scorer: String,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SourceLabels {
    source: CacheSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HeldLabels {
    what: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EngineLabels {
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BlockLabels {
    model: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    model: String,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BatchLabels {
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LineLabels {
    outcome: &'static str,
}

/// Memory in use, read off with each scrape.
#[derive(Debug, Default)]
struct MemoryMetrics {
    used: Gauge,
    limit: Gauge,
    stage: Gauge,
    refused: Counter,
}

impl MemoryMetrics {
    fn register(&self, registry: &mut Registry) {
        let mut gauge = |name, help: &str, unit, gauge: &Gauge| match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, gauge.clone()),
            None => registry.register(name, help, gauge.clone()),
        };
        let help = "Anonymous resident memory of the process";
        gauge("memory_used", help, Some(Unit::Bytes), &self.used);
        let help = "Memory that the process may hold; 0 if the system tells no limit";
        gauge("memory_limit", help, Some(Unit::Bytes), &self.limit);
        let help =
            "0 normal, 1 batches pause, 2 cache dropped, 3 large bodies refused, 4 work refused";
        gauge("memory_stage", help, None, &self.stage);
        let help = "Requests and batch lines refused for want of memory";
        registry.register("memory_refused", help, self.refused.clone());
    }

    fn set(&self, budget: &MemoryBudget) {
        let bytes = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
        self.used.set(bytes(budget.used()));
        self.limit.set(bytes(budget.limit().unwrap_or(0)));
        self.stage.set(i64::from(budget.stage() as u8));
        raise(&self.refused, budget.refused() as u64);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SpanLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConnectionLabels {
    event: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SandboxLabels {
    scorer: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndingLabels {
    scorer: String,
    ending: &'static str,
}

/// Metrics of the sandboxes of scorers, updated when the metrics are rendered.
#[derive(Debug, Default)]
struct Sandboxes {
    running: Family<SandboxLabels, Gauge>,
    waiting: Family<SandboxLabels, Gauge>,
    submissions: Family<SandboxLabels, Counter>,
    workers: Family<SandboxLabels, Counter>,
    worker_deaths: Family<SandboxLabels, Counter>,
    seconds: Family<SandboxLabels, Counter<f64, AtomicU64>>,
    runs: Family<EndingLabels, Counter>,
    failures: Family<EndingLabels, Counter>,
}

impl Sandboxes {
    fn register(&self, registry: &mut Registry) {
        let help = "Submissions that run in the sandbox";
        registry.register("sandbox_running", help, self.running.clone());
        let help = "Submissions that wait for a slot of the sandbox";
        registry.register("sandbox_waiting", help, self.waiting.clone());
        let mut counter = |name, help: &str, family: &Family<SandboxLabels, Counter>| {
            registry.register(name, help, family.clone());
        };
        counter("sandbox_submissions", "Submissions that came into a slot", &self.submissions);
        counter("sandbox_workers", "Workers that were started", &self.workers);
        counter("sandbox_worker_deaths", "Workers that died in a submission", &self.worker_deaths);
        let help = "Time by the clock of tests in the sandbox";
        registry.register_with_unit("sandbox_run", help, Unit::Seconds, self.seconds.clone());
        let help = "Tests in the sandbox by their ending";
        registry.register("sandbox_runs", help, self.runs.clone());
        let help = "Submissions without a result by what failed in the sandbox";
        registry.register("sandbox_failures", help, self.failures.clone());
    }

    fn set(&self, scorer: &str, status: &SandboxStatus) {
        let labels = SandboxLabels { scorer: scorer.to_owned() };
        let gauge = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
        self.running.get_or_create(&labels).set(gauge(status.running));
        self.waiting.get_or_create(&labels).set(gauge(status.waiting));
        for (family, total) in [
            (&self.submissions, status.started),
            (&self.workers, status.workers),
            (&self.worker_deaths, status.worker_deaths),
        ] {
            raise(&family.get_or_create(&labels), total);
        }
        // The bits of numbers that are not negative have their order.
        let seconds = status.run_time.as_secs_f64().to_bits();
        self.seconds.get_or_create(&labels).inner().fetch_max(seconds, Ordering::Relaxed);
        for (family, counts) in [(&self.runs, &status.endings), (&self.failures, &status.failures)]
        {
            for (ending, total) in counts.iter().filter(|(_, total)| *total > 0) {
                let scorer = scorer.to_owned();
                raise(&family.get_or_create(&EndingLabels { scorer, ending }), *total);
            }
        }
    }
}

/// Metrics that engines report, updated when the metrics are rendered.
#[derive(Debug, Default)]
struct Engines {
    queued: Family<EngineLabels, Gauge>,
    running: Family<EngineLabels, Gauge>,
    queued_tokens: Family<EngineLabels, Gauge>,
    blocks: Family<BlockLabels, Gauge>,
    tokens: Family<TokenLabels, Counter>,
    steps: Family<EngineLabels, Counter>,
    failed_steps: Family<EngineLabels, Counter>,
    preemptions: Family<EngineLabels, Counter>,
}

impl Engines {
    fn register(&self, registry: &mut Registry) {
        let mut gauge = |name, help: &str, family: &Family<EngineLabels, Gauge>| {
            registry.register(name, help, family.clone());
        };
        gauge("engine_queued", "Sequences that wait", &self.queued);
        gauge("engine_running", "Sequences that are being computed", &self.running);
        gauge("engine_queued_tokens", "Input tokens in hand", &self.queued_tokens);
        let mut counter = |name, help: &str, family: &Family<EngineLabels, Counter>| {
            registry.register(name, help, family.clone());
        };
        counter("engine_steps", "Steps", &self.steps);
        counter("engine_failed_steps", "Steps that failed", &self.failed_steps);
        counter("engine_preemptions", "Sequences that were pre-empted", &self.preemptions);
        let help = "KV blocks: free, held by sequences, cached prefixes";
        registry.register("engine_blocks", help, self.blocks.clone());
        let help = "Tokens: computed by the model, taken from cache, output";
        registry.register("engine_tokens", help, self.tokens.clone());
    }

    fn set(&self, model: &str, queued_tokens: usize, status: &EngineStatus) {
        let labels = EngineLabels { model: model.to_owned() };
        let gauges = [
            (&self.queued, status.queued),
            (&self.running, status.running),
            (&self.queued_tokens, queued_tokens),
        ];
        for (family, amount) in gauges {
            family.get_or_create(&labels).set(whole(amount));
        }
        let totals = [
            (&self.steps, status.steps),
            (&self.failed_steps, status.failed_steps),
            (&self.preemptions, status.preemptions),
        ];
        for (family, total) in totals {
            raise(&family.get_or_create(&labels), total);
        }
        for (state, amount) in [
            ("free", status.free_blocks),
            ("held", status.held_blocks),
            ("cached", status.cached_blocks),
        ] {
            let model = model.to_owned();
            let gauge = self.blocks.get_or_create(&BlockLabels { model, state });
            gauge.set(whole(amount));
        }
        for (kind, total) in [
            ("computed", status.computed_tokens),
            ("cached", status.cached_tokens),
            ("output", status.output_tokens),
        ] {
            let model = model.to_owned();
            raise(&self.tokens.get_or_create(&TokenLabels { model, kind }), total);
        }
    }
}

fn whole(amount: usize) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// Raises a counter to a total that is counted elsewhere. Under concurrent updates the higher total
/// stays.
fn raise(counter: &Counter, total: u64) {
    counter.inner().fetch_max(total, Ordering::Relaxed);
}

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    verdicts: Family<VerdictLabels, Counter>,
    stages: Family<StageLabels, Histogram>,
    requests: Family<RequestLabels, Counter>,
    cache: Family<SourceLabels, Counter>,
    held: Family<HeldLabels, Gauge>,
    cancelled: Counter,
    batches: Family<BatchLabels, Counter>,
    batch_lines: Family<LineLabels, Counter>,
    batch_faults: Counter,
    memory: MemoryMetrics,
    key_reloads: Family<ReloadLabels, Counter>,
    key_refusals: Family<LimitLabels, Counter>,
    connection_events: Family<ConnectionLabels, Counter>,
    spans: Family<SpanLabels, Counter>,
    engines: Engines,
    sandboxes: Sandboxes,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Creates the metrics, all zero.
    pub fn new() -> Self {
        let seconds = || Histogram::new(exponential_buckets(10e-6, 2.5, 16));
        let mut metrics = Self {
            registry: Registry::with_prefix("tribunal"),
            verdicts: Family::default(),
            stages: Family::new_with_constructor(seconds),
            requests: Family::default(),
            cache: Family::default(),
            held: Family::default(),
            cancelled: Counter::default(),
            batches: Family::default(),
            batch_lines: Family::default(),
            batch_faults: Counter::default(),
            memory: MemoryMetrics::default(),
            key_reloads: Family::default(),
            key_refusals: Family::default(),
            connection_events: Family::default(),
            spans: Family::default(),
            engines: Engines::default(),
            sandboxes: Sandboxes::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("verdicts", "Verdicts by scorer and status", self.verdicts.clone());
        registry.register_with_unit(
            "stage",
            "Time per stage of a request; queue and exec are per input",
            Unit::Seconds,
            self.stages.clone(),
        );
        registry.register("requests", "Replies by route and status code", self.requests.clone());
        registry.register("cache_lookups", "Where verdicts came from", self.cache.clone());
        registry.register(
            "held",
            "What the server holds: requests, items, bytes, encoding_bytes, grammars, jobs, key_requests, connections, output_bytes, stored_verdicts, batches, batch_bytes",
            self.held.clone(),
        );
        let help = "Requests whose client left before the reply";
        registry.register("cancelled_requests", help, self.cancelled.clone());
        let help = "Batches that are over, by how they ended";
        registry.register("batches", help, self.batches.clone());
        let help = "Lines of batches that were answered, with success or with an error";
        registry.register("batch_lines", help, self.batch_lines.clone());
        let help = "Times that the disk of batches did not do what it had to";
        registry.register("batch_storage_faults", help, self.batch_faults.clone());
        self.memory.register(registry);
        let help = "Times that the key file was read again, by outcome";
        registry.register("key_reloads", help, self.key_reloads.clone());
        let help = "Requests refused because their key had used what it may, by limit";
        registry.register("key_refusals", help, self.key_refusals.clone());
        let help = "Connections that were refused, gave way to others, or passed a deadline";
        registry.register("connection_events", help, self.connection_events.clone());
        let help = "Spans of traces, by what became of them";
        registry.register("trace_spans", help, self.spans.clone());
        self.engines.register(registry);
        self.sandboxes.register(registry);
    }

    /// Adds the series that says what the program was built from.
    pub(crate) fn build_info(&mut self, labels: Vec<(&'static str, &'static str)>) {
        self.registry.register("build", "The program: its version and commit", Info::new(labels));
    }

    /// Takes over the memory in use, its limit and its stage.
    pub fn memory(&self, budget: &MemoryBudget) {
        self.memory.set(budget);
    }

    /// Takes over the counts of what happened to connections.
    pub(crate) fn connections(&self, events: impl Iterator<Item = (&'static str, u64)>) {
        for (event, total) in events {
            raise(&self.connection_events.get_or_create(&ConnectionLabels { event }), total);
        }
    }

    /// Takes over the counts of what became of spans.
    pub(crate) fn spans(&self, counts: SpanCounts) {
        let SpanCounts { exported, dropped, failed } = counts;
        for (outcome, total) in [("exported", exported), ("dropped", dropped), ("failed", failed)] {
            raise(&self.spans.get_or_create(&SpanLabels { outcome }), total);
        }
    }

    /// Counts a reload of the key file.
    pub fn key_reload(&self, done: bool) {
        let outcome = if done { "done" } else { "refused" };
        self.key_reloads.get_or_create(&ReloadLabels { outcome }).inc();
    }

    /// Counts a request that a limit of its key refuses.
    pub fn key_refused(&self, limit: &'static str) {
        self.key_refusals.get_or_create(&LimitLabels { limit }).inc();
    }

    /// Counts `count` outcomes.
    pub fn verdicts(&self, scorer: &str, status: &'static str, count: u64) {
        let labels = VerdictLabels { scorer: scorer.to_owned(), status };
        self.verdicts.get_or_create(&labels).inc_by(count);
    }

    /// Records the times of a stage, one observation each.
    pub fn stage(&self, scorer: &str, stage: Stage, times: impl IntoIterator<Item = Duration>) {
        let labels = StageLabels { scorer: scorer.to_owned(), stage };
        let histogram = self.stages.get_or_create(&labels);
        for time in times {
            histogram.observe(time.as_secs_f64());
        }
    }

    /// Counts a reply. `route` is a route pattern, never a client's path.
    pub fn reply(&self, route: &str, code: u16) {
        let labels = RequestLabels { route: route.to_owned(), code };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts cache results.
    pub fn cache(&self, source: CacheSource, count: u64) {
        self.cache.get_or_create(&SourceLabels { source }).inc_by(count);
    }

    /// Counts a client that disconnected.
    pub fn cancelled(&self) {
        self.cancelled.inc();
    }

    /// Counts a finished batch.
    pub fn batch_ended(&self, status: &'static str) {
        self.batches.get_or_create(&BatchLabels { status }).inc();
    }

    /// Counts a line of a batch.
    pub fn batch_line(&self, good: bool) {
        let outcome = if good { "completed" } else { "failed" };
        self.batch_lines.get_or_create(&LineLabels { outcome }).inc();
    }

    /// Counts an I/O error of the batch store.
    pub fn batch_fault(&self) {
        self.batch_faults.inc();
    }

    /// Records the status of an engine.
    pub fn engine(&self, model: &str, queued_tokens: usize, status: &EngineStatus) {
        self.engines.set(model, queued_tokens, status);
    }

    /// Records what the sandbox of a scorer does and has done.
    pub fn sandbox(&self, scorer: &str, status: &SandboxStatus) {
        self.sandboxes.set(scorer, status);
    }

    /// Renders the metrics in the Prometheus text format, with `held` as gauges.
    pub fn render(&self, held: &[(&'static str, usize)]) -> Result<String, std::fmt::Error> {
        for (what, amount) in held {
            let gauge = self.held.get_or_create(&HeldLabels { what });
            gauge.set(whole(*amount));
        }
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
