//! The time that a verifier takes for each of many pairs.

#![expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]

use std::time::Instant;

/// Judges each of `count` pairs alone, and prints the rate, percentiles and the slowest ones by the best of
/// many times, which is processor time: what interrupts a run only slows it.
pub(crate) fn print(name: &str, count: usize, judge: impl Fn(usize)) {
    const TIMES: usize = 40;
    let mut best = vec![(u128::MAX, 0); count];
    for _ in 0..TIMES {
        for (index, best) in best.iter_mut().enumerate() {
            let start = Instant::now();
            judge(index);
            *best = (best.0.min(start.elapsed().as_nanos()), index);
        }
    }
    let all: u128 = best.iter().map(|(time, _)| time).sum();
    best.sort_unstable();
    let at = |per_mille: usize| best[(count - 1) * per_mille / 1000].0 as f64 / 1000.0;
    println!(
        "{name}: {count} pairs, {:.0} pairs/s, p50 {:.1} µs, p90 {:.1} µs, p99 {:.1} µs, worst {:.1} µs",
        count as f64 * 1e9 / all as f64,
        at(500),
        at(900),
        at(990),
        at(1000)
    );
    let slowest: Vec<String> = best
        .iter()
        .rev()
        .take(6)
        .map(|(time, index)| format!("{} ({} µs)", index + 1, time / 1000))
        .collect();
    println!("  slowest: {}", slowest.join(", "));
}
