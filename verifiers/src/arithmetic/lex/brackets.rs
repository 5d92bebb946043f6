//! Brackets that group numbers.

use crate::arithmetic::token::{Bound, Token, TokenKind};

/// Turns brackets that do not group numbers into boundaries: those without a twin, around an
/// equality, and around words.
pub(super) fn settle(tokens: &mut [Token]) {
    let mut open: Vec<usize> = Vec::new();
    // The first `with_relation` open brackets hold an equality.
    let mut with_relation = 0;
    for index in 0..tokens.len() {
        match tokens[index].kind {
            TokenKind::Open => open.push(index),
            TokenKind::Relation(_) => with_relation = open.len(),
            TokenKind::Close => match open.pop() {
                Some(start) if open.len() < with_relation || holds_words(tokens, start) => {
                    with_relation = with_relation.min(open.len());
                    tokens[start].kind = TokenKind::Boundary(Bound::Open);
                    tokens[index].kind = TokenKind::Boundary(Bound::Mark);
                }
                Some(_) => {}
                None => tokens[index].kind = TokenKind::Boundary(Bound::Mark),
            },
            TokenKind::Number(_)
            | TokenKind::Op(_)
            | TokenKind::Percent
            | TokenKind::Currency
            | TokenKind::Word(_)
            | TokenKind::Variable { .. }
            | TokenKind::Broken(_)
            | TokenKind::Boundary(_) => {}
        }
    }
    for index in open {
        tokens[index].kind = TokenKind::Boundary(Bound::Open);
    }
}

/// Returns whether the bracket at `open` starts with a word.
fn holds_words(tokens: &[Token], open: usize) -> bool {
    matches!(
        tokens.get(open + 1).map(|token| token.kind),
        Some(TokenKind::Word(_) | TokenKind::Boundary(_) | TokenKind::Close)
    )
}
