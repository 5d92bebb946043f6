//! Generated pairs like those of grade-school mathematics: a solution of about 300 bytes that ends in
//! an answer, and a gold answer. The same seed gives the same pairs on every machine.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rubrics::Input;

/// One pair in this many has a wrong answer.
const WRONG_ONE_IN: u32 = 3;

/// Generates `count` pairs.
pub(super) fn pairs(count: usize, seed: u64) -> Vec<Input> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| pair(&mut random)).collect()
}

fn pair(random: &mut ChaCha8Rng) -> Input {
    let [eggs, price, weeks] =
        [(12..400), (2..40), (2..52)].map(|range| random.random_range(range));
    let used = random.random_range(1..eggs);
    let left = eggs - used;
    let total: u64 = left * price * weeks;
    let solution = format!(
        "The farm collects {eggs} eggs every week and the family uses {used} of them, so there are \
         {eggs} - {used} = <<{eggs}-{used}={left}>>{left} eggs left to sell.\n\
         Each week they earn {left} * {price} = $<<{left}*{price}={week}>>{week} at the market.\n\
         Over {weeks} weeks that makes {week} * {weeks} = $<<{week}*{weeks}={total}>>{total}.\n",
        week = left * price,
    );
    let is_wrong = random.random_ratio(1, WRONG_ONE_IN);
    let answer = if is_wrong { total + random.random_range(1..100) } else { total };
    let (end, gold) = ending(random, answer, total);
    Input::of(solution + &end).against(gold)
}

/// The end of a solution and the gold answer, in forms that datasets use.
fn ending(random: &mut ChaCha8Rng, answer: u64, gold: u64) -> (String, String) {
    match random.random_range(0..6) {
        0 => (format!("#### {answer}"), gold.to_string()),
        1 => (format!("A: {answer}"), gold.to_string()),
        2 => (format!("So the answer is \\boxed{{{answer}}}."), gold.to_string()),
        3 => (format!("The answer is ${answer}.00."), format!("{gold}")),
        4 => (
            format!("The final answer is $\\boxed{{\\frac{{{answer}}}{{4}}}}$."),
            format!("{gold}/4"),
        ),
        _ => (format!("#### {}", with_commas(answer)), format!("\\${}", with_commas(gold))),
    }
}

fn with_commas(number: u64) -> String {
    base::human::grouped(number, ',')
}

#[cfg(test)]
mod tests {
    use super::*;
    use rubrics::{Reference, Responses};

    #[test]
    fn pairs_depend_on_the_seed_alone() {
        assert_eq!(pairs(50, 7), pairs(50, 7));
        assert_ne!(pairs(50, 7), pairs(50, 8));
    }

    #[test]
    fn solutions_have_the_length_that_they_claim() {
        let length = |input: Input| match input.responses {
            Responses::One(passage) => passage.answer_text().expect("a text").len(),
            Responses::Missing | Responses::Conflicting | Responses::Group(_) => 0,
        };
        let n_pairs = 2000;
        let total: usize = pairs(n_pairs, 0).into_iter().map(length).sum();
        assert!((250..350).contains(&(total / n_pairs)), "{}", total / n_pairs);
    }

    #[test]
    fn generated_pairs_have_the_intended_share_of_right_answers() {
        let registry = rubrics::Registry::built_in();
        let math = registry.get("math").expect("built in");
        let judge = |input: Input| {
            let input = std::sync::Arc::new(input);
            let outcome = rubrics::evaluate_now(math, &input, &rubrics::ScoreOptions::default());
            let gold = match &input.reference {
                Some(Reference::Text(text)) => text.clone(),
                other => panic!("{other:?}"),
            };
            outcome.unwrap_or_else(|failure| panic!("{gold}: {failure:?}")).score
        };
        let right: f64 = pairs(3000, 1).into_iter().map(judge).sum();
        assert!((1900.0..2100.0).contains(&right), "{right}");
    }
}
