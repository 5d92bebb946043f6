//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// The longest warm-up.
const LONGEST_WARM_UP: Duration = Duration::from_mins(10);

/// Runs a mixed load with hostile clients against the server and judges it
#[derive(Debug, Clone, Parser)]
#[command(
    name = "soak",
    after_help = "Examples:\n  cargo xtask soak --minutes 60\n  cargo xtask soak --memory 1GiB --minutes 5\n\n\
                  Writes soak.html, soak.json and server.log below --out.\n\
                  Exit code: 0 passed; 1 a check failed; 2 the soak could not be run."
)]
pub struct SoakOptions {
    /// Minutes of load, the drills at its beginning included
    #[arg(long, default_value_t = 60, conflicts_with = "seconds")]
    pub minutes: u64,
    /// Seconds of load, in the place of minutes
    #[arg(long)]
    pub seconds: Option<u64>,
    /// The server program; the one beside this program if not given
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// All attacks at full size, at once, on default limits, against a server that may hold so much
    /// memory, such as 1GiB
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    pub memory: Option<u64>,
    /// Folder of the report and of the server's log
    #[arg(long, value_name = "DIR", default_value = "target/soak")]
    pub out: PathBuf,
    /// Seed of the order of requests and of the times at which clients leave
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Run these attacks alone, by name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub attacks: Vec<String>,
}

impl SoakOptions {
    pub(crate) fn duration(&self) -> Duration {
        self.seconds.map_or(Duration::from_mins(self.minutes), Duration::from_secs)
    }

    /// The time after which memory counts.
    pub(crate) fn warm_up(&self) -> Duration {
        (self.duration() / 10).min(LONGEST_WARM_UP)
    }
}

/// Reads `512MiB` or `1GiB`.
fn memory_size(text: &str) -> Result<u64, String> {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20)];
    let found = units.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)));
    let (number, bytes) = found.ok_or("a size ends in MiB or GiB")?;
    let number: u64 = number.trim().parse().map_err(|_| "a size begins with a whole number")?;
    number.checked_mul(*bytes).filter(|size| *size > 0).ok_or_else(|| "no such size".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_of_mebibytes_or_gibibytes() {
        for (text, expected) in [("1GiB", 1 << 30), ("512MiB", 512 << 20), ("2 GiB", 2 << 30)] {
            assert_eq!(memory_size(text), Ok(expected), "{text}");
        }
        for text in ["1", "GiB", "1.5GiB", "-1MiB", "0MiB", "99999999999GiB", "1GB", ""] {
            assert!(memory_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn warm_up_is_a_tenth_of_the_time_and_ten_minutes_at_most() {
        for (args, expected) in [
            (&["soak", "--minutes", "60"][..], Duration::from_mins(6)),
            (&["soak", "--minutes", "600"], Duration::from_mins(10)),
            (&["soak", "--seconds", "20"], Duration::from_secs(2)),
        ] {
            assert_eq!(SoakOptions::parse_from(args).warm_up(), expected, "{args:?}");
        }
    }
}
