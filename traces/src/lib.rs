//! Traces of requests: W3C trace contexts, sampling, spans, and their export to a collector by
//! OTLP/HTTP with JSON bodies (ADR 38).
//!
//! Recording a span takes a lock for the time of a push and never waits for the collector. Knows no
//! route and no scorer; names and attributes of spans are the caller's.

pub mod context;
mod exporter;
mod ids;
mod otlp;
pub mod pairs;
mod sampler;
mod span;

use std::time::Instant;

pub use context::{SpanId, TraceContext, TraceId};
pub use exporter::{Exporter, ExporterOptions, SpanCounts};
pub use sampler::TraceSampler;
pub use span::{AttributeValue, Attributes, Span, SpanKind};

use ids::IdSource;

/// Begins traces by the sampler's decision and exports their spans.
#[derive(Debug)]
pub struct Tracer {
    exporter: Exporter,
    sampler: TraceSampler,
    ids: IdSource,
}

impl Tracer {
    /// Starts the thread of the exporter. No connection is made before there are spans.
    ///
    /// # Errors
    /// A thread that does not start.
    pub fn start(options: ExporterOptions, sampler: TraceSampler) -> std::io::Result<Tracer> {
        Ok(Tracer { exporter: Exporter::start(options)?, sampler, ids: IdSource::new() })
    }

    /// Returns the context of a request's own span: in the trace of `parent`, or in a new one.
    /// `quiet` requests, such as probes, are sampled only where their parent is.
    pub fn begin(&self, parent: Option<&TraceContext>, quiet: bool) -> TraceContext {
        let trace_id = parent.map_or_else(|| self.ids.trace_id(), |parent| parent.trace_id);
        let sampled = self.sampler.samples(trace_id, parent.map(TraceContext::is_sampled));
        let wanted = !quiet || parent.is_some_and(TraceContext::is_sampled);
        TraceContext::new(trace_id, self.ids.span_id(), sampled && wanted, parent)
    }

    /// Creates the id of a further span.
    pub fn span_id(&self) -> SpanId {
        self.ids.span_id()
    }

    /// Queues spans for export; those beyond the queue are dropped and counted.
    pub fn record(&self, spans: Vec<Span>) {
        self.exporter.record(spans);
    }

    /// Returns the numbers of spans so far.
    pub fn counts(&self) -> SpanCounts {
        self.exporter.counts()
    }

    /// Exports what is queued, and returns once that is done or at `deadline`; later spans are
    /// dropped.
    pub fn shutdown(&self, deadline: Instant) {
        self.exporter.shutdown(deadline);
    }
}
