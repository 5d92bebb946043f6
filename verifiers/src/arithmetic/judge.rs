//! From two readable sides to a check.

use std::ops::Range;

use dashu::base::Abs;
use dashu::rational::RBig;

use super::compare::{self, Precision, WrittenNumber};
use super::config::{ArithmeticConfig, RunOn};
use super::exact::Exact;
use super::expr::{Code, Expr, ExprForm, Parsed, Percent};
use super::find::EqualitySides;
use super::report::{EqualityCheck, EqualityRule, Why};
use super::token::{Lexed, Op, TokenKind, WordClass};
use super::value::{self, NoValue, Reading};
use super::words::{names_money, same_unit};
use crate::Fuel;

/// The exact values of both sides.
type Values = (RBig, RBig);

/// Checks the pairs of one text.
pub(super) struct Judge<'s, 'a> {
    pub(super) lexed: &'s Lexed<'a>,
    pub(super) parsed: &'s Parsed,
    pub(super) config: &'s ArithmeticConfig,
    /// The text is a calculator's and not a sentence.
    pub(super) calculator: bool,
    /// Working memory.
    pub(super) stack: &'s mut Vec<RBig>,
    pub(super) fuel: &'s mut Fuel,
}

impl Judge<'_, '_> {
    /// Checks `pair`, and gives the values of its sides where both have one.
    pub(super) fn judge(&mut self, pair: &EqualitySides) -> (EqualityCheck, Option<Values>) {
        let values = match self.values(pair, Reading::Plain) {
            Ok(values) => values,
            Err(NoValue::DividesByZero) if pair.doubt.is_none() => {
                return (EqualityCheck::DividesByZero, None);
            }
            Err(reason) => return (unchecked(reason, pair), None),
        };
        let check = match self.rule(pair, &values, Reading::Plain) {
            Some(rule) => self.agrees(pair, &values, rule),
            None => self.differs(pair, &values),
        };
        (check, Some(values))
    }

    fn left(&self, pair: &EqualitySides) -> &Expr {
        &self.parsed.exprs[pair.left]
    }

    fn right(&self, pair: &EqualitySides) -> &Expr {
        &self.parsed.exprs[pair.right]
    }

    fn values(&mut self, pair: &EqualitySides, reading: Reading) -> Result<Values, NoValue> {
        let left = self.value(pair.left, reading)?;
        // Only the first number of the equality can have taken a dash for its sign.
        let reading = match reading {
            Reading::FirstNegated => Reading::Plain,
            Reading::Plain | Reading::PercentPoints => reading,
        };
        Ok((left, self.value(pair.right, reading)?))
    }

    fn value(&mut self, index: usize, reading: Reading) -> Result<RBig, NoValue> {
        let code = self.parsed.code_of(&self.parsed.exprs[index]);
        value::evaluate(code, &self.lexed.numerals, reading, self.stack, self.fuel)
    }

    /// Returns the rule by which the values agree, if one does.
    fn rule(
        &self,
        pair: &EqualitySides,
        (left, right): &Values,
        reading: Reading,
    ) -> Option<EqualityRule> {
        if left == right {
            return Some(EqualityRule::Exact);
        }
        let (left_expr, right_expr) = (self.left(pair), self.right(pair));
        let precision = Precision {
            approximate: pair.approximate,
            float: left_expr.traits.float || right_expr.traits.float,
        };
        if precision.float && compare::is_float_error(left, right) {
            return Some(EqualityRule::FloatingPoint);
        }
        let rounded = |exact, value, expr: &Expr| {
            let form = written_number(expr.form, reading)?;
            compare::rounds_to(exact, value, form, precision, self.config)
        };
        rounded(left, right, right_expr).or_else(|| rounded(right, left, left_expr))
    }

    /// Judges numbers that agree. Two plain numbers still state nothing where words may make them
    /// names.
    fn agrees(
        &self,
        pair: &EqualitySides,
        (left, _): &Values,
        rule: EqualityRule,
    ) -> EqualityCheck {
        if let Some(why) = self.states_nothing(pair) {
            return EqualityCheck::Unchecked { why };
        }
        EqualityCheck::Right { computed: Exact(left.clone()), rule }
    }

    /// Returns whether two plain numbers are names; they state nothing for certain, unless the left
    /// one is the result of a computation: `f: 2 = 4`.
    fn are_two_names(&self, pair: &EqualitySides) -> bool {
        let alone = self.lexed.kind_before(self.left(pair).tokens.start);
        !matches!(alone, Some(TokenKind::Relation(_)))
            && self.left(pair).is_bare()
            && self.right(pair).is_bare()
    }

    /// Finds words that keep two plain numbers from stating anything: `15 gallons = 120 pints`,
    /// `Week 2 = 2`.
    fn states_nothing(&self, pair: &EqualitySides) -> Option<Why> {
        let (left, right) = (self.left(pair), self.right(pair));
        if !left.is_bare() || !right.is_bare() {
            return None;
        }
        let has_units = self.has_units(left) || self.has_units(right) || !pair.trailing.is_empty();
        pair.doubt.or(has_units.then_some(Why::Units))
    }

    fn has_units(&self, expr: &Expr) -> bool {
        !self.parsed.units_of(expr).is_empty()
    }

    /// Judges numbers that differ: wrong, unless something may explain it.
    fn differs(&mut self, pair: &EqualitySides, values: &Values) -> EqualityCheck {
        if let Some(check) = self.percent_reading(pair, values) {
            return check;
        }
        let run_on = self.is_run_on(pair, &values.0);
        if let Some(why) = self.explanation(pair, values, run_on) {
            return EqualityCheck::Unchecked { why };
        }
        EqualityCheck::Wrong {
            left: Exact(values.0.clone()),
            right: Exact(values.1.clone()),
            run_on,
        }
    }

    /// Returns the other readings of percent signs: `5/20*100 = 25%`.
    fn percent_reading(&mut self, pair: &EqualitySides, values: &Values) -> Option<EqualityCheck> {
        let (left, right) = (self.left(pair), self.right(pair));
        let (left_percent, right_percent) = (left.has_percent(), right.has_percent());
        if !left_percent && !right_percent {
            return None;
        }
        let right_is_plain = matches!(right.form, ExprForm::Bare { .. });
        let reading = Reading::PercentPoints;
        let (left_points, right_points) = self.values(pair, reading).ok()?;
        let readings = [
            (left_points.clone(), right_points.clone()),
            (left_points, values.1.clone()),
            (values.0.clone(), right_points),
        ];
        let mut agrees = readings.iter().map(|values| self.rule(pair, values, reading).is_some());
        if !agrees.any(|agrees| agrees) {
            return None;
        }
        let in_percent = !left_percent && right_is_plain && self.computes_percent(pair);
        if in_percent && pair.doubt.is_none() {
            return Some(self.agrees(pair, values, EqualityRule::PercentPoints));
        }
        Some(EqualityCheck::Unchecked { why: Why::Percent })
    }

    /// Returns whether the left side may compute a percentage: it multiplies by 100, or divides
    /// nothing.
    fn computes_percent(&self, pair: &EqualitySides) -> bool {
        let code = self.parsed.code_of(self.left(pair));
        let hundred = code.iter().any(|code| match code {
            Code::Push(index) => self.lexed.numerals[*index].is(100),
            Code::Neg | Code::Percent | Code::Mixed | Code::Apply(_) => false,
        });
        hundred || !code.contains(&Code::Apply(Op::Div))
    }

    /// Returns what may explain that the numbers differ.
    fn explanation(&mut self, pair: &EqualitySides, values: &Values, run_on: bool) -> Option<Why> {
        if pair.doubt.is_some() {
            return pair.doubt;
        }
        if !self.calculator && self.is_proportion(pair, values) {
            return Some(Why::Proportion);
        }
        if let Some(why) = self.states_nothing(pair) {
            return Some(why);
        }
        if !self.calculator && self.are_two_names(pair) {
            return Some(Why::Name);
        }
        if self.units_explain(pair, values) {
            return Some(Why::Units);
        }
        if self.is_range(pair, values) {
            return Some(Why::Ambiguous);
        }
        if pair.after_dash && self.agrees_with_sign(pair) {
            return Some(Why::ListMarker);
        }
        if self.rounded_operand_explains(pair, values) {
            return Some(Why::RoundedOperand);
        }
        if pair.approximate && compare::is_near(&values.0, &values.1) {
            return Some(Why::Approximate);
        }
        (run_on && self.config.run_on == RunOn::Unchecked).then_some(Why::RunOn)
    }

    /// A share or percentage set equal to an amount: `3/4 = 12 students`, `20% = 10`,
    /// `48 = 100% + 20%`, `(1-.30) = 20 beans`.
    fn is_proportion(&self, pair: &EqualitySides, (left_value, right_value): &Values) -> bool {
        let is_share =
            |expr: &Expr| expr.form == ExprForm::Share || expr.traits.percent == Percent::Whole;
        let is_amount = |value: &RBig| value.clone().abs() >= RBig::ONE;
        let (left, right) = (self.left(pair), self.right(pair));
        let amount_right = !right.has_percent() && is_amount(right_value);
        let amount_left = left.is_bare() && !left.has_percent() && is_amount(left_value);
        let several = *right_value > RBig::ONE && right_value.is_int();
        (is_share(left) && amount_right)
            || (amount_left && (is_share(right) || right.has_percent()))
            || (self.is_rest_of_one(left, left_value) && several)
    }

    /// Returns whether `expr` is the rest of a whole: `1 - 3/4`.
    fn is_rest_of_one(&self, expr: &Expr, value: &RBig) -> bool {
        let code = self.parsed.code_of(expr);
        let Some(Code::Push(first)) = code.first() else {
            return false;
        };
        let takes_away = code.last() == Some(&Code::Apply(Op::Sub));
        let share = *value > RBig::ZERO && *value < RBig::ONE;
        takes_away && share && self.lexed.numerals[*first].is(1)
    }

    /// Returns whether the numbers differ by no more than a rounded number in them explains:
    /// `4/0.3333 = 12`.
    fn rounded_operand_explains(&self, pair: &EqualitySides, (left, right): &Values) -> bool {
        let numerals = [pair.left, pair.right]
            .into_iter()
            .map(|index| &self.parsed.exprs[index])
            .filter(|expr| !expr.is_bare())
            .flat_map(|expr| self.parsed.code_of(expr))
            .filter_map(|code| match code {
                Code::Push(index) => Some(self.lexed.numerals[*index]),
                Code::Neg | Code::Percent | Code::Mixed | Code::Apply(_) => None,
            });
        let rough = compare::total_roughness(numerals);
        let scale = left.clone().abs().max(right.clone().abs());
        !rough.is_zero() && (left - right).abs() <= scale * rough
    }

    /// Returns whether units may explain that the numbers differ.
    fn units_explain(&self, pair: &EqualitySides, (left_value, right_value): &Values) -> bool {
        let left = self.units(self.left(pair), 0..0);
        let right = self.units(self.right(pair), pair.trailing.clone());
        if left.is_some() && right.is_some() {
            return !self.share_unit(&left, &right);
        }
        if self.left(pair).is_bare() && left.is_some() {
            return true;
        }
        if (left.money || right.money) && compare::are_cents_and_dollars(left_value, right_value) {
            return true;
        }
        let measured = left.words.iter().chain(&right.words).any(|&at| {
            let kind = self.lexed.kind(at);
            matches!(kind, Some(TokenKind::Word(WordClass::Measure | WordClass::Scale)))
        });
        measured && compare::is_conversion(left_value, right_value)
    }

    /// Returns the units of `expr`, with `trailing` words after it.
    fn units(&self, expr: &Expr, trailing: Range<usize>) -> Units {
        let mut words = self.parsed.units_of(expr).to_vec();
        words.extend(trailing);
        Units {
            money: expr.traits.currency
                || words.iter().any(|&at| names_money(self.lexed.text_of(at))),
            words,
        }
    }

    fn share_unit(&self, left: &Units, right: &Units) -> bool {
        let text = |at: &usize| self.lexed.text_of(*at);
        let share_word = left.words.iter().any(|a| {
            let mut others = right.words.iter();
            others.any(|b| same_unit(text(a), text(b)))
        });
        share_word || (left.money && right.money)
    }

    /// Returns whether the left side is a range, `Pages 10-15 = 6`: from one number to a larger
    /// one, after a word that may name the counted things.
    fn is_range(&self, pair: &EqualitySides, (left_value, right_value): &Values) -> bool {
        let left = self.left(pair);
        let difference = matches!(
            self.parsed.code_of(left),
            [Code::Push(_), Code::Push(_), Code::Apply(Op::Sub)]
        );
        let named = matches!(
            self.lexed.kind_before(left.tokens.start),
            Some(TokenKind::Word(WordClass::Plain | WordClass::Measure | WordClass::Label))
        );
        difference && named && *left_value < RBig::ZERO && *right_value > RBig::ZERO
    }

    /// Returns whether the dash before the first number makes the numbers agree when it is its
    /// sign.
    fn agrees_with_sign(&mut self, pair: &EqualitySides) -> bool {
        self.values(pair, Reading::FirstNegated)
            .is_ok_and(|values| self.rule(pair, &values, Reading::FirstNegated).is_some())
    }

    /// Returns whether the right side goes on from the value of the left one.
    fn is_run_on(&mut self, pair: &EqualitySides, left: &RBig) -> bool {
        let right = self.right(pair);
        if right.is_bare() {
            return false;
        }
        let Some(&Code::Push(index)) = self.parsed.code_of(right).first() else {
            return false;
        };
        let first = value::numeral(self.lexed.numerals[index], self.fuel);
        first.is_ok_and(|first| first == *left)
    }
}

/// The unit of a side.
struct Units {
    /// Tokens that may name a unit.
    words: Vec<usize>,
    /// A currency sign, or the word for one.
    money: bool,
}

impl Units {
    fn is_some(&self) -> bool {
        self.money || !self.words.is_empty()
    }
}

/// Returns the places of a side that is one written number. A percent sign moves the point by two
/// places where it is read as hundredths.
fn written_number(form: ExprForm, reading: Reading) -> Option<WrittenNumber> {
    let ExprForm::Bare { decimals, percent } = form else {
        return None;
    };
    let moved = percent && reading != Reading::PercentPoints;
    Some(WrittenNumber { decimals: decimals.unwrap_or(0) + if moved { 2 } else { 0 } })
}

fn unchecked(reason: NoValue, pair: &EqualitySides) -> EqualityCheck {
    let why = match reason {
        NoValue::DividesByZero => pair.doubt.unwrap_or(Why::Syntax),
        NoValue::NotRational => Why::Function,
        NoValue::TooCostly => Why::TooCostly,
    };
    EqualityCheck::Unchecked { why }
}
