//! Results of transformers and peft, and the allowed distance from them.

use std::path::Path;
use std::sync::Arc;

use models::{Output, OutputSpec};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cases::goldens;

/// Largest allowed distance from a reference number.
const TOLERANCE: f64 = 1e-4;

/// Prompts, chats and versions that all goldens share.
#[derive(Debug, Deserialize)]
pub(crate) struct Reference {
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) chats: Vec<Chat>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Prompt {
    pub(crate) length: usize,
    pub(crate) token_ids: Vec<u32>,
}

/// A conversation as transformers renders and encodes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Chat {
    pub(crate) messages: Vec<serde_json::Value>,
    pub(crate) add_generation_prompt: bool,
    pub(crate) text: String,
    pub(crate) token_ids: Vec<u32>,
}

/// The golden of one model or adapter.
#[derive(Debug, Deserialize)]
pub(crate) struct Golden {
    /// Digest of the weight files of the reference.
    pub(crate) weights: String,
    /// One entry per prompt.
    pub(crate) prompts: Vec<PromptGolden>,
    /// Greedy continuations of some prompts.
    #[serde(default)]
    pub(crate) generated: Vec<Generated>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PromptGolden {
    pub(crate) length: usize,
    vocab: Option<VocabGolden>,
    head: Option<HeadGolden>,
}

/// Logits at some rows and columns, and log Σ exp of every row.
#[derive(Debug, Deserialize)]
struct VocabGolden {
    rows: Vec<usize>,
    columns: Vec<u32>,
    logits: Vec<Vec<f32>>,
    logsumexp: Vec<f32>,
}

/// Outputs of a score, label or value head at some rows.
#[derive(Debug, Deserialize)]
struct HeadGolden {
    rows: Vec<usize>,
    outputs: Vec<Vec<f32>>,
}

/// Greedy tokens after a prompt, and the logits that chose each, at some columns.
#[derive(Debug, Deserialize)]
pub(crate) struct Generated {
    pub(crate) length: usize,
    pub(crate) tokens: Vec<u32>,
    pub(crate) columns: Vec<usize>,
    pub(crate) logits: Vec<Vec<f32>>,
}

/// A row to read, and its expected output.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) row: usize,
    pub(crate) read: OutputSpec,
    expected: Expected,
}

#[derive(Clone, Debug)]
enum Expected {
    Head(Vec<f32>),
    Labels {
        logits: Vec<f32>,
        normalizer: f32,
    },
    /// log Σ exp of all logits, and some of them by column.
    Vocab {
        normalizer: f32,
        some: Vec<(u32, f32)>,
    },
}

/// Reads a committed file.
pub(crate) fn read<T: DeserializeOwned>(name: impl AsRef<Path>) -> T {
    let path = goldens().join(name);
    let text = std::fs::read(&path).expect("every case has its golden");
    serde_json::from_slice(&text).expect("goldens are well formed")
}

impl Reference {
    pub(crate) fn prompt(&self, length: usize) -> &[u32] {
        let found = self.prompts.iter().find(|prompt| prompt.length == length);
        &found.expect("goldens are about these prompts").token_ids
    }
}

impl PromptGolden {
    /// All expected outputs of the golden.
    pub(crate) fn wanted(&self) -> Vec<Wanted> {
        let vocab = self.vocab.iter().flat_map(VocabGolden::wanted);
        let head = self.head.iter().flat_map(HeadGolden::wanted);
        vocab.chain(head).collect()
    }
}

impl VocabGolden {
    fn wanted(&self) -> Vec<Wanted> {
        assert!(self.rows.len() == self.logits.len() && !self.rows.is_empty());
        let mut wanted = Vec::new();
        for (row, normalizer) in self.logsumexp.iter().enumerate() {
            let golden = self.rows.iter().position(|other| *other == row);
            let logits = golden.map_or(&[][..], |at| &self.logits[at]);
            let some = self.columns.iter().copied().zip(logits.iter().copied());
            wanted.push(Wanted {
                row,
                read: OutputSpec::Vocab,
                expected: Expected::Vocab { normalizer: *normalizer, some: some.collect() },
            });
        }
        let columns: Arc<[u32]> = self.columns.as_slice().into();
        for (row, logits) in self.rows.iter().zip(&self.logits) {
            wanted.push(Wanted {
                row: *row,
                read: OutputSpec::Labels { columns: Arc::clone(&columns), mass: true },
                expected: Expected::Labels {
                    logits: logits.clone(),
                    normalizer: self.logsumexp[*row],
                },
            });
        }
        wanted
    }
}

impl HeadGolden {
    fn wanted(&self) -> Vec<Wanted> {
        assert!(self.rows.len() == self.outputs.len() && !self.rows.is_empty());
        let rows = self.rows.iter().zip(&self.outputs);
        rows.map(|(row, outputs)| Wanted {
            row: *row,
            read: OutputSpec::Head,
            expected: Expected::Head(outputs.clone()),
        })
        .collect()
    }
}

impl Wanted {
    /// Compares an output with the expected one; the error says how their kinds differ.
    pub(crate) fn compare(&self, output: &Output, closeness: &mut Closeness) -> Result<(), String> {
        match (&self.expected, output) {
            (Expected::Head(expected), Output::Head(got)) => closeness.see_all(got, expected),
            (
                Expected::Labels { logits, normalizer },
                Output::Labels { logits: got, log_normalizer: Some(sum) },
            ) => {
                closeness.see(*sum, *normalizer);
                closeness.see_all(got, logits)
            }
            (Expected::Vocab { normalizer, some }, Output::Vocab(got)) => {
                closeness.see(logsumexp(got), *normalizer);
                let columns: Vec<_> = some.iter().map(|(at, _)| got[*at as usize]).collect();
                let logits: Vec<_> = some.iter().map(|(_, logit)| *logit).collect();
                closeness.see_all(&columns, &logits)
            }
            (expected, got) => Err(format!("{expected:?} was to be compared with {got:?}")),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounded to the type of what it is compared with"
)]
fn logsumexp(logits: &[f32]) -> f32 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|x| f64::from(x - max).exp()).sum();
    (f64::from(max) + sum.ln()) as f32
}

/// Distances found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closeness {
    count: usize,
    sum: f64,
    /// The largest distance, NaN if one is.
    pub(crate) max: f64,
    /// Logits and outputs of heads, and the expected ones.
    pub(crate) pairs: Vec<[f32; 2]>,
}

impl Closeness {
    pub(crate) fn see(&mut self, got: f32, expected: f32) {
        let distance = (f64::from(got) - f64::from(expected)).abs();
        self.count += 1;
        self.sum += distance;
        // Not `max`, which ignores NaN.
        if distance.is_nan() || distance > self.max {
            self.max = distance;
        }
    }

    pub(crate) fn see_all(&mut self, got: &[f32], expected: &[f32]) -> Result<(), String> {
        if got.len() != expected.len() {
            return Err(format!("{} numbers for {}", got.len(), expected.len()));
        }
        for (got, expected) in got.iter().zip(expected) {
            self.see(*got, *expected);
            self.pairs.push([*got, *expected]);
        }
        Ok(())
    }

    /// The largest distance; an error if it is too large, or nothing was compared.
    pub(crate) fn verdict(&self) -> Result<String, String> {
        let mean = self.sum / self.count as f64;
        let line = format!("{} numbers, max {:.2e}, mean {mean:.2e}", self.count, self.max);
        if self.count > 0 && self.max <= TOLERANCE { Ok(line) } else { Err(line) }
    }
}
