//! A step's outputs by kind, in parts of at most [`MAX_ROWS`] rows, staged.

use gpu::kernels::Pieces;
use gpu::{DeviceSlice, Staging};
use models::adapter::AdapterTable;
use models::batch::{AdapterSlot, RaggedBatch};
use models::runner::{HeadOf, OutputGroup, groups, logprob_targets};

/// Rows of a part: what they give must fit its room.
pub(crate) const MAX_ROWS: usize = 256;

/// A part of the outputs of one kind, staged.
#[derive(Debug)]
pub(crate) struct OutputPlan {
    /// Indices into the batch's outputs.
    pub(crate) at: Vec<usize>,
    /// Their rows among those that were kept.
    pub(crate) index: DeviceSlice<u32>,
    pub(crate) kind: OutputKind,
}

#[derive(Debug)]
pub(crate) enum OutputKind {
    Hidden,
    Head(HeadOf),
    Vocab,
    Labels {
        columns: DeviceSlice<u32>,
        /// Any column, for each row: log Σ exp comes with a target's log-probability.
        targets: Option<DeviceSlice<u32>>,
    },
    Logprob(DeviceSlice<u32>),
    /// Logits of the vocabulary under adapters that change it: the rows of each adapter, and the adapters.
    Adapted(Pieces, Vec<AdapterSlot>),
}

impl OutputPlan {
    /// Stages the outputs of a batch, whose rows with outputs are `kept`.
    pub(crate) fn stage_all(
        batch: &RaggedBatch,
        kept: &[u32],
        adapters: &AdapterTable,
        staging: &mut Staging,
    ) -> gpu::Result<Vec<OutputPlan>> {
        let mut plans = Vec::new();
        for (group, at) in groups(batch, adapters) {
            for at in at.chunks(MAX_ROWS) {
                plans.push(OutputPlan::stage(batch, kept, (&group, at), staging)?);
            }
        }
        Ok(plans)
    }

    fn stage(
        batch: &RaggedBatch,
        kept: &[u32],
        (group, at): (&OutputGroup<'_>, &[usize]),
        staging: &mut Staging,
    ) -> gpu::Result<OutputPlan> {
        let place = |at: &usize| {
            let row = batch.rows[*at].index;
            let place = kept.binary_search(&row).expect("every row with an output is kept");
            u32::try_from(place).expect("a batch has fewer than 2^32 rows")
        };
        let index: Vec<u32> = at.iter().map(place).collect();
        let kind = match group {
            OutputGroup::Hidden => OutputKind::Hidden,
            OutputGroup::Head(of) => OutputKind::Head(*of),
            OutputGroup::Vocab => OutputKind::Vocab,
            OutputGroup::Labels { columns, mass } => {
                let targets = vec![columns[0]; at.len()];
                OutputKind::Labels {
                    columns: staging.put(columns)?,
                    targets: if *mass { Some(staging.put(&targets)?) } else { None },
                }
            }
            OutputGroup::Logprob => OutputKind::Logprob(staging.put(&logprob_targets(batch, at))?),
            OutputGroup::Adapted => {
                let slots: Vec<AdapterSlot> = at
                    .iter()
                    .filter_map(|at| batch.adapters[batch.rows[*at].sequence as usize])
                    .collect();
                let rows: Vec<[u32; 1]> = (0..).map(|row| [row]).take(at.len()).collect();
                let of_row: Vec<(u32, &[u32])> =
                    slots.iter().zip(&rows).map(|(slot, row)| (slot.0, &row[..])).collect();
                OutputKind::Adapted(Pieces::stage(&of_row, staging)?, slots)
            }
        };
        Ok(OutputPlan { at: at.to_vec(), index: staging.put(&index)?, kind })
    }

    /// Rows of the part.
    pub(crate) fn rows(&self) -> usize {
        self.at.len()
    }
}
