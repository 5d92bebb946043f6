//! Spans of vectors: `\operatorname{span}\{(1,-2,1)\}` and "all multiples of (-1, 2, -1)".

use dashu::rational::RBig;

use super::Comparer;
use crate::algebra;
use crate::answer::{Answer, AnswerForm};
use crate::expr::Expr;
use crate::fuel::Exhausted;
use crate::read::{self, ReadOptions};

/// The longest text that is read, in bytes.
const MAX_BYTES: usize = 300;
/// Vectors of a span.
const MAX_VECTORS: usize = 8;

/// Vectors of one length.
type Vectors = Vec<Vec<RBig>>;

impl Comparer<'_, '_> {
    /// Decides whether both texts give vectors of rational numbers that span one space. `None` where the gold
    /// answer is no span, or the candidate has no vectors.
    pub(super) fn are_spans(
        &mut self,
        gold: &str,
        candidate: &str,
    ) -> Result<Option<bool>, Exhausted> {
        let is_span = ["span", "Span"].into_iter().any(|word| gold.contains(word));
        if !is_span {
            return Ok(None);
        }
        // Vectors alone are a basis of what was asked for.
        Ok(self.both(gold, candidate)?.map(|[own, other]| reduced(own) == reduced(other)))
    }

    /// Decides whether both texts give independent vectors of rational numbers that span one space: two bases of it.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub fn are_bases(&mut self, gold: &str, candidate: &str) -> Result<bool, Exhausted> {
        let Some([own, other]) = self.both(gold, candidate)? else {
            return Ok(false);
        };
        let count = own.len();
        let (own, other) = (reduced(own), (other.len() == count).then(|| reduced(other)));
        Ok(own.len() == count && other == Some(own))
    }

    /// Returns the vectors of both texts, of one length.
    fn both(&mut self, gold: &str, candidate: &str) -> Result<Option<[Vectors; 2]>, Exhausted> {
        if gold.len() > MAX_BYTES || candidate.len() > MAX_BYTES {
            return Ok(None);
        }
        let (Some(own), Some(other)) = (self.vectors(gold)?, self.vectors(candidate)?) else {
            return Ok(None);
        };
        self.ws.fuel.spend(64 * (own.len() + other.len()) as u64)?;
        Ok((own[0].len() == other[0].len()).then_some([own, other]))
    }

    /// Returns the vectors of one length in round brackets or as columns that `text` gives.
    fn vectors(&mut self, text: &str) -> Result<Option<Vectors>, Exhausted> {
        let mut found = Vectors::new();
        let mut rest = text;
        while let Some(at) = rest.find(['(', '⟨', '\\']) {
            rest = &rest[at..];
            let Some(group) = group(rest) else {
                rest = &rest[rest.chars().next().map_or(1, char::len_utf8)..];
                continue;
            };
            if let Some(vector) = self.vector(group)? {
                if found.first().is_some_and(|first| first.len() != vector.len())
                    || found.len() == MAX_VECTORS
                {
                    return Ok(None);
                }
                found.push(vector);
            }
            rest = &rest[group.len()..];
        }
        Ok((!found.is_empty()).then_some(found))
    }

    fn vector(&mut self, text: &str) -> Result<Option<Vec<RBig>>, Exhausted> {
        let Ok(answer) = read::read_answer(text, ReadOptions::default(), self.ws) else {
            return Ok(None);
        };
        let value = |member: &Answer| {
            if let AnswerForm::Value(value) = &member.form { Some(value.expr) } else { None }
        };
        let entries: Option<Vec<Expr>> = if let AnswerForm::Tuple(_, members) = &answer.form {
            members.iter().map(value).collect()
        } else if let AnswerForm::Matrix(rows) = &answer.form {
            let is_column = rows.len() == 1 || rows.iter().all(|row| row.len() == 1);
            is_column.then(|| rows.iter().flatten().copied().collect())
        } else {
            None
        };
        let Some(entries) = entries else {
            return Ok(None);
        };
        let mut vector = Vec::with_capacity(entries.len());
        for entry in entries {
            match algebra::rational(entry, self.ws)? {
                Some(value) => vector.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(vector))
    }
}

/// Returns the brackets or the matrix that open `text`.
fn group(text: &str) -> Option<&str> {
    let (open, shut) = if text.starts_with('(') {
        ("(", ")")
    } else if text.starts_with('⟨') {
        ("⟨", "⟩")
    } else if text.starts_with("\\langle") {
        ("\\langle", "\\rangle")
    } else if text.starts_with("\\begin{") {
        ("\\begin{", "matrix}")
    } else {
        return None;
    };
    let inner = &text[open.len()..];
    let from = if open == "\\begin{" { inner.find("\\end{")? } else { 0 };
    let end = from + inner[from..].find(shut)? + shut.len();
    Some(&text[..open.len() + end])
}

/// Returns the reduced echelon form without rows of zeros: one for each space.
fn reduced(mut rows: Vectors) -> Vectors {
    let width = rows[0].len();
    let mut rank = 0;
    for column in 0..width {
        let Some(pivot) = (rank..rows.len()).find(|row| !rows[*row][column].is_zero()) else {
            continue;
        };
        rows.swap(rank, pivot);
        let lead = rows[rank][column].clone();
        for entry in &mut rows[rank] {
            *entry = entry.clone() / &lead;
        }
        let own = rows[rank].clone();
        for (at, row) in rows.iter_mut().enumerate() {
            if at != rank && !row[column].is_zero() {
                let factor = row[column].clone();
                for (entry, own) in row.iter_mut().zip(&own) {
                    *entry = entry.clone() - &factor * own;
                }
            }
        }
        rank += 1;
    }
    rows.truncate(rank);
    rows
}
