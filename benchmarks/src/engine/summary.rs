//! Figures as a table and as one line of JSON.

use std::fmt::Write as _;

use models::kernels::simd::Isa;
use serde::Serialize;

use super::BenchEngineArgs;
use super::constrained::Constrained;
use super::decode::Decode;
use super::figures::Figures;
use super::flat::Flat;
use super::http::Http;
use super::overload::Overload;
use super::queue::Queue;
use super::shared::Shared;
use super::subject::Subject;

/// Figures of all workloads that were run.
#[derive(Debug, Serialize)]
pub(super) struct EngineSummary {
    model: String,
    digest: String,
    device: String,
    storage: String,
    numerics: String,
    parameters: u64,
    isa: &'static str,
    threads: usize,
    rounds: u16,
    short: bool,
    batch_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shared: Option<Shared>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flat: Option<Flat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http: Option<Http>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decode: Option<Decode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) constrained: Option<Constrained>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queue: Option<Queue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) overload: Option<Overload>,
}

impl EngineSummary {
    /// Starts without any figures.
    pub(super) fn new(args: &BenchEngineArgs, subject: &Subject) -> EngineSummary {
        let model = &subject.loaded.model;
        EngineSummary {
            model: args.model.display().to_string(),
            digest: model.digest.clone(),
            device: subject.device.to_string(),
            storage: args.storage.name(),
            numerics: model.numerics.numerics.name().into_owned(),
            parameters: model.parameters,
            isa: Isa::best().name(),
            threads: models::threads(),
            rounds: args.rounds,
            short: args.short,
            batch_tokens: args.batch_tokens,
            shared: None,
            flat: None,
            http: None,
            decode: None,
            constrained: None,
            queue: None,
            overload: None,
        }
    }

    /// The workloads that were run, in order.
    fn workloads(&self) -> Vec<&dyn Figures> {
        let all: [Option<&dyn Figures>; 7] = [
            self.shared.as_ref().map(|w| w as _),
            self.flat.as_ref().map(|w| w as _),
            self.http.as_ref().map(|w| w as _),
            self.decode.as_ref().map(|w| w as _),
            self.constrained.as_ref().map(|w| w as _),
            self.queue.as_ref().map(|w| w as _),
            self.overload.as_ref().map(|w| w as _),
        ];
        all.into_iter().flatten().collect()
    }

    /// Whether an answer of any workload failed or differs from the forward's.
    pub(super) fn failed(&self) -> bool {
        self.workloads().iter().any(|workload| workload.failed())
    }

    /// One JSON object on one line. Beside an object for each workload it has the tokens of the
    /// first of them, which is `shared` where that was run.
    pub(super) fn json(&self) -> String {
        let mut object = serde_json::to_value(self).expect("a summary serialises");
        if let Some(first) = self.workloads().first() {
            let tokens = serde_json::to_value(first.tokens()).expect("tokens serialise");
            for (name, value) in tokens.as_object().into_iter().flatten() {
                object[name] = value.clone();
            }
        }
        object.to_string()
    }

    /// The plain text table.
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "model     {} {}\nweights   {} parameters, {}, {}\nmachine   {}, {}, {} threads, {} rounds, \
             steps of {} tokens\n\n",
            self.model,
            self.digest,
            self.parameters,
            self.storage,
            self.numerics,
            self.device,
            self.isa,
            self.threads,
            self.rounds,
            self.batch_tokens
        );
        for row in self.workloads().iter().flat_map(|workload| workload.rows()) {
            let target = row.target.map_or_else(String::new, |(target, met)| {
                format!("target {target}: {}", if met { "met" } else { "missed" })
            });
            let line = format!("{:11} {:26} {:>36}  {target}", row.workload, row.name, row.figure);
            writeln!(text, "{}", line.trim_end()).expect("writing to memory does not fail");
        }
        if self.failed() {
            text.push_str("\nAn answer failed, or is not that of the forward alone.\n");
        }
        text
    }
}
