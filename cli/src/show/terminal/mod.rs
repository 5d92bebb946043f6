//! The rows in the terminal: a list, and the verdict of the chosen row.

mod details;
mod draw;
mod viewer;

use std::io::{self, IsTerminal as _};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::ShownRows;
use crate::error::CliError;
use viewer::Viewer;

/// Shows rows until the user quits; `source` names their files.
///
/// # Errors
/// Wrong use where standard output is no terminal, and failures of the terminal.
pub(super) fn run(source: &str, rows: ShownRows) -> Result<(), CliError> {
    if !io::stdout().is_terminal() {
        let message =
            "--terminal needs a terminal as standard output; without it a page is written";
        return Err(CliError::Usage(message.to_owned()));
    }
    let mut viewer = Viewer::new(source, rows);
    // Restores the terminal, also after a panic.
    ratatui::run(|terminal| -> io::Result<()> {
        while !viewer.has_ended() {
            terminal.draw(|frame| draw::draw(&mut viewer, frame))?;
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
            {
                viewer.press(key);
            }
        }
        Ok(())
    })
    .map_err(|error| CliError::Failed(format!("terminal: {error}")))
}
