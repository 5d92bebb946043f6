use proptest::prelude::*;

use super::{SPLITTERS, Splitter};

#[track_caller]
fn check(splitter: Splitter, text: &str, expected: &[&str]) {
    let steps = splitter.split(text);
    let found: Vec<&str> = steps.into_iter().map(|range| &text[range]).collect();
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn plain_texts() {
    let text = "One.\nTwo. Three.\n\n2. Four\n\n\n";
    check(Splitter::BlankLines, text, &["One.\nTwo. Three.", "2. Four"]);
    check(Splitter::Lines, text, &["One.", "Two. Three.", "2. Four"]);
    check(Splitter::Numbered, text, &["One.\nTwo. Three.", "2. Four"]);
    check(Splitter::Sentences, text, &["One.", "Two.", "Three.", "2. Four"]);
    for (_, splitter) in SPLITTERS {
        for text in ["", " \n\t\n ", "\u{3000}"] {
            check(*splitter, text, &[]);
        }
    }
}

#[test]
fn tags() {
    let check = |text, expected: &[&str]| check(Splitter::Tags, text, expected);
    check("no tag at all", &[]);
    check("<step>a</step><step> b </step> rest", &["a", "b"]);
    check("<step>a<step>b", &["a", "b"]);
    check("<step></step><step> </step>", &[]);
    check("</step>a<step>日本</step></step>", &["日本"]);
    check("<step>1 < 2 <b></step>", &["1 < 2 <b>"]);
    check("<STEP>a</STEP>", &[]);
    let gap = Splitter::Tags.between("</step>\n and so \n<step>");
    assert_eq!(gap, "and so ");
    assert_eq!(Splitter::Tags.between("</step>\n<step>"), "");
    assert_eq!(Splitter::Lines.between(" \n"), "");
    assert_eq!(Splitter::Lines.between(" so \n"), "so \n");
}

#[test]
fn thoughts() {
    let check = |text, expected: &[&str]| check(Splitter::Thoughts, text, expected);
    check("no thinking", &[]);
    check("<think></think>answer", &[]);
    check("<think>a\n\nb\n\nWait, c\n\nd</think>answer", &["a\n\nb", "Wait, c\n\nd"]);
    check("a\n\nwaiter\n\nhmm\n\nBut b</think>", &["a\n\nwaiter", "hmm", "But b"]);
    check("<think>cut\n\nLet me check: 日本", &["cut", "Let me check: 日本"]);
    check("a</think>b<think>c</think>", &["a"]);
    check("<think>ｗait\n\nＷ</think>", &["ｗait\n\nＷ"]);
}

#[test]
fn many_tags_take_one_pass() {
    let text = "<step>a".repeat(10_000);
    assert_eq!(Splitter::Tags.split(&text).len(), 10_000);
    let text = "<".repeat(1 << 20);
    assert!(Splitter::Tags.split(&text).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn steps_lie_in_order_and_hold_something(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "<step>", "</step>", "<think>", "</think>", "\n", "\n\n", " ", "a", "é.", "Wait",
                "1. ", "日", "<",
            ]),
            0..40,
        )
    ) {
        let text = pieces.concat();
        for (_, splitter) in SPLITTERS {
            let mut end = 0;
            for step in splitter.split(&text) {
                prop_assert!(end <= step.start && step.start < step.end);
                prop_assert_eq!(text[step.clone()].trim(), &text[step.clone()]);
                end = step.end;
            }
        }
    }
}
