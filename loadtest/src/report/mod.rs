//! The results of a run as a table, as JSON and as an HTML file.

mod about;
mod chart;
mod html;
mod json;
mod page;
mod plots;
mod table;

use std::io::{self, Write};
use std::path::Path;

use base::file::write_atomic;

use crate::args::BenchServe;
use crate::error::LoadError;
use crate::memory::Memory;
use crate::outcome::Class;
use crate::phase::Phase;
use crate::sweep::{Knee, knee};

pub use about::{About, Machine};
pub use page::{Page, TimeSeries};

/// Above this share of its core, the generator may limit the measurement.
const BUSY_GENERATOR: f64 = 0.9;

/// Above this p99 lag, the generator shows in the latencies of a fast server.
const LATE_GENERATOR_MS: f64 = 2.0;

/// The results of a run.
#[derive(Debug, Clone)]
pub struct LoadReport {
    /// What was measured, where and when.
    pub about: About,
    /// The phases in order; a sweep begins with its closed loop.
    pub phases: Vec<Phase>,
    /// The knee of a sweep.
    pub knee: Option<Knee>,
    /// Resident memory of the server; `None` without `--pid`.
    pub memory: Option<Memory>,
}

impl LoadReport {
    pub(crate) fn new(about: About, phases: Vec<Phase>, memory: Option<Memory>) -> Self {
        let knee = knee(&phases, about.rules.objective);
        Self { about, phases, knee, memory }
    }

    /// 0, or 1 when the run [failed](Self::failed).
    pub fn exit_code(&self) -> u8 {
        u8::from(self.failed())
    }

    /// Whether a reply was lost or broken, warm-up included, or no request got a 200.
    pub fn failed(&self) -> bool {
        self.broken_promises() > 0 || self.replies() == 0
    }

    fn broken_promises(&self) -> u64 {
        let tallies = self.phases.iter().flat_map(|phase| [&phase.tally, &phase.warmup]);
        tallies.map(crate::Tally::broken_promises).sum()
    }

    fn replies(&self) -> u64 {
        let tallies = self.phases.iter().map(|phase| phase.tally);
        tallies.map(|tally| tally.get(Class::Ok) + tally.get(Class::Late)).sum()
    }

    /// Caveats about the figures, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let broken = self.broken_promises();
        if broken > 0 {
            notes.push(format!("FAILED: {broken} replies were lost or broken, warm-up included."));
        }
        if self.replies() == 0 {
            notes.push("FAILED: no measured request got a 200.".to_owned());
        }
        if self.knee.is_some_and(|knee| knee.doubtful) {
            notes.push("A load below the knee did worse than the knee: run it again.".to_owned());
        }
        let heaviest = self.phases.last().map(Phase::offered);
        if self.knee.is_some_and(|knee| Some(knee.offered_rps) == heaviest) {
            notes.push("The heaviest load was carried: the knee lies above it.".to_owned());
        }
        let cached: u64 = self.phases.iter().map(|phase| phase.verdicts.cached()).sum();
        if cached > 0 {
            notes.push(format!(
                "The server's cache gave {cached} verdicts: for none, choose another --seed or \
                 --cache bypass."
            ));
        }
        notes.extend(self.generator_notes());
        notes
    }

    /// Caveats about phases that the generator itself may have limited.
    fn generator_notes(&self) -> Vec<String> {
        let list = |remark: &dyn Fn(&Phase) -> Option<String>| {
            let remarks = self.phases.iter().filter_map(|phase| {
                remark(phase).map(|remark| format!("{} ({remark})", phase.load.name()))
            });
            let remarks = remarks.collect::<Vec<_>>().join(", ");
            (!remarks.is_empty()).then_some(remarks)
        };
        let busy = list(&|phase| {
            let cpu = phase.generator_cpu.filter(|cpu| *cpu > BUSY_GENERATOR);
            cpu.map(|cpu| format!("{:.0} % of a core", cpu * 100.0))
        });
        let late = list(&|phase| {
            let lag = phase.generator_lag.quantile_ms(0.99);
            (lag > LATE_GENERATOR_MS).then(|| format!("{lag:.1} ms"))
        });
        let busy = busy.map(|list| format!("The generator may have been the limit: {list}."));
        let late = late.map(|list| {
            format!("The generator was late at p99, which the latencies include: {list}.")
        });
        busy.into_iter().chain(late).collect()
    }

    /// The plain text table.
    pub fn table(&self) -> String {
        table::render(self)
    }

    /// The summary as one JSON object on one line.
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// The HTML file.
    ///
    /// # Errors
    /// [`LoadError::Plot`] when a plot cannot be drawn.
    pub fn html(&self) -> Result<String, LoadError> {
        html::render(self)
    }

    /// Writes the table to `out`, and with `--json` the summary as the last line.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, args: &BenchServe, out: &mut impl Write) -> io::Result<()> {
        out.write_all(self.table().as_bytes())?;
        if args.json.is_some() {
            writeln!(out, "{}", self.json())?;
        }
        out.flush()
    }

    /// Writes the files that `args` name.
    pub(crate) fn write_files(&self, args: &BenchServe) -> Result<(), LoadError> {
        if let Some(Some(path)) = &args.json {
            write_file(path, &(self.json() + "\n"))?;
        }
        if let Some(path) = &args.report {
            write_file(path, &self.html()?)?;
        }
        Ok(())
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), LoadError> {
    write_atomic(path, text.as_bytes())
        .map_err(|source| LoadError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
