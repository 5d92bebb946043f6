//! Other people's clients, as `PyPI` has them, against the program: each script of `tests/clients`
//! in its environment, with a log that is kept. A package that is not there is a failure here;
//! `cargo test` runs what it can and says what it left out.

mod proofs;
mod server;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use crate::cargo;
use crate::summary::TestSummary;
use proofs::{Against, Environment, PROOFS, Proof};
use server::{Models, Server};

/// Where logs and models are, below the workspace root.
const KEPT: &str = "target/clients";

/// The longest that a proof may take.
const LIMIT: Duration = Duration::from_mins(45);

/// Lines of a failed proof's log that are shown.
const SHOWN: usize = 25;

/// What every proof needs.
struct Tools {
    program: PathBuf,
    models: Models,
    logs: PathBuf,
}

/// The command `test --clients`: the proofs of these names, or all where there is none.
pub(crate) fn run(names: &[String]) -> ExitCode {
    let chosen = match chosen(names) {
        Ok(chosen) => chosen,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    let tools = match prepare() {
        Ok(tools) => tools,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let mut summary = TestSummary::default();
    for proof in chosen {
        println!("\nrunning: {} ({})", proof.name, proof.script);
        let begun = Instant::now();
        match tools.prove(proof) {
            Ok(said) => {
                print!("{said}");
                println!("ok: {}, {:.0?}", proof.name, begun.elapsed());
                summary.add_success();
            }
            Err(why) => {
                println!("FAILED: {}: {why}", proof.name);
                summary.add_failure(format!("{}: see {KEPT}/{}.log", proof.name, proof.name));
            }
        }
    }
    for name in summary.failures() {
        println!("failed: {name}");
    }
    println!("\n{summary}");
    if summary.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Proof>, String> {
    if names.is_empty() {
        return Ok(PROOFS.iter().collect());
    }
    let find = |name: &String| {
        let all = || PROOFS.iter().map(|proof| proof.name).collect::<Vec<_>>();
        let found = PROOFS.iter().find(|proof| proof.name == name);
        found.ok_or_else(|| format!("no proof `{name}`: there are {}", all().join(", ")))
    };
    names.iter().map(find).collect()
}

/// Builds the program and makes the models that it serves.
fn prepare() -> Result<Tools, String> {
    let mut build = cargo::cargo(&["build", "--release", "--package", "cli"]);
    cargo::run(&mut build).map_err(|why| format!("the program: {why}"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| cargo::root().join("target"), PathBuf::from);
    let program = target.join("release").join(program_name());
    let logs = cargo::root().join(KEPT);
    fs::create_dir_all(&logs).map_err(|error| format!("{KEPT}: {error}"))?;
    let models = Models::make(&program, &logs.join("models"))?;
    Ok(Tools { program, models, logs })
}

fn program_name() -> &'static str {
    if cfg!(windows) { "tribunal.exe" } else { "tribunal" }
}

impl Tools {
    /// Runs a proof and keeps what it says. `Ok` is what it found, for people.
    fn prove(&self, proof: &Proof) -> Result<String, String> {
        let python = self.environment(proof.environment)?;
        let log = self.logs.join(format!("{}.log", proof.name));
        let server = match proof.against {
            Against::Served(kind) => Some(Server::start(&self.program, &self.models, kind)?),
            Against::Program | Against::Package => None,
        };
        let mut command = self.command(proof, &python, server.as_ref());
        let status = logged(&mut command, &log)?;
        let said = fs::read_to_string(&log).map_err(|error| format!("its log: {error}"))?;
        if !status.success() {
            return Err(format!("{status}\n{}", last_lines(&said)));
        }
        match said.lines().find(|line| is_skip(line)) {
            Some(skipped) => Err(skipped.to_owned()),
            None => Ok(account(&said)),
        }
    }

    /// The interpreter of an environment, whose packages are written down beside the logs.
    fn environment(&self, environment: &Environment) -> Result<PathBuf, String> {
        let python = environment.venv.ensure()?;
        let file = self.logs.join(format!("{}.packages.txt", environment.name));
        let mut freeze = Command::new(&python);
        freeze.args(["-m", "pip", "freeze", "--exclude-editable"]);
        match logged(&mut freeze, &file)? {
            status if status.success() => Ok(python),
            status => Err(format!("pip freeze: {status}")),
        }
    }

    fn command(&self, proof: &Proof, python: &Path, server: Option<&Server>) -> Command {
        let mut command = Command::new(python);
        command
            .current_dir(cargo::root())
            // Models and data are made here; nothing is fetched.
            .env("HF_HUB_OFFLINE", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TRIBUNAL_BIN", &self.program);
        match proof.against {
            Against::Package => {
                command.args(["-m", "pytest", "-rs", "-p", "no:cacheprovider"]);
            }
            Against::Program | Against::Served(_) => {}
        }
        command.arg(proof.script);
        if let Some(server) = server {
            command.args(["--url", &server.url, "--model", server.model]);
        }
        if proof.against == Against::Program {
            command.arg("--binary").arg(&self.program);
        }
        if proof.policy {
            command.arg("--policy").arg(self.models.policy());
        }
        command
    }
}

/// Runs a command whose output goes to a file, for so long at most.
fn logged(command: &mut Command, file: &Path) -> Result<ExitStatus, String> {
    let mut child = spawned(command, file).map_err(|error| format!("cannot start: {error}"))?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if begun.elapsed() < LIMIT => {
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(None) => {
                // A failure to end it does not change the result.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it was not over after {LIMIT:?}"));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn spawned(command: &mut Command, file: &Path) -> io::Result<Child> {
    let out = File::create(file)?;
    let err = out.try_clone()?;
    command.stdout(out).stderr(err).spawn()
}

/// Whether a script or a test of pytest says that it was left out.
fn is_skip(line: &str) -> bool {
    line.starts_with("skipped: ") || line.starts_with("SKIPPED ")
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

/// The lines of a proof's log that the proof itself wrote, without those of its imports.
fn account(log: &str) -> String {
    const OTHERS: [&str; 6] = ["Warning", "WARN", "INFO", "warnings.warn", "Docs: ", "it/s"];
    let is_told = |line: &&str| {
        let is_seen = line.contains(": ") || line.contains(" passed") || line.starts_with("  ");
        let is_others = OTHERS.iter().any(|mark| line.contains(mark));
        is_seen && !is_others && !line.starts_with(['[', '{'])
    };
    let lines = log.lines().filter(is_told).take(SHOWN);
    lines.flat_map(|line| ["  ", line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_chosen_by_name() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(chosen(&[]).map(|all| all.len()), Ok(PROOFS.len()));
        let two = chosen(&names(&["ray", "trl"])).expect("both are there");
        assert_eq!([two[0].name, two[1].name], ["ray", "trl"]);
        let nobody = chosen(&names(&["trl", "nobody"]));
        let said = nobody.map(|_| ()).expect_err("there is none");
        assert!(said.contains("`nobody`") && said.contains("trl"), "{said}");
    }

    #[test]
    fn every_proof_and_list_is_a_file() {
        for proof in PROOFS {
            assert!(cargo::root().join(proof.script).exists(), "{}", proof.script);
            let venv = &proof.environment.venv;
            for list in [Some(venv.requirements), venv.alone].into_iter().flatten() {
                assert!(cargo::root().join(list).is_file(), "{list}");
            }
        }
        let scripts = fs::read_dir(cargo::root().join("tests/clients")).expect("it is there");
        for script in scripts {
            let name = script.expect("readable").file_name();
            let name = name.to_string_lossy();
            let is_run = PROOFS.iter().any(|proof| proof.script.ends_with(&*name));
            assert!(is_run || !name.ends_with(".py"), "{name} belongs to no proof");
        }
    }

    #[test]
    fn accounts_are_what_the_proof_says() {
        let log = "[2026] INFO x: y\na.py:3: UserWarning: z\n  warnings.warn(\n{'loss': 1}\n\
                   trl 0.29: five\n  more\nok\n";
        assert_eq!(account(log), "  trl 0.29: five\n    more\n");
        assert_eq!(last_lines("a\nb"), "a\nb");
    }
}
