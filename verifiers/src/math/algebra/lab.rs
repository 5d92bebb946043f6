//! Experiments.
use super::super::expr::Workspace;
use super::super::finding::{Assumptions, Finding};
use super::super::read::{self, Dialect};
use super::compare;
use crate::Fuel;

fn one(
    left: &str,
    right: &str,
    dialects: (Dialect, Dialect),
    expected: Option<bool>,
    times: &mut Vec<u128>,
) {
    let mut best = u128::MAX;
    let mut last = None;
    let mut used = 0;
    for _ in 0..3 {
        let mut fuel = Fuel::default();
        let mut ws = Workspace::new(&mut fuel);
        let (Ok(a), Ok(b)) = (
            read::expression(left, dialects.0, &mut ws),
            read::expression(right, dialects.1, &mut ws),
        ) else {
            if expected.is_none() {
                println!("UNREAD {left} ;; {right}");
            }
            return;
        };
        let before = ws.fuel.used();
        let start = std::time::Instant::now();
        let found = compare(a, b, Assumptions::default(), &mut ws);
        best = best.min(start.elapsed().as_nanos());
        used = ws.fuel.used() - before;
        last = Some(found);
    }
    times.push(best);
    let found = last.unwrap();
    let is_equal = matches!(found, Ok(Finding::Equal(_)));
    let is_different = matches!(found, Ok(Finding::Different(..)));
    let is_fine = match expected {
        Some(true) => is_equal,
        Some(false) => is_different,
        None => false,
    };
    if !is_fine {
        println!(
            "{expected:?} {best} ns, fuel {used} ({:.0} ns/unit): {left} ;; {right} => {found:?}",
            best as f64 / used.max(1) as f64
        );
    } else if used > 300 && best as f64 / used as f64 > 200.0 || best > 1_000_000 {
        println!("SLOW {best} ns, fuel {used}: {left} ;; {right}");
    }
}

#[test]
#[ignore = "lab"]
fn lab() {
    let text = std::fs::read_to_string("/tmp/alg_pairs.txt").unwrap();
    for line in text.lines().filter(|line| line.contains(";;")) {
        let (left, right) = line.split_once(";;").unwrap();
        one(
            left.trim(),
            right.trim(),
            (Dialect::Plain, Dialect::Plain),
            None,
            &mut Vec::new(),
        );
    }
}

#[test]
#[ignore = "lab"]
fn data() {
    let text = std::fs::read_to_string("/work/shared/data/math/latex_parse.jsonl").unwrap();
    let mut times = Vec::new();
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let (Some(g), Some(p)) = (row["gold"].as_str(), row["pred"].as_str()) else {
            continue;
        };
        one(
            g,
            p,
            (Dialect::Latex, Dialect::Plain),
            row["expected"].as_bool(),
            &mut times,
        );
    }
    times.sort();
    println!(
        "{} pairs, p50 {} p90 {} p99 {} max {}",
        times.len(),
        times[times.len() / 2],
        times[times.len() * 9 / 10],
        times[times.len() * 99 / 100],
        times[times.len() - 1]
    );
}
