//! Texts that are read, and texts that are refused.

use std::fmt::Write as _;

use super::{Dialect, ReadOptions, dialect, read_answer, read_expression};
use crate::Fuel;
use crate::answer::{Answer, AnswerForm, Brackets, Chain, Note, Region, Subject, Unread};
use crate::expr::{Expr, Workspace};

const WRITES: &str = "writing to a string cannot fail";

#[test]
fn latex_and_plain_text_read_alike() {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    let mut same = |latex: &str, plain: &str| {
        let left = read_expression(latex, Dialect::Latex, &mut ws);
        let right = read_expression(plain, Dialect::Plain, &mut ws);
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
fn simple_values_are_read() {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    for text in ["18", "x+1", r"\frac{a}{b}", "7*sin(pi*x/5)+1", "2**100"] {
        assert!(read_answer(text, ReadOptions::default(), &mut ws).is_ok(), "{text}");
    }
    assert_eq!(dialect("{1,2}"), Dialect::Plain);
}

/// Returns an answer in a few words: its subjects, its type, and its expressions in the plain
/// grammar.
fn described(answer: &Answer, ws: &Workspace<'_>) -> String {
    let mut out = String::new();
    for subject in &answer.subjects {
        match subject {
            Subject::Expr(expr) => out.push_str(&ws.plain(*expr)),
            Subject::Several(exprs) => out.push_str(&joined(exprs, ws)),
            Subject::Text(text) => out.push_str(text),
        }
        out.push_str(" := ");
    }
    out + &told_form(&answer.form, ws)
}

fn joined(exprs: &[Expr], ws: &Workspace<'_>) -> String {
    let texts: Vec<String> = exprs.iter().map(|expr| ws.plain(*expr)).collect();
    texts.join("; ")
}

fn members(answers: &[Answer], ws: &Workspace<'_>) -> String {
    let texts: Vec<String> = answers.iter().map(|answer| described(answer, ws)).collect();
    texts.join("; ")
}

fn told_chain(chain: &Chain, ws: &Workspace<'_>) -> String {
    let mut out = ws.plain(chain.first);
    for (relation, expr) in &chain.rest {
        write!(out, " {relation} {}", ws.plain(*expr)).expect(WRITES);
    }
    out
}

fn told_region(region: &Region, ws: &Workspace<'_>) -> String {
    let all = |regions: &[Region], sign: &str| {
        let texts: Vec<String> = regions.iter().map(|r| told_region(r, ws)).collect();
        format!("({})", texts.join(sign))
    };
    match region {
        Region::Interval { from, to, has_from, has_to } => format!(
            "{}{}, {}{}",
            if *has_from { "[" } else { "(" },
            ws.plain(*from),
            ws.plain(*to),
            if *has_to { "]" } else { ")" }
        ),
        Region::Points(points) => format!("{{{}}}", joined(points, ws)),
        Region::Union(regions) => all(regions, " u "),
        Region::Intersection(regions) => all(regions, " n "),
        Region::Joined(regions) => all(regions, ", "),
        Region::Difference(left, right) => {
            format!("({} \\ {})", told_region(left, ws), told_region(right, ws))
        }
        Region::Where(variable, chains) => {
            let chains: Vec<String> = chains.iter().map(|c| told_chain(c, ws)).collect();
            format!("{{{} | {}}}", ws.plain(*variable), chains.join(", "))
        }
        Region::Empty
        | Region::Integers
        | Region::Naturals
        | Region::Rationals
        | Region::Reals
        | Region::Complexes => format!("{region:?}"),
    }
}

fn told_form(form: &AnswerForm, ws: &Workspace<'_>) -> String {
    match form {
        AnswerForm::Value(value) => {
            let mut out = ws.plain(value.expr);
            if let Some(unit) = &value.unit {
                write!(out, " <{}>", unit.name).expect(WRITES);
            }
            if value.is_percent {
                out.push('%');
            }
            if let Some(last) = value.last_digit {
                write!(out, " @{last}").expect(WRITES);
            }
            out
        }
        AnswerForm::Equation(left, right) => format!("{} = {}", ws.plain(*left), ws.plain(*right)),
        AnswerForm::Inequality(chain) => told_chain(chain, ws),
        AnswerForm::Region(region) => told_region(region, ws),
        AnswerForm::Set(set) => format!("{{{}}}", members(set, ws)),
        AnswerForm::Tuple(Brackets::Round, tuple) => format!("({})", members(tuple, ws)),
        AnswerForm::Tuple(Brackets::Square, tuple) => format!("[{}]", members(tuple, ws)),
        AnswerForm::Tuple(Brackets::Angle, tuple) => format!("<{}>", members(tuple, ws)),
        AnswerForm::List(list) => format!("list {}", members(list, ws)),
        AnswerForm::Matrix(rows) => {
            let rows: Vec<String> = rows.iter().map(|row| joined(row, ws)).collect();
            format!("matrix {}", rows.join(" / "))
        }
        AnswerForm::Piecewise(pieces) => {
            let mut out = String::from("cases");
            for (value, condition) in pieces {
                let chains: Vec<String> = condition
                    .iter()
                    .flat_map(|condition| &condition.0)
                    .map(|chain| told_chain(chain, ws))
                    .collect();
                let value = ws.plain(*value);
                write!(out, " {value} if {},", chains.join(" & ")).expect(WRITES);
            }
            out
        }
        AnswerForm::Congruence { residues, modulus } => {
            format!("{} mod {}", joined(residues, ws), ws.plain(*modulus))
        }
        AnswerForm::Numeral(numeral) => {
            let sign = if numeral.is_negative { "-" } else { "" };
            format!("{sign}{} base {}", numeral.digits, numeral.base)
        }
        AnswerForm::Ratio(terms) => format!("ratio {}", joined(terms, ws)),
        AnswerForm::Date(date) => format!("date {:?} {} {:?}", date.year, date.month, date.day),
        AnswerForm::Clock(clock) => format!("clock {} {}", clock.hour, clock.minute),
        AnswerForm::Truth(truth) => format!("{truth}"),
        AnswerForm::Sequence(text) => format!("sequence {text}"),
        AnswerForm::Text(text) => format!("text {text}"),
    }
}

/// Reads `text` and describes the answer.
fn display_of(text: &str, options: ReadOptions) -> Result<(String, Vec<Note>), Unread> {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    let answer = read_answer(text, options, &mut ws)?;
    Ok((described(&answer, &ws), answer.notes))
}

fn check(rows: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (text, expected) in rows {
        let found = match display_of(text, ReadOptions::default()) {
            Ok((described, _)) => described,
            Err(unread) => format!("{unread:?}"),
        };
        if found != *expected {
            writeln!(wrong, "{text:?}: {found:?}, not {expected:?}").expect(WRITES);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

mod forms;
mod hostile;
mod values;
