//! Lists that a text sets line by line: bullets and tables.

use std::ops::Range;

use super::super::trim;
use super::pieces::{Piece, PieceKind};
use super::{Clause, MAX_MEMBERS, MAX_PREDICATE, Rank, Reader};

impl Reader<'_> {
    /// Returns the values of the last bullets or of the last column of the last table, one a line. None
    /// where a line has several, or where values follow.
    pub(super) fn listing(&self, pieces: &[Piece]) -> Option<Vec<Range<usize>>> {
        let lines: Vec<&[Piece]> = pieces
            .split(|piece| matches!(piece.kind, PieceKind::Break { .. }))
            .filter(|line| !line.is_empty())
            .collect();
        if let Some(values) = self.equations(&lines) {
            return Some(values);
        }
        if let Some(values) = self.numbered(&lines) {
            return Some(values);
        }
        let last = lines.iter().rposition(|line| is_bullet(line) || is_row(line))?;
        let has_more = lines[last + 1..].iter().flat_map(|line| line.iter()).any(Piece::is_value);
        if has_more {
            return None;
        }
        let is_kin: fn(&[Piece]) -> bool = if is_row(lines[last]) { is_row } else { is_bullet };
        let first = lines[..last].iter().rposition(|line| !is_kin(line)).map_or(0, |at| at + 1);
        let block = &lines[first..=last];
        let values: Option<Vec<Range<usize>>> = if is_row(lines[last]) {
            // Under the rule that parts the head from the rows.
            let rule = block.iter().position(|line| is_rule(line))?;
            block[rule + 1..].iter().map(|row| self.only_value(last_cell(row))).collect()
        } else {
            let lines = block.iter().filter(|line| !self.is_denial(line));
            let values: Option<Vec<_>> = lines.map(|line| self.line_values(&line[1..])).collect();
            values.map(|values| values.concat())
        };
        let is_list = |values: &Vec<Range<usize>>| (2..=MAX_MEMBERS).contains(&values.len());
        values.filter(is_list).or_else(|| self.lines_of_words(block).filter(is_list))
    }

    /// Returns the values of the last lines, each of which is a number of the list and a value: `1. $\emptyset$`.
    fn numbered(&self, lines: &[&[Piece]]) -> Option<Vec<Range<usize>>> {
        let value = |line: &&[Piece]| {
            let [number, stop, rest @ ..] = line else {
                return None;
            };
            let text = &self.text[number.span.clone()];
            let (count, rest) = match text.strip_suffix('.') {
                Some(count) => (count, &line[1..]),
                None if matches!(stop.kind, PieceKind::Mark('.' | ')')) => (text, rest),
                None => return None,
            };
            let is_mark =
                |piece: &&Piece| !matches!(piece.kind, PieceKind::Mark('*' | ',' | '.' | ';'));
            let said: Vec<&Piece> = rest.iter().filter(is_mark).collect();
            match said.as_slice() {
                [only] if only.is_value() => {
                    Some((count.parse::<usize>().ok()?, trim::clean(self.text, only.span.clone())))
                }
                _ => None,
            }
        };
        let mut found: Vec<(usize, Range<usize>)> = lines.iter().rev().map_while(value).collect();
        found.reverse();
        let in_order = found.iter().enumerate().all(|(at, (count, _))| *count == at + 1);
        ((2..=MAX_MEMBERS).contains(&found.len()) && in_order)
            .then(|| found.into_iter().map(|(_, value)| value).collect())
    }

    /// Returns the values of the last lines of which each gives one to a letter: `x = 2`.
    fn equations(&self, lines: &[&[Piece]]) -> Option<Vec<Range<usize>>> {
        let equation = |line: &&[Piece]| {
            let says = |piece: &&Piece| {
                !matches!(piece.kind, PieceKind::Mark('*' | ',' | '.' | ';' | '\\'))
            };
            let said: Vec<&Piece> = line.iter().filter(says).collect();
            match said.as_slice() {
                [only] if self.has_left_side(only) && !self.is_compound(only) => {
                    Some(trim::clean(self.text, only.span.clone()))
                }
                [name, sign, value]
                    if name.kind == PieceKind::Word
                        && name.span.len() <= 2
                        && sign.is_mark('=')
                        && value.is_value() =>
                {
                    Some(name.span.start..value.span.end)
                }
                _ => None,
            }
        };
        let mut values: Vec<Range<usize>> = lines.iter().rev().map_while(equation).collect();
        values.reverse();
        (2..=MAX_MEMBERS).contains(&values.len()).then_some(values)
    }

    /// Returns the lines of bullets that hold words alone: "**A** is a knave".
    fn lines_of_words(&self, block: &[&[Piece]]) -> Option<Vec<Range<usize>>> {
        let is_said = |piece: &Piece| {
            let signs = ['*', ':', '.', '–', '—', '→'];
            piece.kind == PieceKind::Word || signs.into_iter().any(|sign| piece.is_mark(sign))
        };
        let line = |line: &&[Piece]| {
            let words = line[1..].iter().filter(|piece| piece.kind == PieceKind::Word).count();
            let is_short = is_bullet(line) && (1..=MAX_PREDICATE).contains(&words);
            let is_plain = is_short && line[1..].iter().all(is_said);
            is_plain
                .then(|| trim::clean(self.text, line[1].span.start..line[line.len() - 1].span.end))
        };
        block.iter().map(line).collect()
    }

    /// Returns whether a line only says that there is none: "No oblique asymptote".
    fn is_denial(&self, line: &[Piece]) -> bool {
        self.is_word(line.get(1), &["no"]) && !line.iter().any(Piece::is_value)
    }

    /// Returns the value that a line states, or the members of the list: behind its colon, or of its last clause.
    fn line_values(&self, line: &[Piece]) -> Option<Vec<Range<usize>>> {
        let colon = line.iter().position(|piece| piece.is_mark(':'));
        let said = &line[colon.map_or(0, |at| at + 1)..];
        let said = if said.iter().any(Piece::is_value) { said } else { line };
        if let Some(only) = self.only_value(said) {
            return Some(vec![only]);
        }
        self.values(&self.clauses(said)).into_iter().next()
    }

    /// Returns the only value that `pieces` state.
    fn only_value(&self, pieces: &[Piece]) -> Option<Range<usize>> {
        let clause = Clause { rank: Rank::Statement, pieces };
        match self.values(std::slice::from_ref(&clause)).as_slice() {
            [only] => match only.as_slice() {
                [span] => Some(span.clone()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns whether a bullet opens the line; two asterisks are bold.
fn is_bullet(line: &[Piece]) -> bool {
    let is_mark = matches!(line[0].kind, PieceKind::Mark('-' | '•' | '*' | '✅' | '✔'));
    is_mark && line.get(1).is_some_and(|next| next.span.start > line[0].span.end)
}

fn is_row(line: &[Piece]) -> bool {
    line[0].is_mark('|') && line.len() > 2
}

fn is_rule(line: &[Piece]) -> bool {
    line.iter().all(|piece| matches!(piece.kind, PieceKind::Mark('|' | '-' | ':')))
}

/// Returns what stands in the last cell of a row.
fn last_cell(row: &[Piece]) -> &[Piece] {
    let end = if row[row.len() - 1].is_mark('|') { row.len() - 1 } else { row.len() };
    let start = row[..end].iter().rposition(|piece| piece.is_mark('|')).map_or(0, |at| at + 1);
    &row[start..end]
}
