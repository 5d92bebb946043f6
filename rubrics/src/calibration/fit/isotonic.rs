//! Isotonic regression by pooling adjacent violators.

use base::stats::from_count;
use base::stats::sigmoid;

use super::{FitError, Sample};
use crate::calibration::map::Calibration;

/// Probabilities that are closer are one: a file of decimal numbers must keep points apart.
const CLOSE: f64 = 1e-12;

/// Samples in a row, in the order of their raw values, that share a value.
struct Block {
    /// The least and the greatest probability said.
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

    /// Whether `later` has a value that is not above this one's, decided in whole numbers.
    fn is_violated_by(&self, later: &Self) -> bool {
        let cross = |a: usize, b: usize| a as u128 * b as u128;
        cross(later.right, self.samples) <= cross(self.right, later.samples)
    }
}

/// A point at each end of each block, so that the line is level within blocks and rises between
/// them.
pub(super) fn isotonic(samples: &[Sample]) -> Result<Calibration, FitError> {
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

/// Samples that say the same probability, in rising order.
fn ties(samples: &[Sample]) -> Vec<Block> {
    let said = |sample: &Sample| (sigmoid(sample.raw), sample.right);
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
