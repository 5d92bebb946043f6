use proptest::prelude::*;

use super::{Occurrence, found, marked};

#[test]
fn hostile_responses_end_in_time() {
    for response in [
        "\\boxed{1} ".repeat(100_000),
        "\\boxed{".repeat(150_000),
        "\\boxed{\n".repeat(130_000),
        "\\boxed ".repeat(150_000),
        "{".repeat(1_000_000),
        format!("\\boxed{{{}", "{".repeat(100_000)),
        "#".repeat(1_000_000),
        "#### ".repeat(200_000),
        "A:\n".repeat(300_000),
        "A:\n\\[".repeat(100_000),
        "answer is ".repeat(100_000),
        "answer is\n".repeat(100_000),
        "<think>".repeat(140_000),
        "</think>".repeat(120_000),
        "<answer>".repeat(120_000),
        "H2O ".repeat(250_000),
        "111 ".repeat(250_000),
        "$1".repeat(500_000),
        "((((((((1))))))))".repeat(60_000),
        "(".repeat(500_000) + "1" + &")".repeat(500_000),
        "(".repeat(900_000) + "1",
        "[1".repeat(500_000),
        "≈\\boxed{1}".repeat(90_000),
        "**".repeat(500_000) + "1",
        "\\(".repeat(500_000),
        "\\[1".repeat(300_000),
        "$$1 ".repeat(250_000),
        "$x x".repeat(250_000),
        "答".repeat(300_000),
        "答案是".repeat(100_000),
        "réponse ".repeat(120_000),
        "\\text{".repeat(150_000),
        "the answer is $".repeat(70_000),
        "\\boxed{1},".repeat(90_000),
        "\\boxed{1}".to_owned() + &" and".repeat(200_000) + "\\boxed{2}",
        // A number before a counter that is one token with what follows it.
        "So 0.최솟값DDDDDDD\0\0\0#\0\0So 0.DDDDDDr:g /\u{9e}".to_owned(),
    ] {
        if let Some(found) = found(&response) {
            assert_eq!(&response[found.span], found.text);
        }
        if let Some(found) = marked(&response, "\\boxed", Occurrence::Last) {
            assert_eq!(&response[found.span], found.text);
        }
    }
}

/// Pieces that make collisions likely.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\\boxed"),
        Just("boxed("),
        Just("\\fbox"),
        Just("{"),
        Just("}"),
        Just("("),
        Just(")"),
        Just("$"),
        Just("$$"),
        Just("\\("),
        Just("\\)"),
        Just("\\["),
        Just("\\]"),
        Just("#### "),
        Just("A: "),
        Just("Answer: "),
        Just("the answer is "),
        Just("\n"),
        Just(" "),
        Just("."),
        Just("**"),
        Just("<think>"),
        Just("</think>"),
        Just("<answer>"),
        Just("</answer>"),
        Just("1"),
        Just("½"),
        Just("é"),
        Just("≈"),
        Just("%"),
        Just("−"),
        Just("x"),
        Just("/"),
        Just("\\"),
        Just("“"),
        Just("”"),
        Just("\\frac{1}{2}"),
        Just("réponse est "),
        Just("答案："),
        Just("答"),
        Just(" and "),
        Just(","),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn spans_are_slices(response in prop_oneof![pieces(), any::<String>()]) {
        if let Some(found) = found(&response) {
            prop_assert_eq!(response.get(found.span.clone()), Some(found.text));
            prop_assert_eq!(found.text.trim(), found.text);
            prop_assert!(found.count >= 1);
        }
    }

    #[test]
    fn marked_spans_are_balanced_slices(response in pieces()) {
        for which in [Occurrence::First, Occurrence::Last] {
            if let Some(found) = marked(&response, "\\boxed", which) {
                prop_assert_eq!(response.get(found.span.clone()), Some(found.text));
                let inside = found.text.replace("\\{", "").replace("\\}", "");
                prop_assert_eq!(inside.matches('{').count(), inside.matches('}').count());
            }
        }
    }

    #[test]
    fn preceding_text_without_answers_changes_nothing(
        prefix in "[ b-vx-zé,;!?\n]{0,40}",
        tail in prop_oneof![
            Just("\\boxed{5}"), Just("#### 5"), Just("A: 5"), Just("The answer is 5."),
            Just("$x = 5$"), Just("5 %"),
        ],
    ) {
        let response = format!("{prefix}\n{tail}");
        // The source may differ: a formula alone is a whole text.
        let (with, without) = (found(&response), found(tail));
        prop_assert_eq!(
            with.map(|f| f.text.to_owned()),
            without.map(|f| f.text.to_owned())
        );
    }
}
