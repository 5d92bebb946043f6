//! Scores of products of bf16 and of 8-bit integers beside those of f32, over every family.

use std::fmt::Write as _;
use std::path::Path;

use models::weights::{Compute, FloatType};
use models::{Forward as _, LoadOptions, Model, Output, OutputSpec, PackItem, Runner, pack};
use tiny_models::{Preset, TinyHead, TinySpec};

/// Sequences of 9 to 40 tokens.
fn items() -> Vec<PackItem> {
    let of = |sequence: u32| {
        let len = 9 + sequence as usize * 7 % 32;
        let token = |i: u32| (sequence * 71 + i * 29 + i * i * sequence) % 256;
        PackItem {
            token_ids: (0..40).take(len).map(token).collect(),
            start: 0,
            adapter: None,
            outputs: vec![(len - 1, OutputSpec::Head)],
            blocks: Vec::new(),
        }
    };
    (0..48).map(of).collect()
}

fn scores(dir: &Path, compute: Compute) -> Vec<f32> {
    let options = LoadOptions { compute, ..LoadOptions::default() };
    let model = Model::load(dir, &options).expect("it was made");
    let batch = pack(&items()).expect("the items are well formed");
    let outputs = Runner::new(model.decoder, model.head).forward(&batch).expect("it runs");
    let score = |output: &Output| match output {
        Output::Head(all) => all[0],
        Output::Vocab(_) | Output::Labels { .. } | Output::Logprob { .. } | Output::Hidden(_) => {
            unreachable!("a score was read, not {output:?}")
        }
    };
    outputs.rows.iter().map(score).collect()
}

/// Kendall's tau: the share of pairs in the same order less that in the opposite one.
fn kendall_tau(a: &[f32], b: &[f32]) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for i in 0..a.len() {
        for j in 0..i {
            let sign = |x: &[f32]| x[i].total_cmp(&x[j]) as i32;
            sum += f64::from(sign(a) * sign(b));
            pairs += 1.0;
        }
    }
    sum / pairs
}

/// The table of docs/models.md: `cargo test -p models --test numerics -- --nocapture`.
#[test]
fn rounded_products_keep_the_order_of_scores() {
    println!("family, spread of the scores in f32; tau and largest difference in bf16 and in int8");
    for preset in Preset::ALL.into_iter().filter(|preset| !preset.is_published_size()) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("model");
        let head = TinyHead::Sequence;
        let spec = TinySpec { head, storage: FloatType::Bf16, ..TinySpec::from(preset) };
        tiny_models::make(&dir, &spec).expect("every family has this head");
        let exact = scores(&dir, Compute::F32);
        let [least, most] =
            exact.iter().fold([f32::MAX, f32::MIN], |[a, b], x| [x.min(a), x.max(b)]);
        let mut line = format!("{:12} {:.4}", preset.name(), most - least);
        for (compute, least_tau, most_far) in
            [(Compute::Bf16, 0.95, 0.02), (Compute::Int8, 0.9, 0.06)]
        {
            let rounded = scores(&dir, compute);
            let tau = kendall_tau(&exact, &rounded);
            let far = exact.iter().zip(&rounded).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
            write!(line, "; {tau:.3} {far:.4}").expect("writing to memory does not fail");
            assert!(far > 0.0, "{}: {compute:?} rounds nothing", preset.name());
            assert!(tau >= least_tau, "{} in {compute:?}: tau {tau}", preset.name());
            let share = far / (most - least);
            assert!(share <= most_far, "{} in {compute:?}: {far}", preset.name());
        }
        println!("{line}");
    }
}
