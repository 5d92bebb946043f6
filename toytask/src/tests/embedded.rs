//! The model built into the program: its files are this task's, every default scorer has verdicts
//! from it, and the verdicts are as often right as the documentation says.

use std::sync::Arc;

use engine::{Capacity, Host, HostSpec};
use models::LoadOptions;
use models::weights::{Compute, Storage};
use rubrics::{FailureKind, Input, Outcome, Passage, Reference, Responses};

use super::served::Bench;
use crate::check::{self, CheckedSolution};
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
fn require<T>(
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
    require(&bench, "process", steps(&cases), all_right, 0.95);
}

#[test]
fn answers_are_judged() {
    let bench = bench();
    let cases = cases(200);
    let yes = |outcome: &Outcome, truth: &bool| agrees(outcome, *truth);
    for (scorer, least) in [("reward", 0.87), ("validate", 0.87)] {
        require(&bench, scorer, with_final(&cases), yes, least);
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
    require(&bench, "principles", inputs, yes, 0.9);
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
    require(&bench, "rubric", inputs, yes, 0.9);
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
            assert!(share(right) >= 0.87, "{scorer} in {compute:?}: {}", share(right));
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
    require(&bench, "judge-pair", inputs(), better, 0.93);
    let chosen = |outcome: &Outcome, right: &usize| {
        let label = outcome.as_ref().ok()?.label.clone();
        Some(label == Some(right.to_string().into()))
    };
    require(&bench, "critic-rerank", inputs(), chosen, 0.95);
    let graded_above = |outcome: &Outcome, right: &usize| {
        let members = outcome.as_ref().ok()?.evidence.members.as_ref()?;
        let score =
            |at: usize| members[at].outcome.as_ref().map_or(f64::NAN, |member| member.score);
        Some(score(*right) > score(1 - right))
    };
    require(&bench, "judge-list", inputs(), graded_above, 0.9);
}

/// One-digit mistakes of single sums and differences, at every distance and place, and right ones, half and half:
/// their problems, their solutions, and whether they are right.
fn single_sums() -> Vec<(Input, bool)> {
    let difficulty = Difficulty { lengths: 1..=1, times: 0.0, ..Difficulty::default() };
    let problems = sets::problems(11, &difficulty, 360);
    let mistakes = (0..2 * problems.len()).map(|at| if at % 2 == 0 { 0 } else { at / 2 % 18 + 1 });
    let problems = problems.iter().flat_map(|problem| [problem, problem]);
    let case = |(problem, mistake): (&sets::PolicyProblem, usize)| {
        let (tens, ones) = (problem.gold / 10, problem.gold % 10);
        let by = i64::try_from(mistake).expect("small");
        let stated = match mistake {
            0..10 => tens * 10 + (ones + by) % 10,
            _ => (tens + by - 9) % 10 * 10 + ones,
        };
        let terms = problem.problem.trim_end_matches(" mod 100");
        let input = Input {
            prompt: Some(Passage::Text(problem.problem.clone()).into()),
            ..Input::of(format!("{terms}={stated}\nAnswer: {stated}"))
        };
        (input, mistake == 0)
    };
    problems.zip(mistakes).map(case).collect()
}

#[test]
fn wrong_digits_of_sums_are_found() {
    let bench = bench();
    let first = |outcome: &Outcome, truth: &bool| {
        let steps = outcome.as_ref().ok()?.evidence.steps.as_ref()?;
        Some((steps[0].label == "right") == *truth)
    };
    let (right, wrong): (Vec<_>, Vec<_>) = single_sums().into_iter().partition(|(_, right)| *right);
    require(&bench, "process", right, first, 0.98);
    require(&bench, "process", wrong, first, 0.98);
}

/// Grades, step verdicts and verdicts with what is known of the answer: right, and not only readable.
#[test]
fn replies_are_right() {
    let bench = bench();
    let cases = cases(200);
    let graded = cases.iter().map(|case| {
        let judged = check::check_solution(&case.problem, &case.solution).expect("a solution");
        (input(case), judged)
    });
    let graded: Vec<(Input, CheckedSolution)> = graded.collect();
    let within_half = |outcome: &Outcome, truth: &CheckedSolution| {
        let score = outcome.as_ref().ok()?.score;
        Some((score * 9.0 - truth.grade(9) as f64).abs() <= 0.5)
    };
    require(&bench, "judge", graded.clone(), within_half, 0.9);
    let sound = |outcome: &Outcome, truth: &CheckedSolution| {
        let sound = truth.sound();
        let share = sound.iter().filter(|sound| **sound).count() as f64 / sound.len() as f64;
        Some((outcome.as_ref().ok()?.score - share).abs() < 1e-6)
    };
    require(&bench, "critic", graded, sound, 0.9);
    let known = cases.iter().map(|case| {
        let context = Some(vec![format!("The result is {}.", case.gold)]);
        (Input { context, ..input(case) }, case.is_final_right)
    });
    let yes = |outcome: &Outcome, truth: &bool| agrees(outcome, *truth);
    require(&bench, "validate", known, yes, 0.95);
}

/// Some lines of a solution, in every choice of them, are the document.
#[test]
fn sentences_are_judged() {
    let bench = bench();
    let (mut n, mut faithful, mut correct) = (0_u32, 0_u32, 0_u32);
    for (at, case) in cases(200).iter().enumerate() {
        let lines = case.solution.lines().enumerate();
        let said: Vec<&str> =
            lines.filter(|(line, _)| (at >> line) & 1 == 1).map(|(_, line)| line).collect();
        let document =
            if said.is_empty() { "Nothing is known.".to_owned() } else { said.join("\n") };
        let context = Some(vec![document]);
        let outcome = bench.ask("grounded", Input { context, ..input(case) });
        let steps = outcome.expect("a verdict").evidence.steps.expect("one for each sentence");
        for ((step, line), is_right) in steps.iter().zip(case.solution.lines()).zip(&case.local) {
            n += 1;
            faithful += u32::from(said.contains(&line) != step.label.contains("unfaithful"));
            correct += u32::from(*is_right != step.label.contains("incorrect"));
        }
    }
    let [faithful, correct] = [faithful, correct].map(|right| f64::from(right) / f64::from(n));
    println!(
        "grounded: of {n} sentences {faithful:.3} by the documents, {correct:.3} by themselves"
    );
    assert!(faithful >= 0.95 && correct >= 0.88, "{faithful} {correct}");
}

#[test]
fn answers_are_compared_with_references() {
    let bench = bench();
    let cases = cases(100);
    let yes = |outcome: &Outcome, truth: &bool| agrees(outcome, *truth);
    let tool = cases.iter().map(|case| {
        let inputs =
            Input { reference: Some(Reference::Text(case.gold.to_string())), ..input(case) };
        (inputs, case.is_final_right)
    });
    require(&bench, "tool", tool, yes, 0.95);
}
