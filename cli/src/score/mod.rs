//! `tribunal score`: scores the rows of a dataset.

mod args;
mod summary;

use std::path::PathBuf;

use engine::DeviceName;
use scoring::backend::RemoteOptions;

pub(crate) use self::args::{MappingArgs, ScoreArgs};
use crate::error::{CliError, CommandOutcome};

/// Runs the command.
pub(crate) fn run(args: ScoreArgs) -> Result<CommandOutcome, CliError> {
    if args.json && args.output == scoring::files::STREAM {
        let message = "--json and '-o -' would both write to standard output";
        return Err(CliError::Usage(message.to_owned()));
    }
    let json = args.json;
    let summary = scoring::run(args.options())?;
    eprint!("{}", summary::text(&summary));
    if json {
        crate::print(&(summary::json(&summary) + "\n"))?;
    }
    let failed = summary.counts.rejected > 0
        || summary.failures() > 0
        || summary.without_references().next().is_some()
        || summary.refusing_all().next().is_some();
    Ok(CommandOutcome::failed_if(failed))
}

/// Where scoring happens: on a server, and how requests are sent to it, or on a device of this machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct RemoteArgs {
    /// Score on a server instead of in this process, such as `http://127.0.0.1:8080`
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "threads"])]
    pub(crate) url: Option<String>,
    /// File whose first line is the API key; lines that start with '#' do not count
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Requests in flight at once
    #[arg(long, value_name = "N", default_value_t = 4, requires = "url",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) connections: u16,
    /// Retries of a request before the run stops; `Retry-After` is respected
    #[arg(long, value_name = "N", default_value_t = 6, requires = "url")]
    pub(crate) retries: u32,
    /// Where models of this process compute: `cpu`, or a card such as `cuda:0`
    #[arg(long, value_name = "DEVICE", conflicts_with = "url", help_heading = "Models")]
    pub(crate) device: Option<DeviceName>,
}

impl RemoteArgs {
    /// The same for a backend.
    pub(crate) fn options(&self) -> RemoteOptions {
        RemoteOptions {
            url: self.url.clone(),
            api_key_file: self.api_key_file.clone(),
            connections: usize::from(self.connections),
            retries: self.retries,
        }
    }
}
