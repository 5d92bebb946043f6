//! Whether the machine kept a program from running.
//!
//! A limit by the clock is a program's own fault if it slept, and the machine's if it waited for a
//! processor. Linux counts the time in which any process waited for one (pressure stall
//! information, `/proc/pressure/cpu`); where it does not, no program counts as kept from running.

use std::time::{Duration, Instant};

/// Watches the machine from its start on.
#[derive(Debug, Clone, Copy)]
pub struct PressureWatch {
    start: Instant,
    stalled: Option<Duration>,
}

impl PressureWatch {
    /// Begins now.
    pub fn start() -> Self {
        Self { start: Instant::now(), stalled: stalled() }
    }

    /// Returns whether a program that has used `cpu` since the start would have run on, but for
    /// other load.
    pub fn was_starved(&self, cpu: Duration) -> bool {
        let stalled = stalled().zip(self.stalled).map(|(now, then)| now.saturating_sub(then));
        stalled.is_some_and(|stalled| is_starved(cpu, self.start.elapsed(), stalled))
    }
}

/// A program that sleeps uses nearly no processor time. One of many threads makes some pressure
/// by itself, but meets its limit of processor time first.
fn is_starved(cpu: Duration, elapsed: Duration, stalled: Duration) -> bool {
    cpu >= elapsed / 10 && stalled >= elapsed / 2
}

/// Time since the machine's start in which a process waited for a processor.
fn stalled() -> Option<Duration> {
    total(&std::fs::read_to_string("/proc/pressure/cpu").ok()?)
}

/// The microseconds of `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`.
fn total(pressure: &str) -> Option<Duration> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    let (_, micros) = some.rsplit_once("total=")?;
    micros.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starved_programs_are_told_from_sleeping_ones() {
        for (cpu, elapsed, stalled, expected) in [
            (9, 21, 20, true),
            (3, 21, 20, true),
            // It slept.
            (0, 21, 20, false),
            (1, 21, 20, false),
            // The machine was free.
            (9, 21, 0, false),
            (9, 21, 10, false),
        ] {
            let [cpu, elapsed, stalled] = [cpu, elapsed, stalled].map(Duration::from_secs);
            assert_eq!(is_starved(cpu, elapsed, stalled), expected, "{cpu:?} {stalled:?}");
        }
    }

    #[test]
    fn totals_are_read() {
        let file = "some avg10=0.00 avg60=1.50 avg300=0.00 total=1500000\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        for (text, expected) in [
            (file, Some(Duration::from_millis(1500))),
            ("", None),
            ("some avg10=0.00", None),
            ("some total=many", None),
        ] {
            assert_eq!(total(text), expected, "{text}");
        }
    }
}
