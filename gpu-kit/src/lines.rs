//! Results as lines of JSON.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use gpu::GpuError;
use models::ModelError;
use serde_json::{Map, Value, json};

/// Named numbers of a result.
pub(crate) type Readings = Vec<(&'static str, f64)>;

/// Why there are no figures.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A result is wrong, or the card failed.
    Failed(String),
    /// The card, or its memory, is not one for it.
    Skipped(String),
}

impl From<GpuError> for Trouble {
    fn from(error: GpuError) -> Trouble {
        Trouble::Failed(error.to_string())
    }
}

impl From<ModelError> for Trouble {
    fn from(error: ModelError) -> Trouble {
        Trouble::Failed(error.to_string())
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Trouble {
        Trouble::Failed(why)
    }
}

/// Runs `work` and prints what came of it. A panic is a failure.
pub(crate) fn attempt(name: &str, work: impl FnOnce() -> Result<Readings, Trouble>) {
    let start = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Trouble::Failed(text.unwrap_or_else(|| "it panicked".to_owned())))
    });
    let (status, figures, why) = match done {
        Ok(figures) => ("ok", figures, None),
        Err(Trouble::Failed(why)) => ("failed", Readings::new(), Some(why)),
        Err(Trouble::Skipped(why)) => ("skipped", Readings::new(), Some(why)),
    };
    let figures: Map<String, Value> =
        figures.into_iter().map(|(name, figure)| (name.to_owned(), json!(figure))).collect();
    let seconds = start.elapsed().as_secs_f64();
    print(&json!({
        "name": name, "status": status, "seconds": seconds, "figures": figures, "why": why,
    }));
}

/// Prints a line at once: a part may be ended at any time.
pub(crate) fn print(line: &Value) {
    let mut out = std::io::stdout().lock();
    // Where no one reads any more, there is nothing to be done.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
