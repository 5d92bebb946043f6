//! The server's configuration: flags over environment over file over defaults, validated whole.
//!
//! Every setting is one row of [`SETTINGS`]: its place in the file, its name in the environment
//! and the function that reads its value. The same function reads all sources, so that they cannot
//! differ in what they accept.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rubrics::Registry;
use rubrics::config::{Document, Problem, parse_bytes, parse_duration};

use crate::admit::Limits;
use crate::keys::Keys;

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where to listen.
    pub bind: SocketAddr,
    /// File with one API key a line; without it anybody on this machine may call.
    pub api_keys_file: Option<PathBuf>,
    /// Most bytes in a request body.
    pub max_body: usize,
    /// Longest time for a request's body to arrive.
    pub body_timeout: Duration,
    /// Longest time for a request's head to arrive.
    pub head_timeout: Duration,
    /// Longest time to answer accepted work after a shutdown was asked for.
    pub drain: Duration,
    /// Event loops.
    pub workers: usize,
    /// Requests in hand.
    pub queue_requests: usize,
    /// Inputs in hand.
    pub queue_items: usize,
    /// Body bytes in hand.
    pub queue_bytes: usize,
    /// Longest time to answer a request.
    pub deadline: Duration,
    /// Verifier threads.
    pub threads: usize,
    /// Bytes of stored verdicts.
    pub cache_memory: usize,
}

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            api_keys_file: None,
            max_body: 8 << 20,
            body_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(5),
            drain: Duration::from_secs(30),
            workers: cores,
            queue_requests: 1024,
            queue_items: 2048,
            queue_bytes: 256 << 20,
            deadline: Duration::from_secs(30),
            threads: cores,
            cache_memory: 32 << 20,
        }
    }
}

impl Config {
    /// The limits of admission.
    pub fn limits(&self) -> Limits {
        Limits {
            requests: self.queue_requests,
            items: self.queue_items,
            bytes: self.queue_bytes,
        }
    }
}

/// One setting: its table and key in the file; its environment name is `TRIBUNAL_` and the key in
/// capitals.
struct Setting {
    table: &'static str,
    key: &'static str,
    read: fn(&mut Config, &str) -> Result<(), &'static str>,
}

const SETTINGS: &[Setting] = &[
    Setting {
        table: "server",
        key: "bind",
        read: |c, v| into(&mut c.bind, address(v)),
    },
    Setting {
        table: "server",
        key: "api_keys_file",
        read: |c, v| into(&mut c.api_keys_file, path(v)),
    },
    Setting {
        table: "server",
        key: "max_body",
        read: |c, v| into(&mut c.max_body, bytes(v)),
    },
    Setting {
        table: "server",
        key: "body_timeout",
        read: |c, v| into(&mut c.body_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "head_timeout",
        read: |c, v| into(&mut c.head_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "drain",
        read: |c, v| into(&mut c.drain, time(v)),
    },
    Setting {
        table: "server",
        key: "workers",
        read: |c, v| into(&mut c.workers, count(v)),
    },
    Setting {
        table: "limits",
        key: "queue_requests",
        read: |c, v| into(&mut c.queue_requests, count(v)),
    },
    Setting {
        table: "limits",
        key: "queue_items",
        read: |c, v| into(&mut c.queue_items, count(v)),
    },
    Setting {
        table: "limits",
        key: "queue_bytes",
        read: |c, v| into(&mut c.queue_bytes, bytes(v)),
    },
    Setting {
        table: "limits",
        key: "deadline",
        read: |c, v| into(&mut c.deadline, time(v)),
    },
    Setting {
        table: "verify",
        key: "threads",
        read: |c, v| into(&mut c.threads, count(v)),
    },
    Setting {
        table: "cache",
        key: "memory",
        read: |c, v| into(&mut c.cache_memory, bytes_or_none(v)),
    },
];

/// Tables that the design names and this version does not have yet.
const LATER: [&str; 3] = ["engine", "model", "adapter"];

/// A setting that comes from the command line, as `--set TABLE.KEY=VALUE` or a flag of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Where it was written, for errors: `--bind`.
    pub origin: String,
    /// `server.bind`.
    pub name: String,
    /// The value as it was written.
    pub value: String,
}

/// Everything a server starts from.
#[derive(Debug)]
pub struct Loaded {
    /// The settings in force.
    pub config: Config,
    /// Scorers, the built-in ones included.
    pub registry: Registry,
    /// Who may call.
    pub keys: Keys,
}

/// Reads the file (if one is named), the environment and the overrides.
///
/// # Errors
/// Every problem that was found, not the first.
pub fn load(file: Option<&Path>, overrides: &[Override]) -> Result<Loaded, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut config = Config::default();
    let registry = match file {
        None => Registry::built_in(),
        Some(path) => read_file(path, &mut config, &mut problems),
    };
    for given in environment() {
        apply(&mut config, &given, &mut problems);
    }
    for given in overrides {
        apply(&mut config, given, &mut problems);
    }
    let keys = read_keys(&config, &mut problems);
    check_exposure(&config, &mut problems);
    if problems.is_empty() {
        Ok(Loaded {
            config,
            registry,
            keys,
        })
    } else {
        Err(problems)
    }
}

fn read_file(path: &Path, config: &mut Config, problems: &mut Vec<Problem>) -> Registry {
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            problems.push(problem(&name, "", format!("cannot be read: {error}")));
            return Registry::built_in();
        }
    };
    let (registry, found) = read_text(&name, &text, config);
    problems.extend(found);
    registry
}

/// Reads the text of a configuration file into `config`.
pub fn read_text(name: &str, text: &str, config: &mut Config) -> (Registry, Vec<Problem>) {
    let document = Document::new(name, text);
    let registry = {
        let table = document.parse();
        let root = document.root(&table);
        for later in LATER {
            if root.has(later) {
                root.problem(later, "not part of this version, which has no models yet");
            }
        }
        for section_name in ["server", "limits", "verify", "cache"] {
            let Some(section) = root.section(section_name) else {
                continue;
            };
            for setting in SETTINGS.iter().filter(|s| s.table == section_name) {
                if let Some(value) = section.scalar(setting.key)
                    && let Err(expected) = (setting.read)(config, &value)
                {
                    section.problem(setting.key, format!("expected {expected}"));
                }
            }
            section.finish();
        }
        let registry = Registry::read(&root);
        root.finish();
        registry
    };
    (registry, document.into_problems())
}

/// The only place that reads the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that the rule names"
)]
fn environment() -> Vec<Override> {
    let given = SETTINGS.iter().filter_map(|setting| {
        let origin = format!("TRIBUNAL_{}", environment_name(setting));
        let value = std::env::var(&origin).ok()?;
        Some(Override {
            origin,
            name: format!("{}.{}", setting.table, setting.key),
            value,
        })
    });
    given.collect()
}

fn environment_name(setting: &Setting) -> String {
    // `cache.memory` would otherwise be plain TRIBUNAL_MEMORY, which says too little.
    let key = match (setting.table, setting.key) {
        ("cache", key) => format!("cache_{key}"),
        (_, key) => key.to_owned(),
    };
    key.to_uppercase()
}

fn apply(config: &mut Config, given: &Override, problems: &mut Vec<Problem>) {
    let named = |s: &&Setting| given.name.split_once('.') == Some((s.table, s.key));
    let Some(setting) = SETTINGS.iter().find(named) else {
        let names: Vec<String> = SETTINGS
            .iter()
            .map(|s| format!("{}.{}", s.table, s.key))
            .collect();
        let near = rubrics::config::nearest(&given.name, names.iter().map(String::as_str));
        let hint = near
            .map(|near| format!("; did you mean '{near}'?"))
            .unwrap_or_default();
        problems.push(problem(
            &given.origin,
            &given.name,
            format!("no such setting{hint}"),
        ));
        return;
    };
    if let Err(expected) = (setting.read)(config, &given.value) {
        problems.push(problem(
            &given.origin,
            &given.name,
            format!("expected {expected}"),
        ));
    }
}

fn read_keys(config: &Config, problems: &mut Vec<Problem>) -> Keys {
    let Some(path) = &config.api_keys_file else {
        return Keys::default();
    };
    let name = path.display().to_string();
    let read = std::fs::read_to_string(path);
    let parsed = read.map(|text| Keys::parse(&text));
    match parsed {
        Ok(Ok(keys)) => return keys,
        Ok(Err(found)) => problems.extend(found.into_iter().map(|p| Problem {
            file: name.clone(),
            line: Some(p.line),
            key: String::new(),
            message: p.message,
        })),
        Err(error) => problems.push(problem(&name, "", format!("cannot be read: {error}"))),
    }
    Keys::default()
}

/// A server that anybody can reach needs keys.
fn check_exposure(config: &Config, problems: &mut Vec<Problem>) {
    let reachable = match config.bind.ip() {
        IpAddr::V4(ip) => !ip.is_loopback(),
        IpAddr::V6(ip) => !ip.is_loopback(),
    };
    if reachable && config.api_keys_file.is_none() {
        let message = format!(
            "{} can be reached from other machines; set server.api_keys_file, or bind to 127.0.0.1",
            config.bind
        );
        problems.push(problem("configuration", "server.bind", message));
    }
}

fn problem(file: &str, key: &str, message: String) -> Problem {
    Problem {
        file: file.to_owned(),
        line: None,
        key: key.to_owned(),
        message,
    }
}

fn into<T>(slot: &mut T, value: Result<T, &'static str>) -> Result<(), &'static str> {
    *slot = value?;
    Ok(())
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "an address and port such as \"127.0.0.1:8080\"")
}

fn path(text: &str) -> Result<Option<PathBuf>, &'static str> {
    if text.is_empty() {
        Err("a file name")
    } else {
        Ok(Some(PathBuf::from(text)))
    }
}

fn bytes(text: &str) -> Result<usize, &'static str> {
    let size = parse_bytes(text).filter(|size| *size > 0);
    size.ok_or("a size above zero such as \"8MiB\"")
}

fn bytes_or_none(text: &str) -> Result<usize, &'static str> {
    parse_bytes(text).ok_or("a size such as \"64MiB\", or \"0\" for none")
}

fn time(text: &str) -> Result<Duration, &'static str> {
    let time = parse_duration(text).filter(|time| !time.is_zero());
    time.filter(|time| *time <= Duration::from_secs(86_400))
        .ok_or("a time above zero and at most a day, such as \"30s\" or \"250ms\"")
}

fn count(text: &str) -> Result<usize, &'static str> {
    let count = text
        .parse()
        .ok()
        .filter(|count| (1..=1 << 24).contains(count));
    count.ok_or("a whole number above zero")
}
