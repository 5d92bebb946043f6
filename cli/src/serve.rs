//! `tribunal serve`: the HTTP server.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use serve::config::{Given, Loaded, Override, load};
use serve::logs::{self, LogFormat};
use serve::{Loading, State};

use crate::build_info::BuildInfo;
use crate::config;
use crate::error::{CliError, CommandOutcome};

const EXAMPLES: &str = "\
Examples:
  tribunal serve
  tribunal serve --config tribunal.toml --set limits.deadline=10s
  tribunal serve --bind 0.0.0.0:8080 --api-keys-file keys.txt
  tribunal serve --model judge=models/Qwen3-0.6B --adapter strict=judge:adapters/strict
  tribunal serve --model judge=models/Qwen3-0.6B --device cuda:0
  tribunal serve --model judge=hf:Qwen/Qwen3-0.6B@main

Flags come before the environment (TRIBUNAL_BIND, …), the environment before the file, and the
file before the defaults. While models are being loaded every request is answered with 503
`loading`. Once they are, one line on standard output says where the server listens. SIGTERM and
SIGINT make it refuse new work and answer what it has accepted; a second one ends it at once.";

/// Serves scorers over HTTP.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    bind: Option<String>,
    /// File with one API key a line; needed to listen on other than this machine's own addresses
    #[arg(long, value_name = "FILE")]
    api_keys_file: Option<String>,
    /// Serve the model of a folder, or of a repository hf:ORG/NAME@REVISION of the Hugging Face Hub,
    /// under a name (repeatable)
    #[arg(long, value_name = "NAME=PATH")]
    model: Vec<String>,
    /// Serve an adapter of one of the models under a name (repeatable)
    #[arg(long, value_name = "NAME=MODEL:PATH")]
    adapter: Vec<String>,
    /// Where models compute: `cpu`, or a card such as `cuda:0` [default: auto, which is the processor]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Set anything that the configuration file can set (repeatable)
    #[arg(long, value_name = "TABLE.KEY=VALUE")]
    set: Vec<String>,
    /// What to log: a level, or directives such as `warn,serve=debug`
    #[arg(long, value_name = "FILTER", env = "TRIBUNAL_LOG", default_value = serve::logs::DEFAULT_FILTER)]
    log: String,
    /// How log lines look on standard error
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Runs the command until a signal ends it.
pub(crate) fn run(args: &ServeArgs, build: &BuildInfo) -> Result<CommandOutcome, CliError> {
    let format = match args.log_format {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    logs::init(&args.log, format).map_err(CliError::Usage)?;
    let given = Given {
        settings: overrides(args)?,
        models: args.model.clone(),
        adapters: args.adapter.clone(),
    };
    let loaded = load(args.config.as_deref(), &given)
        .map_err(|problems| CliError::Usage(config::lines(&problems)))?;
    let Loaded { config, registry, catalogue, keys, signing } = loaded;
    let listener = listen(config.bind)?;
    let address = listener.local_addr().map_err(|error| cannot_listen(config.bind, &error))?;
    let loading = Loading::start(listener, &config).map_err(|error| cannot_start(&error))?;
    let hosts = serve::load_models(&config, &catalogue).map_err(|error| cannot_start(&error))?;
    registry.check(&hosts).map_err(cannot_work)?;
    let state = State::new(config, registry, keys)
        .map_err(|error| cannot_start(&error))?
        .with_hosts(hosts)
        .with_signing(signing)
        .with_allocator(crate::allocator::HOOKS)
        .with_build_info(build.labels());
    let state = serve::calibrated(state, &catalogue).map_err(|error| cannot_start(&error))?;
    let listener = loading.finish().map_err(|error| cannot_start(&error))?;
    let ready = || {
        let line =
            format!("tribunal listening on http://{address} (playground at /, docs at /docs)\n");
        crate::print(&line).map_err(io::Error::other)
    };
    serve::run_until_signal(listener, state, ready)
        .map_err(|error| CliError::Failed(format!("the server failed: {error}")))?;
    Ok(CommandOutcome::Done)
}

fn cannot_start(error: &dyn std::fmt::Display) -> CliError {
    CliError::Failed(format!("cannot start: {error}"))
}

/// Scorers that need outputs that their models do not have.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn cannot_work(problems: Vec<String>) -> CliError {
    CliError::Failed(format!("cannot start: {}", problems.join("\n")))
}

/// The flags as settings; `--bind` is no other thing than `--set server.bind`.
fn overrides(args: &ServeArgs) -> Result<Vec<Override>, CliError> {
    let flag = |origin: &str, name: &str, value: &Option<String>| {
        let (origin, name) = (origin.to_owned(), name.to_owned());
        value.clone().map(|value| Override { origin, name, value })
    };
    let bind = flag("--bind", "server.bind", &args.bind);
    let keys = flag("--api-keys-file", "server.api_keys_file", &args.api_keys_file);
    let device = flag("--device", "engine.device", &args.device);
    let set = config::set_flags(&args.set)?.into_iter();
    Ok(set.chain(bind).chain(keys).chain(device).collect())
}

fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).map_err(|error| cannot_listen(address, &error))
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> CliError {
    let hint = if error.kind() == io::ErrorKind::AddrInUse {
        " (another program listens there; --bind names another address)"
    } else {
        ""
    };
    CliError::Failed(format!("cannot listen on {address}: {error}{hint}"))
}
