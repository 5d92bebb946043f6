//! Instructions of `IFEval` and `IFBench`: a matrix of each type, and the faults that ports were
//! found to have.

#![expect(clippy::panic, reason = "a test that cannot go on has failed")]

mod ifbench;
mod throughput;

use proptest::prelude::*;
use serde_json::{Value, json};
use verifiers::instructions::{
    InstructionReward, InstructionsConfig, InstructionsVerifier, Strictness,
};
use verifiers::{Candidate, Claim, Fuel, Gold, Verifier as _, VerifyError};

/// Score and code of the verdict; a score of -1 marks a bad reference.
fn outcome(config: InstructionsConfig, gold: &Value, response: &str) -> (f64, &'static str) {
    let gold = match gold {
        Value::Object(fields) => Gold::Object(fields),
        Value::String(text) => Gold::Text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Gold::Missing,
    };
    let claim = Claim {
        gold,
        candidate: Candidate::Text(response),
        response: None,
        question: None,
        explain: true,
    };
    match InstructionsVerifier::new(config).verify(&claim, &mut Fuel::new(Fuel::DEFAULT)) {
        Ok(verdict) => (verdict.score.get(), verdict.reason.code),
        Err(VerifyError::BadReference(reason) | VerifyError::Undecided(reason)) => {
            (-1.0, reason.code)
        }
    }
}

fn gold(id: &str, kwargs: &Value) -> Value {
    json!({"instruction_id_list": [id], "kwargs": [kwargs]})
}

fn follows(id: &str, kwargs: &Value, response: &str) -> bool {
    match outcome(InstructionsConfig::default(), &gold(id, kwargs), response) {
        (1.0, "instructions_followed") => true,
        (0.0, "no_instruction_followed") => false,
        other => panic!("{id}: {other:?}"),
    }
}

#[test]
fn references_may_be_objects_as_texts() {
    for (text, expected) in [
        (
            r#"{"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}"#,
            (1.0, "instructions_followed"),
        ),
        ("punctuation:no_comma", (-1.0, "reference_type")),
        ("[]", (-1.0, "reference_type")),
        ("{}", (-1.0, "bad_instruction")),
    ] {
        let gold = Value::String(text.to_owned());
        assert_eq!(outcome(InstructionsConfig::default(), &gold, "None here."), expected, "{text}");
    }
}

/// For each type its arguments, responses that follow it and responses that do not.
#[expect(clippy::too_many_lines, reason = "a table, one entry a type")]
fn matrix() -> Vec<(&'static str, Value, Vec<&'static str>, Vec<&'static str>)> {
    let relation =
        |number: &str, key: &str, count: u64, word: &str| json!({number: count, key: word});
    let frequency =
        |count: u64, word: &str| json!({"keyword": "Sun", "frequency": count, "relation": word});
    let letter = |count: u64, word: &str| json!({"letter": "E", "let_frequency": count, "let_relation": word});
    vec![
        (
            "keywords:existence",
            json!({"keywords": ["Rain", "wind"]}),
            vec!["rain and WIND", "rainy windy"],
            vec!["rain", "wind", "snow"],
        ),
        (
            "keywords:frequency",
            frequency(2, "at least"),
            vec!["sun Sun", "sunsun sun"],
            vec!["sun", "moon"],
        ),
        (
            "keywords:frequency",
            frequency(2, "less than"),
            vec!["sun", "moon"],
            vec!["sun sun", "SUN sun sun"],
        ),
        (
            "keywords:forbidden_words",
            json!({"forbidden_words": ["cat"]}),
            vec!["concatenate", "dog"],
            vec!["a Cat.", "cat"],
        ),
        ("keywords:letter_frequency", letter(2, "at least"), vec!["eE", "eee"], vec!["e", "abc"]),
        ("keywords:letter_frequency", letter(2, "less than"), vec!["e", "abc"], vec!["eE"]),
        (
            "language:response_language",
            json!({"language": "de"}),
            vec!["Das ist ein schöner Tag und wir gehen nach draußen."],
            vec!["This is a fine day and we are going outside.", "123"],
        ),
        (
            "length_constraints:number_sentences",
            relation("num_sentences", "relation", 2, "at least"),
            vec!["One. Two.", "Dr. No came at 3.5 p.m. today. He left!"],
            vec!["One.", "Mr. Smith came"],
        ),
        (
            "length_constraints:number_sentences",
            relation("num_sentences", "relation", 2, "less than"),
            vec!["One.", "Version 1.2 of e.g. this"],
            vec!["One. Two.", "Yes! No?"],
        ),
        (
            "length_constraints:number_paragraphs",
            json!({"num_paragraphs": 2}),
            vec!["a\n***\nb", "*** a *** b ***"],
            vec!["a", "a *** b *** c", "a *** *** b"],
        ),
        (
            "length_constraints:number_words",
            relation("num_words", "relation", 3, "at least"),
            vec!["a b c", "don't go"],
            vec!["a b", "one, two"],
        ),
        (
            "length_constraints:number_words",
            relation("num_words", "relation", 3, "less than"),
            vec!["a b", "é ü"],
            vec!["a b c", "é ü ö"],
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            json!({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Hello"}),
            vec!["a\n\nhello, b", "a\n\n\"Hello\" b"],
            vec!["a\n\nb", "hello", "a\n\nhello\n\nc", "hello\n\na"],
        ),
        (
            "detectable_content:number_placeholders",
            json!({"num_placeholders": 2}),
            vec!["[a] [b]", "[a][b][c]"],
            vec!["[a]", "[a\n]", "a"],
        ),
        (
            "detectable_content:postscript",
            json!({"postscript_marker": "P.S."}),
            vec!["a\nP.S. b", "p. s. b"],
            vec!["a", "PS b"],
        ),
        (
            "detectable_content:postscript",
            json!({"postscript_marker": "P.P.S"}),
            vec!["a\nP.P.S b", "p. p. s b"],
            vec!["a", "P.S. b"],
        ),
        (
            "detectable_format:number_bullet_lists",
            json!({"num_bullets": 2}),
            vec!["* a\n* b", "- a\n  - b", "x\n* a\ny\n- b"],
            vec!["* a", "* a\n* b\n* c", "**a**\n* b"],
        ),
        (
            "detectable_format:constrained_response",
            json!({}),
            vec!["My answer is yes.", "So: My answer is maybe."],
            vec!["yes", "My answer is perhaps."],
        ),
        (
            "detectable_format:number_highlighted_sections",
            json!({"num_highlights": 2}),
            vec!["*a* *b*", "**a** and *b*"],
            vec!["*a*", "** **", "*a\n*"],
        ),
        (
            "detectable_format:multiple_sections",
            json!({"section_spliter": "SECTION", "num_sections": 2}),
            vec!["SECTION 1\na\nSECTION 2\nb", "SECTION1 SECTION2"],
            vec!["SECTION 1", "SECTION a SECTION b"],
        ),
        (
            "detectable_format:json_format",
            json!({}),
            vec!["{\"a\": 1}", "```json\n[1]\n```", "3"],
            vec!["{a: 1}", "so: {}", "```json\n```"],
        ),
        (
            "detectable_format:title",
            json!({}),
            vec!["<<a>>", "x\n<<<a>>> y"],
            vec!["<<>>", "<a>", "<< >>", "<<a\n>>"],
        ),
        (
            "combination:two_responses",
            json!({}),
            vec!["a ****** b", "******a******b******"],
            vec!["a", "a ****** a", "a ****** b ****** c", "a ****** ****** b"],
        ),
        (
            "combination:repeat_prompt",
            json!({"prompt_to_repeat": "Say it"}),
            vec!["say it\nIt.", "  SAY IT"],
            vec!["It.", "I say it"],
        ),
        (
            "startend:end_checker",
            json!({"end_phrase": "The end."}),
            vec!["So. the end.", "\"x The end.\""],
            vec!["The end. Or not", "end"],
        ),
        ("startend:quotation", json!({}), vec!["\"a\"", " \"a b\"\n"], vec!["\"", "a", "\"a"]),
        (
            "change_case:capital_word_frequency",
            json!({"capital_frequency": 2, "capital_relation": "at least"}),
            vec!["AB CD", "A B c"],
            vec!["AB cd", "Ab Cd"],
        ),
        (
            "change_case:capital_word_frequency",
            json!({"capital_frequency": 2, "capital_relation": "less than"}),
            vec!["AB cd", "ab"],
            vec!["AB CD"],
        ),
        (
            "change_case:english_capital",
            json!({}),
            vec!["THIS IS THE ANSWER TO YOUR QUESTION ABOUT THE WEATHER."],
            vec![
                "This IS THE ANSWER",
                "DAS IST EIN SCHÖNER TAG UND WIR GEHEN NACH DRAUSSEN",
                "123",
            ],
        ),
        (
            "change_case:english_lowercase",
            json!({}),
            vec!["this is the answer to your question about the weather."],
            vec!["This is the answer to your question", "123"],
        ),
        ("punctuation:no_comma", json!({}), vec!["a b"], vec!["a, b"]),
    ]
}

#[test]
fn every_type_passes_and_fails_as_it_should() {
    for (id, kwargs, right, wrong) in matrix() {
        for response in right {
            assert!(follows(id, &kwargs, response), "{id} {kwargs}: {response:?}");
        }
        for response in wrong.into_iter().chain(["", " \n"]) {
            assert!(!follows(id, &kwargs, response), "{id} {kwargs}: {response:?}");
        }
    }
    let ids: std::collections::BTreeSet<&str> = matrix().iter().map(|(id, ..)| *id).collect();
    assert_eq!(ids.len(), 25, "the published types");
}

fn refused(gold: &Value) {
    let (score, code) = outcome(InstructionsConfig::default(), gold, "text");
    assert_eq!(score.to_bits(), (-1.0f64).to_bits(), "{gold}: {code}");
}

/// Takes away or replaces each argument in turn.
fn check_arguments_are_needed(id: &str, kwargs: &Value) {
    let fields = kwargs.as_object().expect("an object");
    for key in fields.keys() {
        for other in [None, Some(Value::Null), Some(json!({}))] {
            let mut changed = fields.clone();
            changed.remove(key);
            changed.extend(other.map(|value| (key.clone(), value)));
            refused(&gold(id, &changed.into()));
        }
    }
}

/// Loose is never below strict.
fn check_loose(id: &str, kwargs: &Value, text: &str) {
    let gold = gold(id, kwargs);
    let strict = outcome(InstructionsConfig::default(), &gold, text);
    let mode = Strictness::Loose;
    let loose = outcome(InstructionsConfig { mode, ..Default::default() }, &gold, text);
    assert!(strict.0 <= loose.0, "{id} {text:?}: {strict:?} {loose:?}");
}

/// A port that reads every argument as absent passes everything: each argument must matter.
#[test]
fn missing_and_foreign_arguments_are_bad_references() {
    for (id, kwargs, ..) in matrix() {
        check_arguments_are_needed(id, &kwargs);
    }
    for gold in [
        json!({}),
        json!({"instruction_id_list": [], "kwargs": []}),
        json!({"instruction_id_list": ["punctuation:no_comma"], "kwargs": []}),
        json!({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [null]}),
        json!({"instruction_id_list": ["punctuation:no_such"], "kwargs": [{}]}),
        json!({"instruction_id_list": [1], "kwargs": [{}]}),
        gold("keywords:frequency", &json!({"keyword": "a", "frequency": 1, "relation": "around"})),
        gold("length_constraints:number_paragraphs", &json!({"num_paragraphs": 1.5})),
        gold("length_constraints:number_paragraphs", &json!({"num_paragraphs": -1})),
        gold("language:response_language", &json!({"language": "xx"})),
        json!(null),
        json!("text"),
    ] {
        refused(&gold);
    }
}

/// Published rows have every argument of every type, most of them null.
#[test]
fn null_arguments_of_other_types_are_passed_over() {
    let kwargs = json!({"num_words": null, "relation": null, "keywords": ["a"], "letter": null});
    assert!(follows("keywords:existence", &kwargs, "a"));
    let floats = json!({"num_bullets": 2.0});
    assert!(follows("detectable_format:number_bullet_lists", &floats, "* a\n* b"));
}

#[test]
fn repeated_ids_keep_their_places() {
    let ids = ["keywords:existence", "keywords:existence", "punctuation:no_comma"];
    let gold = json!({"instruction_id_list": ids,
        "kwargs": [{"keywords": ["a"]}, {"keywords": ["zebra"]}, {}]});
    let share = InstructionsConfig { reward: InstructionReward::Share, ..Default::default() };
    let (score, code) = outcome(share, &gold, "a");
    assert!((score - 2.0 / 3.0).abs() < 1e-12 && code == "some_instructions_followed", "{score}");
    let (score, _) = outcome(InstructionsConfig::default(), &gold, "a");
    assert_eq!(score.to_bits(), 0.0f64.to_bits());
}

#[test]
fn loose_forgives_what_surrounds() {
    let loose = InstructionsConfig { mode: Strictness::Loose, ..Default::default() };
    let json = gold("detectable_format:json_format", &json!({}));
    for (response, strict, forgiving) in [
        ("{}", 1.0, 1.0),
        ("Sure!\n{}", 0.0, 1.0),
        ("{}\nDone.", 0.0, 1.0),
        ("Sure!\n{}\nDone.", 0.0, 1.0),
        ("**{}**", 0.0, 1.0),
        ("so {}", 0.0, 0.0),
        ("", 0.0, 0.0),
    ] {
        let scores = (
            outcome(InstructionsConfig::default(), &json, response).0,
            outcome(loose, &json, response).0,
        );
        assert!(scores == (strict, forgiving), "{response:?}: {scores:?}");
    }
}

proptest! {
    /// And no text makes a check panic.
    #[test]
    fn loose_is_never_below_strict(text in "[a-cA-C .,!?*#\"\\[\\]<>{}\n-]{0,60}|\\PC{0,30}") {
        for (id, kwargs) in matrix().into_iter().map(|(id, kwargs, ..)| (id, kwargs)).chain(ifbench::types()) {
            check_loose(id, &kwargs, &text);
        }
    }
}
