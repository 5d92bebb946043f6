//! Best of n: accuracy of the sample that a scorer prefers (*Let's Verify Step by Step*,
//! 2305.20050, and its repository).
//!
//! There, n of a problem's samples are drawn without replacement, the one with the greatest score
//! is chosen, and 400 such draws are averaged; a problem with fewer samples than the others is
//! filled up with empty ones, and where only empty ones are drawn it is not solved. Here the mean
//! over all draws is computed: a sample is chosen if it is drawn and none that is better is, which
//! for the sample with b better ones among N has probability C(N-1-b, n-1) / C(N, n). Samples of
//! equal score share their probability.

use std::collections::BTreeMap;

use super::{
    BenchmarkReport, Interval, IntervalOptions, Metric, MetricRow, estimate, finite, mean, one_if,
};

/// A sample of a solution.
#[derive(Debug, Clone, PartialEq)]
pub struct BestOfNSample {
    /// The problem.
    pub problem: String,
    /// Whether it is right.
    pub is_right: bool,
    /// Its score.
    pub score: Option<f64>,
    /// Whether it came to an answer. One that did not may be drawn and is never chosen.
    pub is_answered: bool,
}

/// A problem with its samples, which are resampled together.
#[derive(Debug, Clone, Default)]
struct SampledProblem {
    /// Samples with an answer: whether it is right, and the score.
    samples: Vec<(bool, Option<f64>)>,
    /// All samples.
    n_samples: usize,
}

impl MetricRow for SampledProblem {
    fn stratum(&self) -> &'static str {
        ""
    }

    fn is_judged(&self) -> bool {
        self.samples.iter().all(|(_, score)| score.is_some())
    }

    /// Samples without a score are the best of all if they are wrong, and the worst if right.
    fn as_wrong(&self) -> Self {
        let worst = |is_right: bool| if is_right { f64::MIN } else { f64::MAX };
        let sample = |(is_right, score): &(bool, Option<f64>)| {
            (*is_right, Some(score.unwrap_or(worst(*is_right))))
        };
        Self { samples: self.samples.iter().map(sample).collect(), n_samples: self.n_samples }
    }
}

/// Computes the share of problems solved by the best of n samples, for each requested n up to the
/// greatest number of samples of a problem, and by any sample.
pub fn best_of_n(
    samples: &[BestOfNSample],
    counts: &[usize],
    intervals: IntervalOptions,
) -> BenchmarkReport {
    let mut by_problem: BTreeMap<&str, SampledProblem> = BTreeMap::new();
    for sample in samples {
        let problem = by_problem.entry(&sample.problem).or_default();
        problem.n_samples += 1;
        if sample.is_answered {
            problem.samples.push((sample.is_right, finite(sample.score)));
        }
    }
    let problems: Vec<SampledProblem> = by_problem.into_values().collect();
    let all: Vec<&SampledProblem> = problems.iter().collect();
    let most = problems.iter().map(|p| p.n_samples).max().unwrap_or(0);
    let wanted: Vec<usize> = counts.iter().copied().filter(|n| (1..=most).contains(n)).collect();
    let mut metrics = Vec::new();
    for n in wanted.iter().rev() {
        let metric =
            |problems: &[&SampledProblem]| mean(problems.iter().map(|p| p.solved(*n, most)));
        metrics.push(Metric::new(format!("best of {n}"), estimate(&all, &metric, intervals)));
    }
    let any = |problems: &[&SampledProblem]| {
        mean(problems.iter().map(|p| one_if(p.samples.iter().any(|(right, _)| *right))))
    };
    let mut ceiling = estimate(&all, &any, IntervalOptions { resamples: 0, ..intervals });
    ceiling.interval = None::<Interval>;
    metrics.push(Metric::new("some sample is right", ceiling));
    let notes = vec![format!("{} problems with at most {most} samples", problems.len())];
    BenchmarkReport { metrics, notes }
}

impl SampledProblem {
    /// Returns the probability that the best of n drawn from `most` places is right; the last
    /// places are empty.
    fn solved(&self, n: usize, most: usize) -> f64 {
        let mut scored: Vec<(f64, bool)> = self
            .samples
            .iter()
            .filter_map(|(is_right, score)| Some(((*score)?, *is_right)))
            .collect();
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let (mut better, mut solved) = (0, 0.0);
        for tied in scored.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            // One of these is drawn and no better one.
            let chosen = none_drawn(better, n, most) - none_drawn(better + tied.len(), n, most);
            let right = mean(tied.iter().map(|(_, is_right)| one_if(*is_right)));
            solved += chosen * right.expect("a chunk has an element");
            better += tied.len();
        }
        solved
    }
}

/// Returns the probability that n draws from `all` places miss the first `first`: C(all - first, n)
/// / C(all, n), as a product that cannot overflow.
fn none_drawn(first: usize, n: usize, all: usize) -> f64 {
    if first + n > all {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 samples")]
    let factor = |place: usize| (all - n - place) as f64 / (all - place) as f64;
    (0..first).map(factor).product()
}
