//! The server process: start, confinement, signals, end.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use base::cgroup::{ControlGroup, GroupLimits};

use crate::SoakError;
use crate::setup::Place;

/// Longest drain of a server after SIGTERM; its own setting is 30 s.
const DRAIN_LIMIT: Duration = Duration::from_mins(1);

/// What holds the server to its memory.
#[derive(Debug)]
pub(crate) enum Confinement {
    /// Nothing.
    None,
    /// A control group that systemd makes.
    Systemd { user: bool },
    /// A control group of our own, where there is no systemd.
    Group(ControlGroup),
    /// `limits.memory` of its configuration; resident memory is watched against it from outside.
    Configured,
}

impl Confinement {
    /// The strongest that this machine has.
    pub(crate) fn probe(memory: Option<u64>) -> Self {
        let Some(bytes) = memory else {
            return Self::None;
        };
        let works = |user: bool| {
            let mut probe = systemd_run(user, bytes);
            probe.arg("true").stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        };
        let user = [false, true].into_iter().find(|user| works(*user));
        if let Some(user) = user {
            return Self::Systemd { user };
        }
        let limits = GroupLimits { memory_bytes: Some(bytes), ..GroupLimits::default() };
        ControlGroup::make("tribunal-soak", &limits).map_or(Self::Configured, Self::Group)
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Systemd { .. } => {
                "a control group with memory.max, made by systemd-run".to_owned()
            }
            Self::Group(group) => {
                let peak =
                    group.peak_bytes().map_or_else(|| "unknown".to_owned(), base::memory::mib);
                format!("a control group of its own; its peak, cached files included: {peak}")
            }
            Self::Configured => {
                "limits.memory, with resident memory watched; no control group could be made here"
                    .to_owned()
            }
        }
    }
}

fn systemd_run(user: bool, bytes: u64) -> Command {
    let mut command = Command::new("systemd-run");
    if user {
        command.arg("--user");
    }
    let limit = format!("MemoryMax={bytes}");
    command.args(["--quiet", "--scope", "-p", &limit, "-p", "MemorySwapMax=0", "--"]);
    command.stdin(Stdio::null());
    command
}

/// How to start a server.
pub(crate) struct Launch<'a> {
    pub(crate) program: PathBuf,
    pub(crate) place: &'a Place,
    pub(crate) address: SocketAddr,
    pub(crate) log: PathBuf,
    pub(crate) memory: Option<u64>,
    pub(crate) confinement: Confinement,
}

/// A running server. It ends with this value.
pub(crate) struct ServerProcess {
    child: Child,
}

/// An address of this machine at which nothing listens.
pub(crate) fn free_address() -> Result<SocketAddr, SoakError> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map_err(|error| SoakError::at("a free port", error))
}

/// The program beside this one.
pub(crate) fn neighbour() -> Result<PathBuf, SoakError> {
    let own = std::env::current_exe().map_err(|error| SoakError::at("this program", error))?;
    Ok(own.with_file_name(format!("tribunal{}", std::env::consts::EXE_SUFFIX)))
}

impl ServerProcess {
    /// Starts a server and waits for the line that says where it listens.
    pub(crate) fn start(launch: &Launch<'_>) -> Result<Self, SoakError> {
        let doing = || format!("{}", launch.program.display());
        let log = OpenOptions::new().create(true).append(true).open(&launch.log);
        let log = log.map_err(|error| SoakError::at(launch.log.display(), error))?;
        let program =
            std::path::absolute(&launch.program).map_err(|error| SoakError::at(doing(), error))?;
        let mut command = match (&launch.confinement, launch.memory) {
            (Confinement::Systemd { user }, Some(bytes)) => {
                let mut command = systemd_run(*user, bytes);
                command.arg(program);
                command
            }
            (Confinement::Group(group), _) => group.command(&program),
            _ => Command::new(program),
        };
        let bind = launch.address.to_string();
        command
            .args(["serve", "--config", "tribunal.toml", "--log", "warn", "--bind", &bind])
            .current_dir(launch.place.root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command.spawn().map_err(|error| SoakError::at(doing(), error))?;
        let stdout = child.stdout.take().ok_or_else(|| SoakError::at(doing(), "no stdout"))?;
        let mut server = Self { child };
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line).map_err(|error| SoakError::at(doing(), error))?;
        if !line.starts_with("tribunal listening on ") {
            let ended = server.child.wait().map_err(|error| SoakError::at(doing(), error))?;
            let log = tail(&launch.log);
            return Err(SoakError(format!("the server did not start ({ended}): {line}{log}")));
        }
        // What it prints later must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        Ok(server)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end(mut self, signal: &str) -> Result<ExitStatus, SoakError> {
        self::signal(self.pid(), signal)?;
        let begun = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            if begun.elapsed() > DRAIN_LIMIT {
                let what = format!("the server runs {DRAIN_LIMIT:?} after SIG{signal}");
                return Err(SoakError(what));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal, such as `HUP`, to a process.
pub(crate) fn signal(pid: u32, name: &str) -> Result<(), SoakError> {
    match Command::new("kill").args(["-s", name, &pid.to_string()]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(SoakError::at(format!("kill -s {name}"), status)),
        Err(error) => Err(SoakError::at("kill", error)),
    }
}

/// The end of a log.
pub(crate) fn tail(log: &Path) -> String {
    let mut text = String::new();
    let read = std::fs::File::open(log).and_then(|mut file| file.read_to_string(&mut text));
    if read.is_err() {
        return String::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
