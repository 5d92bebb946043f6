//! Words between numbers and operators: `3 hours * $10/hour`.

use super::{Parser, operator_at, starts_number, starts_operand};
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Lexed, Op, Relation, TokenKind, WordClass};

/// Words that may stand between an operand and the operator or equality sign after it.
const MAX_WORDS: usize = 6;
/// Words that may stand between a plain number and an equality sign, or before the word `is`.
const MAX_WORDS_AFTER_NUMBER: usize = 2;

/// A unit phrase.
struct Phrase {
    /// Token after it.
    end: usize,
    n_words: usize,
    /// The number that it may change.
    doubt: Option<Why>,
    /// A name, or a word for a result, stands in it: `total`, `Tuesday`.
    names_result: bool,
}

impl Parser<'_, '_, '_> {
    /// Passes over the unit words that start here, if something follows that makes them unit words.
    pub(super) fn unit_phrase(&mut self) -> bool {
        let phrase = self.look_at_phrase();
        let follows = self.lexed.kind(phrase.end);
        let goes_on = operator_at(self.lexed, phrase.end).is_some()
            || (follows == Some(TokenKind::Close) && self.depth > 0);
        let ends = self.depth == 0 && self.may_end_with(&phrase, follows);
        if phrase.n_words == 0 || !(goes_on || ends) {
            return false;
        }
        if let Some(why) = phrase.doubt {
            self.traits.doubt(why);
        }
        self.record_units(phrase.end);
        self.complete = ends;
        goes_on
    }

    /// Returns whether an equality sign follows the phrase and makes its words unit words.
    fn may_end_with(&mut self, phrase: &Phrase, follows: Option<TokenKind>) -> bool {
        let Some(TokenKind::Relation(relation)) = follows else {
            return false;
        };
        let plain = relation == Relation::Is || self.n_operators == 0;
        if plain && (phrase.n_words > MAX_WORDS_AFTER_NUMBER || phrase.names_result) {
            return false;
        }
        if phrase.n_words > 1 || phrase.names_result {
            self.traits.doubt(Why::Words);
        }
        true
    }

    fn look_at_phrase(&self) -> Phrase {
        let mut phrase = Phrase { end: self.at, n_words: 0, doubt: None, names_result: false };
        while phrase.n_words < MAX_WORDS {
            let slash = usize::from(self.lexed.kind(phrase.end) == Some(TokenKind::Op(Op::Div)));
            let at = phrase.end + slash;
            let Some(TokenKind::Word(word)) = self.lexed.kind(at) else {
                break;
            };
            let of_first = word == WordClass::Of && phrase.n_words == 0;
            if !self.joins(word, at) || (of_first && starts_operand(self.lexed, at + 1)) {
                break;
            }
            let later = phrase.n_words > 0;
            phrase.n_words += 1;
            phrase.end = at + 1 + self.unit_power(at + 1);
            phrase.doubt = phrase.doubt.or(doubt_of(word, of_first));
            phrase.names_result |= word == WordClass::Label || (later && self.is_capitalised(at));
        }
        phrase
    }

    /// Returns whether `word` at token `at` may stand in a unit phrase.
    fn joins(&self, word: WordClass, at: usize) -> bool {
        match word {
            WordClass::Plain
            | WordClass::Article
            | WordClass::Measure
            | WordClass::Scale
            | WordClass::Comparison
            | WordClass::Label
            | WordClass::Of
            | WordClass::Per
            | WordClass::Preposition => true,
            WordClass::Operation(_) => !starts_number(self.lexed, at + 1),
            WordClass::Approximate
            | WordClass::Modifier
            | WordClass::Direction
            | WordClass::Function
            | WordClass::Caution
            | WordClass::Stop => false,
        }
    }

    /// Returns the tokens of the `^2` in `cm^2`.
    fn unit_power(&self, at: usize) -> usize {
        let raised = self.lexed.kind(at) == Some(TokenKind::Op(Op::Pow))
            && self.lexed.is_attached(at)
            && matches!(self.lexed.kind(at + 1), Some(TokenKind::Number(_)));
        2 * usize::from(raised)
    }

    fn is_capitalised(&self, at: usize) -> bool {
        let first = self.lexed.text_of(at).chars().next();
        first.is_some_and(char::is_uppercase)
    }

    /// Moves past the phrase and gives its unit words to the last term.
    fn record_units(&mut self, end: usize) {
        let start = self.out.units.len();
        for at in self.at..end {
            if let Some(TokenKind::Word(WordClass::Plain | WordClass::Measure | WordClass::Scale)) =
                self.lexed.kind(at)
            {
                self.out.units.push(at);
            }
        }
        let units = start..self.out.units.len();
        if let Some(term) = self.stacks.terms.last_mut()
            && term.units.is_empty()
        {
            term.units = units;
        }
        self.at = end;
    }
}

/// Explains why a phrase with this word may change the number before it.
fn doubt_of(word: WordClass, of_first: bool) -> Option<Why> {
    match word {
        WordClass::Scale => Some(Why::Units),
        WordClass::Comparison => Some(Why::Words),
        WordClass::Of => of_first.then_some(Why::Words),
        WordClass::Plain
        | WordClass::Article
        | WordClass::Measure
        | WordClass::Label
        | WordClass::Operation(_)
        | WordClass::Per
        | WordClass::Preposition
        | WordClass::Approximate
        | WordClass::Modifier
        | WordClass::Direction
        | WordClass::Function
        | WordClass::Caution
        | WordClass::Stop => None,
    }
}

/// Returns whether a fraction less than one, written without spaces, starts at token `at`.
pub(super) fn share_at(lexed: &Lexed<'_>, at: usize) -> bool {
    let value = |index| match lexed.kind(index) {
        Some(TokenKind::Number(_)) => lexed.text_of(index).parse::<u32>().ok(),
        Some(_) | None => None,
    };
    lexed.kind(at + 1) == Some(TokenKind::Op(Op::Div))
        && matches!(lexed.text_of(at + 1), "/" | "\u{2044}")
        && lexed.is_attached(at + 1)
        && lexed.is_attached(at + 2)
        && matches!((value(at), value(at + 2)), (Some(top), Some(bottom)) if top < bottom)
}
