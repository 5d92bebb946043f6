//! The four modes over models whose words are given.

use std::sync::Arc;

use engine::{Host, Tokenizer};
use testkit::fake::Script;
use tiny_models::TinyHead;

use super::{close, group, input_of, labels, values};
use crate::FailureKind;
use crate::testing::Bench;

const THREE_STEPS: &str = "We add.\n\n2 + 2 = 5\n\nThe answer is \\boxed{4}.";

fn capo(reply: &'static str) -> Bench {
    let config = "
[[scorer]]
name = 'capo'
kind = 'critic'
mode = 'capo'
outcome = 'math'
max_tokens = 64
";
    let bench = Bench::replying(config, move |_: &str| reply.to_owned());
    assert_eq!(bench.check(), Ok(()));
    bench
}

#[test]
fn a3_capo_token_rewards_of_a_critique() {
    let bench = capo("Step 2: it is 4.\nWrong steps: [2]");
    let reward = bench.one("capo", input_of(THREE_STEPS)).expect("a reward");
    close(reward.score, 2.0 / 3.0);
    assert_eq!(reward.reason.code, "critique_vote");
    assert_eq!(labels(&reward), ["right", "wrong", "right"]);
    assert_eq!(values(&reward, "token_reward"), [2.0, 1.0, 2.0]);
    let steps = reward.evidence.steps.as_ref().expect("it has steps");
    assert_eq!(steps[1].critique.as_deref(), Some("it is 4."));
    assert_eq!(steps[1].span, 9..18);
    let trace = reward.evidence.trace.as_ref().expect("a model was called");
    assert!(trace.prompt.is_some() && trace.model.is_some());

    let wrong = THREE_STEPS.replace("boxed{4}", "boxed{7}");
    let reward = bench.one("capo", input_of(&wrong)).expect("a reward");
    assert_eq!(values(&reward, "token_reward"), [0.0, -1.0, 0.0]);
}

#[test]
fn a3_capo_token_rewards_need_an_outcome() {
    let bench = capo("Wrong steps: []");
    let input = crate::Input { reference: None, ..input_of(THREE_STEPS) };
    let failure = bench.one("capo", input).expect_err("no reference, no outcome");
    assert_eq!(failure.kind, FailureKind::BadReference);
    assert_eq!(failure.evidence.steps.expect("steps were judged").len(), 3);
}

#[test]
fn splitter_defines_the_steps() {
    let check = |splitter: &str, expected: &[&str]| {
        let config = format!(
            "[[scorer]]\nname = 's'\nkind = 'critic'\nmode = 'capo'\nmax_tokens = 64\n{splitter}"
        );
        let reply = |_: &str| "Wrong steps: [2]".to_owned();
        let bench = Bench::replying(&config, reply);
        let found = bench.one("s", input_of("1 + 1 = 2\n2 + 2 = 5\n\nSo it is 5."));
        assert_eq!(labels(&found.expect("a reward")), expected);
    };
    check("", &["right", "wrong"]);
    check("splitter = 'lines'", &["right", "wrong", "right"]);
}

#[test]
fn critiques_share_their_prompt() {
    let bench = capo("Wrong steps: []");
    let reward = bench.one("capo", input_of(THREE_STEPS)).expect("a reward");
    let usage = reward.evidence.trace.expect("a model was called").usage;
    let unique = usage.input_tokens / 4 + usage.output_tokens;
    assert!(usage.computed_tokens * 100 <= unique * 105, "{usage:?} for {unique} unique tokens");
    assert_eq!(reward.evidence.outputs.expect("explained").len(), 4);
}

/// A right thought with a detour, a right one without, and a wrong one.
#[test]
fn a4_tp_grpo_thoughts_of_a_group() {
    let config = "
[[scorer]]
name = 'thoughts'
kind = 'critic'
mode = 'thoughts'
outcome = 'math'
alpha = 0.6
variance = 'population'
max_tokens = 64
";
    let bench = Bench::replying(config, |prompt: &str| {
        let said = if prompt.contains("Matching steps") {
            "Step 1: it says 5.\nMatching steps: [1]"
        } else if prompt.contains("detour") {
            "Wrong steps: [2, 3]"
        } else {
            "Wrong steps: []"
        };
        said.to_owned()
    });
    let responses = [
        "<think>Add.\n\nIs it 5?\n\nA detour.\n\nIt is 4.</think>\\boxed{4}",
        "<think>It is 4.</think>\\boxed{4}",
        "<think>It is 5.\n\nOr so.</think>\\boxed{5}",
        "<think>It is 4.</think>\\boxed{4}",
    ];
    let whole = bench.one("thoughts", group(&responses)).expect("a reward");
    close(whole.score, 0.75);
    let members = whole.evidence.members.expect("a group");
    let member = |index: usize| members[index].outcome.as_ref().expect("a reward");
    // Outcomes 1, 1, 0, 1: mean 3/4, variance 3/16. r_c = 0.6 * 3/4.
    let (right, wrong) = (0.25 / 0.1875_f64.sqrt(), -0.75 / 0.1875_f64.sqrt());
    let check = |index: usize, expected_labels: &[&str], expected: &[f64]| {
        assert_eq!(labels(member(index)), expected_labels);
        let found = values(member(index), "token_advantage");
        assert_eq!(found.len(), expected.len());
        for (value, expected) in found.into_iter().zip(expected) {
            close(value, *expected);
        }
    };
    let detour = ["right", "wrong", "wrong", "right"];
    check(0, &detour, &[right, right - 0.45, right]);
    check(1, &["right"], &[right]);
    check(2, &["matching", "mismatched"], &[wrong, 0.0]);

    let alone = bench.one("thoughts", input_of(responses[0])).expect("a reward");
    // A group of one ranks nothing, and its accuracy is 1.
    let found = values(&alone, "token_advantage");
    close(found[0], 0.0);
    close(found[1], -0.6);
}

#[test]
fn a4_member_without_outcome_fails_alone() {
    let config = "
[[scorer]]
name = 'thoughts'
kind = 'critic'
mode = 'thoughts'
outcome = 'math'
";
    let bench = Bench::replying(config, |_: &str| "Wrong steps: []".to_owned());
    let input = group(&["<think>It is 4.</think>\\boxed{4}", "\\boxed{4}"]);
    let failure = bench.one("thoughts", input).expect_err("one has no thought");
    assert_eq!(failure.reason.code, "no_thought");
    let members = failure.evidence.members.expect("a group");
    assert!(members[0].outcome.is_ok() && members[1].outcome.is_err());
}

#[test]
fn a5_retrospective_share_of_right_steps() {
    let config = "
[[scorer]]
name = 'plain'
kind = 'critic'
mode = 'retrospective'

[[scorer]]
name = 'beside'
kind = 'critic'
mode = 'retrospective'
outcome = 'math'
";
    let bench = Bench::replying(config, |_: &str| {
        let judgement = r#"{"steps": ["right", "wrong", "right"], "overall": "right"}"#;
        format!("Step 2: no.\nJudgement: {judgement}")
    });
    assert_eq!(bench.check(), Ok(()));
    let check = |scorer: &str, response: &str, label: &str| {
        let reward = bench.one(scorer, input_of(response)).expect("a reward");
        close(reward.score, 2.0 / 3.0);
        assert_eq!(reward.label.as_deref(), Some(label));
        assert_eq!(labels(&reward), ["right", "wrong", "right"]);
    };
    check("plain", THREE_STEPS, "right");
    check("beside", THREE_STEPS, "agrees");
    check("beside", &THREE_STEPS.replace("{4}", "{7}"), "disagrees");
    let unknown = crate::Input { reference: None, ..input_of(THREE_STEPS) };
    let reward = bench.one("beside", unknown).expect("r does not need it");
    assert_eq!(reward.label.as_deref(), Some("outcome_unknown"));
}

#[test]
fn a6_self_verdicts_choose_a_response() {
    let config = "
[[scorer]]
name = 'best'
kind = 'critic'
mode = 'rerank'

[[scorer]]
name = 'vote'
kind = 'critic'
mode = 'rerank'
select = 'vote'
";
    let bench = Bench::replying(config, |prompt: &str| {
        let verdict = if prompt.contains("sure") { "Yes" } else { "No" };
        verdict.to_owned()
    });
    assert_eq!(bench.check(), Ok(()));
    let responses = ["perhaps \\boxed{5}", "surely \\boxed{4}", "\\boxed{5}"];
    let check = |scorer: &str| {
        let whole = bench.one(scorer, group(&responses)).expect("a choice");
        assert_eq!(whole.label.as_deref(), Some("1"));
        close(whole.score, 1.0);
        let members = whole.evidence.members.expect("a group");
        assert_eq!(members[1].rank, Some(1));
        close(members[0].outcome.as_ref().expect("judged").score, 0.0);
    };
    check("best");
    check("vote");
}

/// Says Yes, and gives no numbers for prompts with a word.
struct Broken {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
}

impl Script for Broken {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let prompt = self.tokenizer.decode(token_ids, false).expect("known tokens");
        let broken = prompt.contains("broken");
        vec![if broken { f32::NAN } else { 0.0 }; self.vocab_size]
    }
}

/// Whoever met no failure would win otherwise.
#[test]
fn rerank_has_no_choice_while_a_member_may_be_judged_again() {
    let config =
        "[[scorer]]\nname = 'best'\nkind = 'critic'\nmode = 'rerank'\nmin_label_mass = 0\n";
    let bench = Bench::scripted(config, TinyHead::Vocab, |host: &Host| Broken {
        tokenizer: host.tokenizer.clone(),
        vocab_size: host.engine.limits().vocab_size,
    });
    assert!(bench.one("best", group(&["\\boxed{4}", "\\boxed{5}"])).is_ok());
    let failure = bench.one("best", group(&["\\boxed{4}", "broken"])).expect_err("no choice");
    assert_eq!((failure.kind, failure.reason.code), (FailureKind::Internal, "not_finite"));
    assert_eq!(failure.evidence.members.map(|members| members.len()), Some(2));
}
