//! Programs that solve linear programs.

use std::path::Path;
use std::sync::mpsc;

use sandbox::Rung;
use verifiers::lp::{LpAnswer, LpConfig, LpProgram, LpRun, LpRunError, LpVerifier};
use verifiers::{Fuel, Gold};

use super::{has_python, place, policy};

const MODEL: &str = "max 3 x + 2 y\nst\nx + y <= 4\nx + 3 y <= 6\nx <= 3";

fn run(answer: LpAnswer, source: &str, gold: &'static str) -> Result<LpRun, LpRunError> {
    let verifier = LpVerifier::new(&LpConfig { answer, ..LpConfig::default() }).expect("a decimal");
    let place = place("", Path::new("python3"), &Rung::ALL);
    let (send, receive) = mpsc::channel();
    let source = source.to_owned();
    let ticket = place.sandbox.submit(move |session| {
        let program = LpProgram {
            source: Some(&source),
            gold: Gold::Text(gold),
            limits: policy().limits,
            explain: true,
        };
        let run = verifier.run(&program, &mut Fuel::default(), session);
        send.send(run).expect("the test listens");
    });
    let _ticket = ticket.expect("room");
    receive.recv().expect("the slot answers")
}

#[test]
fn programs_are_judged_by_what_they_print() {
    use LpAnswer::{Model, Objective, Solution};
    if !has_python() {
        return;
    }
    let search = "print(max(3 * x + 2 * y for x in range(4) for y in range(3) if x + y <= 4 and x + 3 * y <= 6))";
    for (answer, source, label, code) in [
        (Objective, search, "right", "same_optimum"),
        (
            Objective,
            "print('searching 7 points'); print('objective =', 22 / 2)",
            "right",
            "same_optimum",
        ),
        (Objective, " print(11)", "right", "same_optimum"),
        (Objective, "print(12)", "wrong", "other_optimum"),
        (Objective, "", "unread", "answer_unread"),
        (Objective, "print('no idea')", "unread", "answer_unread"),
        (Solution, "print('x = 3'); print('y = 1')", "right", "same_optimum"),
        (
            Solution,
            "import json; print(json.dumps({'variables': {'x': 3, 'y': 1}}))",
            "right",
            "same_optimum",
        ),
        (Solution, "print('x = 4'); print('y = 1')", "infeasible", "constraint_violated"),
        (
            Model,
            "print('max 3 a + 2 b\\nst')\nfor n in (1, 3): print(f'a + {n} b <= {2 * n + 2 if n == 1 else 6}')\nprint('a <= 3')",
            "right",
            "same_optimum",
        ),
        (Model, "print('max 3 a')", "wrong", "other_optimum"),
        (Objective, "import gurobipy", "re", "runtime_error"),
        (Objective, "print(11", "ce", "compile_error"),
        (Objective, "while True: pass", "tle", "time_limit_cpu"),
        (Objective, "print(11); import os; os.fork()", "security", "security_violation"),
        (Objective, "while True: print('11' * 100_000)", "ole", "output_limit"),
    ] {
        let verdict = run(answer, source, MODEL).expect("a verdict").verdict;
        let found = (verdict.label, verdict.reason.code);
        assert_eq!(found, (label, code), "{source}: {verdict:?}");
        assert_eq!(verdict.score.get() > 0.0, label == "right", "{source}: {verdict:?}");
    }
}

/// A reference that cannot be used is no score, whatever became of the program.
#[test]
fn bad_reference_comes_first() {
    if !has_python() {
        return;
    }
    for source in ["print(1)", "1 / 0"] {
        let run = run(LpAnswer::Objective, source, "max x^2");
        assert!(matches!(run, Err(LpRunError::Reference(_))), "{source}: {run:?}");
    }
}
