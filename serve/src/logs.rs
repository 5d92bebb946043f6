//! Structured logging to standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// The default log filter.
pub const DEFAULT_FILTER: &str = "info,actix_server=warn";

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Human-readable text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts logging. `filter` is a level or directives such as `warn,serve=debug`; `access=debug`
/// adds a line for each reply.
///
/// # Errors
/// An invalid filter, or logging that was started before.
pub fn init(filter: &str, format: LogFormat) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("log filter: {error}"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| format!("logging: {error}"))
}
