//! Equality of results by the rules of published graders, which compare the values that Python's
//! `sqlite3` returns.

use std::cmp::Ordering;

use super::engine::{QueryResult, SqlCell};
use super::reals::real;

/// A cell as Python compares it: `1 == 1.0`, and a text equals no number.
fn as_python(cell: &SqlCell) -> SqlCell {
    match cell {
        SqlCell::Real(number) => integral(*number).map_or_else(|| cell.clone(), SqlCell::Integer),
        SqlCell::Null | SqlCell::Integer(_) | SqlCell::Text(_) | SqlCell::Blob(_) => cell.clone(),
    }
}

/// The integer that a float is; `None` for others and beyond 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn integral(number: f64) -> Option<i64> {
    let fits = number.fract() == 0.0 && (-9.2e18..9.2e18).contains(&number);
    fits.then_some(number as i64)
}

/// A total order: NULL, numbers by value, texts, blobs.
pub(super) fn order(left: &SqlCell, right: &SqlCell) -> Ordering {
    use SqlCell::{Blob, Integer, Null, Real, Text};
    let rank = |cell: &SqlCell| match cell {
        Null => 0,
        Integer(_) | Real(_) => 1,
        Text(_) => 2,
        Blob(_) => 3,
    };
    match (left, right) {
        (Integer(a), Integer(b)) => a.cmp(b),
        (Real(a), Real(b)) => a.total_cmp(b),
        (Integer(a), Real(b)) => real(*a).total_cmp(b).then(Ordering::Less),
        (Real(a), Integer(b)) => a.total_cmp(&real(*b)).then(Ordering::Greater),
        (Text(a), Text(b)) | (Blob(a), Blob(b)) => a.cmp(b),
        _ => rank(left).cmp(&rank(right)),
    }
}

pub(super) fn order_rows(left: &[SqlCell], right: &[SqlCell]) -> Ordering {
    let cells = left.iter().zip(right).map(|(a, b)| order(a, b));
    cells.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
}

fn python_rows(result: &QueryResult) -> Vec<Vec<SqlCell>> {
    result.rows.iter().map(|row| row.iter().map(as_python).collect()).collect()
}

/// Whether both have the same set of rows: order and repetitions do not count.
pub(super) fn equal_sets(gold: &QueryResult, found: &QueryResult) -> bool {
    let set = |result: &QueryResult| {
        let mut rows = python_rows(result);
        rows.sort_by(|a, b| order_rows(a, b));
        rows.dedup();
        rows
    };
    set(gold) == set(found)
}

/// Whether both have the same rows under some order of the columns: as multisets, or as lists.
pub(super) fn equal_as_suites(gold: &QueryResult, found: &QueryResult, in_order: bool) -> bool {
    if gold.rows.is_empty() || found.rows.is_empty() {
        return gold.rows.is_empty() && found.rows.is_empty();
    }
    let (gold, found) = (python_rows(gold), python_rows(found));
    let sorted = |mut rows: Vec<Vec<SqlCell>>| {
        if !in_order {
            rows.sort_by(|a, b| order_rows(a, b));
        }
        rows
    };
    let expected = sorted(gold.clone());
    some_arrangement(
        &gold,
        &found,
        |cell, other| order(cell, other).is_eq(),
        |arrangement| sorted(arranged(&found, arrangement)) == expected,
    )
}

/// The columns of rows in another order.
pub(super) fn arranged(rows: &[Vec<SqlCell>], arrangement: &[usize]) -> Vec<Vec<SqlCell>> {
    rows.iter().map(|row| arrangement.iter().map(|at| row[*at].clone()).collect()).collect()
}

/// Arrangements of columns that are tried at most; two columns are exchanged only if their sorted
/// values are equal, so most results have one.
const MAX_ARRANGEMENTS: usize = 1000;
/// Cells of all arrangements that are tried: each is a copy of the whole result, and is sorted.
const MAX_ARRANGED_CELLS: usize = 4_000_000;
/// Columns that are looked at for a place. Most do not lead to an arrangement where two columns of
/// the gold result have only one to share.
const MAX_LOOKS: usize = 1_000_000;

/// Whether `accepts` an order of the columns of `found` in which each has, sorted, the values of
/// the gold column at its place.
pub(super) fn some_arrangement(
    gold: &[Vec<SqlCell>],
    found: &[Vec<SqlCell>],
    same: impl Fn(&SqlCell, &SqlCell) -> bool,
    accepts: impl Fn(&[usize]) -> bool,
) -> bool {
    let width = gold.first().map_or(0, Vec::len);
    if gold.len() != found.len() || found.first().map_or(0, Vec::len) != width {
        return false;
    }
    let cells = gold.len() * width;
    let (gold, found) = (sorted_columns(gold, width), sorted_columns(found, width));
    let fits: Vec<Vec<usize>> = gold
        .iter()
        .map(|column| {
            let is_same = |at: &usize| column.iter().zip(&found[*at]).all(|(a, b)| same(a, b));
            (0..width).filter(is_same).collect()
        })
        .collect();
    if fits.iter().any(Vec::is_empty) {
        return false;
    }
    let mut budget = Budget { tries: max_arrangements(cells), looks: MAX_LOOKS };
    extend(&fits, &mut Vec::new(), &mut budget, &accepts)
}

/// Arrangements that are tried of a result with so many cells.
fn max_arrangements(cells: usize) -> usize {
    (MAX_ARRANGED_CELLS / cells.max(1)).clamp(1, MAX_ARRANGEMENTS)
}

/// The values of each column in order.
pub(super) fn sorted_columns(rows: &[Vec<SqlCell>], width: usize) -> Vec<Vec<&SqlCell>> {
    let column = |at: usize| {
        let mut values: Vec<&SqlCell> = rows.iter().map(|row| &row[at]).collect();
        values.sort_by(|a, b| order(a, b));
        values
    };
    (0..width).map(column).collect()
}

/// What is left to a search for an arrangement.
struct Budget {
    tries: usize,
    looks: usize,
}

fn extend(
    fits: &[Vec<usize>],
    chosen: &mut Vec<usize>,
    budget: &mut Budget,
    accepts: &impl Fn(&[usize]) -> bool,
) -> bool {
    if budget.tries == 0 {
        return false;
    }
    let Some(options) = fits.get(chosen.len()) else {
        budget.tries -= 1;
        return accepts(chosen);
    };
    for &column in options {
        let Some(looks) = budget.looks.checked_sub(1) else { return false };
        budget.looks = looks;
        if !chosen.contains(&column) {
            chosen.push(column);
            if extend(fits, chosen, budget, accepts) {
                return true;
            }
            chosen.pop();
        }
    }
    false
}

/// A result for people: its size and first row.
pub(super) fn shown(result: &QueryResult) -> String {
    let size = format!("{} rows of {}", result.rows.len(), result.columns.len());
    let Some(first) = result.rows.first() else { return size };
    let cells: Vec<String> = first.iter().take(8).map(cell).collect();
    format!("{size}, the first ({})", cells.join(", "))
}

fn cell(cell: &SqlCell) -> String {
    match cell {
        SqlCell::Null => "NULL".to_owned(),
        SqlCell::Integer(number) => number.to_string(),
        SqlCell::Real(number) => format!("{number:?}"),
        SqlCell::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let mut cut: String = text.chars().take(40).collect();
            if cut.len() < text.len() {
                cut.push('…');
            }
            format!("'{cut}'")
        }
        SqlCell::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of integers.
    fn rows(numbers: &[&[i64]]) -> Vec<Vec<SqlCell>> {
        numbers.iter().map(|row| row.iter().copied().map(SqlCell::Integer).collect()).collect()
    }

    #[test]
    fn arrangements_are_bounded_by_the_cells_that_they_copy() {
        for (cells, expected) in [(0, 1000), (4000, 1000), (40_000, 100), (1 << 20, 3)] {
            assert_eq!(max_arrangements(cells), expected, "{cells}");
        }
        assert_eq!(max_arrangements(usize::MAX), 1);
    }

    /// Columns that fit no place, or too few of them, end a search before it goes through the others.
    #[test]
    fn columns_without_a_place_end_a_search() {
        let mut zeros = vec![0; 20];
        zeros.push(3);
        for (gold, found) in [
            // The last column fits nowhere.
            (zeros.clone(), vec![0; 21]),
            // Two columns share the one that fits both.
            ([&zeros[1..], &[3]].concat(), zeros.clone()),
        ] {
            let (gold, found) = (rows(&[&gold]), rows(&[&found]));
            let same = |a: &SqlCell, b: &SqlCell| a == b;
            assert!(!some_arrangement(&gold, &found, same, |_| true));
        }
        let (gold, found) = (rows(&[&[1, 2]]), rows(&[&[2, 1]]));
        assert!(some_arrangement(&gold, &found, |a, b| a == b, |places| places == [1, 0]));
    }
}
