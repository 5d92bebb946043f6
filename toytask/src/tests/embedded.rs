//! The model built into the program: its files are this task's, every default scorer has verdicts
//! from it, and the verdicts are as often right as the documentation says.

use std::sync::Arc;

use engine::{Capacity, Host, HostSpec};
use models::LoadOptions;
use models::weights::{Compute, Storage};
use rubrics::{FailureKind, Input, Outcome, Passage, Reference, Responses};

use super::served::Bench;
use crate::make::Difficulty;
use crate::model_folder::{ModelSize, write_model_folder};
use crate::sets::{self, Case};
use crate::{CHAT_TEMPLATE, MODEL, SCORERS};

fn bench() -> Bench {
    bench_in(Compute::F32)
}

fn bench_in(compute: Compute) -> Bench {
    let spec = HostSpec {
        name: MODEL.to_owned(),
        folder: models::embedded::folder(),
        options: LoadOptions { storage: Storage::F32, compute: Some(compute) },
        device: engine::Device::Cpu,
        capacity: Capacity {
            kv_memory: 32 << 20,
            batch_tokens: 512,
            max_sequences: 16,
            queue_tokens: 1 << 16,
        },
    };
    Bench::over(&Arc::new(Host::load(&spec).expect("it loads")), SCORERS)
}

#[test]
fn files_are_those_of_the_task() {
    let parent = tempfile::tempdir().expect("a folder");
    let fresh = parent.path().join("fresh");
    write_model_folder(&fresh, ModelSize::EMBEDDED, 0).expect("it is written");
    let embedded = models::embedded::folder();
    for name in [
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ] {
        let shipped = embedded.read(name, 1 << 20).expect("it can be read");
        let made = std::fs::read(fresh.join(name)).expect("it was written");
        assert_eq!(shipped, Some(made), "{name}");
    }
    let template = embedded.read("chat_template.jinja", 1 << 20);
    let template = template.expect("it can be read").expect("it is there");
    assert_eq!(template, CHAT_TEMPLATE.as_bytes());
}

/// The lengths of its training.
fn difficulty() -> Difficulty {
    Difficulty { lengths: 1..=4, ..Difficulty::default() }
}

/// Mistakes of every kind and right solutions, half and half, of held-out problems.
fn cases(n: usize) -> Vec<Case> {
    let slips = sets::slips(7, &difficulty(), n / 2);
    let near_misses = sets::near_misses(7, &difficulty(), n / 2);
    [slips, near_misses].concat()
}

fn input(case: &Case) -> Input {
    Input {
        prompt: Some(Passage::Text(case.problem.clone()).into()),
        ..Input::of(case.solution.clone())
    }
}

fn group(cases: [&Case; 2]) -> Input {
    let responses = cases.map(|case| Passage::Text(case.solution.clone()));
    Input { responses: Responses::Group(responses.to_vec()), ..input(cases[0]) }
}

/// Requires a share of right verdicts from a scorer, and prints the share. A judge of pairs that
/// always prefers the first has no verdict, which does not count as right.
#[track_caller]
fn check<T>(
    bench: &Bench,
    scorer: &str,
    inputs: impl IntoIterator<Item = (Input, T)>,
    is_right: impl Fn(&Outcome, &T) -> Option<bool>,
    least: f64,
) {
    let (mut n, mut right, mut missing) = (0_u32, 0_u32, Vec::new());
    for (input, truth) in inputs {
        let outcome = bench.ask(scorer, input);
        match is_right(&outcome, &truth) {
            Some(is_right) => right += u32::from(is_right),
            None => missing.extend(outcome.err().map(|failure| failure.kind)),
        }
        n += 1;
    }
    let share = f64::from(right) / f64::from(n);
    println!("{scorer}: {share:.3} of {n} verdicts are right, {} are missing", missing.len());
    let readable = missing.iter().all(|kind| *kind == FailureKind::Abstain);
    assert!(readable, "{scorer}: {missing:?}");
    assert!(share >= least, "{scorer}: {share}, at least {least}");
}

/// Whether a score is on the right side of one half.
fn agrees(outcome: &Outcome, truth: bool) -> Option<bool> {
    let score = outcome.as_ref().ok()?.score;
    Some((score >= 0.5) == truth)
}

fn with_final(cases: &[Case]) -> Vec<(Input, bool)> {
    let inputs = cases.iter();
    inputs.map(|case| (input(case), case.is_final_right)).collect()
}

#[test]
fn steps_are_judged() {
    let bench = bench();
    let cases = cases(200);
    let steps = |cases: &[Case]| -> Vec<(Input, Vec<bool>)> {
        let inputs = cases.iter();
        inputs.map(|case| (input(case), case.local.clone())).collect()
    };
    let all_right = |outcome: &Outcome, truth: &Vec<bool>| {
        let steps = outcome.as_ref().ok()?.evidence.steps.as_ref()?;
        let found: Vec<bool> = steps.iter().map(|step| step.label == "right").collect();
        Some(found == *truth)
    };
    check(&bench, "process", steps(&cases), all_right, 0.9);
}

#[test]
fn answers_are_judged() {
    let bench = bench();
    let cases = cases(200);
    let yes = |outcome: &Outcome, truth: &bool| agrees(outcome, *truth);
    for (scorer, least) in [("reward", 0.77), ("validate", 0.77)] {
        check(&bench, scorer, with_final(&cases), yes, least);
    }
    let questions = sets::questions(7, &difficulty(), 200);
    let inputs = questions.iter().map(|question| {
        let input = Input {
            prompt: Some(Passage::Text(question.problem.clone()).into()),
            principles: Some(vec![question.principle.clone()]),
            ..Input::of(question.solution.clone())
        };
        (input, question.holds)
    });
    check(&bench, "principles", inputs, yes, 0.9);
    let inputs = questions.iter().map(|question| {
        let rubric = serde_json::json!({
            "items": [{ "id": "a", "criterion": question.principle, "points": 1 }]
        });
        let input = Input {
            prompt: Some(Passage::Text(question.problem.clone()).into()),
            rubric: rubric.as_object().cloned(),
            ..Input::of(question.solution.clone())
        };
        (input, question.holds)
    });
    check(&bench, "rubric", inputs, yes, 0.9);
}

/// Kendall's tau: the share of pairs in the same order less that in the opposite one.
fn kendall_tau(a: &[f64], b: &[f64]) -> f64 {
    let pairs = (0..a.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let order = |x: &[f64], (i, j): (usize, usize)| x[i].total_cmp(&x[j]) as i32;
    let sum: i32 = pairs.clone().map(|pair| order(a, pair) * order(b, pair)).sum();
    f64::from(sum) / pairs.count() as f64
}

/// The table of docs/models.md: `cargo test -p toytask --lib rounded -- --nocapture`.
#[test]
fn rounded_products_judge_alike() {
    let cases = cases(200);
    let scorers = ["reward", "validate"];
    let scores = |compute: Compute| {
        let bench = bench_in(compute);
        scorers.map(|scorer| {
            let score = |case| bench.ask(scorer, input(case)).expect("a verdict").score;
            cases.iter().map(score).collect::<Vec<f64>>()
        })
    };
    let share = |right: usize| right as f64 / cases.len() as f64;
    let exact = scores(Compute::F32);
    for (compute, least_tau, most_flips) in [(Compute::Bf16, 0.95, 4), (Compute::Int8, 0.9, 8)] {
        for ((scorer, exact), rounded) in scorers.iter().zip(&exact).zip(scores(compute)) {
            let tau = kendall_tau(exact, &rounded);
            let pairs = || exact.iter().zip(&rounded);
            let far = pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let flips = pairs().filter(|(a, b)| (**a >= 0.5) != (**b >= 0.5)).count();
            let right = cases.iter().zip(&rounded);
            let right = right.filter(|(case, x)| (**x >= 0.5) == case.is_final_right).count();
            println!(
                "| {scorer}, {compute:?} | tau {tau:.4} | difference {far:.4} | {flips} of {} \
                 verdicts turn | {:.3} right |",
                cases.len(),
                share(right)
            );
            assert!(far > 0.0 && tau >= least_tau, "{scorer} in {compute:?}: tau {tau}");
            assert!(flips <= most_flips, "{scorer} in {compute:?}: {flips} verdicts turn");
            assert!(share(right) >= 0.77, "{scorer} in {compute:?}: {}", share(right));
        }
    }
}

#[test]
fn solutions_are_compared() {
    let bench = bench();
    let pairs = sets::right_and_wrong(7, &difficulty(), 100);
    // The right one is second every other time.
    let inputs = || {
        let ordered = pairs.iter().enumerate().map(|(at, [right, wrong])| match at % 2 {
            0 => (group([right, wrong]), 0),
            _ => (group([wrong, right]), 1),
        });
        ordered.collect::<Vec<(Input, usize)>>()
    };
    let better = |outcome: &Outcome, right: &usize| {
        let score = outcome.as_ref().ok()?.score;
        Some((score >= 0.5) == (*right == 0))
    };
    check(&bench, "judge-pair", inputs(), better, 0.87);
    let chosen = |outcome: &Outcome, right: &usize| {
        let label = outcome.as_ref().ok()?.label.clone();
        Some(label == Some(right.to_string().into()))
    };
    check(&bench, "critic-rerank", inputs(), chosen, 0.91);
}

#[test]
fn replies_are_readable_by_scorers() {
    let bench = bench();
    let cases = cases(60);
    let any = |outcome: &Outcome, (): &()| outcome.as_ref().ok().map(|_| true);
    let plain = || cases.iter().map(|case| (input(case), ()));
    for scorer in ["judge", "critic"] {
        check(&bench, scorer, plain(), any, 1.0);
    }
    let grounded = cases.iter().map(|case| {
        let line = case.solution.lines().next().unwrap_or_default();
        let inputs = Input {
            prompt: Some(Passage::Text(case.problem.clone()).into()),
            context: Some(vec![case.solution.clone()]),
            ..Input::of(line)
        };
        (inputs, ())
    });
    check(&bench, "grounded", grounded, any, 1.0);
    let lists = cases.iter().map(|case| (group([case, case]), ()));
    check(&bench, "judge-list", lists, any, 1.0);
    let yes = |outcome: &Outcome, truth: &bool| agrees(outcome, *truth);
    let tool = cases.iter().map(|case| {
        let inputs =
            Input { reference: Some(Reference::Text(case.gold.to_string())), ..input(case) };
        (inputs, case.is_final_right)
    });
    check(&bench, "tool", tool, yes, 0.9);
}
