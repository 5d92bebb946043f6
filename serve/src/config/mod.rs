//! The server's configuration: flags over environment over file over defaults, validated as a unit.
//!
//! Every setting is one row of `settings`: its key in the file, its environment variable and its
//! parser. All sources use the same parser, so that they accept the same values. `catalogue` reads
//! the models.

mod catalogue;
mod checks;
mod overrides;
mod schema;
mod settings;
mod shown;
mod telemetry;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use connections::ConnectionLimits;
use engine::DeviceName;
use rubrics::Registry;
use rubrics::config::{Document, Problem, Section};

use self::catalogue::Flags;
use self::checks::{check_exposure, check_names, read_keys};
use self::overrides::{apply, environment, standard_variable};
pub use self::overrides::{hub_settings, log_filter, user_cache};
use self::settings::{SETTINGS, Setting, present_table};
use crate::admit::AdmissionLimits;
use crate::keys::Keys;
use crate::scorer_queues::{QueuePolicy, QueueSpec};
use crate::signing::Signing;

pub use self::catalogue::{AdapterSpec, Catalogue, ModelSpec};
pub use self::overrides::Override;
pub use self::schema::schema;
use self::telemetry::Standard;
pub use self::telemetry::Telemetry;

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Address to listen on.
    pub bind: SocketAddr,
    /// File with one API key per line; without it the server accepts local clients without a key.
    pub api_keys_file: Option<PathBuf>,
    /// File of the key that signs results; without it they are not signed.
    pub signing_key_file: Option<PathBuf>,
    /// File of the public keys that have signed before.
    pub signing_retired_keys: Option<PathBuf>,
    /// Names by which clients may call a server without keys, beside the local ones.
    pub hosts: Vec<String>,
    /// Origins whose pages may call from a browser; none unless listed.
    pub cors_origins: Vec<String>,
    /// Most bytes in a request body.
    pub max_body: usize,
    /// Most time for a request body to arrive.
    pub body_timeout: Duration,
    /// Most time for a request head to arrive.
    pub head_timeout: Duration,
    /// How long a connection without a request stays open in a drain.
    pub drain_idle: Duration,
    /// Longest time between two requests of a connection.
    pub idle_timeout: Duration,
    /// Longest time in which a reader takes no byte of a reply.
    pub write_timeout: Duration,
    /// Longest time from the beginning of a reply to its end.
    pub reply_timeout: Duration,
    /// Longest time in which the rest of a body is read and dropped after its reply.
    pub linger_timeout: Duration,
    /// Open connections; 0 for what the descriptor limit leaves for them.
    pub connections: usize,
    /// Open connections of each address; 0 for any number.
    pub address_connections: usize,
    /// Time without progress, with work waiting, after which `/livez` fails.
    pub stall_timeout: Duration,
    /// Most time to answer accepted work after shutdown began.
    pub drain: Duration,
    /// Number of event loops.
    pub workers: usize,
    /// Most requests in hand.
    pub queue_requests: usize,
    /// Most responses in hand.
    pub queue_items: usize,
    /// Bytes in hand: of bodies, and of the texts and tokens that are made of them.
    pub queue_bytes: usize,
    /// Bytes of replies that were made and not read.
    pub queue_output: usize,
    /// Bytes of memory that encoding texts takes at a time.
    pub encoding_bytes: usize,
    /// Grammars that are compiled at a time.
    pub grammar_compilations: usize,
    /// Units of fuel that the verdicts of a request may spend together.
    pub request_fuel: u64,
    /// Requests per second and client; 0 for no limit.
    pub client_requests: u32,
    /// Requests of each API key or address at a time; 0 for no limit.
    pub key_requests: usize,
    /// Input tokens per minute and API key or address; 0 for no limit.
    pub key_input_tokens: u32,
    /// Output tokens per minute and API key or address; 0 for no limit.
    pub key_output_tokens: u32,
    /// Bytes of memory that the process may hold; `None` for the limit of the control group or the
    /// machine.
    pub memory: Option<u64>,
    /// Wrong keys a minute that each address may send; 0 for any number.
    pub key_failures: u32,
    /// Most time to answer a request.
    pub deadline: Duration,
    /// Queues of single scorers.
    pub queues: Vec<QueueSpec>,
    /// Where models compute.
    pub device: DeviceName,
    /// Folder where compiled kernels of a card are kept; without it each start compiles them.
    pub kernel_cache: Option<PathBuf>,
    /// What may change the bits of a score.
    pub mode: EngineMode,
    /// Most tokens in one engine step.
    pub batch_tokens: usize,
    /// Bytes of the KV cache, per model.
    pub kv_memory: usize,
    /// Most sequences that an engine computes at a time.
    pub max_sequences: usize,
    /// Most input tokens in hand, per model.
    pub queue_tokens: usize,
    /// Number of verifier threads.
    pub threads: usize,
    /// Bytes of the outcome cache.
    pub cache_memory: usize,
    /// The scorer, model or adapter that answers foreign routes whose requests name none.
    pub compat_scorer: Option<String>,
    /// The folder that requests may load adapters from; without it they cannot.
    pub compat_adapters: Option<PathBuf>,
    /// The folder of files and batches; without it the batch routes are off.
    pub batches_folder: Option<PathBuf>,
    /// Most bytes of an uploaded file.
    pub batches_max_file: usize,
    /// Most requests of a batch.
    pub batches_max_requests: usize,
    /// Batch lines that are answered concurrently.
    pub batches_concurrency: usize,
    /// Most unfinished batches of an owner.
    pub batches_max_unfinished: usize,
    /// Batches that run at a time.
    pub batches_max_active: usize,
    /// Process deaths during a line of a batch after which it is given up.
    pub batches_max_attempts: usize,
    /// Most bytes of all files; 0 for no limit.
    pub batches_quota: usize,
    /// Where traces are sent.
    pub telemetry: Telemetry,
    /// Settings that a file, the environment or the command line gives, as `(table, key)`, with the
    /// file, variable or flag.
    pub given: BTreeMap<(&'static str, &'static str), String>,
}

/// How engines compute. The one mode's bits depend on no other request, on any device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineMode {
    /// A score is the same in any company.
    Invariant,
}

/// Least bytes of a share of the memory limit: less holds no request, and no block of a KV cache.
const LEAST_SHARE: usize = 16 << 20;

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            api_keys_file: None,
            signing_key_file: None,
            signing_retired_keys: None,
            hosts: Vec::new(),
            cors_origins: Vec::new(),
            max_body: 8 << 20,
            body_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(5),
            drain_idle: Duration::from_millis(100),
            idle_timeout: Duration::from_secs(5),
            write_timeout: Duration::from_secs(30),
            reply_timeout: Duration::from_mins(10),
            linger_timeout: Duration::from_secs(1),
            stall_timeout: Duration::from_mins(5),
            connections: 0,
            address_connections: 0,
            drain: Duration::from_secs(30),
            workers: cores,
            queue_requests: 1024,
            queue_items: 16_384,
            queue_bytes: 256 << 20,
            queue_output: 256 << 20,
            encoding_bytes: 256 << 20,
            grammar_compilations: 2,
            request_fuel: 2_000_000_000,
            client_requests: 0,
            key_requests: 0,
            key_input_tokens: 0,
            key_output_tokens: 0,
            memory: None,
            key_failures: 20,
            deadline: Duration::from_secs(30),
            queues: Vec::new(),
            device: DeviceName::Auto,
            kernel_cache: None,
            mode: EngineMode::Invariant,
            batch_tokens: 1024,
            kv_memory: 2 << 30,
            max_sequences: 256,
            queue_tokens: 262_144,
            threads: cores,
            cache_memory: 32 << 20,
            compat_scorer: None,
            compat_adapters: None,
            batches_folder: None,
            batches_max_file: 200 << 20,
            batches_max_requests: 50_000,
            batches_concurrency: 32,
            batches_max_unfinished: 1_000,
            batches_max_active: 16,
            batches_max_attempts: 2,
            batches_quota: 0,
            telemetry: Telemetry::default(),
            given: BTreeMap::new(),
        }
    }
}

/// Tokens of a step on a card: enough to fill one.
const CARD_BATCH_TOKENS: usize = 8192;

impl Config {
    /// Reads the keys of `[signing]`.
    fn signing(&self) -> Result<Signing, (&'static str, String)> {
        Signing::read(self.signing_key_file.as_deref(), self.signing_retired_keys.as_deref())
    }

    /// Applies a value of a setting, which `origin` gives.
    ///
    /// # Errors
    /// What is expected, if the value is not accepted.
    fn set(&mut self, setting: &Setting, value: &str, origin: &str) -> Result<(), &'static str> {
        (setting.read)(self, value)?;
        self.given.insert((setting.table, setting.key), origin.to_owned());
        Ok(())
    }

    /// Lowers the sizes that are not given to their shares of the memory limit, in bytes: defaults
    /// that suit a large machine would fill a small one. `models` share the part of KV caches.
    fn fit(&mut self, limit: u64, models: usize) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let shares = [
            (("limits", "queue_bytes"), &mut self.queue_bytes, limit / 8),
            (("limits", "queue_output"), &mut self.queue_output, limit / 8),
            (("limits", "encoding_bytes"), &mut self.encoding_bytes, limit / 8),
            (("engine", "kv_memory"), &mut self.kv_memory, limit / 4 / models.max(1)),
            (("cache", "memory"), &mut self.cache_memory, limit / 32),
        ];
        for (name, size, share) in shares {
            if !self.given.contains_key(&name) {
                *size = (*size).min(share.max(LEAST_SHARE));
            }
        }
    }

    /// Sets the sizes that are not given to those that suit a card, whose memory is its own: large
    /// steps, and a KV cache in all that is free.
    fn fit_card(&mut self) {
        if !matches!(self.device, DeviceName::Cuda(_)) {
            return;
        }
        let sizes = [
            (("engine", "batch_tokens"), &mut self.batch_tokens, CARD_BATCH_TOKENS),
            (("engine", "kv_memory"), &mut self.kv_memory, usize::MAX),
        ];
        for (name, size, of_card) in sizes {
            if !self.given.contains_key(&name) {
                *size = of_card;
            }
        }
        if self.kernel_cache.is_none() {
            self.kernel_cache = user_cache();
        }
    }

    /// Returns the limits of connections.
    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits {
            connections: self.connections,
            address_connections: self.address_connections,
            head_timeout: self.head_timeout,
            linger_timeout: self.linger_timeout,
            idle_timeout: self.idle_timeout,
            write_timeout: self.write_timeout,
            reply_timeout: self.reply_timeout,
            drain_idle: self.drain_idle,
        }
    }

    /// Returns the limits of admission.
    pub fn limits(&self) -> AdmissionLimits {
        AdmissionLimits {
            requests: self.queue_requests,
            items: self.queue_items,
            bytes: self.queue_bytes,
            encoding: self.encoding_bytes,
        }
    }
}

/// Configuration from the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// Settings.
    pub settings: Vec<Override>,
    /// Models, as `NAME=PATH`.
    pub models: Vec<String>,
    /// Adapters, as `NAME=MODEL:PATH`.
    pub adapters: Vec<String>,
}

/// A loaded configuration: all that a server starts from.
#[derive(Debug)]
pub struct Loaded {
    /// The settings in force.
    pub config: Config,
    /// Scorers, the built-in ones included.
    pub registry: Registry,
    /// Models and adapters to load.
    pub catalogue: Catalogue,
    /// The accepted API keys.
    pub keys: Keys,
    /// The key that signs results.
    pub signing: Signing,
}

/// Reads the file (if one is named), the environment and the command line. No model is loaded, but
/// model folders must exist.
///
/// # Errors
/// All problems found.
pub fn load(file: Option<&Path>, given: &Given) -> Result<Loaded, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut config = Config::default();
    let flags = Flags::read(&given.models, &given.adapters, &mut problems);
    let (registry, mut catalogue) = match file {
        None if flags.names().is_empty() => (Registry::with_default_model(), Catalogue::default()),
        None => (Registry::built_in(), Catalogue::default()),
        Some(path) => read_file(path, &flags, &mut config, &mut problems),
    };
    catalogue.add(flags, &registry, &mut problems);
    if catalogue.models.is_empty() && catalogue.adapters.is_empty() {
        catalogue.models.push(ModelSpec::default_model());
    }
    let standard = Standard::read(standard_variable);
    standard.apply(&mut config);
    for given in environment().iter().chain(&given.settings) {
        apply(&mut config, given, &mut problems);
    }
    standard.apply_switch(&mut config);
    if let Some(limit) = config.memory.or_else(base::memory::limit_bytes) {
        config.fit(limit, catalogue.models.len());
    }
    config.fit_card();
    check_names(&config, &registry, &catalogue, &mut problems);
    let keys = read_keys(&config, &mut problems);
    let signing = config.signing().unwrap_or_else(|(key, message)| {
        problems.push(problem("configuration", key, message));
        Signing::default()
    });
    check_exposure(&config, &mut problems);
    if problems.is_empty() {
        Ok(Loaded { config, registry, catalogue, keys, signing })
    } else {
        Err(problems)
    }
}

fn read_file(
    path: &Path,
    flags: &Flags,
    config: &mut Config,
    problems: &mut Vec<Problem>,
) -> (Registry, Catalogue) {
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            problems.push(problem(&name, "", format!("cannot be read: {error}")));
            return (Registry::built_in(), Catalogue::default());
        }
    };
    let place = FileContext { base: path.parent(), files: path.parent(), flags, models: &[] };
    let (registry, catalogue, found) = read_document(&name, &text, place, config);
    problems.extend(found);
    (registry, catalogue)
}

/// Reads the text of a configuration file into `config`. Models and adapters are checked without
/// access to their folders.
pub fn read_text(name: &str, text: &str, config: &mut Config) -> (Registry, Vec<Problem>) {
    read_text_with(name, text, config, &[])
}

/// Reads the text of a configuration file, with `models` as further known model and adapter names.
pub fn read_text_with(
    name: &str,
    text: &str,
    config: &mut Config,
    models: &[&str],
) -> (Registry, Vec<Problem>) {
    let place = FileContext { base: None, files: None, flags: &Flags::default(), models };
    let (registry, _, problems) = read_document(name, text, place, config);
    (registry, problems)
}

/// Reads the scorers of a configuration file, with built-in scorers and those of referenced files,
/// and lists problems. Models are checked without access to their folders.
///
/// # Errors
/// A file that cannot be read.
pub fn read_scorers(path: &Path) -> std::io::Result<(Registry, Vec<Problem>)> {
    let text = std::fs::read_to_string(path)?;
    let place =
        FileContext { base: None, files: path.parent(), flags: &Flags::default(), models: &[] };
    let name = path.display().to_string();
    let (registry, _, problems) = read_document(&name, &text, place, &mut Config::default());
    Ok((registry, problems))
}

/// Names of the tables of settings in a file.
const TABLES: [&str; 10] = [
    "server",
    "limits",
    "engine",
    "verify",
    "cache",
    "wires",
    "compat",
    "batches",
    "signing",
    "telemetry",
];

/// The context that a file is checked against.
#[derive(Clone, Copy)]
struct FileContext<'p> {
    /// Base of relative model paths; `None` skips checks on disk.
    base: Option<&'p Path>,
    /// Base of files that scorers refer to, such as rubrics; `None` reads none.
    files: Option<&'p Path>,
    /// Models of the command line, which adapters of the file may refer to.
    flags: &'p Flags,
    /// Further known model names.
    models: &'p [&'p str],
}

/// Reads the key that a configuration file names for signing; `None` where it names none.
///
/// # Errors
/// The setting and what is wrong with its file. Other mistakes in the file are not looked for.
pub fn read_signing(path: &Path) -> Result<Signing, String> {
    let unread = |error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let place =
        FileContext { base: path.parent(), files: None, flags: &Flags::default(), models: &[] };
    let mut config = Config::default();
    read_document(&path.display().to_string(), &text, place, &mut config);
    config.signing().map_err(|(key, message)| format!("{key}: {message}"))
}

fn read_document(
    name: &str,
    text: &str,
    place: FileContext<'_>,
    config: &mut Config,
) -> (Registry, Catalogue, Vec<Problem>) {
    let document = Document::new(name, text);
    let (registry, catalogue) = {
        let table = document.parse();
        let root = document.root(&table);
        for key in TABLES {
            let Some(section) = root.section(key) else {
                continue;
            };
            let table = present_table(key);
            if table != key && root.has(table) {
                root.problem(key, format!("the former name of [{table}], which is there too"));
            }
            for setting in SETTINGS.iter().filter(|s| s.table == table) {
                if let Some(value) = section.scalar(setting.key)
                    && let Err(expected) = config.set(setting, &value, name)
                {
                    section.problem(setting.key, format!("expected {expected}"));
                }
            }
            section.finish();
        }
        if let Some(base) = place.base {
            let paths = [
                &mut config.kernel_cache,
                &mut config.api_keys_file,
                &mut config.signing_key_file,
                &mut config.signing_retired_keys,
                &mut config.compat_adapters,
                &mut config.batches_folder,
            ];
            for path in paths.into_iter().flatten() {
                *path = base.join(&*path);
            }
        }
        let known = [place.flags.names(), place.models.to_vec()].concat();
        let registry = Registry::read_beside(&root, &known, place.files);
        let catalogue = Catalogue::read(&root, &registry, place);
        config.queues = read_queues(&root);
        root.finish();
        (registry, catalogue)
    };
    (registry, catalogue, document.into_problems())
}

/// Reads the `[[queue]]` tables.
fn read_queues(root: &Section<'_, '_>) -> Vec<QueueSpec> {
    let mut queues: Vec<QueueSpec> = Vec::new();
    for section in root.sections("queue") {
        let scorer = section.required_text("scorer");
        section.require("size");
        let size = section.integer("size", 1..1 << 24);
        let timeout = section.duration("timeout");
        let policy = section.word("policy", QueuePolicy::NAMES);
        if let (Some(scorer), Some(size)) = (scorer, size) {
            if queues.iter().any(|queue| queue.scorer == scorer) {
                section.problem("scorer", format!("another queue of this file is for '{scorer}'"));
            }
            let timeout = timeout.unwrap_or(Duration::from_secs(1));
            let policy = policy.unwrap_or(QueuePolicy::Reject);
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            queues.push(QueueSpec { scorer, size, timeout, policy });
        }
        section.finish();
    }
    queues
}

fn problem(file: &str, key: &str, message: String) -> Problem {
    Problem { file: file.to_owned(), line: None, key: key.to_owned(), message }
}
