//! What was measured, where and when.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::args::{BenchServe, Cache};
use crate::config::{self, TimeLimits};
use crate::error::LoadError;

/// What was measured, where and when.
#[derive(Debug, Clone)]
pub struct About {
    /// The caller's own text, such as the server's commit.
    pub label: Option<String>,
    /// The flags of the run.
    pub flags: Vec<String>,
    /// The server.
    pub url: String,
    /// The scorer.
    pub scorer: String,
    /// Where the inputs came from.
    pub inputs: String,
    /// Inputs in each request.
    pub batch: usize,
    /// The cache option of each request.
    pub cache: &'static str,
    /// Seed of inputs and arrivals.
    pub seed: u64,
    /// When the run began, in UTC, such as `2026-03-01T12:00:00Z`.
    pub started: String,
    /// The machine of the generator.
    pub machine: Machine,
    pub(crate) rules: TimeLimits,
}

/// The machine of the generator.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Logical processors available to this program.
    pub cores: Option<usize>,
    /// Model of the processor.
    pub cpu: Option<String>,
}

impl About {
    pub(crate) fn new(args: &BenchServe) -> Result<Self, LoadError> {
        Ok(Self {
            label: args.label.clone(),
            flags: args.flags(),
            url: args.url.clone(),
            scorer: args.scorer.clone(),
            inputs: inputs(args),
            batch: args.batch,
            cache: match config::cache(args)? {
                Cache::Use => "use",
                Cache::Bypass => "bypass",
            },
            seed: args.seed,
            started: utc(unix_seconds()),
            machine: Machine::this(),
            rules: config::rules(args),
        })
    }
}

fn inputs(args: &BenchServe) -> String {
    match (&args.input, args.unique.unwrap_or(true)) {
        (Some(path), _) => format!("rows of {}", path.display()),
        (None, true) => "generated, all distinct".to_owned(),
        (None, false) => "generated, taking turns".to_owned(),
    }
}

impl Machine {
    fn this() -> Self {
        let cores = std::thread::available_parallelism().ok().map(usize::from);
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self { cores, cpu: cpu_model(&cpuinfo) }
    }
}

/// The first `model name` of `/proc/cpuinfo`; some architectures have none.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut models = fields.filter(|(name, _)| name.trim() == "model name");
    models.next().map(|(_, model)| model.trim().to_owned())
}

fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Seconds since 1970 as a date and time in UTC.
fn utc(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    let (year, month, day) = date(seconds / DAY);
    let clock = seconds % DAY;
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days since 1970 as a date. Years are counted from March, so that the leap day is their last:
/// the months from March on then have lengths that one formula gives.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    const DAYS_FROM_YEAR_0: u64 = 719_468;
    let days = days + DAYS_FROM_YEAR_0;
    let (era, in_era) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * in_year + 2) / 153;
    let day = in_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_gregorian() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (1_790_000_000, "2026-09-21T14:13:20Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, expected) in table {
            assert_eq!(utc(seconds), expected);
        }
    }

    #[test]
    fn processor_model_is_parsed() {
        let text = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: EPYC 9: the one\nmodel name\t: B\n";
        assert_eq!(cpu_model(text).as_deref(), Some("EPYC 9: the one"));
        assert_eq!(cpu_model("Features : fp asimd"), None);
    }
}
