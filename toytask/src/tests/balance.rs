//! The mixture is balanced, and carries no unintended information.

use std::collections::BTreeMap;

use crate::check;
use crate::holdout;
use crate::make::{Difficulty, Slip};
use crate::mixture::{Mixture, TaskRow, TrainingTarget};
use crate::principles::Principle;
use crate::{Format, sets};

const ROWS: u64 = 1200;

fn rows(format: Format) -> Vec<TaskRow> {
    let mixture = Mixture::default();
    (0..ROWS).map(|at| mixture.row_of(format, at)).collect()
}

fn said(row: &TaskRow) -> &str {
    match &row.target {
        TrainingTarget::Reply(text) | TrainingTarget::Ending(text) => text,
        TrainingTarget::Steps(_) => "",
    }
}

/// The text of the first message of a role.
fn content<'r>(row: &'r TaskRow, role: &str) -> &'r str {
    let found = row.turns.iter().find(|turn| turn.role == role);
    found.map_or("", |turn| turn.content.as_str())
}

#[track_caller]
fn is_about(share: f64, expected: f64, within: f64) {
    assert!((share - expected).abs() < within, "{share} {expected}");
}

fn share(rows: &[&TaskRow], is: impl Fn(&TaskRow) -> bool) -> f64 {
    let n = rows.iter().filter(|row| is(row)).count();
    n as f64 / rows.len() as f64
}

#[test]
fn labels_are_balanced() {
    for format in Format::ALL {
        let (yes, rows): (fn(&str) -> bool, Vec<TaskRow>) = match format {
            Format::Reward
            | Format::Pointwise
            | Format::Validate
            | Format::Principle
            | Format::Faithful
            | Format::Correct => (|text| text == "Yes", rows(format)),
            Format::Pair => (|text| text.contains("\"A\""), rows(format)),
            Format::Critic => (|text| text == "Wrong steps: []", rows(format)),
            Format::Retrospective => (|text| text.contains("\"overall\": \"right\""), rows(format)),
            Format::Grounded => (|text| text.ends_with("yes"), rows(format)),
            Format::Verify => (|text| text == "[Correct]", rows(format)),
            Format::Conclude => (|text| text.contains("[Correct]"), rows(format)),
            Format::Player
            | Format::Reflection
            | Format::Process
            | Format::Grade
            | Format::List
            | Format::Call => continue,
        };
        let rows: Vec<&TaskRow> = rows.iter().collect();
        let found = share(&rows, |row| yes(said(row)));
        assert!((0.45..0.55).contains(&found), "{}: {found}", format.name());
    }
}

#[test]
fn lengths_and_operations_are_independent_of_labels() {
    for format in [Format::Reward, Format::Pointwise, Format::Verify, Format::Pair] {
        let all = rows(format);
        let good = ["Yes", "[Correct]", "{\"winner\":\"A\"}"];
        let label = |row: &TaskRow| good.contains(&said(row));
        let (yes, no): (Vec<&TaskRow>, Vec<&TaskRow>) = all.iter().partition(|row| label(row));
        let is_long = |row: &TaskRow| {
            let problem = check::chain::ChainProblem::read(content(row, "user"));
            problem.is_some_and(|problem| problem.len() > 3)
        };
        let multiplies = |row: &TaskRow| content(row, "user").contains('*');
        is_about(share(&yes, is_long), share(&no, is_long), 0.08);
        is_about(share(&yes, multiplies), share(&no, multiplies), 0.08);
    }
}

#[test]
fn agreement_is_independent_of_correctness() {
    let all = rows(Format::Verify);
    let all: Vec<&TaskRow> = all.iter().collect();
    let is_right = |row: &TaskRow| {
        let (problem, solution) = (content(row, "user"), content(row, "assistant"));
        check::check_solution(problem, solution).is_some_and(|judged| judged.is_final_right())
    };
    let (right, wrong): (Vec<&TaskRow>, Vec<&TaskRow>) = all.iter().partition(|row| is_right(row));
    let equal = |row: &TaskRow| said(row) == "[Correct]";
    is_about(share(&right, equal), 0.5, 0.06);
    is_about(share(&wrong, equal), 0.5, 0.06);
}

#[test]
fn every_principle_has_both_answers() {
    let mut answers: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for row in rows(Format::Principle).iter().chain(&rows(Format::Principle)) {
        let counts = answers.entry(content(row, "principle").to_owned()).or_default();
        counts[usize::from(said(row) == "Yes")] += 1;
    }
    assert_eq!(answers.len(), Principle::ALL.len());
    for (principle, [no, yes]) in answers {
        let share = yes as f64 / (no + yes) as f64;
        assert!((0.3..0.7).contains(&share), "{principle} {share}");
    }
}

#[test]
fn documents_are_independent_of_correctness() {
    for (format, other) in [(Format::Faithful, "correct"), (Format::Correct, "faithful")] {
        let all = rows(format);
        let all: Vec<&TaskRow> = all.iter().collect();
        let sentence_is_said = |row: &TaskRow| {
            let documents = row.turns.iter().filter(|turn| turn.role == "document");
            let mut lines = documents.flat_map(|turn| turn.content.lines());
            lines.any(|line| line == content(row, "sentence"))
        };
        let (said_so, not): (Vec<&TaskRow>, Vec<&TaskRow>) =
            all.iter().partition(|row| sentence_is_said(row));
        is_about(said_so.len() as f64 / all.len() as f64, 0.5, 0.05);
        let yes = |row: &TaskRow| said(row) == "Yes";
        if other == "correct" {
            is_about(share(&said_so, yes), 1.0, 1e-9);
            is_about(share(&not, yes), 0.0, 1e-9);
        } else {
            is_about(share(&said_so, yes), share(&not, yes), 0.08);
        }
    }
}

#[test]
fn held_out_problems_are_not_trained_on() {
    let mixture = Mixture { countdown: 0.2, ..Mixture::default() };
    assert_eq!(mixture.check(), Ok(()));
    let mut formats = BTreeMap::new();
    for at in 0..3000 {
        let row = mixture.row(at);
        *formats.entry(row.format).or_insert(0) += 1;
        let problem = content(&row, "user");
        assert!(!holdout::is_held_problem(problem), "{problem}");
        let solutions = row.turns.iter();
        let solutions = solutions.filter(|turn| turn.role == "assistant" || turn.role == "steps");
        let own = (!row.format.judges()).then(|| said(&row));
        for text in solutions.map(|turn| turn.content.as_str()).chain(own) {
            let judged = check::check_solution(problem, text).expect("a solution");
            assert!(!holdout::has_held_pair(&judged), "{text}");
        }
        assert_eq!(row, mixture.row(at), "a row follows from its index");
    }
    assert_eq!(formats.len(), Format::ALL.len());
    assert!(formats[&Format::Player] > formats[&Format::Validate]);
    let other = Mixture { seed: 1, ..mixture.clone() };
    assert!((0..20).any(|at| other.row(at) != mixture.row(at)));
}

#[test]
fn invalid_mixture_is_refused() {
    let check = |change: fn(&mut Mixture), expected: &str| {
        let mut mixture = Mixture::default();
        change(&mut mixture);
        let problem = mixture.check().expect_err("it cannot be");
        assert!(problem.contains(expected), "{problem}");
    };
    check(|it| it.weights.clear(), "no format");
    check(|it| it.weights[0].1 = -1.0, "negative");
    check(|it| it.weights[0].1 = f64::NAN, "negative or not finite");
    check(|it| it.difficulty.lengths = 0..=3, "lengths");
    check(|it| it.difficulty.lengths = 1..=33, "lengths");
    check(|it| it.difficulty.times = 1.5, "share");
    check(|it| it.countdown = f64::NAN, "share");
    check(|it| it.difficulty.addends = 0..=9, "addends");
    check(|it| it.difficulty.multipliers = 1..=9, "multipliers");
    check(|it| it.numbers = 1..=3, "countdown");
    check(|it| it.mistakes = Some(vec![(Slip::Digit, -1.0)]), "a mistake is negative");
    check(|it| it.mistakes = Some(Vec::new()), "no mistake");
    check(|it| it.mistakes = Some(vec![(Slip::Early, 1.0), (Slip::Value, 0.0)]), "no mistake");
}

/// Half of the solutions are wrong, whatever their mistakes are.
#[test]
fn mistakes_have_their_weights() {
    let mistakes = vec![(Slip::Answer, 3.0), (Slip::Early, 0.0), (Slip::Value, 1.0)];
    let mixture = Mixture { mistakes: Some(mistakes), ..Mixture::default() };
    assert_eq!(mixture.check(), Ok(()));
    let rows: Vec<TaskRow> = (0..ROWS).map(|at| mixture.row_of(Format::Process, at)).collect();
    let wrong = |row: &TaskRow| match &row.target {
        TrainingTarget::Steps(steps) => steps.iter().position(|is_right| !is_right),
        TrainingTarget::Reply(_) | TrainingTarget::Ending(_) => None,
    };
    let last = |row: &TaskRow| match &row.target {
        TrainingTarget::Steps(steps) => wrong(row) == Some(steps.len() - 1),
        TrainingTarget::Reply(_) | TrainingTarget::Ending(_) => false,
    };
    let all: Vec<&TaskRow> = rows.iter().collect();
    is_about(share(&all, |row| wrong(row).is_some()), 0.5, 0.05);
    let slipped: Vec<&TaskRow> = rows.iter().filter(|row| wrong(row).is_some()).collect();
    is_about(share(&slipped, last), 0.75, 0.05);
}

#[test]
fn evaluation_uses_held_out_problems() {
    let difficulty = Difficulty::default();
    let problems = sets::problems(1, &difficulty, 200);
    assert_eq!(problems.len(), 200);
    assert!(problems.iter().all(|it| holdout::is_held_problem(&it.problem)));
    let long = Difficulty { lengths: 8..=10, ..Difficulty::default() };
    for cases in [sets::near_misses(1, &difficulty, 200), sets::slips(1, &long, 200)] {
        assert_eq!(cases.len(), 200);
        let right = cases.iter().filter(|case| case.first_error.is_none());
        assert_eq!(right.count(), 100);
        for case in &cases {
            let again = sets::Case::of(case.source, &case.problem, &case.solution);
            assert_eq!(again.as_ref(), Some(case));
            let line = serde_json::to_string(case).expect("it serialises");
            let read: sets::Case = serde_json::from_str(&line).expect("it is read");
            assert_eq!(&read, case);
        }
    }
    assert!(sets::slips(1, &long, 5).iter().all(|case| case.local.len() > 7));
    let questions = sets::questions(1, &difficulty, 280);
    let held = questions.iter().filter(|question| question.holds).count();
    assert!((100..180).contains(&held), "{held}");
    assert_eq!(questions, sets::questions(1, &difficulty, 280));
    // There are only so many chains of one operation by one number.
    let few =
        Difficulty { lengths: 1..=1, times: 1.0, multipliers: 2..=2, ..Difficulty::default() };
    assert!(sets::problems(1, &few, 1000).len() < 99);
    assert_eq!(sets::Case::of(sets::SolutionSource::BaseModel, "2+2=?", "4"), None);
}
