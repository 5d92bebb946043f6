//! `tribunal train`: a run file to checkpoints.

mod remote;

use std::io::IsTerminal as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serve::config::{Given, Loaded, Override, load};
use serve::{Background, Hosts, State};
use trainer::TrainError;
use trainer::metrics::Metrics;
use trainer::run::{News, Resume, RunConfig, TrainingRun, drive};

use crate::error::{CliError, CommandOutcome};
use crate::runs::{self, STEP_METRICS};

const EXAMPLES: &str = "\
Examples:
  tribunal train run.toml
  tribunal train run.toml --resume
  tribunal train run.toml --serve 127.0.0.1:8080
  tribunal serve --model policy=runs/chain/step-000200

The run's folder gets metrics.jsonl and evaluations.jsonl (one object a line), events/ for
TensorBoard, and a folder for each checkpoint, which can be served as it is. SIGTERM and SIGINT end
the step under way and write a checkpoint. Run files are described in docs/training.md.

Exit code: 0 every step was taken; 1 something failed, or the run was stopped; 2 the run file
cannot work as it was written.";

/// Trains a model by a run file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainArgs {
    /// Run file (TOML)
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Go on from the newest checkpoint of the run's folder
    #[arg(long)]
    resume: bool,
    /// Go on although the run file has changed since the checkpoint
    #[arg(long, requires = "resume")]
    allow_changes: bool,
    /// While it trains, serve the live weights as `policy`, and the run's scorers, on this address
    #[arg(long, value_name = "ADDR")]
    serve: Option<String>,
    /// Read the run file, load everything, try every scorer on a row, and train nothing
    #[arg(long)]
    check: bool,
}

/// Time between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Keeps candle's own operations on the calling thread. Its pool serves one caller at a time while its
/// other threads wait in a loop: with it, two micro-batches side by side take longer than one after
/// the other, and a forward on two cores takes a twentieth longer.
#[expect(
    unsafe_code,
    reason = "candle takes this from the environment alone; no thread runs yet that could read it"
)]
pub(crate) fn leave_threads_to_workers() {
    // SAFETY: called first of all in `main`, before any other thread is started.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", "1") };
}

pub(crate) fn run(args: &TrainArgs) -> Result<CommandOutcome, CliError> {
    std::fs::metadata(&args.run).map_err(CliError::named(&args.run))?;
    let mut config = RunConfig::read(&args.run).map_err(failed)?;
    fetch_models(&mut config)?;
    let resume = Resume { resume: args.resume, allow_changes: args.allow_changes };
    let server = remote::connect(&config)?;
    let mut run = TrainingRun::open_beside(config, resume, server).map_err(failed)?;
    let threads = ::models::threads();
    eprintln!(
        "{} parameters are trained, on {threads} thread{}; steps {} to {} into {}",
        base::human::grouped(run.policy().trainable() as u64, ','),
        if threads == 1 { "" } else { "s" },
        run.done() + 1,
        run.steps(),
        run.folder().display()
    );
    if let Some(right) = run.right() {
        eprintln!("an answer is right if {right}");
    }
    if args.check {
        for line in run.check().map_err(failed)? {
            eprintln!("{line}");
        }
        return Ok(CommandOutcome::Done);
    }
    let server = match &args.serve {
        None => None,
        Some(address) => Some(serve_live(address, &run)?),
    };
    let stop = stop_on_signal()?;
    let mut show = Show::start(run.steps(), run.done());
    let ended = drive(&mut run, &stop, &mut |news| show.show_news(&news));
    show.end();
    if let Some(server) = server {
        let stopped = server.stop();
        stopped.map_err(|error| CliError::Failed(format!("the server failed: {error}")))?;
    }
    let ended = ended.map_err(failed)?;
    if let Some(table) = runs::evaluation_table(run.folder())? {
        eprint!("{table}");
    }
    if !ended.complete {
        eprintln!("stopped after step {} of {}; go on with --resume", ended.done, run.steps());
    }
    if let Some(path) = &ended.checkpoint {
        crate::print(&format!("{}\n", path.display()))?;
    }
    Ok(CommandOutcome::failed_if(!ended.complete))
}

/// Replaces repositories of the Hub by their folders in the cache.
fn fetch_models(config: &mut RunConfig) -> Result<(), CliError> {
    let frozen = config.models.iter_mut().map(|model| &mut model.path);
    for path in frozen.chain([&mut config.policy.path]) {
        *path = crate::hub::folder(path)?;
    }
    Ok(())
}

/// The server's defaults and environment, over the model in training and the scorers of its run.
/// Verdicts name the revision of the weights that gave them.
fn serve_live(address: &str, run: &TrainingRun) -> Result<Background, CliError> {
    let given = Given {
        settings: vec![Override {
            origin: "--serve".to_owned(),
            name: "server.bind".to_owned(),
            value: address.to_owned(),
        }],
        ..Given::default()
    };
    let Loaded { config, keys, .. } = load(None, &given).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        CliError::Usage(lines.join("\n"))
    })?;
    let cannot = |error: std::io::Error| CliError::Failed(format!("cannot serve: {error}"));
    let listener = TcpListener::bind(config.bind).map_err(cannot)?;
    let state = State::new(config, run.config().scorers.clone(), keys).map_err(cannot)?;
    let hosts = Hosts::new(vec![run.host().clone()]);
    let server = Background::start(listener, state.with_hosts(hosts)).map_err(cannot)?;
    eprintln!("tribunal listening on http://{} (playground at /, docs at /docs)", server.address());
    Ok(server)
}

fn failed(error: TrainError) -> CliError {
    if let TrainError::Invalid(what) = error {
        return CliError::Usage(what);
    }
    CliError::Failed(error.to_string())
}

/// A flag that SIGINT and SIGTERM set.
fn stop_on_signal() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = stop.clone();
    let cannot = |error: std::io::Error| CliError::Failed(format!("cannot catch signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(cannot)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                use tokio::signal::unix::{SignalKind, signal};
                let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
                let [Ok(mut interrupt), Ok(mut terminate)] = signals else {
                    return;
                };
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                set.store(true, Ordering::Relaxed);
            });
        })
        .map_err(cannot)?;
    Ok(stop)
}

/// How far a run is: a bar on a terminal, a line now and then elsewhere.
struct Show {
    bar: Option<ProgressBar>,
    last: Option<Instant>,
}

impl Show {
    fn start(steps: u64, done: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = "{wide_bar} {pos}/{len} {eta} {msg}";
            let style = ProgressStyle::with_template(style).expect("a valid template");
            let bar = ProgressBar::new(steps).with_style(style);
            bar.set_position(done);
            bar
        });
        Self { bar, last: None }
    }

    fn show_news(&mut self, news: &News<'_>) {
        match news {
            News::Step { line, metrics } => {
                let text = format!("step {}/{}: {}", line.step, line.steps, brief(metrics));
                if let Some(bar) = &self.bar {
                    bar.set_position(line.step);
                    bar.set_message(brief(metrics));
                    return;
                }
                let due = self.last.is_none_or(|last| last.elapsed() >= LINE_EVERY);
                if due || line.step == line.steps {
                    self.last = Some(Instant::now());
                    eprintln!("{text}");
                }
            }
            News::Evaluation { step, metrics } => {
                let all = metrics.iter().filter(|(name, _)| !name.starts_with("time/"));
                let all: Vec<String> = all.map(|(name, n)| format!("{name} {n:.4}")).collect();
                self.line(&format!("evaluation after {step}: {}", all.join(", ")));
            }
            News::Checkpoint(path) => self.line(&format!("checkpoint {}", path.display())),
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish();
        }
    }
}

/// The numbers that say most.
fn brief(metrics: &Metrics) -> String {
    let known = STEP_METRICS.iter().filter_map(|name| Some((name, metrics.get(name)?)));
    let known: Vec<String> = known.map(|(name, n)| format!("{name} {n:.4}")).collect();
    known.join(", ")
}
