//! Progress of a run, as data; rendering it is left to the caller.

use std::collections::VecDeque;
use std::time::Duration;

/// Steps over which the rate is measured: enough to be stable, few enough to follow a change.
const WINDOW: usize = 20;

/// Progress of a run.
#[derive(Clone, Debug)]
pub struct RunProgress {
    steps: u64,
    marks: VecDeque<(u64, Duration)>,
    reward: Option<f64>,
}

/// The figures of one progress line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgressLine {
    /// Completed steps.
    pub step: u64,
    /// Steps of the run.
    pub steps: u64,
    /// Time since this process began.
    pub elapsed: Duration,
    /// Steps per second over the last steps; `None` before the second step of this process.
    pub steps_per_s: Option<f64>,
    /// Time to the end at that rate.
    pub remaining: Option<Duration>,
    /// The last mean reward.
    pub reward: Option<f64>,
}

impl RunProgress {
    /// A run of `steps` steps.
    pub fn new(steps: u64) -> Self {
        Self { steps, marks: VecDeque::new(), reward: None }
    }

    /// Records the end of `step`, `elapsed` after the process began. Without a reward the last one
    /// stays.
    pub fn observe(&mut self, step: u64, elapsed: Duration, reward: Option<f64>) -> ProgressLine {
        if self.marks.len() > WINDOW {
            self.marks.pop_front();
        }
        self.marks.push_back((step, elapsed));
        self.reward = reward.filter(|reward| reward.is_finite()).or(self.reward);
        let steps_per_s = self.rate();
        let left = self.steps.saturating_sub(step) as f64;
        let remaining = steps_per_s.map(|rate| Duration::try_from_secs_f64(left / rate));
        ProgressLine {
            step,
            steps: self.steps,
            elapsed,
            steps_per_s,
            remaining: remaining.and_then(Result::ok),
            reward: self.reward,
        }
    }

    fn rate(&self) -> Option<f64> {
        let ((first, began), (last, ended)) = (self.marks.front()?, self.marks.back()?);
        let time = ended.saturating_sub(*began).as_secs_f64();
        let steps = last.saturating_sub(*first) as f64;
        (steps > 0.0 && time > 0.0).then(|| steps / time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-9)
    }

    #[test]
    fn rate_and_remaining_time_follow_the_last_steps() {
        let at = |seconds| Duration::from_secs(seconds);
        let mut progress = RunProgress::new(100);
        // Resumed at step 41: the pace of an earlier process does not count.
        let line = progress.observe(41, at(7), None);
        assert_eq!((line.steps_per_s, line.remaining, line.reward), (None, None, None));
        let line = progress.observe(42, at(9), Some(0.25));
        assert!(close(line.steps_per_s, 0.5), "{line:?}");
        assert!(close(line.remaining.map(|r| r.as_secs_f64()), 116.0), "{line:?}");
        assert_eq!((line.step, line.steps, line.elapsed), (42, 100, at(9)));
        let line = progress.observe(43, at(11), Some(f64::NAN));
        assert_eq!(line.reward, Some(0.25));
        // From here on a step takes a second.
        let last = (44..=80).map(|step| progress.observe(step, at(step - 32), None)).last();
        assert!(close(last.and_then(|line| line.steps_per_s), 1.0), "{last:?}");
        let over = progress.observe(120, at(88), None);
        assert_eq!(over.remaining, Some(Duration::ZERO));
        let same = RunProgress::new(1).observe(1, Duration::ZERO, None);
        assert_eq!(same.remaining, None);
    }
}
