//! What a run is to do: the command line, checked and resolved.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::ScoreArgs;
use super::input::{Input, STREAM, refuse_same_file};
use super::journal::{Counts, Header, Judge, Options};
use super::judging::Judging;
use super::local::Local;
use super::mapping::Mapping;
use super::output::{Output, Paths, StreamOutput};
use super::partial::{PartialFile, beside};
use super::rejects::RejectForm;
use super::remote::{Remote, RemoteArgs};
use super::resume::{self, Existing, Opened};
use super::row::Row;
use super::scores;
use crate::error::CliError;
use crate::scorers;
use crate::stream::Chunk;

/// What to do about files and columns that are there already.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FileArgs {
    #[command(flatten)]
    existing: Existing,
    /// Replace scores of the same names that rows have already
    #[arg(long)]
    overwrite_scores: bool,
    /// Where rejected rows go [default: OUT.rejects.jsonl; notes on standard error for a stream]
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
}

/// What a run is to do.
pub(crate) struct Plan {
    pub(crate) input: String,
    pub(crate) scorers: Vec<String>,
    pub(crate) mapping: Mapping,
    pub(crate) limit: Option<u64>,
    pub(crate) overwrite_scores: bool,
    pub(crate) json: bool,
    /// Chunks that are processed at once.
    pub(crate) lanes: usize,
    /// Whether rows go to standard output.
    pub(crate) to_stdout: bool,
    target: Target,
    existing: Existing,
    config: Option<PathBuf>,
    explain: bool,
    threads: usize,
    remote: RemoteArgs,
}

/// Where rows go.
enum Target {
    File(Paths),
    Stream { name: PathBuf, rejects: Option<PathBuf> },
}

impl Plan {
    /// Checks what can be checked without opening anything.
    pub(crate) fn resolve(args: ScoreArgs) -> Result<Self, CliError> {
        scorers::refuse_repeated(&args.scorers)?;
        let to_stdout = args.output == STREAM;
        if to_stdout && args.json {
            let message = "--json and '-o -' would both write to standard output";
            return Err(CliError::Usage(message.to_owned()));
        }
        let target = target(&args.output, args.files.rejects)?;
        if let Target::File(paths) = &target {
            let partials = [&paths.output, &paths.rejects].map(|path| beside(path, ".partial"));
            let all = [&paths.output, &paths.rejects, &paths.journal, &partials[0], &partials[1]];
            refuse_same_file(&args.input, &all.map(PathBuf::as_path))?;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = args.threads.map_or(cores, usize::from);
        let lanes = match args.remote.url {
            Some(_) => usize::from(args.remote.connections),
            // While the scorers' threads judge, these read and write rows; one more than there are
            // threads keeps them all supplied.
            None => threads + 1,
        };
        Ok(Self {
            input: args.input,
            scorers: args.scorers,
            mapping: Mapping::resolve(args.mapping),
            limit: args.limit,
            overwrite_scores: args.files.overwrite_scores,
            json: args.json,
            lanes,
            to_stdout,
            target,
            existing: args.files.existing,
            config: args.config,
            explain: args.explain,
            threads,
            remote: args.remote,
        })
    }

    /// Finds the scorers, here or on a server.
    pub(crate) fn judging(&self) -> Result<Box<dyn Judging>, CliError> {
        Ok(match &self.remote.url {
            Some(url) => {
                Box::new(Remote::connect(&self.remote, url, &self.scorers, self.explain)?)
            }
            None => {
                let config = self.config.as_deref();
                Box::new(Local::new(&self.scorers, config, self.threads, self.explain)?)
            }
        })
    }

    /// Looks at the first rows for mistakes that would spoil them all.
    pub(crate) fn check_first_rows(&self, input: &mut Input) -> Result<(), CliError> {
        let Some(chunk) = input.peek()? else {
            return Ok(());
        };
        let rows = sample(chunk);
        self.mapping.check(&rows)?;
        let taken = rows.iter().find_map(|row| scores::taken(row, &self.scorers));
        match taken {
            Some(name) if !self.overwrite_scores => Err(CliError::Usage(format!(
                "rows of {} have a score of '{name}' already; --overwrite-scores replaces it",
                self.input
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Opens the output, where an earlier run stopped if there was one.
    pub(crate) fn open(
        &self,
        judges: Vec<Judge>,
        input: &mut Input,
    ) -> Result<Opened<Output>, CliError> {
        match &self.target {
            Target::File(paths) => {
                let options = Options {
                    mapping: &self.mapping,
                    explain: self.explain,
                    overwrite_scores: self.overwrite_scores,
                    limit: self.limit,
                    rejects: &paths.rejects,
                };
                let header = Header::new(&self.input, judges, &options);
                let opened = resume::open(paths.clone(), &header, self.existing, input)?;
                Ok(opened.map(Output::File))
            }
            Target::Stream { name, rejects } => {
                let sink: Box<dyn Write> = if self.to_stdout {
                    Box::new(std::io::stdout())
                } else {
                    let opened = std::fs::OpenOptions::new().write(true).open(name);
                    Box::new(opened.map_err(CliError::file("write", name))?)
                };
                let counts = Counts::new(judges.len());
                let rejects = rejects.as_deref().map(PartialFile::create).transpose()?;
                let stream = StreamOutput { name: name.clone(), sink, rejects, counts };
                Ok(Opened::Begun(Output::Stream(stream)))
            }
        }
    }

    /// How rejected rows are shown.
    pub(crate) fn reject_form(&self) -> RejectForm {
        match self.rejects_path() {
            Some(_) => RejectForm::Json,
            None => RejectForm::Note,
        }
    }

    /// The output, if it is a file.
    pub(crate) fn output_path(&self) -> Option<PathBuf> {
        match &self.target {
            Target::File(paths) => Some(paths.output.clone()),
            Target::Stream { .. } => None,
        }
    }

    /// The file of rejected rows, if there is one.
    pub(crate) fn rejects_path(&self) -> Option<PathBuf> {
        match &self.target {
            Target::File(paths) => Some(paths.rejects.clone()),
            Target::Stream { rejects, .. } => rejects.clone(),
        }
    }
}

/// A file, or what cannot be renamed into place: standard output, a pipe, a device.
fn target(output: &str, rejects: Option<PathBuf>) -> Result<Target, CliError> {
    let path = Path::new(output);
    if output == STREAM {
        return Ok(Target::Stream { name: PathBuf::from("standard output"), rejects });
    }
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(CliError::Usage(format!("{output} is a folder; name a file in it")))
        }
        Ok(metadata) if !metadata.is_file() => {
            Ok(Target::Stream { name: path.to_owned(), rejects })
        }
        // A path that cannot be looked at will say why when it is opened.
        Ok(_) | Err(_) => {
            let paths = Paths::beside(path, rejects.as_deref());
            if paths.rejects == paths.output {
                let message = "--rejects and --output name the same file";
                return Err(CliError::Usage(message.to_owned()));
            }
            Ok(Target::File(paths))
        }
    }
}

/// The rows of a chunk that can be read.
fn sample(chunk: &Chunk) -> Vec<Row<'_>> {
    let whole = chunk.lines().filter(|line| line.cut.is_none());
    let texts = whole.filter_map(|line| std::str::from_utf8(line.bytes).ok());
    texts.filter_map(|text| Row::parse(text).ok()).collect()
}
