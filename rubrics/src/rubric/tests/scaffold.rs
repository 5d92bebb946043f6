use proptest::prelude::*;

use super::{close, rubric};
use crate::rubric::scaffold::{
    GroupDecay, ScaffoldError, Schedule, StepDecay, TrainingSample, message, shown,
};

const RUBRIC: &str = "
[[items]]
criterion = \"names\\nthe cause\"
points = 5
[[items]]
criterion = 'gives a source'
points = 3
[[items]]
criterion = 'blames the reader'
points = -2
";

fn sample(index: usize, group: usize) -> TrainingSample {
    TrainingSample { index, group, step: 1, steps: 350 }
}

const ONLY_GROUP: Schedule = Schedule { group: GroupDecay::Linear, step: StepDecay::None };

#[test]
fn a12_ruscarl_scaffold_along_a_group() {
    let along = |schedule: Schedule, n_items: usize, group: usize| -> Vec<usize> {
        let each = (0..group).map(|at| shown(&schedule, sample(at, group), n_items));
        each.collect::<Result<_, _>>().expect("samples exist")
    };
    assert_eq!(along(ONLY_GROUP, 10, 8), [10, 9, 7, 6, 4, 3, 1, 0]);
    assert_eq!(along(ONLY_GROUP, 10, 1), [10]);
    // Halves go to the even number, as Python rounds.
    assert_eq!(along(ONLY_GROUP, 5, 3), [5, 2, 0]);
    assert_eq!(along(ONLY_GROUP, 7, 3), [7, 4, 0]);
    let binary = Schedule { group: GroupDecay::Binary(2), step: StepDecay::None };
    assert_eq!(along(binary, 10, 4), [10, 10, 0, 0]);
    assert_eq!(along(Schedule::SCRIPT, 10, 8), [10, 9, 7, 6, 4, 3, 1, 0]);
}

#[test]
fn a12_ruscarl_scaffold_along_training() {
    let check = |decay: StepDecay, x: f64, expected: f64| close(decay.share(x), expected);
    let (script, default) = (Schedule::SCRIPT.step, Schedule::CODE_DEFAULT.step);
    check(script, 0.2, 0.5);
    check(script, 0.0, 1.0);
    check(script, 0.3, 3.7e-6);
    check(script, 20.0 / 99.0, 0.437_202);
    check(default, 0.0, 0.952_574);
    check(default, 0.3, 0.5);
    check(default, 1.0, 0.000_911);
    check(StepDecay::Linear, 0.25, 0.75);
    check(StepDecay::Power(2.0), 0.5, 0.25);
    check(StepDecay::None, 1.0, 1.0);
    let at = |step: usize, steps: usize| {
        let sample = TrainingSample { index: 0, group: 8, step, steps };
        shown(&Schedule::SCRIPT, sample, 10).expect("it exists")
    };
    // x = (s - 1) / (T - 1): 71 of 351 is x = 0.2.
    assert_eq!([at(1, 351), at(71, 351), at(351, 351), at(1, 1)], [10, 5, 0, 10]);
}

#[test]
fn samples_that_do_not_exist_are_errors() {
    let check = |sample: TrainingSample, expected: ScaffoldError| {
        assert_eq!(shown(&Schedule::SCRIPT, sample, 3), Err(expected));
    };
    check(sample(8, 8), ScaffoldError::Index { index: 8, group: 8 });
    check(sample(0, 0), ScaffoldError::Index { index: 0, group: 0 });
    for (step, steps) in [(0, 3), (4, 3), (1, 0)] {
        let there = TrainingSample { step, steps, ..sample(0, 2) };
        check(there, ScaffoldError::Step { step, steps });
    }
    for step in [
        StepDecay::Power(f64::NAN),
        StepDecay::Power(-1.0),
        StepDecay::Sigmoid { start: f64::INFINITY, steep: 1.0 },
    ] {
        let schedule = Schedule { step, ..ONLY_GROUP };
        assert_eq!(shown(&schedule, sample(0, 2), 3), Err(ScaffoldError::Schedule));
    }
}

#[test]
fn a12_ruscarl_scaffold_message() {
    let rubric = rubric(RUBRIC);
    let all = message(&rubric, &ONLY_GROUP, sample(0, 4), 1).expect("it exists");
    let all = all.expect("something is shown");
    let (include, avoid) = all.split_once("Avoid:").expect("two lists");
    assert!(include.contains("\n- names the cause (5 points)\n- gives a source (3 points)"));
    assert!(avoid.contains("\n- blames the reader (2 points)"));
    let none = message(&rubric, &ONLY_GROUP, sample(3, 4), 1);
    assert_eq!(none, Ok(None), "nothing is shown, so there is no message");
    let some = |seed: u64| {
        let shown = message(&rubric, &ONLY_GROUP, sample(1, 3), seed).expect("it exists");
        let shown = shown.expect("two of three");
        assert_eq!(shown.matches(" points)").count(), 2);
        shown
    };
    assert_eq!(some(7), some(7));
    assert!((0..20).any(|seed| some(seed) != some(7)));
}

proptest! {
    #[test]
    fn later_samples_and_steps_see_no_more(
        group in 2..20usize,
        steps in 2..400usize,
        n_items in 0..60usize,
    ) {
        for schedule in [Schedule::SCRIPT, Schedule::CODE_DEFAULT] {
            let of = |index, step| {
                let sample = TrainingSample { index, group, step, steps };
                shown(&schedule, sample, n_items).expect("it exists")
            };
            prop_assert!(of(0, 1) <= n_items);
            prop_assert!((1..group).all(|at| of(at, 1) <= of(at - 1, 1)));
            prop_assert!((2..=steps).all(|step| of(0, step) <= of(0, step - 1)));
            prop_assert_eq!(of(group - 1, 1), 0);
        }
    }
}
