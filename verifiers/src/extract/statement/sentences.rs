//! The sentences of a text, by full stops and line breaks.

use super::is_display;
use super::pieces::{Piece, PieceKind};

/// Returns the sentences of `pieces`.
pub(super) fn sentences<'p>(pieces: &'p [Piece], text: &str) -> Vec<&'p [Piece]> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let is_break = matches!(piece.kind, PieceKind::Break { .. });
        if ends_sentence(pieces, index, text) || is_break && is_border(pieces, index, text) {
            sentences.push(&pieces[start..index]);
            start = index + 1;
        }
    }
    sentences.push(&pieces[start..]);
    // What shuts bold text behind a full stop is no sentence.
    let says = |piece: &Piece| piece.is_value() || piece.kind == PieceKind::Word;
    sentences.retain(|sentence| sentence.iter().any(says));
    sentences
}

/// Returns whether the piece at `index` is the mark that ends a sentence.
fn ends_sentence(pieces: &[Piece], index: usize, text: &str) -> bool {
    let piece = &pieces[index];
    match piece.kind {
        PieceKind::Mark('。' | '।' | '！' | '？') => true,
        PieceKind::Mark('.' | '!' | '?') => {
            let after = &text[piece.span.end..];
            // "(… per subgroup.) Therefore"
            let after = after.strip_prefix([')', '"', '”']).unwrap_or(after);
            let ends =
                after.is_empty() || after.starts_with(|c: char| c.is_whitespace() || c == '*');
            // `i.e. 5`
            let before = index.checked_sub(1).map(|at| &pieces[at]);
            let is_letter = before.is_some_and(|before| {
                before.kind == PieceKind::Word
                    && before.span.len() == 1
                    && text[..before.span.start].ends_with('.')
            });
            ends && !is_letter
        }
        PieceKind::Formula { .. }
        | PieceKind::Number
        | PieceKind::Word
        | PieceKind::Mark(_)
        | PieceKind::Break { .. } => false,
    }
}

/// Returns whether the break at `index` ends a sentence. Bullets and displayed formulas belong to
/// the sentence before them.
fn is_border(pieces: &[Piece], index: usize, text: &str) -> bool {
    let before = index.checked_sub(1).map(|at| &pieces[at]);
    let after = pieces.get(index + 1);
    let next = pieces.get(index + 2);
    // `*Check:*` is in italics.
    let is_apart = |piece: &Piece| next.is_some_and(|next| next.span.start > piece.span.end);
    let is_bullet = after
        .is_some_and(|piece| matches!(piece.kind, PieceKind::Mark('-' | '•' | '*' | '✅' | '✔')))
        && after.is_some_and(|piece| !piece.is_mark('*') || is_apart(piece));
    let leads = before.is_some_and(|piece| piece.is_mark(':') || piece.is_mark(','));
    let is_stopped = |piece: &Piece| {
        let inner = text[piece.span.clone()].trim_end_matches(['$', ']', '\\', '\n', ' ']);
        inner.ends_with('.')
    };
    let continues = before.is_some_and(|piece| is_display(piece) && !is_stopped(piece))
        && after.is_some_and(|p| p.kind == PieceKind::Word);
    !(is_bullet || leads || after.is_some_and(is_display) || continues && !is_blank(&pieces[index]))
}

fn is_blank(piece: &Piece) -> bool {
    piece.kind == PieceKind::Break { is_blank: true }
}
