//! The judgement: each promise with its bound and what was found.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::sample::SoakSample;

/// The steepest slope of resident memory, in MiB a minute.
const STEEPEST: f64 = 1.0;

/// Shortest window of a slope: attacks come and go by hundreds of mebibytes, and caches fill up to
/// their sizes.
const SHORTEST_WINDOW_S: f64 = 600.0;

/// Longest p99 of the steady client beside all attacks.
const LONGEST_P99_MS: f64 = 250.0;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The bound holds.
    Passed,
    /// It does not, or what it is about could not be measured.
    Failed,
    /// The run was too short for it, or of another sort.
    NotJudged,
}

/// A promise, its bound, and what was found.
#[derive(Debug, Clone, Serialize)]
pub struct SoakCheck {
    /// What is promised.
    pub name: &'static str,
    /// The bound.
    pub bound: String,
    /// What was found.
    pub found: String,
    /// Whether the bound holds.
    pub standing: Standing,
}

/// All that is judged.
pub(crate) struct Findings<'a> {
    pub(crate) samples: &'a [SoakSample],
    /// The server at rest before the load, and after it.
    pub(crate) idle: &'a SoakSample,
    pub(crate) last: &'a SoakSample,
    pub(crate) warm_up: Duration,
    pub(crate) n_faults: u64,
    /// How the server ended before it was to end, or what it was at its end.
    pub(crate) end: Result<(), String>,
    /// Replies of the measured process by path and status.
    pub(crate) replies: &'a BTreeMap<(String, u16), u64>,
    /// Documented paths.
    pub(crate) paths: Vec<&'a str>,
    pub(crate) memory: Option<u64>,
    /// p99 of the steady client's 200s, and their number.
    pub(crate) steady_p99_ms: f64,
    pub(crate) steady_ok: u64,
}

pub(crate) fn judge(findings: &Findings<'_>) -> Vec<SoakCheck> {
    let mut checks = vec![
        end(findings),
        check("no reply breaks a rule", "0", findings.n_faults.to_string(), findings.n_faults == 0),
        statuses(findings.replies),
        routes(findings),
        permits(findings.last),
        back("descriptors", findings, |sample| sample.descriptors),
        back("threads", findings, |sample| sample.threads),
        resident_slope(findings),
    ];
    if let Some(limit) = findings.memory {
        let peak = findings.samples.iter().map(|sample| sample.resident_bytes).max();
        let found = peak.map_or("no sample".to_owned(), base::memory::mib);
        let holds = peak.is_some_and(|peak| peak <= limit);
        checks.push(check("resident memory", base::memory::mib(limit), found, holds));
        let p99 = findings.steady_p99_ms;
        let found = format!("{p99:.1} ms of {} replies", findings.steady_ok);
        let holds = findings.steady_ok > 0 && p99 <= LONGEST_P99_MS;
        checks.push(check(
            "p99 of the steady client",
            format!("{LONGEST_P99_MS} ms"),
            found,
            holds,
        ));
    }
    checks
}

fn check(
    name: &'static str,
    bound: impl Into<String>,
    found: impl Into<String>,
    holds: bool,
) -> SoakCheck {
    let standing = if holds { Standing::Passed } else { Standing::Failed };
    SoakCheck { name, bound: bound.into(), found: found.into(), standing }
}

fn end(findings: &Findings<'_>) -> SoakCheck {
    let found = findings.end.as_ref().err().map_or("it did", String::as_str);
    check("the server ran to SIGTERM and ended with 0", "it did", found, findings.end.is_ok())
}

fn statuses(replies: &BTreeMap<(String, u16), u64>) -> SoakCheck {
    let bad = replies.iter().filter(|((_, code), _)| *code >= 500 && !matches!(code, 503 | 504));
    let bad: Vec<String> =
        bad.map(|((route, code), count)| format!("{route} {code}: {count}")).collect();
    let holds = bad.is_empty() && !replies.is_empty();
    let found = if replies.is_empty() { "no metrics".to_owned() } else { bad.join(", ") };
    check("5xx in the server's own count", "503 and 504 alone", found, holds)
}

fn routes(findings: &Findings<'_>) -> SoakCheck {
    let answered = |path: &&str| findings.replies.contains_key(&((*path).to_owned(), 200));
    let silent: Vec<&str> = findings.paths.iter().filter(|path| !answered(path)).copied().collect();
    check("documented paths without a 200", "none", silent.join(", "), silent.is_empty())
}

fn permits(last: &SoakSample) -> SoakCheck {
    let in_hand = last.in_hand();
    let found = in_hand.as_ref().map_or("no metrics".to_owned(), |held| {
        held.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    });
    let holds = in_hand.is_some_and(|held| held.is_empty());
    check("permits and queues in use at the end", "none", found, holds)
}

fn back(
    name: &'static str,
    findings: &Findings<'_>,
    amount: impl Fn(&SoakSample) -> u64,
) -> SoakCheck {
    let (idle, last) = (amount(findings.idle), amount(findings.last));
    check(name, format!("{idle}, as before the load"), last.to_string(), idle > 0 && last <= idle)
}

fn resident_slope(findings: &Findings<'_>) -> SoakCheck {
    let name = "slope of resident memory after the warm-up";
    let bound = format!("{STEEPEST} MiB a minute");
    let from = findings.warm_up.as_secs_f64();
    let measured: Vec<(f64, f64)> = findings
        .samples
        .iter()
        .filter(|sample| sample.at_s >= from)
        .map(|sample| (sample.at_s / 60.0, mebibytes(sample.resident_bytes)))
        .collect();
    let window = findings.samples.last().map_or(0.0, |last| last.at_s - from);
    if window < SHORTEST_WINDOW_S {
        let found = format!("a window of {window:.0} s is too short");
        return SoakCheck { name, bound, found, standing: Standing::NotJudged };
    }
    match slope(&measured) {
        Some(slope) => check(name, bound, format!("{slope:.3} MiB a minute"), slope < STEEPEST),
        None => check(name, bound, "too few samples", false),
    }
}

#[expect(clippy::cast_precision_loss, reason = "mebibytes to a few digits")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The slope of the line of least squares; `None` for fewer than two places.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let mean = |values: Vec<f64>| base::stats::mean(&values);
    let (x, y) = (
        mean(points.iter().map(|point| point.0).collect())?,
        mean(points.iter().map(|point| point.1).collect())?,
    );
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        (above + (point.0 - x) * (point.1 - y), below + (point.0 - x).powi(2))
    });
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: f64, mib: u64) -> SoakSample {
        SoakSample {
            at_s,
            resident_bytes: mib << 20,
            descriptors: 10,
            threads: 5,
            held: Some(BTreeMap::from([("held{what=\"items\"}".to_owned(), 0.0)])),
        }
    }

    /// The names of the checks that do not hold after `change`.
    fn failed(
        change: impl FnOnce(&mut Vec<SoakSample>, &mut SoakSample, &mut Findings<'_>),
    ) -> Vec<&'static str> {
        let mut samples: Vec<SoakSample> = (0..700).map(|at| sample(f64::from(at), 100)).collect();
        let (idle, mut last) = (sample(0.0, 100), sample(701.0, 100));
        let replies = BTreeMap::from([(("/v1/score".to_owned(), 200), 5)]);
        let mut findings = Findings {
            samples: &[],
            idle: &idle,
            last: &idle,
            warm_up: Duration::from_secs(20),
            n_faults: 0,
            end: Ok(()),
            replies: &replies,
            paths: vec!["/v1/score"],
            memory: Some(128 << 20),
            steady_p99_ms: 20.0,
            steady_ok: 100,
        };
        change(&mut samples, &mut last, &mut findings);
        let checks = judge(&Findings { samples: &samples, last: &last, ..findings });
        let failed = checks.iter().filter(|check| check.standing == Standing::Failed);
        failed.map(|check| check.name).collect()
    }

    #[test]
    fn quiet_server_passes() {
        assert_eq!(failed(|_, _, _| ()), [""; 0]);
    }

    #[test]
    fn each_broken_promise_fails_its_check() {
        let slope = "slope of resident memory after the warm-up";
        assert_eq!(
            failed(|samples, _, _| {
                for (at, sample) in (0..).zip(samples) {
                    sample.resident_bytes += at << 14;
                }
            }),
            [""; 0],
            "0.94 MiB a minute"
        );
        assert_eq!(
            failed(|samples, _, _| {
                for (at, sample) in (0..).zip(samples) {
                    sample.resident_bytes += at * 18_000;
                }
            }),
            [slope]
        );
        assert_eq!(
            failed(|samples, _, _| samples[7].resident_bytes = 1 << 30),
            ["resident memory"]
        );
        assert_eq!(failed(|_, last, _| last.descriptors = 11), ["descriptors"]);
        assert_eq!(failed(|_, last, _| last.threads = 6), ["threads"]);
        let permits = "permits and queues in use at the end";
        assert_eq!(failed(|_, last, _| last.held = None), [permits]);
        assert_eq!(
            failed(|_, last, _| {
                last.held = Some(BTreeMap::from([("held{what=\"jobs\"}".to_owned(), 1.0)]));
            }),
            [permits]
        );
        assert_eq!(failed(|_, _, found| found.n_faults = 1), ["no reply breaks a rule"]);
        assert_eq!(failed(|_, _, found| found.steady_p99_ms = 251.0), ["p99 of the steady client"]);
        assert_eq!(failed(|_, _, found| found.steady_ok = 0), ["p99 of the steady client"]);
        assert_eq!(
            failed(|_, _, found| found.end = Err("signal: 9".to_owned())),
            ["the server ran to SIGTERM and ended with 0"]
        );
        assert_eq!(
            failed(|_, _, found| found.paths.push("/new")),
            ["documented paths without a 200"]
        );
    }

    #[test]
    fn statuses_of_the_server_are_judged() {
        let standing = |code| {
            let replies = BTreeMap::from([(("/x".to_owned(), code), 1)]);
            statuses(&replies).standing
        };
        for code in [200, 422, 429, 503, 504] {
            assert_eq!(standing(code), Standing::Passed, "{code}");
        }
        for code in [500, 502, 507] {
            assert_eq!(standing(code), Standing::Failed, "{code}");
        }
        assert_eq!(statuses(&BTreeMap::new()).standing, Standing::Failed);
    }

    #[test]
    fn slope_is_that_of_least_squares() {
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[(1.0, 5.0), (1.0, 7.0)]), None);
        let found = slope(&[(0.0, 1.0), (1.0, 2.0), (2.0, 6.0)]).expect("three places");
        assert!((found - 2.5).abs() < 1e-12, "{found}");
    }
}
