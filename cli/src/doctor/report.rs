//! The report, as a table and as one line of JSON.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use base::memory;
use serde::Serialize;

use super::capacity::{Capacity, Speed};

/// Everything.
#[derive(Debug, Serialize)]
pub(super) struct DoctorReport {
    pub(super) machine: Machine,
    pub(super) kernels: DoctorCheck,
    pub(super) gpu: DoctorCheck,
    pub(super) device: DoctorCheck,
    pub(super) sandbox: DoctorCheck,
    pub(super) models: Vec<ModelReport>,
}

/// What the machine is.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) isa: &'static str,
    pub(super) threads: usize,
    /// Total memory, where the system reports it.
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
    checks: Vec<DoctorCheck>,
    #[serde(rename = "holds")]
    pub(super) capacity: Option<Capacity>,
    pub(super) speed: Option<Speed>,
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct DoctorCheck {
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

impl DoctorCheck {
    /// The measurement, or the failure.
    pub(super) fn of<T: Display, E: Display>(
        name: &'static str,
        what: Result<T, E>,
    ) -> DoctorCheck {
        let (status, detail) = match what {
            Ok(seen) => (Status::Ok, seen.to_string()),
            Err(wrong) => (Status::Failed, wrong.to_string()),
        };
        DoctorCheck { name, status, detail }
    }

    /// A check that does not apply, and why.
    pub(super) fn skipped(name: &'static str, why: &str) -> DoctorCheck {
        DoctorCheck { name, status: Status::Skipped, detail: why.to_owned() }
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
    /// The report on a folder before any check.
    pub(super) fn new(path: &Path) -> ModelReport {
        ModelReport {
            path: path.to_owned(),
            made: false,
            checks: Vec::new(),
            capacity: None,
            speed: None,
        }
    }

    /// Adds the measurement of a check, or its failure.
    pub(super) fn check<T: Display, E: Display>(&mut self, name: &'static str, what: Result<T, E>) {
        self.checks.push(DoctorCheck::of(name, what));
    }

    /// Adds a check that does not apply, and why.
    pub(super) fn skip(&mut self, name: &'static str, why: &str) {
        self.checks.push(DoctorCheck::skipped(name, why));
    }

    fn lines(&self) -> String {
        let made =
            if self.made { " (tiny and random, made for this: --model names another)" } else { "" };
        let mut text = format!("\n{:17} {}{made}\n", "model", self.path.display());
        text.extend(self.checks.iter().map(DoctorCheck::line));
        let figures = self.capacity.iter().flat_map(Capacity::rows);
        for (name, figure) in figures.chain(self.speed.iter().flat_map(Speed::rows)) {
            writeln!(text, "{name:17} {figure}").expect("writing to memory does not fail");
        }
        text
    }
}

impl DoctorReport {
    /// Whether nothing failed.
    pub(super) fn is_ok(&self) -> bool {
        let checks = self.models.iter().flat_map(|model| &model.checks);
        let mut all = checks.chain([&self.kernels, &self.gpu, &self.device, &self.sandbox]);
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
        text.push_str(&self.gpu.line());
        text.push_str(&self.device.line());
        text.push_str(&self.sandbox.line());
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
