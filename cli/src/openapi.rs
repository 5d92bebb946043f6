//! `tribunal openapi`: the description of the HTTP interface.

use crate::error::{CliError, CommandOutcome};

/// Prints the document that the server serves.
pub(crate) fn run() -> Result<CommandOutcome, CliError> {
    crate::print(&serve::document_text())?;
    Ok(CommandOutcome::Done)
}
