use serde_json::Map;

use super::{bound, check, check_bad_gold, judge};
use crate::extract::{self, AnswerPolicy};
use crate::math::{Bound, Math, MathConfig, Tolerance};
use crate::{Candidate, Certainty, Claim, Fuel, Gold, Verdict, Verifier, VerifyError};

fn verify(gold: Gold<'_>, candidate: Candidate<'_>) -> Result<Verdict, VerifyError> {
    let claim = Claim { gold, candidate, response: None, question: None, explain: false };
    Math::default().verify(&claim, &mut Fuel::default())
}

#[test]
fn missing_sides_have_their_verdicts() {
    for empty in [Candidate::Missing, Candidate::Text(""), Candidate::Text(" \n")] {
        assert_eq!(verify(Gold::Text("4"), empty), Ok(Verdict::no_answer()));
        for gold in [Gold::Missing, Gold::Text(""), Gold::Text(" ")] {
            assert_eq!(verify(gold, empty), Err(VerifyError::missing_reference()));
        }
        let unreadable = verify(Gold::Text("\\unknown{2}"), empty);
        assert!(matches!(unreadable, Err(VerifyError::BadReference(_))));
    }
    let shape = verify(Gold::Object(&Map::new()), Candidate::Text("4"));
    let Err(VerifyError::BadReference(reason)) = shape else {
        panic!("{shape:?}");
    };
    assert_eq!(reason.code, "reference_shape");
}

fn check_any(golds: &[&str], candidate: &str, expected: Result<&str, (&str, &str)>) {
    let golds: Vec<String> = golds.iter().map(|gold| (*gold).to_owned()).collect();
    match (judge(Tolerance::Exact, Gold::AnyOf(&golds), candidate), expected) {
        (Ok(verdict), Ok(label)) => assert_eq!(verdict.label, label, "{golds:?}, {candidate}"),
        (Err(VerifyError::BadReference(reason)), Err((code, part))) => {
            assert_eq!(reason.code, code, "{golds:?}, {candidate}");
            let detail = reason.detail.unwrap_or_default();
            assert!(detail.contains(part), "{detail}");
        }
        (found, expected) => panic!("{golds:?}, {candidate}: {found:?}, not {expected:?}"),
    }
}

#[test]
fn lists_of_gold_answers_accept_any_member() {
    check_any(&["4", "5"], "5", Ok("equal"));
    check_any(&["4", "5"], "6", Ok("different"));
    check_any(&["4", "5"], "x", Ok("different"));
    check_any(&["4", "5"], "\\unknown", Ok("unread"));
    check_any(&["4", "5"], "", Ok("no_answer"));
    check_any(&["\\unknown{2}", "5"], "5", Ok("equal"));
    check_any(&["5", "\\unknown{2}"], "6", Err(("reference_unread", "entry 1")));
    check_any(&["5", ""], "6", Err(("reference_unread", "entry 1")));
    check_any(&["\\pj", "\\ee"], "x", Err(("reference_unread", "entry 0")));
    check_any(&[], "5", Err(("reference_empty", "empty")));
}

#[test]
fn undecided_outweighs_a_difference() {
    for golds in [["5 eggs", "6 hens"], ["6 hens", "5 eggs"]] {
        let golds = golds.map(str::to_owned);
        let verdict = verify(Gold::AnyOf(&golds), Candidate::Text("7 hens"))
            .expect("both gold answers are fine");
        assert_eq!(verdict.certainty, Certainty::Presumed, "{golds:?}");
    }
}

#[test]
fn details_show_both_sides() {
    let detail = |gold, candidate| {
        let verdict =
            judge(Tolerance::Exact, Gold::Text(gold), candidate).expect("the gold answer is fine");
        let detail = verdict.reason.detail;
        detail.expect("an explanation requested").into_owned()
    };
    for (gold, candidate, parts) in [
        ("0.5", "\\frac{1}{2}", &["1/2 = 0.5", "\\frac{1}{2}", "both read as value"][..]),
        (
            "0.5",
            "\\frac34",
            &["3/4 ≠ 0.5", "in the candidate: missing braces of a fraction were added"],
        ),
        ("3.14", "-3.140", &["-3.140 ≠ 3.14; both read as value"]),
        ("0.375", "37.5\\%", &["37.5% = 0.375", "in LaTeX: 37.5\\% and 0.375"]),
        ("50.5\\%", ".06 m", &["0.06 m", "50.5%"]),
        ("3 eggs", "three", &["in the candidate: a word was read as a number"]),
        ("18", "18 eggs", &["only the candidate has a unit, egg"]),
        ("18", "\\unknown", &["`\\unknown` cannot be read as an answer, all of it"]),
        ("x+1", "x+2", &["they differ at x = "]),
        ("(1, 2)", "(1, 3)", &["decided by member 2", "both read as tuple"]),
        ("x > 1", "(1, 2)", &["read as tuple and inequality"]),
    ] {
        let detail = detail(gold, candidate);
        for part in parts {
            assert!(detail.contains(part), "{part:?} is not in {detail:?}");
        }
    }
    assert!(detail("18", &"9".repeat(1000)).len() < 800);
}

#[test]
fn bounds_are_non_negative_numbers() {
    for text in ["-1", "", "x", "5 m", "x = 1", "1,2", "1e999999999"] {
        assert!(text.parse::<Bound>().is_err(), "{text}");
    }
    let digest = |text| {
        let config =
            MathConfig { tolerance: Tolerance::Absolute(bound(text)), ..MathConfig::default() };
        serde_json::to_string(&config.tolerance).expect("a configuration has only plain fields")
    };
    assert_eq!(digest("0.001"), r#"{"absolute":"1/1000"}"#);
    assert_eq!(digest("0.0010"), digest("1e-3"));
}

#[test]
fn size_is_bounded() {
    let long = "1".repeat(64 * 1024 + 1);
    check("4", &long, "too_costly", "candidate_too_long");
    check_bad_gold(&long);
    for hostile in [
        "(".repeat(60_000),
        "{".repeat(60_000),
        "\\text{".repeat(10_000),
        "x = ".repeat(16_000),
        "1 million ".repeat(6_000),
        "$".repeat(60_000),
        "10^".repeat(20_000),
        "\\frac".repeat(13_000),
        "1/".repeat(30_000),
        "5 m/".repeat(16_000),
        "²".repeat(30_000),
        "1 ".repeat(30_000),
        "1 e".repeat(20_000) + "ggs",
        "1 ".to_owned() + &"e".repeat(60_000),
        "9".repeat(60_000) + "/" + &"7".repeat(5_000),
    ] {
        let verdict =
            verify(Gold::Text("4"), Candidate::Text(&hostile)).expect("the gold answer is fine");
        assert!(verdict.score.get() < 1.0);
    }
}

#[test]
fn costly_gold_answer_is_a_bad_reference() {
    let golds = vec!["1".repeat(10_000); 20];
    let verdict = verify(Gold::AnyOf(&golds), Candidate::Text("4"));
    assert!(matches!(verdict, Err(VerifyError::BadReference(_))), "{verdict:?}");
}

fn check_response(response: &str, gold: &str, label: &str) {
    let found = extract::answer(response, &AnswerPolicy::default());
    let candidate = found.map_or(Candidate::Missing, |found| Candidate::Text(found.text));
    let verdict = verify(Gold::Text(gold), candidate).expect("the gold answer is fine");
    assert_eq!(verdict.label, label, "{response:?}, {gold:?}");
}

#[test]
fn responses_are_extracted_and_judged() {
    check_response("so \\boxed{0.5}", "\\frac12", "equal");
    check_response("<think>\\boxed{18}</think>", "18", "no_answer");
    check_response("<think>\\boxed{18}", "18", "no_answer");
    check_response("\\boxed{}", "18", "no_answer");
    check_response("The answer is **$18**.", "18", "equal");
    check_response("It is $4\\sqrt{2}$", "4", "different");
    check_response("\\boxed{1331 and 1728}", "1728", "different");
}

#[test]
fn constants_of_physics_are_numbers_only_where_they_are_configured() {
    let judged = |constants: &[&str], gold, candidate| {
        let parse = |symbol: &&str| symbol.parse().expect("the test names known constants");
        let math = Math::new(MathConfig {
            constants: constants.iter().map(parse).collect(),
            ..MathConfig::default()
        });
        let claim = Claim {
            gold: Gold::Text(gold),
            candidate: Candidate::Text(candidate),
            response: None,
            question: None,
            explain: false,
        };
        let verdict = math.verify(&claim, &mut Fuel::default());
        verdict.expect("the gold answer is fine").label
    };
    assert_eq!(judged(&[], "c/2", "149896229"), "different");
    assert_eq!(judged(&["c"], "c/2", "149896229"), "equal");
    assert_eq!(judged(&["c"], "149896229", "\\frac{c}{2}"), "equal");
    assert_eq!(judged(&["h"], "c/2", "149896229"), "different");
    assert!("gamma".parse::<crate::math::PhysicalConstant>().is_err());
}

#[test]
fn long_lists_and_lists_of_words_equal_themselves() {
    assert_label("(red, blue, 3)", "(Red, blue, 3)", "equal");
    assert_label("(red, blue, 3)", "(blue, red, 3)", "not_compared");
    let numbers: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
    let list = numbers.join(", ");
    check(&list, &list, "equal", "members_equal");
    check(&format!("\\{{{list}\\}}"), &list, "equal", "members_equal");
    let longer = format!("{list}, 2000");
    check(&list, &longer, "not_compared", "too_many_members");
}

fn assert_label(gold: &str, candidate: &str, label: &str) {
    let verdict = judge(Tolerance::Exact, Gold::Text(gold), candidate);
    assert_eq!(verdict.expect("the gold answer is fine").label, label);
}
