//! Options of a scoring run, checked and resolved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datasets::format::{Compression, Format, by_name};
use datasets::manifest::{Manifest, OutputFile, Time};
use datasets::sink::SinkOptions;
use datasets::source::{
    BatchLimits, InputDigest, MissingColumns, Selection, SourceOptions, TextColumns,
};
use engine::DeviceName;
use openapi::Status;
use serde_json::json;
use serve::signing::Signer;

use crate::backend::{Backend, BackendOptions, RemoteOptions, cores};
use crate::counts::Counts;
use crate::error::RunError;
use crate::files::STREAM;
use crate::header::{Header, ScorerIdentity};
use crate::mapping::{Mapping, MappingOptions};
use crate::scorers;
use crate::selection::Shard;
use crate::target::OutputTarget;

/// Memory for the chunks of a run that are in flight.
pub(crate) const WINDOW_BYTES: usize = 256 << 20;

/// Options of a scoring run.
#[derive(Debug)]
pub struct JobOptions {
    /// Files, globs, dataset folders, or `-` for standard input.
    pub inputs: Vec<String>,
    /// Where the scored rows go; `-` for standard output.
    pub output: String,
    /// Names of scorers.
    pub scorers: Vec<String>,
    /// Configuration file with more scorers.
    pub config: Option<PathBuf>,
    /// Whether verdicts have `reason.detail`.
    pub explain: bool,
    /// Most rows to score.
    pub limit: Option<u64>,
    /// Where models compute; as configured if not set.
    pub device: Option<DeviceName>,
    /// Verifier threads; the number of cores if not set.
    pub threads: Option<usize>,
    /// How files and columns that exist already are treated.
    pub existing: ExistingOptions,
    /// Where rejected rows go; beside the output if not set.
    pub rejects: Option<PathBuf>,
    /// Which columns hold which fields.
    pub mapping: MappingOptions,
    /// Options of tables, which plain JSON lines do not have.
    pub table: TableOptions,
    /// A server that scores instead of this process.
    pub remote: RemoteOptions,
    /// File of the key that signs verdicts; that of the configuration if not set, if it has one.
    pub signing_key: Option<PathBuf>,
}

/// How files and columns that exist already are treated.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExistingOptions {
    /// Whether outputs that exist are replaced, and unfinished runs discarded.
    pub mode: OverwriteMode,
    /// Whether scores of the same names that rows have are replaced.
    pub overwrite_scores: bool,
}

/// Whether outputs that exist are replaced, and unfinished runs discarded.
#[derive(Debug, Clone, Copy, Default)]
pub struct OverwriteMode {
    /// Replace an output file that exists.
    pub overwrite: bool,
    /// Discard what an unfinished run has left.
    pub restart: bool,
}

/// Options of tables, which plain JSON lines do not have.
#[derive(Debug, Default)]
pub struct TableOptions {
    /// Format of every input; by their names if not set.
    pub format: Option<Format>,
    /// Configuration and split of a dataset folder.
    pub part: Selection,
    /// What to do about columns that some files lack.
    pub missing: MissingColumns,
    /// Which rows are scored.
    pub rows: RowOptions,
    /// How the output is written.
    pub writing: WritingOptions,
}

/// Which rows of a table are scored.
#[derive(Debug, Default)]
pub struct RowOptions {
    /// Number of rows to draw.
    pub sample: Option<u64>,
    /// Seed of the draw.
    pub seed: u64,
    /// One of several pieces of the rows.
    pub shard: Option<Shard>,
    /// Score only rows whose verdicts have one of these statuses, or none; empty scores all rows.
    pub retry_status: Vec<Status>,
}

/// How a table is written.
#[derive(Debug, Default)]
pub struct WritingOptions {
    /// Format of the output; by its name if not set.
    pub format: Option<Format>,
    /// Rows of an output file; `None` writes one file.
    pub shard_rows: Option<u64>,
    /// Whether verdicts are flat columns `NAME_status`, `NAME_score` and so on.
    pub flat: bool,
}

impl TableOptions {
    /// Whether an option is set that only tables have.
    fn is_set(&self) -> bool {
        self.format.is_some()
            || self.part != Selection::default()
            || self.missing != MissingColumns::default()
            || self.rows.sample.is_some()
            || self.rows.shard.is_some()
            || !self.rows.retry_status.is_empty()
            || self.writing.format.is_some()
            || self.writing.shard_rows.is_some()
            || self.writing.flat
    }

    /// How inputs are opened, with batches of this size. Cells between commas or tabs that scorers read
    /// stay texts: `1.50` is not `1.5`, and a response `4` is no number.
    pub(crate) fn source(&self, limits: BatchLimits, mapping: &Mapping) -> SourceOptions {
        SourceOptions {
            format: self.format,
            selection: self.part.clone(),
            missing: self.missing,
            limits,
            texts: TextColumns::Named(mapping.text_columns()),
            ..SourceOptions::default()
        }
    }
}

/// A scoring run whose options are checked.
pub(crate) struct Job {
    /// As they were named.
    pub(crate) inputs: Vec<String>,
    /// As it was named.
    pub(crate) output: String,
    pub(crate) scorers: Vec<String>,
    pub(crate) mapping: Mapping,
    pub(crate) target: OutputTarget,
    pub(crate) limit: Option<u64>,
    pub(crate) existing: ExistingOptions,
    pub(crate) explain: bool,
    /// Options of tables; unused where the job is over lines.
    pub(crate) table: TableOptions,
    pub(crate) remote: RemoteOptions,
    /// Chunks that are processed at once.
    pub(crate) workers: usize,
    /// The key that signs verdicts.
    pub(crate) signer: Option<Arc<Signer>>,
    config: Option<PathBuf>,
    device: Option<DeviceName>,
    threads: usize,
}

impl Job {
    /// Checks what can be checked without opening an input.
    pub(crate) fn resolve(options: JobOptions) -> Result<Self, RunError> {
        scorers::refuse_repeated(&options.scorers)?;
        let signer = signer(&options)?;
        let target = OutputTarget::resolve(&options.output, options.rejects)?;
        for input in &options.inputs {
            target.refuse_clash(input)?;
        }
        let threads = options.threads.unwrap_or_else(cores);
        let workers = match options.remote.url {
            Some(_) => options.remote.connections,
            // These read and write rows while the scorers' threads work; one more than there are
            // threads keeps them all supplied.
            None => threads + 1,
        };
        Ok(Self {
            inputs: options.inputs,
            output: options.output,
            scorers: options.scorers,
            mapping: Mapping::resolve(options.mapping)?,
            target,
            limit: options.limit,
            existing: options.existing,
            explain: options.explain,
            table: options.table,
            remote: options.remote,
            workers,
            signer,
            config: options.config,
            device: options.device,
            threads,
        })
    }

    /// Whether rows are read as tables, and not as lines that keep every byte.
    pub(crate) fn is_table(&self) -> bool {
        let [input] = self.inputs.as_slice() else {
            return true;
        };
        self.table.is_set() || names_a_table(input) || names_a_table(&self.output)
    }

    /// The one input of a run over lines.
    pub(crate) fn input(&self) -> &str {
        self.inputs.first().expect("a run has an input")
    }

    /// The header of a verdict store of this run.
    pub(crate) fn verdict_header(&self, input: &str, scorers: Vec<ScorerIdentity>) -> Header {
        let mut options = json!({"mapping": self.mapping, "explain": self.explain});
        if let Some(kid) = self.kid() {
            options["signed_by"] = kid.into();
        }
        Header::of(input, scorers, &options)
    }

    /// The id of the key that signs verdicts.
    pub(crate) fn kid(&self) -> Option<&str> {
        self.signer.as_ref().map(|signer| signer.kid())
    }

    /// How the output table is written.
    pub(crate) fn sink_options(&self) -> SinkOptions {
        SinkOptions {
            format: self.table.writing.format,
            shard_rows: self.table.writing.shard_rows,
            overwrite: self.existing.mode.overwrite,
        }
    }

    /// The manifest of an output: `files` with their rows.
    pub(crate) fn manifest(
        &self,
        backend: &dyn Backend,
        inputs: Vec<InputDigest>,
        counts: &Counts,
        (files, time): (&[(PathBuf, u64)], Time),
    ) -> Manifest {
        let rows = &self.table.rows;
        let options = json!({
            "scorers": backend.scorers(),
            "mapping": self.mapping,
            "explain": self.explain,
            "flat": self.table.writing.flat,
            "overwrite_scores": self.existing.overwrite_scores,
            "retry_status": rows.retry_status,
            "limit": self.limit,
            "sample": rows.sample,
            "seed": rows.seed,
            "shard": rows.shard,
        });
        let mut options = options;
        if let Some(kid) = self.kid() {
            options["signed_by"] = kid.into();
        }
        Manifest {
            manifest: 1,
            program: concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: "score".to_owned(),
            inputs,
            options,
            counts: counts.described(&self.scorers),
            outputs: OutputFile::of(files),
            rejects: self.target.named_rejects().map(Path::to_owned),
            time,
        }
    }

    /// A folder for unnamed files: that of the output if it is a file.
    pub(crate) fn work_folder(&self) -> PathBuf {
        let beside = self.target.output().map(|output| match output.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            Some(_) | None => PathBuf::from("."),
        });
        beside.unwrap_or_else(std::env::temp_dir)
    }

    /// Finds the scorers, here or on a server.
    pub(crate) fn backend(&self) -> Result<Box<dyn Backend>, RunError> {
        let options = BackendOptions {
            scorers: &self.scorers,
            config: self.config.as_deref(),
            device: self.device,
            threads: Some(self.threads),
            explain: self.explain,
            remote: &self.remote,
        };
        options.open()
    }
}

/// Reads the key that signs verdicts: the one that is named, else that of the configuration.
fn signer(options: &JobOptions) -> Result<Option<Arc<Signer>>, RunError> {
    let signer = match (&options.signing_key, &options.config) {
        (Some(path), _) => {
            let wrong = |error| RunError::Usage(format!("{}: {error}", path.display()));
            Some(Arc::new(Signer::read(path).map_err(wrong)?))
        }
        (None, Some(config)) => {
            serve::config::read_signing(config).map_err(RunError::Usage)?.signer().cloned()
        }
        (None, None) => None,
    };
    if signer.is_some() && options.table.writing.flat {
        let message = "flat columns have no place for signatures; score without --flat";
        return Err(RunError::Usage(message.to_owned()));
    }
    Ok(signer)
}

/// Whether an input or output of this name can only be a table.
fn names_a_table(name: &str) -> bool {
    if name == STREAM {
        return false;
    }
    let path = Path::new(name);
    let (format, compression) = by_name(path);
    let is_text = matches!(format, None | Some(Format::Jsonl)) && compression == Compression::Plain;
    // A name that no file has may be a glob.
    !is_text || path.is_dir() || (!path.exists() && name.contains(['*', '?', '[']))
}
