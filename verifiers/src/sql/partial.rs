//! The partial match of PaVeRL-SQL: matched rows times matched columns over those of the gold
//! result. How rows are aligned where their numbers differ is ours (docs/sql.md).

use std::collections::BTreeSet;

use super::compare::{order, order_rows};
use super::engine::{QueryResult, SqlCell};
use super::reals::real;

/// Difference of two numbers in matching columns at most.
const TOLERANCE: f64 = 0.005;
/// Difference of the numbers of rows beyond which nothing matches.
const MAX_ROW_DIFFERENCE: usize = 5;

/// The share of the gold result that `found` matches, in [0, 1]. With `row_check` the values of the
/// matching columns must be those of whole rows; without it columns are sorted one by one.
pub(super) fn share(gold: &QueryResult, found: &QueryResult, row_check: bool) -> f64 {
    let (gold_rows, found_rows) = (normalised(gold), normalised(found));
    if gold_rows.is_empty() || found_rows.is_empty() {
        let both = gold_rows.is_empty() && found_rows.is_empty();
        return f64::from(u8::from(both && gold.columns.len() == found.columns.len()));
    }
    if gold_rows.len().abs_diff(found_rows.len()) > MAX_ROW_DIFFERENCE {
        return 0.0;
    }
    let aligned = if gold_rows.len() == found_rows.len() {
        Some((gold_rows.clone(), found_rows))
    } else {
        aligned(&gold_rows, &found_rows)
    };
    let Some((own, other)) = aligned else { return 0.0 };
    let pairs = matching_columns(&own, &other);
    let rows = if row_check { common_rows(&own, &other, &pairs) } else { own.len() };
    let whole = gold_rows.len() * gold.columns.len();
    ratio(rows * pairs.len(), whole).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "a result has fewer cells than 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Floats rounded to 3 decimals, as the published code does before it compares.
fn normalised(result: &QueryResult) -> Vec<Vec<SqlCell>> {
    let cell = |cell: &SqlCell| match cell {
        SqlCell::Integer(number) if number.unsigned_abs() < 1 << 53 => SqlCell::Real(real(*number)),
        SqlCell::Real(number) => SqlCell::Real((number * 1000.0).round() / 1000.0 + 0.0),
        SqlCell::Null | SqlCell::Integer(_) | SqlCell::Text(_) | SqlCell::Blob(_) => cell.clone(),
    };
    result.rows.iter().map(|row| row.iter().map(cell).collect()).collect()
}

type SqlRows = Vec<Vec<SqlCell>>;

/// The rows of both whose keys are in both, in the order of the keys: the first pair of columns
/// without repetitions that shares the most values. `None` without a shared value.
fn aligned(gold: &SqlRows, found: &SqlRows) -> Option<(SqlRows, SqlRows)> {
    let keys = |rows: &SqlRows| -> Vec<(usize, Vec<usize>)> {
        let width = rows.first().map_or(0, Vec::len);
        let sorted = |at: usize| {
            let mut indices: Vec<usize> = (0..rows.len()).collect();
            indices.sort_by(|a, b| order(&rows[*a][at], &rows[*b][at]));
            let is_key =
                indices.windows(2).all(|w| order(&rows[w[0]][at], &rows[w[1]][at]).is_ne());
            is_key.then_some((at, indices))
        };
        (0..width).filter_map(sorted).collect()
    };
    let (own, other) = (keys(gold), keys(found));
    let mut best: Option<Vec<(usize, usize)>> = None;
    for (at, left) in &own {
        for (place, right) in &other {
            let mut common = Vec::new();
            let mut rest = right.iter().peekable();
            for row in left {
                let key = &gold[*row][*at];
                while rest.next_if(|r| order(&found[**r][*place], key).is_lt()).is_some() {}
                if let Some(r) = rest.next_if(|r| order(&found[**r][*place], key).is_eq()) {
                    common.push((*row, *r));
                }
            }
            if common.len() > best.as_ref().map_or(0, Vec::len) {
                best = Some(common);
            }
        }
    }
    let (left, right): (Vec<usize>, Vec<usize>) = best?.into_iter().unzip();
    let chosen = |rows: &SqlRows, at: Vec<usize>| at.into_iter().map(|i| rows[i].clone()).collect();
    Some((chosen(gold, left), chosen(found, right)))
}

/// Pairs of gold columns and found columns with equal sorted values, each used once.
fn matching_columns(gold: &SqlRows, found: &SqlRows) -> Vec<(usize, usize)> {
    let width = |rows: &SqlRows| rows.first().map_or(0, Vec::len);
    let own = super::compare::sorted_columns(gold, width(gold));
    let other = super::compare::sorted_columns(found, width(found));
    let mut used = BTreeSet::new();
    let mut pairs = Vec::new();
    for (at, column) in own.iter().enumerate() {
        let fits = |place: &usize| {
            !used.contains(place) && column.iter().zip(&other[*place]).all(|(a, b)| close(a, b))
        };
        // The column at the same place first, so that equal columns keep their own partners.
        let place = Some(at).filter(|at| *at < other.len() && fits(at));
        if let Some(place) = place.or_else(|| (0..other.len()).find(|place| fits(place))) {
            used.insert(place);
            pairs.push((at, place));
        }
    }
    pairs
}

/// Rows whose values in the matching columns are those of a row of the other, each used once.
fn common_rows(gold: &SqlRows, found: &SqlRows, pairs: &[(usize, usize)]) -> usize {
    let project = |rows: &SqlRows, pick: fn(&(usize, usize)) -> usize| {
        let mut rows: SqlRows = rows
            .iter()
            .map(|row| pairs.iter().map(|pair| row[pick(pair)].clone()).collect())
            .collect();
        rows.sort_by(|a, b| order_rows(a, b));
        rows
    };
    let (own, other) = (project(gold, |pair| pair.0), project(found, |pair| pair.1));
    let mut rest = other.iter().peekable();
    let mut common = 0;
    for row in &own {
        while rest.next_if(|r| order_rows(r, row).is_lt()).is_some() {}
        if rest.next_if(|r| order_rows(r, row).is_eq()).is_some() {
            common += 1;
        }
    }
    common
}

fn close(left: &SqlCell, right: &SqlCell) -> bool {
    match (left, right) {
        (SqlCell::Real(a), SqlCell::Real(b)) => (a - b).abs() <= TOLERANCE,
        _ => order(left, right).is_eq(),
    }
}
