//! Numbers and expressions: units, percent signs, tolerance, logarithms without a base.

use std::cmp::Ordering;

use dashu::base::{Abs, Signed};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::{Comparer, Comparison, bare, mismatch, outcome};
use crate::algebra;
use crate::answer::{Answer, AnswerForm, Numeral, Value};
use crate::expr::{Constant, Expr, Function, Node, Workspace};
use crate::fuel::Exhausted;
use crate::interval;
use crate::measure::{self, Conversion, Measure};
use crate::number;
use crate::policy::LogBase;
use crate::proof::Proof;
use crate::tolerance::Tolerance;

/// Relation of the units of both sides.
enum Units {
    /// The same, or none.
    Same,
    /// Only the gold answer has one.
    Dropped,
    /// Only the candidate has one.
    Added,
    /// The candidate's value in the gold answer's unit.
    Converted(Expr),
    /// One side has a unit where the other one has a letter (`3 m` and `3m`): both sides as
    /// expressions.
    Symbol { gold: Expr, candidate: Expr },
}

impl Comparer<'_, '_> {
    /// Compares two values with their units.
    pub(super) fn values(
        &mut self,
        gold: &Value,
        candidate: &Value,
    ) -> Result<Comparison, Exhausted> {
        let units = match self.units(gold, candidate)? {
            Ok(units) => units,
            Err(outcome) => return Ok(outcome),
        };
        let expr = match units {
            Units::Converted(expr) => expr,
            Units::Same | Units::Dropped | Units::Added => candidate.expr,
            Units::Symbol { gold, candidate } => return self.exprs(gold, candidate),
        };
        let outcome = self.amounts(gold, candidate, expr)?;
        let Comparison::Equal(ground) = outcome else {
            return Ok(outcome);
        };
        if self.policy.reduced && gold.is_reduced && !candidate.is_reduced {
            return Ok(Comparison::different("not_reduced"));
        }
        if self.policy.factored && self.factor_count(candidate.expr) < self.factor_count(gold.expr)
        {
            return Ok(Comparison::different("not_factored"));
        }
        let is_exact = !matches!(ground.code, "within_tolerance" | "rounded");
        Ok(match units {
            Units::Dropped if self.policy.unit_required => Comparison::different("unit_missing"),
            Units::Dropped if is_exact => Comparison::equal("unit_dropped"),
            Units::Added if is_exact => Comparison::equal("unit_added"),
            Units::Converted(_) if is_exact => Comparison::equal("unit_converted"),
            Units::Same
            | Units::Dropped
            | Units::Added
            | Units::Converted(_)
            | Units::Symbol { .. } => Comparison::Equal(ground),
        })
    }

    /// Returns how many factors that hold a variable `expr` is written with: 3 of `2(x-1)^2(x+1)`.
    fn factor_count(&self, expr: Expr) -> usize {
        let node = self.ws.node(expr);
        if let Node::Product(factors) = node {
            return factors
                .iter()
                .fold(0, |sum, factor| self.factor_count(*factor).saturating_add(sum));
        }
        if let Node::Power(base, exponent) = node
            && let Node::Number(exponent) = self.ws.node(*exponent)
            && exponent.is_int()
        {
            // What divides is no factor.
            let times = usize::try_from(exponent.numerator()).unwrap_or(0);
            return self.factor_count(*base).saturating_mul(times);
        }
        usize::from(self.holds_variable(expr))
    }

    fn holds_variable(&self, expr: Expr) -> bool {
        !algebra::variables(expr, self.ws).is_empty()
    }

    /// Returns the relation of the units, or what it decides by itself.
    fn units(
        &mut self,
        gold: &Value,
        candidate: &Value,
    ) -> Result<Result<Units, Comparison>, Exhausted> {
        let (own, other) = match (&gold.unit, &candidate.unit) {
            (None, None) => return Ok(Ok(Units::Same)),
            (Some(mixed), None) | (None, Some(mixed)) if mixed.is_mixed => {
                return Ok(Err(Comparison::incomparable("unit_missing")));
            }
            (Some(own), None) if self.is_symbolic(candidate.expr)? => {
                if let Some((expr, unit)) = self.read_as_amount(candidate.expr)?
                    && let Some(candidate) = self.converted(expr, &unit, own)?
                {
                    return Ok(Ok(Units::Symbol { gold: gold.expr, candidate }));
                }
                return Ok(Ok(Units::Symbol {
                    gold: self.with_symbol(gold.expr, own)?,
                    candidate: candidate.expr,
                }));
            }
            (None, Some(other)) if self.is_symbolic(gold.expr)? => {
                if let Some((expr, unit)) = self.read_as_amount(gold.expr)?
                    && let Some(candidate) = self.converted(candidate.expr, other, &unit)?
                {
                    return Ok(Ok(Units::Symbol { gold: expr, candidate }));
                }
                return Ok(Ok(Units::Symbol {
                    gold: gold.expr,
                    candidate: self.with_symbol(candidate.expr, other)?,
                }));
            }
            (Some(own), None) => {
                return Ok(Ok(match self.in_radians(own, candidate.expr)? {
                    Some(expr) => Units::Converted(expr),
                    None => Units::Dropped,
                }));
            }
            (None, Some(other)) => {
                return Ok(Ok(match self.in_degrees(gold.expr, other, candidate.expr)? {
                    Some(expr) => Units::Converted(expr),
                    None => Units::Added,
                }));
            }
            (Some(own), Some(other)) => (own, other),
        };
        if let Some(expr) = self.between_angles(own, other, candidate.expr)? {
            return Ok(Ok(Units::Converted(expr)));
        }
        Ok(match other.conversion(own) {
            Conversion::Same => Ok(Units::Same),
            Conversion::Linear { factor, offset } => {
                Ok(Units::Converted(self.scaled(candidate.expr, factor, offset)?))
            }
            Conversion::OtherDimension => Err(Comparison::different("units_different")),
            Conversion::OtherThing => Err(Comparison::incomparable("units_different")),
        })
    }

    /// Returns `expr · factor + offset`.
    fn scaled(&mut self, expr: Expr, factor: RBig, offset: RBig) -> Result<Expr, Exhausted> {
        let factor = self.ws.number(factor)?;
        let scaled = self.ws.product(vec![factor, expr])?;
        let offset = self.ws.number(offset)?;
        self.ws.sum(vec![scaled, offset])
    }

    /// Returns `expr`, an amount in `from`, in the unit `to`; `None` where they measure other quantities.
    fn converted(
        &mut self,
        expr: Expr,
        from: &Measure,
        to: &Measure,
    ) -> Result<Option<Expr>, Exhausted> {
        match from.conversion(to) {
            Conversion::Same => Ok(Some(expr)),
            Conversion::Linear { factor, offset } => self.scaled(expr, factor, offset).map(Some),
            Conversion::OtherDimension | Conversion::OtherThing => Ok(None),
        }
    }

    /// Reads a number times one letter as an amount in the unit that the letter is the symbol of: the
    /// coulombs of `2 C` beside `2000 mC`.
    fn read_as_amount(&mut self, expr: Expr) -> Result<Option<(Expr, Measure)>, Exhausted> {
        let Node::Product(factors) = self.ws.node(expr) else {
            return Ok(None);
        };
        let symbol = |factor: &Expr| {
            if let Node::Symbol(name) = self.ws.node(*factor) { Some(*name) } else { None }
        };
        let names: Vec<_> = factors.iter().filter_map(symbol).collect();
        let numbers: Vec<Expr> =
            factors.iter().copied().filter(|factor| symbol(factor).is_none()).collect();
        let spelling = match names.as_slice() {
            [only] => self.ws.spelling(*only).to_owned(),
            // `2\ \mu F`
            [one, other] => {
                let (one, other) = (self.ws.spelling(*one), self.ws.spelling(*other));
                match (one, other) {
                    ("mu", unit) | (unit, "mu") => format!("µ{unit}"),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let unit = measure::parse_marked_unit(&spelling);
        let number = self.ws.product(numbers)?;
        let is_closed = self.ws.is_closed(number)?;
        Ok(unit.filter(|_| is_closed).map(|unit| (number, unit)))
    }

    fn is_symbolic(&mut self, expr: Expr) -> Result<bool, Exhausted> {
        self.ws.is_closed(expr).map(|is_closed| !is_closed)
    }

    /// Returns `expr` times a variable with the name of the unit.
    fn with_symbol(&mut self, expr: Expr, unit: &Measure) -> Result<Expr, Exhausted> {
        let symbol = self.ws.symbol(&unit.name)?;
        self.ws.product(vec![expr, symbol])
    }

    /// Returns a candidate in degrees in radians where the policy says so and the gold answer holds pi: `45°`
    /// for `π/4`.
    fn in_degrees(
        &mut self,
        gold: Expr,
        other: &Measure,
        expr: Expr,
    ) -> Result<Option<Expr>, Exhausted> {
        if !self.policy.degrees_as_radians || !other.is_degrees() || !holds_pi(self.ws, gold)? {
            return Ok(None);
        }
        let pi = self.ws.constant(Constant::Pi)?;
        let product = self.ws.product(vec![expr, pi])?;
        let degrees = self.ws.integer(180)?;
        self.ws.quotient(product, degrees).map(Some)
    }

    /// Returns a bare candidate for degrees, as an angle in radians where the policy says so and it
    /// holds pi: `π/2` for `90°`.
    fn in_radians(&mut self, own: &Measure, expr: Expr) -> Result<Option<Expr>, Exhausted> {
        if !self.policy.degrees_as_radians || !own.is_degrees() || !holds_pi(self.ws, expr)? {
            return Ok(None);
        }
        let degrees = self.ws.integer(180)?;
        let pi = self.ws.constant(Constant::Pi)?;
        let product = self.ws.product(vec![expr, degrees])?;
        self.ws.quotient(product, pi).map(Some)
    }

    /// Returns an angle in degrees for one in radians, or the other way round, where both units are
    /// written.
    fn between_angles(
        &mut self,
        own: &Measure,
        other: &Measure,
        expr: Expr,
    ) -> Result<Option<Expr>, Exhausted> {
        let is_to_degrees = own.is_degrees() && other.is_radians();
        let is_to_radians = own.is_radians() && other.is_degrees();
        if !is_to_degrees && !is_to_radians {
            return Ok(None);
        }
        let degrees = self.ws.integer(180)?;
        let pi = self.ws.constant(Constant::Pi)?;
        let (times, by) = if is_to_degrees { (degrees, pi) } else { (pi, degrees) };
        let product = self.ws.product(vec![expr, times])?;
        self.ws.quotient(product, by).map(Some)
    }

    /// Compares two amounts in one unit, exactly and then within the tolerance.
    fn amounts(
        &mut self,
        gold: &Value,
        candidate: &Value,
        expr: Expr,
    ) -> Result<Comparison, Exhausted> {
        let outcome = self.exprs(gold.expr, expr)?;
        if outcome.is_equal() {
            return Ok(outcome);
        }
        if self.policy.percent_as_number && gold.is_percent != candidate.is_percent {
            let hundred = self.ws.integer(100)?;
            let (mut left, mut right) = (gold.expr, expr);
            let percent = if gold.is_percent { &mut left } else { &mut right };
            *percent = self.ws.product(vec![*percent, hundred])?;
            if self.exprs(left, right)?.is_equal() {
                return Ok(Comparison::equal("percent_as_number"));
            }
        }
        if self.is_within(gold, candidate, expr)? {
            return Ok(Comparison::equal("within_tolerance"));
        }
        if self.policy.rounded_decimals
            && (self.rounds(gold, candidate, expr)? || self.rounds_to(gold, candidate, expr)?)
        {
            return Ok(Comparison::equal("rounded"));
        }
        Ok(outcome)
    }

    /// Decides whether `expr` lies within the tolerance of the gold value, by proof.
    fn is_within(
        &mut self,
        gold: &Value,
        candidate: &Value,
        expr: Expr,
    ) -> Result<bool, Exhausted> {
        if let Tolerance::Decimals(count) = *self.tolerance {
            if gold.last_digit.is_none() && candidate.last_digit.is_none() {
                return Ok(false);
            }
            return self.are_rounded_alike(gold.expr, expr, count);
        }
        match self.bound(gold)? {
            Some(bound) => self.is_near(gold.expr, expr, &bound),
            None => Ok(false),
        }
    }

    /// Decides whether both values, rounded to `count` decimals, are the same. Irrational ones are
    /// compared with the decimal itself.
    fn are_rounded_alike(&mut self, gold: Expr, expr: Expr, count: u8) -> Result<bool, Exhausted> {
        let unit = number::power_of_ten(-i32::from(count));
        let values = (algebra::rational(gold, self.ws)?, algebra::rational(expr, self.ws)?);
        let half = RBig::ONE / UBig::from(2u8);
        match values {
            (Some(own), Some(other)) => {
                self.ws.fuel.spend(number::cost(digits(&own) + digits(&other)))?;
                Ok((own / &unit + &half).floor() == (other / &unit + half).floor())
            }
            (Some(_), None) | (None, Some(_)) => self.is_near(gold, expr, &(unit * half)),
            (None, None) => Ok(false),
        }
    }

    /// Decides whether two values are no further apart than `bound`, by proof.
    pub(super) fn is_near(
        &mut self,
        gold: Expr,
        expr: Expr,
        bound: &RBig,
    ) -> Result<bool, Exhausted> {
        let values = (algebra::rational(gold, self.ws)?, algebra::rational(expr, self.ws)?);
        if let (Some(own), Some(other)) = values {
            let digits = digits(&own) + digits(&other) + digits(bound);
            self.ws.fuel.spend(number::cost(digits))?;
            return Ok((own - other).abs() <= *bound);
        }
        let difference = self.ws.difference(gold, expr)?;
        let square = self.ws.product(vec![difference, difference])?;
        let bound = self.ws.number(bound * bound)?;
        let room = self.ws.difference(bound, square)?;
        let sign = interval::sign(room, self.ws)?;
        Ok(sign.is_some_and(|sign| sign != Ordering::Less))
    }

    /// Returns how far from the gold value a candidate may lie; `None` if it must be exact.
    fn bound(&mut self, gold: &Value) -> Result<Option<RBig>, Exhausted> {
        let bound = match self.tolerance {
            Tolerance::Exact | Tolerance::Decimals(_) => return Ok(None),
            Tolerance::Absolute(bound) => bound.value().clone(),
            Tolerance::Relative(bound) => {
                let Some(own) = algebra::rational(gold.expr, self.ws)? else {
                    return Ok(None);
                };
                let digits = digits(&own) + digits(bound.value());
                self.ws.fuel.spend(number::cost(digits))?;
                bound.value() * own.abs()
            }
            Tolerance::GoldDigits => {
                let Some(exponent) = gold.last_digit else {
                    return Ok(None);
                };
                let digits = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
                self.ws.fuel.spend(number::cost(digits))?;
                number::power_of_ten(exponent) / UBig::from(2u8)
            }
        };
        Ok((!bound.is_zero()).then_some(bound))
    }

    /// Compares two ratios of any length.
    pub(super) fn ratios(
        &mut self,
        terms: &[Expr],
        others: &[Expr],
    ) -> Result<Comparison, Exhausted> {
        if terms.len() != others.len() {
            return Ok(Comparison::different("ratio_different"));
        }
        // Nothing cancels where a term is 0: `12:0` is not `1:0`.
        if self.any_zero(terms)? || self.any_zero(others)? {
            return Ok(match self.in_order(&all_bare(terms), &all_bare(others))? {
                Comparison::Equal(_) => Comparison::equal("ratio_equal"),
                Comparison::Different(_) => Comparison::different("ratio_different"),
                rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => rest,
            });
        }
        for (term, other) in terms.iter().zip(others).skip(1) {
            let left = self.ws.product(vec![terms[0], *other])?;
            let right = self.ws.product(vec![others[0], *term])?;
            match self.exprs(left, right)? {
                Comparison::Equal(_) => {}
                Comparison::Different(_) => return Ok(Comparison::different("ratio_different")),
                rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => return Ok(rest),
            }
        }
        Ok(Comparison::equal("ratio_equal"))
    }

    fn any_zero(&mut self, terms: &[Expr]) -> Result<bool, Exhausted> {
        for term in terms {
            if algebra::rational(*term, self.ws)?.is_some_and(|value| value.is_zero()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Decides whether both sides are equal where their variables are positive, as logarithms on the left ask for.
    pub(super) fn is_identity_of_logs(
        &mut self,
        left: Expr,
        right: Expr,
    ) -> Result<bool, Exhausted> {
        let mut is_log = |node: &Node| {
            matches!(node, Node::Call(Function::Ln | Function::LogBare | Function::Log, _))
        };
        if !self.ws.any(left, &mut is_log)? {
            return Ok(false);
        }
        let policy = self.policy;
        self.policy.positive_variables = true;
        let compared = self.exprs(left, right);
        self.policy = policy;
        Ok(compared?.is_equal())
    }

    /// Decides whether the sides are equal up to a constant factor.
    pub(super) fn proportional(
        &mut self,
        left: Expr,
        right: Expr,
    ) -> Result<Comparison, Exhausted> {
        if left == right {
            return Ok(Comparison::equal("identical"));
        }
        let assumptions = self.assumptions();
        let finding = with_logs(self.ws, self.policy.log, (left, right), |ws, left, right| {
            algebra::proportional(left, right, assumptions, ws)
        })?;
        Ok(outcome(finding))
    }
}

fn all_bare(exprs: &[Expr]) -> Vec<Answer> {
    exprs.iter().map(|expr| bare(*expr)).collect()
}

/// Returns whether `text` is the digits of `numeral` without its base: a gold answer that was to be
/// written in a base need not repeat it.
pub(super) fn has_digits(numeral: &Numeral, text: &str) -> bool {
    let text = text.trim().trim_matches('$');
    let unsigned = text.strip_prefix('-');
    unsigned.is_some() == numeral.is_negative
        && unsigned.unwrap_or(text).eq_ignore_ascii_case(&numeral.digits)
}

/// Compares a numeral with a base. The base belongs to the question: a value in another one is no
/// answer to that, and digits without a base are a number of base ten.
pub(super) fn numeral(gold: &Numeral, candidate: &AnswerForm) -> Comparison {
    let AnswerForm::Numeral(other) = candidate else {
        return mismatch();
    };
    if gold.base == other.base {
        return Comparison::proven(gold == other, "numeral_equal", "numeral_different");
    }
    if gold.value() == other.value() {
        return Comparison::incomparable("base_different");
    }
    Comparison::different("numeral_different")
}

/// Runs `find` on both sides with every bare logarithm given its base; both readings are tried
/// where either will do.
pub(super) fn with_logs(
    ws: &mut Workspace<'_>,
    base: LogBase,
    (left, right): (Expr, Expr),
    mut find: impl FnMut(&mut Workspace<'_>, Expr, Expr) -> Result<Proof, Exhausted>,
) -> Result<Proof, Exhausted> {
    if !holds_bare_log(ws, left)? && !holds_bare_log(ws, right)? {
        return find(ws, left, right);
    }
    let mut reading = |ws: &mut Workspace<'_>, base| {
        let left = based(ws, left, base)?;
        let right = based(ws, right, base)?;
        find(ws, left, right)
    };
    match base {
        LogBase::Ten => reading(ws, LogBase::Ten),
        LogBase::E => reading(ws, LogBase::E),
        LogBase::Either => {
            let found = reading(ws, LogBase::Ten)?;
            if matches!(found, Proof::Equal(_)) {
                return Ok(found);
            }
            let natural = reading(ws, LogBase::E)?;
            Ok(match natural {
                Proof::Equal(rule) => Proof::Equal(rule),
                Proof::Different(..) | Proof::Undecided(_) => found,
            })
        }
    }
}

fn holds_bare_log(ws: &mut Workspace<'_>, expr: Expr) -> Result<bool, Exhausted> {
    ws.any(expr, &mut |node| matches!(node, Node::Call(Function::LogBare, _)))
}

/// Decides whether `expr` holds pi.
fn holds_pi(ws: &mut Workspace<'_>, expr: Expr) -> Result<bool, Exhausted> {
    ws.any(expr, &mut |node| *node == Node::Constant(Constant::Pi))
}

/// Returns `expr` with `log` replaced by the logarithm to `base`.
fn based(ws: &mut Workspace<'_>, expr: Expr, base: LogBase) -> Result<Expr, Exhausted> {
    ws.replaced(expr, &mut |ws, node| {
        let Node::Call(Function::LogBare, arguments) = node else {
            return Ok(None);
        };
        let argument = arguments[0];
        let natural = ws.call(Function::Ln, vec![argument])?;
        if base == LogBase::E {
            return Ok(Some(natural));
        }
        let ten = ws.integer(10)?;
        ws.call(Function::Log, vec![argument, ten]).map(Some)
    })
}

/// Returns which infinity `expr` is, if it is one: `Greater` for the positive.
pub(super) fn infinity(ws: &Workspace<'_>, expr: Expr) -> Option<Ordering> {
    if is_infinity(ws, expr) {
        return Some(Ordering::Greater);
    }
    let Node::Product(factors) = ws.node(expr) else {
        return None;
    };
    let [factor, infinite] = factors.as_ref() else {
        return None;
    };
    let Node::Number(value) = ws.node(*factor) else {
        return None;
    };
    let sign = if value.is_negative() { Ordering::Less } else { Ordering::Greater };
    (is_infinity(ws, *infinite) && !value.is_zero()).then_some(sign)
}

fn is_infinity(ws: &Workspace<'_>, expr: Expr) -> bool {
    *ws.node(expr) == Node::Constant(Constant::Infinity)
}

/// Returns the decimal digits of both parts of `value`, at most.
fn digits(value: &RBig) -> usize {
    use dashu::base::BitTest;
    // Three bits make less than one decimal digit.
    (value.numerator().bit_len() + value.denominator().bit_len()) / 3 + 1
}

impl Numeral {
    /// Returns the value of the numeral.
    pub(crate) fn value(&self) -> RBig {
        let value = IBig::from_str_radix(&self.digits, u32::from(self.base))
            .expect("its digits are below its base");
        RBig::from(if self.is_negative { -value } else { value })
    }
}

impl Value {
    /// Creates an expression without anything around it.
    pub(crate) fn bare(expr: Expr) -> Self {
        Self { expr, last_digit: None, is_percent: false, unit: None, is_reduced: true }
    }
}
