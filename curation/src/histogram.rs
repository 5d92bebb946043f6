//! Streaming histograms of scores that do not depend on the order of rows.
//!
//! Bin widths are powers of two and bins begin at multiples of them. Bins start fine and are merged in
//! pairs when there are too many, so that one pass is enough and the range need not be known.

use std::collections::VecDeque;

use arrow::array::{Array, ArrayRef, AsArray as _, Float64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Schema};

/// Maximum bins while counting.
const FINE_BINS: usize = 4096;

/// Maximum bins of the result.
const SHOWN_BINS: usize = 24;

/// The exponent of the finest bins.
const FINEST: i32 = -20;

/// Maximum number of columns, so that wide tables are not slowed down.
const MAX_COLUMNS: usize = 16;

/// Histogram of a numeric column.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The column, with dots between the names of nested ones.
    pub column: String,
    /// Number of rows with a finite number.
    pub rows: u64,
    /// Number of other rows.
    pub without: u64,
    /// Mean of the numbers.
    pub mean: f64,
    /// The smallest number.
    pub min: f64,
    /// The largest number.
    pub max: f64,
    /// Adjacent bars of equal width, ascending.
    pub bars: Vec<Bar>,
}

/// Count of numbers in `low..high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Lower bound, included.
    pub low: f64,
    /// Upper bound, excluded.
    pub high: f64,
    /// Count of numbers.
    pub count: u64,
}

/// The columns of scores of a table.
pub(crate) struct ScoreHistograms(Vec<HistogramBuilder>);

/// The numbers of one column, as far as they were counted.
pub(crate) struct HistogramBuilder {
    path: Vec<String>,
    exponent: i32,
    /// Counts of bins with no gap between them.
    bins: VecDeque<u64>,
    /// The number of the first bin.
    first: i64,
    rows: u64,
    without: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl ScoreHistograms {
    pub(crate) fn new(schema: &Schema) -> Self {
        let mut paths = Vec::new();
        for field in schema.fields() {
            score_paths(vec![field.name().clone()], field.data_type(), &mut paths);
        }
        paths.truncate(MAX_COLUMNS);
        Self(paths.into_iter().map(HistogramBuilder::new).collect())
    }

    pub(crate) fn add(&mut self, batch: &RecordBatch) {
        for counting in &mut self.0 {
            let mut names = counting.path.iter();
            let column = names.next().and_then(|name| batch.column_by_name(name));
            let values = names.try_fold(column.cloned(), |column, name| {
                let column = column?;
                let parts = column.as_struct_opt()?;
                let part = parts.column_by_name(name)?;
                Some(Some(with_nulls(part, &column)))
            });
            let Some(values) = values.flatten().and_then(|v| cast(&v, &DataType::Float64).ok())
            else {
                continue;
            };
            counting.add(values.as_primitive::<Float64Type>());
        }
    }

    pub(crate) fn finish(self) -> Vec<Histogram> {
        self.0.into_iter().filter_map(HistogramBuilder::finish).collect()
    }
}

/// A part of an object, null where the object is.
fn with_nulls(part: &ArrayRef, object: &ArrayRef) -> ArrayRef {
    match object.nulls() {
        Some(nulls) => {
            let is_null = arrow::array::BooleanArray::new(!nulls.inner(), None);
            arrow::compute::nullif(part, &is_null).unwrap_or_else(|_| part.clone())
        }
        None => part.clone(),
    }
}

/// Numbers that are scores by their names: `score`, `reward`, `pass_rate` and `margin`, and what ends
/// in them.
fn score_paths(path: Vec<String>, data_type: &DataType, found: &mut Vec<Vec<String>>) {
    if let DataType::Struct(fields) = data_type {
        for field in fields {
            let mut path = path.clone();
            path.push(field.name().clone());
            score_paths(path, field.data_type(), found);
        }
        return;
    }
    let name = path.last().map_or(String::new(), |name| name.to_lowercase());
    let is_score =
        ["score", "reward", "pass_rate", "margin"].iter().any(|word| name.ends_with(word));
    if is_score && data_type.is_numeric() {
        found.push(path);
    }
}

impl HistogramBuilder {
    pub(crate) fn new(path: Vec<String>) -> Self {
        Self {
            path,
            exponent: FINEST,
            bins: VecDeque::new(),
            first: 0,
            rows: 0,
            without: 0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }

    fn add(&mut self, values: &Float64Array) {
        values.iter().for_each(|value| self.count(value));
    }

    /// Counts a value; `None` and non-finite values count as missing.
    pub(crate) fn count(&mut self, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            self.without += 1;
            return;
        };
        self.rows += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let index = self.room_for(value);
        self.bins[index] += 1;
    }

    /// The place of a value's bin, once there is one.
    fn room_for(&mut self, value: f64) -> usize {
        loop {
            let scaled = value * 2f64.powi(-self.exponent);
            if scaled.abs() > 1e15 {
                self.join();
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "at most 1e15 by the line above")]
            let bin = scaled.floor() as i64;
            if self.bins.is_empty() {
                self.first = bin;
            }
            let bins = i64::try_from(self.bins.len()).expect("there are few bins");
            let last = self.first + bins - 1;
            let (low, high) = (bin.min(self.first), bin.max(last));
            if usize::try_from(high - low).is_ok_and(|span| span < FINE_BINS) {
                while self.first > bin {
                    self.bins.push_front(0);
                    self.first -= 1;
                }
                let index = usize::try_from(bin - self.first).expect("the first bin is not above");
                if self.bins.len() <= index {
                    self.bins.resize(index + 1, 0);
                }
                return index;
            }
            self.join();
        }
    }

    /// Joins bins in pairs.
    fn join(&mut self) {
        let first = self.first.div_euclid(2);
        let mut joined = VecDeque::new();
        for (bin, count) in (self.first..).zip(&self.bins) {
            let index = usize::try_from(bin.div_euclid(2) - first).expect("bins rise");
            if joined.len() <= index {
                joined.push_back(0);
            }
            joined[index] += count;
        }
        (self.bins, self.first) = (joined, first);
        self.exponent += 1;
    }

    /// `None` if nothing was counted.
    pub(crate) fn finish(mut self) -> Option<Histogram> {
        if self.rows == 0 {
            return None;
        }
        while self.bins.len() > SHOWN_BINS {
            self.join();
        }
        let width = 2f64.powi(self.exponent);
        #[expect(clippy::cast_precision_loss, reason = "bins are at most 1e15")]
        let bars = (self.first..)
            .zip(&self.bins)
            .map(|(bin, count)| Bar {
                low: bin as f64 * width,
                high: (bin + 1) as f64 * width,
                count: *count,
            })
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a mean of 2^53 rows is not exact")]
        let mean = self.sum / self.rows as f64;
        Some(Histogram {
            column: self.path.join("."),
            rows: self.rows,
            without: self.without,
            mean,
            min: self.min,
            max: self.max,
            bars,
        })
    }
}

impl Histogram {
    /// Renders the bars as one line of block characters.
    pub fn sparkline(&self) -> String {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let most = self.bars.iter().map(|bar| bar.count).max().unwrap_or(0);
        let block = |bar: &Bar| match bar.count {
            0 => ' ',
            count => {
                let eighths = (u128::from(count) * 8).div_ceil(u128::from(most));
                BLOCKS[usize::try_from(eighths).unwrap_or(8).clamp(1, 8) - 1]
            }
        };
        self.bars.iter().map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted(values: &[Option<f64>]) -> Histogram {
        let mut counting = HistogramBuilder::new(vec!["score".to_owned()]);
        counting.add(&values.iter().copied().collect());
        counting.finish().expect("there are numbers")
    }

    #[test]
    fn bars_cover_the_numbers() {
        #[track_caller]
        fn check(values: &[f64], bars: usize, line: &str) {
            let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
            let found = counted(&values);
            assert_eq!(found.bars.len(), bars, "{values:?}");
            assert_eq!(found.sparkline(), line, "{values:?}");
        }
        check(&[0.5], 1, "█");
        check(&[0.0, 1.0, 1.0], 17, "▄               █");
        check(&[-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 17, "▁               █");
    }

    #[test]
    fn numbers_far_apart_have_few_bars() {
        for values in [[1e300, -1e300], [f64::MAX, f64::MIN], [0.0, 5e-324], [1e15, 1e-15]] {
            let found = counted(&values.map(Some));
            assert!(found.bars.len() <= SHOWN_BINS, "{values:?}");
            assert_eq!(found.bars.iter().map(|bar| bar.count).sum::<u64>(), 2, "{values:?}");
        }
    }

    #[test]
    fn nan_values_are_counted_separately() {
        let found = counted(&[Some(1.0), None, Some(f64::NAN), Some(f64::INFINITY)]);
        assert_eq!((found.rows, found.without), (1, 3));
    }

    #[test]
    fn scores_are_found_by_name() {
        use arrow::datatypes::{Field, Fields};
        let number = |name: &str| Field::new(name, DataType::Float64, true);
        let math: Fields =
            vec![number("score"), number("raw"), Field::new("status", DataType::Utf8, true)].into();
        let scores: Fields = vec![Field::new("math", DataType::Struct(math), true)].into();
        let schema = Schema::new(vec![
            number("weight"),
            number("mean_reward"),
            Field::new("scores", DataType::Struct(scores), true),
        ]);
        let paths: Vec<String> =
            ScoreHistograms::new(&schema).0.iter().map(|c| c.path.join(".")).collect();
        assert_eq!(paths, ["mean_reward", "scores.math.score"]);
    }

    proptest! {
        #[test]
        fn bars_do_not_depend_on_order(mut values in prop::collection::vec(-1e6..1e6f64, 1..3000)) {
            let of = |values: &[f64]| counted(&values.iter().copied().map(Some).collect::<Vec<_>>());
            let forwards = of(&values);
            values.reverse();
            let backwards = of(&values);
            prop_assert_eq!(&forwards.bars, &backwards.bars);
            prop_assert!(forwards.bars.len() <= SHOWN_BINS);
            let all: u64 = forwards.bars.iter().map(|bar| bar.count).sum();
            prop_assert_eq!(all, values.len() as u64);
            for bar in &forwards.bars {
                let inside = values.iter().filter(|v| bar.low <= **v && **v < bar.high).count();
                prop_assert_eq!(bar.count, inside as u64);
            }
        }
    }
}
