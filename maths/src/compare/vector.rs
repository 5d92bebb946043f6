//! Vectors as sums of basis vectors, matrices as lists of lists, and lines by a point and a direction.

use super::{Comparer, Comparison, bare, subject};
use crate::algebra;
use crate::answer::{Answer, AnswerForm, Brackets, Value};
use crate::expr::{Constant, Expr, Name, Node};
use crate::fuel::Exhausted;

/// The notations of the basis vectors, each with those of all three directions.
const BASES: [[&str; 3]; 4] = [
    ["i", "j", "k"],
    ["hat{i}", "hat{j}", "hat{k}"],
    ["vec{i}", "vec{j}", "vec{k}"],
    ["bar{i}", "bar{j}", "bar{k}"],
];

/// A line in as many dimensions as both lists are long.
struct Line {
    at: Vec<Expr>,
    along: Vec<Expr>,
}

/// Returns whether a value names the second or third basis vector: `4i + 4j + 2k`.
pub(super) fn holds_basis(value: &Value, ws: &crate::Workspace<'_>) -> bool {
    let is_basis = |spelling: &str| BASES.iter().any(|basis| basis[1..].contains(&spelling));
    algebra::variables(value.expr, ws).iter().any(|name| is_basis(ws.spelling(*name)))
}

impl Comparer<'_, '_> {
    /// Compares with a gold value, or with the vector that it is where it sums basis vectors.
    pub(super) fn for_value_or_vector(
        &mut self,
        gold: &Answer,
        value: &Value,
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        let outcome = self.for_value(gold, value, candidate)?;
        if outcome.is_equal() || value.unit.is_some() {
            return Ok(outcome);
        }
        let size = match &candidate.form {
            AnswerForm::Tuple(_, members) => members.len(),
            AnswerForm::Matrix(rows) => rows.len().max(rows[0].len()),
            AnswerForm::Value(_) => 3,
            AnswerForm::Equation(..)
            | AnswerForm::Inequality(_)
            | AnswerForm::Region(_)
            | AnswerForm::Set(_)
            | AnswerForm::List(_)
            | AnswerForm::Piecewise(_)
            | AnswerForm::Congruence { .. }
            | AnswerForm::Numeral(_)
            | AnswerForm::Ratio(_)
            | AnswerForm::Date(_)
            | AnswerForm::Clock(_)
            | AnswerForm::Truth(_)
            | AnswerForm::Sequence(_)
            | AnswerForm::Text(_) => return Ok(outcome),
        };
        let Some(members) = self.components(value, size)? else {
            return Ok(outcome);
        };
        if let AnswerForm::Matrix(rows) = &candidate.form {
            let entries = entries(rows);
            return entries.map_or(Ok(outcome), |entries| self.in_order(&members, &entries));
        }
        let compared = self.for_tuple(gold, (Brackets::Angle, &members), candidate)?;
        // A candidate that is no vector was compared as a value.
        let is_value = matches!(candidate.form, AnswerForm::Value(_));
        Ok(if is_value && !compared.is_equal() { outcome } else { compared })
    }

    /// Returns the components of `a i + b j + c k`, two or three of them; `None` if `value` is no
    /// sum of basis vectors, or has more dimensions.
    pub(super) fn components(
        &mut self,
        value: &Value,
        size: usize,
    ) -> Result<Option<Vec<Answer>>, Exhausted> {
        let names = algebra::variables(value.expr, self.ws);
        let holds = |ws: &crate::Workspace<'_>, spelling: &str| {
            names.iter().any(|name| ws.spelling(*name) == spelling)
        };
        let found = BASES.iter().find(|basis| {
            let is_marked = basis[0] != "i";
            (holds(self.ws, basis[0]) && is_marked) || basis[1..].iter().any(|b| holds(self.ws, b))
        });
        let (Some(basis), 2 | 3, None) = (found, size, &value.unit) else {
            return Ok(None);
        };
        let mut rest = value.expr;
        if basis[0] == "i" {
            let first = self.ws.symbol("i")?;
            rest = self.ws.replaced(rest, &mut |_, node| {
                Ok((*node == Node::Constant(Constant::I)).then_some(first))
            })?;
        }
        let mut components = Vec::with_capacity(3);
        for letter in basis {
            let name = self.ws.name(letter);
            let Some((step, start)) = algebra::linear(rest, name, self.ws)? else {
                return Ok(None);
            };
            components.push(step);
            rest = start;
        }
        let letters: Vec<Name> = basis.iter().map(|letter| self.ws.name(letter)).collect();
        for component in &components {
            let own = algebra::variables(*component, self.ws);
            if own.iter().any(|name| letters.contains(name)) {
                return Ok(None);
            }
        }
        let is_zero = |value: Option<dashu::rational::RBig>| value.is_some_and(|v| v.is_zero());
        let is_flat = is_zero(algebra::rational(components[2], self.ws)?);
        if !is_zero(algebra::rational(rest, self.ws)?) || size == 2 && !is_flat {
            return Ok(None);
        }
        components.truncate(size);
        Ok(Some(components.into_iter().map(bare).collect()))
    }

    /// Returns `outcome`, unless both answers are the same line in other words.
    pub(super) fn same_line_or(
        &mut self,
        outcome: Comparison,
        is_vector: bool,
        gold: &Answer,
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        if outcome.is_equal() || !is_vector {
            return Ok(outcome);
        }
        let (Some(own), Some(theirs)) = (self.line_of(gold)?, self.line_of(candidate)?) else {
            return Ok(outcome);
        };
        if own.at.len() != theirs.at.len() {
            return Ok(Comparison::different("line_different"));
        }
        let mut between = Vec::with_capacity(own.at.len());
        for (a, b) in own.at.iter().zip(&theirs.at) {
            between.push(self.ws.difference(*a, *b)?);
        }
        for direction in [&theirs.along, &between] {
            let outcome = self.are_parallel(&own.along, direction)?;
            if !outcome.is_equal() {
                return Ok(outcome);
            }
        }
        Ok(Comparison::equal("line_equal"))
    }

    /// Decides whether a candidate is a vector of numbers and a multiple of a gold vector, neither of them zero:
    /// eigenvectors, directions and normals have no length of their own.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub fn are_multiples(&mut self, gold: &Answer, candidate: &Answer) -> Result<bool, Exhausted> {
        let (Some(own), Some(other)) = (self.numbers_of(gold)?, self.numbers_of(candidate)?) else {
            return Ok(false);
        };
        Ok(own.len() == other.len() && self.are_parallel(&own, &other)?.is_equal())
    }

    /// Returns the entries of a vector of numbers that is not zero.
    fn numbers_of(&mut self, answer: &Answer) -> Result<Option<Vec<Expr>>, Exhausted> {
        let entries = if let AnswerForm::Tuple(_, members) = &answer.form {
            Some(members.clone())
        } else if let AnswerForm::Matrix(rows) = &answer.form {
            entries(rows)
        } else {
            None
        };
        let zero = self.ws.integer(0)?;
        let mut is_zero = true;
        let mut found = Vec::new();
        for entry in entries.unwrap_or_default() {
            let AnswerForm::Value(Value { expr, unit: None, .. }) = entry.form else {
                return Ok(None);
            };
            if !self.ws.is_closed(expr)? {
                return Ok(None);
            }
            is_zero &= self.exprs(expr, zero)?.is_equal();
            found.push(expr);
        }
        Ok((found.len() > 1 && !is_zero).then_some(found))
    }

    fn are_parallel(&mut self, left: &[Expr], right: &[Expr]) -> Result<Comparison, Exhausted> {
        for first in 0..left.len() {
            for second in first + 1..left.len() {
                let one = self.ws.product(vec![left[first], right[second]])?;
                let other = self.ws.product(vec![left[second], right[first]])?;
                match self.exprs(one, other)? {
                    Comparison::Equal(_) => {}
                    Comparison::Different(_) => return Ok(Comparison::different("line_different")),
                    rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => {
                        return Ok(rest);
                    }
                }
            }
        }
        Ok(Comparison::equal("line_equal"))
    }

    /// Returns the line that an answer describes: coordinates linear in one parameter, or equations
    /// between terms that are each linear in one coordinate.
    fn line_of(&mut self, answer: &Answer) -> Result<Option<Line>, Exhausted> {
        if let AnswerForm::Tuple(_, members) = &answer.form {
            return self.by_parameter(members);
        }
        if let AnswerForm::Matrix(rows) = &answer.form {
            let entries = entries(rows).filter(|entries| entries.len() > 1);
            return entries.map_or(Ok(None), |entries| self.by_parameter(&entries));
        }
        let AnswerForm::List(members) = &answer.form else {
            return Ok(None);
        };
        let is_equation = |member: &Answer| matches!(member.form, AnswerForm::Equation(..));
        if members.iter().all(is_equation) {
            return self.by_coordinates(members);
        }
        // `(t, 3 - t), t \in \mathbb{R}`
        match self.only_stated(members) {
            Some(Answer { form: AnswerForm::Tuple(_, parts), .. }) => {
                return self.by_parameter(parts);
            }
            Some(only @ Answer { form: AnswerForm::Matrix(_), .. }) => return self.line_of(only),
            Some(_) | None => {}
        }
        let members: Vec<Answer> =
            self.without_declarations(members).into_iter().cloned().collect();
        match subject::assigned(self.ws, &answer.subjects, &members) {
            Some(members) => self.by_parameter(&members),
            None => Ok(None),
        }
    }

    fn by_parameter(&mut self, members: &[Answer]) -> Result<Option<Line>, Exhausted> {
        let mut parameter = None;
        for member in members {
            let AnswerForm::Value(value) = &member.form else {
                return Ok(None);
            };
            let names = algebra::variables(value.expr, self.ws);
            match (names.as_slice(), parameter) {
                ([], _) => {}
                ([only], None) => parameter = Some(*only),
                ([only], Some(known)) if *only == known => {}
                _ => return Ok(None),
            }
        }
        let Some(parameter) = parameter else {
            return Ok(None);
        };
        let mut line = Line { at: Vec::new(), along: Vec::new() };
        for member in members {
            let AnswerForm::Value(value) = &member.form else {
                return Ok(None);
            };
            let Some((step, start)) = algebra::linear(value.expr, parameter, self.ws)? else {
                return Ok(None);
            };
            line.at.push(start);
            line.along.push(step);
        }
        Ok(Some(line))
    }

    fn by_coordinates(&mut self, members: &[Answer]) -> Result<Option<Line>, Exhausted> {
        let mut sides: Vec<(Name, Expr)> = Vec::new();
        for member in members {
            let AnswerForm::Equation(left, right) = member.form else {
                return Ok(None);
            };
            for side in [left, right] {
                match algebra::variables(side, self.ws).as_slice() {
                    [only] if sides.contains(&(*only, side)) => {}
                    [only] if sides.iter().all(|(name, _)| name != only) => {
                        sides.push((*only, side));
                    }
                    _ => return Ok(None),
                }
            }
        }
        // As many terms as equations that join them into one chain, and one more.
        if sides.len() != members.len() + 1 {
            return Ok(None);
        }
        sides.sort_by_key(|(name, _)| self.ws.spelling(*name).to_owned());
        let mut line = Line { at: Vec::new(), along: Vec::new() };
        for (name, side) in sides {
            let Some((step, start)) = algebra::linear(side, name, self.ws)? else {
                return Ok(None);
            };
            let start = self.ws.negated(start)?;
            let one = self.ws.integer(1)?;
            line.at.push(self.ws.quotient(start, step)?);
            line.along.push(self.ws.quotient(one, step)?);
        }
        Ok(Some(line))
    }
}

/// Returns the rows of `[[1, 2], [3, 4]]`.
pub(super) fn rows(form: &AnswerForm) -> Option<Vec<Vec<Expr>>> {
    let values = |member: &Answer| {
        let AnswerForm::Tuple(Brackets::Square, cells) = &member.form else {
            return None;
        };
        let value = |cell: &Answer| {
            if let AnswerForm::Value(value) = &cell.form { Some(value.expr) } else { None }
        };
        cells.iter().map(value).collect::<Option<Vec<Expr>>>()
    };
    let AnswerForm::Tuple(Brackets::Square, members) = form else {
        return None;
    };
    let rows: Vec<Vec<Expr>> = members.iter().map(values).collect::<Option<_>>()?;
    rows.iter().all(|row| row.len() == rows[0].len()).then_some(rows)
}

/// Returns whether a matrix has one column, and more rows than one.
pub(super) fn is_column(rows: &[Vec<Expr>]) -> bool {
    rows.len() > 1 && rows.iter().all(|row| row.len() == 1)
}

/// Returns the entries of a matrix of one column or one row.
pub(super) fn entries(rows: &[Vec<Expr>]) -> Option<Vec<Answer>> {
    let is_line = rows.len() == 1 || rows.iter().all(|row| row.len() == 1);
    is_line.then(|| rows.iter().flatten().map(|entry| bare(*entry)).collect())
}
