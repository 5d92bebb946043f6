//! From the text of a step to its equalities.

use std::ops::{ControlFlow, Range};

use dashu::rational::RBig;

use super::ArithmeticConfig;
use super::expr::Parsed;
use super::find::{self, Stated};
use super::judge::Judge;
use super::lex;
use super::merge::{EvaluatedEquality, merge};
use super::parse::parse;
use super::report::{Equality, EqualityCheck, EqualitySource, Why};
use super::token::Lexed;
use super::words::Vocabulary;
use crate::{Exhausted, Fuel};

/// Reads steps one after the other, with buffers that are used again.
pub(super) struct StepReader<'a, 's> {
    config: &'s ArithmeticConfig,
    vocabulary: &'s Vocabulary,
    fuel: &'s mut Fuel,
    exhausted: bool,
    lexed: Lexed<'a>,
    parsed: Parsed,
    stack: Vec<RBig>,
    prose: Vec<EvaluatedEquality>,
    annotations: Vec<EvaluatedEquality>,
}

impl<'a, 's> StepReader<'a, 's> {
    pub(super) fn new(
        config: &'s ArithmeticConfig,
        vocabulary: &'s Vocabulary,
        fuel: &'s mut Fuel,
    ) -> Self {
        Self {
            config,
            vocabulary,
            fuel,
            exhausted: false,
            lexed: Lexed::default(),
            parsed: Parsed::default(),
            stack: Vec::new(),
            prose: Vec::new(),
            annotations: Vec::new(),
        }
    }

    /// Returns whether the fuel ran out before everything was read.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Returns the equalities that `text` states; `offset` is added to their spans.
    pub(super) fn read(&mut self, text: &'a str, offset: usize) -> Vec<Equality> {
        if !may_state_something(text) {
            return Vec::new();
        }
        self.read_prose(text, offset);
        let annotations = std::mem::take(&mut self.lexed.annotations);
        for inside in &annotations {
            if self.exhausted {
                break;
            }
            self.read_annotation(&text[inside.clone()], offset + inside.start);
        }
        self.lexed.annotations = annotations;
        merge(&mut self.prose, &mut self.annotations)
    }

    fn read_prose(&mut self, text: &'a str, offset: usize) {
        let mut found = std::mem::take(&mut self.prose);
        self.read_text(text, offset, EqualitySource::Prose, &mut found);
        self.prose = found;
    }

    fn read_annotation(&mut self, text: &'a str, offset: usize) {
        let mut found = std::mem::take(&mut self.annotations);
        self.read_text(text, offset, EqualitySource::Annotation, &mut found);
        self.annotations = found;
    }

    /// Fills the buffers from `text`. Both passes are paid for before they run: the first by the
    /// byte, the second by the token.
    fn lex_and_parse(&mut self, text: &'a str) -> Result<(), Exhausted> {
        self.lexed.restart(text);
        self.fuel.spend(1 + text.len() as u64 / 8)?;
        lex::lex(text, self.vocabulary, &mut self.lexed);
        self.fuel.spend(self.lexed.tokens.len() as u64 / 4)?;
        parse(&self.lexed, &mut self.parsed);
        Ok(())
    }

    /// Adds what `text` states to `out`.
    fn read_text(
        &mut self,
        text: &'a str,
        offset: usize,
        source: EqualitySource,
        out: &mut Vec<EvaluatedEquality>,
    ) {
        let whole = offset..offset + text.len();
        if self.lex_and_parse(text).is_err() {
            self.exhausted = true;
            out.push(too_costly(whole, source));
            return;
        }
        let mut judge = Judge {
            lexed: &self.lexed,
            parsed: &self.parsed,
            config: self.config,
            calculator: source == EqualitySource::Annotation,
            stack: &mut self.stack,
            fuel: self.fuel,
        };
        find::find_equalities(&self.lexed, &self.parsed, |stated| {
            let span = span_of(&stated, &self.lexed, &self.parsed);
            let span = offset + span.start..offset + span.end;
            if judge.fuel.spend(2).is_err() {
                out.push(too_costly(span.start..whole.end, source));
                return ControlFlow::Break(());
            }
            out.push(evaluated_equality(&mut judge, &stated, span, source));
            ControlFlow::Continue(())
        });
        // A spend that fails empties the tank, be it here or inside a computation.
        self.exhausted |= self.fuel.left() == 0;
    }
}

/// Returns the bytes from the start of the left side to the end of the right side.
fn span_of(stated: &Stated, lexed: &Lexed<'_>, parsed: &Parsed) -> Range<usize> {
    match stated {
        Stated::Unreadable(span, _) => span.clone(),
        Stated::Pair(pair) => {
            let left = parsed.exprs[pair.left].tokens.start;
            lexed.tokens[left].start..parsed.exprs[pair.right].end
        }
    }
}

fn evaluated_equality(
    judge: &mut Judge<'_, '_>,
    stated: &Stated,
    span: Range<usize>,
    source: EqualitySource,
) -> EvaluatedEquality {
    let (check, values) = match stated {
        Stated::Unreadable(_, why) => (EqualityCheck::Unchecked { why: *why }, None),
        Stated::Pair(pair) => judge.judge(pair),
    };
    EvaluatedEquality { equality: Equality { span, source, check }, values }
}

fn too_costly(span: Range<usize>, source: EqualitySource) -> EvaluatedEquality {
    let why = Why::TooCostly;
    EvaluatedEquality {
        equality: Equality { span, source, check: EqualityCheck::Unchecked { why } },
        values: None,
    }
}

/// Returns whether the text has a digit and something that may state an equality.
fn may_state_something(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit() || !byte.is_ascii())
        && (memchr::memchr(b'=', text.as_bytes()).is_some()
            || [" is ", "equal", "\u{2248}", "\u{2245}", "\u{2243}", "\\approx"]
                .iter()
                .any(|sign| text.contains(sign)))
}
