//! Label tokens after each step, with logits that are given.

use std::sync::Arc;

use engine::{Host, Tokenizer};
use testkit::fake::Script;
use tiny_models::TinyHead;

use super::{input_of, near, scorer, steps_of, texts, with_steps};
use crate::outcome::FailureKind;
use crate::testing::Bench;

/// After the n-th separator `+` is the n-th number above `-`, and all else is `rest`. Anywhere else
/// the labels are out of the question.
struct Signs {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    separator: &'static str,
    margins: Vec<f32>,
    rest: f32,
}

impl Script for Signs {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let text = self.tokenizer.decode(token_ids, false).expect("known tokens");
        let mut logits = vec![self.rest; self.vocab_size];
        let n = text.matches(self.separator).count();
        let margin = self.margins.get(n.wrapping_sub(1));
        if let Some(margin) = margin.filter(|_| text.ends_with(self.separator)) {
            let id = |sign| self.tokenizer.id(sign).expect("a token") as usize;
            logits[id("-")] = 20.0;
            logits[id("+")] = 20.0 + margin;
        }
        logits
    }
}

fn bench(options: &str, separator: &'static str, rest: f32) -> Bench {
    let config = scorer(&format!("method = 'labels'\nspellings = 'bare'\n{options}"));
    Bench::scripted(&config, TinyHead::Vocab, |host: &Host| Signs {
        tokenizer: host.tokenizer.clone(),
        vocab_size: host.engine.limits().vocab_size,
        separator,
        margins: vec![2.0, -1.0, 0.5],
        rest,
    })
}

const RESPONSE: &str = "One.\n\nTwo.\n\nThree.";

#[test]
fn labels_are_read_after_each_step() {
    for (options, separator) in [("", " ки"), ("separator = ' #'", " #")] {
        let bench = bench(options, separator, -20.0);
        assert_eq!(bench.check(), Ok(()));
        let outcome = bench.one("s", input_of(RESPONSE));
        assert_eq!(texts(&outcome, RESPONSE), ["One.", "Two.", "Three."]);
        let raws: Vec<f64> = steps_of(&outcome).iter().filter_map(|s| s.raw).collect();
        for (found, expected) in raws.iter().zip([2.0, -1.0, 0.5]) {
            near(*found, expected);
        }
        let reward = outcome.expect("a reward");
        near(reward.score, 0.268_941_421);
        let mass = reward.evidence.trace.expect("a trace").label_mass;
        assert!(mass.expect("labels were read") > 0.99);
    }
}

#[test]
fn low_label_mass_abstains() {
    let failure = bench("", " ки", 20.0).one("s", input_of(RESPONSE));
    let failure = failure.expect_err("no number");
    assert_eq!((failure.kind, failure.reason.code), (FailureKind::Abstain, "low_label_mass"));
    let kept = bench("min_label_mass = 0", " ки", 20.0).one("s", input_of(RESPONSE));
    assert!(kept.is_ok(), "{kept:?}");
}

#[test]
fn response_with_the_separator_is_refused() {
    #[track_caller]
    fn check(response: &str) {
        let failure = bench("", " ки", -20.0).one("s", input_of(response));
        let failure = failure.expect_err("no number");
        assert_eq!(
            (failure.kind, failure.reason.code),
            (FailureKind::Refused, "separator_unclear")
        );
    }
    check("One. ки\n\nTwo.");
    check("One.\n\nTwo ки");
    let hidden = bench("", " ки", -20.0).one("s", with_steps("a x ки b", &["a", "b"]));
    assert!(hidden.is_err(), "{hidden:?}");
}

#[test]
fn unsuitable_models_are_refused_at_load() {
    #[track_caller]
    fn check(head: TinyHead, options: &str, problem: &str) {
        let config = scorer(&format!("method = 'labels'\n{options}"));
        let bench = Bench::scripted(&config, head, |host: &Host| Signs {
            tokenizer: host.tokenizer.clone(),
            vocab_size: 0,
            separator: "",
            margins: Vec::new(),
            rest: 0.0,
        });
        let message = bench.check().expect_err("it cannot work").join("\n");
        assert!(message.contains(problem), "{message}");
    }
    check(TinyHead::Process, "", "no vocabulary");
    // This tokenizer has no token for a space and a minus.
    check(TinyHead::Vocab, "", "a verdict must be one");
    check(TinyHead::Vocab, "labels = ['good', 'bad']", "a verdict must be one");
    check(TinyHead::Vocab, "spellings = 'bare'\nseparator = ' '", "separator");
}
