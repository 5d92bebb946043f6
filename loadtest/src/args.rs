//! Command-line arguments of `tribunal bench serve`, unresolved.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use openapi::CacheMode;

use crate::wire::Wire;

const EXAMPLES: &str = "\
Examples:
  # How fast can it go? 16 connections, each with one request of 64 inputs in flight.
  tribunal bench serve --url http://127.0.0.1:8080

  # How does it behave at 200 requests/s, whatever it answers? With a report.
  tribunal bench serve --rate 200 --duration 30s --report rate.html

  # What does OpenRLHF see, with one sample a request?
  tribunal bench serve --wire openrlhf --batch 1 --concurrency 64

  # Where is the knee, for answers within 50 ms? And does the server's memory stay flat?
  tribunal bench serve --sweep --slo 50ms --pid \"$(pidof tribunal)\" --report sweep.html --json

Durations are a number and a unit: us, ms, s, m or h.
Exit status: 0 done; 1 the run failed, or a reply was lost or broken; 2 wrong use.";

/// Put load on a scoring server and report latency, throughput and errors.
///
/// Without `--rate` or `--sweep` the loop is closed: each connection sends its next request when
/// it has the reply to the last. With them it is open: requests are sent at Poisson arrival times,
/// and latency counts from the time at which a request was due.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchServe {
    /// Server, as http://HOST:PORT; requests go to the route of --wire below it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub url: String,

    /// File whose first line that is not blank is the API key
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,

    /// Scorer to call
    #[arg(long, value_name = "NAME", default_value = "math")]
    pub scorer: String,

    /// Interface to speak; the same inputs in each
    #[arg(long, value_enum, value_name = "NAME", default_value = "native")]
    pub wire: Wire,

    /// Inputs to send: JSONL with `response` (and `prompt`, `reference`), or `gold` and `pred`;
    /// taken in order, from the start again after the end
    #[arg(long, value_name = "FILE.jsonl", conflicts_with = "generate")]
    pub input: Option<PathBuf>,

    /// Inputs to generate when there is no --input
    #[arg(long, value_enum, value_name = "KIND", default_value = "gsm8k-like")]
    pub generate: Generate,

    /// Seed of the generated inputs and of the arrival times
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Inputs in each request
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub batch: usize,

    /// Never let a cache answer. Generated inputs: each one differs from all others [default:
    /// true]; with false, 4096 inputs take turns. Rows of --input are sent as they are: true means
    /// `--cache bypass` [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub unique: Option<bool>,

    /// Cache option of each request: `bypass` neither reads nor writes the server's cache
    /// [default: use]
    #[arg(long, value_enum, value_name = "MODE")]
    pub cache: Option<Cache>,

    /// Closed loop and the estimate of --sweep: connections, each with one request in flight
    /// [default: 16]
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub concurrency: Option<usize>,

    /// Closed loop: stop after this many requests, instead of --duration
    #[arg(long, value_name = "N", conflicts_with_all = ["duration", "rate", "sweep"])]
    pub requests: Option<u64>,

    /// Measured time of the run, or of each load of --sweep [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,

    /// Open loop: requests per second, with Poisson arrivals
    #[arg(long, value_name = "R", allow_hyphen_values = true, conflicts_with = "sweep")]
    pub rate: Option<f64>,

    /// Open loop: most connections; a request that is due while all are busy waits, and the wait
    /// is latency [default: 256]
    #[arg(long, value_name = "N")]
    pub connections: Option<usize>,

    /// Give a request up this long after it was due
    #[arg(
        long, value_name = "TIME", default_value = "10s",
        value_parser = parse_duration, allow_hyphen_values = true
    )]
    pub timeout: Duration,

    /// Deadline sent with each request, in milliseconds; a 200 after it is `late`
    /// [default: none]
    #[arg(long, value_name = "MS")]
    pub deadline_ms: Option<u64>,

    /// Load before each measurement, not measured
    #[arg(
        long, value_name = "TIME", default_value = "2s",
        value_parser = parse_duration, allow_hyphen_values = true
    )]
    pub warmup: Duration,

    /// Estimate the peak with a closed loop, then run open loops from 10 % to 200 % of it and
    /// name the knee: the last load with goodput of at least 95 % of what was offered and p99
    /// within the objective
    #[arg(long)]
    pub sweep: bool,

    /// Objective: a verdict counts as goodput when its reply came within this time
    #[arg(
        long, value_name = "TIME", default_value = "50ms",
        value_parser = parse_duration, allow_hyphen_values = true
    )]
    pub slo: Duration,

    /// Also print the summary as one JSON object, the last line of stdout; with FILE, write it
    /// there too
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub json: Option<Option<PathBuf>>,

    /// Write a report with plots: one HTML file that needs no network
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Text for the head of the report, such as the server's commit
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,

    /// Process id of a server on this machine, whose resident memory is sampled every 0.5 s
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// What inputs to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generate {
    /// Worked solutions of word problems, about 300 bytes, that end in `A: 18`; one in four is
    /// wrong
    Gsm8kLike,
}

/// The cache option of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    /// Read and write the server's cache
    Use,
    /// Neither read nor write it
    Bypass,
}

impl From<Cache> for CacheMode {
    fn from(cache: Cache) -> Self {
        match cache {
            Cache::Use => Self::Use,
            Cache::Bypass => Self::Bypass,
        }
    }
}

impl BenchServe {
    /// The flags that determine the measurement, as typed. Nothing in them is secret, since the key is
    /// in a file.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = vec![format!("--url {}", self.url), format!("--scorer {}", self.scorer)];
        let mut push = |name: &str, value: Option<String>| {
            flags.extend(value.map(|value| format!("--{name} {value}")));
        };
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let wire = self.wire.to_possible_value().filter(|_| self.wire != Wire::Native);
        push("wire", wire.map(|wire| wire.get_name().to_owned()));
        push("api-key-file", path(&self.api_key_file));
        push("input", path(&self.input));
        let generated = match self.generate {
            Generate::Gsm8kLike => "gsm8k-like",
        };
        push("generate", self.input.is_none().then(|| generated.to_owned()));
        push("seed", Some(self.seed.to_string()));
        push("batch", Some(self.batch.to_string()));
        push("unique", self.unique.map(|unique| unique.to_string()));
        let cache = self.cache.map(|cache| match cache {
            Cache::Use => "use".to_owned(),
            Cache::Bypass => "bypass".to_owned(),
        });
        push("cache", cache);
        push("concurrency", self.concurrency.map(|n| n.to_string()));
        push("requests", self.requests.map(|n| n.to_string()));
        push("duration", self.duration.map(time_text));
        push("rate", self.rate.map(|rate| rate.to_string()));
        push("connections", self.connections.map(|n| n.to_string()));
        push("timeout", Some(time_text(self.timeout)));
        push("deadline-ms", self.deadline_ms.map(|ms| ms.to_string()));
        push("warmup", Some(time_text(self.warmup)));
        push("slo", Some(time_text(self.slo)));
        push("pid", self.pid.map(|pid| pid.to_string()));
        flags.extend(self.sweep.then(|| "--sweep".to_owned()));
        flags
    }
}

/// A duration in the format of [`parse_duration`], to the microsecond.
pub(crate) fn time_text(time: Duration) -> String {
    match time.as_micros() {
        micros if micros % 1_000_000 == 0 => format!("{}s", time.as_secs()),
        micros if micros % 1000 == 0 => format!("{}ms", time.as_millis()),
        micros => format!("{micros}us"),
    }
}

/// Reads a number and a unit, such as `1.5s` or `200ms`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_s = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "" => return Err("has no unit: write us, ms, s, m or h after the number".to_owned()),
        _ => return Err(format!("`{unit}` is no unit: use us, ms, s, m or h")),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("`{number}` is no number"))?;
    if number < 0.0 {
        return Err("a time cannot be negative".to_owned());
    }
    Duration::try_from_secs_f64(number * unit_s).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        bench: BenchServe,
    }

    fn parse(line: &str) -> Result<BenchServe, clap::Error> {
        let words = ["bench"].into_iter().chain(line.split_whitespace());
        Program::try_parse_from(words).map(|program| program.bench)
    }

    #[test]
    fn durations_are_parsed() {
        let cases = [
            ("10s", Some(10_000_000)),
            ("1.5s", Some(1_500_000)),
            ("50ms", Some(50_000)),
            ("250us", Some(250)),
            ("2m", Some(120_000_000)),
            ("1h", Some(3_600_000_000)),
            ("0s", Some(0)),
            ("10", None),
            ("s", None),
            ("-1s", None),
            ("NaNs", None),
            ("1e400s", None),
            ("10d", None),
            ("1s2", None),
            ("", None),
        ];
        for (text, micros) in cases {
            let parsed = parse_duration(text).ok();
            assert_eq!(parsed, micros.map(Duration::from_micros), "{text}");
        }
    }

    #[test]
    fn definition_passes_clap_checks() {
        Program::command().debug_assert();
    }

    #[test]
    fn every_flag_is_documented_with_its_default() {
        for arg in Program::command().get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.is_empty(), "{} has no help", arg.get_id());
        }
        let help = Program::command().render_long_help().to_string();
        for default in ["[default: 16]", "[default: 10s]", "[default: 256]", "[default: 50ms]"] {
            assert!(help.contains(default), "{default} is not in the help");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let wrong = [
            "--rate 10 --sweep",
            "--rate ten",
            "--duration -5s",
            "--duration 5s --requests 10",
            "--rate 10 --requests 10",
            "--rate 10 --concurrency 4",
            "--sweep --requests 10",
            "--input x.jsonl --generate gsm8k-like",
            "--batch -1",
            "--cache refresh",
            "--api-key secret",
        ];
        for line in wrong {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn optional_values_are_parsed() {
        let args = parse("--json --unique --report r.html").expect("this line is right");
        assert_eq!((args.json, args.unique), (Some(None), Some(true)));
        let args = parse("--json s.json --unique false").expect("this line is right");
        assert_eq!(args.json, Some(Some(PathBuf::from("s.json"))));
        assert_eq!(args.unique, Some(false));
    }

    #[test]
    fn printed_flags_parse_to_the_same_run() {
        let lines = [
            "",
            "--rate 12.5 --connections 8 --duration 1m --deadline-ms 100 --cache bypass --pid 1",
            "--sweep --concurrency 3 --seed 9 --batch 7 --unique false --slo 1.5ms",
            "--input rows.jsonl --api-key-file key --requests 5 --warmup 0s --timeout 300ms",
            "--wire vllm-classify --scorer rm",
        ];
        for line in lines {
            let flags = parse(line).expect(line).flags();
            let again = parse(&flags.join(" ")).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again.flags(), flags, "{line}");
        }
    }
}
