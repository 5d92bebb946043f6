mod hostile;

use serde_json::{Value, json};

use super::*;
use crate::extract::{self, AnswerPolicy};
use crate::testing::outcome;

fn check(gold: &Value, candidate: &str, expected: (f64, &str)) {
    let verifier = ChoiceVerifier::new(ChoiceConfig { multiple: false });
    assert_eq!(outcome(&verifier, gold, Some(candidate)), expected, "{gold} {candidate:?}");
}

fn check_multiple(gold: &Value, candidate: &str, expected: (f64, &str)) {
    let verifier = ChoiceVerifier::new(ChoiceConfig { multiple: true });
    assert_eq!(outcome(&verifier, gold, Some(candidate)), expected, "{gold} {candidate:?}");
}

const SAME: (f64, &str) = (1.0, "label_equal");
const CONTENT: (f64, &str) = (1.0, "content_equal");
const DIFFERS: (f64, &str) = (0.0, "label_differs");
const HEDGED: (f64, &str) = (0.0, "hedged");
const UNREAD: (f64, &str) = (0.0, "candidate_unread");
const CONFLICT: (f64, &str) = (0.0, "label_content_conflict");

#[test]
fn labels_are_read_in_every_notation() {
    for candidate in [
        "B",
        "b",
        "(B)",
        "( B )",
        "[B]",
        "{B}",
        "B.",
        "B)",
        "B:",
        " B ",
        "**B**",
        "**(B)**",
        "**B.**",
        "`B`",
        "_B_",
        "\"B\"",
        "'B'",
        r"\text{B}",
        r"\textbf{(B)}",
        r"\mathrm{B}",
        "$B$",
        r"$\text{B}$",
        r"\(B\)",
        r"\boxed{B}",
        "Option B",
        "option (b)",
        "Choice B",
        "Answer: B",
        "answer B",
        "The answer is B",
        "The answer is B.",
        "the correct answer is: (B)",
        "The final answer is **B**.",
        "My answer: B",
        "The correct option is B",
        "Answer: Option B",
        "Final answer: B",
        "the best choice is B!",
        "Ｂ",
        "（Ｂ）",
        "Ⓑ",
        "B, B",
        "\nB\n",
        "B) Paris",
        "(B) Paris",
        "B. Paris",
        "B: Paris",
        "B - Paris",
        "B – Paris",
        "B (Paris)",
        "**B**: Paris",
        r"\textbf{(B)}\ 12",
        "b) paris",
        "Answer: B) Paris, the capital",
        "B) it is so",
        "B because the others fail",
        "The answer is B because the others fail.",
        "The answer is **B**, since A is too small.",
        "Option B is correct.",
        "option b is correct",
        "(B) is the right answer",
        "B is the only correct option because the others fail",
        "B is the answer.",
    ] {
        for gold in ["B", "(B)", "B.", "B)", "b", r"\text{B}"] {
            check(&json!(gold), candidate, SAME);
        }
        check(&json!("A"), candidate, DIFFERS);
        check(&json!("Z"), candidate, DIFFERS);
    }
}

#[test]
fn prose_is_not_read() {
    for candidate in [
        "A cat sat",
        "A",
        "a cat sat",
        "I think so",
        "A-level",
        "A's",
        "B because",
        "B Paris",
        "Be",
        "U.S.",
        "C++",
        "C#",
        "Paris",
        "",
        " ",
        ".",
        "**",
        "none of the above",
        "Answer:",
        "The answer is a cat",
        "answers B and more",
        "not B",
        "a because",
        "a because it is so",
        "A because of x, or B because of y",
        "A is correct, or B is",
        "A is correct?",
        "A is",
        "A is only",
        "(A) is wrong",
        "A) isn't it",
        "B?",
        "AB",
        "CAB",
        "1",
        "(1)",
        "II",
        "В",
        "The answer is the answer is B is",
        "(B",
        "B(",
        "\u{0}B",
        "\u{202e}B",
        "B\u{200b}",
        "x = B",
        "-B",
        "\\B",
        "\\",
        "(",
        "(((((((B)))))))",
    ] {
        // The lone article is the one line here that is a label.
        let expected = if candidate == "A" { SAME } else { UNREAD };
        check(&json!("A"), candidate, expected);
    }
}

#[test]
fn two_named_choices_are_a_hedge() {
    for candidate in [
        "A, B",
        "A or B",
        "A and B",
        "A/B",
        "A & B",
        "(A)(B)",
        "(A), (B)",
        "A; B",
        "A\nB",
        "A B",
        "[A, B]",
        "Answer: A or B",
        "Options A and B",
        "A) Paris or B) London",
        "A) Paris. (B) London",
        "(A) x B. y",
        "A: x, or B",
        "A) x / B",
        "A) x or option C",
        "**A** or **B**",
        r"\text{A}, \text{B}",
        "a, b",
    ] {
        check(&json!("A"), candidate, HEDGED);
    }
    check(&json!("B"), "B) vitamin C", SAME);
    check(&json!("B"), "B) f(x)", SAME);
    check(&json!("B"), "B) a (small) step", SAME);
}

/// Boxes of one sentence are a list; those of other sentences are corrected by the last.
#[test]
fn boxes_of_a_sentence_are_read_together() {
    let letter = |letter: &str| json!(letter);
    let texts = json!({"answer": "B", "choices": ["12", "Paris"]});
    for (multiple, gold, response, expected) in [
        (false, letter("B"), r"The answer is \boxed{A} or \boxed{B}.", HEDGED),
        (false, letter("A"), r"The answer is \boxed{A} or \boxed{B}.", HEDGED),
        (false, letter("B"), r"$\boxed{A}$, $\boxed{B}$", HEDGED),
        (false, letter("B"), r"\boxed{A or C} or \boxed{B}", HEDGED),
        (false, letter("B"), r"\boxed{B}, \boxed{B}", SAME),
        (false, letter("B"), r"\boxed{12}, \boxed{B}", SAME),
        (false, letter("B"), r"\boxed{B}, \boxed{12}", SAME),
        (false, letter("B"), r"\boxed{12} or \boxed{13}", UNREAD),
        (false, letter("B"), r"First \boxed{A}. No: it is \boxed{B}.", SAME),
        (false, texts.clone(), r"\boxed{B}, \boxed{Paris}", CONTENT),
        (false, texts, r"\boxed{12}, \boxed{B}", HEDGED),
        (true, letter("A, C"), r"\boxed{A} and \boxed{C}", SAME),
        (true, letter("A, C"), r"\boxed{A}, \boxed{C}", SAME),
        (true, letter("A, C"), r"\boxed{A, C}, \boxed{12}", SAME),
        (true, letter("A, C"), r"\boxed{A} or \boxed{C}", HEDGED),
        (true, letter("A, C"), r"\boxed{A}, \boxed{B} and \boxed{C}", DIFFERS),
        (true, letter("C"), r"\boxed{A} and \boxed{C}", DIFFERS),
    ] {
        let found = extract::answer(response, &AnswerPolicy::default()).expect("a box");
        let texts = found.texts(response);
        let fields = gold.as_object();
        let claim = Claim {
            gold: fields.map_or_else(|| Gold::Text(gold.as_str().expect("a text")), Gold::Object),
            candidate: texts.candidate(),
            response: Some(response),
            question: None,
            explain: false,
        };
        let verifier = ChoiceVerifier::new(ChoiceConfig { multiple });
        let verdict = verifier.verify(&claim, &mut Fuel::default()).expect("a verdict");
        assert_eq!((verdict.score.get(), verdict.reason.code), expected, "{gold} {response}");
    }
}

#[test]
fn text_of_a_choice_names_it() {
    let list = json!({"answer": "B", "choices": ["London", "Paris", "Rome", "a cat", "A cat sat"]});
    let object = json!({"answer": "(b)", "choices": {"A": "London", "B": "Paris", "C": "Rome"}});
    for gold in [&list, &object] {
        check(gold, "B", SAME);
        check(gold, "B) Paris", SAME);
        check(gold, "B) PARIS.", SAME);
        check(gold, "(B) **Paris**", SAME);
        check(gold, "Option B: Paris", SAME);
        check(gold, "Paris", CONTENT);
        check(gold, "  paris. ", CONTENT);
        check(gold, "**Paris**", CONTENT);
        check(gold, "The answer is Paris", CONTENT);
        check(gold, r"\text{Paris}", CONTENT);
        check(gold, "London", DIFFERS);
        check(gold, "C", DIFFERS);
        check(gold, "A) London", DIFFERS);
        check(gold, "B) London", CONFLICT);
        check(gold, "A) Paris", CONFLICT);
        check(gold, "B) Berlin", CONFLICT);
        check(gold, "(B) because it is the capital", SAME);
        check(gold, "(A) because it is the capital", DIFFERS);
        check(gold, "(B) because of x, (A) because of y", CONFLICT);
        check(gold, "B) Paris or C) Rome", CONFLICT);
        check(gold, "Berlin", UNREAD);
        check(gold, "Paris or London", UNREAD);
        check(gold, "A or B", HEDGED);
    }
    let cat = json!({"answer": "E", "choices": ["London", "Paris", "Rome", "a cat", "A cat sat"]});
    check(&cat, "A cat sat", CONTENT);
    check(&cat, "A cat", DIFFERS);
    check(&cat, "A", DIFFERS);
}

#[test]
fn ambiguous_choice_texts_are_resolved() {
    // A lone label is a label, even where it is also the text of another choice.
    let vitamins = json!({"answer": "A", "choices": ["B", "C", "A and B", "$5", "5"]});
    check(&vitamins, "B", DIFFERS);
    check(&vitamins, "A", SAME);
    check(&vitamins, "A) B", SAME);
    check(&vitamins, "A and B", DIFFERS);
    let both = json!({"answer": "C", "choices": ["B", "C", "A and B", "$5", "5"]});
    check(&both, "A and B", CONTENT);
    let plain = json!({"answer": "E", "choices": ["B", "C", "A and B", "$5", "5"]});
    check(&plain, "5", CONTENT);
    check(&plain, "$5", DIFFERS);
    check(&plain, "**5**", UNREAD);
    let twins = json!({"answer": "B", "choices": ["Paris", "Paris"]});
    check(&twins, "Paris", CONTENT);
    check(&twins, "A) Paris", DIFFERS);
    let reasons = json!({"answer": "B", "choices": ["Because it rains", "Because it snows"]});
    check(&reasons, "B) because it snows", SAME);
    check(&reasons, "B) because it rains", CONFLICT);
    check(&reasons, "B because it rains", UNREAD);
    let pictures = json!({"answer": "B", "choices": ["", ""]});
    check(&pictures, "B", SAME);
    check(&pictures, "B) the second one", SAME);
    check(&pictures, "", UNREAD);
}

#[test]
fn digits_are_labels_if_gold_is_a_digit() {
    for candidate in ["2", "(2)", "2.", "2)", "Option 2", "②", "2. Paris"] {
        check(&json!("2"), candidate, SAME);
        check(&json!("1"), candidate, DIFFERS);
        check(&json!("B"), candidate, UNREAD);
    }
    for candidate in ["20", "2.5", "B", "12", "two", "-2"] {
        check(&json!("2"), candidate, UNREAD);
    }
    check(&json!("2"), "2, 3", HEDGED);
    let gold = json!({"answer": "2", "choices": ["3", "4"]});
    check(&gold, "4", CONTENT);
    check(&gold, "3", DIFFERS);
    check(&gold, "5", DIFFERS);
    check(&gold, "2) 4", SAME);
    check(&gold, "2) 3", HEDGED);
    check(&gold, "2) five", CONFLICT);
}

#[test]
fn label_sets_ignore_order() {
    for candidate in [
        "A, C",
        "C, A",
        "AC",
        "CA",
        "A and C",
        "(A), (C)",
        "(A)(C)",
        "A & C",
        "A;C",
        "A\nC",
        "[A, C]",
        "[\"A\", \"C\"]",
        "Options A and C",
        "The answers are A and C.",
        "**A**, **C**",
        "A, C, A",
        "A) Paris\nC) Rome",
        "A) Paris; C) Rome",
        "A) Paris, C) Rome",
        "(A) Paris, (C) Rome",
        r"\text{A}, \text{C}",
    ] {
        check_multiple(&json!("A, C"), candidate, SAME);
        check_multiple(&json!("AC"), candidate, SAME);
        check_multiple(&json!("ACD"), candidate, DIFFERS);
        check_multiple(&json!("A"), candidate, DIFFERS);
    }
    let known =
        json!({"answer": ["A", "C"], "choices": ["Paris, France", "London", "Rome, Italy"]});
    check_multiple(&known, "A, C", SAME);
    check_multiple(&known, "A) Paris, France\nC) Rome, Italy", SAME);
    check_multiple(&known, "Paris, France\nRome, Italy", SAME);
    check_multiple(&known, "A) Paris, France\nC) Rome, Texas", CONFLICT);
    check_multiple(&known, "A or C", HEDGED);
    check_multiple(&known, "Paris, France", DIFFERS);
    check_multiple(&json!("A"), "A", SAME);
    check_multiple(&json!("13").clone(), "1, 3", (-1.0, "reference_unreadable"));
    check_multiple(&json!("1, 3"), "1, 3", SAME);
    check_multiple(&json!("1, 3"), "13", UNREAD);
    check_multiple(&json!("AC"), "AAC", UNREAD);
}

#[test]
fn unusable_gold_is_an_error_before_the_candidate() {
    let single = ChoiceVerifier::new(ChoiceConfig::default());
    for (gold, code) in [
        (json!(null), "reference_missing"),
        (json!([]), "reference_empty"),
        (json!(""), "reference_empty"),
        (json!(" . "), "reference_empty"),
        (json!("Paris"), "reference_unreadable"),
        (json!("B) Paris"), "reference_unreadable"),
        (json!("A, B"), "reference_unreadable"),
        (json!("AB"), "reference_unreadable"),
        (json!("A or B"), "reference_unreadable"),
        (json!("0"), "reference_unreadable"),
        (json!("IV"), "reference_unreadable"),
        (json!({}), "reference_type"),
        (json!({"answer": 1}), "reference_type"),
        (json!({"answer": []}), "reference_type"),
        (json!({"answer": ["A", "B"]}), "reference_unreadable"),
        (json!({"answer": "B", "choices": "Paris"}), "reference_type"),
        (json!({"answer": "B", "choices": ["x", 2]}), "reference_type"),
        (json!({"answer": "B", "choices": ["x"]}), "reference_label"),
        (json!({"answer": "B", "choices": vec!["x"; 27]}), "reference_label"),
        (json!({"answer": "2", "choices": {"A": "x", "B": "y"}}), "reference_label"),
        (json!({"answer": "B", "choices": {"B": "x", "b": "y"}}), "reference_label"),
        (json!({"answer": "B", "choises": []}), "reference_field"),
    ] {
        for candidate in [None, Some("B"), Some("")] {
            assert_eq!(outcome(&single, &gold, candidate), (-1.0, code), "{gold}");
        }
    }
}

#[test]
fn lists_of_golds_accept_any_member() {
    check(&json!(["A", "B"]), "B", SAME);
    check(&json!(["A", "Paris"]), "A", SAME);
    check(&json!(["A", "Paris"]), "B", (-1.0, "reference_unreadable"));
    check(&json!(["A", "B"]), "C", DIFFERS);
    let verifier = ChoiceVerifier::new(ChoiceConfig::default());
    assert_eq!(outcome(&verifier, &json!("A"), None), (0.0, "no_answer"));
}
