//! Laws: a true equality is right in every notation, one that is off by one is wrong, and nothing
//! panics or reports a place that is not in the text.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq, prop_assume};

use super::{ArithmeticConfig, Splitter, report};
use crate::Fuel;
use crate::arithmetic::{Arithmetic, StepLabel};

/// An expression over whole numbers.
#[derive(Debug, Clone)]
enum Tree {
    Leaf(u32),
    Node(Box<Tree>, char, Box<Tree>),
}

/// How an expression is written.
#[derive(Debug, Clone, Copy)]
struct Style {
    times: &'static str,
    divide: &'static str,
    minus: &'static str,
    plus: &'static str,
    currency: &'static str,
    separators: bool,
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![0u32..20, 0u32..2_000_000].prop_map(Tree::Leaf);
    leaf.prop_recursive(4, 16, 2, |inner| {
        (inner.clone(), prop::sample::select(vec!['+', '-', '*', '/']), inner)
            .prop_map(|(left, op, right)| Tree::Node(Box::new(left), op, Box::new(right)))
    })
}

fn styles() -> impl Strategy<Value = Style> {
    let times = prop::sample::select(vec![" * ", "*", " x ", " × ", "×", " \\times ", " \\cdot "]);
    let divide = prop::sample::select(vec![" / ", " ÷ ", "÷", " \\div "]);
    let minus = prop::sample::select(vec![" - ", "-", " − ", " – "]);
    let plus = prop::sample::select(vec![" + ", "+"]);
    let currency = prop::sample::select(vec!["", "$", "€"]);
    (times, divide, minus, plus, currency, any::<bool>()).prop_map(
        |(times, divide, minus, plus, currency, separators)| Style {
            times,
            divide,
            minus,
            plus,
            currency,
            separators,
        },
    )
}

/// Returns the value; `None` if something is divided by zero.
fn value(tree: &Tree) -> Option<RBig> {
    let Tree::Node(left, op, right) = tree else {
        let Tree::Leaf(leaf) = tree else { return None };
        return Some(RBig::from(*leaf));
    };
    let (left, right) = (value(left)?, value(right)?);
    match op {
        '+' => Some(left + right),
        '-' => Some(left - right),
        '*' => Some(left * right),
        _ => (!right.is_zero()).then(|| left / right),
    }
}

fn whole_number(number: &str, style: Style) -> String {
    if !style.separators {
        return number.to_owned();
    }
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes every node but the outermost in parentheses.
fn write(tree: &Tree, style: Style, outermost: bool) -> String {
    match tree {
        Tree::Leaf(leaf) => format!("{}{}", style.currency, whole_number(&leaf.to_string(), style)),
        Tree::Node(left, op, right) => {
            let sign = match op {
                '+' => style.plus,
                '-' => style.minus,
                '*' => style.times,
                _ => style.divide,
            };
            let inner =
                format!("{}{sign}{}", write(left, style, false), write(right, style, false));
            if outermost { inner } else { format!("({inner})") }
        }
    }
}

/// Writes a value as a whole number or a fraction.
fn write_value(value: &RBig, style: Style) -> String {
    let numerator = whole_number(&value.numerator().to_string(), style);
    let denominator = whole_number(&value.denominator().to_string(), style);
    if value.is_int() {
        format!("{}{numerator}", style.currency)
    } else {
        format!("{}{numerator}/{denominator}", style.currency)
    }
}

fn label(text: &str) -> StepLabel {
    report(text).steps[0].label()
}

proptest! {
    #[test]
    fn true_equalities_are_right_and_false_ones_wrong(
        tree in trees(),
        style in styles(),
        before in prop::sample::select(vec!["", "So ", "She pays ", "1. ", "Total: "]),
        after in prop::sample::select(vec!["", ".", " apples", " in total", ", so"]),
    ) {
        prop_assume!(matches!(tree, Tree::Node(..)));
        let Some(value) = value(&tree) else { return Ok(()) };
        let side = write(&tree, style, true);
        let right = format!("{before}{side} = {}{after}", write_value(&value, style));
        prop_assert_eq!(label(&right), StepLabel::Right, "{}", right);
        let off = &value + RBig::ONE;
        // An amount in cents would explain the difference.
        prop_assume!(off != &value * RBig::from(100u8));
        let wrong = format!("{before}{side} = {}{after}", write_value(&off, style));
        prop_assert_eq!(label(&wrong), StepLabel::Wrong, "{}", wrong);
    }

    #[test]
    fn decimals_are_right_to_the_places_written(
        numerator in 1i64..100_000,
        denominator in 2u64..1000,
        places in 1usize..6,
    ) {
        let exact = RBig::from_parts(IBig::from(numerator), UBig::from(denominator));
        let scale = UBig::from(10u8).pow(places);
        let rounded = (exact * RBig::from(scale.clone()) + RBig::from_parts(IBig::ONE, UBig::from(2u8))).floor();
        prop_assume!(rounded > IBig::ONE);
        let write = |units: &IBig| {
            let digits = format!("{units:0>width$}", width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            format!("{numerator} / {denominator} = {whole}.{fraction}")
        };
        prop_assert_eq!(label(&write(&rounded)), StepLabel::Right);
        prop_assert_eq!(label(&write(&(&rounded + IBig::ONE))), StepLabel::Wrong);
    }

    #[test]
    fn places_lie_in_the_text_and_steps_cover_it(
        text in prop_oneof![
            any::<String>(),
            "[0-9 x=+*/().,<>$%\\-\n]{0,60}",
            prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..30).prop_map(|pieces| pieces.concat()),
        ],
        splitter in prop_oneof![
            Just(Splitter::Lines),
            Just(Splitter::BlankLines),
            Just(Splitter::Sentences),
            Just(Splitter::Numbered),
        ],
        fuel in prop_oneof![Just(Fuel::DEFAULT), 0u64..200],
    ) {
        let config = ArithmeticConfig { splitter, ..ArithmeticConfig::default() };
        let report = Arithmetic::new(config).check(&text, None, &mut Fuel::new(fuel));
        let mut end = 0;
        for (index, step) in report.steps.iter().enumerate() {
            prop_assert_eq!(step.index, index);
            prop_assert!(text[end..step.span.start].trim().is_empty());
            prop_assert!(!text[step.span.clone()].trim().is_empty());
            end = step.span.end;
            for equality in &step.equalities {
                prop_assert!(equality.span.start >= step.span.start);
                prop_assert!(equality.span.end <= step.span.end);
                prop_assert!(!text[equality.span.clone()].is_empty());
            }
            prop_assert!(step.equalities.is_sorted_by_key(|equality| equality.span.start));
        }
        prop_assert!(text[end..].trim().is_empty());
    }
}

/// Pieces that meet in many ways when they are strung together.
const PIECES: [&str; 58] = [
    "1",
    "2",
    "3.5",
    "100",
    "1,000",
    " ",
    " ",
    "=",
    " = ",
    "+",
    "-",
    " - ",
    "*",
    "/",
    "^",
    "**",
    "%",
    "$",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<<",
    ">>",
    "<<1+1=2>>",
    "x",
    " x ",
    "2x",
    "\\frac{",
    "\\frac{1}{2}",
    "\\text{",
    "\\times",
    "\\",
    "of ",
    "is ",
    " equals ",
    "equal to ",
    "times ",
    "divided by ",
    "hours ",
    "apples",
    "half of ",
    "½",
    "²",
    "é",
    "≈",
    "\n",
    "\n\n",
    "1. ",
    "- ",
    "about ",
    ":",
    ".",
    ",",
    "!",
    "&",
];
