//! Figures as a table and as one line of JSON.

use std::fmt::Write as _;

use models::kernels::lanes::Isa;
use serde::Serialize;

use super::BenchEngineArgs;
use super::constrained::Constrained;
use super::decode::Decode;
use super::flat::Flat;
use super::http::Http;
use super::overload::Overload;
use super::queue::Queue;
use super::shared::Shared;
use super::subject::Subject;

/// Figures of all workloads that were run.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    model: String,
    digest: String,
    storage: String,
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

/// Tokens of a workload, in one round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Counts {
    /// Run through the model.
    pub(super) computed_tokens: usize,
    /// Distinct tokens, which must be run through the model.
    pub(super) unique_tokens: usize,
    /// Computed tokens a second, in the median round.
    pub(super) tokens_per_s: f64,
}

/// One line of the table.
pub(super) struct Row {
    pub(super) workload: &'static str,
    pub(super) name: &'static str,
    pub(super) figure: String,
    /// The target, and whether it was reached.
    pub(super) target: Option<(String, bool)>,
}

impl Row {
    /// A figure without a target.
    pub(super) fn plain(workload: &'static str, name: &'static str, figure: String) -> Row {
        Row { workload, name, figure, target: None }
    }

    /// The figure with a target.
    pub(super) fn against(mut self, target: &str, met: bool) -> Row {
        self.target = Some((target.to_owned(), met));
        self
    }
}

/// The figures of a workload.
pub(super) trait Figures {
    /// Lines of the table.
    fn rows(&self) -> Vec<Row>;
    /// Its tokens.
    fn tokens(&self) -> Counts;
    /// Whether an answer failed or differs from the forward's.
    fn failed(&self) -> bool;
}

impl Summary {
    /// Starts without any figures.
    pub(super) fn new(args: &BenchEngineArgs, subject: &Subject) -> Summary {
        let model = &subject.loaded.model;
        Summary {
            model: args.model.display().to_string(),
            digest: model.digest.clone(),
            storage: args.storage.name(),
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
            "model     {} {}\nweights   {} parameters, {}\nmachine   {}, {} threads, {} rounds, \
             steps of {} tokens\n\n",
            self.model,
            self.digest,
            self.parameters,
            self.storage,
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

/// The median (the upper one of an even number); NaN of none.
pub(super) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Number of distinct tokens of the sequences, where a token is distinct by its prefix: each must be
/// computed once.
pub(crate) fn unique_tokens<'a>(sequences: impl IntoIterator<Item = &'a [u32]>) -> usize {
    let mut sorted: Vec<&[u32]> = sequences.into_iter().collect();
    sorted.sort_unstable();
    let in_common = |pair: &[&[u32]]| {
        let pairs = pair[0].iter().zip(pair[1]);
        pairs.take_while(|(a, b)| a == b).count()
    };
    let shared: usize = sorted.windows(2).map(in_common).sum();
    sorted.iter().map(|sequence| sequence.len()).sum::<usize>() - shared
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are below 2^53")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::{median, unique_tokens};

    #[test]
    fn tokens_count_once_for_each_beginning() {
        let check = |sequences: &[&[u32]], expected: usize| {
            assert_eq!(unique_tokens(sequences.iter().copied()), expected, "{sequences:?}");
        };
        check(&[], 0);
        check(&[&[1, 2, 3]], 3);
        check(&[&[1, 2, 3], &[1, 2, 3]], 3);
        check(&[&[1, 2, 3], &[4], &[1, 2, 5], &[1, 2]], 5);
        check(&[&[1, 2], &[2, 1]], 4);
    }

    #[test]
    fn medians() {
        for (numbers, expected) in
            [(vec![3.0], 3.0), (vec![5.0, 1.0, 3.0], 3.0), (vec![4.0, 1.0], 4.0)]
        {
            assert_eq!(median(&numbers).to_bits(), f64::to_bits(expected), "{numbers:?}");
        }
        assert!(median(&[]).is_nan());
    }
}
