//! Structured logs on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// What is logged unless somebody asks for something else.
pub const DEFAULT_FILTER: &str = "info,actix_server=warn";

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging. `filter` is [`DEFAULT_FILTER`], a level, or directives such as `warn,serve=debug`; `serve=debug`
/// adds a line a request.
///
/// # Errors
/// When the filter cannot be read, or logging was started before.
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
