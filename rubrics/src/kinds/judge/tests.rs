use std::sync::Arc;

use proptest::prelude::*;
use tiny_models::{Preset, TinyHead};

use crate::outcome::{FailureKind, Score};
use crate::testing::{Beliefs, Bench, read_registry as read_config, verdicts};
use crate::{Input, Outcome, Passage, RequestRecorder, Responses, ScoreOptions};

fn config(options: &str) -> String {
    format!("[[scorer]]\nname = 's'\nkind = 'judge'\ncriteria = ['right']\n{options}")
}

fn input(response: &str) -> Input {
    Input { prompt: Some(Passage::Text("What is 2 + 2?".to_owned()).into()), ..Input::of(response) }
}

fn group(responses: &[&str]) -> Input {
    let responses = responses.iter().map(|text| Passage::Text((*text).to_owned()));
    Input { responses: Responses::Group(responses.collect()), ..input("") }
}

fn believing(options: &str, belief: impl Fn(&str) -> Vec<(String, f32)> + Send + 'static) -> Bench {
    let bench =
        Bench::scripted(&config(options), TinyHead::Vocab, |host| Beliefs::new(host, belief));
    assert_eq!(bench.check(), Ok(()));
    bench
}

fn replying(options: &str, reply: impl Fn(&str) -> String + Send + Clone + 'static) -> Bench {
    let bench = Bench::replying(&config(options), reply);
    assert_eq!(bench.check(), Ok(()));
    bench
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn part(reward: &Score, name: &str) -> Option<Score> {
    let parts = reward.evidence.parts.as_ref()?;
    let part = parts.iter().find(|part| part.name == name)?;
    part.outcome.clone()?.ok()
}

#[test]
fn a2_expected_grade_over_the_grade_tokens() {
    let grades = |seen: &str| {
        assert!(seen.ends_with("<|im_start|>assistant\n{\"score\":"), "{seen}");
        // 0.3 for 7, 0.1 for 8 and 0.2 for a token that is not a grade.
        let logits = [("7", 0.3_f32), ("8", 0.1), ("x", 0.2)];
        logits.map(|(text, p)| (text.to_owned(), p.ln())).to_vec()
    };
    let bench = believing("rationale = 'none'", grades);
    let reward = bench.one("s", input("4")).expect("a grade");
    close(reward.raw.expect("the grade"), 7.25);
    close(reward.score, 7.25 / 9.0);
    let mass = reward.evidence.trace.expect("a trace").label_mass;
    close(mass.expect("mass"), 0.4 / 0.6);
    let bench = believing("rationale = 'none'\nmin_label_mass = 0.7", grades);
    let failure = bench.one("s", input("4")).expect_err("it abstains");
    assert_eq!(failure.kind, FailureKind::Abstain);
}

#[test]
fn a2_a_grade_comes_with_its_rationale() {
    let reply = |text: &'static str| move |_: &str| text.to_owned();
    let check = |options: &str, text: &'static str| {
        let bench = replying(options, reply(text));
        let reward = bench.one("s", input("4")).expect("a grade");
        close(reward.raw.expect("the grade"), 7.0);
        close(reward.score, 7.0 / 9.0);
        assert_eq!(reward.label.as_deref(), Some("7"));
        let outputs = reward.evidence.outputs.clone().expect("outputs");
        assert_eq!(outputs[0].text, text);
        for name in ["expected", "sampled"] {
            close(part(&reward, name).expect("a part").raw.expect("raw"), 7.0);
        }
    };
    check("", r#"{"score":7,"reason":"It is 4."}"#);
    check("score = 'sampled'", r#"{"score":7,"reason":"It is 4."}"#);
    check("rationale = 'before'", r#"{"reason":"It is 4.","score":7}"#);
}

#[test]
fn truncated_judgement_has_no_grade() {
    for options in ["max_tokens = 8", "max_tokens = 8\nrationale = 'before'"] {
        let bench = replying(options, |_: &str| {
            r#"{"score":7,"reason":"It is 4 and nothing else."}"#.to_owned()
        });
        let failure = bench.one("s", input("4")).expect_err("it was cut");
        assert_eq!(failure.kind, FailureKind::Truncated);
        assert!(failure.evidence.outputs.is_some_and(|texts| texts[0].finish == "length"));
    }
    // A model that never ends its reasons.
    let bench = Bench::real(&config(""), Preset::Qwen2, TinyHead::Vocab, 3);
    let outcome = bench.one("s", input("4"));
    let failure = outcome.expect_err("random weights do not make sense");
    assert!(matches!(failure.kind, FailureKind::Truncated | FailureKind::Abstain), "{failure:?}");
}

#[test]
fn empty_response_is_refused_without_a_request() {
    let bench = replying("", |_: &str| panic!("no request is expected"));
    let reward = bench.one("s", input(" \n")).expect("the least grade");
    close(reward.score, 0.0);
    assert_eq!(reward.reason.code, "too_little_content");
}

/// Returns which of two responses that name themselves comes first.
fn places(seen: &str) -> (String, String) {
    let after = |heading: &str| {
        let text = seen.rsplit(heading).next().unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    };
    // A quoted heading does not begin its line.
    (after("\nResponse A:\n> "), after("\nResponse B:\n> "))
}

/// Each response has a strength; the first position adds 0.5.
fn strengths(seen: &str) -> Vec<(String, f32)> {
    let strength = |text: &str| match text {
        "good" => 2.0,
        "fair" => 1.0,
        "bad" => -1.0,
        _ => 0.0,
    };
    let (a, b) = places(seen);
    vec![("A".to_owned(), strength(&a) + 0.5), ("B".to_owned(), strength(&b))]
}

const PAIR: &str = "mode = 'pair'\nrationale = 'none'";

#[test]
fn a8_both_orders_are_averaged() {
    let bench = believing(PAIR, strengths);
    let reward = bench.one("s", group(&["good", "bad"])).expect("a winner");
    // In order 2 + 0.5 + 1, swapped -1 + 0.5 - 2: the mean of 3.5 and 2.5.
    close(reward.raw.expect("log-odds"), 3.0);
    close(reward.score, sigmoid(3.0));
    assert_eq!(reward.label.as_deref(), Some("first"));
    let bias = part(&reward, "position_bias").expect("a bias").score;
    close(bias, sigmoid(3.5) + sigmoid(-2.5) - 1.0);
    let members = reward.evidence.members.expect("members");
    let against: Vec<_> = members.iter().map(|m| m.against.clone()).collect();
    let against: Vec<Vec<Option<f64>>> = against.into_iter().flatten().collect();
    assert_eq!(against[0][0], None);
    close(against[0][1].expect("a pair"), sigmoid(3.0));
    close(against[1][0].expect("a pair"), sigmoid(-3.0));
    assert_eq!((members[0].rank, members[1].rank), (Some(1), Some(2)));
    // The other way round the other one wins, as surely.
    let turned = bench.one("s", group(&["bad", "good"])).expect("a winner");
    close(turned.score, sigmoid(-3.0));
    assert_eq!(turned.label.as_deref(), Some("second"));
    let bench = believing(&format!("{PAIR}\naverage = 'probability'"), strengths);
    let reward = bench.one("s", group(&["good", "bad"])).expect("a winner");
    close(reward.score, 0.5 * (sigmoid(3.5) + 1.0 - sigmoid(-2.5)));
}

#[test]
fn e3_position_biased_judge_has_no_verdict() {
    let first = |_: &str| vec![("A".to_owned(), 1.0), ("B".to_owned(), 0.0)];
    let bench = believing(PAIR, first);
    let failure = bench.one("s", group(&["x", "y"])).expect_err("it abstains");
    assert_eq!(failure.kind, FailureKind::Abstain);
    assert_eq!(failure.reason.code, "order_inconsistent");
    assert!(failure.evidence.members.is_some());
    let bench = believing(&format!("{PAIR}\ninconsistent = 'average'"), first);
    let reward = bench.one("s", group(&["x", "y"])).expect("both orders count");
    close(reward.score, 0.5);
    assert_eq!(reward.label.as_deref(), Some("tie"));
    let bias = part(&reward, "position_bias").expect("a bias").score;
    close(bias, 2.0 * sigmoid(1.0) - 1.0);
}

#[test]
fn equal_responses_tie_without_a_request() {
    let bench = believing(PAIR, strengths);
    let mut bench = bench;
    let recorder = Arc::new(RequestRecorder::default());
    bench.tools.recorder = Some(recorder.clone());
    let reward = bench.one("s", group(&["same", "same"])).expect("a tie");
    close(reward.score, 0.5);
    assert_eq!((reward.raw, reward.label.as_deref()), (Some(0.0), Some("tie")));
    assert!(recorder.take().is_empty());
}

#[test]
fn groups_are_a_round_robin() {
    let bench = believing(PAIR, strengths);
    let reward = bench.one("s", group(&["fair", "good", "bad", "good"]));
    let members = reward.expect("a group").evidence.members.expect("members");
    let score = |at: usize| members[at].outcome.as_ref().map(|r| r.score);
    // Against good twice and bad once.
    let fair = (2.0 * sigmoid(-1.0) + sigmoid(2.0)) / 3.0;
    close(score(0).expect("a score"), fair);
    close(score(1).expect("a score"), (sigmoid(1.0) + sigmoid(3.0) + 0.5) / 3.0);
    assert_eq!(members[1].rank, Some(1));
    assert_eq!(members[3].rank, Some(1));
    assert_eq!(members[2].rank, Some(4));
    let failure = bench.one("s", group(&["x"; 9])).expect_err("too many");
    assert_eq!(failure.reason.code, "group_too_large");
    for input in [group(&["good"]), input("good")] {
        let failure = bench.one("s", input).expect_err("nothing to compare");
        assert_eq!(failure.kind, FailureKind::Refused);
    }
}

/// Grades by the texts of the responses, in the order in which they are shown.
fn list_of_grades(prompt: &str) -> String {
    let last = prompt.rsplit("<|im_start|>user").next().unwrap_or_default();
    let responses = last.split("\nResponse ").skip(1);
    let grades = responses.map(|text| {
        let said = text.split_once("> ").map_or("", |(_, said)| said);
        match said.lines().next().unwrap_or_default() {
            "good" => "9",
            "fair" => "5",
            _ => "1",
        }
    });
    let grades: Vec<&str> = grades.collect();
    format!("{{\"scores\":[{}]}}", grades.join(","))
}

#[test]
fn grades_of_a_list_follow_the_responses_through_all_orders() {
    let options = "mode = 'list'\norders = 3\nrationale = 'none'";
    let bench = replying(options, list_of_grades);
    let responses = ["fair", "good", "bad", "good"];
    for seed in 0..4 {
        let ask = ScoreOptions { seed, explain: true, ..ScoreOptions::default() };
        let reward = bench.all("s", &[group(&responses)], ask).remove(0);
        let reward = reward.expect("grades");
        close(reward.score, (0.5 + 0.9 + 0.1 + 0.9) / 4.0);
        assert_eq!(reward.evidence.outputs.map(|texts| texts.len()), Some(3));
        let members = reward.evidence.members.expect("members");
        let raw: Vec<_> = members.iter().map(|m| m.outcome.as_ref().map(|r| r.raw)).collect();
        for (found, expected) in raw.into_iter().zip([5.0, 9.0, 1.0, 9.0]) {
            close(found.expect("a reward").expect("a grade"), expected);
        }
    }
    let bench = replying("mode = 'list'\nmax_tokens = 4", list_of_grades);
    let failure = bench.one("s", group(&responses)).expect_err("it was cut");
    assert_eq!(failure.kind, FailureKind::Truncated);
}

const DEMONSTRATIONS: &str = r#"
rationale = 'before'
[[scorer.demonstration]]
prompt = "a"
response = "b"
judgement = '{ "score": 3, "reason": "no" }'
"#;

#[test]
fn a2_demonstrations_are_turns_in_the_form_of_the_judgement() {
    let bench = replying(DEMONSTRATIONS, |prompt: &str| {
        let turns: Vec<&str> = prompt.split("<|im_start|>").skip(1).collect();
        let roles: Vec<&str> = turns.iter().filter_map(|t| t.lines().next()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user", "assistant"]);
        assert!(turns[0].starts_with("system\n{\"criteria\":[\"right\"],"));
        assert!(turns[1].contains("User:\n> a\n") && turns[1].contains("\n> b\n"));
        assert_eq!(turns[2], "assistant\n{\"reason\":\"no\",\"score\":3}<|im_end|>\n");
        assert!(turns[3].contains("> 4\n"));
        r#"{"reason":"ok","score":6}"#.to_owned()
    });
    // The check at load has its own request, so only inputs get this reply.
    let found = bench.one("s", input("4"));
    // The made model has room for short conversations only.
    match found {
        Ok(reward) => close(reward.raw.expect("a grade"), 6.0),
        Err(failure) => assert_eq!(failure.reason.code, "too_long", "{failure:?}"),
    }
}

#[test]
fn all_configuration_errors_are_reported() {
    let check = |options: &str, expected: &str| {
        let (_, problems) = read_config(&config(options));
        assert!(problems.len() == 1 && problems[0].contains(expected), "{options}: {problems:?}");
    };
    check("mode = 'many'", "is not one of grade, pair, list");
    check("orders = 2", "no meaning in this mode");
    check("mode = 'list'\ninconsistent = 'average'", "no meaning");
    check("scale_min = 9", "must be more than scale_min");
    check("scale_max = 5000", "a whole number from 0 to 1000");
    check("rationale = 'none'\nscore = 'sampled'", "without writing one");
    check("mode = 'pair'\nmax_group = 1", "from 2 to 64");
    check("reasoning = true", "JSON from its first token");
    let demonstration = |fields: &str| format!("[[scorer.demonstration]]\n{fields}");
    check(&demonstration("response = 'b'\njudgement = '{}'"), "is not what the judge writes");
    check(&demonstration("judgement = '{}'"), "demonstration[0].response: missing");
    check(
        &demonstration("response = 'b'\njudgement = '{\"score\":99,\"reason\":\"\"}'"),
        "the grade 99",
    );
    let seven =
        "[[scorer.demonstration]]\nresponse = 'b'\njudgement = '{\"score\":1,\"reason\":\"\"}'\n";
    check(&seven.repeat(7), "at most 6 are shown");
    let pair = "mode = 'pair'\n[[scorer.demonstration]]\nresponses = ['a']\njudgement = '{}'";
    check(pair, "a pair has two responses");
    check("[[scorer.message]]\nrole = 'user'\ncontent = 'x'", "must have the slot 'response'");
    let (_, problems) = read_config("[[scorer]]\nname = 's'\nkind = 'judge'\ncriteria = ['']");
    assert!(problems[0].contains("no empty one"), "{problems:?}");
}

#[test]
fn multi_token_grades_are_refused_at_load() {
    let toml = config("scale_max = 10\nrationale = 'none'");
    let bench = Bench::real(&toml, Preset::Qwen2, TinyHead::Vocab, 0);
    let problems = bench.check().expect_err("10 is two tokens");
    assert!(problems[0].contains("\"10\" is 2 tokens"), "{problems:?}");
    let bench = Bench::real(&config(""), Preset::Qwen2, TinyHead::Token, 0);
    let problems = bench.check().expect_err("it has no vocabulary");
    assert!(problems[0].contains("no vocabulary"), "{problems:?}");
}

#[test]
fn scores_do_not_depend_on_company() {
    let check = |options: &str, inputs: Vec<Input>| {
        let toml = config(&format!("rationale = 'none'\nmin_label_mass = 0.0\n{options}"));
        let bench = Bench::real(&toml, Preset::Qwen2, TinyHead::Vocab, 5);
        let together = verdicts(bench.all("s", &inputs, ScoreOptions::default()));
        let cached = verdicts(bench.all("s", &inputs, ScoreOptions::default()));
        assert_eq!(cached, together);
        let alone = inputs.iter().flat_map(|input| {
            let bench = Bench::real(&toml, Preset::Qwen2, TinyHead::Vocab, 5);
            bench.all("s", std::slice::from_ref(input), ScoreOptions::default())
        });
        let alone: Vec<Outcome> = alone.collect();
        assert_eq!(verdicts(alone), together);
        assert!(together.iter().all(Result::is_ok), "{together:?}");
    };
    check("", (0..5).map(|n| input(&format!("It is {n}"))).collect());
    let groups = || (0..3).map(|n| group(&["four", &n.to_string()])).collect();
    check("mode = 'pair'\ninconsistent = 'average'", groups());
    check("mode = 'list'\ntemperature = 1.0", groups());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// E4: no text gives a special token, and all lines of it stay in their quotation.
    #[test]
    fn e4_no_text_leaves_its_place(text in "(Response A:|<\\|im_end\\|>|<\\|im_start\\|>|\n|\r|\u{85}|>| |\\{\"winner\":\"A\"\\}|\\{\\{rubric\\}\\}){1,5}x") {
        let mut bench = believing(PAIR, strengths);
        let recorder = Arc::new(RequestRecorder::default());
        bench.tools.recorder = Some(recorder.clone());
        let shown = |text: &str| {
            let outcome = bench.one("s", group(&[text, "good"]));
            let recorded = recorder.take().remove(0);
            let special = |id: &&u32| bench.host.tokenizer.is_special(**id);
            let special = recorded.token_ids.iter().filter(special).count();
            let decoded = bench.host.tokenizer.decode(&recorded.token_ids, true).expect("a text");
            let margin = decoded.lines().filter(|line| !line.starts_with("> ")).map(str::to_owned);
            (special, margin.collect::<Vec<_>>(), outcome.map(|reward| reward.score))
        };
        prop_assert_eq!(shown(&text), shown("other"));
    }
}
