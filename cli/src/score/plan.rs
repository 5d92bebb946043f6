//! What a run is to do: the command line, checked and resolved.

use std::path::PathBuf;

use super::ScoreArgs;
use super::input::Input;
use super::journal::{Header, Judge, Options};
use super::judging::Judging;
use super::local::Local;
use super::mapping::Mapping;
use super::output::Output;
use super::remote::{Remote, RemoteArgs};
use super::resume::{Existing, Opened};
use super::row::Row;
use super::scores;
use super::target::Target;
use crate::error::CliError;
use crate::scorers;
use crate::stream::Chunk;

/// What a run is to do.
pub(crate) struct Plan {
    pub(crate) input: String,
    pub(crate) scorers: Vec<String>,
    pub(crate) mapping: Mapping,
    pub(crate) target: Target,
    pub(crate) limit: Option<u64>,
    pub(crate) overwrite_scores: bool,
    pub(crate) json: bool,
    /// Chunks that are processed at once.
    pub(crate) lanes: usize,
    existing: Existing,
    config: Option<PathBuf>,
    explain: bool,
    threads: usize,
    remote: RemoteArgs,
}

impl Plan {
    /// Checks what can be checked without opening anything.
    pub(crate) fn resolve(args: ScoreArgs) -> Result<Self, CliError> {
        scorers::refuse_repeated(&args.scorers)?;
        let target = Target::resolve(&args.output, args.files.rejects)?;
        if target.is_stdout() && args.json {
            let message = "--json and '-o -' would both write to standard output";
            return Err(CliError::Usage(message.to_owned()));
        }
        target.refuse_clash(&args.input)?;
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
            target,
            limit: args.limit,
            overwrite_scores: args.files.overwrite_scores,
            json: args.json,
            lanes,
            existing: args.files.existing,
            config: args.config,
            explain: args.explain,
            threads,
            remote: args.remote,
        })
    }

    /// Finds the scorers, here or on a server.
    pub(crate) fn judging(&self) -> Result<Box<dyn Judging>, CliError> {
        if let Some(url) = &self.remote.url {
            let remote = Remote::connect(&self.remote, url, &self.scorers, self.explain)?;
            return Ok(Box::new(remote));
        }
        let config = self.config.as_deref();
        Ok(Box::new(Local::new(
            &self.scorers,
            config,
            self.threads,
            self.explain,
        )?))
    }

    /// Looks at the first rows for mistakes that would spoil them all.
    pub(crate) fn check_first_rows(&self, input: &mut Input) -> Result<(), CliError> {
        let Some(chunk) = input.peek()? else {
            return Ok(());
        };
        let rows = sample(chunk);
        self.mapping.check(&rows)?;
        let taken = rows
            .iter()
            .find_map(|row| scores::taken(row, &self.scorers));
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
        let options = Options {
            mapping: &self.mapping,
            explain: self.explain,
            overwrite_scores: self.overwrite_scores,
            limit: self.limit,
            rejects: self.target.named_rejects(),
        };
        let header = Header::new(&self.input, judges, &options);
        self.target.open(&header, self.existing, input)
    }
}

/// The rows of a chunk that can be read.
fn sample(chunk: &Chunk) -> Vec<Row<'_>> {
    let whole = chunk.lines().filter(|line| line.cut.is_none());
    let texts = whole.filter_map(|line| std::str::from_utf8(line.bytes).ok());
    texts.filter_map(|text| Row::parse(text).ok()).collect()
}
