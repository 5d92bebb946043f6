//! Tokens and items a second, of models with random weights.

use std::time::Instant;

use gpu::Gpu;
use gpu_models::GpuRunner;
use models::{BLOCK, Forward as _};

use super::rates;
use super::workload::{ScoringLoad, Tokens, decodes, draws, prompts};
use crate::effort::Effort;
use crate::lines::{Readings, Trouble, attempt};
use crate::shapes::{ModelShape, random_adapters, runner};

pub(crate) fn run(gpu: &Gpu, effort: Effort) {
    let shapes =
        effort.of(&[ModelShape::QWEN3_06B, ModelShape::QWEN3_4B][..], &[ModelShape::SMALL][..]);
    for (at, shape) in shapes.iter().enumerate() {
        // The first of the shapes has the workload that others publish figures of.
        model(gpu, effort, *shape, at == 0);
    }
    rates::attention(gpu, effort);
    rates::products(gpu, effort);
}

/// The context of decodes.
const BEFORE: usize = 1023;

fn model(gpu: &Gpu, effort: Effort, shape: ModelShape, scores: bool) {
    let config = shape.config();
    let load = scoring(effort);
    let rows = effort.of(&[1, 16, 64, 256][..], &[1, 3][..]);
    let before = effort.of(BEFORE, 40);
    let of_decodes = |rows: usize| rows * (before + 1).div_ceil(BLOCK);
    let mut made = None;
    attempt(&format!("{}: load", shape.name), || {
        let (free, _) = gpu.memory()?;
        let weights = config.parameters().unwrap_or(u64::MAX);
        let room = (free as u64).saturating_sub(weights.saturating_mul(2)) / 2;
        let most = usize::try_from(room).unwrap_or(usize::MAX) / (shape.kv_bytes() * BLOCK);
        let wanted = rows.iter().map(|rows| of_decodes(*rows)).chain([load.n_blocks()]).max();
        let blocks = wanted.unwrap_or(0).min(most);
        if blocks < load.n_blocks() {
            return Err(Trouble::Skipped(format!("{free} bytes are free, too few for the model")));
        }
        let start = Instant::now();
        made = Some((runner(gpu, &config, blocks)?, blocks));
        Ok(vec![("s", start.elapsed().as_secs_f64()), ("blocks", blocks as f64)])
    });
    let Some((mut runner, blocks)) = made else { return };
    let mut measured = Measured { gpu, effort, shape, tokens: Tokens::new(config.vocab_size) };
    let prefill = effort.of((27, 300), (2, 20));
    let name = |what: &str| format!("{}: {what}", shape.name);
    attempt(&name("prefill"), || measured.prefill(&mut runner, prefill, None));
    if scores {
        attempt(&name("scoring"), || measured.scoring(&mut runner, load));
    }
    for rows in rows.iter().copied().filter(|rows| of_decodes(*rows) <= blocks) {
        let at = (rows, before);
        attempt(&name(&format!("decode, {rows} rows")), || measured.decode(&mut runner, at, None));
    }
    attempt(&name("adapters: insert 8"), || {
        let start = Instant::now();
        random_adapters(&mut runner, &config, 8)?;
        Ok(vec![("s", start.elapsed().as_secs_f64())])
    });
    attempt(&name("prefill, 8 adapters"), || measured.prefill(&mut runner, prefill, Some(8)));
    for rows in rows.iter().copied().filter(|rows| *rows <= 64 && of_decodes(*rows) <= blocks) {
        let what = name(&format!("decode, {rows} rows, 8 adapters"));
        attempt(&what, || measured.decode(&mut runner, (rows, before), Some(8)));
    }
}

/// 120 tokens, and ten times 180 that follow them.
fn scoring(effort: Effort) -> ScoringLoad {
    effort.of(
        ScoringLoad { requests: 64, query: 120, items: 10, item: 180, step: 8192 },
        ScoringLoad { requests: 2, query: 20, items: 2, item: 9, step: 27 },
    )
}

struct Measured<'a> {
    gpu: &'a Gpu,
    effort: Effort,
    shape: ModelShape,
    tokens: Tokens,
}

impl Measured<'_> {
    fn prefill(
        &mut self,
        runner: &mut GpuRunner,
        (count, len): (usize, usize),
        adapters: Option<u32>,
    ) -> Result<Readings, Trouble> {
        let batch = prompts(&mut self.tokens, (count, len), adapters)?;
        let seconds = self.effort.time(self.gpu, || {
            runner.forward(&batch)?;
            Ok(())
        })?;
        let tokens = (count * len) as f64;
        // Two operations a weight and token, and four a pair of positions and number of a head.
        let weights = (self.shape.layer_weights() * self.shape.layers) as f64;
        let pairs = (count * len * (len + 1) / 2 * self.shape.layers) as f64;
        let heads = (self.shape.heads * self.shape.head_dim) as f64;
        let operations = 2.0 * weights * tokens + 4.0 * pairs * heads;
        Ok(vec![
            ("tokens/s", tokens / seconds),
            ("TFLOP/s", operations / seconds / 1e12),
            ("step, ms", seconds * 1e3),
        ])
    }

    fn decode(
        &mut self,
        runner: &mut GpuRunner,
        (rows, before): (usize, usize),
        adapters: Option<u32>,
    ) -> Result<Readings, Trouble> {
        let batch = decodes(&mut self.tokens, (rows, before), adapters)?;
        let draws = draws(rows);
        let seconds = self.effort.time(self.gpu, || {
            runner.forward_drawing(&batch, &draws)?;
            Ok(())
        })?;
        let ModelShape { layers, .. } = self.shape;
        let weights = 2 * (self.shape.layer_weights() * layers + self.shape.embedding_weights());
        let bytes = weights + rows * (before + 1) * self.shape.kv_bytes();
        Ok(vec![
            ("tokens/s", rows as f64 / seconds),
            ("GB/s", bytes as f64 / seconds / 1e9),
            ("step, ms", seconds * 1e3),
        ])
    }

    fn scoring(&mut self, runner: &mut GpuRunner, load: ScoringLoad) -> Result<Readings, Trouble> {
        let batches = load.batches(&mut self.tokens)?;
        let seconds = self.effort.time(self.gpu, || {
            for batch in &batches {
                runner.forward(batch)?;
            }
            Ok(())
        })?;
        let items = (load.requests * load.items) as f64;
        let tokens: usize = batches.iter().map(|batch| batch.token_ids.len()).sum();
        Ok(vec![("items/s", items / seconds), ("tokens/s", tokens as f64 / seconds)])
    }
}
