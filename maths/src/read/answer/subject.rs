//! Subjects of answers: `x`, `f(x)`, `(p, q)`, `AB`, `Area`.

use dashu::base::Sign;

use crate::answer::{Subject, Unread};
use crate::expr::{Binder, Constant, Expr, Function, Node, Workspace};
use crate::read::names;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Gap, Style, Token};

use super::{AnswerReader, LexemeRange};

impl AnswerReader<'_, '_, '_> {
    /// Reads the subject that all of `span` states, if it is one.
    pub(super) fn subject(&mut self, span: &LexemeRange) -> ParseResult<Option<Subject>> {
        let span = &self.peeled(span.clone());
        if span.is_empty() {
            return Ok(None);
        }
        if let Some(letter) = self.letter(span)? {
            return Ok(Some(Subject::Expr(letter)));
        }
        if let Some(words) = self.subject_words(span) {
            return Ok(Some(Subject::Text(words)));
        }
        if let Some(applied) = self.applied_letter(span)? {
            return Ok(Some(Subject::Expr(applied)));
        }
        let is_tuple = self.is_enclosed(span, Bracket::Round);
        let inner = if is_tuple { span.start + 1..span.end - 1 } else { span.clone() };
        let separator = if is_tuple { Token::Comma } else { Token::Colon };
        if self.has_top(&inner, |token| token == separator) {
            let mut several = Vec::new();
            for part in self.split(&inner, |token| token == separator) {
                match self.subject(&part)? {
                    Some(Subject::Expr(expr)) => several.push(expr),
                    Some(Subject::Several(_) | Subject::Text(_)) | None => return Ok(None),
                }
            }
            return Ok(Some(Subject::Several(several)));
        }
        let Some(expr) = self.try_expression(span)? else {
            return Ok(None);
        };
        let is_subject = match self.ws.node(expr) {
            Node::Symbol(_) | Node::Apply(..) => true,
            // `dy/dx` of an unknown function.
            Node::Bound(bound) => {
                let is_unknown = matches!(self.ws.node(bound.body), Node::Symbol(_));
                matches!(bound.binder, Binder::Derivative(_)) && is_unknown
            }
            Node::Product(_) => is_figure(expr, self.ws),
            // The length of a segment or of a vector.
            Node::Call(Function::Abs, arguments) => is_figure(arguments[0], self.ws),
            _ => false,
        };
        Ok(is_subject.then_some(Subject::Expr(expr)))
    }

    /// Reads a single letter, which is a variable here even where elsewhere it is a constant, or a
    /// letter with digits that touch it.
    fn letter(&mut self, span: &LexemeRange) -> ParseResult<Option<Expr>> {
        let is_letter = |text: &str| text.len() == 1 && text.is_ascii();
        match self.slice(span) {
            [item] => match item.token {
                Token::Word { text, .. } if is_letter(text) => Ok(Some(self.ws.symbol(text)?)),
                _ => Ok(None),
            },
            // The optimal `P^*`.
            [item, caret, star] if caret.token == Token::Caret && star.token == Token::Times => {
                match item.token {
                    Token::Word { text, .. } if is_letter(text) => Ok(Some(self.ws.symbol(text)?)),
                    _ => Ok(None),
                }
            }
            [item, digits] => match (item.token, digits.token, digits.gap) {
                (Token::Word { text, .. }, Token::Number(literal), Gap::None)
                    if is_letter(text) && literal.is_digits() =>
                {
                    let spelling = format!("{text}_{}", literal.whole);
                    Ok(Some(self.ws.symbol(&spelling)?))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Returns `Area`, `the area of the triangle`.
    fn subject_words(&self, span: &LexemeRange) -> Option<String> {
        let mut text = String::new();
        let mut is_word = false;
        for item in self.slice(span) {
            let Token::Word { text: word, style } = item.token else {
                return None;
            };
            if names::function(word).is_some() || names::greek(word).is_some() || word == "pi" {
                return None;
            }
            let is_marked = style == Style::Upright && word.len() > 1;
            let has_lower = word.bytes().any(|b| b.is_ascii_lowercase());
            is_word |= (is_marked || word.len() > 3) && has_lower || !word.is_ascii();
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        is_word.then_some(text)
    }

    /// Reads `P(x)`, `T(n)`, `W(1)`: on the left of an equality any letter may be a function.
    fn applied_letter(&mut self, span: &LexemeRange) -> ParseResult<Option<Expr>> {
        let last = &self.items[span.end - 1];
        let open = last.mate;
        if last.token != Token::Close(Bracket::Round) || open <= span.start {
            return Ok(None);
        }
        let first = self.token(span.start);
        let letter = first.word().filter(|text| open == span.start + 1 && text.len() == 1);
        let name = match letter {
            Some(letter) => self.ws.name(letter),
            // `\varphi(t)`, `\hat f(k)`, `f_Z(z)`
            None => match self.try_expression(&(span.start..open))?.map(|e| self.ws.node(e)) {
                Some(Node::Symbol(name)) => *name,
                Some(_) | None => return Ok(None),
            },
        };
        let mut arguments = Vec::new();
        let inner = open + 1..span.end - 1;
        for part in self.split(&inner, |token| token == Token::Comma) {
            let is_same = self.has(&part, |token| token == first);
            match self.try_expression(&part)? {
                Some(argument) if !is_same => arguments.push(argument),
                Some(_) | None => return Ok(None),
            }
        }
        let is_name =
            |node: &Node| matches!(node, Node::Symbol(_) | Node::Number(_) | Node::Constant(_));
        // `\chi(T^2)`
        let is_simple = arguments.iter().all(|argument| match self.ws.node(*argument) {
            Node::Power(base, exponent) => {
                is_name(self.ws.node(*base)) && is_name(self.ws.node(*exponent))
            }
            node => is_name(node),
        });
        if !is_simple || arguments.is_empty() {
            return Ok(None);
        }
        let applied = self.ws.intern(Node::Apply(name, arguments.into()));
        Ok(Some(applied.map_err(Unread::from)?))
    }
}

/// Returns whether `expr` names parts of a figure: a product of capital letters, or a quotient of
/// such.
fn is_figure(expr: Expr, ws: &Workspace<'_>) -> bool {
    match ws.node(expr) {
        Node::Symbol(name) => {
            let spelling = ws.spelling(*name);
            spelling.starts_with(|c: char| c.is_ascii_uppercase())
                || matches!(spelling, "angle" | "triangle")
                || spelling.starts_with("bar{")
        }
        Node::Constant(Constant::E | Constant::I) => true,
        Node::Product(factors) => factors.iter().all(|factor| is_figure(*factor, ws)),
        Node::Power(base, exponent) => {
            let is_inverse = matches!(ws.node(*exponent), Node::Number(value)
                if value.is_int() && value.numerator().sign() == Sign::Negative);
            is_inverse && is_figure(*base, ws)
        }
        _ => false,
    }
}
