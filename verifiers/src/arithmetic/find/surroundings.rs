//! Surroundings of an expression that keep it from being read as a whole.

use super::Finder;
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Class, Op, TokenKind, WordClass};

/// Tokens that are looked at to name what makes an expression unreadable.
const LOOK_AROUND: usize = 32;

impl Finder<'_, '_> {
    /// Returns what makes an expression that starts at token `start` unreadable.
    pub(super) fn before(&self, start: usize) -> Option<Why> {
        let before = start.checked_sub(1)?;
        match self.lexed.class(before) {
            Class::Arithmetic | Class::Word(WordClass::Operation(_)) => {
                Some(self.culprit_before(start))
            }
            Class::Variable => Some(Why::Variable),
            Class::Broken(why) => Some(why),
            Class::Word(WordClass::Function) => Some(Why::Function),
            Class::Word(_) => {
                let called = self.lexed.is_attached(start)
                    && self.lexed.kind(start) == Some(TokenKind::Open);
                called.then_some(Why::Function)
            }
            Class::Edge => self.before_edge(before),
        }
    }

    /// Returns a bracket that holds an equality must not belong to something before it.
    fn before_edge(&self, edge: usize) -> Option<Why> {
        if self.lexed.kind(edge) != Some(TokenKind::Boundary(Bound::Open)) {
            return None;
        }
        let before = edge.checked_sub(1)?;
        let operator = matches!(self.lexed.kind(before), Some(TokenKind::Op(_)));
        let attached =
            self.lexed.is_attached(edge) && !matches!(self.lexed.class(before), Class::Edge);
        (operator || attached).then_some(Why::Syntax)
    }

    /// Returns what makes an expression unreadable that ends before token `end`.
    pub(super) fn after(&self, end: usize) -> Option<Why> {
        if self.unit_follows(end) {
            return None;
        }
        match self.lexed.class(end) {
            Class::Edge | Class::Word(_) => None,
            Class::Broken(why) => Some(why),
            Class::Variable => Some(Why::Variable),
            Class::Arithmetic => match self.lexed.kind(end) {
                Some(TokenKind::Number(_)) => {
                    self.is_digit_group(end).then_some(Why::AdjacentNumbers)
                }
                Some(TokenKind::Currency | TokenKind::Open) => {
                    self.lexed.is_attached(end).then_some(Why::Syntax)
                }
                Some(_) | None => Some(self.culprit_after(end)),
            },
        }
    }

    /// Returns whether `/week` or `-minute` follows a number at once.
    pub(super) fn unit_follows(&self, at: usize) -> bool {
        let is_word = matches!(
            self.lexed.kind(at + 1),
            Some(TokenKind::Word(WordClass::Plain | WordClass::Measure | WordClass::Article))
        );
        match self.lexed.kind(at) {
            Some(TokenKind::Op(Op::Div)) => is_word,
            Some(TokenKind::Op(Op::Sub)) => {
                is_word && self.lexed.is_attached(at) && self.lexed.is_attached(at + 1)
            }
            Some(_) | None => false,
        }
    }

    /// Returns whether token `at` is a number of three digits, which may belong to the number
    /// before it.
    pub(super) fn is_digit_group(&self, at: usize) -> bool {
        let token = self.lexed.tokens.get(at);
        token.is_some_and(|token| {
            matches!(token.kind, TokenKind::Number(_)) && token.end - token.start == 3
        })
    }

    /// Names what makes the run of signs and operands before token `end` unreadable.
    pub(super) fn culprit_before(&self, end: usize) -> Why {
        if matches!(self.lexed.kind_before(end), Some(TokenKind::Number(_))) {
            return Why::AdjacentNumbers;
        }
        let start = end.saturating_sub(LOOK_AROUND);
        let run = (start..end).rev().map(|at| self.lexed.class(at));
        culprit(run).unwrap_or(Why::Syntax)
    }

    /// Names what makes the run of signs and operands from token `start` on unreadable.
    pub(super) fn culprit_after(&self, start: usize) -> Why {
        let run = (start..start + LOOK_AROUND).map(|at| self.lexed.class(at));
        culprit(run).unwrap_or(Why::Syntax)
    }

    /// Finds the byte where the run of signs, operands and variables before token `end` starts.
    pub(super) fn run_start(&self, end: usize) -> usize {
        let start = end.saturating_sub(LOOK_AROUND);
        let first = (start..end)
            .rev()
            .take_while(|&at| is_operand_or_sign(self.lexed.class(at)))
            .last()
            .unwrap_or(end);
        self.lexed.tokens[first].start
    }

    /// Finds the byte where the run of signs, operands and variables from token `start` on ends.
    pub(super) fn run_end(&self, start: usize) -> usize {
        let last = (start..start + LOOK_AROUND)
            .take_while(|&at| is_operand_or_sign(self.lexed.class(at)))
            .last()
            .unwrap_or(start - 1);
        self.lexed.tokens[last].end
    }
}

/// Returns the first thing in a run that cannot be read, up to the end of the run.
fn culprit(run: impl Iterator<Item = Class>) -> Option<Why> {
    run.map_while(|class| match class {
        Class::Arithmetic => Some(None),
        Class::Variable => Some(Some(Why::Variable)),
        Class::Broken(why) => Some(Some(why)),
        Class::Word(_) => Some(Some(Why::Words)),
        Class::Edge => None,
    })
    .flatten()
    .next()
}

fn is_operand_or_sign(class: Class) -> bool {
    matches!(class, Class::Arithmetic | Class::Variable | Class::Broken(_))
}
