//! Outputs of rows: gathered by kind, each kind in one product.

use candle_core::{Device, Tensor};

use super::Runner;
use super::groups::{OutputGroup, from_logits, groups, logprob_targets};
use crate::adapter::{Adapter, LoraPair};
use crate::batch::{Output, OutputRow, Outputs, RaggedBatch};
use crate::error::{ModelError, Result};
use crate::head::Head;
use crate::ops::{self, LoraSegment};
use crate::packed::{Matrix, Weight};
use crate::weights::Site;

/// Hidden states of some rows of a batch.
struct Gathered<'a> {
    /// The rows, ascending.
    at: &'a [u32],
    /// `[at.len(), d]`.
    hidden: &'a Tensor,
}

impl Gathered<'_> {
    fn select(&self, rows: impl Iterator<Item = u32>) -> Result<Tensor> {
        let place = |row: u32| self.at.binary_search(&row).map_err(|_| gone("hidden state"));
        let index: Vec<u32> = rows
            .map(|row| {
                place(row).map(|at| u32::try_from(at).expect("a batch has fewer than 2^32 rows"))
            })
            .collect::<Result<_>>()?;
        Ok(self.hidden.index_select(&Tensor::new(index, &Device::Cpu)?, 0)?)
    }
}

impl Runner {
    /// The outputs of every row of the batch, in order, from `hidden [R, d]`, whose rows are the
    /// batch's rows `at`.
    pub(super) fn read(&self, batch: &RaggedBatch, at: &[u32], hidden: &Tensor) -> Result<Outputs> {
        let hidden = &Gathered { at, hidden };
        let mut outputs: Vec<Option<Output>> = vec![None; batch.rows.len()];
        for (kind, rows) in groups(batch, &self.adapters) {
            let read = self.read_group(batch, hidden, &kind, &rows)?;
            for (at, output) in rows.into_iter().zip(read) {
                outputs[at] = Some(output);
            }
        }
        let rows = outputs.into_iter().map(|output| output.expect("every row is in one group"));
        Ok(Outputs { rows: rows.collect() })
    }

    fn read_group(
        &self,
        batch: &RaggedBatch,
        hidden: &Gathered<'_>,
        kind: &OutputGroup<'_>,
        rows: &[usize],
    ) -> Result<Vec<Output>> {
        let x = hidden.select(rows.iter().map(|at| batch.rows[*at].index))?;
        let first = &batch.rows[rows[0]];
        match kind {
            OutputGroup::Hidden => Ok(lists(&x)?.into_iter().map(Output::Hidden).collect()),
            OutputGroup::Head(_) => {
                let head = self.head_of(batch, first).ok_or_else(|| gone("score head"))?;
                Ok(lists(&head.apply(&x)?)?.into_iter().map(Output::Head).collect())
            }
            OutputGroup::Vocab => {
                Ok(lists(&self.logits(&x)?)?.into_iter().map(Output::Vocab).collect())
            }
            OutputGroup::Labels { columns, mass } => self.labels(&x, columns, *mass),
            OutputGroup::Logprob => self.logprobs(&x, batch, rows),
            OutputGroup::Adapted => self.adapted(&x, batch, rows),
        }
    }

    fn labels(&self, x: &Tensor, columns: &[u32], mass: bool) -> Result<Vec<Output>> {
        let logits = lists(&self.capped(ops::label_logits(x, self.vocabulary()?, columns)?)?)?;
        let normalizers = if mass {
            let targets = vec![columns[0]; logits.len()];
            let cap = self.config().logit_softcap;
            let read = lists(&ops::token_logprobs(x, self.vocabulary()?, &targets, cap)?)?;
            read.iter().map(|row| Some(row[2])).collect()
        } else {
            vec![None; logits.len()]
        };
        let rows = logits.into_iter().zip(normalizers);
        Ok(rows.map(|(logits, log_normalizer)| Output::Labels { logits, log_normalizer }).collect())
    }

    fn logprobs(&self, x: &Tensor, batch: &RaggedBatch, rows: &[usize]) -> Result<Vec<Output>> {
        let targets = logprob_targets(batch, rows);
        let cap = self.config().logit_softcap;
        let read = lists(&ops::token_logprobs(x, self.vocabulary()?, &targets, cap)?)?;
        Ok(read.iter().map(|row| Output::Logprob { logprob: row[0], entropy: row[1] }).collect())
    }

    /// Computes full logits with the adapter's update, one row after the other, and the requested
    /// outputs from them.
    fn adapted(&self, x: &Tensor, batch: &RaggedBatch, rows: &[usize]) -> Result<Vec<Output>> {
        let mut outputs = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().map(|at| &batch.rows[*at]).enumerate() {
            let x = x.narrow(0, at, 1)?;
            let adapter = self.adapter_of(batch, row).ok_or_else(|| gone("adapter"))?;
            let pair = adapter.pairs.get(&Site::Vocab).ok_or_else(|| gone("vocabulary update"))?;
            let logits = lists(&self.adapted_logits(&x, pair)?)?.swap_remove(0);
            outputs.push(from_logits(logits, &row.output));
        }
        Ok(outputs)
    }

    fn adapted_logits(&self, x: &Tensor, pair: &LoraPair) -> Result<Tensor> {
        let segment = LoraSegment { rows: 0..1, a: &pair.a, b: &pair.b, scale: pair.scale };
        self.capped(ops::linear_adapted(x, self.vocabulary()?, None, &[segment])?)
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor> {
        self.capped(ops::linear(x, &Weight::Panels(self.vocabulary()?.clone()), None)?)
    }

    fn capped(&self, logits: Tensor) -> Result<Tensor> {
        match self.config().logit_softcap {
            None => Ok(logits),
            Some(cap) => ops::softcap(&logits, cap),
        }
    }

    fn vocabulary(&self) -> Result<&Matrix> {
        self.decoder.vocabulary().ok_or_else(|| gone("vocabulary head"))
    }

    fn head_of(&self, batch: &RaggedBatch, row: &OutputRow) -> Option<&Head> {
        let own = self.adapter_of(batch, row).and_then(|adapter| adapter.head.as_ref());
        own.or(self.head.as_ref())
    }

    fn adapter_of(&self, batch: &RaggedBatch, row: &OutputRow) -> Option<&Adapter> {
        self.adapters.get(batch.adapters[row.sequence as usize]?).map(AsRef::as_ref)
    }
}

/// The error for a state that [`super::BatchRules`] excludes.
fn gone(what: &str) -> ModelError {
    ModelError::Batch(format!("a row needs a {what} that is not there"))
}

fn lists(x: &Tensor) -> Result<Vec<Vec<f32>>> {
    Ok(x.detach().to_vec2::<f32>()?)
}
