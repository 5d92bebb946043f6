//! A step's outputs by kind, in parts of at most [`MAX_ROWS`] rows, staged.

use gpu::kernels::{Draws, Pieces, RowDraw};
use gpu::{DeviceSlice, Staging};
use models::TokenDraw;
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
    /// Logits of the vocabulary under adapters that change it.
    Adapted(VocabularyChanges),
    /// A token of each row.
    Draw(StagedDraws, Option<VocabularyChanges>),
}

/// The rows of each adapter that changes the vocabulary head, and the adapters.
#[derive(Debug)]
pub(crate) struct VocabularyChanges {
    pub(crate) pieces: Pieces,
    pub(crate) slots: Vec<AdapterSlot>,
}

#[derive(Debug)]
pub(crate) struct StagedDraws {
    pub(crate) draws: Draws,
    /// `[rows, ⌈vocabulary / 32⌉]`: a bit for each token that may be drawn; `None` for all.
    pub(crate) allowed: Option<DeviceSlice<u32>>,
    /// Of each row, whether its log-probability is requested.
    pub(crate) logprobs: Vec<bool>,
}

impl StagedDraws {
    fn stage(draws: &[&TokenDraw], staging: &mut Staging) -> gpu::Result<StagedDraws> {
        let masks: Vec<u32> =
            draws.iter().filter_map(|draw| draw.allowed.as_deref()).flatten().copied().collect();
        let of_rows: Vec<RowDraw> = draws.iter().map(|draw| row_draw(draw)).collect();
        Ok(StagedDraws {
            draws: Draws::stage(&of_rows, staging)?,
            allowed: if masks.is_empty() { None } else { Some(staging.put(&masks)?) },
            logprobs: draws.iter().map(|draw| draw.logprob).collect(),
        })
    }
}

fn row_draw(draw: &TokenDraw) -> RowDraw {
    match draw.random {
        None => RowDraw::Greedy,
        Some(random) => RowDraw::Weighted {
            temperature: random.temperature,
            top_k: random.top_k,
            top_p: random.top_p,
            least: random.least_weight,
            random: random.bits,
        },
    }
}

impl OutputPlan {
    /// Stages the outputs of a batch, whose rows with outputs are `kept`; `draws` has an entry for each output, or none.
    pub(crate) fn stage_all(
        (batch, draws): (&RaggedBatch, &[Option<TokenDraw>]),
        kept: &[u32],
        adapters: &AdapterTable,
        staging: &mut Staging,
    ) -> gpu::Result<Vec<OutputPlan>> {
        let mut plans = Vec::new();
        for (group, at) in groups(batch, adapters) {
            for at in by_draw(at, draws).iter().flat_map(|at| at.chunks(MAX_ROWS)) {
                plans.push(OutputPlan::stage((batch, draws), kept, (&group, at), staging)?);
            }
        }
        Ok(plans)
    }

    fn stage(
        (batch, draws): (&RaggedBatch, &[Option<TokenDraw>]),
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
        let of_rows: Vec<&TokenDraw> =
            at.iter().filter_map(|at| draws.get(*at)?.as_ref()).collect();
        let kind = if of_rows.is_empty() {
            match group {
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
                OutputGroup::Logprob => {
                    OutputKind::Logprob(staging.put(&logprob_targets(batch, at))?)
                }
                OutputGroup::Adapted => OutputKind::Adapted(changes(batch, at, staging)?),
            }
        } else {
            let is_adapted = matches!(group, OutputGroup::Adapted);
            let changes = is_adapted.then(|| changes(batch, at, staging)).transpose()?;
            OutputKind::Draw(StagedDraws::stage(&of_rows, staging)?, changes)
        };
        Ok(OutputPlan { at: at.to_vec(), index: staging.put(&index)?, kind })
    }

    /// Rows of the part.
    pub(crate) fn rows(&self) -> usize {
        self.at.len()
    }
}

/// The outputs without a draw, those with one, and those with a mask.
fn by_draw(at: Vec<usize>, draws: &[Option<TokenDraw>]) -> [Vec<usize>; 3] {
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for at in at {
        let draw = draws.get(at).and_then(Option::as_ref);
        parts[draw.map_or(0, |draw| 1 + usize::from(draw.allowed.is_some()))].push(at);
    }
    parts
}

fn changes(
    batch: &RaggedBatch,
    at: &[usize],
    staging: &mut Staging,
) -> gpu::Result<VocabularyChanges> {
    let slots: Vec<AdapterSlot> =
        at.iter().filter_map(|at| batch.adapters[batch.rows[*at].sequence as usize]).collect();
    let rows: Vec<[u32; 1]> = (0..).map(|row| [row]).take(at.len()).collect();
    let of_row: Vec<(u32, &[u32])> =
        slots.iter().zip(&rows).map(|(slot, row)| (slot.0, &row[..])).collect();
    Ok(VocabularyChanges { pieces: Pieces::stage(&of_row, staging)?, slots })
}
