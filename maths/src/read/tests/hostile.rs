use super::{check, display_of};
use crate::Fuel;
use crate::algebra;
use crate::answer::{MAX_BYTES, Unread};
use crate::expr::{Expr, Workspace};
use crate::proof::{Assumptions, Proof};
use crate::read::{Dialect, ReadOptions, read_answer, read_expression};
use proptest::prelude::*;

#[test]
fn malformed_texts_are_refused() {
    for text in r"( ; ) ; \frac{d}{dx} ; \sqrt ; { ; } ; \frac{2}{} ; \frac{}{2} ; \int ; ! ; !0 ; _ ; ^ ; \lfloor x ; \lfloor a \rceil ; () ; ((())) ; - ; \sin^x ; \cos^2 ; @ ; # ; $ ; % ; & ; * ; \ ; ~ ; \frac{(2 + x}{1 - x)} ; a\% ; \%100 ; \$ ; ||x| ; x= ; exceeding 3 o(xt) ; above 2 (x".split(" ; ") {
        assert!(display_of(text, ReadOptions::default()).is_err(), "{text}");
    }
}

#[test]
fn commands_with_effects_are_refused() {
    for text in [
        r"\input{/etc/passwd}",
        r"\def\x{4}\x",
        r"\newcommand{\x}{4}",
        r"\catcode`\@=11",
        "(  m,=j)U",
        "__import__('os').system('true')",
        "eval(\"4\")",
        "eval(4)",
        "S(\"4\")",
        r"\write18{ls}",
        "4\u{202E}5",
    ] {
        assert!(display_of(text, ReadOptions::default()).is_err(), "{text}");
    }
}

#[test]
fn deep_and_long_texts_are_refused() {
    let deep =
        |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
    for text in [
        deep("{", "}", 10_000),
        deep("(", ")", 10_000),
        deep("\\sqrt{", "}", 5_000),
        deep("|", "|", 10_000),
        deep("2^{", "}", 1_000),
        "-".repeat(60_000),
        "\\text{".repeat(10_000),
        "x_".repeat(30_000),
        "f(".repeat(20_000),
        "[".repeat(60_000),
        "]".repeat(60_000),
        format!("1{}", "}".repeat(60_000)),
        "$".repeat(60_001),
        "{".repeat(60_000),
    ] {
        assert!(display_of(&text, ReadOptions::default()).is_err(), "{}", &text[..20]);
    }
    let _ = display_of(&"1,".repeat(30_000), ReadOptions::default());
    let long = "9".repeat(MAX_BYTES - 1);
    assert!(display_of(&long, ReadOptions::default()).is_ok());
    assert_eq!(display_of(&"9".repeat(1 << 20), ReadOptions::default()), Err(Unread::TooLong));
    assert_eq!(display_of("1e999999999", ReadOptions::default()), Err(Unread::TooCostly));
    check(&[("3**1500000000", "3^1500000000"), ("factorial(10**7)", "factorial(10^7)")]);
}

/// Returns the texts of the plain grammar.
fn formulas() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("x".to_owned()),
        Just("y_1".to_owned()),
        Just("alpha".to_owned()),
        Just("pi".to_owned()),
        Just("I".to_owned()),
        (0u32..40).prop_map(|n| n.to_string()),
        (0u32..40).prop_map(|n| format!("{n}.5")),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("({a})+({b})")),
            two.clone().prop_map(|(a, b)| format!("{a}-({b})")),
            two.clone().prop_map(|(a, b)| format!("({a})*({b})")),
            two.clone().prop_map(|(a, b)| format!("({a})/({b})")),
            two.clone().prop_map(|(a, b)| format!("({a})^({b})")),
            two.prop_map(|(a, b)| format!("log({a}, {b})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            inner.clone().prop_map(|a| format!("sqrt({a})")),
            inner.clone().prop_map(|a| format!("sin({a})")),
            inner.clone().prop_map(|a| format!("Abs({a})")),
            inner.clone().prop_map(|a| format!("({a})!")),
            inner.prop_map(|a| format!("Sum({a}, (x, 1, y_1))")),
        ]
    })
}

/// Returns whether no proof separates the two.
fn may_be_equal(first: Expr, again: Expr, ws: &mut Workspace<'_>) -> bool {
    let found = algebra::compare(first, again, Assumptions::default(), ws);
    !matches!(found, Ok(Proof::Different(..)))
}

/// Checks that an expression written in both dialects reads as itself. Each has fuel of its own: to
/// compare may take all there is.
fn check_written(text: &str) {
    for dialect in [Dialect::Plain, Dialect::Latex] {
        let mut fuel = Fuel::default();
        let mut ws = Workspace::new(&mut fuel);
        let first = read_expression(text, Dialect::Plain, &mut ws).expect(text);
        let shown = match dialect {
            Dialect::Plain => ws.plain(first),
            Dialect::Latex => ws.latex(first),
        };
        let again = read_expression(&shown, dialect, &mut ws)
            .unwrap_or_else(|error| panic!("{text} as {shown}: {error:?}"));
        assert!(may_be_equal(first, again, &mut ws), "{text} as {shown}");
    }
}

#[test]
fn costly_expressions_read_back() {
    for text in ["((sin(0.5))!-(pi))^((0.5)+(x))", "(sin(0.5))!", "((sin(0.5))!)^x"] {
        check_written(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn written_expression_reads_back(text in formulas()) {
        check_written(&text);
    }

    #[test]
    fn any_text_reads_the_same_twice(
        text in prop_oneof![
            any::<String>(),
            "(\\\\frac|\\\\sqrt|\\\\left|\\\\right|[\\[\\](){}$0-9 .,;:|%=<>x^_!'*/+-]|\\\\pm|\\\\text){1,14}",
            "(and|or|mod|sin|log|x|e|i|\\\\in|\\\\cup|\\\\begin\\{cases\\}|\\\\end\\{cases\\}|[&,;0-9 ()=]|\\\\\\\\){1,12}",
        ],
    ) {
        for options in [
            ReadOptions::default(),
            ReadOptions { repair: false, decimal_comma: true },
        ] {
            let mut fuel = Fuel::new(20_000);
            let mut ws = Workspace::new(&mut fuel);
            let first = read_answer(&text, options, &mut ws);
            prop_assert_eq!(first, read_answer(&text, options, &mut ws));
        }
    }
}
