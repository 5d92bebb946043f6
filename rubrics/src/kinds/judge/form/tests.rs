use super::*;

fn form(mode: Mode, rationale: Rationale) -> JudgementForm {
    JudgementForm {
        mode,
        rationale,
        criteria: vec!["right".to_owned(), "brief".to_owned()],
        scale: (0, 9),
    }
}

#[test]
fn a2_the_rubric_is_one_line_of_json() {
    let check = |mode, rationale, expected: &str| {
        assert_eq!(form(mode, rationale).line(), expected);
    };
    check(
        Mode::Grade,
        Rationale::After,
        r#"{"criteria":["right","brief"],"scale":[0,9],"output":{"score":"integer","reason":"string"}}"#,
    );
    check(
        Mode::Pair,
        Rationale::Before,
        r#"{"criteria":["right","brief"],"output":{"reason":"string","winner":"A or B"}}"#,
    );
    check(
        Mode::List,
        Rationale::None,
        r#"{"criteria":["right","brief"],"scale":[0,9],"output":{"scores":["integer"]}}"#,
    );
}

#[test]
fn written_judgements_parse_back_equal() {
    for rationale in [Rationale::After, Rationale::Before, Rationale::None] {
        for (mode, said) in [
            (Mode::Grade, Said::Grade(7)),
            (Mode::Pair, Said::Winner(1)),
            (Mode::List, Said::Grades(vec![3, 0])),
        ] {
            let form = form(mode, rationale);
            let reason = form.gives_reasons().then(|| "a \"b\"\n".to_owned());
            let judgement = Judgement { said, reason };
            let text = form.to_text(&judgement);
            assert_eq!(form.parse(&text, 2).as_ref(), Ok(&judgement), "{text}");
            let before = form.before_verdict(judgement.reason.as_deref());
            assert!(text.starts_with(&before), "{text}: {before}");
        }
    }
}

/// E2: what breaks the format is no judgement, wherever it breaks it.
#[test]
fn e2_broken_judgements_are_not_read() {
    let check = |mode, texts: &[&str]| {
        for text in texts {
            let read = form(mode, Rationale::After).parse(text, 2);
            assert!(read.is_err(), "{text}: {read:?}");
        }
    };
    check(
        Mode::Grade,
        &[
            "",
            "7",
            "{}",
            r#"{"score":7}"#,
            r#"{"score":7,"reason":null}"#,
            r#"{"score":7,"reason":3}"#,
            r#"{"reason":"r"}"#,
            r#"{"score":10,"reason":"r"}"#,
            r#"{"score":-1,"reason":"r"}"#,
            r#"{"score":7.5,"reason":"r"}"#,
            r#"{"score":"7","reason":"r"}"#,
            r#"{"score":null,"reason":"r"}"#,
            r#"{"score":NaN,"reason":"r"}"#,
            r#"{"score":7,"score":9,"reason":"r"}"#,
            r#"{"score":7,"reason":"r","more":1}"#,
            r#"{"score":7,"reason":"r"} {"score":9,"reason":"r"}"#,
            r#"{"score":7,"reason":"r""#,
            r#"{"score":7,"reason":"\ud800"}"#,
        ],
    );
    check(
        Mode::Pair,
        &[
            r#"{"winner":"C","reason":"r"}"#,
            r#"{"winner":"a","reason":"r"}"#,
            r#"{"winner":"A or B","reason":"r"}"#,
            r#"{"winner":0,"reason":"r"}"#,
            r#"{"winner":"A","winner":"B","reason":"r"}"#,
        ],
    );
    check(
        Mode::List,
        &[
            r#"{"scores":[],"reason":"r"}"#,
            r#"{"scores":[1],"reason":"r"}"#,
            r#"{"scores":[1,2,3],"reason":"r"}"#,
            r#"{"scores":[1,99],"reason":"r"}"#,
            r#"{"scores":[1,null],"reason":"r"}"#,
            r#"{"scores":{"0":1,"1":2},"reason":"r"}"#,
        ],
    );
}

#[test]
fn grades_are_shares_of_their_scale() {
    let check = |scale, grade, expected: f64| {
        let form = JudgementForm { scale, ..form(Mode::Grade, Rationale::None) };
        assert!((form.share(grade) - expected).abs() < 1e-12);
    };
    check((0, 9), 4.5, 0.5);
    check((0, 10), 7.0, 0.7);
    check((1, 5), 1.0, 0.0);
    check((1, 5), 5.0, 1.0);
}
