//! What was found, as a table and as one line of JSON.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use base::memory;
use serde::Serialize;

use super::capacity::{Capacity, Speed};

/// Everything.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) kernels: Check,
    pub(super) models: Vec<ModelReport>,
}

/// What the machine is.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) isa: &'static str,
    pub(super) threads: usize,
    /// All of it, where the system tells.
    pub(super) memory_bytes: Option<u64>,
    /// What programs can still get of it.
    pub(super) available_bytes: Option<u64>,
}

/// One model.
#[derive(Debug, Serialize)]
pub(super) struct ModelReport {
    path: PathBuf,
    /// Whether it was made for this, since none was named.
    pub(super) made: bool,
    checks: Vec<Check>,
    #[serde(rename = "holds")]
    pub(super) capacity: Option<Capacity>,
    pub(super) speed: Option<Speed>,
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    name: &'static str,
    status: Status,
    detail: String,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Failed,
    Skipped,
}

impl Check {
    /// What was seen, or what is wrong.
    pub(super) fn of<T: Display, E: Display>(name: &'static str, what: Result<T, E>) -> Check {
        let (status, detail) = match what {
            Ok(seen) => (Status::Ok, seen.to_string()),
            Err(wrong) => (Status::Failed, wrong.to_string()),
        };
        Check { name, status, detail }
    }

    fn line(&self) -> String {
        let status = match self.status {
            Status::Ok => "ok",
            Status::Failed => "FAILED",
            Status::Skipped => "skipped",
        };
        format!("{:17} {status:8} {}\n", self.name, self.detail)
    }
}

impl ModelReport {
    /// Of a folder that nothing is known of yet.
    pub(super) fn new(path: &Path) -> ModelReport {
        ModelReport {
            path: path.to_owned(),
            made: false,
            checks: Vec::new(),
            capacity: None,
            speed: None,
        }
    }

    /// Adds what a check saw, or what is wrong.
    pub(super) fn check<T: Display, E: Display>(&mut self, name: &'static str, what: Result<T, E>) {
        self.checks.push(Check::of(name, what));
    }

    /// Adds a check that does not apply, and why.
    pub(super) fn skip(&mut self, name: &'static str, why: &str) {
        self.checks.push(Check { name, status: Status::Skipped, detail: why.to_owned() });
    }

    fn lines(&self) -> String {
        let made =
            if self.made { " (tiny and random, made for this: --model names another)" } else { "" };
        let mut text = format!("\n{:17} {}{made}\n", "model", self.path.display());
        text.extend(self.checks.iter().map(Check::line));
        let figures = self.capacity.iter().flat_map(Capacity::rows);
        for (name, figure) in figures.chain(self.speed.iter().flat_map(Speed::rows)) {
            writeln!(text, "{name:17} {figure}").expect("writing to memory does not fail");
        }
        text
    }
}

impl Report {
    /// Whether nothing failed.
    pub(super) fn is_ok(&self) -> bool {
        let checks = self.models.iter().flat_map(|model| &model.checks);
        let mut all = checks.chain([&self.kernels]);
        all.all(|check| check.status != Status::Failed)
    }

    /// Plain text for people.
    pub(super) fn table(&self) -> String {
        let machine = &self.machine;
        let memory = match (machine.memory_bytes, machine.available_bytes) {
            (Some(all), Some(free)) => {
                format!("{} memory, {} of it free", memory::gib(all), memory::gib(free))
            }
            (None, _) | (_, None) => "memory not known".to_owned(),
        };
        let (isa, threads) = (machine.isa, machine.threads);
        let mut text = format!("{:17} {isa}, {threads} threads, {memory}\n", "machine");
        text.push_str(&self.kernels.line());
        text.extend(self.models.iter().map(ModelReport::lines));
        text.push_str(if self.is_ok() {
            "\nEverything is ok.\n"
        } else {
            "\nSomething FAILED; the lines above say what.\n"
        });
        text
    }

    /// One JSON object on one line, with `ok` beside the findings.
    pub(super) fn json(&self) -> String {
        let mut object = serde_json::to_value(self).expect("a report serialises");
        object["ok"] = self.is_ok().into();
        object.to_string()
    }
}
