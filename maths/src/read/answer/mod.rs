//! Answers from tokens: lists, subjects, relations, and the values between them.
//!
//! Every function takes a span of tokens and reads all of it. Spans are split at tokens that
//! stand in no bracket, and a bracket is skipped in one step, so that reading costs time in
//! proportion to the text and to how deep answers nest.

mod bracket;
mod calls;
mod congruence;
mod described;
mod environment;
mod joined;
mod list;
mod matrix;
mod mixed;
mod named;
mod numeral;
mod quantity;
mod region;
mod relation;
mod remark;
mod subject;
mod text;
mod worded;

use std::ops::Range;

use crate::answer::{Answer, AnswerForm, Note, Relation, Unread, Value};
use crate::expr::{Expr, Workspace};

use self::region::inside;
use super::Dialect;
use super::explode::exploded;
use super::parse::{self, ParseResult, Setting};
use super::token::{Bracket, Lexeme, Token};

pub use self::named::part_names;
pub(super) use self::numeral::prefixed;
pub use self::remark::{is_of_integers, says_integers};
pub(super) use self::text::{bare, is_date_like, prose};

/// A span of tokens.
type LexemeRange = Range<usize>;

/// Fuel for what every expression costs, beside that of its text.
const EXPRESSION: u64 = 6;

/// Answers may nest so deep: sets of tuples of values.
const MAX_NESTING: u16 = 12;

/// The reader of answers.
pub(super) struct AnswerReader<'t, 'w, 'f> {
    items: &'t [Lexeme<'t>],
    ws: &'w mut Workspace<'f>,
    setting: Setting,
    notes: Vec<Note>,
    nesting: u16,
    /// The second of two signs `\pm` that are independent.
    second_sign: Option<bool>,
}

/// Returns the answer that all of `items` state.
pub(super) fn read_answer_items(
    items: &[Lexeme<'_>],
    setting: Setting,
    ws: &mut Workspace<'_>,
) -> ParseResult<Answer> {
    let mut reader =
        AnswerReader { items, ws, setting, notes: Vec::new(), nesting: 0, second_sign: None };
    let all = 0..reader.declaration_of_constants(&(0..items.len()));
    if let Some(mut family) = reader.family_in_words(&all)? {
        family.notes = reader.notes;
        return Ok(family);
    }
    let mut answer = match reader.whole(all.clone()) {
        Err(Unread::NotMaths) => {
            reader.nesting = 0;
            reader.notes.clear();
            reader.without_remarks(&all)?
        }
        read => read?,
    };
    answer.notes = reader.notes;
    answer.notes.dedup();
    Ok(answer)
}

impl<'t> AnswerReader<'t, '_, '_> {
    /// Reads an answer with all that may be part of one.
    fn whole(&mut self, span: LexemeRange) -> ParseResult<Answer> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Unread::TooCostly);
        }
        let span = self.peeled(span);
        let answer = self.dispatched(span);
        self.nesting -= 1;
        answer
    }

    fn dispatched(&mut self, span: LexemeRange) -> ParseResult<Answer> {
        if span.is_empty() {
            return Err(Unread::NotMaths);
        }
        if let Some(answer) = self.divisibility(&span)? {
            return Ok(answer);
        }
        if let Some(answer) = self.labelled_parts(&span)? {
            return Ok(answer);
        }
        if let Some(answer) = self.described(&span)? {
            return Ok(answer);
        }
        if let Some(form) = self.words(span.clone())? {
            return Ok(answer_of(form));
        }
        if self.has(&span, |token| matches!(token, Token::Ellipsis)) {
            if let Some(value) = self.repeating(&span)? {
                return Ok(answer_of(AnswerForm::Value(value)));
            }
            if let Some(result) = self.result_of_gap(&span) {
                return self.whole(result);
            }
            let is_set = matches!(self.enclosure(&span), Some(Bracket::Brace | Bracket::Group));
            let inner = if is_set { inside(&span) } else { span.clone() };
            if let Some(members) = self.written_out(&inner)? {
                let form = if is_set { AnswerForm::Set } else { AnswerForm::List };
                return Ok(answer_of(form(members)));
            }
            return Ok(answer_of(self.sequence(span)?));
        }
        if let Some(answer) = self.congruence(span.clone())? {
            return Ok(answer);
        }
        if let Some(value) = self.mixed(&span)? {
            return Ok(answer_of(AnswerForm::Value(value)));
        }
        match self.members(span.clone())? {
            Some(answer) => Ok(answer),
            None => self.member(span),
        }
    }

    /// Returns what stands behind the last equals sign of `1 + 2 + … + n = n(n+1)/2`, or of a name that
    /// equals a sequence.
    fn result_of_gap(&self, span: &LexemeRange) -> Option<LexemeRange> {
        let is_equal = |token| token == Token::Relation(Relation::Equal);
        let sides = self.split(span, is_equal);
        let [first, .., last] = sides.as_slice() else {
            return None;
        };
        let is_gap = |side: &LexemeRange| self.has(side, |token| token == Token::Ellipsis);
        let is_computed = sides[..sides.len() - 1].iter().any(is_gap) && !is_gap(last);
        let is_named = sides.len() == 2 && !is_gap(first) && !self.has_top(first, is_separator);
        (is_computed || is_named && self.enclosure(last).is_some()).then(|| last.clone())
    }

    /// Reads an answer that words put together: parts with names, cases, all numbers but some, a yes
    /// with its reason.
    fn described(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        if !self.has_top(span, |token| matches!(token, Token::Word { .. } | Token::Function(_))) {
            return Ok(None);
        }
        if let Some(form) = self.verdict_with_reason(span) {
            return Ok(Some(answer_of(form)));
        }
        if let Some(answer) = self.all_but(span)? {
            return Ok(Some(answer));
        }
        if let Some(form) = self.cases_in_words(span)? {
            return Ok(Some(answer_of(form)));
        }
        if let Some(answer) = self.chance(span)? {
            return Ok(Some(answer));
        }
        // Letters alone describe no region.
        let has_words = self.has(span, |token| token.word().is_some_and(|word| word.len() > 1));
        if has_words && let Some(answer) = self.region_in_words(span)? {
            return Ok(Some(answer));
        }
        self.named_parts(span)
    }

    /// Returns `span` without braces around all of it, which are not seen.
    fn peeled(&self, mut span: LexemeRange) -> LexemeRange {
        // In plain text braces are those of a set.
        if self.setting.dialect == Dialect::Plain {
            return span;
        }
        while self.is_enclosed(&span, Bracket::Group)
            && !self.has_top(&(span.start + 1..span.end - 1), is_separator)
            && !self.has_top(&(span.start + 1..span.end - 1), |t| t == Token::Choose)
        {
            span = span.start + 1..span.end - 1;
        }
        span
    }

    /// Returns whether one pair of brackets, opened by `bracket`, encloses all of `span`.
    fn is_enclosed(&self, span: &LexemeRange, bracket: Bracket) -> bool {
        self.enclosure(span) == Some(bracket)
    }

    /// Returns the bracket that opens a pair around all of `span`.
    fn enclosure(&self, span: &LexemeRange) -> Option<Bracket> {
        let first = self.items.get(span.start).filter(|_| span.len() >= 2)?;
        match first.token {
            Token::Open(bracket) if first.mate + 1 == span.end => Some(bracket),
            _ => None,
        }
    }

    fn token(&self, at: usize) -> Token<'t> {
        self.items[at].token
    }

    /// Returns the tokens of `span`.
    fn slice(&self, span: &LexemeRange) -> &'t [Lexeme<'t>] {
        &self.items[span.clone()]
    }

    /// Returns whether any token of `span` is such.
    fn has(&self, span: &LexemeRange, is_such: impl Fn(Token<'t>) -> bool) -> bool {
        self.slice(span).iter().any(|item| is_such(item.token))
    }

    /// Returns whether any token of `span` that stands in no bracket is such.
    fn has_top(&self, span: &LexemeRange, is_such: impl Fn(Token<'t>) -> bool) -> bool {
        self.find_top(span, is_such).is_some()
    }

    /// Returns the first token of `span` that stands in no bracket and is such.
    fn find_top(&self, span: &LexemeRange, is_such: impl Fn(Token<'t>) -> bool) -> Option<usize> {
        self.tops(span).find(|at| is_such(self.token(*at)))
    }

    /// Returns the places in `span` that stand in no bracket, brackets themselves by their opening.
    fn tops(&self, span: &LexemeRange) -> impl Iterator<Item = usize> + use<'t> {
        let items = self.items;
        let end = span.end;
        let mut next = span.start;
        std::iter::from_fn(move || {
            let at = next;
            if at >= end {
                return None;
            }
            next = items[at].mate.max(at) + 1;
            Some(at)
        })
    }

    /// Returns the parts of `span` between top-level tokens that are such.
    fn split(&self, span: &LexemeRange, is_such: impl Fn(Token<'t>) -> bool) -> Vec<LexemeRange> {
        let mut parts = Vec::new();
        let mut start = span.start;
        for at in self.tops(span) {
            if is_such(self.token(at)) {
                parts.push(start..at);
                start = at + 1;
            }
        }
        parts.push(start..span.end);
        parts
    }

    /// Reads the expression that all of `span` states.
    fn expression(&mut self, span: &LexemeRange) -> ParseResult<Expr> {
        if span.is_empty() {
            return Err(Unread::NotMaths);
        }
        self.ws.fuel.spend(EXPRESSION)?;
        if let [Lexeme { token: Token::Number(literal), .. }] = self.slice(span) {
            let value = literal.value(self.ws.fuel)?;
            return Ok(self.ws.number(value)?);
        }
        let mut items = exploded(self.slice(span))?;
        if let Some(is_plus) = self.second_sign
            && let Some(last) = items.iter().rposition(|item| item.token == Token::PlusMinus)
        {
            items[last].token = if is_plus { Token::Plus } else { Token::Minus };
        }
        parse::expression(&items, self.setting, self.ws, &mut self.notes)
    }

    /// Reads [`Self::expression`], or `None` if there is none.
    fn try_expression(&mut self, span: &LexemeRange) -> ParseResult<Option<Expr>> {
        let notes = self.notes.len();
        match self.expression(span) {
            Ok(expr) => Ok(Some(expr)),
            Err(Unread::NotMaths) => {
                self.notes.truncate(notes);
                Ok(None)
            }
            Err(error @ (Unread::TooCostly | Unread::TooLong)) => Err(error),
        }
    }

    /// Reads what stands between relations and separators.
    fn value(&mut self, span: LexemeRange) -> ParseResult<AnswerForm> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Unread::TooCostly);
        }
        let span = self.peeled(span);
        let form = self.typed(span);
        self.nesting -= 1;
        form
    }

    fn typed(&mut self, span: LexemeRange) -> ParseResult<AnswerForm> {
        if span.is_empty() {
            return Err(Unread::NotMaths);
        }
        if let Some(form) = self.words(span.clone())? {
            return Ok(form);
        }
        if let Some(form) = self.plain_call(&span)? {
            return Ok(form);
        }
        if let Some(coordinates) = self.point(&span) {
            return self.typed(coordinates);
        }
        if self.has_top(&span, is_set_operator) || self.is_named_set(&span) {
            return Ok(AnswerForm::Region(self.region(span)?));
        }
        if let Some(bracket) = self.enclosure(&span)
            && let Some(form) = self.enclosed(&span, bracket)?
        {
            return Ok(form);
        }
        if self.setting.plus_minus.is_none() && self.has(&span, is_plus_minus) {
            return self.both_signs(span);
        }
        if self.has_matrix(&span) || self.is_vector_sum(&span) {
            return self.matrix_value(&span);
        }
        if self.has_top(&span, |token| token == Token::Colon) {
            return self.ratio(&span);
        }
        if let Some(value) = self.mixed(&span)? {
            return Ok(AnswerForm::Value(value));
        }
        if let Some(numeral) = self.numeral(&span) {
            return Ok(AnswerForm::Numeral(numeral));
        }
        self.quantity(span).map(AnswerForm::Value)
    }

    /// Returns the coordinates of a point with its name, `F(2, 0)`. `P` and `C` count, unless a coordinate has a sign,
    /// `N` and `B` are distributions.
    fn point(&self, span: &LexemeRange) -> Option<LexemeRange> {
        let [name, next, ..] = self.slice(span) else {
            return None;
        };
        let opens = |token| matches!(token, Token::Open(Bracket::Round) | Token::Comma);
        let mut pairs = self.slice(span).windows(2);
        let has_sign = pairs.any(|two| opens(two[0].token) && two[1].token == Token::Minus);
        let is_name = name.token.word().is_some_and(|letter| {
            letter.len() == 1
                && letter.bytes().all(|b| b.is_ascii_uppercase())
                && (!matches!(letter, "P" | "C" | "N" | "B" | "U")
                    || matches!(letter, "P" | "C") && has_sign)
        });
        let open = span.start + 1 + usize::from(next.token == Token::Prime);
        let rest = open..span.end;
        let is_point = is_name
            && self.is_enclosed(&rest, Bracket::Round)
            && self.has_top(&inside(&rest), |token| matches!(token, Token::Comma | Token::Mid));
        is_point.then_some(rest)
    }

    /// Reads `\pm`: both readings, plus first.
    fn both_signs(&mut self, span: LexemeRange) -> ParseResult<AnswerForm> {
        self.notes.push(Note::PlusMinusExpanded);
        // `\pm a \pm b` has four values; `\pm a \mp b` two.
        let signs = self.tops(&span).filter(|at| self.token(*at) == Token::PlusMinus).count();
        let is_free = signs == 2 && !self.has(&span, |token| token == Token::MinusPlus);
        let seconds: &[Option<bool>] = if is_free { &[Some(true), Some(false)] } else { &[None] };
        let mut members = Vec::with_capacity(2 * seconds.len());
        for is_plus in [true, false] {
            for second in seconds {
                self.setting.plus_minus = Some(is_plus);
                self.second_sign = *second;
                let form = self.typed(span.clone());
                self.setting.plus_minus = None;
                self.second_sign = None;
                members.push(answer_of(form?));
            }
        }
        Ok(AnswerForm::List(members))
    }

    /// Reads `a : b : c`.
    fn ratio(&mut self, span: &LexemeRange) -> ParseResult<AnswerForm> {
        let parts = self.split(span, |token| token == Token::Colon);
        let terms: ParseResult<Vec<Expr>> =
            parts.iter().map(|part| self.expression(part)).collect();
        Ok(AnswerForm::Ratio(terms?))
    }
}

/// Returns an answer without subjects.
fn answer_of(form: AnswerForm) -> Answer {
    Answer { subjects: Vec::new(), form, notes: Vec::new() }
}

/// Returns a value with nothing around it.
fn bare_value(expr: Expr) -> Value {
    Value { expr, last_digit: None, is_percent: false, unit: None, is_reduced: true }
}

fn is_separator(token: Token<'_>) -> bool {
    matches!(token, Token::Comma | Token::Semicolon)
}

fn is_set_operator(token: Token<'_>) -> bool {
    matches!(token, Token::Union | Token::Intersection | Token::Without)
        || token.word() == Some("U")
}

fn is_plus_minus(token: Token<'_>) -> bool {
    matches!(token, Token::PlusMinus | Token::MinusPlus)
}
