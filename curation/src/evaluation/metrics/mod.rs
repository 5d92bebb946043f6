//! Metrics of public benchmarks of reward models, judges and process reward models.
//!
//! Every metric is a pure function of scores. A row without a score is neither right nor wrong:
//! [`Estimate`] has the metric over the judged rows, their number, and a lower bound with every
//! other row as wrong as possible.
//!
//! The definitions are those of the benchmarks' repositories; each module cites its own and marks
//! details of ours. A number that is not finite counts as missing.

mod best_of_n;
mod estimate;
mod interval;
mod judge_bench;
mod metric_row;
mod prm800k;
mod prm_bench;
mod process_bench;
mod reward_bench;
mod reward_bench_2;
mod rm_bench;
mod steps;
#[cfg(test)]
mod tests;

pub use best_of_n::{BestOfNSample, best_of_n};
pub use estimate::{BenchmarkReport, Estimate, Metric, estimate, share};
pub use interval::{Confidence, Interval, IntervalMethod, IntervalOptions, bootstrap, wilson};
pub use judge_bench::{BetterResponse, JudgeOrders, JudgedPair, PairPreference, judge_bench};
pub use metric_row::MetricRow;
pub use prm_bench::{PrmBenchRow, prm_bench};
pub use prm800k::{Prm800kRow, prm800k};
pub use process_bench::{FirstErrorFinding, ProcessBenchRow, process_bench};
pub use reward_bench::{RewardBenchPair, reward_bench};
pub use reward_bench_2::{RewardBench2Prompt, ScoredCompletions, reward_bench_2};
pub use rm_bench::{Domain, RmBenchRow, rm_bench};
pub use steps::{Confusion, auroc, first_below, harmonic_mean};

/// Returns a finite score.
fn finite(score: Option<f64>) -> Option<f64> {
    score.filter(|score| score.is_finite())
}

/// Returns the mean; `None` without values.
fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    (n > 0.0).then(|| sum / n)
}

/// Returns 1 or 0.
fn one_if(is_right: bool) -> f64 {
    f64::from(u8::from(is_right))
}
