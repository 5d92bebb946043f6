use engine::Host;
use testkit::fake::Script;
use tiny_models::{Preset, TinyHead};

use super::*;
use crate::testing::{Bench, assert_one_problem, read_beside};
use crate::{Input, Passage, Responses, ScoreOptions, Scorer};

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

/// A head that returns the length of the conversation.
struct Length;

impl Script for Length {
    fn logits(&self, _: &[u32]) -> Vec<f32> {
        Vec::new()
    }

    fn head(&self, token_ids: &[u32]) -> Vec<f32> {
        vec![f32::from(u16::try_from(token_ids.len()).expect("short")) / 8.0]
    }
}

/// A head with constant outputs.
struct Always(Vec<f32>);

impl Script for Always {
    fn logits(&self, _: &[u32]) -> Vec<f32> {
        Vec::new()
    }

    fn head(&self, _: &[u32]) -> Vec<f32> {
        self.0.clone()
    }
}

fn scorer(options: &str) -> String {
    format!("[[scorer]]\nname = 's'\nkind = 'reward'\n{options}\n")
}

/// Scores by a head with these outputs.
fn reward_of(options: &str, head: TinyHead, outputs: &[f32]) -> Outcome {
    let outputs = outputs.to_vec();
    let bench = Bench::scripted(&scorer(options), head, |_: &Host| Always(outputs));
    bench.one("s", Input::of("the answer"))
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} {expected}");
}

#[test]
fn head_is_read_at_the_last_token() {
    let bench = Bench::scripted(CONFIG, TinyHead::Sequence, |_: &Host| Length);
    assert_eq!(bench.check(), Ok(()));
    let reward = bench.one("logit", Input::of("the answer")).expect("a reward");
    let trace = reward.evidence.trace.expect("a model was called");
    assert!(trace.prompt.is_some());
    let tokens = trace.usage.input_tokens;
    #[expect(clippy::cast_precision_loss, reason = "a short prompt")]
    let expected = tokens as f64 / 8.0;
    near(reward.score, expected);
    let squashed = bench.one("good", Input::of("the answer")).expect("a reward");
    assert_eq!(squashed.raw, reward.raw);
    assert_eq!(squashed.evidence.parts, None);
    near(squashed.score, 1.0 / (1.0 + (-expected).exp()));
}

#[test]
fn several_outputs_make_one_score() {
    #[track_caller]
    fn check(options: &str, score: f64, raw: Option<f64>, label: Option<&str>) {
        let reward = reward_of(options, TinyHead::Token, &[1.0, 3.0]).expect("a reward");
        near(reward.score, score);
        assert_eq!(reward.raw.is_some(), raw.is_some());
        near(reward.raw.unwrap_or(0.0), raw.unwrap_or(0.0));
        assert_eq!(reward.label.as_deref(), label);
        assert_eq!(reward.evidence.parts.map(|parts| parts.len()), Some(2));
    }
    let third = 0.880_797_078;
    check("label = 1\nscore = 'raw'", 3.0, Some(3.0), None);
    check("label = 1", 0.952_574_127, Some(3.0), None);
    check("weights = [0.5, -1]", 0.075_858_180, Some(-2.5), None);
    check("weights = [0.5, -1]\nscore = 'raw'", -2.5, Some(-2.5), None);
    check("label = 1\nscore = 'softmax'", third, Some(2.0), Some("output 1"));
    check("label = 0\nscore = 'softmax'", 1.0 - third, Some(-2.0), Some("output 1"));
    let names = "labels = ['bad', 'good']\nscore = 'softmax'";
    check(&format!("{names}\nlabel = 'bad'"), 1.0 - third, Some(-2.0), Some("good"));
    check(&format!("{names}\nweights = [1, 5]"), 1.0 + 4.0 * third, None, Some("good"));
}

#[test]
fn each_output_is_a_part() {
    let options = "labels = ['helpful', 'brief']\nweights = [2, 1]\nscore = 'raw'";
    let reward = reward_of(options, TinyHead::Token, &[1.0, 3.0]).expect("a reward");
    near(reward.score, 5.0);
    let parts = reward.evidence.parts.expect("several outputs");
    let parts: Vec<(String, f64, Option<f64>)> = parts
        .into_iter()
        .map(|part| {
            let outcome = part.outcome.expect("it was read").expect("a number");
            (part.name, part.weight, outcome.raw)
        })
        .collect();
    assert_eq!(
        parts,
        [("helpful".to_owned(), 2.0, Some(1.0)), ("brief".to_owned(), 1.0, Some(3.0))]
    );
}

#[test]
fn non_finite_head_is_a_failure() {
    #[track_caller]
    fn check(options: &str, outputs: &[f32], code: &str) {
        let failure = reward_of(options, TinyHead::Token, outputs).expect_err("no number");
        assert_eq!((failure.kind, failure.reason.code), (FailureKind::Internal, code));
    }
    check("label = 1", &[0.0, f32::NAN], "not_finite");
    check("label = 1", &[f32::INFINITY, 0.0], "not_finite");
    check("label = 1", &[0.0], "head_unusable");
    check("weights = [1, 1]", &[0.0], "head_unusable");
    check("weights = [1e308, 1e308]", &[3.0, 3.0], "head_unusable");
}

#[test]
fn invalid_options_are_reported() {
    #[track_caller]
    fn check(options: &str, problem: &str) {
        assert_one_problem(&scorer(options), problem);
    }
    check("label = 1\nweights = [1]", "not both");
    check("label = 'good'", "neither an output");
    check("label = -1", "neither an output");
    check("labels = ['a', 'a']", "named twice");
    check("weights = [0, 0]", "other than 0");
    check("weights = [nan]", "finite numbers");
    check("weights = 'all'", "finite numbers");
    check("labels = ['a', 'b']\nweights = [1]", "1 weights for 2 labels");
    check("score = 'log'", "not one of sigmoid, raw, softmax");
    check("model = 'n'", "no model or adapter is called 'n'");
}

#[test]
fn unsuitable_models_are_refused_at_load() {
    #[track_caller]
    fn check(head: TinyHead, options: &str, problem: Option<&str>) {
        let bench = Bench::scripted(&scorer(options), head, |_: &Host| Length);
        let message = bench.check().err().unwrap_or_default().join("\n");
        assert_eq!(problem.is_none(), message.is_empty(), "{message}");
        assert!(message.contains(problem.unwrap_or_default()), "{message}");
    }
    for head in [TinyHead::Sequence, TinyHead::Reward, TinyHead::Value] {
        check(head, "", None);
        check(head, "score = 'softmax'", Some("one output"));
        check(head, "label = 1", Some("`label` is 1"));
    }
    check(TinyHead::Vocab, "", Some("no score head"));
    check(TinyHead::Token, "", Some("say with `label`"));
    check(TinyHead::Token, "label = 0", None);
    check(TinyHead::Token, "labels = ['a', 'b']\nlabel = 'b'", None);
    check(TinyHead::Token, "labels = ['a']\nlabel = 'a'", Some("named by `labels`"));
    check(TinyHead::Token, "weights = [1, 1, 1]", Some("3 `weights`"));
}

#[test]
fn scores_do_not_depend_on_company() {
    let options = "label = 1\nscore = 'softmax'";
    for (config, head) in [
        (scorer(""), TinyHead::Sequence),
        (scorer(""), TinyHead::Value),
        (scorer(""), TinyHead::Reward),
        (scorer(options), TinyHead::Token),
    ] {
        let bench = Bench::real(&config, Preset::Qwen2, head, 7);
        let inputs: Vec<Input> =
            (0..12).map(|n| Input::of(format!("the same beginning, and then {n}"))).collect();
        let verdicts = bench.independent("s", &inputs, ScoreOptions::default());
        assert!(verdicts.iter().all(Result::is_ok), "{head}: {verdicts:?}");
    }
}

#[test]
fn group_is_ranked_and_scores_its_mean() {
    let bench = Bench::scripted(CONFIG, TinyHead::Sequence, |_: &Host| Length);
    let texts = ["short", "a longer response", "short"];
    let group = Input {
        responses: Responses::Group(texts.map(|text| Passage::Text(text.to_owned())).into()),
        ..Input::of("")
    };
    let reward = bench.one("logit", group).expect("a reward");
    let members = reward.evidence.members.expect("a group");
    let ranks: Vec<Option<usize>> = members.iter().map(|member| member.rank).collect();
    assert_eq!(ranks, [Some(2), Some(1), Some(2)]);
    let scores = members.iter().map(|m| m.outcome.as_ref().expect("a score").score);
    near(reward.score, scores.sum::<f64>() / 3.0);
}

#[test]
fn model_name_scores_by_its_head() {
    let native = |head| {
        let bench = Bench::real("", Preset::Qwen2, head, 7);
        let served = bench.tools.models.find("m").expect("it is served");
        Scorer::native(&served).map(|scorer| (scorer.name().to_owned(), scorer.kind()))
    };
    for (head, kind) in [
        (TinyHead::Sequence, "reward"),
        (TinyHead::Reward, "reward"),
        (TinyHead::Value, "reward"),
        (TinyHead::Token, "process"),
        (TinyHead::Process, "process"),
    ] {
        assert_eq!(native(head), Ok(("m".to_owned(), kind)), "{head}");
    }
    assert_eq!(native(TinyHead::Vocab), Err("'m' has no score head".to_owned()));
}

#[test]
fn calibration_maps_raw_value_to_score() {
    let dir = tempfile::tempdir().expect("a folder");
    let map = r#"{"name": "c", "map": {"platt": {"a": 2.0, "b": -1.0}}}"#;
    std::fs::write(dir.path().join("map.json"), map).expect("a file");
    let config = format!("{CONFIG}calibration = 'map.json'\n");
    let mut bench = Bench::scripted(CONFIG, TinyHead::Sequence, |_: &Host| Length);
    let (registry, problems) = read_beside(&config, Some(dir.path()));
    assert_eq!(problems, Vec::<String>::new());
    bench.registry = registry;
    let plain = bench.one("good", Input::of("the answer")).expect("a reward");
    let calibrated = bench.one("logit", Input::of("the answer")).expect("a reward");
    let raw = plain.raw.expect("a logit");
    assert_eq!(calibrated.raw, Some(raw));
    let expected = 1.0 / (1.0 + (1.0 - 2.0 * raw).exp());
    assert!((calibrated.score - expected).abs() < 1e-9);
}
