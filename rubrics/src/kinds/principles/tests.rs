use std::sync::Arc;

use engine::Host;
use proptest::prelude::*;
use testkit::fake::{self, Replies, Script};
use tiny_models::{Preset, TinyHead, TinySpec};

use super::*;
use crate::outcome::FailureKind;
use crate::testing::{Beliefs, Bench, read_registry as read_config, unique_tokens, verdicts};
use crate::{Passage, RequestRecorder, Responses, ScoreOptions};

fn config(options: &str) -> String {
    format!("[[scorer]]\nname = 's'\nkind = 'principles'\n{options}")
}

fn input(response: &str) -> Input {
    Input { prompt: Some(Passage::Text("What is 2 + 2?".to_owned()).into()), ..Input::of(response) }
}

fn by(principles: &[&str]) -> Input {
    Input { principles: Some(principles.iter().map(ToString::to_string).collect()), ..input("4") }
}

fn belief(yes: f32, no: f32) -> Vec<(String, f32)> {
    vec![("Yes".to_owned(), yes), ("No".to_owned(), no)]
}

/// Log-odds of 2 for principles that say "right", of -1 for those that say "brief", else 0.
fn believing(options: &str) -> Bench {
    let belief = |seen: &str| {
        let principle = seen.rsplit("Principle: ").next().unwrap_or_default();
        if principle.starts_with("right") {
            belief(2.0, 0.0)
        } else if principle.starts_with("brief") {
            belief(-1.0, 0.0)
        } else {
            belief(0.0, 0.0)
        }
    };
    Bench::scripted(&config(options), TinyHead::Vocab, |host| Beliefs::new(host, belief))
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn a1_rlbff_log_odds() {
    let check = |options: &str, expected: f64| {
        let belief = |_: &str| {
            let mut belief = belief(1.0, -0.5);
            belief.extend([(" Yes".to_owned(), -2.0), (" No".to_owned(), -3.0)]);
            belief
        };
        let bench =
            Bench::scripted(&config(options), TinyHead::Vocab, |host| Beliefs::new(host, belief));
        assert_eq!(bench.check(), Ok(()));
        let reward = bench.one("s", by(&["correctness"])).expect("a reward");
        close(reward.raw.expect("log-odds"), expected);
        close(reward.score, 1.0 / (1.0 + (-expected).exp()));
        assert_eq!(reward.label.as_deref(), Some("yes"));
        let parts = reward.evidence.parts.expect("a part for each principle");
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].name, "correctness");
        let trace = reward.evidence.trace.expect("a model was called");
        assert!(trace.prompt.is_some() && trace.model.is_some());
    };
    // The words after a space say 1 by themselves; those without say 1.5.
    let both = (1f64.exp() + (-2f64).exp()).ln() - ((-0.5f64).exp() + (-3f64).exp()).ln();
    check("spellings = 'bare'\nmin_label_mass = 0.9", 1.5);
    check("spellings = 'spaced'\nmin_label_mass = 0.01", 1.0);
    check("", both);
}

#[test]
fn several_principles_make_one_score() {
    let yes = 1.0 / (1.0 + (-2f64).exp());
    let no = 1.0 / (1.0 + 1f64.exp());
    let principles = "principles = ['right']\n";
    let weighed = "[[scorer.principle]]\ntext = 'brief'\nname = 'short'\nweight = 3";
    let check = |options: &str, expected: f64| {
        let bench = believing(&format!("{principles}{options}\n{weighed}"));
        let reward = bench.one("s", input("4")).expect("a reward");
        close(reward.score, expected);
        assert_eq!(reward.raw, None);
        let parts = reward.evidence.parts.expect("parts");
        let names: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
        assert_eq!(names, ["right", "short"]);
        let raw = |at: usize| parts[at].outcome.clone().map(|o| o.expect("a reward").raw);
        assert_eq!(raw(0), Some(Some(2.0)));
        assert_eq!(raw(1), Some(Some(-1.0)));
    };
    check("", (yes + 3.0 * no) / 4.0);
    check("combine = 'min'", no);
    check("combine = 'product'", yes * no.powi(3));
    // The input's own principles come after the configured ones.
    let bench = believing(principles);
    let reward = bench.one("s", by(&["brief"])).expect("a reward");
    close(reward.score, f64::midpoint(yes, no));
}

#[test]
fn principles_that_cannot_be_judged_are_refused() {
    let bench = believing("principles = ['accurate']");
    let check = |input: Input, code: &str, detail: &str| {
        let failure = bench.one("s", input).expect_err("it is refused");
        assert_eq!(failure.kind, FailureKind::Refused);
        assert_eq!(failure.reason.code, code);
        let found = failure.reason.detail.expect("a detail");
        assert!(found.contains(detail), "{found}");
    };
    check(by(&["brief", " \n"]), "principle_empty", "principle 2 is empty");
    check(
        by(&["brief", "Brief "]),
        "principle_duplicate",
        "principle 2 is the same as principle 1",
    );
    check(by(&["accurate"]), "principle_duplicate", "principle 1");
    let many: Vec<String> = (0..2000).map(|n| format!("p{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(by(&many), "principles_too_many", "2001 principles");
    let bench = believing("");
    let failure = bench.one("s", input("4")).expect_err("nothing to judge by");
    assert_eq!(failure.reason.code, "principles_missing");
}

#[test]
fn all_configuration_errors_are_reported() {
    let check = |options: &str, expected: &str| {
        let (_, problems) = read_config(&config(options));
        assert!(problems.len() == 1 && problems[0].contains(expected), "{options}: {problems:?}");
    };
    check("principles = ['a', '']", "principle 1 is empty");
    check("principles = ['a', 'A']", "principle 1 is the same as principle 0");
    check("principles = 'a'", "a list of texts");
    check("combine = 'max'", "'max' is not one of mean, min, product");
    check("evidence = true", "generative = true only");
    check("max_tokens = 8", "generative = true only");
    check(
        "generative = true\nevidence = true\ntemplate_role = 'principle'",
        "holds the bare principle",
    );
    check("[[scorer.principle]]\ntext = 'a'\nweight = 0", "must be more than 0");
    check(
        "[[scorer.message]]\nrole = 'user'\ncontent = '{{principle}}'",
        "must have the slot 'conversation'",
    );
}

#[test]
fn low_label_mass_gives_no_verdict() {
    let belief = |_: &str| {
        let mut belief = belief(0.0, 0.0);
        belief.push(("a".to_owned(), 3.0));
        belief
    };
    let bench = Bench::scripted(&config("principles = ['x']"), TinyHead::Vocab, |host| {
        Beliefs::new(host, belief)
    });
    let failure = bench.one("s", input("4")).expect_err("it abstains");
    assert_eq!(failure.kind, FailureKind::Abstain);
    assert_eq!(failure.reason.code, "low_label_mass");
    let parts = failure.evidence.parts.expect("parts");
    assert!(parts[0].outcome.as_ref().is_some_and(Result::is_err));
    let mass = failure.evidence.trace.expect("a trace").label_mass;
    close(mass.expect("mass"), 2.0 / (2.0 + 3f64.exp()));
}

#[test]
fn empty_response_is_refused_without_a_request() {
    let bench = believing("principles = ['right']");
    for response in ["", " \n\t", "<think>It is 4.</think>"] {
        let reward = bench.one("s", input(response)).expect("the least score");
        close(reward.score, 0.0);
        assert_eq!(reward.reason.code, "too_little_content");
    }
}

#[test]
fn model_without_verdict_tokens_is_refused_at_load() {
    let toml = config("principles = ['x']");
    let bench = Bench::real(&toml, Preset::Qwen2, TinyHead::Sequence, 0);
    let problems = bench.check().expect_err("it has no vocabulary");
    assert!(problems[0].contains("no vocabulary"), "{problems:?}");
}

/// A model whose template knows the role.
fn host_with_role(dir: &std::path::Path, script: impl FnOnce(&Host) -> RoleSeen) -> Host {
    tiny_models::make(dir, &TinySpec::from(Preset::Qwen2)).expect("a folder is made");
    let path = dir.join("tokenizer_config.json");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let known = text.replace("'user', 'assistant']", "'user', 'assistant', 'principle']");
    assert_ne!(known, text);
    std::fs::write(&path, known).expect("it is written");
    fake::host("m", dir, script).expect("it loads")
}

type RoleSeen = Beliefs<fn(&str) -> Vec<(String, f32)>>;

/// Certain if the principle is in its own message, directly before the answer.
fn role_seen(seen: &str) -> Vec<(String, f32)> {
    let own = "<|im_end|>\n<|im_start|>principle\nright<|im_end|>\n<|im_start|>assistant\n";
    let wanted = "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n4";
    if seen == format!("{wanted}{own}") { belief(3.0, 0.0) } else { belief(-3.0, 0.0) }
}

#[test]
fn a1_principle_uses_its_own_role_if_supported() {
    let check = |role: &str, expected: f64| {
        let dir = tempfile::tempdir().expect("a folder");
        let host = host_with_role(dir.path(), |host| Beliefs::new(host, role_seen as _));
        let options = format!("principles = ['right']\ntemplate_role = '{role}'");
        let bench = Bench::over(&config(&options), host);
        assert_eq!(bench.check(), Ok(()));
        close(bench.one("s", input("4")).expect("a reward").raw.expect("raw"), expected);
    };
    check("auto", 3.0);
    check("principle", 3.0);
    check("prompt", -3.0);
    // The template of the made models refuses other roles than its own.
    let bench = believing("principles = ['right']\ntemplate_role = 'principle'");
    let problems = bench.check().expect_err("there is no such role");
    assert!(problems[0].contains("does not know the role"), "{problems:?}");
    let bench = believing("principles = ['right']\ntemplate_role = 'auto'");
    assert_eq!(bench.check(), Ok(()));
}

const REAL: &str = "
min_label_mass = 0.0
principles = ['right', 'brief', 'polite', 'calm']
";

#[test]
fn scores_do_not_depend_on_company() {
    let toml = config(REAL);
    let bench = Bench::real(&toml, Preset::Qwen2, TinyHead::Vocab, 5);
    let inputs: Vec<Input> = (0..6).map(|n| input(&format!("It is {n}"))).collect();
    let together = verdicts(bench.all("s", &inputs, ScoreOptions::default()));
    assert!(together.iter().all(Result::is_ok), "{together:?}");
    let cached = verdicts(bench.all("s", &inputs, ScoreOptions::default()));
    assert_eq!(cached, together);
    let alone = inputs.iter().flat_map(|input| {
        let bench = Bench::real(&toml, Preset::Qwen2, TinyHead::Vocab, 5);
        bench.all("s", std::slice::from_ref(input), ScoreOptions::default())
    });
    assert_eq!(verdicts(alone.collect()), together);
}

/// k principles cost one prefill of the conversation and k endings.
#[test]
fn conversation_is_computed_once_for_all_principles() {
    let mut bench = Bench::real(&config(REAL), Preset::Qwen2, TinyHead::Vocab, 5);
    let recorder = Arc::new(RequestRecorder::default());
    bench.tools.recorder = Some(recorder.clone());
    let long = "so the sum of both is four, ".repeat(6);
    let reward = bench.one("s", input(&long)).expect("a reward");
    let sequences: Vec<Arc<[u32]>> = recorder.take().into_iter().map(|t| t.token_ids).collect();
    assert_eq!(sequences.len(), 4);
    let usage = reward.evidence.trace.expect("a trace").usage;
    let unique = unique_tokens(&sequences);
    assert!(
        usage.computed_tokens * 100 <= unique * 105,
        "{} computed, {unique} unique",
        usage.computed_tokens
    );
    assert!(unique * 2 < usage.input_tokens, "nothing to share");
}

/// Replies with a text, with log-odds of 1.5 at Yes or No after a space.
struct Doubting<F> {
    replies: Replies<F>,
    ids: [u32; 2],
}

const DOUBT: f32 = 1.5;

impl<F: Fn(&str) -> String + Send> Script for Doubting<F> {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let mut logits = self.replies.logits(token_ids);
        let [yes, no] = self.ids.map(|id| id as usize);
        let most = logits.iter().copied().fold(0.0, f32::max);
        if logits[yes] >= most {
            logits[no] = most - DOUBT;
        } else if logits[no] >= most {
            logits[yes] = most - DOUBT;
        }
        logits
    }
}

fn writing(options: &str, reply: &str) -> Bench {
    let reply = reply.to_owned();
    let toml = config(&format!("generative = true\nprinciples = ['right']\n{options}"));
    let bench = Bench::scripted(&toml, TinyHead::Vocab, |host| Doubting {
        replies: Replies::new(host, move |_: &str| reply.clone()),
        ids: [" Yes", " No"].map(|word| {
            let ids = host.tokenizer.encode(word, false);
            ids.expect("a token")[0]
        }),
    });
    assert_eq!(bench.check(), Ok(()));
    bench
}

#[test]
fn a1_rlbff_generative_judgement() {
    let check = |reply: &str, expected: f64| {
        let bench = writing("", reply);
        let reward = bench.one("s", input("4")).expect("a reward");
        close(reward.raw.expect("log-odds"), expected);
        let outputs = reward.evidence.outputs.expect("an explanation requested");
        assert_eq!(outputs[0].text, reply);
    };
    check("It adds up.\nFinal Judgement: Yes", 1.5);
    check("It does not.\nFinal Judgement: No", -1.5);
    check("No or Yes?\nFinal Judgement: No\nFinal Judgement: Yes\n", 1.5);
}

/// E1, E2: what cannot be read is no score; the published value for it is an option.
#[test]
fn e1_missing_verdict_token_is_a_failure_or_zero() {
    let broken = [
        "Yes",
        "",
        "Final Judgement: Maybe",
        "Final Judgement: Yes!",
        "Final Judgement: yes",
        "Final Judgement: No, it is not",
    ];
    for reply in broken {
        let failure = writing("", reply).one("s", input("4"));
        let failure = failure.expect_err("it cannot be read");
        assert_eq!(failure.kind, FailureKind::ParseError, "{reply}");
        let reward = writing("missing = 'zero'", reply).one("s", input("4"));
        let reward = reward.expect("the published value");
        assert_eq!((reward.raw, reward.label.as_deref()), (Some(0.0), Some("unknown")));
        close(reward.score, 0.5);
    }
    // A text that was cut is not one that was read to its end.
    for options in ["max_tokens = 4", "max_tokens = 4\nmissing = 'zero'"] {
        let bench = writing(options, "It adds up.\nFinal Judgement: Yes");
        let failure = bench.one("s", input("4")).expect_err("it was cut");
        assert_eq!(failure.kind, FailureKind::Truncated);
    }
    // The other verdict is not among the 20 likeliest tokens.
    let toml = config("generative = true\nprinciples = ['right']");
    let bench = Bench::replying(&toml, |_: &str| "Final Judgement: Yes".to_owned());
    let failure = bench.one("s", input("4")).expect_err("there is one number of two");
    assert_eq!(failure.reason.code, "verdict_outside_top");
}

#[test]
fn evidence_is_found_in_the_response() {
    let check = |quote: &str, expected: Option<std::ops::Range<usize>>| {
        let reply = format!("Evidence: \"{quote}\"\nFinal Judgement: Yes");
        let bench = writing("evidence = true", &reply);
        let response = Input::of("ä: the sum is 4");
        let reward = bench.one("s", response).expect("a reward");
        let found = expected.is_some();
        let code = reward.reason.code;
        assert_eq!(code == "evidence_not_found", !found, "{quote}: {code}");
        let spans = reward.evidence.spans.expect("evidence requested");
        assert_eq!(spans.first().map(|s| s.span.clone()), expected, "{quote}");
        assert!(spans.iter().all(|span| span.label == "right"));
    };
    check("the sum is 4", Some(3..15));
    check("the sun is 4", Some(3..15));
    check("xyzzy", None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// No text gives a special token, and all lines of it stay in their quotation.
    #[test]
    fn no_text_leaves_its_place(response in "(Principle: |Yes|<\\|im_end\\|>|<\\|im_start\\|>|\n|\r|\u{2028}|>| |User:|Final Judgement: Yes|\\{\\{principle\\}\\}){1,6}x") {
        let mut bench = believing("principles = ['right']");
        let recorder = Arc::new(RequestRecorder::default());
        bench.tools.recorder = Some(recorder.clone());
        let shown = |response: &str| {
            let reward = bench.one("s", input(response)).expect("a reward");
            let recorded = recorder.take().remove(0);
            let special = |id: &&u32| bench.host.tokenizer.is_special(**id);
            let special = recorded.token_ids.iter().filter(special).count();
            let text = bench.host.tokenizer.decode(&recorded.token_ids, true).expect("a text");
            let margin = text.lines().filter(|line| !line.starts_with("> ")).map(str::to_owned);
            (special, margin.collect::<Vec<_>>(), reward.raw)
        };
        prop_assert_eq!(shown(&response), shown("4"));
    }
}

#[test]
fn groups_are_judged_one_by_one() {
    let bench = believing("principles = ['right']");
    let group = Input {
        responses: Responses::Group(vec![
            Passage::Text("4".to_owned()),
            Passage::Text(String::new()),
        ]),
        ..input("")
    };
    let reward = bench.one("s", group).expect("a mean");
    let members = reward.evidence.members.expect("members");
    assert_eq!(members[0].rank, Some(1));
    close(members[1].outcome.as_ref().expect("the least score").score, 0.0);
}
