//! What a step costs the processor, on the emulated card whose kernels return at once.

use std::time::Instant;

use gpu::Gpu;
use models::{BLOCK, Forward as _};

use super::workload::{Tokens, decodes, draws, prompts};
use crate::effort::Effort;
use crate::lines::{Readings, Trouble, attempt};
use crate::shapes::{ModelShape, runner};

pub(crate) fn run(gpu: &Gpu, effort: Effort) {
    // The layers of 0.6B, each narrow: a processor's work does not depend on widths.
    let layers = effort.of(28, 2);
    let shape = ModelShape { layers, ..ModelShape::SMALL };
    let cases: [(&str, Batch); 4] = [
        ("8,100 tokens of 27 prompts", Batch::Prompts(27, 300)),
        ("1 row", Batch::Decodes(1)),
        ("16 rows", Batch::Decodes(16)),
        ("64 rows", Batch::Decodes(64)),
    ];
    for (name, batch) in cases.into_iter().take(effort.of(4, 2)) {
        attempt(&format!("step of {layers} layers, {name}"), || step(gpu, effort, shape, batch));
    }
}

#[derive(Clone, Copy, Debug)]
enum Batch {
    Prompts(usize, usize),
    Decodes(usize),
}

fn step(gpu: &Gpu, effort: Effort, shape: ModelShape, of: Batch) -> Result<Readings, Trouble> {
    let config = shape.config();
    let mut tokens = Tokens::new(config.vocab_size);
    let mut make = || match of {
        Batch::Prompts(count, len) => prompts(&mut tokens, (count, len), None),
        Batch::Decodes(rows) => decodes(&mut tokens, (rows, 1023), None),
    };
    let mut runner = runner(gpu, &config, 64 * (1024 / BLOCK))?;
    let draws = match of {
        Batch::Prompts(..) => Vec::new(),
        Batch::Decodes(rows) => draws(rows),
    };
    let mut best = [f64::INFINITY; 2];
    // The least of many: other work of the machine only adds.
    for _ in 0..effort.of(200, 2) {
        let start = Instant::now();
        let batch = make()?;
        let packed = start.elapsed().as_secs_f64();
        runner.forward_drawing(&batch, &draws)?;
        let done = start.elapsed().as_secs_f64();
        best = [best[0].min(packed), best[1].min(done - packed)];
    }
    Ok(vec![("making and packing, ms", best[0] * 1e3), ("forward, ms", best[1] * 1e3)])
}
