//! Arithmetic with matrices: sums, products, multiples, powers, transposes, inverses, determinants.
//!
//! Entries are computed: exact numbers are folded while they are small, the rest stays
//! as written, so a division by a determinant that is zero is found where entries are compared.

use dashu::base::BitTest;
use dashu::rational::RBig;

use crate::answer::{AnswerForm, Brackets, Unread};
use crate::expr::{Expr, Node};
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Environment, Token};

use super::region::inside;
use super::{AnswerReader, LexemeRange, answer_of, bare_value};

type MatrixRows = Vec<Vec<Expr>>;

/// Most products that one product of matrices takes.
const MAX_PRODUCTS: usize = 4096;
/// Determinants are expanded by rows, so they are small ones.
const MAX_ORDER: usize = 5;
/// The highest power of a matrix.
const MAX_POWER: usize = 1024;
/// Bits of numbers that are folded.
const MAX_BITS: usize = 512;

/// A number or a matrix.
enum Block {
    Scalar(Expr),
    Matrix(MatrixRows),
}

/// The operands of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Sum,
    Product,
}

impl AnswerReader<'_, '_, '_> {
    /// Returns whether a matrix or a determinant stands in `span`, in whatever brackets.
    pub(super) fn has_matrix(&self, span: &LexemeRange) -> bool {
        let is_environment = |token| {
            matches!(
                token,
                Token::Open(Bracket::Environment(Environment::Matrix | Environment::Determinant))
            )
        };
        span.clone().any(|at| is_environment(self.token(at)) || self.is_plain_matrix(at, span))
    }

    /// Returns whether `Matrix(` of the plain grammar stands at `at`.
    fn is_plain_matrix(&self, at: usize, span: &LexemeRange) -> bool {
        self.token(at).word() == Some("Matrix")
            && at + 1 < span.end
            && self.token(at + 1) == Token::Open(Bracket::Round)
    }

    /// Returns whether `span` sums vectors in round or angle brackets and multiples of them:
    /// `(1, 3, 0) + t(2, -1, 4)`.
    pub(super) fn is_vector_sum(&self, span: &LexemeRange) -> bool {
        let is_part = |token: Token<'_>| match token {
            Token::Plus
            | Token::Minus
            | Token::Times
            | Token::Number(_)
            | Token::Name(_)
            | Token::Fraction
            | Token::SquareRoot
            | Token::Open(Bracket::Group) => true,
            // The letter of a parameter, and none of a function.
            Token::Word { text, .. } => {
                matches!(text, "t" | "s" | "k" | "m" | "n" | "r" | "u" | "v" | "a" | "b" | "c")
            }
            _ => false,
        };
        let mut vectors = 0;
        let mut before: Option<usize> = None;
        let mut taken = span.start;
        for at in self.tops(span) {
            if at < taken {
                continue;
            }
            // `(1, 2)^T`
            if let Some(end) = self.transpose_end(at, span.end)
                && before.is_some_and(|before| self.is_vector(before))
            {
                taken = end;
                continue;
            }
            let is_vector = self.is_vector(at);
            let touches = before.is_some_and(|before| self.is_vector(before));
            if is_vector && touches || !is_vector && !is_part(self.token(at)) {
                return false;
            }
            vectors += usize::from(is_vector);
            before = Some(at);
        }
        vectors > 0 && self.enclosure(span).is_none()
    }

    /// Returns whether a bracket with members opens at `at`.
    fn is_vector(&self, at: usize) -> bool {
        let Token::Open(bracket @ (Bracket::Round | Bracket::Angle | Bracket::Square)) =
            self.token(at)
        else {
            return false;
        };
        let end = self.items[at].mate + 1;
        // `[1, 2]` may be an interval, and `[1, 2]^T` is none.
        if bracket == Bracket::Square && self.transpose_end(end, self.items.len()).is_none() {
            return false;
        }
        self.token(end - 1) == Token::Close(bracket)
            && self.has_top(&inside(&(at..end)), |token| token == Token::Comma)
    }

    /// Returns where the exponent of a transpose ends that opens at `at`: `^T`, `^{\top}`.
    fn transpose_end(&self, at: usize, limit: usize) -> Option<usize> {
        if at + 1 >= limit || self.token(at) != Token::Caret {
            return None;
        }
        let first = at + 1;
        let end = self.items[first].mate.max(first) + 1;
        let exponent = self.peeled(first..end);
        let is_transpose = exponent.len() == 1
            && (self.token(exponent.start).word() == Some("T")
                || self.token(exponent.start) == Token::Transposed);
        is_transpose.then_some(end)
    }

    /// Reads the value of `span`, in which [`Self::has_matrix`] or which [`Self::is_vector_sum`].
    pub(super) fn matrix_value(&mut self, span: &LexemeRange) -> ParseResult<AnswerForm> {
        let is_vector = !self.has_matrix(span);
        Ok(match self.matrix_sum(span)? {
            Block::Matrix(rows) if is_vector => {
                let members =
                    rows.iter().map(|row| answer_of(AnswerForm::Value(bare_value(row[0]))));
                AnswerForm::Tuple(Brackets::Angle, members.collect())
            }
            Block::Matrix(rows) => AnswerForm::Matrix(rows),
            Block::Scalar(expr) => AnswerForm::Value(bare_value(expr)),
        })
    }

    fn matrix_sum(&mut self, span: &LexemeRange) -> ParseResult<Block> {
        self.nesting += 1;
        if self.nesting > super::MAX_NESTING {
            return Err(Unread::TooCostly);
        }
        let mut sum: Option<Block> = None;
        let mut at = span.start;
        while at < span.end {
            let sign = self.token(at);
            let is_negative = sign == Token::Minus;
            let is_signed = matches!(sign, Token::Plus | Token::Minus);
            if sum.is_some() && !is_signed {
                return Err(Unread::NotMaths);
            }
            let from = at + usize::from(is_signed);
            let rest = from..span.end;
            let is_sign = |token| matches!(token, Token::Plus | Token::Minus);
            let end = self.find_top(&rest, is_sign).unwrap_or(span.end);
            let mut term = self.matrix_product(from..end)?;
            if is_negative {
                let minus_one = self.ws.integer(-1)?;
                term = self.times(Block::Scalar(minus_one), term)?;
            }
            sum = Some(match sum {
                Some(sum) => self.plus(sum, term)?,
                None => term,
            });
            at = end;
        }
        self.nesting -= 1;
        sum.ok_or(Unread::NotMaths)
    }

    /// Reads the factors from left to right; factors between matrices are numbers.
    fn matrix_product(&mut self, span: LexemeRange) -> ParseResult<Block> {
        let mut product: Option<Block> = None;
        let mut at = span.start;
        while at < span.end {
            if product.is_some() && self.token(at) == Token::Times {
                at += 1;
            }
            let (factor, after) = self.matrix_factor(at, &span)?;
            product = Some(match product {
                Some(product) => self.times(product, factor)?,
                None => factor,
            });
            at = after;
        }
        product.ok_or(Unread::NotMaths)
    }

    /// Reads the factor at `at` and the place after it.
    fn matrix_factor(&mut self, at: usize, span: &LexemeRange) -> ParseResult<(Block, usize)> {
        if at >= span.end {
            return Err(Unread::NotMaths);
        }
        let is_determinant =
            self.token(at) == Token::Determinant || self.token(at).word() == Some("det");
        if is_determinant {
            return match self.matrix_factor(at + 1, span)? {
                (Block::Matrix(rows), after) => {
                    Ok((Block::Scalar(self.determinant(&rows)?), after))
                }
                (Block::Scalar(_), _) => Err(Unread::NotMaths),
            };
        }
        if let Some((block, after)) = self.matrix_atom(at, span)? {
            // The transpose of a tuple, which is a vector already.
            if self.is_vector(at)
                && let Some(end) = self.transpose_end(after, span.end)
            {
                return Ok((block, end));
            }
            return self.raised_matrix(block, after, span);
        }
        // A number: up to the next matrix.
        let rest = at..span.end;
        let next = self.tops(&rest).find(|at| self.opens_matrix(*at, span));
        let end = next.unwrap_or(span.end);
        let is_times = end > at && self.token(end - 1) == Token::Times;
        let number = at..end - usize::from(is_times);
        Ok((Block::Scalar(self.expression(&number)?), end))
    }

    /// Returns whether what stands at `at` is a matrix, or brackets around one.
    fn opens_matrix(&self, at: usize, span: &LexemeRange) -> bool {
        match self.token(at) {
            Token::Determinant => true,
            Token::Open(_) if self.is_vector(at) => true,
            Token::Open(_) => self.has_matrix(&(at..self.items[at].mate)),
            token => token.word() == Some("det") || self.is_plain_matrix(at, span),
        }
    }

    /// Reads a matrix, a determinant between bars, or brackets around arithmetic with them.
    fn matrix_atom(
        &mut self,
        at: usize,
        span: &LexemeRange,
    ) -> ParseResult<Option<(Block, usize)>> {
        if self.is_plain_matrix(at, span) {
            let end = self.items[at + 1].mate + 1;
            let form = self.plain_matrix(&inside(&(at + 1..end)))?;
            return Ok(Some((block_of(form)?, end)));
        }
        let Token::Open(bracket) = self.token(at) else {
            return Ok(None);
        };
        let end = self.items[at].mate + 1;
        let inner = inside(&(at..end));
        if end <= span.end && self.is_vector(at) && !self.has_matrix(&inner) {
            let mut rows = Vec::new();
            for part in self.split(&inner, |token| token == Token::Comma) {
                rows.push(vec![self.expression(&part)?]);
            }
            return Ok(Some((Block::Matrix(rows), end)));
        }
        if end > span.end || !self.has_matrix(&(at..end)) {
            return Ok(None);
        }
        let block = match bracket {
            Bracket::Environment(Environment::Matrix) => block_of(self.matrix(&inner)?)?,
            Bracket::Environment(Environment::Determinant) => {
                Block::Scalar(self.determinant_of(&inner)?)
            }
            Bracket::Round | Bracket::Square | Bracket::Group
                if self.token(end - 1) == Token::Close(bracket) =>
            {
                self.matrix_sum(&inner)?
            }
            Bracket::Bar => match self.matrix_sum(&inner)? {
                Block::Matrix(rows) => Block::Scalar(self.determinant(&rows)?),
                Block::Scalar(_) => return Err(Unread::NotMaths),
            },
            _ => return Err(Unread::NotMaths),
        };
        Ok(Some((block, end)))
    }

    /// Reads the determinant whose rows `inner` holds.
    pub(super) fn determinant_of(&mut self, inner: &LexemeRange) -> ParseResult<Expr> {
        match block_of(self.matrix(inner)?)? {
            Block::Matrix(rows) => self.determinant(&rows),
            Block::Scalar(_) => Err(Unread::NotMaths),
        }
    }

    /// Reads `block` with an exponent after it: `T`, or an integer.
    fn raised_matrix(
        &mut self,
        block: Block,
        at: usize,
        span: &LexemeRange,
    ) -> ParseResult<(Block, usize)> {
        if at >= span.end || self.token(at) != Token::Caret {
            return Ok((block, at));
        }
        let first = at + 1;
        if first >= span.end {
            return Err(Unread::NotMaths);
        }
        let end = self.items[first].mate.max(first) + 1;
        let exponent = self.peeled(first..end);
        let is_transpose = exponent.len() == 1
            && (self.token(exponent.start).word() == Some("T")
                || self.token(exponent.start) == Token::Transposed);
        let block = match block {
            Block::Matrix(rows) if is_transpose => Block::Matrix(transposed(&rows)),
            Block::Matrix(rows) => {
                let power = self.expression(&exponent)?;
                Block::Matrix(self.matrix_power(&rows, power)?)
            }
            Block::Scalar(base) => {
                let power = self.expression(&exponent)?;
                Block::Scalar(self.ws.power(base, power)?)
            }
        };
        Ok((block, end))
    }

    fn plus(&mut self, left: Block, right: Block) -> ParseResult<Block> {
        match (left, right) {
            (Block::Scalar(left), Block::Scalar(right)) => {
                self.folded(Operation::Sum, &[left, right]).map(Block::Scalar)
            }
            (Block::Matrix(left), Block::Matrix(right)) => {
                if left.len() != right.len() || left[0].len() != right[0].len() {
                    return Err(Unread::NotMaths);
                }
                let mut rows = Vec::with_capacity(left.len());
                for (own, other) in left.iter().zip(&right) {
                    let cells = own.iter().zip(other);
                    let cells: ParseResult<Vec<Expr>> =
                        cells.map(|(a, b)| self.folded(Operation::Sum, &[*a, *b])).collect();
                    rows.push(cells?);
                }
                Ok(Block::Matrix(rows))
            }
            (Block::Scalar(_), Block::Matrix(_)) | (Block::Matrix(_), Block::Scalar(_)) => {
                Err(Unread::NotMaths)
            }
        }
    }

    fn times(&mut self, left: Block, right: Block) -> ParseResult<Block> {
        match (left, right) {
            (Block::Scalar(left), Block::Scalar(right)) => {
                self.folded(Operation::Product, &[left, right]).map(Block::Scalar)
            }
            (Block::Scalar(scalar), Block::Matrix(mut rows))
            | (Block::Matrix(mut rows), Block::Scalar(scalar)) => {
                for cell in rows.iter_mut().flatten() {
                    *cell = self.folded(Operation::Product, &[scalar, *cell])?;
                }
                Ok(Block::Matrix(rows))
            }
            (Block::Matrix(left), Block::Matrix(right)) => {
                self.matrix_times(&left, &right).map(Block::Matrix)
            }
        }
    }

    fn matrix_times(&mut self, left: &MatrixRows, right: &MatrixRows) -> ParseResult<MatrixRows> {
        let (inner, width) = (right.len(), right[0].len());
        if left[0].len() != inner {
            return Err(Unread::NotMaths);
        }
        if left.len() * inner * width > MAX_PRODUCTS {
            return Err(Unread::TooCostly);
        }
        let mut rows = Vec::with_capacity(left.len());
        for row in left {
            let mut cells = Vec::with_capacity(width);
            for column in 0..width {
                let mut terms = Vec::with_capacity(inner);
                for (factor, other) in row.iter().zip(right) {
                    terms.push(self.folded(Operation::Product, &[*factor, other[column]])?);
                }
                cells.push(self.folded(Operation::Sum, &terms)?);
            }
            rows.push(cells);
        }
        Ok(rows)
    }

    /// Reads an integer power, of the inverse where it is negative.
    fn matrix_power(&mut self, rows: &MatrixRows, power: Expr) -> ParseResult<MatrixRows> {
        let Node::Number(power) = self.ws.node(power) else {
            return Err(Unread::NotMaths);
        };
        let whole = power.is_int().then(|| i16::try_from(power.numerator()).ok());
        let power = whole.flatten().ok_or(Unread::NotMaths)?;
        let count = usize::from(power.unsigned_abs());
        if count == 0 || rows.len() != rows[0].len() {
            return Err(Unread::NotMaths);
        }
        if count > MAX_POWER {
            return Err(Unread::TooCostly);
        }
        let base = if power < 0 { self.inverse(rows)? } else { rows.clone() };
        let mut raised = base.clone();
        // By squaring, from the highest bit of the exponent down.
        for bit in (0..count.ilog2()).rev() {
            raised = self.matrix_times(&raised, &raised)?;
            if count >> bit & 1 == 1 {
                raised = self.matrix_times(&raised, &base)?;
            }
        }
        Ok(raised)
    }

    /// Reads the inverse by cofactors.
    fn inverse(&mut self, rows: &MatrixRows) -> ParseResult<MatrixRows> {
        let determinant = self.determinant(rows)?;
        let minus_one = self.ws.integer(-1)?;
        let scale = self.ws.power(determinant, minus_one)?;
        let order = rows.len();
        let mut inverse = Vec::with_capacity(order);
        for row in 0..order {
            let mut cells = Vec::with_capacity(order);
            for column in 0..order {
                let minor = self.determinant(&without(rows, column, row))?;
                let sign = if (row + column) % 2 == 0 { 1 } else { -1 };
                let sign = self.ws.integer(sign)?;
                let cofactor = self.folded(Operation::Product, &[sign, minor])?;
                cells.push(self.ws.product(vec![cofactor, scale])?);
            }
            inverse.push(cells);
        }
        Ok(inverse)
    }

    /// Reads the determinant, expanded by its first row; that of no rows is 1.
    fn determinant(&mut self, rows: &MatrixRows) -> ParseResult<Expr> {
        if rows.iter().any(|row| row.len() != rows.len()) {
            return Err(Unread::NotMaths);
        }
        if rows.len() > MAX_ORDER {
            return Err(Unread::TooCostly);
        }
        let Some(first) = rows.first() else {
            return Ok(self.ws.integer(1)?);
        };
        let mut terms = Vec::with_capacity(first.len());
        for (column, cell) in first.iter().enumerate() {
            let minor = self.determinant(&without(rows, 0, column))?;
            let sign = self.ws.integer(if column % 2 == 0 { 1 } else { -1 })?;
            terms.push(self.folded(Operation::Product, &[sign, *cell, minor])?);
        }
        self.folded(Operation::Sum, &terms)
    }

    /// Reads the sum or product of `parts`, with small numbers in it folded into one.
    fn folded(&mut self, operation: Operation, parts: &[Expr]) -> ParseResult<Expr> {
        let neutral = match operation {
            Operation::Sum => RBig::ZERO,
            Operation::Product => RBig::ONE,
        };
        let mut number = neutral.clone();
        let mut rest = Vec::new();
        for part in parts {
            self.ws.fuel.spend(1)?;
            match self.ws.node(*part) {
                Node::Number(value) if bits(value) + bits(&number) <= MAX_BITS => {
                    number = match operation {
                        Operation::Sum => number + value,
                        Operation::Product => number * value,
                    };
                }
                _ => rest.push(*part),
            }
        }
        if number != neutral || rest.is_empty() {
            rest.insert(0, self.ws.number(number)?);
        }
        Ok(match operation {
            Operation::Sum => self.ws.sum(rest)?,
            Operation::Product => self.ws.product(rest)?,
        })
    }
}

fn bits(value: &RBig) -> usize {
    value.numerator().bit_len() + value.denominator().bit_len()
}

fn block_of(form: AnswerForm) -> ParseResult<Block> {
    match form {
        AnswerForm::Matrix(rows) => Ok(Block::Matrix(rows)),
        _ => Err(Unread::NotMaths),
    }
}

fn transposed(rows: &MatrixRows) -> MatrixRows {
    let column = |at: usize| rows.iter().map(|row| row[at]).collect();
    (0..rows[0].len()).map(column).collect()
}

/// Returns `rows` without one row and one column.
fn without(rows: &MatrixRows, row: usize, column: usize) -> MatrixRows {
    let others = rows.iter().enumerate().filter(|(at, _)| *at != row);
    let cells = |row: &Vec<Expr>| {
        let cells = row.iter().enumerate().filter(|(at, _)| *at != column);
        cells.map(|(_, cell)| *cell).collect()
    };
    others.map(|(_, row)| cells(row)).collect()
}
