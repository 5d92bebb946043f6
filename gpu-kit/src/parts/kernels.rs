//! Whether the card computes what it should: every kernel, every family and head, equal bits in any company.

use gpu::Gpu;
use gpu_checks::CHECKS;
use gpu_kit::agreement;
use gpu_kit::bits::Trial;
use gpu_kit::subject::{BLOCKS, CardSubject, random_sequences, sequences};

use crate::effort::Effort;
use crate::lines::{Trouble, attempt};
use crate::shapes::{ModelShape, random_adapters, runner};

/// Every kernel against its reference in f64.
pub(crate) fn run(gpu: &Gpu, effort: Effort) {
    let quick = ["norms", "rows and blocks"];
    let is_run = |name| effort == Effort::Full || quick.contains(&name);
    for check in CHECKS.iter().filter(|check| is_run(check.name)) {
        attempt(check.name, || Ok(vec![("results", (check.run)(gpu)?.len() as f64)]));
    }
}

/// Every family and head beside the processor, and its bits alone, in company and in steps.
pub(crate) fn families(gpu: &Gpu, effort: Effort) {
    let subjects = CardSubject::all();
    for subject in subjects.into_iter().take(effort.of(usize::MAX, 1)) {
        attempt(&subject.name, || {
            let found = agreement::check(gpu, &subject)?;
            Ok(vec![("numbers", found.numbers as f64), ("share of spread", found.farthest)])
        });
        attempt(&format!("{}: bits", subject.name), || {
            let config = &subject.config;
            let runner = subject.on_card(gpu);
            let sequences = sequences(config);
            let mut trial = Trial { runner, n_blocks: BLOCKS, config, sequences, each: 4 };
            let bits = trial.check(&[16, 1, 40, 0, 5, 17, 2])?;
            Ok(vec![("outputs", bits.len() as f64)])
        });
    }
}

/// Equal bits at the sizes of a real model.
pub(crate) fn invariance(gpu: &Gpu, effort: Effort) {
    let shape = effort.of(ModelShape::QWEN3_06B, ModelShape::SMALL);
    let long = effort.of(1400, 30);
    let config = shape.config();
    // Under the adapters in slots 0 and 2: that in slot 1 has a head in the tiny models.
    let lengths =
        [(300, None), (1, None), (long, Some(0)), (65, Some(2)), (17, None), (129, Some(0))];
    let lengths = lengths.map(|(n, adapter)| (n.min(long), adapter));
    let n_blocks = effort.of(199, 17);
    for (name, sizes) in [
        ("chunks of 512 with decodes", &[512, 1, 512, 1, 1, 512][..]),
        ("chunks of odd lengths", &[100, 1, 333, 64, 16, 77, 5][..]),
    ] {
        attempt(name, || {
            let mut runner = runner(gpu, &config, n_blocks)?;
            random_adapters(&mut runner, &config, 3)?;
            let sequences = random_sequences(&config, &lengths);
            let mut trial =
                Trial { runner, n_blocks, config: &config, sequences, each: effort.of(64, 8) };
            let bits = trial.check(sizes).map_err(Trouble::Failed)?;
            Ok(vec![("outputs", bits.len() as f64)])
        });
    }
}
