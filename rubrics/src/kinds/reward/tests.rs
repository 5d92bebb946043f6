use engine::Host;
use engine::scripted::{Preset, Script, TinyHead};

use crate::testing::{Bench, verdicts};
use crate::{Ask, Input};

const CONFIG: &str = "
[[scorer]]
name = 'good'
kind = 'reward'

[[scorer]]
name = 'logit'
kind = 'reward'
model = 'm'
score = 'raw'
";

/// The head says how long the conversation is.
struct Length;

impl Script for Length {
    fn logits(&self, _: &[u32]) -> Vec<f32> {
        Vec::new()
    }

    fn head(&self, token_ids: &[u32]) -> Vec<f32> {
        vec![f32::from(u16::try_from(token_ids.len()).expect("short")) / 8.0]
    }
}

#[test]
fn the_head_is_read_at_the_last_token() {
    let bench = Bench::scripted(CONFIG, TinyHead::Sequence, |_: &Host| Length);
    assert_eq!(bench.check(), Ok(()));
    let reward = bench
        .one("logit", Input::of("the answer"))
        .expect("a reward");
    let trace = reward.evidence.trace.expect("a model was asked");
    let tokens = trace.usage.input_tokens;
    #[expect(clippy::cast_precision_loss, reason = "a short prompt")]
    let expected = tokens as f64 / 8.0;
    assert!((reward.score - expected).abs() < 1e-9);
    let squashed = bench
        .one("good", Input::of("the answer"))
        .expect("a reward");
    assert_eq!(squashed.raw, reward.raw);
    assert!((squashed.score - 1.0 / (1.0 + (-expected).exp())).abs() < 1e-9);
}

#[test]
fn scores_do_not_depend_on_company() {
    let bench = Bench::real(CONFIG, Preset::Qwen2, TinyHead::Sequence, 7);
    let inputs: Vec<Input> = (0..12)
        .map(|n| Input::of(format!("the same beginning, and then {n}")))
        .collect();
    let together = verdicts(bench.all("good", &inputs, Ask::default()));
    let alone = inputs.iter().flat_map(|input| {
        let one = std::slice::from_ref(input);
        bench.all("good", one, Ask::default())
    });
    assert_eq!(verdicts(alone.collect()), together);
}
