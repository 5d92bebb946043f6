//! What every workload reports: lines of the table, tokens, and the statistics for them.

use serde::Serialize;

/// Tokens of a workload, in one round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Counts {
    /// Run through the model.
    pub(super) computed_tokens: usize,
    /// Distinct tokens, which must be run through the model.
    pub(super) unique_tokens: usize,
    /// Computed tokens a second, in the median round.
    pub(super) tokens_per_s: f64,
}

/// One line of the table.
pub(super) struct FigureRow {
    pub(super) workload: &'static str,
    pub(super) name: &'static str,
    pub(super) figure: String,
    /// The target, and whether it was reached.
    pub(super) target: Option<(String, bool)>,
}

impl FigureRow {
    /// A figure without a target.
    pub(super) fn plain(workload: &'static str, name: &'static str, figure: String) -> FigureRow {
        FigureRow { workload, name, figure, target: None }
    }

    /// The figure with a target.
    pub(super) fn against(mut self, target: &str, met: bool) -> FigureRow {
        self.target = Some((target.to_owned(), met));
        self
    }
}

/// The figures of a workload.
pub(super) trait Figures {
    /// Lines of the table.
    fn rows(&self) -> Vec<FigureRow>;
    /// Its tokens.
    fn tokens(&self) -> Counts;
    /// Whether an answer failed or differs from the forward's.
    fn failed(&self) -> bool;
}

/// The median (the upper one of an even number); NaN of none.
pub(super) fn median(numbers: &[f64]) -> f64 {
    base::stats::upper_median(numbers).unwrap_or(f64::NAN)
}

/// Number of distinct tokens of the sequences, where a token is distinct by its prefix: each must be
/// computed once.
pub(crate) fn unique_tokens<'a>(sequences: impl IntoIterator<Item = &'a [u32]>) -> usize {
    let mut sorted: Vec<&[u32]> = sequences.into_iter().collect();
    sorted.sort_unstable();
    let in_common = |pair: &[&[u32]]| {
        let pairs = pair[0].iter().zip(pair[1]);
        pairs.take_while(|(a, b)| a == b).count()
    };
    let shared: usize = sorted.windows(2).map(in_common).sum();
    sorted.iter().map(|sequence| sequence.len()).sum::<usize>() - shared
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are below 2^53")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::{median, unique_tokens};

    #[test]
    fn tokens_count_once_for_each_beginning() {
        let check = |sequences: &[&[u32]], expected: usize| {
            assert_eq!(unique_tokens(sequences.iter().copied()), expected, "{sequences:?}");
        };
        check(&[], 0);
        check(&[&[1, 2, 3]], 3);
        check(&[&[1, 2, 3], &[1, 2, 3]], 3);
        check(&[&[1, 2, 3], &[4], &[1, 2, 5], &[1, 2]], 5);
        check(&[&[1, 2], &[2, 1]], 4);
    }

    #[test]
    fn medians() {
        for (numbers, expected) in
            [(vec![3.0], 3.0), (vec![5.0, 1.0, 3.0], 3.0), (vec![4.0, 1.0], 4.0)]
        {
            assert_eq!(median(&numbers).to_bits(), f64::to_bits(expected), "{numbers:?}");
        }
        assert!(median(&[]).is_nan());
    }
}
