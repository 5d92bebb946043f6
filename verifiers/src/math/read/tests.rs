//! What is read, and what is not.

use super::{Dialect, ReadOptions, answer, dialect, expression};
use crate::Fuel;
use crate::math::expr::Workspace;

#[test]
fn both_dialects() {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    let mut same = |latex: &str, plain: &str| {
        let left = expression(latex, Dialect::Latex, &mut ws);
        let right = expression(plain, Dialect::Plain, &mut ws);
        assert!(left.is_ok(), "{latex}: {left:?}");
        assert_eq!(left, right, "{latex} against {plain}");
    };
    for (latex, plain) in [
        (r"\frac{1}{2}", "1/2"),
        (r"\frac12", "1/2"),
        (r"2x^2-3x+1", "2*x**2-3x+1"),
        (r"\sin 2x", "sin(2*x)"),
        (r"\sin x \cos y", "sin(x)*cos(y)"),
        (r"\sin^{-1} x", "asin(x)"),
        (r"\log_2 8", "log(8, 2)"),
        (r"\sqrt[3]{8}", "root(8, 3)"),
        (r"\sqrt{2}", "sqrt(2)"),
        (r"\lambda_{12}", "lambda_12"),
        (r"x^2_1", "x_1^2"),
        (r"\int_0^1 x dx", "Integral(x, (x, 0, 1))"),
        (r"\sum_{i=1}^{n} i^2", "Sum(i^2, (i, 1, n))"),
        (r"\lim_{x\to 0^+} \frac{1}{x}", "Limit(1/x, x, 0, dir='+')"),
        (r"|x|", "Abs(x)"),
        (r"e^{i\pi}", "exp(I*pi)"),
        (r"1{,}234.5", "1234.5"),
        (r"1\frac{1}{2}", "1 1/2"),
        (r"0.\overline{3}", "0.(3)"),
        (r"{5 \choose 2}", "binomial(5, 2)"),
        (r"{}_5P_2", "P(5, 2)"),
        (r"5!!", "factorial2(5)"),
    ] {
        same(latex, plain);
    }
}

#[test]
fn values() {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    for text in ["18", "x+1", r"\frac{a}{b}", "7*sin(pi*x/5)+1", "2**100"] {
        assert!(
            answer(text, &ReadOptions::default(), &mut ws).is_ok(),
            "{text}"
        );
    }
    assert_eq!(dialect("{1,2}"), Dialect::Plain);
}

/// The data of the experiments: what does not read is printed.
#[test]
#[ignore = "an experiment"]
fn experiment() {
    for file in ["latex_parse", "math_verify", "lighteval"] {
        let path = std::env::args()
            .next()
            .map(|_| format!("/work/shared/data/math/{file}.jsonl"));
        let text = std::fs::read_to_string(path.unwrap()).unwrap();
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            for side in ["gold", "pred"] {
                let text = row[side].as_str().unwrap();
                if file != "latex_parse" && side == "pred" && text.len() > 80 {
                    continue;
                }
                let mut fuel = Fuel::default();
                let mut ws = Workspace::new(&mut fuel);
                let read = answer(text, &ReadOptions::default(), &mut ws);
                println!(
                    "@@{}\t{side}\t{text:?}\t{read:?}",
                    row["kind"].as_str().unwrap()
                );
            }
        }
    }
}
