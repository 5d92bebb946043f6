//! Selects the rows of a dataset that a run scores.
//!
//! A sample is drawn from all rows, a limit cuts the sample, and a shard is a piece of the rest: the
//! shards of a run together hold the rows of the run without shards.

use std::collections::HashSet;
use std::ops::Range;
use std::str::FromStr;

use base::seeded::Draws;
use serde::{Deserialize, Serialize};

/// A piece of a run: `3/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Index of the piece, from 1.
    pub index: u64,
    /// Number of pieces.
    pub count: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(index, count)| {
            Some((index.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
        });
        let Some((index, count)) = numbers else {
            return Err("expected i/n, such as 3/8".to_owned());
        };
        if index == 0 || index > count {
            return Err(format!("shards are counted from 1: 1/{count} to {count}/{count}"));
        }
        Ok(Self { index, count })
    }
}

/// Options that choose the rows of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowSelection {
    pub(crate) sample: Option<u64>,
    pub(crate) seed: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) shard: Option<Shard>,
}

/// The rows of a run, by their positions in the dataset from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    rows: SelectedRows,
    /// Rows of the dataset.
    total: u64,
    /// Whether unreadable rows after the last row belong to the run.
    is_last: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SelectedRows {
    Range(Range<u64>),
    /// In order.
    Drawn(Vec<u64>),
}

/// The rows of a batch that were chosen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// One after the other.
    Range(Range<usize>),
    /// In order.
    Listed(Vec<usize>),
}

impl Selection {
    /// Selects the `wanted` rows of `total`. Drawn rows take 8 bytes each.
    pub(crate) fn new(total: u64, wanted: RowSelection) -> Self {
        let drawn = wanted.sample.filter(|sample| *sample < total);
        let rows = match drawn {
            Some(sample) => SelectedRows::Drawn(draw(sample, total, wanted.seed)),
            None => SelectedRows::Range(0..total),
        };
        let n_rows = rows.len();
        let limited = wanted.limit.map_or(n_rows, |limit| limit.min(n_rows));
        let piece = wanted.shard.map_or(0..limited, |shard| piece(shard, limited));
        let is_last = wanted.shard.is_none_or(|shard| shard.index == shard.count);
        Self { rows: rows.slice(piece), total, is_last: is_last && limited == n_rows }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.rows.len()
    }

    /// The position of the first row.
    pub(crate) fn first(&self) -> u64 {
        match &self.rows {
            SelectedRows::Range(range) => range.start,
            SelectedRows::Drawn(rows) => rows.first().copied().unwrap_or(0),
        }
    }

    /// Whether no row from `position` on is selected.
    pub(crate) fn is_past(&self, position: u64) -> bool {
        let end = match &self.rows {
            SelectedRows::Range(range) => range.end,
            SelectedRows::Drawn(rows) => rows.last().map_or(0, |last| last + 1),
        };
        position >= end && !self.is_last
    }

    /// Returns the selected rows of a batch of `rows` rows that begins at `start`.
    pub(crate) fn of(&self, start: u64, rows: usize) -> Chosen {
        let end = start + rows as u64;
        let within = |position: u64| {
            usize::try_from(position.clamp(start, end) - start).expect("at most the batch's rows")
        };
        match &self.rows {
            SelectedRows::Range(range) => {
                let first = within(range.start);
                Chosen::Range(first..within(range.end).max(first))
            }
            SelectedRows::Drawn(drawn) => {
                let first = drawn.partition_point(|position| *position < start);
                let last = drawn.partition_point(|position| *position < end);
                Chosen::Listed(drawn[first..last].iter().map(|p| within(*p)).collect())
            }
        }
    }

    /// Whether an unreadable row before the readable row at `position` belongs to the run. Samples are
    /// drawn from readable rows, so that none does.
    pub(crate) fn has_reject(&self, position: u64) -> bool {
        match &self.rows {
            SelectedRows::Range(range) => {
                range.contains(&position) || (self.is_last && position == self.total)
            }
            SelectedRows::Drawn(_) => false,
        }
    }
}

impl SelectedRows {
    fn len(&self) -> u64 {
        match self {
            Self::Range(range) => range.end - range.start,
            Self::Drawn(rows) => rows.len() as u64,
        }
    }

    fn slice(self, piece: Range<u64>) -> Self {
        match self {
            Self::Range(range) => Self::Range(range.start + piece.start..range.start + piece.end),
            Self::Drawn(rows) => {
                let kept = rows.iter().skip(usize_of(piece.start));
                let kept = kept.take(usize_of(piece.end - piece.start));
                Self::Drawn(kept.copied().collect())
            }
        }
    }
}

fn usize_of(rows: u64) -> usize {
    usize::try_from(rows).expect("rows that were drawn are in memory")
}

/// Returns the positions of a shard among `rows`.
fn piece(shard: Shard, rows: u64) -> Range<u64> {
    let bound = |index: u64| {
        let bound = u128::from(rows) * u128::from(index) / u128::from(shard.count);
        u64::try_from(bound).expect("at most the rows")
    };
    bound(shard.index - 1)..bound(shard.index)
}

/// Draws `sample` of `total` positions, in order; every set is equally likely (Floyd's algorithm, in
/// Bentley and Floyd, "A sample of brilliance", 1987).
fn draw(sample: u64, total: u64, seed: u64) -> Vec<u64> {
    let mut draws = Draws::new(seed);
    let mut chosen = HashSet::with_capacity(usize_of(sample));
    for last in total - sample..total {
        let position = draws.below(usize_of(last + 1)) as u64;
        if !chosen.insert(position) {
            chosen.insert(last);
        }
    }
    let mut chosen: Vec<u64> = chosen.into_iter().collect();
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn positions(selection: &Selection, total: u64, batch: usize) -> Vec<u64> {
        let mut found = Vec::new();
        let mut start = 0;
        while start < total {
            let rows = batch.min(usize_of(total - start));
            match selection.of(start, rows) {
                Chosen::Range(range) => found.extend(range.map(|row| start + row as u64)),
                Chosen::Listed(rows) => found.extend(rows.iter().map(|row| start + *row as u64)),
            }
            start += rows as u64;
        }
        found
    }

    proptest! {
        #[test]
        fn shards_together_select_the_rows_of_one_run(
            total in 0_u64..200,
            sample in proptest::option::of(0_u64..200),
            limit in proptest::option::of(0_u64..200),
            count in 1_u64..9,
            seed in 0_u64..9,
            batch in 1_usize..50,
        ) {
            let wanted = RowSelection { sample, seed, limit, shard: None };
            let whole = Selection::new(total, wanted);
            let all = positions(&whole, total, batch);
            let n_wanted = sample.unwrap_or(total).min(total).min(limit.unwrap_or(total));
            prop_assert_eq!(all.len() as u64, n_wanted);
            prop_assert_eq!(whole.len(), n_wanted);
            prop_assert!(all.is_sorted());
            let shards = (1..=count).map(|index| {
                Selection::new(total, RowSelection { shard: Some(Shard { index, count }), ..wanted })
            });
            let shards: Vec<Selection> = shards.collect();
            let parts = shards.iter().flat_map(|shard| positions(shard, total, batch));
            prop_assert_eq!(parts.collect::<Vec<_>>(), all);
            for position in 0..=total {
                let holders = shards.iter().filter(|shard| shard.has_reject(position)).count();
                prop_assert_eq!(holders, usize::from(whole.has_reject(position)));
            }
        }
    }

    #[test]
    fn samples_are_uniform() {
        let mut counts = [0; 10];
        for seed in 0..2000 {
            let wanted = RowSelection { sample: Some(3), seed, ..RowSelection::default() };
            for position in positions(&Selection::new(10, wanted), 10, 4) {
                counts[usize_of(position)] += 1;
            }
        }
        // 600 each, with a deviation of 20.
        assert!(counts.iter().all(|count| (500..700).contains(count)), "{counts:?}");
    }

    #[test]
    fn shard_arguments_are_parsed() {
        let check = |text: &str, expected: Option<(u64, u64)>| {
            let shard = text.parse::<Shard>().ok();
            assert_eq!(shard.map(|s| (s.index, s.count)), expected, "{text}");
        };
        check("1/1", Some((1, 1)));
        check("3/8", Some((3, 8)));
        for wrong in ["0/8", "9/8", "3", "3/", "/8", "a/b", "-1/2", "1/0", "1/2/3", ""] {
            check(wrong, None);
        }
    }
}
