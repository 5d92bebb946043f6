//! Languages whose programs are run, and the tools that they need.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::native::NativeProgram;
use crate::worker::{SandboxError, ToolFiles};

/// A language of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Run by a warm interpreter.
    Python,
    /// C17.
    C,
    /// C++17 or what the compiler's default is beyond it.
    Cpp,
    /// By Node.js.
    JavaScript,
    /// With the commands of the machine.
    Bash,
    /// One file.
    Rust,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 6] =
        [Self::Python, Self::C, Self::Cpp, Self::JavaScript, Self::Bash, Self::Rust];

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        self.words()[0]
    }

    /// Words that name it: in configurations, in tasks and after the fence of a block.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python", "python3", "py"],
            Self::C => &["c", "gcc"],
            Self::Cpp => &["cpp", "c++", "cxx", "cc", "g++"],
            Self::JavaScript => &["javascript", "js", "nodejs", "node"],
            Self::Bash => &["bash", "sh", "shell"],
            Self::Rust => &["rust", "rs"],
        }
    }

    /// The language that a word names, in any case.
    pub fn from_word(word: &str) -> Option<Self> {
        let word = word.trim().to_lowercase();
        Self::ALL.into_iter().find(|language| language.words().contains(&word.as_str()))
    }

    /// The tool that it needs beside Python.
    pub fn tool(self) -> Option<Tool> {
        match self {
            Self::Python => None,
            Self::C => Some(Tool::Gcc),
            Self::Cpp => Some(Tool::Gxx),
            Self::JavaScript => Some(Tool::Node),
            Self::Bash => Some(Tool::Bash),
            Self::Rust => Some(Tool::Rustc),
        }
    }

    /// How `source` is compiled and run; `None` for Python, which needs no tool.
    ///
    /// # Errors
    /// [`SandboxError::MissingTool`].
    pub fn program(self, source: &str) -> Result<Option<NativeProgram>, SandboxError> {
        let Some(tool) = self.tool() else { return Ok(None) };
        let path = tool.path()?;
        Ok(Some(match self {
            Self::C => compiled(path, &["-std=gnu17", "-x", "c"], source, &["-lm"]),
            Self::Cpp => compiled(path, &["-std=gnu++20", "-x", "c++"], source, &[]),
            Self::Rust => {
                // Without procfs it does not find its own libraries.
                let sysroot = path.trim_end_matches("/bin/rustc");
                let options = ["--edition=2021", "--sysroot", sysroot, "-Copt-level=2"];
                // Nor does its own linker.
                let linker = ["-Clink-arg=-fuse-ld=bfd"];
                NativeProgram {
                    environment: vec![format!("LD_LIBRARY_PATH={sysroot}/lib")],
                    ..compiled(path, &options, source, &linker)
                }
            }
            Self::JavaScript => javascript(path, source),
            Self::Python | Self::Bash => NativeProgram {
                files: vec![("main.sh".to_owned(), source.to_owned())],
                compile: vec![texts(&[path, "-n", "main.sh"])],
                run: texts(&[path, "main.sh"]),
                processes: true,
                ..NativeProgram::default()
            },
        }))
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A program that a compiler makes of one file.
fn compiled(path: &str, options: &[&str], source: &str, last: &[&str]) -> NativeProgram {
    let optimise: &[&str] = if options.contains(&"-x") { &["-O2", "-pipe"] } else { &[] };
    let argv = [&[path], optimise, options, &["-o", "main", "source"], last].concat();
    NativeProgram {
        files: vec![("source".to_owned(), source.to_owned())],
        compile: vec![texts(&argv)],
        keep: Some("main".to_owned()),
        run: texts(&["main"]),
        ..NativeProgram::default()
    }
}

/// Calls a function and reports its value, framed by a nonce, on a descriptor of its own.
const CALLS: &str = include_str!("javascript/calls.js");

/// What Node.js itself takes beside its heap.
const NODE_BYTES: u64 = 512 << 20;

fn javascript(path: &str, source: &str) -> NativeProgram {
    NativeProgram {
        files: vec![
            ("main.js".to_owned(), source.to_owned()),
            ("calls.js".to_owned(), CALLS.to_owned()),
        ],
        compile: vec![texts(&[path, "--check", "main.js"])],
        run: texts(&[path, "--stack-size=16000", "main.js"]),
        call: Some(texts(&[path, "--stack-size=16000", "calls.js"])),
        // The machine's configuration of OpenSSL cannot be read.
        environment: texts(&[
            "UV_USE_IO_URING=0",
            "UV_THREADPOOL_SIZE=1",
            "OPENSSL_CONF=/dev/null",
        ]),
        data_spare: Some(NODE_BYTES),
        ..NativeProgram::default()
    }
}

/// A program of the machine that runs or compiles others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// C.
    Gcc,
    /// C++.
    Gxx,
    /// JavaScript.
    Node,
    /// Bash.
    Bash,
    /// Rust.
    Rustc,
    /// Compiles Verilog.
    Iverilog,
    /// Runs what Icarus Verilog compiled.
    Vvp,
    /// Proves circuits equal.
    Yosys,
}

impl Tool {
    /// All tools.
    pub const ALL: [Self; 8] = [
        Self::Gcc,
        Self::Gxx,
        Self::Node,
        Self::Bash,
        Self::Rustc,
        Self::Iverilog,
        Self::Vvp,
        Self::Yosys,
    ];

    /// The name of its program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Gxx => "g++",
            Self::Node => "node",
            Self::Bash => "bash",
            Self::Rustc => "rustc",
            Self::Iverilog => "iverilog",
            Self::Vvp => "vvp",
            Self::Yosys => "yosys",
        }
    }

    /// How it is installed.
    pub fn install(self) -> &'static str {
        match self {
            Self::Gcc => "apt-get install gcc libc6-dev",
            Self::Gxx => "apt-get install g++",
            Self::Node => "apt-get install nodejs",
            Self::Bash => "apt-get install bash",
            Self::Rustc => "apt-get install rustc",
            Self::Iverilog | Self::Vvp => "apt-get install iverilog",
            Self::Yosys => "apt-get install yosys",
        }
    }

    /// Its path, looked up once.
    ///
    /// # Errors
    /// [`SandboxError::MissingTool`].
    pub fn path(self) -> Result<&'static str, SandboxError> {
        static PATHS: [OnceLock<Option<String>>; Tool::ALL.len()] =
            [const { OnceLock::new() }; Tool::ALL.len()];
        let place = PATHS.iter().zip(Self::ALL).find(|(_, tool)| *tool == self);
        let (path, _) = place.expect("every tool is listed");
        let missing = || SandboxError::MissingTool { tool: self.name(), install: self.install() };
        path.get_or_init(|| self.find()).as_deref().ok_or_else(missing)
    }

    /// Where the shell finds it; what it says of itself where that may be a script of some version
    /// manager.
    fn find(self) -> Option<String> {
        let path = match self {
            Self::Node => said("node", &["-p", "process.execPath"])?,
            Self::Rustc => format!("{}/bin/rustc", said("rustc", &["--print", "sysroot"])?),
            Self::Gcc | Self::Gxx | Self::Bash | Self::Iverilog | Self::Vvp | Self::Yosys => {
                said("sh", &["-c", "command -v \"$0\"", self.name()])?
            }
        };
        Path::new(&path).is_file().then_some(path)
    }
}

/// The line that a command prints; `None` if it cannot.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim().to_owned();
    (output.status.success() && line.starts_with('/')).then_some(line)
}

/// What the workers of tools see of this machine, beside their own folder.
pub(crate) fn tool_files() -> ToolFiles {
    // Yosys does not start before it has found itself, and there is no procfs.
    let own = Tool::Yosys.path().into_iter().map(|path| ("/proc/self/exe", path));
    ToolFiles { paths: tool_paths(), links: own.collect() }
}

/// Folders and files that the tools of this machine read.
fn tool_paths() -> Vec<PathBuf> {
    let known = [
        "/bin",
        "/usr/bin",
        "/usr/local/bin",
        "/usr/include",
        "/usr/local/include",
        "/usr/libexec",
        "/etc/alternatives",
        "/usr/share/yosys",
    ];
    let own = Tool::ALL.into_iter().filter_map(|tool| {
        let path = PathBuf::from(tool.path().ok()?);
        // The libraries of Rust lie beside its compiler.
        if tool == Tool::Rustc { Some(path.parent()?.parent()?.to_owned()) } else { Some(path) }
    });
    known.iter().map(PathBuf::from).chain(own).collect()
}
