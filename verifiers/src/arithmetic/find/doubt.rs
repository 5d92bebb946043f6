//! Surroundings of an expression that may change its meaning.

use std::ops::Range;

use super::Finder;
use crate::arithmetic::expr::Expr;
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, TokenKind, WordClass};

/// Words between a number and an expression that it may belong to.
const MAX_WORDS_OF_QUANTITY: usize = 5;
/// Words after the right side that may name its unit.
const MAX_TRAILING_WORDS: usize = 3;

impl Finder<'_, '_> {
    /// Returns the words before the left side that may change the meaning: `half of`, `seven`, `2
    /// hours and`, `30 workers at a wage of`. A plain number after a word may be a name: `Week 2`.
    pub(super) fn doubt_before(&self, expr: &Expr) -> Option<Why> {
        let before = expr.tokens.start.checked_sub(1)?;
        let Some(TokenKind::Word(word)) = self.lexed.kind(before) else {
            return self.ends_list(before).then_some(Why::AdjacentNumbers);
        };
        let modifies = match word {
            WordClass::Of => {
                !matches!(self.lexed.kind_before(before), Some(TokenKind::Word(WordClass::Label)))
            }
            WordClass::Modifier
            | WordClass::Comparison
            | WordClass::Scale
            | WordClass::Per
            | WordClass::Operation(_) => true,
            WordClass::Plain
            | WordClass::Article
            | WordClass::Measure
            | WordClass::Label
            | WordClass::Preposition
            | WordClass::Direction
            | WordClass::Function
            | WordClass::Caution
            | WordClass::Approximate => false,
            // `the product of 3 and 4 + 5`, `not 4 + 5`.
            WordClass::Stop => {
                self.follows_lone_number(before)
                    || self.lexed.text_of(before).eq_ignore_ascii_case("not")
            }
        };
        if modifies || self.follows_quantity(before) {
            return Some(Why::Words);
        }
        if word == WordClass::Stop && before > 0 && self.ends_with_measure(before - 1) {
            return Some(Why::Units);
        }
        expr.is_bare().then_some(Why::Name)
    }

    /// Returns whether token `at` is the comma in `2, 4 + 6`, and not the one in
    /// `1 + 1 = 2, 4 + 6`.
    fn ends_list(&self, at: usize) -> bool {
        self.lexed.kind(at) == Some(TokenKind::Boundary(Bound::Comma))
            && self.follows_lone_number(at)
    }

    /// Returns whether a number stands before token `at` that is no part of a computation or its
    /// result.
    fn follows_lone_number(&self, at: usize) -> bool {
        let Some(number) = at.checked_sub(1) else {
            return false;
        };
        matches!(self.lexed.kind(number), Some(TokenKind::Number(_)))
            && matches!(
                self.lexed.kind_before(number),
                None | Some(TokenKind::Word(_) | TokenKind::Boundary(_))
            )
    }

    /// Returns whether the words up to token `end` follow a number, so that it may belong to what
    /// comes next: `30 workers at $15 x 40`, `1440 parts in 24 hours / 30`.
    fn follows_quantity(&self, end: usize) -> bool {
        let start = end.saturating_sub(MAX_WORDS_OF_QUANTITY);
        let first_other = (start..=end).rev().find(|&at| {
            let kind = self.lexed.kind(at);
            kind == Some(TokenKind::Word(WordClass::Stop))
                || !matches!(kind, Some(TokenKind::Word(_)))
        });
        first_other.is_some_and(|at| matches!(self.lexed.kind(at), Some(TokenKind::Number(_))))
    }

    /// Returns whether a measured number ends with token `at`: `2 hours`.
    fn ends_with_measure(&self, at: usize) -> bool {
        self.lexed.kind(at) == Some(TokenKind::Word(WordClass::Measure))
            && matches!(self.lexed.kind_before(at), Some(TokenKind::Number(_)))
    }

    /// Returns the words right after `expr` that may name its unit.
    pub(super) fn trailing_words(&self, expr: &Expr) -> Range<usize> {
        let end = expr.tokens.end;
        let start = end + usize::from(self.unit_follows(end));
        let count = (start..start + MAX_TRAILING_WORDS)
            .take_while(|&at| {
                matches!(
                    self.lexed.kind(at),
                    Some(TokenKind::Word(
                        WordClass::Plain
                            | WordClass::Measure
                            | WordClass::Article
                            | WordClass::Scale
                    ))
                )
            })
            .count();
        start..start + count
    }

    /// Returns the text after the right side that may change the meaning: `more than`, `million`,
    /// `hours and 30 minutes`, a group of digits after a comma.
    pub(super) fn doubt_after(&self, expr: &Expr, trailing: &Range<usize>) -> Option<Why> {
        let end = expr.tokens.end;
        if self.is_asked(trailing.end) || self.has_direction(end) {
            return Some(Why::Words);
        }
        match self.lexed.kind(end)? {
            TokenKind::Word(
                WordClass::Comparison | WordClass::Modifier | WordClass::Operation(_),
            ) => Some(Why::Words),
            TokenKind::Word(WordClass::Scale) => Some(Why::Units),
            TokenKind::Word(WordClass::Measure) => self.goes_on_in_smaller_units(trailing.end),
            TokenKind::Boundary(Bound::Comma) => {
                self.is_digit_group(end + 1).then_some(Why::AdjacentNumbers)
            }
            TokenKind::Number(_) => Some(Why::AdjacentNumbers),
            TokenKind::Open => Some(Why::Ambiguous),
            TokenKind::Word(_)
            | TokenKind::Op(_)
            | TokenKind::Close
            | TokenKind::Percent
            | TokenKind::Currency
            | TokenKind::Relation(_)
            | TokenKind::Variable { .. }
            | TokenKind::Broken(_)
            | TokenKind::Boundary(_) => None,
        }
    }

    /// A question mark at token `at`: `Is 3 + 4 = 8?`
    fn is_asked(&self, at: usize) -> bool {
        matches!(self.lexed.kind(at), Some(TokenKind::Boundary(Bound::Mark)))
            && self.lexed.text_of(at) == "?"
    }

    /// Returns whether the words from token `start` on turn an amount round: `5 degrees below`.
    fn has_direction(&self, start: usize) -> bool {
        (start..start + MAX_WORDS_OF_QUANTITY)
            .map_while(|at| match self.lexed.kind(at) {
                Some(TokenKind::Word(word)) => Some(word),
                Some(_) | None => None,
            })
            .any(|word| word == WordClass::Direction)
    }

    /// Finds `2 hours 30`, `2 hours and 30`, with the words up to token `end`.
    fn goes_on_in_smaller_units(&self, end: usize) -> Option<Why> {
        let joined = usize::from(matches!(
            self.lexed.kind(end),
            Some(TokenKind::Word(WordClass::Stop) | TokenKind::Boundary(Bound::Comma))
        ));
        let number = self.lexed.kind(end + joined);
        matches!(number, Some(TokenKind::Number(_))).then_some(Why::Units)
    }
}
