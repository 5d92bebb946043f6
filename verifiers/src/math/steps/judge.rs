//! Judging claims.

use std::ops::Range;

use dashu::base::Abs;
use dashu::integer::IBig;
use dashu::rational::RBig;
use maths::{
    Assumptions, Dialect, Doubt, Expr, Name, Proof, Unread, Witness, Workspace, algebra, interval,
};

use super::find;
use super::report::{ClaimCheck, Why};
use crate::Exhausted;

/// Words that say that what follows is a rewriting and no equation.
const REWRITING: [&str; 7] =
    ["expand", "simplif", "factor", "rewrite", "distribut", "combin", "multiply out"];

/// Words that say that a step leads to something false on purpose.
const FALSE_ON_PURPOSE: [&str; 6] =
    ["contradict", "impossible", "no solution", "suppose", "not equal", "false"];

/// Hints in the words of a step about its formulas.
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
    let dialect = match maths::dialect(text) {
        Dialect::Plain if text.contains("**") => Dialect::Plain,
        Dialect::Plain | Dialect::Latex => Dialect::Latex,
    };
    if text.contains('&') {
        return maths::read_expression(&text.replace('&', " "), dialect, ws);
    }
    maths::read_expression(text, dialect, ws)
}

/// Returns the links of one statement, with their ranges in `formula`.
pub(super) fn links(
    formula: &str,
    setting: Setting,
    ws: &mut Workspace<'_>,
) -> Result<Vec<(Range<usize>, ClaimCheck)>, Exhausted> {
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
        setting.is_rewriting |= check == ClaimCheck::Right && !pair[0].variables.is_empty();
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
) -> Result<ClaimCheck, Exhausted> {
    let (Some(left_expr), Some(right_expr)) = (left.expr, right.expr) else {
        return Ok(ClaimCheck::Unchecked(Why::Unread));
    };
    if is_first && ws.is_name(left_expr) {
        return Ok(ClaimCheck::Unchecked(Why::Definition));
    }
    match algebra::compare(left_expr, right_expr, Assumptions::default(), ws)? {
        Proof::Equal(_) => Ok(ClaimCheck::Right),
        Proof::Undecided(Doubt::Costly) => Ok(ClaimCheck::Unchecked(Why::TooCostly)),
        Proof::Undecided(Doubt::LikelyEqual | Doubt::NoRule | Doubt::NoValue) => {
            Ok(ClaimCheck::Unchecked(Why::Undecided))
        }
        Proof::Different(_, witness) => {
            let is_closed = left.variables.is_empty() && right.variables.is_empty();
            let is_same_kind = !left.variables.is_empty() && left.variables == right.variables;
            if !(is_closed || setting.is_rewriting && is_same_kind) {
                return Ok(ClaimCheck::Unchecked(Why::Equation));
            }
            if setting.is_false_on_purpose {
                return Ok(ClaimCheck::Unchecked(Why::Contradiction));
            }
            if let Some(excuse) = excuse(left, right, ws)? {
                return Ok(excuse);
            }
            let witness = witness_text(left, right, witness, ws);
            Ok(ClaimCheck::Wrong { witness })
        }
    }
}

/// Returns what may explain that the sides differ.
fn excuse(
    left: &Side<'_>,
    right: &Side<'_>,
    ws: &mut Workspace<'_>,
) -> Result<Option<ClaimCheck>, Exhausted> {
    let sides = [left, right];
    for expr in sides.into_iter().filter_map(|side| side.expr) {
        if maths::has_plain_angle(expr, ws)? {
            return Ok(Some(ClaimCheck::Unchecked(Why::Degrees)));
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
        (interval::enclose(difference, 128, ws)?, interval::enclose(left_expr, 128, ws)?)
    else {
        return Ok(Some(ClaimCheck::Unchecked(Why::Approximate)));
    };
    let size = |interval: &interval::Interval| interval.lower().abs().max(interval.upper().abs());
    let gap = size(&difference);
    if let Some(places) = [right, left].into_iter().find_map(|side| places(side.text)) {
        let half = RBig::ONE / (RBig::from(2) * RBig::from(IBig::from(10).pow(places)));
        if gap <= half {
            return Ok(Some(ClaimCheck::Rounded));
        }
    }
    let is_near = gap * RBig::from(50) <= size(&value);
    Ok(is_near.then_some(ClaimCheck::Unchecked(Why::Approximate)))
}

fn has_decimal(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| pair[0] == b'.' && pair[1].is_ascii_digit())
}

/// Returns the places of a text that is one decimal number.
fn places(text: &str) -> Option<usize> {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.')?;
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = are_digits(whole) && are_digits(fraction);
    (is_number && fraction.len() <= 40).then_some(fraction.len())
}

/// Returns what shows that the sides differ.
fn witness_text(
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
        if let Some(name) = ws.symbol_name(*symbol) {
            let joint = if place == 0 { " at " } else { ", " };
            text.push_str(joint);
            text.push_str(ws.spelling(name));
            text.push_str(" = ");
            text.push_str(&value.to_string());
        }
    }
    text
}

/// An equation in one variable, as a polynomial that is to be 0.
struct OneVariableEquation {
    variable: Name,
    polynomial: Expr,
}

fn equation(
    formula: &str,
    ws: &mut Workspace<'_>,
) -> Result<Option<OneVariableEquation>, Exhausted> {
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
    Ok(is_polynomial.then_some(OneVariableEquation { variable: *variable, polynomial }))
}

/// Returns the roots that `x = …` claims: one, two by a sign of both kinds, or several joined by
/// "or".
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
                    && name.expr.is_some_and(|expr| ws.symbol_name(expr).is_some());
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

/// Returns a text with both readings of its `\pm`.
fn value_signs(text: &str) -> Vec<String> {
    match text.matches("\\pm").count() {
        0 => vec![text.to_owned()],
        1 => vec![text.replace("\\pm", "+"), text.replace("\\pm", "-")],
        _ => vec!["\\pm".to_owned()],
    }
}

/// Decides whether the solutions that `conclusion` claims are those of `premise`. `None` if the
/// claim is of another kind.
pub(super) fn implication(
    premise: &str,
    conclusion: &str,
    setting: Setting,
    ws: &mut Workspace<'_>,
) -> Result<Option<ClaimCheck>, Exhausted> {
    let Some(OneVariableEquation { variable, polynomial }) = equation(premise, ws)? else {
        return Ok(None);
    };
    let Some(roots) = claimed_roots(conclusion, variable, ws)? else {
        return Ok(None);
    };
    let zero = ws.integer(0)?;
    for root in &roots {
        let value = algebra::substitute(polynomial, variable, *root, ws)?;
        match algebra::compare(value, zero, Assumptions::default(), ws)? {
            Proof::Equal(_) => {}
            Proof::Different(..) if setting.is_false_on_purpose || has_decimal(conclusion) => {
                return Ok(Some(ClaimCheck::Unchecked(Why::Approximate)));
            }
            Proof::Different(..) => {
                let witness = format!("{} does not solve {}", conclusion.trim(), premise.trim());
                return Ok(Some(ClaimCheck::Wrong { witness }));
            }
            Proof::Undecided(_) => return Ok(Some(ClaimCheck::Unchecked(Why::Undecided))),
        }
    }
    for root in algebra::rational_roots(polynomial, variable, ws)? {
        let expr = ws.number(root.clone())?;
        let mut is_kept = false;
        for claimed in &roots {
            let found = algebra::compare(*claimed, expr, Assumptions::default(), ws)?;
            is_kept |= !matches!(found, Proof::Different(..));
        }
        if !is_kept {
            let name = ws.spelling(variable);
            return Ok(Some(ClaimCheck::Partial { lost: format!("{name} = {root}") }));
        }
    }
    Ok(Some(ClaimCheck::Right))
}
