//! Ranking of responses by pairs: the mean probability of being the better one.
//!
//! A round robin of a pairwise judge (2506.05748, 2504.04950); our papers do not fix how pairs make
//! an order. The mean needs no fit, cannot fail to converge and stays in [0, 1].

use base::stats::from_count;

/// Returns the mean over each response's decided pairs; `None` for a response without one. Row `i`
/// of `against` has the probabilities that response `i` is better than each other one.
pub fn mean_wins(against: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let mean = |row: &Vec<Option<f64>>| {
        let decided: Vec<f64> = row.iter().flatten().copied().collect();
        let sum: f64 = decided.iter().sum();
        (!decided.is_empty()).then(|| sum / from_count(decided.len()))
    };
    against.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_pairs_do_not_count() {
        let against = [
            vec![None, Some(1.0), Some(0.5)],
            vec![Some(0.0), None, None],
            vec![Some(0.5), None, None],
            vec![None, None, None],
        ];
        let wins = mean_wins(&against);
        assert_eq!(wins, [Some(0.75), Some(0.0), Some(0.5), None]);
        assert_eq!(mean_wins(&[]), Vec::<Option<f64>>::new());
    }
}
