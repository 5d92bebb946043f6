//! Whether a candidate answer means the same as the gold answer.
//!
//! The gold answer decides the comparison. Equal types are compared by their own rule, a few others are converted
//! (with or without a flag), and the rest is *incomparable*, which is neither a proof nor a score of its own.

mod absence;
mod answer_type;
mod antiderivative;
mod congruence;
mod curves;
mod declared;
mod extremum;
mod inequality;
mod kind;
mod members;
mod outcome;
mod piecewise;
mod region;
mod renamed;
mod rounded;
mod series;
mod subject;
mod subspace;
mod text_compare;
mod tuple;
mod unit;
mod value;
mod vector;
mod wordings;

use dashu::base::BitTest as _;

use super::algebra;
use super::answer::{Answer, AnswerForm, Region, Value};
use super::calendar::Clock;
use super::change;
use super::chemistry;
use super::expr::{Expr, Function, Node, Workspace};
use super::interval::{self, Separation};
use super::logic;
use super::nuclide;
use super::permutation;
use super::policy::Policy;
use super::proof::{Assumptions, Doubt, Proof};
use super::tolerance::Tolerance;
use crate::fuel::Exhausted;

pub use self::absence::says_no_solution;
pub use self::answer_type::AnswerType;
use self::congruence::Congruence;
use self::inequality::Equation;
pub use self::kind::{are_alike, have_one_dimension, have_one_name};
pub use self::outcome::{AnswerTexts, Comparison, Evidence};
use self::outcome::{blame, outcome};
pub use self::text_compare::says_none;
pub use self::wordings::last_wording;

/// Exponents of more bits make numbers that are not written down.
const LARGE_BITS: usize = 16;

/// The state of a comparison.
pub struct Comparer<'c, 'f> {
    /// The workspace of both answers.
    pub ws: &'c mut Workspace<'f>,
    /// Policy for disputed equalities.
    pub policy: Policy,
    /// Tolerance around the gold value.
    pub tolerance: &'c Tolerance,
}

impl Comparer<'_, '_> {
    /// Compares whole answers.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub fn answers(
        &mut self,
        gold: &Answer,
        candidate: &Answer,
        texts: Option<AnswerTexts<'_>>,
    ) -> Result<Comparison, Exhausted> {
        self.ws.fuel.spend(1)?;
        let candidate = match subject::relate(self.ws, gold, candidate) {
            subject::Relation::Conflict => return Ok(Comparison::different("variable_different")),
            subject::Relation::Same => candidate,
            subject::Relation::Reordered(ref order) => &subject::reordered(candidate, order),
        };
        let renamed = self.with_argument(gold, candidate)?;
        let candidate = renamed.as_ref().unwrap_or(candidate);
        if let Some(outcome) = self.for_range(gold, candidate)? {
            return Ok(outcome);
        }
        let outcome = self.forms(gold, candidate)?;
        let (false, Some(texts)) = (outcome.is_equal(), texts) else {
            return Ok(outcome);
        };
        if text_compare::are_same_letters(texts, self.ws.fuel)? {
            return Ok(Comparison::equal("text_equal"));
        }
        if let AnswerForm::Numeral(numeral) = &candidate.form
            && value::has_digits(numeral, texts.gold)
        {
            return Ok(Comparison::equal("numeral_digits"));
        }
        if chemistry::are_same(texts.gold, texts.candidate)
            || permutation::are_same(texts.gold, texts.candidate)
        {
            return Ok(Comparison::equal("formula_equal"));
        }
        if let Some(are_one) = self.are_spans(texts.gold, texts.candidate)? {
            return Ok(Comparison::proven(are_one, "span_equal", "span_different"));
        }
        if nuclide::are_same(texts.gold, texts.candidate) {
            return Ok(Comparison::equal("element_equal"));
        }
        if unit::are_same(&gold.form, candidate, self.ws) {
            return Ok(Comparison::equal("unit_converted"));
        }
        if text_compare::may_be_words(&gold.form, &candidate.form) {
            if logic::are_same(texts.gold, texts.candidate) {
                return Ok(Comparison::equal("formula_equal"));
            }
            if change::are_same(texts.gold, texts.candidate) {
                return Ok(Comparison::equal("text_equal"));
            }
            return Ok(text_compare::compare(texts, self.ws.fuel)?.unwrap_or(outcome));
        }
        Ok(outcome)
    }

    /// Compares by the table of types: gold in rows, candidates in columns.
    fn forms(&mut self, gold: &Answer, candidate: &Answer) -> Result<Comparison, Exhausted> {
        match &gold.form {
            AnswerForm::Value(value) => self.for_value_or_vector(gold, value, candidate),
            AnswerForm::Equation(left, right) => {
                self.for_equation(Equation { left: *left, right: *right }, candidate)
            }
            AnswerForm::Inequality(chain) => self.for_inequality(chain, candidate),
            AnswerForm::Region(region) => self.for_region(region, candidate),
            AnswerForm::Set(members) | AnswerForm::List(members) => {
                self.for_members(gold, members, candidate)
            }
            AnswerForm::Tuple(brackets, members) => {
                self.for_tuple(gold, (*brackets, members), candidate)
            }
            AnswerForm::Matrix(rows) => {
                let outcome = self.for_matrix(rows, candidate)?;
                self.same_line_or(outcome, vector::is_column(rows), gold, candidate)
            }
            AnswerForm::Piecewise(pieces) => match &candidate.form {
                AnswerForm::Piecewise(others) => self.piecewise(pieces, others),
                AnswerForm::Value(value) if value.unit.is_none() => {
                    self.piecewise(pieces, &[(value.expr, None)])
                }
                AnswerForm::Value(_)
                | AnswerForm::Equation(..)
                | AnswerForm::Inequality(_)
                | AnswerForm::Region(_)
                | AnswerForm::Set(_)
                | AnswerForm::Tuple(..)
                | AnswerForm::List(_)
                | AnswerForm::Matrix(_)
                | AnswerForm::Congruence { .. }
                | AnswerForm::Numeral(_)
                | AnswerForm::Ratio(_)
                | AnswerForm::Date(_)
                | AnswerForm::Clock(_)
                | AnswerForm::Truth(_)
                | AnswerForm::Sequence(_)
                | AnswerForm::Text(_) => Ok(mismatch()),
            },
            AnswerForm::Congruence { residues, modulus } => {
                self.for_congruence(gold, (residues, *modulus), candidate)
            }
            AnswerForm::Numeral(numeral) => Ok(value::numeral(numeral, &candidate.form)),
            AnswerForm::Ratio(terms) => self.for_ratio(terms, candidate),
            AnswerForm::Clock(clock) => self.for_clock(*clock, candidate),
            AnswerForm::Date(_)
            | AnswerForm::Truth(_)
            | AnswerForm::Sequence(_)
            | AnswerForm::Text(_) => Ok(as_written(&gold.form, &candidate.form)),
        }
    }

    fn for_value(
        &mut self,
        gold: &Answer,
        value: &Value,
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        match &candidate.form {
            AnswerForm::Value(other) => {
                let outcome = self.values(value, other)?;
                if !outcome.is_equal()
                    && let Some(equal) = self.by_operators(value.expr, other.expr)?
                {
                    return Ok(equal);
                }
                let are_parameters = renamed::are_of_one_function(gold, candidate, self.ws);
                let are_named = have_one_name(gold, candidate, self.ws);
                let exprs = (value.expr, other.expr);
                let outcome = self.renamed_or(outcome, exprs, (are_parameters, are_named))?;
                if are_named { self.same_curves_or(outcome, gold, candidate) } else { Ok(outcome) }
            }
            AnswerForm::Equation(left, right) => match inequality::as_equation(gold) {
                Some(equation) => self.equations(equation, Equation { left: *left, right: *right }),
                None => self.value_of_quantity(value, *left, *right),
            },
            AnswerForm::Set(members) | AnswerForm::List(members) => {
                match self.without_declarations(members).as_slice() {
                    [only] => self.answers(gold, only, None),
                    _ => match self.only_stated(members) {
                        Some(only) => self.answers(gold, only, None),
                        None => self.one_of_many(gold, members),
                    },
                }
            }
            AnswerForm::Numeral(numeral) => {
                let expr = self.ws.number(numeral.value())?;
                self.exprs(value.expr, expr)
            }
            AnswerForm::Ratio(terms) => match terms.as_slice() {
                [a, b] if self.policy.ratio_as_fraction => {
                    let quotient = self.ws.quotient(*a, *b)?;
                    self.exprs(value.expr, quotient)
                }
                _ => Ok(mismatch()),
            },
            AnswerForm::Congruence { residues, modulus } => {
                let family = self.family_residue(value.expr)?;
                match (family, residues.as_slice()) {
                    (Some((residue, step)), [_]) => self.congruences(
                        Congruence { residues: &[residue], modulus: step },
                        Congruence { residues, modulus: *modulus },
                    ),
                    _ => Ok(mismatch()),
                }
            }
            AnswerForm::Matrix(rows) => match rows.as_slice() {
                [row] if row.len() == 1 => self.exprs(value.expr, row[0]),
                _ => Ok(mismatch()),
            },
            AnswerForm::Piecewise(pieces) if value.unit.is_none() => {
                self.piecewise(&[(value.expr, None)], pieces)
            }
            AnswerForm::Inequality(_)
            | AnswerForm::Region(_)
            | AnswerForm::Tuple(..)
            | AnswerForm::Piecewise(_)
            | AnswerForm::Date(_)
            | AnswerForm::Clock(_)
            | AnswerForm::Truth(_)
            | AnswerForm::Sequence(_)
            | AnswerForm::Text(_) => Ok(mismatch()),
        }
    }

    /// Compares a gold value with the right side of `a^2 + b^2 = 25`, `\cos A = 1/2` or `\int … =
    /// \ln|x|`. That can only be equal: the equation might have been meant as one.
    ///
    /// A right side with variables counts only where the left one is a function or an operator.
    /// An equation that says what its variables may be states no value: `x^2 = 4`, `2x + 3y = 6`.
    fn value_of_quantity(
        &mut self,
        gold: &Value,
        left: Expr,
        right: Expr,
    ) -> Result<Comparison, Exhausted> {
        let is_named = matches!(self.ws.node(left), Node::Call(..) | Node::Bound(_));
        let is_zero = matches!(self.ws.node(right), Node::Number(value) if value.is_zero());
        let is_closed = self.ws.is_closed(right)?;
        if is_zero && !self.ws.is_closed(gold.expr)? {
            // `x^2 - 2 = 0` names the polynomial that the gold answer is.
            let outcome = self.values(gold, &Value::bare(left))?;
            return Ok(if outcome.is_equal() { outcome } else { mismatch() });
        }
        if !is_named && (!is_closed || is_zero || kind::is_condition(left, self.ws)) {
            // `(1 + 2)^n = 3^n` computes its right side.
            let is_identity =
                self.exprs(left, right)?.is_equal() || self.is_identity_of_logs(left, right)?;
            if !is_identity {
                return Ok(mismatch());
            }
        }
        let outcome = self.values(gold, &Value::bare(right))?;
        if outcome.is_equal() {
            return Ok(outcome);
        }
        // `\int … = F + C` may state another antiderivative than the gold answer does.
        let is_integral = matches!(self.ws.node(left), Node::Bound(_));
        let other = if is_integral { self.antiderivatives(gold.expr, right)? } else { None };
        Ok(other.unwrap_or_else(mismatch))
    }

    /// Compares a candidate of several answers with a gold answer of one: right only where all of
    /// them are that one.
    fn one_of_many(&mut self, gold: &Answer, members: &[Answer]) -> Result<Comparison, Exhausted> {
        for (index, member) in members.iter().enumerate() {
            let outcome = self.answers(gold, member, None)?;
            if members.len() == 1 {
                return Ok(outcome);
            }
            match outcome {
                Comparison::Equal(_) => {}
                Comparison::Different(_) => {
                    return Ok(Comparison::different("several_answers").at(index));
                }
                Comparison::Incomparable(_) => {
                    return Ok(Comparison::incomparable("several_answers"));
                }
                Comparison::Undecided(doubt) => return Ok(Comparison::Undecided(doubt)),
            }
        }
        Ok(Comparison::equal("members_equal"))
    }

    fn for_ratio(&mut self, terms: &[Expr], candidate: &Answer) -> Result<Comparison, Exhausted> {
        if let AnswerForm::Ratio(others) = &candidate.form {
            return self.ratios(terms, others);
        }
        if let (AnswerForm::Value(value), [a, b]) = (&candidate.form, terms)
            && self.policy.ratio_as_fraction
        {
            let quotient = self.ws.quotient(*a, *b)?;
            return self.exprs(quotient, value.expr);
        }
        let AnswerForm::Clock(clock) = &candidate.form else {
            return Ok(mismatch());
        };
        match self.clock_of(terms)? {
            Some(own) => Ok(agreement(own.agrees(clock), "time")),
            None => Ok(mismatch()),
        }
    }

    fn for_clock(&mut self, clock: Clock, candidate: &Answer) -> Result<Comparison, Exhausted> {
        let other = if let AnswerForm::Ratio(terms) = &candidate.form {
            self.clock_of(terms)?
        } else if let AnswerForm::Clock(other) = candidate.form {
            Some(other)
        } else {
            None
        };
        Ok(other.map_or_else(mismatch, |other| agreement(clock.agrees(&other), "time")))
    }

    /// Returns `7:30` as a time of day.
    fn clock_of(&mut self, terms: &[Expr]) -> Result<Option<Clock>, Exhausted> {
        let mut parts = Vec::with_capacity(terms.len());
        for term in terms {
            let value = algebra::rational(*term, self.ws)?;
            parts.push(value.and_then(|value| {
                u8::try_from(value.trunc()).ok().filter(|n| value == (*n).into())
            }));
        }
        Ok(match parts.as_slice() {
            [Some(hour @ 0..24), Some(minute @ 0..60)] => Some(Clock {
                hour: *hour,
                minute: *minute,
                second: None,
                is_open_half: (1..=12).contains(hour),
                is_half_named: false,
            }),
            _ => None,
        })
    }

    /// Decides whether two expressions have the same value.
    pub(super) fn exprs(&mut self, gold: Expr, candidate: Expr) -> Result<Comparison, Exhausted> {
        if gold == candidate {
            return Ok(Comparison::equal("identical"));
        }
        let finding = self.compared(gold, candidate)?;
        match finding {
            Proof::Undecided(doubt)
                if doubt != Doubt::LikelyEqual
                    && (doubt == Doubt::Costly || !self.is_beyond_means(gold, candidate)?)
                    && self.is_plain(gold)? =>
            {
                Ok(Comparison::incomparable(blame(doubt)))
            }
            Proof::Equal(_) | Proof::Different(..) | Proof::Undecided(_) => Ok(outcome(finding)),
        }
    }

    /// Whether an expression may have a value although no rule here finds one: sums, integrals and
    /// limits without a closed form, in no other variables than the gold answer's, and numbers too large
    /// to write down.
    fn is_beyond_means(&mut self, gold: Expr, expr: Expr) -> Result<bool, Exhausted> {
        let mut towers = Vec::new();
        let has_bound = self.ws.any(expr, &mut |node| {
            if let Node::Power(_, exponent) = node {
                towers.push(*exponent);
            }
            matches!(node, Node::Bound(_))
        })?;
        let is_large = |node: &Node| match node {
            Node::Power(..) | Node::Call(Function::Factorial, _) => true,
            Node::Number(value) => value.is_int() && value.numerator().bit_len() > LARGE_BITS,
            Node::Symbol(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_) => false,
        };
        let has_unknown =
            has_bound && self.ws.any(expr, &mut |node| matches!(node, Node::Apply(..)))?;
        if has_bound && !has_unknown {
            let known = algebra::variables(gold, self.ws);
            if algebra::variables(expr, self.ws).iter().all(|name| known.contains(name)) {
                return Ok(true);
            }
        }
        for exponent in towers {
            if self.ws.is_closed(exponent)? && self.ws.any(exponent, &mut |node| is_large(node))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether intervals find the value of the gold expression. If they do and the comparison is
    /// undecided, the candidate is the cause, and it counts as wrong: a failure in the place of a 0
    /// would let a response avoid its judgement.
    fn is_plain(&mut self, gold: Expr) -> Result<bool, Exhausted> {
        let one = self.ws.integer(1)?;
        let other = self.ws.sum(vec![gold, one])?;
        let found = algebra::separate(gold, other, self.assumptions(), self.ws)?;
        Ok(matches!(found, Separation::Apart(_)))
    }

    /// Returns what algebra finds, under the policy on logarithms.
    fn compared(&mut self, gold: Expr, candidate: Expr) -> Result<Proof, Exhausted> {
        let assumptions = self.assumptions();
        let is_read_anew = &mut |node: &Node| {
            matches!(node, Node::Call(Function::Max | Function::Min | Function::LogBare, _))
        };
        if !self.ws.any(gold, is_read_anew)? && !self.ws.any(candidate, is_read_anew)? {
            return algebra::compare(gold, candidate, assumptions, self.ws);
        }
        let gold = extremum::settled(self.ws, gold)?;
        let candidate = extremum::settled(self.ws, candidate)?;
        value::with_logs(self.ws, self.policy.log, (gold, candidate), |ws, left, right| {
            algebra::compare(left, right, assumptions, ws)
        })
    }

    fn assumptions(&self) -> Assumptions {
        Assumptions { positive: self.policy.positive_variables }
    }

    /// Returns the order of two real constants, if it is proven.
    pub(super) fn order(
        &mut self,
        left: Expr,
        right: Expr,
    ) -> Result<Option<std::cmp::Ordering>, Exhausted> {
        use std::cmp::Ordering;
        if left == right {
            return Ok(Some(Ordering::Equal));
        }
        let ends = (value::infinity(self.ws, left), value::infinity(self.ws, right));
        match ends {
            (Some(a), Some(b)) => return Ok(Some(a.cmp(&b))),
            (Some(a), None) => return Ok(Some(a)),
            (None, Some(b)) => return Ok(Some(b.reverse())),
            (None, None) => {}
        }
        let values = (algebra::rational(left, self.ws)?, algebra::rational(right, self.ws)?);
        if let (Some(a), Some(b)) = &values {
            return Ok(Some(a.cmp(b)));
        }
        if matches!(self.compared(left, right)?, Proof::Equal(_)) {
            return Ok(Some(Ordering::Equal));
        }
        let difference = self.ws.difference(left, right)?;
        interval::sign(difference, self.ws)
    }
}

/// Returns an expression as an answer of its own.
pub(super) fn bare(expr: Expr) -> Answer {
    Answer { subjects: Vec::new(), form: AnswerForm::Value(Value::bare(expr)), notes: Vec::new() }
}

/// Compares the types that are equal to none but their own: dates, truth values, sequences.
fn as_written(gold: &AnswerForm, candidate: &AnswerForm) -> Comparison {
    if let (AnswerForm::Date(own), AnswerForm::Date(other)) = (gold, candidate) {
        return agreement(own.agrees(other), "date");
    }
    if let (AnswerForm::Truth(own), AnswerForm::Truth(other)) = (gold, candidate) {
        return Comparison::proven(own == other, "truth_equal", "truth_different");
    }
    if let (AnswerForm::Truth(own), AnswerForm::Text(other)) = (gold, candidate) {
        return match text_compare::truth(other) {
            Some(other) => Comparison::proven(*own == other, "truth_equal", "truth_different"),
            None => mismatch(),
        };
    }
    if let (AnswerForm::Text(own), AnswerForm::Truth(other)) = (gold, candidate)
        && let Some(own) = text_compare::truth(own)
    {
        return Comparison::proven(own == *other, "truth_equal", "truth_different");
    }
    // Texts of whole answers are compared with their typesetting; these are members of an answer.
    if let (AnswerForm::Text(own), AnswerForm::Text(other)) = (gold, candidate)
        && text_compare::words(own) == text_compare::words(other)
    {
        return Comparison::equal("text_equal");
    }
    let (AnswerForm::Sequence(own), AnswerForm::Sequence(other)) = (gold, candidate) else {
        return mismatch();
    };
    if own == other {
        Comparison::equal("sequence_equal")
    } else {
        Comparison::incomparable("sequence_as_written")
    }
}

/// Returns the outcome for types that no rule compares.
pub(super) fn mismatch() -> Comparison {
    Comparison::incomparable("type_mismatch")
}

/// Returns what dates and times say of each other.
fn agreement(agrees: Option<bool>, what: &'static str) -> Comparison {
    match (agrees, what) {
        (Some(true), "date") => Comparison::equal("date_equal"),
        (Some(false), "date") => Comparison::different("date_different"),
        (Some(true), _) => Comparison::equal("time_equal"),
        (Some(false), _) => Comparison::different("time_different"),
        (None, "date") => Comparison::incomparable("date_incomplete"),
        (None, _) => Comparison::incomparable("half_of_day_missing"),
    }
}

/// Returns the names the regions that a candidate's form may be.
pub(super) fn region_of(form: &AnswerForm) -> Option<Region> {
    if let AnswerForm::Region(region) = form {
        return Some(region.clone());
    }
    if let AnswerForm::Tuple(brackets, members) = form {
        return region::of_pair(*brackets, members);
    }
    if let AnswerForm::List(members) = form
        && members.len() > 1
        && members.iter().all(|member| member.subjects.is_empty())
    {
        let part = |member: &Answer| {
            let is_part = matches!(member.form, AnswerForm::Tuple(..) | AnswerForm::Region(_));
            is_part.then(|| region_of(&member.form)).flatten()
        };
        return members.iter().map(part).collect::<Option<_>>().map(Region::Union);
    }
    let AnswerForm::Set(members) = form else {
        return None;
    };
    let point = |member: &Answer| {
        let AnswerForm::Value(value) = &member.form else {
            return None;
        };
        value.unit.is_none().then_some(value.expr)
    };
    members.iter().map(point).collect::<Option<_>>().map(Region::Points)
}
