//! What was measured, where and when.

use base::time::{unix_seconds, utc_text};
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
            started: utc_text(unix_seconds()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_model_is_parsed() {
        let text = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: EPYC 9: the one\nmodel name\t: B\n";
        assert_eq!(cpu_model(text).as_deref(), Some("EPYC 9: the one"));
        assert_eq!(cpu_model("Features : fp asimd"), None);
    }
}
