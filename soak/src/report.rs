//! The report: text, JSON, and one HTML page.

use std::fmt;
use std::path::Path;

use loadtest::{Page, Quantiles, TimeSeries};
use serde::Serialize;

use crate::SoakError;
use crate::args::SoakOptions;
use crate::judge::{SoakCheck, Standing, mebibytes};
use crate::mixed::Steadiness;
use crate::sample::SoakSample;
use crate::server::Confinement;
use crate::world::RequestCounts;

/// What was run.
#[derive(Debug, Serialize)]
pub(crate) struct About {
    seconds: u64,
    warm_up_s: u64,
    seed: u64,
    memory_limit_bytes: Option<u64>,
    confinement: String,
    attacks: Vec<String>,
    cores: Option<usize>,
    finished_unix_s: u64,
}

impl About {
    pub(crate) fn new(options: &SoakOptions, confinement: &Confinement) -> Self {
        Self {
            seconds: options.duration().as_secs(),
            warm_up_s: options.warm_up().as_secs(),
            seed: options.seed,
            memory_limit_bytes: options.memory,
            confinement: confinement.describe(),
            attacks: options.attacks.clone(),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            finished_unix_s: base::time::unix_seconds(),
        }
    }
}

/// What was measured.
pub(crate) struct SoakFigures {
    pub(crate) steady: Steadiness,
    pub(crate) alone: Steadiness,
    pub(crate) samples: Vec<SoakSample>,
    pub(crate) last: SoakSample,
}

#[derive(Debug, Serialize)]
struct SteadySummary {
    /// Milliseconds of 200s without other clients, and beside them.
    alone: Quantiles,
    beside_load: Quantiles,
    /// Milliseconds of refusals and lost replies.
    refused: Quantiles,
}

/// The result of a soak.
#[derive(Debug, Serialize)]
pub struct SoakReport {
    about: About,
    /// Every promise.
    pub checks: Vec<SoakCheck>,
    steady: SteadySummary,
    /// Requests by client and by how they ended.
    endings: std::collections::BTreeMap<&'static str, crate::world::Endings>,
    n_faults: u64,
    /// The first faults, each with the request that shows it.
    pub faults: Vec<String>,
    /// The server at rest after the load.
    last: SoakSample,
    samples: Vec<SoakSample>,
}

impl SoakReport {
    pub(crate) fn new(
        about: About,
        checks: Vec<SoakCheck>,
        counts: RequestCounts,
        figures: SoakFigures,
    ) -> Self {
        let steady = SteadySummary {
            alone: figures.alone.ok.quantiles(),
            beside_load: figures.steady.ok.quantiles(),
            refused: figures.steady.other.quantiles(),
        };
        let RequestCounts { endings, faults, n_faults } = counts;
        let (last, samples) = (figures.last, figures.samples);
        Self { about, checks, steady, endings, n_faults, faults, last, samples }
    }

    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.standing != Standing::Failed)
    }

    /// Writes `soak.json` and `soak.html`.
    pub(crate) fn write(&self, out: &Path) -> Result<(), SoakError> {
        let json =
            serde_json::to_string(self).map_err(|error| SoakError::at("soak.json", error))?;
        for (name, text) in [("soak.json", json), ("soak.html", self.page()?)] {
            let path = out.join(name);
            base::file::write_atomic(&path, text.as_bytes())
                .map_err(|error| SoakError::at(path.display(), error))?;
        }
        Ok(())
    }

    fn page(&self) -> Result<String, SoakError> {
        let about = &self.about;
        let mut page = Page::new("Soak");
        page.facts(&[
            ("Load", format!("{} s, warm-up {} s", about.seconds, about.warm_up_s)),
            ("Memory", about.memory_limit_bytes.map_or("no limit".to_owned(), base::memory::mib)),
            ("Held to it by", about.confinement.clone()),
            ("Cores", about.cores.map_or("unknown".to_owned(), |cores| cores.to_string())),
            ("Seed", about.seed.to_string()),
            (
                "Attacks",
                if about.attacks.is_empty() { "all".to_owned() } else { about.attacks.join(", ") },
            ),
        ]);
        for check in self.checks.iter().filter(|check| check.standing == Standing::Failed) {
            page.note(&format!("FAILED: {}: {}", check.name, check.found), true);
        }
        let rows = self.checks.iter().map(SoakCheck::cells);
        page.table("Checks", &["Check", "Result", "Bound", "Found"], rows);
        let rows = [
            ("alone", self.steady.alone),
            ("beside the load", self.steady.beside_load),
            ("refused", self.steady.refused),
        ];
        let rows = rows.iter().map(|(name, ms)| latency_cells(name, ms));
        page.table("Steady client", &["Requests", "Count", "p50 ms", "p99 ms", "Max ms"], rows);
        for figure in FIGURES {
            page.plot(figure.title, ("s of load", figure.unit), figure.caption, self.lines(figure))
                .map_err(|error| SoakError::at("the report", error))?;
        }
        let rows = self.endings.iter().map(|(client, endings)| {
            let endings = endings.iter().map(|(ending, count)| format!("{ending}: {count}"));
            vec![(*client).to_owned(), endings.collect::<Vec<_>>().join(", ")]
        });
        page.table("How requests ended", &["Client", "Endings"], rows);
        let rows = self.faults.iter().map(|fault| vec![fault.clone()]);
        page.table("Faults", &["The first of them"], rows);
        Ok(page.finish())
    }

    fn lines(&self, figure: &SoakFigure) -> Vec<TimeSeries> {
        let line = |(name, read): &SampleLine| {
            let points =
                self.samples.iter().filter_map(|sample| Some((sample.at_s, read(sample)?)));
            TimeSeries { name: (*name).to_owned(), points: points.collect() }
        };
        figure.lines.iter().map(line).collect()
    }
}

/// The name of a line and what it reads from a sample.
type SampleLine = (&'static str, fn(&SoakSample) -> Option<f64>);

/// A plot over time: its lines with what they read from a sample.
struct SoakFigure {
    title: &'static str,
    unit: &'static str,
    caption: &'static str,
    lines: &'static [SampleLine],
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
const FIGURES: &[SoakFigure] = &[
    SoakFigure {
        title: "Resident memory",
        unit: "MiB",
        caption: "Sampled each second.",
        lines: &[("process", |sample| Some(mebibytes(sample.resident_bytes)))],
    },
    SoakFigure {
        title: "Descriptors and threads",
        unit: "count",
        caption: "From the process table.",
        lines: &[
            ("descriptors", |sample| Some(sample.descriptors as f64)),
            ("threads", |sample| Some(sample.threads as f64)),
        ],
    },
    SoakFigure {
        title: "Work in hand",
        unit: "count",
        caption: "Permits of admission, jobs of verifiers, sequences of engines.",
        lines: &[
            ("requests", |sample| sample.sum("\"requests\"")),
            ("items", |sample| sample.sum("\"items\"")),
            ("jobs", |sample| sample.sum("\"jobs\"")),
            ("sequences that wait", |sample| sample.sum("engine_queued{")),
            ("sequences that run", |sample| sample.sum("engine_running{")),
        ],
    },
    SoakFigure {
        title: "Bytes in hand",
        unit: "MiB",
        caption: "Bodies, and replies that were made and not read.",
        lines: &[
            ("bodies", |sample| Some(sample.sum("what=\"bytes\"")? / 1_048_576.0)),
            ("output", |sample| Some(sample.sum("output_bytes")? / 1_048_576.0)),
        ],
    },
];

fn latency_cells(name: &str, ms: &Quantiles) -> Vec<String> {
    let number = |value: f64| format!("{value:.2}");
    vec![name.to_owned(), ms.count.to_string(), number(ms.p50), number(ms.p99), number(ms.max)]
}

impl SoakCheck {
    fn cells(&self) -> Vec<String> {
        let standing = match self.standing {
            Standing::Passed => "passed",
            Standing::Failed => "FAILED",
            Standing::NotJudged => "not judged",
        };
        vec![self.name.to_owned(), standing.to_owned(), self.bound.clone(), self.found.clone()]
    }
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.checks {
            let [name, standing, bound, found] = &check.cells()[..] else {
                continue;
            };
            writeln!(f, "{standing:10} {name}: {found} (bound: {bound})")?;
        }
        let (alone, beside) = (&self.steady.alone, &self.steady.beside_load);
        writeln!(f, "steady client alone: p50 {:.2} ms, p99 {:.2} ms", alone.p50, alone.p99)?;
        writeln!(
            f,
            "steady client beside the load: p50 {:.2} ms, p99 {:.2} ms, {} of {} requests answered",
            beside.p50,
            beside.p99,
            beside.count,
            beside.count + self.steady.refused.count
        )?;
        writeln!(f, "held to its memory by: {}", self.about.confinement)?;
        for fault in &self.faults {
            writeln!(f, "fault: {fault}")?;
        }
        Ok(())
    }
}
