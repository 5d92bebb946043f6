//! From the text of a step to tokens, in one pass over its bytes.
//!
//! Calculator annotations, `<<48/2=24>>`, are left out of the tokens and listed beside them, so
//! that `48/2 = <<48/2=24>>24` reads as the `48/2 = 24` that a person sees.

mod brackets;
mod latex;
mod line;
mod number;
mod unicode;
mod word;

use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Lexed, Op, Relation, Token, TokenKind, WordClass};
use crate::arithmetic::words::Vocabulary;

/// Bytes that an annotation may hold. A longer one is not a calculator's, and the bound keeps the
/// search for its end linear.
const LONGEST_ANNOTATION: usize = 256;

/// Lexes `text` into `out`, whose former content is dropped.
pub(super) fn lex<'a>(text: &'a str, vocabulary: &Vocabulary, out: &mut Lexed<'a>) {
    out.restart(text);
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        spaced: true,
        vocabulary,
        braces: Vec::new(),
        bold: false,
        out,
    };
    lexer.line_start();
    while let Some(&byte) = lexer.bytes.get(lexer.at) {
        lexer.next(byte);
    }
    brackets::settle(&mut out.tokens);
}

/// The construct that an open brace began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Brace {
    Group,
    Numerator,
    Denominator,
}

struct Lexer<'a, 'o> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// White space was passed since the last token.
    spaced: bool,
    vocabulary: &'o Vocabulary,
    braces: Vec<Brace>,
    /// A `**` opened bold type.
    bold: bool,
    out: &'o mut Lexed<'a>,
}

impl Lexer<'_, '_> {
    /// Takes one token, or text between tokens. Always advances.
    fn next(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' => self.skip(1),
            b'`' => self.at += 1,
            b'\n' => self.newline(),
            b'0'..=b'9' => self.number(),
            b'.' => self.point(),
            b'a'..=b'z' | b'A'..=b'Z' => self.word(),
            b'*' => self.star(),
            b'+' => self.push(1, TokenKind::Op(Op::Add)),
            b'-' => self.dash(),
            b'/' => self.slash(),
            b'^' => self.push(1, TokenKind::Op(Op::Pow)),
            b'=' => self.equals(),
            b'<' | b'>' => self.angle(byte),
            b'~' => self.tilde(),
            b'%' => self.push(1, TokenKind::Percent),
            b'$' => self.push(1, TokenKind::Currency),
            b'(' | b'[' => self.push(1, TokenKind::Open),
            b')' | b']' => self.push(1, TokenKind::Close),
            b'{' => self.open_brace(),
            b'}' => self.close_brace(),
            b'\\' => self.command(),
            b'!' => self.exclamation(),
            b'#' => self.hash(),
            b'@' | b'_' | b'|' => self.push(1, TokenKind::Broken(Why::Function)),
            b'\'' => self.prime(1),
            b'&' => self.ampersand(),
            b',' => self.push(1, TokenKind::Boundary(Bound::Comma)),
            0..=0x7F => self.push(1, TokenKind::Boundary(Bound::Mark)),
            0x80..=0xFF => self.unicode(),
        }
    }

    /// Adds a token of `len` bytes that starts here.
    fn push(&mut self, len: usize, kind: TokenKind) {
        let (start, end) = (self.at, self.at + len);
        self.out.tokens.push(Token { kind, start, end, spaced: self.spaced });
        self.spaced = false;
        self.at = end;
    }

    /// Passes `len` bytes that separate tokens.
    fn skip(&mut self, len: usize) {
        self.at += len;
        self.spaced = true;
    }

    /// Returns the byte `ahead` places on.
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn peek_is_digit(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Returns the first byte from `ahead` on that is not a blank; `\n` is not one.
    fn peek_past_blanks(&self, ahead: usize) -> Option<u8> {
        let rest = self.bytes.get(self.at + ahead..)?;
        rest.iter()
            .copied()
            .take(LONGEST_ANNOTATION)
            .find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
    }

    /// Returns the last token, unless there is none.
    fn last(&self) -> Option<TokenKind> {
        self.out.tokens.last().map(|token| token.kind)
    }

    /// Returns whether an operand may end right before this place.
    fn after_operand(&self) -> bool {
        matches!(
            self.last(),
            Some(
                TokenKind::Number(_)
                    | TokenKind::Percent
                    | TokenKind::Close
                    | TokenKind::Variable { .. }
                    | TokenKind::Broken(_)
            )
        )
    }

    /// Lexes `**`: a power between two operands and bold type elsewhere.
    fn star(&mut self) {
        if self.peek(1) != Some(b'*') {
            return self.push(1, TokenKind::Op(Op::Mul));
        }
        let before = self.spaced;
        let after = matches!(self.peek(2), Some(b' ' | b'\t'));
        let operand_follows = matches!(
            self.peek_past_blanks(2),
            Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'(' | b'-' | b'.' | b'$')
        );
        if self.after_operand() && !self.bold && before == after && operand_follows {
            return self.push(2, TokenKind::Op(Op::Pow));
        }
        self.bold = !self.bold;
        self.at += 2;
    }

    fn dash(&mut self) {
        let run = self.bytes[self.at..].iter().take_while(|byte| **byte == b'-').count();
        let blank_after = matches!(self.peek(run), Some(b' ' | b'\t' | b'\n') | None);
        match run {
            1 if self.peek(1) == Some(b'>') => self.push(2, TokenKind::Boundary(Bound::Mark)),
            1 => self.push(1, TokenKind::Op(Op::Sub)),
            2 if !self.spaced && !blank_after => self.push(1, TokenKind::Op(Op::Sub)),
            _ => self.push(run, TokenKind::Boundary(Bound::Mark)),
        }
    }

    fn slash(&mut self) {
        match self.peek(1) {
            Some(b'/') => self.push(2, TokenKind::Broken(Why::Syntax)),
            _ => self.push(1, TokenKind::Op(Op::Div)),
        }
    }

    /// Lexes signs of equality: `=` and `==` state one; `=>` and `===` do not.
    fn equals(&mut self) {
        let run = self.bytes[self.at..].iter().take_while(|byte| **byte == b'=').count();
        match (run, self.peek(run)) {
            (1, Some(b'>')) => self.push(2, TokenKind::Boundary(Bound::Mark)),
            (1, Some(b'~')) => self.push(2, TokenKind::Relation(Relation::Approx)),
            (1 | 2, _) => self.push(run, TokenKind::Relation(Relation::Equals)),
            _ => self.push(run, TokenKind::Boundary(Bound::Mark)),
        }
    }

    /// An annotation, or a comparison.
    fn angle(&mut self, byte: u8) {
        if byte == b'<' && self.peek(1) == Some(b'<') && self.annotation() {
            return;
        }
        let len = if self.peek(1) == Some(b'=') { 2 } else { 1 };
        self.push(len, TokenKind::Boundary(Bound::Mark));
    }

    /// Leaves out the annotation that starts here, if one does.
    fn annotation(&mut self) -> bool {
        let start = self.at + 2;
        let limit = self.bytes.len().min(start + LONGEST_ANNOTATION);
        let window = &self.bytes[start..limit];
        let Some(end) = memchr::memchr3(b'<', b'>', b'\n', window) else {
            return false;
        };
        if !window[end..].starts_with(b">>") {
            return false;
        }
        self.out.annotations.push(start..start + end);
        self.skip(end + 4);
        true
    }

    fn tilde(&mut self) {
        if self.peek(1) == Some(b'=') {
            return self.push(2, TokenKind::Relation(Relation::Approx));
        }
        self.out.approximate = true;
        self.push(1, TokenKind::Word(WordClass::Approximate));
    }

    /// Lexes `!`: `5! = 120` is a factorial, `so 5!` is excitement, `!=` denies an equality.
    fn exclamation(&mut self) {
        let attached = self.after_operand() && !self.spaced;
        let goes_on = matches!(
            self.peek_past_blanks(1),
            Some(b'=' | b'+' | b'-' | b'*' | b'/' | b')' | b'^')
        );
        if attached && goes_on {
            return self.push(1, TokenKind::Broken(Why::Function));
        }
        let len = if self.peek(1) == Some(b'=') { 2 } else { 1 };
        self.push(len, TokenKind::Boundary(Bound::Mark));
    }

    /// Lexes an apostrophe: `f'` is a derivative, `6'` a length; others are quotation marks.
    fn prime(&mut self, len: usize) {
        let attached = self.after_operand() && !self.spaced;
        let kind = if attached {
            TokenKind::Broken(Why::Function)
        } else {
            TokenKind::Boundary(Bound::Mark)
        };
        self.push(len, kind);
    }

    /// Lexes `#`: `#3` is a name.
    fn hash(&mut self) {
        let digits =
            self.bytes[self.at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        match digits {
            0 => self.push(1, TokenKind::Boundary(Bound::Mark)),
            _ => self.push(1 + digits, TokenKind::Broken(Why::Words)),
        }
    }

    /// Skips `&`, which aligns equations in LaTeX: `3 + 4 &= 7`.
    fn ampersand(&mut self) {
        match self.peek(1) {
            Some(b'=' | b'\\') => self.skip(1),
            _ => self.push(1, TokenKind::Boundary(Bound::Mark)),
        }
    }
}
