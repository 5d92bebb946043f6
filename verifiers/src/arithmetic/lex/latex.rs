//! The LaTeX that models write around plain arithmetic.

use super::{Brace, Lexer};
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Op, Relation, TokenKind};

/// Bytes that a `\text{…}` may hold to be passed over as a unit.
const LONGEST_TEXT: usize = 64;

impl Lexer<'_, '_> {
    /// The command that starts at this backslash.
    pub(super) fn command(&mut self) {
        let rest = &self.bytes[self.at + 1..];
        let letters = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        if letters == 0 {
            return self.control_symbol();
        }
        let len = 1 + letters;
        match &rest[..letters] {
            b"times" | b"cdot" | b"ast" => self.push(len, TokenKind::Op(Op::Mul)),
            b"div" => self.push(len, TokenKind::Op(Op::Div)),
            b"approx" => self.push(len, TokenKind::Relation(Relation::Approx)),
            b"frac" | b"dfrac" | b"tfrac" => self.fraction(len),
            b"left" | b"right" | b"quad" | b"qquad" | b"displaystyle" | b"boxed" => self.skip(len),
            b"begin" | b"end" | b"implies" | b"iff" | b"to" | b"therefore" | b"Rightarrow"
            | b"rightarrow" | b"Leftrightarrow" => {
                self.push(len, TokenKind::Boundary(Bound::Mark));
            }
            b"text" | b"mathrm" | b"textbf" | b"mathbf" => self.named_text(len),
            _ => self.unread(len, Why::Function),
        }
    }

    /// A backslash before something that is not a letter.
    fn control_symbol(&mut self) {
        match self.peek(1) {
            Some(b'%') => self.push(2, TokenKind::Percent),
            Some(b'$') => self.push(2, TokenKind::Currency),
            Some(b',' | b';' | b'!' | b':' | b' ') => self.skip(2),
            Some(b'(' | b')' | b'[' | b']' | b'\\') => {
                self.push(2, TokenKind::Boundary(Bound::Mark));
            }
            _ => self.push(1, TokenKind::Boundary(Bound::Mark)),
        }
    }

    /// Lexes `\frac{a}{b}` as `((a)/(b))`.
    fn fraction(&mut self, len: usize) {
        if self.peek(len) != Some(b'{') {
            return self.unread(len, Why::Function);
        }
        self.push(len, TokenKind::Open);
        self.push(1, TokenKind::Open);
        self.braces.push(Brace::Numerator);
    }

    pub(super) fn open_brace(&mut self) {
        self.braces.push(Brace::Group);
        self.push(1, TokenKind::Open);
    }

    pub(super) fn close_brace(&mut self) {
        self.push(1, TokenKind::Close);
        match self.braces.pop() {
            Some(Brace::Numerator) if self.peek(0) == Some(b'{') => {
                self.push(0, TokenKind::Op(Op::Div));
                self.push(1, TokenKind::Open);
                self.braces.push(Brace::Denominator);
            }
            Some(Brace::Numerator) => self.unread(0, Why::Function),
            Some(Brace::Denominator) => self.push(0, TokenKind::Close),
            Some(Brace::Group) | None => {}
        }
    }

    /// Lexes `\text{ eggs}` as the word `eggs`; with digits or signs inside it is not read.
    fn named_text(&mut self, len: usize) {
        let start = self.at + len + 1;
        let limit = self.bytes.len().min(start + LONGEST_TEXT);
        let window = self.bytes.get(start..limit).unwrap_or_default();
        let end = window.iter().position(|byte| *byte == b'}');
        let (Some(end), Some(b'{')) = (end, self.peek(len)) else {
            return self.unread(len, Why::Function);
        };
        let inside = &window[..end];
        let is_word =
            inside.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'.'));
        let trimmed = inside.trim_ascii();
        if !is_word || trimmed.is_empty() {
            return self.unread(len + 1 + end + 1, Why::Words);
        }
        self.at = start + (inside.len() - inside.trim_ascii_start().len());
        self.spaced = true;
        let class = self.vocabulary.classify(&self.text[self.at..self.at + trimmed.len()]);
        self.push(trimmed.len(), TokenKind::Word(class));
        self.at = start + end + 1;
        self.spaced = true;
    }
}
