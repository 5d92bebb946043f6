//! What a question changes of a verdict, and what it must not.

use crate::math::Math;
use crate::{Candidate, Claim, Gold, UnitScore, Verifier};

/// A row is question, gold answer, response's answer, and whether it is right.
fn check(rows: &[(&str, &str, &str, bool)]) {
    for (question, gold, answer, expected) in rows {
        let claim = Claim {
            gold: Gold::Text(gold),
            candidate: Candidate::Text(answer),
            response: None,
            question: Some(question),
            explain: false,
        };
        let verdict = Math::default().verify(&claim, &mut crate::Fuel::default());
        let is_right = matches!(&verdict, Ok(verdict) if verdict.score == UnitScore::ONE);
        assert_eq!(is_right, *expected, "{question:?} {gold:?} {answer:?}: {verdict:?}");
    }
}

#[test]
fn bound_is_no_extreme_that_a_condition_names() {
    check(&[
        ("Find the smallest integer $n$ for which $n^2 > 20$.", "5", "n > 5", false),
        ("Find the largest integer $n$ for which $n^2 < 64$.", "7", "n < 7", false),
        ("Which is larger, $2^{100}$ or $3^{65}$?", "3^{65}", "3^{65} > 2^{100}", true),
        ("Which is larger, $2^{100}$ or $3^{65}$?", "2^{100}", "3^{65} > 2^{100}", false),
    ]);
}

#[test]
fn unit_of_the_answer_counts_more_than_what_was_counted() {
    let minutes = "How many hours does the trip take? Express your answer in minutes.";
    let metres = "How many kilometers does she walk? Give the answer in meters.";
    check(&[
        (minutes, "90", "90 minutes", true),
        (minutes, "90", "90 hours", false),
        (metres, "1500", "1500 meters", true),
        (metres, "1500", "1500 km", false),
        ("How many minutes does the trip take?", "30", "half an hour", false),
        ("How many minutes does the trip take?", "30", "0.5 hours", true),
    ]);
}

#[test]
fn denials_are_read_however_they_are_written() {
    let question = "Is $G$ necessarily abelian?";
    for (statement, says_yes) in [
        ("G is abelian", true),
        ("G is always abelian", true),
        ("G can't be abelian", false),
        ("G needn't be abelian", false),
        ("G isn’t abelian", false),
        ("It is impossible for G to be abelian", false),
        ("G is not abelian", false),
        ("G is non-abelian", false),
    ] {
        check(&[(question, "Yes", statement, says_yes), (question, "No", statement, !says_yes)]);
    }
}

#[test]
fn factored_forms_may_be_written_in_any_way() {
    let question = "Factor $x^2-1$ completely.";
    check(&[
        (question, "(x-1)^2(x+1)^2", "((x-1)(x+1))^2", true),
        (question, "\\frac{1}{2}(x-1)(x+1)", "\\frac{(x-1)(x+1)}{2}", true),
        (question, "\\frac{1}{2}(x-1)(x+1)", "0.5(x-1)(x+1)", true),
        (question, "2(x-1)(x+1)", "[(x-1)(x+1)]\\cdot 2", true),
        (question, "2(x-1)(x+1)", "2(x^2-1)", false),
        (question, "(x-1)(x+1)", "x^2-1", false),
        (
            question,
            "(x-1)^{18446744073709551615}(x+1)^{18446744073709551615}",
            "(x-1)^{18446744073709551615}(x+1)^{18446744073709551615}",
            true,
        ),
    ]);
}

#[test]
fn percentages_count_as_numbers_where_one_is_asked_for() {
    let other = "The percentage of defective items is 5%. What is the probability, as a decimal, that an item is defective?";
    check(&[
        (other, "0.05", "0.05\\%", false),
        ("What percentage of the students passed?", "80", "80\\%", true),
        ("Find the percentage of students who passed.", "80", "80\\%", true),
        ("By what percent did the price rise?", "20", "20\\%", true),
    ]);
}

#[test]
fn formulas_of_the_question_are_answers_where_they_are_not_its_task() {
    let lowest =
        "Find $m+n$ if $p=\\frac{m}{n}$ with $m$ and $n$ relatively prime; give $\\frac{m}{n}$.";
    check(&[
        ("What is the sum of $1.5$ and $0$?", "\\frac{3}{2}", "1.5", true),
        ("Find the product of $1/2$ and $2$, then halve it.", "0.5", "1/2", true),
        ("Simplify $\\frac{6}{8}$.", "\\frac{3}{4}", "\\frac{6}{8}", false),
        ("Two coprime numbers are drawn. What is the probability?", "23/36", "46/72", true),
        (lowest, "\\frac{23}{36}", "\\frac{46}{72}", false),
    ]);
}

#[test]
fn points_group_thousands_in_languages_that_write_so() {
    check(&[
        ("A 2.000 kg block falls. Find its energy in J.", "1250", "1.250", false),
        ("Ein Auto kostet 25.000 €. Was kosten zwei?", "50000", "50.000", true),
    ]);
}

#[test]
fn any_basis_is_right_where_a_basis_is_wanted() {
    let kernel = "Find a basis of $\\ker T$.";
    check(&[
        (kernel, "\\{(-2,-2,1)\\}", "\\{(2, 2, -1)\\}", true),
        (kernel, "\\{(-2,-2,1)\\}", "\\{(2, 2, 1)\\}", false),
        (kernel, "(1,0,1), (0,1,1)", "(1,1,2), (1,-1,0)", true),
        (kernel, "(1,0,1), (0,1,1)", "(1,1,2), (2,2,4)", false),
        (kernel, "(1,0,1), (0,1,1)", "(1,1,2)", false),
        ("Find an orthonormal basis of $V$.", "(1,0), (0,1)", "(1,1), (1,-1)", false),
        ("Find the vectors $u$ and $v$.", "(1,0), (0,1)", "(1,1), (1,-1)", false),
    ]);
}

#[test]
fn time_of_day_may_be_in_words() {
    let arrival = "Во сколько он прибудет?";
    check(&[
        (arrival, "12:30", "12 часов 30 минут", true),
        (arrival, "12:30", "12 часов 20 минут", false),
        ("Сколько времени займёт путь?", "12:30", "12 часов 30 минут", false),
        ("At what time does it arrive?", "9:05", "9 h 5 min", true),
    ]);
}

#[test]
fn one_of_the_kinds_that_the_question_lists_answers() {
    let kinds = "What type of triangle is it (acute, right, or obtuse)?";
    let series = "Is the series convergent or divergent?";
    check(&[
        (kinds, "right", "a right-angled triangle", true),
        (kinds, "right", "an obtuse triangle", false),
        (kinds, "right", "not a right triangle", false),
        (kinds, "right", "right or obtuse", false),
        (series, "divergent", "the series is divergent by comparison", true),
        (series, "divergent", "the series is convergent by comparison", false),
        ("Is the argument valid or invalid?", "invalid", "The argument is not valid", true),
        ("Is the argument valid or invalid?", "valid", "The argument is not valid", false),
        ("Is $f$ even or odd?", "odd", "not even", false),
        (
            "Is $f$ injective, surjective, both, or neither?",
            "neither",
            "neither injective nor surjective",
            true,
        ),
        (
            "Is $f$ injective, surjective, both, or neither?",
            "injective",
            "neither injective nor surjective",
            false,
        ),
        ("Which is prime? a) 51  b) 57  c) 59  d) 91", "c", "c) 59", true),
        ("Which is prime? a) 51  b) 57  c) 59  d) 91", "b", "c) 59", false),
        ("Solve for $a$ in terms of $b$ and $c$.", "b", "c", false),
        ("Which player wins with optimal play?", "the second player", "2", true),
        ("Which player wins with optimal play?", "the first player", "2", false),
        ("Which number wins?", "the second player", "2", false),
        ("What is the ratio of the periods?", "8", "8 : 1", true),
    ]);
}

#[test]
fn side_that_is_asked_for_answers() {
    let sum = "Find $a+d$, given that $f$ is not the identity.";
    check(&[
        (sum, "0", "a+d=0", true),
        (sum, "1", "a+d=0", false),
        (sum, "0", "a-d=0", false),
        ("Find $p^2-4q$. (JEE type)", "1", "p² − 4q = 1", true),
        ("Find all unordered pairs.", "\\{1,2\\},\\{3,4\\}", "(1,2), (4,3)", true),
        ("Find all unordered pairs.", "\\{1,2\\},\\{3,4\\}", "(1,2), (4,2)", false),
        ("Find all ordered pairs.", "(1,2),(3,4)", "(1,2), (4,3)", false),
        (
            "Find the gradient of $f$.",
            "(2xy, x^2)",
            "\\begin{pmatrix}2xy\\\\x^2\\end{pmatrix}",
            true,
        ),
        ("Is $G$ necessarily cyclic? Answer yes or no.", "Yes", "is cyclic", true),
        ("Is $G$ necessarily cyclic? Answer yes or no.", "No", "is cyclic", false),
    ]);
}
