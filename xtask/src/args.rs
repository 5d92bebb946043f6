//! Parses the command line; arguments that [`USAGE`] does not list are refused.

use crate::gpu::GpuTask;

/// What `help` prints, and what follows a mistake.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  test [--no-check] [--slowest] [-- ARGS]
                               check the format, then build and run every test; the last line of
                               stdout is `N passed, N failed, N skipped`; a test that could not run
                               is skipped and says why; ARGS go to `cargo test`; --slowest lists
                               the tests that take longest, with their times
  test --clients [-- NAMES]    run other people's clients, as PyPI has them, against the program:
                               makes environments below tests/clients/.venvs (some GB), runs the
                               proofs of tests/clients, or those of these names, and keeps a log
                               of each below target/clients; the last line is as above
  check                        rustfmt and clippy over the workspace, warnings are errors
  dist                         build the program and pack it with completions and manual pages: an
                               archive and a Python wheel, in target/dist
  book                         build the documents as a site with search, in target/book/site, with
                               mdBook
  gpu                          compile the kernels of cards for every architecture, with NVRTC from
                               PyPI in an environment below target, and fail where registers are kept
                               in memory; some minutes; the last line is as above; the images stay in
                               target/gpu-kernels.bin, which a build takes into the program if
                               TRIBUNAL_KERNELS is its absolute path
  gpu pack                     make .gpu, a folder to take along to a machine with a card, where
                               `python3 check.py --out DIR` checks and measures it
  gpu report [FILE ...]        add runs of check.py (DIR/results.json) to docs/gpu-runs.json, and write
                               the tables of docs/gpu.md
  answers                      generate 10,000 answers with their labels from a new seed, judge them, and
                               print the table by strata
  house [CRATE ...]            measure the code: circles of imports, back-running arrows, lines, and
                               names that stand for more than three types
  soak [ARGS]                  run the server program under a mixed load with hostile clients, and
                               write target/soak/soak.html; `soak --help` lists the arguments, such
                               as --minutes N and --memory 1GiB
  openapi                      write openapi/openapi.json from the server's own description
  parity [--venv DIR]          write models/tests/goldens with transformers and peft, in a virtual
                               environment under target/, or in DIR, which must have the packages
                               of xtask/parity/requirements.txt
  help                         print this text

Examples:
  cargo xtask test
  cargo xtask test --no-check -- --test tidy
  cargo xtask test --clients -- trl ray
  cargo xtask soak --minutes 60
";

/// One parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    /// Generated answers, judged.
    Answers,
    /// The documents as a site.
    Book,
    Check,
    Test(TestOptions),
    /// Proofs with other people's clients: those of these names, or all.
    Clients(Vec<String>),
    /// An archive and a wheel of the program.
    Dist,
    /// Kernels of cards.
    Gpu(GpuTask),
    /// Measures of these crates, or of all.
    House(Vec<String>),
    Openapi,
    Parity(ParityOptions),
    /// A soak with these arguments.
    Soak(Vec<String>),
}

/// How to run the reference.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ParityOptions {
    /// A virtual environment that is there already.
    pub(crate) venv: Option<String>,
}

/// How to run the tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Leave out rustfmt.
    pub(crate) no_check: bool,
    /// List the slowest tests with their times.
    pub(crate) slowest: bool,
    /// Passed to `cargo test` as they are.
    pub(crate) cargo_args: Vec<String>,
}

/// Reads the arguments after the program's name. The error is a message for the user.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let Some(name) = args.next() else {
        return Err("no command given".to_owned());
    };
    let command = match name.as_str() {
        "help" | "--help" | "-h" => Command::Help,
        "answers" => Command::Answers,
        "book" => Command::Book,
        "check" => Command::Check,
        "openapi" => Command::Openapi,
        "dist" => Command::Dist,
        "gpu" => return gpu_task(args).map(Command::Gpu),
        "test" => return test_options(args),
        "house" => return Ok(Command::House(args.collect())),
        "soak" => return Ok(Command::Soak(args.collect())),
        "parity" => return parity_options(args).map(Command::Parity),
        _ => return Err(format!("unknown command `{name}`")),
    };
    match args.next() {
        None => Ok(command),
        Some(extra) => Err(format!("`{name}` takes no argument, got `{extra}`")),
    }
}

fn test_options(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut options = TestOptions::default();
    let mut clients = false;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--no-check" => options.no_check = true,
            "--slowest" => options.slowest = true,
            "--clients" => clients = true,
            "--" => options.cargo_args = args.by_ref().collect(),
            _ => return Err(format!("unknown argument `{arg}` of `test`")),
        }
    }
    match (clients, options.no_check) {
        (false, _) => Ok(Command::Test(options)),
        (true, false) => Ok(Command::Clients(options.cargo_args)),
        (true, true) => Err("`--clients` checks nothing, so it takes no `--no-check`".to_owned()),
    }
}

fn gpu_task(mut args: impl Iterator<Item = String>) -> Result<GpuTask, String> {
    let task = match args.next().as_deref() {
        None => GpuTask::Compile,
        Some("pack") => GpuTask::Pack,
        Some("report") => return Ok(GpuTask::Report(args.collect())),
        Some(other) => return Err(format!("unknown argument `{other}` of `gpu`")),
    };
    match args.next() {
        None => Ok(task),
        Some(extra) => Err(format!("`gpu pack` takes no argument, got `{extra}`")),
    }
}

fn parity_options(mut args: impl Iterator<Item = String>) -> Result<ParityOptions, String> {
    let mut options = ParityOptions::default();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--venv" => {
                let venv = args.next().ok_or("`--venv` needs a folder")?;
                options.venv = Some(venv);
            }
            _ => return Err(format!("unknown argument `{arg}` of `parity`")),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Command, &str>) {
        let parsed = parse(line.split_whitespace().map(str::to_owned));
        assert_eq!(parsed, expected.map_err(str::to_owned), "{line}");
    }

    fn test(no_check: bool, cargo_args: &[&str]) -> Command {
        let cargo_args = cargo_args.iter().map(|&arg| arg.to_owned()).collect();
        Command::Test(TestOptions { no_check, slowest: false, cargo_args })
    }

    fn clients(names: &[&str]) -> Command {
        Command::Clients(names.iter().map(|&name| name.to_owned()).collect())
    }

    fn parity(venv: Option<&str>) -> Command {
        Command::Parity(ParityOptions { venv: venv.map(str::to_owned) })
    }

    #[test]
    fn known_lines_parse_and_others_say_what_is_wrong() {
        check("help", Ok(Command::Help));
        check("--help", Ok(Command::Help));
        check("check", Ok(Command::Check));
        check("answers", Ok(Command::Answers));
        check("book", Ok(Command::Book));
        check("openapi", Ok(Command::Openapi));
        check("dist", Ok(Command::Dist));
        check("gpu", Ok(Command::Gpu(GpuTask::Compile)));
        check("gpu pack", Ok(Command::Gpu(GpuTask::Pack)));
        check("gpu pack now", Err("`gpu pack` takes no argument, got `now`"));
        let report = ["a.json", "b.json"].map(str::to_owned).to_vec();
        check("gpu report a.json b.json", Ok(Command::Gpu(GpuTask::Report(report))));
        check("gpu run", Err("unknown argument `run` of `gpu`"));
        check("house", Ok(Command::House(Vec::new())));
        check("house engine", Ok(Command::House(vec!["engine".to_owned()])));
        let soak = ["--minutes", "5"].map(str::to_owned).to_vec();
        check("soak --minutes 5", Ok(Command::Soak(soak)));
        check("test", Ok(test(false, &[])));
        check("test --no-check", Ok(test(true, &[])));
        check("test --", Ok(test(false, &[])));
        check(
            "test --no-check -- -p openapi -- --nocapture",
            Ok(test(true, &["-p", "openapi", "--", "--nocapture"])),
        );
        check("test -- --no-check", Ok(test(false, &["--no-check"])));
        check("test --clients", Ok(clients(&[])));
        check("test --clients -- trl ray", Ok(clients(&["trl", "ray"])));
        check(
            "test --clients --no-check",
            Err("`--clients` checks nothing, so it takes no `--no-check`"),
        );
        check("parity", Ok(parity(None)));
        check("parity --venv there", Ok(parity(Some("there"))));
        check("parity --venv", Err("`--venv` needs a folder"));
        check("parity now", Err("unknown argument `now` of `parity`"));
        check("", Err("no command given"));
        check("tests", Err("unknown command `tests`"));
        check("check --fix", Err("`check` takes no argument, got `--fix`"));
        check("test name", Err("unknown argument `name` of `test`"));
    }
}
