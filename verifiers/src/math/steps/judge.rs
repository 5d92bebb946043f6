//! Judging claims.

use std::ops::Range;

use dashu::base::Abs;
use dashu::integer::IBig;
use dashu::rational::RBig;

use super::find;
use super::report::{Check, Why};
use crate::fuel::Exhausted;
use crate::math::expr::{Expr, Function, Name, Node, Workspace, children};
use crate::math::finding::{Assumptions, Doubt, Finding, Witness};
use crate::math::form::Unread;
use crate::math::read::{self, Dialect};
use crate::math::{algebra, enclosure};

/// Words that say that what follows is a rewriting and no equation.
const REWRITING: [&str; 7] =
    ["expand", "simplif", "factor", "rewrite", "distribut", "combin", "multiply out"];

/// Words that say that a step leads to something false on purpose.
const FALSE_ON_PURPOSE: [&str; 6] =
    ["contradict", "impossible", "no solution", "suppose", "not equal", "false"];

/// What the words of a step say of its formulas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    is_rewriting: bool,
    is_false_on_purpose: bool,
}

impl Setting {
    pub(super) fn of(step: &str) -> Self {
        let lower = step.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        Self { is_rewriting: has(&REWRITING), is_false_on_purpose: has(&FALSE_ON_PURPOSE) }
    }
}

/// One side of an equality.
#[derive(Debug, Clone)]
struct Side<'t> {
    text: &'t str,
    expr: Option<Expr>,
    variables: Vec<Name>,
}

fn side<'t>(text: &'t str, ws: &mut Workspace<'_>) -> Result<Side<'t>, Exhausted> {
    let text = text.trim().trim_end_matches(['.', ',', ';']).trim();
    let expr = match expression(text, ws) {
        Ok(expr) => Some(expr),
        Err(Unread::TooCostly) if ws.fuel.left() == 0 => return Err(Exhausted),
        Err(Unread::TooCostly | Unread::NotMaths | Unread::TooLong) => None,
    };
    let variables = expr.map_or_else(Vec::new, |expr| algebra::variables(expr, ws));
    Ok(Side { text, expr, variables })
}

/// Reads a side; the marks of alignment are left out.
fn expression(text: &str, ws: &mut Workspace<'_>) -> Result<Expr, Unread> {
    // Between delimiters letters are variables, and a lone word may be a plain name.
    let dialect = match read::dialect(text) {
        Dialect::Plain if text.contains("**") => Dialect::Plain,
        Dialect::Plain | Dialect::Latex => Dialect::Latex,
    };
    if text.contains('&') {
        return read::expression(&text.replace('&', " "), dialect, ws);
    }
    read::expression(text, dialect, ws)
}

/// The links of one statement, with their ranges in `formula`.
pub(super) fn links(
    formula: &str,
    setting: Setting,
    ws: &mut Workspace<'_>,
) -> Result<Vec<(Range<usize>, Check)>, Exhausted> {
    let Some(ranges) = find::sides(formula) else {
        return Ok(Vec::new());
    };
    let mut sides = Vec::with_capacity(ranges.len());
    for range in &ranges {
        sides.push(side(&formula[range.clone()], ws)?);
    }
    let mut checks = Vec::with_capacity(sides.len());
    let mut setting = setting;
    for (place, pair) in sides.windows(2).enumerate() {
        let is_first = place == 0;
        let check = link(&pair[0], &pair[1], is_first, setting, ws)?;
        // A chain that has rewritten something goes on rewriting it.
        setting.is_rewriting |= check == Check::Right && !pair[0].variables.is_empty();
        checks.push((ranges[place].start..ranges[place + 1].end, check));
    }
    Ok(checks)
}

fn link(
    left: &Side<'_>,
    right: &Side<'_>,
    is_first: bool,
    setting: Setting,
    ws: &mut Workspace<'_>,
) -> Result<Check, Exhausted> {
    let (Some(left_expr), Some(right_expr)) = (left.expr, right.expr) else {
        return Ok(Check::Unchecked(Why::Unread));
    };
    if is_first && is_name(left_expr, ws) {
        return Ok(Check::Unchecked(Why::Definition));
    }
    match algebra::compare(left_expr, right_expr, Assumptions::default(), ws)? {
        Finding::Equal(_) => Ok(Check::Right),
        Finding::Undecided(Doubt::Costly) => Ok(Check::Unchecked(Why::TooCostly)),
        Finding::Undecided(Doubt::LikelyEqual | Doubt::NoRule | Doubt::NoValue) => {
            Ok(Check::Unchecked(Why::Undecided))
        }
        Finding::Different(_, witness) => {
            let is_closed = left.variables.is_empty() && right.variables.is_empty();
            let is_same_kind = !left.variables.is_empty() && left.variables == right.variables;
            if !(is_closed || setting.is_rewriting && is_same_kind) {
                return Ok(Check::Unchecked(Why::Equation));
            }
            if setting.is_false_on_purpose {
                return Ok(Check::Unchecked(Why::Contradiction));
            }
            if let Some(excuse) = excuse(left, right, ws)? {
                return Ok(excuse);
            }
            let witness = shown(left, right, witness, ws);
            Ok(Check::Wrong { witness })
        }
    }
}

/// Whether a left side may be defined rather than claimed: a lone symbol or an unknown function.
fn is_name(expr: Expr, ws: &Workspace<'_>) -> bool {
    matches!(ws.node(expr), Node::Symbol(_) | Node::Apply(..))
}

/// What may explain that the sides differ.
fn excuse(
    left: &Side<'_>,
    right: &Side<'_>,
    ws: &mut Workspace<'_>,
) -> Result<Option<Check>, Exhausted> {
    let sides = [left, right];
    for expr in sides.into_iter().filter_map(|side| side.expr) {
        if has_plain_angle(expr, ws)? {
            return Ok(Some(Check::Unchecked(Why::Degrees)));
        }
    }
    if !sides.iter().any(|side| has_decimal(side.text)) {
        return Ok(None);
    }
    let (Some(left_expr), Some(right_expr)) = (left.expr, right.expr) else {
        return Ok(None);
    };
    let difference = ws.difference(left_expr, right_expr)?;
    let (Some(difference), Some(value)) =
        (enclosure::interval(difference, 128, ws)?, enclosure::interval(left_expr, 128, ws)?)
    else {
        return Ok(Some(Check::Unchecked(Why::Approximate)));
    };
    let size = |interval: &enclosure::Interval| interval.lower().abs().max(interval.upper().abs());
    let gap = size(&difference);
    if let Some(places) = [right, left].into_iter().find_map(|side| places(side.text)) {
        let half = RBig::ONE / (RBig::from(2) * RBig::from(IBig::from(10).pow(places)));
        if gap <= half {
            return Ok(Some(Check::Rounded));
        }
    }
    let is_near = gap * RBig::from(50) <= size(&value);
    Ok(is_near.then_some(Check::Unchecked(Why::Approximate)))
}

/// Whether a circular function is taken of a number without pi in it: it may be in degrees.
fn has_plain_angle(expr: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    let mut angles = Vec::new();
    ws.any(expr, &mut |node| {
        if let Node::Call(
            Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc
            | Function::Asin
            | Function::Acos
            | Function::Atan,
            _,
        ) = node
        {
            angles.extend(children(node));
        }
        false
    })?;
    Ok(angles
        .into_iter()
        .any(|angle| matches!(ws.node(angle), Node::Number(value) if !value.is_zero()))
        || has_inverse(expr, ws)?)
}

/// Whether an angle is the value of some function: it may be given in degrees.
fn has_inverse(expr: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    ws.any(expr, &mut |node| {
        matches!(node, Node::Call(Function::Asin | Function::Acos | Function::Atan, _))
    })
}

fn has_decimal(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| pair[0] == b'.' && pair[1].is_ascii_digit())
}

/// The places of a text that is one decimal number.
fn places(text: &str) -> Option<usize> {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.')?;
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = are_digits(whole) && are_digits(fraction);
    (is_number && fraction.len() <= 40).then_some(fraction.len())
}

/// What shows that the sides differ.
fn shown(
    left: &Side<'_>,
    right: &Side<'_>,
    witness: Option<Witness>,
    ws: &mut Workspace<'_>,
) -> String {
    let Some(Witness { at, values }) = witness else {
        return format!("{} is not {}", left.text, right.text);
    };
    let mut text = match values {
        Some((left, right)) => format!("{left} is not {right}"),
        None => format!("{} is not {}", left.text, right.text),
    };
    for (place, (symbol, value)) in at.iter().enumerate() {
        if let Node::Symbol(name) = ws.node(*symbol) {
            let joint = if place == 0 { " at " } else { ", " };
            text.push_str(joint);
            text.push_str(ws.spelling(*name));
            text.push_str(" = ");
            text.push_str(&value.to_string());
        }
    }
    text
}

/// An equation in one variable, as a polynomial that is to be 0.
struct Equation {
    variable: Name,
    polynomial: Expr,
}

fn equation(formula: &str, ws: &mut Workspace<'_>) -> Result<Option<Equation>, Exhausted> {
    let Some(ranges) = find::sides(formula) else {
        return Ok(None);
    };
    let [left, right] = ranges.as_slice() else {
        return Ok(None);
    };
    let (left, right) = (side(&formula[left.clone()], ws)?, side(&formula[right.clone()], ws)?);
    let (Some(left), Some(right)) = (left.expr, right.expr) else {
        return Ok(None);
    };
    let polynomial = ws.difference(left, right)?;
    let variables = algebra::variables(polynomial, ws);
    let [variable] = variables.as_slice() else {
        return Ok(None);
    };
    let is_polynomial = algebra::polynomial(polynomial, *variable, ws)?.is_some();
    Ok(is_polynomial.then_some(Equation { variable: *variable, polynomial }))
}

/// The roots that `x = …` claims: one, two by a sign of both kinds, or several joined by "or".
fn claimed_roots(
    formula: &str,
    variable: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<Expr>>, Exhausted> {
    let mut roots = Vec::new();
    let joined = formula
        .replace("\\text{ or }", ";")
        .replace("\\text{or}", ";")
        .replace("\\quad", " ")
        .replace("\\lor", ";")
        .replace(" or ", ";");
    for part in joined.split([';', ',']) {
        let value = match part.split_once('=') {
            Some((name, value)) => {
                let name = side(name, ws)?;
                let is_variable = name.variables == [variable]
                    && name.expr.is_some_and(|expr| matches!(ws.node(expr), Node::Symbol(_)));
                if !is_variable {
                    return Ok(None);
                }
                value
            }
            None if !roots.is_empty() => part,
            None => return Ok(None),
        };
        for text in value_signs(value) {
            let value = side(&text, ws)?;
            match value.expr {
                Some(expr) if value.variables.is_empty() => roots.push(expr),
                Some(_) | None => return Ok(None),
            }
        }
    }
    Ok(Some(roots))
}

/// A text with both readings of its `\pm`.
fn value_signs(text: &str) -> Vec<String> {
    match text.matches("\\pm").count() {
        0 => vec![text.to_owned()],
        1 => vec![text.replace("\\pm", "+"), text.replace("\\pm", "-")],
        _ => vec!["\\pm".to_owned()],
    }
}

/// Whether the solutions that `conclusion` claims are those of `premise`. `None` where the claim is
/// of another kind.
pub(super) fn implication(
    premise: &str,
    conclusion: &str,
    setting: Setting,
    ws: &mut Workspace<'_>,
) -> Result<Option<Check>, Exhausted> {
    let Some(Equation { variable, polynomial }) = equation(premise, ws)? else {
        return Ok(None);
    };
    let Some(roots) = claimed_roots(conclusion, variable, ws)? else {
        return Ok(None);
    };
    let zero = ws.integer(0)?;
    for root in &roots {
        let value = algebra::substitute(polynomial, variable, *root, ws)?;
        match algebra::compare(value, zero, Assumptions::default(), ws)? {
            Finding::Equal(_) => {}
            Finding::Different(..) if setting.is_false_on_purpose || has_decimal(conclusion) => {
                return Ok(Some(Check::Unchecked(Why::Approximate)));
            }
            Finding::Different(..) => {
                let witness = format!("{} does not solve {}", conclusion.trim(), premise.trim());
                return Ok(Some(Check::Wrong { witness }));
            }
            Finding::Undecided(_) => return Ok(Some(Check::Unchecked(Why::Undecided))),
        }
    }
    for root in rational_roots(polynomial, variable, ws)? {
        let expr = ws.number(root.clone())?;
        let mut is_kept = false;
        for claimed in &roots {
            let found = algebra::compare(*claimed, expr, Assumptions::default(), ws)?;
            is_kept |= !matches!(found, Finding::Different(..));
        }
        if !is_kept {
            let name = ws.spelling(variable);
            return Ok(Some(Check::Partial { lost: format!("{name} = {root}") }));
        }
    }
    Ok(Some(Check::Right))
}

/// Rational roots with small numerator and denominator, of a polynomial with small coefficients.
fn rational_roots(
    polynomial: Expr,
    variable: Name,
    ws: &mut Workspace<'_>,
) -> Result<Vec<RBig>, Exhausted> {
    const LARGEST: i64 = 60;
    const LARGEST_DENOMINATOR: u32 = 6;
    let Some(coefficients) = algebra::polynomial(polynomial, variable, ws)? else {
        return Ok(Vec::new());
    };
    let mut values = Vec::with_capacity(coefficients.len());
    for coefficient in coefficients {
        match algebra::rational(coefficient, ws)? {
            Some(value) => values.push(value),
            None => return Ok(Vec::new()),
        }
    }
    let mut roots: Vec<RBig> = Vec::new();
    for denominator in 1..=LARGEST_DENOMINATOR {
        for numerator in -LARGEST..=LARGEST {
            ws.fuel.spend(1 + values.len() as u64)?;
            let candidate = RBig::from_parts(IBig::from(numerator), denominator.into());
            let value = values
                .iter()
                .rev()
                .fold(RBig::ZERO, |sum, coefficient| sum * &candidate + coefficient);
            if value.is_zero() && !roots.contains(&candidate) {
                roots.push(candidate);
            }
        }
    }
    Ok(roots)
}
