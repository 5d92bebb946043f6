//! Evaluation of scorers on public benchmarks: the inputs of a benchmark, the scores that they got, and
//! the metrics.

mod benchmarks;
mod input_scores;
mod inputs;
pub mod metrics;

pub use self::benchmarks::{Benchmark, BenchmarkOptions, BenchmarkRows, NeutralLabel};
pub use self::input_scores::{InputScores, VerdictValue};
pub use self::inputs::BenchmarkInputs;
