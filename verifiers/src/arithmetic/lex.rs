//! From the text of a step to tokens, in one pass over its bytes.
//!
//! Calculator annotations, `<<48/2=24>>`, are left out of the tokens and listed beside them, so
//! that `48/2 = <<48/2=24>>24` reads as the `48/2 = 24` that a person sees.

mod latex;
mod line;
mod number;
mod word;

use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Kind, Lexed, Numeral, Op, Relation, Token, Word};
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
    settle_brackets(&mut out.tokens);
}

/// What an open brace began.
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
    /// Takes one token, or what stands between tokens. Always moves on.
    fn next(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' => self.skip(1),
            b'`' => self.at += 1,
            b'\n' => self.newline(),
            b'0'..=b'9' => self.number(),
            b'.' => self.point(),
            b'a'..=b'z' | b'A'..=b'Z' => self.word(),
            b'*' => self.star(),
            b'+' => self.push(1, Kind::Op(Op::Add)),
            b'-' => self.dash(),
            b'/' => self.slash(),
            b'^' => self.push(1, Kind::Op(Op::Pow)),
            b'=' => self.equals(),
            b'<' | b'>' => self.angle(byte),
            b'~' => self.tilde(),
            b'%' => self.push(1, Kind::Percent),
            b'$' => self.push(1, Kind::Currency),
            b'(' | b'[' => self.push(1, Kind::Open),
            b')' | b']' => self.push(1, Kind::Close),
            b'{' => self.open_brace(),
            b'}' => self.close_brace(),
            b'\\' => self.command(),
            b'!' => self.exclamation(),
            b'#' => self.hash(),
            b'@' | b'_' => self.push(1, Kind::Broken(Why::Function)),
            b'&' => self.ampersand(),
            b',' => self.push(1, Kind::Boundary(Bound::Comma)),
            0..=0x7F => self.push(1, Kind::Boundary(Bound::Mark)),
            0x80..=0xFF => self.unicode(),
        }
    }

    /// Adds a token of `len` bytes that starts here.
    fn push(&mut self, len: usize, kind: Kind) {
        let (start, end) = (self.at, self.at + len);
        self.out.tokens.push(Token {
            kind,
            start,
            end,
            spaced: self.spaced,
        });
        self.spaced = false;
        self.at = end;
    }

    /// Passes `len` bytes that separate tokens.
    fn skip(&mut self, len: usize) {
        self.at += len;
        self.spaced = true;
    }

    /// The byte `ahead` places on.
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn peek_is_digit(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|byte| byte.is_ascii_digit())
    }

    /// The first byte from `ahead` on that is not a blank; `\n` is not one.
    fn peek_past_blanks(&self, ahead: usize) -> Option<u8> {
        let rest = self.bytes.get(self.at + ahead..)?;
        rest.iter()
            .copied()
            .take(LONGEST_ANNOTATION)
            .find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
    }

    /// The last token, unless there is none.
    fn last(&self) -> Option<Kind> {
        self.out.tokens.last().map(|token| token.kind)
    }

    /// Whether an operand may end right before this place.
    fn after_operand(&self) -> bool {
        matches!(
            self.last(),
            Some(
                Kind::Number(_)
                    | Kind::Percent
                    | Kind::Close
                    | Kind::Variable { .. }
                    | Kind::Broken(_)
            )
        )
    }

    /// `**` is a power between two operands and bold type elsewhere.
    fn star(&mut self) {
        if self.peek(1) != Some(b'*') {
            return self.push(1, Kind::Op(Op::Mul));
        }
        let before = self.spaced;
        let after = matches!(self.peek(2), Some(b' ' | b'\t'));
        let operand_follows = matches!(
            self.peek_past_blanks(2),
            Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'(' | b'-' | b'.' | b'$')
        );
        if self.after_operand() && !self.bold && before == after && operand_follows {
            return self.push(2, Kind::Op(Op::Pow));
        }
        self.bold = !self.bold;
        self.at += 2;
    }

    fn dash(&mut self) {
        let run = self.bytes[self.at..]
            .iter()
            .take_while(|byte| **byte == b'-')
            .count();
        let blank_after = matches!(self.peek(run), Some(b' ' | b'\t' | b'\n') | None);
        match run {
            1 if self.peek(1) == Some(b'>') => self.push(2, Kind::Boundary(Bound::Mark)),
            1 => self.push(1, Kind::Op(Op::Sub)),
            2 if !self.spaced && !blank_after => self.push(1, Kind::Op(Op::Sub)),
            _ => self.push(run, Kind::Boundary(Bound::Mark)),
        }
    }

    fn slash(&mut self) {
        match self.peek(1) {
            Some(b'/') => self.push(2, Kind::Broken(Why::Syntax)),
            _ => self.push(1, Kind::Op(Op::Div)),
        }
    }

    /// `=` and `==` state an equality; `=>` and `===` do not.
    fn equals(&mut self) {
        let run = self.bytes[self.at..]
            .iter()
            .take_while(|byte| **byte == b'=')
            .count();
        match (run, self.peek(run)) {
            (1, Some(b'>')) => self.push(2, Kind::Boundary(Bound::Mark)),
            (1, Some(b'~')) => self.push(2, Kind::Relation(Relation::Approx)),
            (1 | 2, _) => self.push(run, Kind::Relation(Relation::Equals)),
            _ => self.push(run, Kind::Boundary(Bound::Mark)),
        }
    }

    /// An annotation, or a comparison.
    fn angle(&mut self, byte: u8) {
        if byte == b'<' && self.peek(1) == Some(b'<') && self.annotation() {
            return;
        }
        let len = if self.peek(1) == Some(b'=') { 2 } else { 1 };
        self.push(len, Kind::Boundary(Bound::Mark));
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
            return self.push(2, Kind::Relation(Relation::Approx));
        }
        self.out.approximate = true;
        self.push(1, Kind::Word(Word::Approximate));
    }

    /// `5! = 120` is a factorial, `so 5!` is excitement, `!=` denies an equality.
    fn exclamation(&mut self) {
        let attached = self.after_operand() && !self.spaced;
        let goes_on = matches!(
            self.peek_past_blanks(1),
            Some(b'=' | b'+' | b'-' | b'*' | b'/' | b')' | b'^')
        );
        if attached && goes_on {
            return self.push(1, Kind::Broken(Why::Function));
        }
        let len = if self.peek(1) == Some(b'=') { 2 } else { 1 };
        self.push(len, Kind::Boundary(Bound::Mark));
    }

    /// `#3` is a name.
    fn hash(&mut self) {
        let digits = self.bytes[self.at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        match digits {
            0 => self.push(1, Kind::Boundary(Bound::Mark)),
            _ => self.push(1 + digits, Kind::Broken(Why::Words)),
        }
    }

    /// `&` aligns equations in LaTeX: `3 + 4 &= 7`.
    fn ampersand(&mut self) {
        match self.peek(1) {
            Some(b'=' | b'\\') => self.skip(1),
            _ => self.push(1, Kind::Boundary(Bound::Mark)),
        }
    }

    /// Characters outside ASCII.
    fn unicode(&mut self) {
        let Some(c) = self.text[self.at..].chars().next() else {
            return;
        };
        let len = c.len_utf8();
        if let Some((numerator, denominator)) = small_number(c) {
            return self.small_number(len, numerator, denominator);
        }
        match c {
            '\u{d7}' | '\u{b7}' | '\u{2219}' | '\u{22c5}' | '\u{2217}' => {
                self.push(len, Kind::Op(Op::Mul));
            }
            '\u{f7}' | '\u{2215}' | '\u{2044}' => self.push(len, Kind::Op(Op::Div)),
            '\u{2212}' | '\u{2013}' | '\u{2012}' | '\u{2010}' | '\u{2011}' => {
                self.push(len, Kind::Op(Op::Sub));
            }
            '\u{2248}' | '\u{2245}' | '\u{2243}' => {
                self.push(len, Kind::Relation(Relation::Approx));
            }
            '\u{a3}' | '\u{20a0}'..='\u{20cf}' | '\u{a5}' => self.push(len, Kind::Currency),
            '\u{a2}' | '\u{b0}' => self.push(len, Kind::Word(Word::Measure)),
            '\u{221a}' | '\u{b1}' | '\u{221e}' | '\u{3c0}' => {
                self.push(len, Kind::Broken(Why::Function));
            }
            '\u{2026}' => self.push(len, Kind::Broken(Why::NumberFormat)),
            '\u{feff}' | '\u{200b}'..='\u{200d}' => self.skip(len),
            _ if c.is_whitespace() => self.skip(len),
            _ if c.is_alphabetic() => self.word(),
            _ if c.is_numeric() => self.push(len, Kind::Broken(Why::NumberFormat)),
            _ => self.push(len, Kind::Boundary(Bound::Mark)),
        }
    }

    /// `½` is a number; `²` is a power where a number or bracket stands right before it.
    fn small_number(&mut self, len: usize, numerator: u8, denominator: u8) {
        let raised = denominator == 1;
        if raised && !self.spaced && matches!(self.last(), Some(Kind::Word(_))) {
            // Part of a unit: `cm²`.
            self.at += len;
            return;
        }
        if raised && (self.spaced || !self.after_operand()) {
            return self.push(len, Kind::Broken(Why::NumberFormat));
        }
        let index = self.out.numerals.len();
        self.out.numerals.push(Numeral::Small {
            numerator,
            denominator,
        });
        if raised {
            self.push(0, Kind::Op(Op::Pow));
        }
        self.push(len, Kind::Number(index));
    }
}

/// Single characters that are a fraction, and exponents with denominator 1.
fn small_number(c: char) -> Option<(u8, u8)> {
    let number = match c {
        '\u{b2}' => (2, 1),
        '\u{b3}' => (3, 1),
        '\u{bc}' => (1, 4),
        '\u{bd}' => (1, 2),
        '\u{be}' => (3, 4),
        '\u{2153}' => (1, 3),
        '\u{2154}' => (2, 3),
        '\u{2155}' => (1, 5),
        '\u{2156}' => (2, 5),
        '\u{2157}' => (3, 5),
        '\u{2158}' => (4, 5),
        '\u{2159}' => (1, 6),
        '\u{215a}' => (5, 6),
        '\u{215b}' => (1, 8),
        '\u{215c}' => (3, 8),
        '\u{215d}' => (5, 8),
        '\u{215e}' => (7, 8),
        _ => return None,
    };
    Some(number)
}

/// Turns brackets that do not group numbers into boundaries: those without a twin, around an
/// equality, and around words.
fn settle_brackets(tokens: &mut [Token]) {
    let mut open: Vec<usize> = Vec::new();
    // Of the open brackets, the first `with_relation` hold an equality.
    let mut with_relation = 0;
    for index in 0..tokens.len() {
        match tokens[index].kind {
            Kind::Open => open.push(index),
            Kind::Relation(_) => with_relation = open.len(),
            Kind::Close => match open.pop() {
                Some(start) if open.len() < with_relation || holds_words(tokens, start) => {
                    with_relation = with_relation.min(open.len());
                    tokens[start].kind = Kind::Boundary(Bound::Open);
                    tokens[index].kind = Kind::Boundary(Bound::Mark);
                }
                Some(_) => {}
                None => tokens[index].kind = Kind::Boundary(Bound::Mark),
            },
            Kind::Number(_)
            | Kind::Op(_)
            | Kind::Percent
            | Kind::Currency
            | Kind::Word(_)
            | Kind::Variable { .. }
            | Kind::Broken(_)
            | Kind::Boundary(_) => {}
        }
    }
    for index in open {
        tokens[index].kind = Kind::Boundary(Bound::Open);
    }
}

/// Whether the bracket at `open` starts with a word.
fn holds_words(tokens: &[Token], open: usize) -> bool {
    matches!(
        tokens.get(open + 1).map(|token| token.kind),
        Some(Kind::Word(_) | Kind::Boundary(_) | Kind::Close)
    )
}
