//! Learning rates over the steps of a run.

use serde::{Deserialize, Serialize};

/// The course of the rate after its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleShape {
    /// Constant.
    #[default]
    Constant,
    /// Falls linearly.
    Linear,
    /// Falls by half a cosine (Loshchilov and Hutter, SGDR, arXiv 1608.03983).
    Cosine,
}

/// A schedule: a linear warm-up from 0, then a shape down to a share of the peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The course after the warm-up.
    #[serde(default)]
    pub shape: ScheduleShape,
    /// Steps until the peak is reached.
    #[serde(default)]
    pub warmup: u64,
    /// The share of the peak at the last step, in [0, 1].
    #[serde(default)]
    pub floor: f64,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule { shape: ScheduleShape::Constant, warmup: 0, floor: 0.0 }
    }
}

impl Schedule {
    /// The share of the peak rate at a step, counted from 1, of a run of `steps`.
    pub fn share(&self, step: u64, steps: u64) -> f64 {
        if step <= self.warmup {
            return step as f64 / (self.warmup + 1) as f64;
        }
        let span = steps.saturating_sub(self.warmup).max(2) - 1;
        let done = (step - self.warmup - 1).min(span) as f64 / span as f64;
        let falling = match self.shape {
            ScheduleShape::Constant => return 1.0,
            ScheduleShape::Linear => 1.0 - done,
            ScheduleShape::Cosine => f64::midpoint(1.0, (std::f64::consts::PI * done).cos()),
        };
        self.floor + (1.0 - self.floor) * falling
    }
}

#[cfg(test)]
mod tests {
    use super::{Schedule, ScheduleShape};

    #[test]
    fn shares_by_step() {
        let check = |shape, warmup, floor, expected: &[f64]| {
            let schedule = Schedule { shape, warmup, floor };
            let steps = expected.len() as u64;
            for (step, want) in (1..).zip(expected) {
                let got = schedule.share(step, steps);
                assert!((got - want).abs() < 1e-12, "{schedule:?} at {step}: {got}");
            }
        };
        check(ScheduleShape::Constant, 0, 0.0, &[1.0, 1.0, 1.0]);
        check(ScheduleShape::Constant, 2, 0.5, &[1.0 / 3.0, 2.0 / 3.0, 1.0, 1.0]);
        check(ScheduleShape::Linear, 0, 0.0, &[1.0, 0.5, 0.0]);
        check(ScheduleShape::Linear, 1, 0.2, &[0.5, 1.0, 0.6, 0.2]);
        check(ScheduleShape::Cosine, 0, 0.0, &[1.0, 0.5, 0.0]);
        check(ScheduleShape::Cosine, 0, 0.1, &[1.0, 0.55, 0.1]);
        check(ScheduleShape::Linear, 0, 0.0, &[1.0]);
    }

    #[test]
    fn rate_after_the_last_step_is_the_floor() {
        let schedule = Schedule { shape: ScheduleShape::Linear, warmup: 0, floor: 0.25 };
        assert!((schedule.share(99, 10) - 0.25).abs() < 1e-12);
    }
}
