//! `tribunal openapi`: the description of the HTTP interface.

use crate::error::{CliError, Outcome};

/// Prints the document that the server serves.
pub(crate) fn run() -> Result<Outcome, CliError> {
    crate::print(&serve::document_text())?;
    Ok(Outcome::Done)
}
