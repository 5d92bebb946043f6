use tiny_models::{Preset, TinyHead};

use super::judgement::Judgement;
use crate::testing::{Bench, read_registry};
use crate::{FailureKind, Input, Outcome, Passage, ScoreOptions};

const CONFIG: &str = "
[[scorer]]
name = 'written'
kind = 'grounded'
alpha = 0.25
max_tokens = 80

[[scorer]]
name = 'read'
kind = 'grounded'
mode = 'labels'

[[scorer]]
name = 'free'
kind = 'grounded'
constrain = false
max_sentences = 3
max_tokens = 80
";

fn input(response: &str) -> Input {
    Input {
        prompt: Some(Passage::Text("What is the moon?".to_owned()).into()),
        context: Some(vec!["The moon is a rock.".to_owned(), "It has ice.".to_owned()]),
        ..Input::of(response)
    }
}

/// Returns the sentence in a prompt.
fn sentence(prompt: &str) -> String {
    let from = prompt.find("The sentence:\n> ").expect("it has one");
    let rest = &prompt[from + "The sentence:\n> ".len()..];
    rest.lines().next().unwrap_or_default().to_owned()
}

fn reply(prompt: &str) -> String {
    let (faithful, correct) = match sentence(prompt).as_str() {
        "It is a rock." => ("yes", "yes"),
        "It is far away." => ("no", "yes"),
        "It is cheese." => ("no", "no"),
        other => panic!("unexpected prompt {other:?}"),
    };
    if prompt.contains("Write three lines") {
        format!("Faithful: {faithful}\nReasoning: so it is said.\nCorrect: {correct}")
    } else {
        let word = if prompt.contains("Do the documents support") { faithful } else { correct };
        if word == "yes" { "Yes" } else { "No" }.to_owned()
    }
}

fn values(outcome: &Outcome, label: &str) -> Vec<f64> {
    let spans = &outcome.as_ref().expect("a reward").evidence.spans;
    let spans = spans.iter().flatten().filter(|span| span.label == label);
    spans.map(|span| span.value.expect("a value")).collect()
}

#[track_caller]
fn close(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len());
    for (value, expected) in values.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-6, "{values:?}");
    }
}

#[test]
fn a9_trm_sentence_scores() {
    let bench = Bench::replying(CONFIG, reply);
    assert_eq!(bench.check(), Ok(()));
    let response = "<think>It is ice cream.</think>It is a rock. It is far away. It is cheese.";
    let check = |scorer: &str, alpha: f64| {
        let outcome = bench.one(scorer, input(response));
        close(&values(&outcome, "faithful"), &[1.0, 0.0, 0.0]);
        close(&values(&outcome, "correct"), &[1.0, 1.0, 0.0]);
        let reward = outcome.expect("a reward");
        let expected = (1.0 + (1.0 - alpha) + 0.0) / 3.0;
        assert!((reward.score - expected).abs() < 1e-6);
        let steps = reward.evidence.steps.expect("it has sentences");
        let labels: Vec<&str> = steps.iter().map(|step| &*step.label).collect();
        assert_eq!(labels, ["right", "unfaithful", "unfaithful_and_incorrect"]);
        assert_eq!(steps[0].span, 31..44);
    };
    check("written", 0.25);
    check("read", 0.5);
    let reasons = bench.one("written", input("It is a rock.")).expect("a reward");
    let steps = reasons.evidence.steps.expect("it has sentences");
    assert_eq!(steps[0].critique.as_deref(), Some("so it is said."));
}

#[test]
fn malformed_judgements_fail_without_a_score() {
    let whole = "Faithful: yes\nReasoning: so.\nCorrect: no";
    let judgement = Judgement::read(whole).expect("it is whole");
    assert_eq!((judgement.faithful, judgement.correct), (1.0, 0.0));
    let thought = format!("<think>Faithful: no</think>\n{whole}\n");
    assert_eq!(Judgement::read(&thought), Ok(judgement));
    for (from, to) in [
        ("Faithful: yes\n", ""),
        ("\nCorrect: no", ""),
        ("Faithful", "faithful"),
        ("yes", "Yes"),
        ("yes", "perhaps"),
        ("yes", ""),
        ("no", "no."),
        ("so.", " "),
        ("so.", "so.\nCorrect: yes"),
        ("Reasoning: ", ""),
        ("Faithful", "Hm.\nFaithful"),
        ("Faithful", "<think>Faithful"),
    ] {
        let broken = whole.replacen(from, to, 1);
        let failure = Judgement::read(&broken).expect_err(&broken);
        assert_eq!(failure.kind, FailureKind::ParseError);
    }
    let bench = Bench::replying(CONFIG, |prompt: &str| match sentence(prompt).as_str() {
        "Good." => whole.to_owned(),
        _ => "Fine.".to_owned(),
    });
    let failure = bench.one("free", input("Good. Bad.")).expect_err("one is broken");
    assert_eq!(failure.reason.code, "judgement_malformed");
    let steps = failure.evidence.steps.expect("the other is kept");
    assert_eq!((steps[0].score, steps[1].score), (Some(0.5), None));
}

#[test]
fn ungroundable_inputs_are_refused() {
    let bench = Bench::replying(CONFIG, reply);
    let check = |input: Input, code: &str| {
        let failure = bench.one("free", input).expect_err(code);
        assert_eq!((failure.kind, failure.reason.code), (FailureKind::Refused, code));
    };
    let without = |context| Input { context, ..input("It is a rock.") };
    check(without(None), "context_missing");
    check(without(Some(vec![])), "context_missing");
    check(without(Some(vec![" ".to_owned()])), "context_missing");
    check(input("<think>It is a rock."), "no_sentences");
    check(input(&"It is a rock. ".repeat(4)), "too_many_sentences");
    let (_, problems) = read_registry("[[scorer]]\nname = 'a'\nkind = 'grounded'\nalpha = 2");
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn sentences_share_documents_and_answer() {
    let bench = Bench::replying(CONFIG, reply);
    let response = "It is a rock. It is far away. It is cheese.";
    let reward = bench.one("written", input(response)).expect("a reward");
    let usage = reward.evidence.trace.expect("a model was called").usage;
    assert!(usage.computed_tokens < usage.input_tokens, "{usage:?}");
}

#[test]
fn scores_do_not_depend_on_company() {
    let config = "
[[scorer]]
name = 'read'
kind = 'grounded'
mode = 'labels'
min_label_mass = 0

[[scorer.message]]
role = 'user'
content = '{{documents}} say {{sentence}}?'

[[scorer.message_correct]]
role = 'user'
content = '{{documents}} so {{sentence}}?'
";
    let bench = Bench::real(config, Preset::Qwen2, TinyHead::Vocab, 5);
    assert_eq!(bench.check(), Ok(()));
    let inputs: Vec<Input> = (0..4).map(|n| input(&format!("It is {n}. It is."))).collect();
    let verdicts = bench.independent("read", &inputs, ScoreOptions::default());
    assert!(verdicts.iter().all(Result::is_ok), "{verdicts:?}");
}
