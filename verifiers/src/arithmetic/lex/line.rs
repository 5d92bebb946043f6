//! Line starts: list markers are not numbers or signs of an expression.

use super::Lexer;
use crate::arithmetic::token::{Bound, Relation, TokenKind};

impl Lexer<'_, '_> {
    /// A line break ends an expression, unless the equality goes on in the next line.
    pub(super) fn newline(&mut self) {
        let goes_on = self.peek_past_blanks(1) == Some(b'=')
            || self.peek_past_blanks(1) == Some(b'&')
            || self.last() == Some(TokenKind::Relation(Relation::Equals));
        if goes_on {
            return self.skip(1);
        }
        self.push(1, TokenKind::Boundary(Bound::Mark));
        self.line_start();
    }

    /// Passes the blanks and list markers at the start of a line.
    pub(super) fn line_start(&mut self) {
        self.spaced = true;
        self.blanks();
        while self.bullet() {
            self.blanks();
        }
        if self.number_marker() {
            self.blanks();
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\r')) {
            self.skip(1);
        }
    }

    /// Skips a bullet: `- `, `* `, `+ `, `> `, `## `.
    fn bullet(&mut self) -> bool {
        let Some(mark @ (b'-' | b'*' | b'+' | b'>' | b'#')) = self.peek(0) else {
            return false;
        };
        let run = self.bytes[self.at..].iter().take_while(|byte| **byte == mark).count();
        let is_bullet = matches!(self.peek(run), Some(b' ' | b'\t')) && (run == 1 || mark == b'#');
        if is_bullet {
            let minus = mark == b'-';
            self.push(run, TokenKind::Boundary(Bound::ListMarker { minus }));
        }
        is_bullet
    }

    /// Skips the number of a list item: `1. `, `2) `, `(3) `.
    fn number_marker(&mut self) -> bool {
        let bracket = usize::from(self.peek(0) == Some(b'('));
        let digits = (0..4).take_while(|&ahead| self.peek_is_digit(bracket + ahead)).count();
        let end = bracket + digits;
        let closed = match self.peek(end) {
            Some(b')') => true,
            Some(b'.') => bracket == 0,
            _ => false,
        };
        let is_marker =
            (1..4).contains(&digits) && closed && matches!(self.peek(end + 1), Some(b' ' | b'\t'));
        if is_marker {
            self.push(end + 1, TokenKind::Boundary(Bound::ListMarker { minus: false }));
        }
        is_marker
    }
}
