//! Isotonic regression by pooling adjacent violators.

use base::stats::from_count;
use base::stats::sigmoid;

use super::{FitError, LabelledValue};
use crate::calibration::map::Calibration;

/// Probabilities closer than this are merged, so that points stay distinct in a file of decimal
/// numbers.
const CLOSE: f64 = 1e-12;

/// Adjacent samples, in the order of their raw values, that share a fitted value.
struct Block {
    /// The least and the greatest raw probability.
    low: f64,
    high: f64,
    samples: usize,
    right: usize,
}

impl Block {
    fn value(&self) -> f64 {
        from_count(self.right) / from_count(self.samples)
    }

    fn merge(&mut self, later: &Self) {
        self.high = later.high;
        self.samples += later.samples;
        self.right += later.right;
    }

    /// Whether the value of `later` is not above this one's, decided in integers.
    fn is_violated_by(&self, later: &Self) -> bool {
        let cross = |a: usize, b: usize| a as u128 * b as u128;
        cross(later.right, self.samples) <= cross(self.right, later.samples)
    }
}

/// Fits a line with a point at each end of each block: level within blocks, rising between them.
pub(super) fn isotonic(samples: &[LabelledValue]) -> Result<Calibration, FitError> {
    let mut pooled: Vec<Block> = Vec::new();
    for block in ties(samples) {
        pooled.push(block);
        while let [.., before, last] = pooled.as_slice()
            && before.is_violated_by(last)
        {
            let last = pooled.pop().expect("there are two");
            pooled.last_mut().expect("there was one before").merge(&last);
        }
    }
    if pooled.len() < 2 {
        return Err(FitError::NotRising);
    }
    let mut points = Vec::with_capacity(2 * pooled.len());
    for block in &pooled {
        points.push([block.low, block.value()]);
        if block.high > block.low {
            points.push([block.high, block.value()]);
        }
    }
    Ok(Calibration::Isotonic { points })
}

/// Groups samples of equal raw probability, in rising order.
fn ties(samples: &[LabelledValue]) -> Vec<Block> {
    let said = |sample: &LabelledValue| (sigmoid(sample.raw), sample.right);
    let mut said: Vec<(f64, bool)> = samples.iter().map(said).collect();
    said.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut blocks: Vec<Block> = Vec::new();
    for (probability, right) in said {
        let block =
            Block { low: probability, high: probability, samples: 1, right: usize::from(right) };
        match blocks.last_mut() {
            Some(last) if probability - last.low <= CLOSE => {
                last.samples += 1;
                last.right += block.right;
            }
            _ => blocks.push(block),
        }
    }
    blocks
}
