//! Unmarked endings: the gold answer's type chooses the reading, and never its value.

use crate::extract::{AnswerPolicy, answer};
use crate::math::{Math, MathConfig};
use crate::{Candidate, Fuel};

/// Golds of one type each.
const TYPES: [&[&str]; 10] = [
    &["5", "-3", "2/3", r"\sqrt{2}", "1000", "0.25"],
    &["3x + 1", "x^2 - y", r"2^n"],
    &[r"[0, 1)", r"(2, \infty)", "x > 3", r"-1 < x \le 7", r"[2, 5)"],
    &["(1, 2, 3)", "(0, -1, 5)", "(x, y, z)"],
    &["2, 3", "-1, 7", r"\{1, 2\}", "1, 2, 3"],
    &["odd", "converges", r"\text{blue}", "no solution", r"\text{does not exist}"],
    &[r"\begin{pmatrix} 1 & 2 \end{pmatrix}", r"\begin{pmatrix} 0 \\ 7 \end{pmatrix}"],
    &["2x + 3y = 6", "x^2 + y^2 = 1", "3x - 4y = 0"],
    &["q(t) = 2t + 1", "q(t) = e^{-t}", "q(t) = 3t"],
    &["yes", "no", "true"],
];

/// Statements with values of several types.
const RESPONSES: [&str; 14] = [
    "The function is increasing on $[2, 5)$ with maximum 7.",
    "The lines meet at $(2, 5, 1)$, so the distance is 3.",
    "The roots are $2$ and $3$, so the number is even.",
    "The total is 12. The number is odd.",
    "So $x > 3$, and $x = 4$ is the least integer.",
    "There are 5 of them, which makes the sum $17$.",
    "This gives $x = 3$, which is not valid, so there is no solution.",
    "The circle $x^2 + y^2 = 4$ has area $4\\pi$.",
    "The kernel is spanned by $\\begin{pmatrix} 1 & 2 \\end{pmatrix}$ and its rank is 1.",
    "The answer for $n = 4$ is 24, and the series converges.",
    "We have $a = 1$, $b = 2$ and $a + b = 3$.",
    "On $(0, 1)$ the limit does not exist.",
    "So $q(t) = 3t$. The charge grows without end, at the rate $r = 3$.",
    "No. A counterexample is $x = 0$.",
];

/// The text that is compared with `gold`.
fn chosen(gold: &str, response: &str) -> Option<String> {
    let found = answer(response, &AnswerPolicy::default())?;
    let texts = found.texts(response);
    let Candidate::Statement { readings, own, parts, .. } = texts.candidate() else {
        return Some(found.text.to_owned());
    };
    let mut fuel = Fuel::default();
    let mut ws = maths::Workspace::new(&mut fuel);
    let math = Math::new(MathConfig::default());
    let gold = [math.read_gold(gold, None, 0, &mut ws).expect("the gold answer reads")];
    let candidates = math.read_statement((readings, parts), own, &gold, &mut ws);
    Some(candidates.chosen(&gold[0], &ws).text.clone().into_owned())
}

#[test]
fn another_gold_answer_of_the_type_chooses_the_same_reading() {
    for response in RESPONSES {
        for golds in TYPES {
            let first = chosen(golds[0], response);
            for gold in golds {
                assert_eq!(chosen(gold, response), first, "{response:?}, {gold:?}");
            }
        }
    }
}

#[test]
fn type_of_the_gold_answer_chooses_the_reading() {
    for (response, gold, expected) in [
        (RESPONSES[0], "[0, 1)", "[2, 5)"),
        (RESPONSES[0], "5", "7"),
        (RESPONSES[1], "(0, 0, 0)", "(2, 5, 1)"),
        (RESPONSES[1], "5", "3"),
        (RESPONSES[2], "1, 2", "2, 3"),
        (RESPONSES[2], "blue", "even"),
        (RESPONSES[3], "blue", "odd"),
        (RESPONSES[3], "5", "12"),
        (RESPONSES[6], "blue", "no solution"),
        (RESPONSES[11], "blue", "does not exist"),
        (RESPONSES[11], "x > 3", "(0, 1)"),
        (RESPONSES[12], "q(t) = e^t", "q(t) = 3t"),
        (RESPONSES[12], "5", "r = 3"),
        (RESPONSES[13], "yes", "No"),
    ] {
        assert_eq!(chosen(gold, response).as_deref(), Some(expected), "{response:?}, {gold:?}");
    }
}
