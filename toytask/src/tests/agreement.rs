//! Generators and checkers, written independently, agree.

use proptest::prelude::*;

use crate::check;
use crate::make::{Chain, Countdown, Difficulty, Slip};
use crate::rng::StableRng;

fn difficulty(most: usize) -> Difficulty {
    Difficulty { lengths: 1..=most, times: 0.4, multipliers: 2..=99, ..Difficulty::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn right_solutions_are_found_right(seed: u64, most in 1_usize..12) {
        let chain = Chain::draw(&difficulty(most), &mut StableRng::new(seed, "test", &[]));
        let (problem, solution) = (chain.problem(), chain.solution());
        let judged = check::check_solution(&problem, &solution.to_string()).expect("it is a chain");
        prop_assert!(judged.is_right() && judged.is_final_right(), "{problem}\n{solution}");
        prop_assert_eq!(judged.gold, i64::from(solution.answer));
        prop_assert_eq!(check::gold(&problem), Some(judged.gold));
        prop_assert_eq!(judged.lines.len(), chain.links.len() + 1);
        prop_assert_eq!(judged.grade(9), 9);
    }

    #[test]
    fn slip_is_found_at_its_line(seed: u64, most in 1_usize..12) {
        let rng = &mut StableRng::new(seed, "test", &[]);
        let chain = Chain::draw(&difficulty(most), rng);
        for slip in Slip::ALL {
            let Some(made) = slip.make(&chain, rng) else { continue };
            let problem = chain.problem();
            let judged = check::check_solution(&problem, &made.text).expect("it is a chain");
            prop_assert_eq!(
                judged.first_error(), Some(made.line),
                "{}\n{}\n{}", slip.name(), problem, made.text
            );
            prop_assert_ne!(&made.text, &chain.solution().to_string());
            let n_wrong = judged.local().iter().filter(|right| !**right).count();
            match slip {
                // Only the step itself is wrong: later steps build on it.
                Slip::Value | Slip::SameParity | Slip::Answer | Slip::Early => {
                    prop_assert_eq!(n_wrong, 1);
                }
                // A changed digit of a result is wrong there and where the next line continues.
                Slip::Digit => prop_assert!((1..=2).contains(&n_wrong)),
                Slip::Operand | Slip::Operation | Slip::Dropped | Slip::Jumped
                | Slip::Repeated => prop_assert!(n_wrong >= 1),
            }
        }
    }

    #[test]
    fn countdown_generator_and_checker_agree(seed: u64, count in 2_usize..5) {
        let rng = &mut StableRng::new(seed, "test", &[]);
        let made = Countdown::draw(count, rng);
        let (problem, solution) = (made.problem(), made.solution());
        let judged = check::check_solution(&problem, &solution).expect("it is countdown");
        prop_assert!(judged.is_right() && judged.is_final_right(), "{problem}\n{solution}");
        prop_assert_eq!(check::gold(&problem), Some(i64::from(made.target)));
        let (text, line) = crate::make::slips::other_digit(&solution, rng).expect("digits");
        let judged = check::check_solution(&problem, &text).expect("it is countdown");
        let first = judged.first_error().expect("one digit is wrong");
        prop_assert_eq!(first, line, "{}\n{}", problem, text);
    }

    #[test]
    fn checkers_accept_any_text(problem in "[0-9+*()/ modMake from,-]{0,24}", solution in "\\PC{0,40}") {
        let _ = check::check_solution(&problem, &solution);
        let _ = check::check_solution("1+2 mod 100", &solution);
        let _ = check::check_solution("Make 3 from 1, 2", &solution);
    }
}

#[test]
fn every_slip_can_be_made_of_a_long_chain() {
    for slip in Slip::ALL {
        let made = (0..200).filter_map(|at| {
            let rng = &mut StableRng::new(9, "test", &[at]);
            let chain = Chain::draw(&difficulty(6), rng);
            slip.make(&chain, rng)
        });
        assert!(made.count() > 100, "{}", slip.name());
    }
}

#[test]
fn checkers_share_no_code_with_generators() {
    let sources = [
        include_str!("../check/mod.rs"),
        include_str!("../check/lines.rs"),
        include_str!("../check/chain.rs"),
        include_str!("../check/countdown.rs"),
        include_str!("../principles.rs"),
    ];
    for source in sources {
        assert!(!source.contains("make::") && !source.contains("StableRng"));
    }
}
