//! One input: what its name, its first bytes and a first reading say.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use arrow::datatypes::SchemaRef;

use super::{BatchLimits, ParquetHead, SourceOptions, TextColumns, csv, json, parquet};
use crate::format::{self, Compression, Format, Magic};
use crate::json_array::{ArrayLines, begins_array};
use crate::{DatasetError, Result, layout};

/// The name that stands for standard input.
const STDIN: &str = "-";

/// Bytes that say what a file is.
const MAGIC_BYTES: usize = 4;

/// A file that was opened and looked at.
#[derive(Debug)]
pub struct InputFile {
    name: Arc<str>,
    path: PathBuf,
    kept: Option<tempfile::TempPath>,
    format: Format,
    compression: Compression,
    /// Whether a JSON text is one array, whose values are read as lines.
    is_array: bool,
    /// Bytes that are read: those that it had when it was opened.
    bytes: u64,
    modified: Option<SystemTime>,
    schema: SchemaRef,
    rows: u64,
    head: Option<ParquetHead>,
}

/// A file and what its bytes are.
struct DetectedFile {
    name: Arc<str>,
    path: PathBuf,
    kept: Option<tempfile::TempPath>,
    format: Format,
    compression: Compression,
}

/// Opens what names stand for, in order.
pub(super) fn open(names: &[String], options: &SourceOptions) -> Result<Vec<InputFile>> {
    if names.iter().filter(|name| *name == STDIN).count() > 1 {
        let message = "standard input is named twice; it can be read once";
        return Err(DatasetError::Usage(message.to_owned()));
    }
    let mut files = Vec::new();
    for group in names.chunk_by(|left, right| left != STDIN && right != STDIN) {
        if group == [STDIN] {
            files.push(InputFile::infer(spooled(options)?, &options.texts)?);
            continue;
        }
        for path in layout::resolve(group, &options.selection)? {
            files.push(InputFile::infer(detected(path, options)?, &options.texts)?);
        }
    }
    if files.is_empty() {
        return Err(DatasetError::Usage("no input is named".to_owned()));
    }
    Ok(files)
}

fn detected(path: PathBuf, options: &SourceOptions) -> Result<DetectedFile> {
    let name: Arc<str> = path.display().to_string().into();
    let (format, compression) = input_format(&path, &name, options.format)?;
    Ok(DetectedFile { name, path, kept: None, format, compression })
}

/// Standard input as a file that goes away with its value.
fn spooled(options: &SourceOptions) -> Result<DetectedFile> {
    let shown = Path::new("standard input");
    let folder = options.temporary.clone().unwrap_or_else(std::env::temp_dir);
    let mut file = tempfile::Builder::new()
        .prefix("tribunal-stdin-")
        .tempfile_in(&folder)
        .map_err(DatasetError::io("write", &folder))?;
    let path = file.path().to_owned();
    let copied = io::copy(&mut io::stdin().lock(), &mut file).and_then(|_| file.flush());
    copied.map_err(DatasetError::io("keep standard input in", &path))?;
    let name: Arc<str> = shown.display().to_string().into();
    let (format, compression) = input_format(&path, &name, options.format)?;
    Ok(DetectedFile { name, path, kept: Some(file.into_temp_path()), format, compression })
}

/// Format and compression, by the first bytes where they say something, else by the name.
fn input_format(path: &Path, name: &str, wanted: Option<Format>) -> Result<(Format, Compression)> {
    let mut head = Vec::new();
    let mut file = File::open(path).map_err(DatasetError::io("read", path))?;
    let metadata = file.metadata().map_err(DatasetError::io("read", path))?;
    if !metadata.is_file() {
        let problem = "not a plain file; pipe its content to `-`";
        return Err(DatasetError::file(name, problem));
    }
    (&mut file)
        .take(MAGIC_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(DatasetError::io("read", path))?;
    file.rewind().map_err(DatasetError::io("read", path))?;
    let magic = format::magic(&head);
    let compression = match magic {
        Magic::Gzip => Compression::Gzip,
        Magic::Zstd => Compression::Zstd,
        Magic::Parquet | Magic::Unknown => Compression::Plain,
    };
    let format = match wanted.or(format::by_name(path).0) {
        Some(format) => format,
        None if magic == Magic::Parquet => Format::Parquet,
        None => guessed(file, compression, name)?,
    };
    match (format, magic) {
        (Format::Parquet, Magic::Parquet) => Ok((format, Compression::Plain)),
        (Format::Parquet, Magic::Gzip | Magic::Zstd | Magic::Unknown) => {
            let problem = match metadata.len() {
                0 => "an empty file is no Parquet file; it was cut off or never written",
                _ => "not a Parquet file by its first bytes; give its real format with --format",
            };
            Err(DatasetError::file(name, problem))
        }
        (Format::Jsonl | Format::Csv | Format::Tsv, Magic::Parquet) => {
            let problem = "a Parquet file by its first bytes; say so with --format parquet";
            Err(DatasetError::file(name, problem))
        }
        (Format::Jsonl | Format::Csv | Format::Tsv, Magic::Gzip | Magic::Zstd | Magic::Unknown) => {
            Ok((format, compression))
        }
    }
}

/// The format of a text that nothing names: JSON lines begin with a brace, an array with a bracket.
fn guessed(file: File, compression: Compression, name: &str) -> Result<Format> {
    let fault = |error: io::Error| DatasetError::file(name, super::broken_stream(&error));
    let mut text = format::unpacked(file, compression).map_err(fault)?;
    loop {
        let head = text.fill_buf().map_err(fault)?;
        let length = head.len();
        match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None if length > 0 => text.consume(length),
            // Nothing at all is no row in every format.
            Some(b'{' | b'[') | None => return Ok(Format::Jsonl),
            Some(_) => {
                let problem = "no name that ends in a known format; give it with --format";
                return Err(DatasetError::file(name, problem));
            }
        }
    }
}

impl InputFile {
    /// Reads a text once, or the footer of a Parquet file.
    fn infer(detected: DetectedFile, texts: &TextColumns) -> Result<Self> {
        let metadata = metadata(&detected.path)?;
        let mut file = Self {
            name: detected.name,
            path: detected.path,
            kept: detected.kept,
            format: detected.format,
            compression: detected.compression,
            is_array: false,
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            schema: SchemaRef::new(arrow::datatypes::Schema::empty()),
            rows: 0,
            head: None,
        };
        match file.format {
            Format::Jsonl => {
                file.is_array = begins_array(file.unpacked()?.fill_buf().map_err(file.broken())?);
                let as_written = matches!(texts, TextColumns::All);
                let inferred = json::infer(file.text()?, &file.name, as_written)?;
                (file.schema, file.rows) = (inferred.schema, inferred.rows);
            }
            Format::Csv | Format::Tsv => {
                let delimiter = file.format.delimiter();
                let inferred =
                    csv::infer(file.text()?, &file.name, delimiter, |name| texts.has(name))?;
                (file.schema, file.rows) = inferred;
            }
            Format::Parquet => {
                let head = parquet::head(&file.path, &file.name)?;
                file.schema = parquet::schema(&head);
                file.rows = parquet::rows(&head);
                file.head = Some(head);
            }
        }
        Ok(file)
    }

    /// The file as it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is standard input, kept in a file.
    pub fn is_stdin(&self) -> bool {
        self.kept.is_some()
    }

    /// How its rows are written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes of the file as it lies there.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Rows that can be read.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Its own columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// What a Parquet file says of itself, and the rows of its batches.
    pub(crate) fn parquet(&self, limits: BatchLimits) -> (&ArrowReaderMetadata, usize) {
        let head =
            self.head.as_ref().expect("the footer of a Parquet file was read when it was opened");
        (&head.0, parquet::batch_rows(head, limits))
    }

    /// Its text, unpacked; of an array the values, a line each.
    pub(super) fn text(&self) -> Result<Box<dyn BufRead + Send>> {
        let text = self.unpacked()?;
        Ok(if self.is_array { Box::new(BufReader::new(ArrayLines::new(text))) } else { text })
    }

    fn unpacked(&self) -> Result<Box<dyn BufRead + Send>> {
        let file = File::open(&self.path).map_err(DatasetError::io("read", &self.path))?;
        format::unpacked(file.take(self.bytes), self.compression).map_err(self.broken())
    }

    fn broken(&self) -> impl Fn(io::Error) -> DatasetError {
        let name = self.name.clone();
        move |error| DatasetError::file(&name, super::broken_stream(&error))
    }

    /// Refuses a file that was changed since it was opened. Lines that another process has added
    /// are no change: they are not read.
    pub(crate) fn refuse_changed(&self) -> Result<()> {
        let metadata = metadata(&self.path)?;
        let is_lines = self.format == Format::Jsonl && self.compression == Compression::Plain;
        let has_grown = is_lines && metadata.len() > self.bytes;
        let is_same = metadata.len() == self.bytes && metadata.modified().ok() == self.modified;
        if has_grown || is_same {
            return Ok(());
        }
        let problem = "the file was changed while it was read; run again when it is complete";
        Err(DatasetError::file(&self.name, problem))
    }
}

fn metadata(path: &Path) -> Result<Metadata> {
    std::fs::metadata(path).map_err(DatasetError::io("read", path))
}
