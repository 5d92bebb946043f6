//! Our own rule: equal multisets of rows, in the gold query's order where it has one.
//!
//! Rows with equal keys may stand in any order, and a `LIMIT` that cuts through such rows may keep
//! any of them. The keys are found by running the gold query again with its terms of `ORDER BY` as
//! further columns and without `LIMIT`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::GoldRows;
use super::compare::{arranged, order, order_rows, some_arrangement};
use super::engine::{QueryResult, SqlCell};
use super::reals::real;
use super::statement::OrderClause;

/// The order that a gold query demands.
pub(super) enum GoldOrder {
    /// None.
    Free,
    /// These groups one after the other, the rows of a group in any order.
    Groups(Vec<TiedRows>),
}

/// Rows with equal keys.
pub(super) struct TiedRows {
    rows: Vec<Vec<SqlCell>>,
    /// How many of them the result has.
    count: usize,
}

impl GoldOrder {
    /// The order of the query `sql`, whose result is `rows`; `run` runs other forms of it.
    pub(super) fn find(
        sql: &str,
        rows: &QueryResult,
        run: impl FnMut(&str) -> Option<Arc<QueryResult>>,
    ) -> Self {
        let Some(clause) = OrderClause::find(sql) else { return Self::Free };
        let exact = || {
            let one = |row: &Vec<SqlCell>| TiedRows { rows: vec![row.clone()], count: 1 };
            Self::Groups(rows.rows.iter().map(one).collect())
        };
        Self::by_keys(sql, rows, &clause, run).unwrap_or_else(exact)
    }

    /// `None` where the keys cannot be found.
    fn by_keys(
        sql: &str,
        rows: &QueryResult,
        clause: &OrderClause,
        mut run: impl FnMut(&str) -> Option<Arc<QueryResult>>,
    ) -> Option<Self> {
        let width = rows.columns.len();
        // Where each key stands: a column of the result, or one that is added.
        let (mut places, mut added) = (Vec::new(), Vec::new());
        for term in 0..clause.terms.len() {
            let text = clause.expression(sql, term);
            let named = rows.columns.iter().position(|name| name.eq_ignore_ascii_case(text));
            let numbered = text.parse::<usize>().ok().filter(|at| (1..=width).contains(at));
            places.push(match (numbered, named) {
                (Some(at), _) => at - 1,
                (None, Some(at)) => at,
                (None, None) => {
                    added.push(text);
                    width + added.len() - 1
                }
            });
        }
        let skipped = clause.offset?;
        if added.is_empty() && !clause.is_limited {
            return Some(Self::grouped(&rows.rows, &places, width, 0..rows.rows.len()));
        }
        let mut wider = sql[..clause.end].to_owned();
        if !added.is_empty() {
            wider.insert_str(clause.columns_end?, &format!(", {} ", added.join(", ")));
        }
        let all = run(&wider)?;
        let range = skipped..skipped + rows.rows.len();
        let same = all.rows.get(range.clone())?;
        // Only if it is still the same query.
        let is_same = same.iter().zip(&rows.rows).all(|(wide, row)| wide[..width] == row[..]);
        is_same.then(|| Self::grouped(&all.rows, &places, width, range))
    }

    /// Groups of equal keys that reach into `range`.
    fn grouped(
        all: &[Vec<SqlCell>],
        places: &[usize],
        width: usize,
        range: std::ops::Range<usize>,
    ) -> Self {
        let same = |a: &Vec<SqlCell>, b: &Vec<SqlCell>| {
            places.iter().all(|at| order(&a[*at], &b[*at]).is_eq())
        };
        let (mut groups, mut start) = (Vec::new(), 0);
        for tied in all.chunk_by(same) {
            let end = start + tied.len();
            let count = end.min(range.end).saturating_sub(start.max(range.start));
            if count > 0 {
                let rows = tied.iter().map(|row| row[..width].to_vec()).collect();
                groups.push(TiedRows { rows, count });
            }
            start = end;
        }
        Self::Groups(groups)
    }
}

/// Whether `found` has the gold rows in their order.
pub(super) fn equal(
    gold: &GoldRows,
    found: &QueryResult,
    tolerance: f64,
    any_columns: bool,
) -> bool {
    if gold.rows.rows.len() != found.rows.len() || gold.rows.columns.len() != found.columns.len() {
        return false;
    }
    let accepts = |rows: &[Vec<SqlCell>]| match &gold.order {
        GoldOrder::Free => holds(&gold.rows.rows, rows, tolerance),
        GoldOrder::Groups(groups) => {
            let mut rest = rows;
            groups.iter().all(|group| {
                let (own, after) = rest.split_at(group.count.min(rest.len()));
                rest = after;
                holds(&group.rows, own, tolerance)
            })
        }
    };
    if accepts(&found.rows) {
        return true;
    }
    any_columns
        && some_arrangement(
            &gold.rows.rows,
            &found.rows,
            |a, b| close(a, b, tolerance),
            |arrangement| accepts(&arranged(&found.rows, arrangement)),
        )
}

/// Whether each row of `found` is one of `rows`, each used once.
fn holds(rows: &[Vec<SqlCell>], found: &[Vec<SqlCell>], tolerance: f64) -> bool {
    let width = rows.first().map_or(0, Vec::len);
    let is_exact = |at: &usize| {
        !rows.iter().chain(found).any(|row| matches!(row.get(*at), Some(SqlCell::Real(_))))
    };
    // Columns with floats last: two rows that differ elsewhere stay in one order on both sides,
    // however their floats differ within the tolerance.
    let (mut places, floats): (Vec<usize>, Vec<usize>) = (0..width).partition(is_exact);
    places.extend(floats);
    let sorted = |rows: &[Vec<SqlCell>]| {
        let mut keyed: Vec<(Vec<SqlCell>, usize)> = rows
            .iter()
            .enumerate()
            .map(|(index, row)| (places.iter().map(|at| rounded(&row[*at])).collect(), index))
            .collect();
        keyed.sort_by(|a, b| order_rows(&a.0, &b.0));
        keyed.into_iter().map(|(_, index)| index).collect::<Vec<_>>()
    };
    let mut left = sorted(rows).into_iter();
    sorted(found).into_iter().all(|index| {
        left.any(|own| rows[own].iter().zip(&found[index]).all(|(a, b)| close(a, b, tolerance)))
    })
}

/// A float without the digits in which two orders of summation differ, so that both sort alike.
fn rounded(cell: &SqlCell) -> SqlCell {
    let number = match cell {
        SqlCell::Integer(number) if number.unsigned_abs() < 1 << 53 => real(*number),
        SqlCell::Real(number) => *number,
        SqlCell::Null | SqlCell::Integer(_) | SqlCell::Text(_) | SqlCell::Blob(_) => {
            return cell.clone();
        }
    };
    SqlCell::Real(format!("{number:.10e}").parse().unwrap_or(number) + 0.0)
}

/// Whether two cells are equal: of one type, but for integers and floats, which are numbers.
fn close(left: &SqlCell, right: &SqlCell, tolerance: f64) -> bool {
    // Infinities too, which have no difference.
    if order(left, right) == Ordering::Equal {
        return true;
    }
    let (a, b) = match (left, right) {
        (SqlCell::Real(a), SqlCell::Real(b)) => (*a, *b),
        (SqlCell::Integer(a), SqlCell::Real(b)) | (SqlCell::Real(b), SqlCell::Integer(a)) => {
            (real(*a), *b)
        }
        _ => return false,
    };
    // An infinite difference is within a share of an infinite number.
    let difference = (a - b).abs();
    difference.is_finite() && difference <= tolerance * a.abs().max(b.abs())
}
