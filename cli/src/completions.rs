//! `tribunal completions` and `tribunal man`: what shells and `man` read about the commands.

use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;

use crate::error::{CliError, CommandOutcome};

const EXAMPLES: &str = "\
Examples:
  tribunal completions bash > ~/.local/share/bash-completion/completions/tribunal
  tribunal completions zsh > ~/.zfunc/_tribunal
  tribunal completions fish > ~/.config/fish/completions/tribunal.fish";

/// Prints the completions of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes manual pages.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tribunal man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder for the pages, which is made if it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Prints the completions of a shell.
pub(crate) fn run(
    args: &CompletionsArgs,
    mut program: Command,
) -> Result<CommandOutcome, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut program, "tribunal", &mut text);
    crate::print(&String::from_utf8_lossy(&text))?;
    Ok(CommandOutcome::Done)
}

/// Writes a page for the program and for each command, `tribunal-serve.1` and so on.
pub(crate) fn write_pages(args: &ManArgs, program: Command) -> Result<CommandOutcome, CliError> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(program, folder))
        .map_err(CliError::file("write", folder))?;
    Ok(CommandOutcome::Done)
}
