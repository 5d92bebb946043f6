//! Runs batches on a card.

use std::sync::Arc;

use gpu::kernels::{Attention, KvLayer, NormOutput, embed, norm};
use gpu::{Arena, Gpu, GpuError, Graphs, Staging};
use models::adapter::Adapter;
use models::batch::{AdapterSlot, OutputRow, Outputs, RaggedBatch};
use models::live::LiveWeights;
use models::runner::{BatchRules, distinct_rows};
use models::{Forward, ModelError, OutputSpec, Result, RowOutput, TokenDraw};

use crate::adapters::Adapters;
use crate::error::device;
use crate::kv::{KvPool, blocks_of_step};

use crate::model::GpuModel;
use crate::output_plan::{MAX_ROWS, OutputPlan};
use crate::outputs;
use crate::pass::{LayerPass, RowsOf};
use crate::rooms::Sizes;
use crate::step::{DrawingBatch, Step};
use crate::step_bytes::{STAGING_BYTES, largest_step, staging_room_bytes};

/// A model on a card with its adapters and KV blocks.
#[derive(Debug)]
pub struct GpuRunner {
    model: Arc<GpuModel>,
    adapters: Adapters,
    kv: Option<KvPool>,
    staging: Staging,
    staging_bytes: usize,
    arena: Arena,
    arena_bytes: usize,
    /// Tokens of the largest step that memory is kept for.
    step_tokens: usize,
    /// Of steps that continue sequences by a token.
    graphs: Graphs,
    /// What the weights are copies of; `None` for files.
    live: Option<LiveWeights>,
}

/// Graphs that are kept: of steps with as many numbers of rows, in both rooms of the staging.
const MAX_GRAPHS: usize = 64;

impl GpuRunner {
    /// A runner for one-shot batches. Runners over one model share its weights.
    ///
    /// # Errors
    /// [`ModelError::Device`] where memory is full.
    pub fn new(model: impl Into<Arc<GpuModel>>) -> Result<GpuRunner> {
        let model = model.into();
        Ok(GpuRunner {
            adapters: Adapters::new(&model.weights.places),
            kv: None,
            staging: Staging::new(&model.gpu, STAGING_BYTES).map_err(device)?,
            staging_bytes: STAGING_BYTES,
            arena: Arena::new(&model.gpu, 0).map_err(device)?,
            arena_bytes: 0,
            step_tokens: 0,
            graphs: Graphs::new(MAX_GRAPHS),
            live: None,
            model,
        })
    }

    /// Follows these variables, which the model was loaded from: see [`Forward::reload`].
    #[must_use]
    pub fn following(self, weights: LiveWeights) -> GpuRunner {
        GpuRunner { live: Some(weights), ..self }
    }

    /// Adds a pool of `n_blocks` KV blocks, all of them free.
    ///
    /// # Errors
    /// [`ModelError::Device`] where memory is full.
    pub fn with_kv(mut self, n_blocks: usize) -> Result<GpuRunner> {
        self.kv = Some(KvPool::new(&self.model.gpu, &self.model.config, n_blocks)?);
        Ok(self)
    }

    /// Keeps memory for steps of up to `tokens` tokens, under the adapters at hand and later ones, so that no such step
    /// allocates. Without it, memory grows with the largest step so far.
    ///
    /// # Errors
    /// [`ModelError::Device`] where memory is full.
    pub fn with_steps_of(mut self, tokens: usize) -> Result<GpuRunner> {
        self.step_tokens = tokens;
        self.keep(self.arena_bytes_for(tokens))?;
        self.staging_bytes = staging_room_bytes(&self.model.config, tokens);
        self.staging = Staging::new(&self.model.gpu, self.staging_bytes).map_err(device)?;
        Ok(self)
    }

    /// Bytes that are kept for steps of up to `tokens` tokens under the adapters at hand, beside weights and KV blocks.
    pub fn step_bytes(&self, tokens: usize) -> usize {
        self.arena_bytes_for(tokens) + 2 * staging_room_bytes(&self.model.config, tokens)
    }

    fn arena_bytes_for(&self, tokens: usize) -> usize {
        let GpuRunner { model, adapters, .. } = self;
        let sizes = Sizes {
            widths: model.widths,
            between: self.between(tokens.max(MAX_ROWS)),
            expert_groups: adapters.expert_groups(),
            ..largest_step(&model.config, tokens, outputs::widest_head(model, adapters))
        };
        sizes.bytes()
    }

    /// Numbers between the factors of adapters.
    fn between(&self, rows: usize) -> usize {
        self.adapters.between(rows, self.model.widths.experts.per_row)
    }

    /// Enlarges the arena.
    fn keep(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.arena_bytes {
            // The old one goes first: both may not fit.
            (self.arena, self.arena_bytes) = (Arena::new(&self.model.gpu, 0).map_err(device)?, 0);
            self.arena = Arena::new(&self.model.gpu, bytes).map_err(device)?;
            self.arena_bytes = bytes;
        }
        Ok(())
    }

    fn rules(&self) -> BatchRules<'_> {
        BatchRules {
            config: &self.model.config,
            adapters: &self.adapters.table,
            n_blocks: self.kv.as_ref().map(KvPool::n_blocks),
            head_labels: self.model.head_labels(),
        }
    }

    /// Stages a batch. Where the staging's rooms are full, larger ones take their place.
    fn stage(&mut self, batch: DrawingBatch<'_>, kept: &[u32]) -> Result<Step> {
        let GpuRunner { model, adapters, staging, staging_bytes, .. } = self;
        loop {
            let has_experts = model.widths.experts.layers > 0;
            let shapes = (&model.gpu, model.attention.as_slice(), has_experts);
            match Step::stage(shapes, &adapters.table, (batch, kept), staging) {
                Err(GpuError::OutOfMemory { total, .. }) if total == *staging_bytes => {
                    let bytes = *staging_bytes * 2;
                    *staging = Staging::new(&model.gpu, bytes).map_err(device)?;
                    *staging_bytes = bytes;
                }
                staged => return staged.map_err(device),
            }
        }
    }

    fn sizes(&self, step: &Step) -> Sizes {
        let parts = step.attention.iter().map(Attention::parts);
        let of_outputs =
            step.outputs.iter().map(|plan| outputs::sizes(plan, &self.model, &self.adapters));
        let rows = step.rows.max(step.outputs.iter().map(OutputPlan::rows).max().unwrap_or(0));
        Sizes {
            widths: self.model.widths,
            rows: step.rows,
            kept: if step.kept_index.is_some() { step.kept } else { 0 },
            parts: parts.max().unwrap_or(0),
            between: if step.pieces.is_some() { self.between(rows) } else { 0 },
            expert_groups: step.pieces.as_ref().and_then(|_| self.adapters.expert_groups()),
            blocks: step.own_blocks * crate::kv::block_len(self.model.heads()),
            outputs: of_outputs.fold((0, 0), |all, part| (all.0.max(part.0), all.1.max(part.1))),
        }
    }

    fn compute(&mut self, batch: &RaggedBatch, step: &Step) -> Result<Vec<RowOutput>> {
        let sizes = self.sizes(step);
        self.keep(sizes.bytes())?;
        self.arena.reset();
        self.walk(batch, step, &sizes).map_err(device)
    }

    fn walk(
        &mut self,
        batch: &RaggedBatch,
        step: &Step,
        sizes: &Sizes,
    ) -> gpu::Result<Vec<RowOutput>> {
        let GpuRunner { model, adapters, kv, arena, graphs, .. } = self;
        let rooms = sizes.take(arena)?;
        let own = match step.own_blocks {
            0 => None,
            n => Some(blocks_of_step(model.heads(), n, arena)?),
        };
        if let Some(kv) = kv {
            step.copies.iter().try_for_each(|pairs| kv.copy(&model.gpu, pairs))?;
        }
        let blocks = |layer: usize| match (&own, &kv) {
            (Some(own), _) => own.clone(),
            (None, Some(kv)) => kv.layer(layer),
            (None, None) => unreachable!("the batch was checked"),
        };
        let mut layers = |gpu: &Gpu| {
            let pass = LayerPass {
                gpu,
                step,
                rooms: &rooms,
                adapters,
                ropes: &model.ropes,
                heads: model.heads(),
                flags: &model.flags,
            };
            through_layers(model, &pass, blocks, arena)
        };
        match step.decode_key {
            Some(key) => {
                let launches = model.gpu.record(layers)?;
                graphs.start(&model.gpu, key, launches)?;
            }
            None => layers(&model.gpu)?,
        }
        let kept = if step.kept_index.is_some() { rooms.kept_x.len() } else { rooms.x.len() };
        let hidden = rooms.delta.part(0..kept);
        let mut read = vec![None; batch.rows.len()];
        for plan in &step.outputs {
            outputs::run(plan, (model, adapters), (batch, &hidden), &rooms, &mut read)?;
        }
        // A batch without outputs shows a card's failure, too.
        model.gpu.wait()?;
        let rows = read.into_iter().map(|output| output.expect("every row is in one part"));
        Ok(rows.collect())
    }
}

/// Carries the batch from its tokens to the states after the final norm.
fn through_layers(
    model: &GpuModel,
    pass: &LayerPass<'_>,
    blocks: impl Fn(usize) -> KvLayer,
    arena: &mut Arena,
) -> gpu::Result<()> {
    let LayerPass { gpu, step, rooms, .. } = *pass;
    let scale = model.config.embedding_scale.unwrap_or(1.0);
    embed(gpu, (&model.weights.embedding, &step.ids), scale, &rooms.x)?;
    if let Some(change) = pass.change(model.weights.embedding_place, RowsOf::Batch) {
        change.add_embedding(gpu, &step.ids, (&rooms.x, model.weights.hidden.padded()))?;
    }
    for (index, layer) in model.weights.layers.iter().enumerate() {
        layer.forward(pass, &blocks(index), index + 1 == model.weights.layers.len(), arena)?;
    }
    let of = if step.kept_index.is_some() { RowsOf::Kept } else { RowsOf::Batch };
    let (stream, _) = pass.stream(of);
    // What parts of layers gave is not needed any more.
    let hidden = rooms.delta.part(0..stream.len());
    norm(gpu, stream, &model.weights.norm, &NormOutput::F32(hidden))
}

/// Draws are of logits, and masks of the vocabulary's size.
fn check_draws(batch: &RaggedBatch, draws: &[Option<TokenDraw>], vocab_size: usize) -> Result<()> {
    if !draws.is_empty() && draws.len() != batch.rows.len() {
        let what = format!("{} draws for {} outputs", draws.len(), batch.rows.len());
        return Err(ModelError::Batch(what));
    }
    let fits = |(row, draw): (&OutputRow, &Option<TokenDraw>)| {
        let mask = draw.as_ref().and_then(|draw| draw.allowed.as_ref());
        (draw.is_none() || row.output == OutputSpec::Vocab)
            && mask.is_none_or(|mask| mask.len() == vocab_size.div_ceil(32))
    };
    if batch.rows.iter().zip(draws).all(fits) {
        return Ok(());
    }
    Err(ModelError::Batch("a draw is not of logits, or its mask has another size".into()))
}

impl Forward for GpuRunner {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs> {
        let rows = self.forward_drawing(batch, &[])?.into_iter().map(|row| match row {
            RowOutput::Output(output) => output,
            RowOutput::Token(_) => unreachable!("no draw was requested"),
        });
        Ok(Outputs { rows: rows.collect() })
    }

    fn draws_tokens(&self) -> bool {
        true
    }

    fn forward_drawing(
        &mut self,
        batch: &RaggedBatch,
        draws: &[Option<TokenDraw>],
    ) -> Result<Vec<RowOutput>> {
        self.rules().check(batch)?;
        if batch.sharing.is_some() {
            return Err(ModelError::Batch(
                "rows are shared between sequences on a processor alone".into(),
            ));
        }
        check_draws(batch, draws, self.model.config.vocab_size)?;
        let kept = distinct_rows(&batch.rows);
        let step = self.stage((batch, draws), &kept)?;
        self.compute(batch, &step)
    }

    fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot> {
        let GpuRunner { model, adapters, .. } = self;
        let slot =
            adapters.insert(&model.gpu, (&model.weights.places, model.weights.hidden), adapter)?;
        // A deeper adapter enlarges the largest step.
        let before = self.arena_bytes;
        let bytes = if self.step_tokens == 0 { 0 } else { self.arena_bytes_for(self.step_tokens) };
        if let Err(error) = self.keep(bytes) {
            self.remove(slot);
            // `keep` freed what steps had before it asked for more.
            self.keep(before)?;
            return Err(error);
        }
        Ok(slot)
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.adapters.remove(&self.model.gpu, slot)
    }

    fn reload(&mut self) -> Result<()> {
        let GpuRunner { model, adapters, live, .. } = self;
        if let Some(weights) = live {
            model.rewrite(&mut weights.source())?;
        }
        adapters.rewrite(&model.gpu, (&model.weights.places, model.weights.hidden))?;
        // A copy that failed shows here.
        model.gpu.wait().map_err(device)
    }
}
