//! `tribunal config`: makes and checks configuration files of the server.

mod scorer;

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use base::human::count;
use clap::builder::PossibleValuesParser;
use rubrics::Registry;
use rubrics::config::Problem;
use serve::config::{Given, Loaded, Override, load};

use crate::error::{CliError, CommandOutcome};

const EXAMPLES: &str = "\
Examples:
  tribunal config init
  tribunal config scorer regex >> tribunal.toml
  tribunal config check tribunal.toml && tribunal serve --config tribunal.toml
  tribunal config show --config tribunal.toml --set limits.memory=4GiB
  tribunal config schema > tribunal.schema.json

Exit code: 0 done; 2 a file has problems, which are listed with file, line and key, or wrong use.";

/// The page whose first block has every setting with its default; a test holds the two equal.
const PAGE: &str = include_str!("../../docs/configuration.md");

const HEADER: &str = "\
# Configuration of `tribunal serve`. Every line is the default: take away its `# ` to change it.
# docs/configuration.md has the tables of models, adapters and queues, `tribunal config scorer KIND` those of scorers.
# (*) Or less, where the memory limit is small.

";

/// Makes and checks configuration files.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum ConfigCommand {
    /// Write a file with every setting and its default, commented out
    Init {
        /// The file; `-` for standard output
        #[arg(value_name = "FILE", default_value = "tribunal.toml")]
        file: PathBuf,
    },
    /// Check files as the server does, without loading models
    Check {
        /// Configuration files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Write an example of a scorer's table, with every option of its kind
    Scorer {
        /// The kind; without it all kinds are listed
        #[arg(value_name = "KIND", value_parser = PossibleValuesParser::new(Registry::kinds()))]
        kind: Option<String>,
    },
    /// Show every setting in force, with the file, variable or flag that gives it
    Show {
        /// Configuration file
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Set anything that the configuration file can set (repeatable)
        #[arg(long, value_name = "TABLE.KEY=VALUE")]
        set: Vec<String>,
    },
    /// Write the JSON schema of configuration files, with which editors complete and check them
    Schema,
}

/// Runs the command.
pub(crate) fn run(command: ConfigCommand) -> Result<CommandOutcome, CliError> {
    match command {
        ConfigCommand::Init { file } => init(&file)?,
        ConfigCommand::Check { files } => check(&files)?,
        ConfigCommand::Scorer { kind } => crate::print(&scorer::text(kind.as_deref()))?,
        ConfigCommand::Show { config, set } => show(config.as_deref(), &set)?,
        ConfigCommand::Schema => {
            let schema = serde_json::to_string_pretty(&serve::config::schema(comment));
            crate::print(&(schema.expect("a value has a text") + "\n"))?;
        }
    }
    Ok(CommandOutcome::Done)
}

fn init(file: &Path) -> Result<(), CliError> {
    let text = template();
    if file.as_os_str() == "-" {
        return crate::print(&text);
    }
    let created = std::fs::File::create_new(file);
    let written = created.and_then(|mut created| created.write_all(text.as_bytes()));
    written.map_err(|error| {
        let name = file.display();
        if error.kind() == ErrorKind::AlreadyExists {
            return CliError::Usage(format!(
                "{name} exists already; name another file, or remove it"
            ));
        }
        CliError::Usage(format!("cannot write {name}: {error}"))
    })?;
    eprintln!("wrote {}", file.display());
    Ok(())
}

/// The text of the block of settings on [`PAGE`].
fn page_settings() -> &'static str {
    let block = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("the page has a block")
}

/// The comment that [`PAGE`] has at a setting.
fn comment(table: &str, key: &str) -> Option<String> {
    let mut of = "";
    for line in page_settings().lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            of = name;
        }
        let Some((name, rest)) = line.trim_start_matches("# ").split_once(" = ") else { continue };
        if of == table && name == key {
            return rest.split_once("# ").map(|(_, comment)| comment.to_owned());
        }
    }
    None
}

/// The settings of [`PAGE`], with all but the headings of tables commented out.
fn template() -> String {
    let mut text = HEADER.to_owned();
    for line in page_settings().lines() {
        let is_table = line.starts_with('[') && !line.starts_with("[[");
        if !is_table && !line.is_empty() && !line.starts_with('#') {
            text += "# ";
        }
        text += line;
        text.push('\n');
    }
    text
}

/// Prints what `tribunal serve` would use.
fn show(file: Option<&Path>, set: &[String]) -> Result<(), CliError> {
    let given = Given { settings: set_flags(set)?, ..Given::default() };
    let loaded = load(file, &given).map_err(|problems| CliError::Usage(lines(&problems)))?;
    crate::print(&loaded.to_string())
}

/// The flags `--set TABLE.KEY=VALUE`.
pub(crate) fn set_flags(set: &[String]) -> Result<Vec<Override>, CliError> {
    let read = |given: &String| match given.split_once('=') {
        Some((name, value)) => Ok(Override {
            origin: "--set".to_owned(),
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
        }),
        None => Err(CliError::Usage(format!("--set '{given}' is not TABLE.KEY=VALUE"))),
    };
    set.iter().map(read).collect()
}

/// Problems, a line each.
pub(crate) fn lines(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Lists the problems of all files.
fn check(files: &[PathBuf]) -> Result<(), CliError> {
    let mut problems = Vec::new();
    for file in files {
        match load(Some(file), &Given::default()) {
            Ok(loaded) => eprintln!("{} is valid: {}", file.display(), counted(&loaded)),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(CliError::Usage(lines(&problems))) }
}

/// The scorers and models of a file beside those of the program, and the scorers of the program that it
/// replaces.
fn counted(Loaded { registry, catalogue, .. }: &Loaded) -> String {
    let configured: Vec<&str> = registry.configured().map(|scorer| scorer.name()).collect();
    let built_in = registry.len() - configured.len();
    // The model of the program has no folder.
    let models = catalogue.models.iter().filter(|model| model.path.is_some()).count();
    let ours = Registry::with_default_model();
    let replaced: Vec<String> = configured
        .iter()
        .filter(|name| ours.get(name).is_some())
        .map(|name| format!("'{name}'"))
        .collect();
    let replaced = if replaced.is_empty() {
        String::new()
    } else {
        format!("; in place of the built-in ones: {}", replaced.join(", "))
    };
    format!(
        "{} and {} of its own, {}{replaced}",
        count(configured.len() as u64, "scorer"),
        count(models as u64, "model"),
        count(built_in as u64, "built-in scorer"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_changes_nothing_and_each_of_its_lines_can_be_taken() {
        let read = |text: &str| {
            let mut config = serve::Config::default();
            let (_, problems) = serve::config::read_text("tribunal.toml", text, &mut config);
            assert!(problems.is_empty(), "{problems:?}: {text}");
            config
        };
        let text = template();
        assert_eq!(read(&text), serve::Config::default());
        let taken: Vec<&str> = text.lines().skip(4).map(taken).collect();
        // The page was written on a machine with two cores.
        assert_eq!(read(&taken.join("\n")).workers, 2);
    }

    /// A line without its comment mark; examples of files stay as they are.
    fn taken(line: &str) -> &str {
        let is_file =
            [".txt", ".pem", "adapters", "kernel_cache", "\"batches\"", "scorer = \"math\" "];
        match line.strip_prefix("# ") {
            Some(setting) if !is_file.iter().any(|mark| line.contains(mark)) => setting,
            _ => line,
        }
    }
}
