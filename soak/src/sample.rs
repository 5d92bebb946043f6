//! What the server holds: from `/proc` and `/metrics`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::setup::WATCH;
use crate::world::World;

/// What the server holds at one time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SoakSample {
    /// Seconds from the beginning of the load.
    pub at_s: f64,
    /// Resident bytes of the process.
    pub resident_bytes: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
    /// Permits and queues in use by name; `None` if `/metrics` gave no answer.
    pub held: Option<BTreeMap<String, f64>>,
}

/// Metrics whose values are work in hand, by the beginning of their lines.
const HELD: [&str; 5] = [
    "tribunal_held{",
    "tribunal_engine_queued{",
    "tribunal_engine_running{",
    "tribunal_engine_queued_tokens{",
    "tribunal_engine_blocks{",
];

/// What stays when the server is idle: its own caches, and the connection that reads the metrics.
const KEPT: [&str; 4] = ["stored_verdicts", "connections", "\"free\"", "\"cached\""];

/// Takes a sample of process `pid`; `None` if it is gone.
pub(crate) fn take(world: &World, pid: u32, at: Duration) -> Option<SoakSample> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    Some(SoakSample {
        at_s: at.as_secs_f64(),
        resident_bytes: number(&status, "VmRSS:")?.checked_mul(1024)?,
        descriptors: u64::try_from(descriptors).ok()?,
        threads: number(&status, "Threads:")?,
        held: metrics(world).map(|text| held(&text)),
    })
}

/// The number after the name of a line of `/proc/PID/status`.
fn number(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The text of `/metrics`.
pub(crate) fn metrics(world: &World) -> Option<String> {
    let reply = world.json(WATCH, ("GET", "/metrics"), "");
    world.note("watching", "GET /metrics", &reply);
    reply.ok().filter(|reply| reply.status == 200).map(|reply| reply.body)
}

fn held(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| HELD.iter().any(|name| line.starts_with(name)));
    let values = lines.filter_map(|line| {
        let (name, value) = line.rsplit_once(' ')?;
        let name = name.strip_prefix("tribunal_")?;
        Some((name.to_owned(), value.parse().ok()?))
    });
    values.collect()
}

impl SoakSample {
    /// Names and amounts of what an idle server does not hold.
    pub(crate) fn in_hand(&self) -> Option<BTreeMap<&str, f64>> {
        let held = self.held.as_ref()?.iter();
        let work = held
            .filter(|(name, value)| **value > 0.0 && !KEPT.iter().any(|kept| name.contains(kept)));
        Some(work.map(|(name, value)| (name.as_str(), *value)).collect())
    }

    /// The sum over the labels of a metric, or the value of one with this label.
    pub(crate) fn sum(&self, part: &str) -> Option<f64> {
        let held = self.held.as_ref()?.iter();
        Some(held.filter(|(name, _)| name.contains(part)).map(|(_, value)| value).sum())
    }
}

/// Replies by path pattern and status, from the text of `/metrics`.
pub(crate) fn replies(text: &str) -> BTreeMap<(String, u16), u64> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("tribunal_requests_total{"));
    let counts = lines.filter_map(|line| {
        let (labels, count) = line.rsplit_once("} ")?;
        let label = |name: &str| {
            let (_, rest) = labels.split_once(&format!("{name}=\""))?;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        Some(((label("route")?, label("code")?.parse().ok()?), count.parse().ok()?))
    });
    counts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "\
# HELP tribunal_held Work in hand.
tribunal_held{what=\"requests\"} 2
tribunal_held{what=\"items\"} 0
tribunal_held{what=\"connections\"} 1
tribunal_engine_running{model=\"a\"} 3
tribunal_engine_running{model=\"b\"} 4
tribunal_engine_blocks{model=\"a\",state=\"free\"} 90
tribunal_engine_blocks{model=\"a\",state=\"held\"} 1
tribunal_requests_total{route=\"/v1/score\",code=\"200\"} 17
tribunal_requests_total{route=\"/x\",code=\"500\"} 1
";

    #[test]
    fn work_in_hand_is_what_an_idle_server_does_not_hold() {
        let sample = SoakSample { held: Some(held(METRICS)), ..SoakSample::default() };
        let in_hand = sample.in_hand().expect("there are metrics");
        let names: Vec<&str> = in_hand.keys().copied().collect();
        assert_eq!(
            names,
            [
                "engine_blocks{model=\"a\",state=\"held\"}",
                "engine_running{model=\"a\"}",
                "engine_running{model=\"b\"}",
                "held{what=\"requests\"}",
            ]
        );
        assert_eq!(sample.sum("engine_running{"), Some(7.0));
        assert!(SoakSample::default().in_hand().is_none(), "no answer is not an idle server");
    }

    #[test]
    fn replies_are_counted_by_route_and_status() {
        let replies = replies(METRICS);
        assert_eq!(replies[&("/v1/score".to_owned(), 200)], 17);
        assert_eq!(replies[&("/x".to_owned(), 500)], 1);
    }

    #[test]
    fn status_lines_give_their_number() {
        let status = "Name:\tx\nVmRSS:\t  123 kB\nThreads:\t9\n";
        assert_eq!(number(status, "VmRSS:"), Some(123));
        assert_eq!(number(status, "Threads:"), Some(9));
        assert_eq!(number(status, "VmSwap:"), None);
    }
}
