//! What a run is to do: the command line, checked and resolved.

use std::path::PathBuf;

use datasets::manifest::{Manifest, Output as OutputFile, Time};
use datasets::source::InputDigest;
use serde_json::json;

use super::ScoreArgs;
use super::input::Input;
use super::journal::{Counts, Header, Judge, Options};
use super::judging::Judging;
use super::local::Local;
use super::mapping::Mapping;
use super::output::Output;
use super::remote::{Remote, RemoteArgs};
use super::resume::{Existing, Opened};
use super::row::Row;
use super::scores;
use super::table::{self, TableArgs};
use super::target::Target;
use crate::error::CliError;
use crate::scorers;
use crate::stream::Chunk;

/// What a run is to do.
pub(crate) struct Plan {
    /// As they were named.
    pub(crate) inputs: Vec<String>,
    /// As it was named.
    pub(crate) output: String,
    /// What only tables have; looked at where [`Plan::is_table`].
    pub(crate) table: TableArgs,
    pub(crate) scorers: Vec<String>,
    pub(crate) mapping: Mapping,
    pub(crate) target: Target,
    pub(crate) limit: Option<u64>,
    pub(crate) overwrite_scores: bool,
    pub(crate) json: bool,
    /// Chunks that are processed at once.
    pub(crate) lanes: usize,
    pub(crate) existing: Existing,
    pub(crate) explain: bool,
    pub(crate) remote: RemoteArgs,
    config: Option<PathBuf>,
    threads: usize,
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
        for input in &args.inputs {
            target.refuse_clash(input)?;
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
            inputs: args.inputs,
            output: args.output,
            table: args.table,
            scorers: args.scorers,
            mapping: Mapping::resolve(args.mapping)?,
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

    /// Whether rows are read as tables, and not as lines that keep every byte.
    pub(crate) fn is_table(&self) -> bool {
        let [input] = self.inputs.as_slice() else {
            return true;
        };
        self.table.is_wanted() || table::is_table(input) || table::is_table(&self.output)
    }

    /// The one input of a run over lines.
    pub(crate) fn input(&self) -> &str {
        self.inputs.first().expect("the command line asks for one")
    }

    /// What verdicts that are kept for another run are made by.
    pub(crate) fn verdict_header(&self, input: &str, judges: Vec<Judge>) -> Header {
        let options = json!({"mapping": self.mapping, "explain": self.explain});
        Header::of(input, judges, &options)
    }

    /// What made an output.
    pub(crate) fn manifest(
        &self,
        judging: &dyn Judging,
        inputs: Vec<InputDigest>,
        counts: &Counts,
        (files, time): (&[(PathBuf, u64)], Time),
    ) -> Manifest {
        let choice = &self.table.choice;
        let options = json!({
            "scorers": judging.judges(),
            "mapping": self.mapping,
            "explain": self.explain,
            "flat": self.table.writing.flat,
            "overwrite_scores": self.overwrite_scores,
            "retry_status": choice.retry_status,
            "limit": self.limit,
            "sample": choice.sample,
            "seed": choice.seed,
            "shard": choice.shard,
        });
        Manifest {
            manifest: 1,
            program: concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: "score".to_owned(),
            inputs,
            options,
            counts: counts.described(&self.scorers),
            outputs: OutputFile::of(files),
            time,
        }
    }

    /// A folder for files that nobody else sees: beside the output if that is a file.
    pub(crate) fn work_folder(&self) -> PathBuf {
        let beside = self.target.output().map(|output| match output.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            Some(_) | None => PathBuf::from("."),
        });
        beside.unwrap_or_else(std::env::temp_dir)
    }

    /// Finds the scorers, here or on a server.
    pub(crate) fn judging(&self) -> Result<Box<dyn Judging>, CliError> {
        if let Some(url) = &self.remote.url {
            let remote = Remote::connect(&self.remote, url, &self.scorers, self.explain)?;
            return Ok(Box::new(remote));
        }
        let config = self.config.as_deref();
        Ok(Box::new(Local::new(&self.scorers, config, self.threads, self.explain)?))
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
                self.input()
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
        let header = Header::of(self.input(), judges, &options);
        self.target.open(&header, self.existing, input)
    }
}

/// The rows of a chunk that can be read.
fn sample(chunk: &Chunk) -> Vec<Row<'_>> {
    let whole = chunk.lines().filter(|line| line.cut.is_none());
    let texts = whole.filter_map(|line| std::str::from_utf8(line.bytes).ok());
    texts.filter_map(|text| Row::parse(text).ok()).collect()
}
