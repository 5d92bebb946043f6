//! File formats, by file name and by magic bytes.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// Format of rows in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Values between commas, with a line of names first.
    Csv,
    /// Values between tabs, with a line of names first.
    Tsv,
}

/// Compression of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// None.
    Plain,
    /// gzip, with one or more members.
    Gzip,
    /// Zstandard, with one or more frames.
    Zstd,
}

/// Endings of file names, longest first where one is the end of another.
const ENDINGS: &[(&str, Format)] = &[
    ("jsonl", Format::Jsonl),
    ("ndjson", Format::Jsonl),
    ("json", Format::Jsonl),
    ("parquet", Format::Parquet),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
];

const PARQUET_MAGIC: &[u8] = b"PAR1";
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Size of the read buffer in bytes.
const BUFFER_BYTES: usize = 256 << 10;

impl Format {
    /// Every format with its name in options.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("jsonl", Self::Jsonl),
        ("parquet", Self::Parquet),
        ("csv", Self::Csv),
        ("tsv", Self::Tsv),
    ];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
        }
    }

    /// Separator of values; a comma for formats without one.
    pub(crate) fn delimiter(self) -> u8 {
        match self {
            Self::Tsv => b'\t',
            Self::Csv | Self::Jsonl | Self::Parquet => b',',
        }
    }
}

impl Compression {
    /// File extension with its dot; empty for none.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }
}

/// Format and compression by file name; `None` for an unknown extension.
pub fn by_name(path: &Path) -> (Option<Format>, Compression) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let (stem, compression) = match name.rsplit_once('.') {
        Some((stem, "gz")) => (stem, Compression::Gzip),
        Some((stem, "zst" | "zstd")) => (stem, Compression::Zstd),
        Some(_) | None => (name.as_str(), Compression::Plain),
    };
    let ending = stem.rsplit_once('.').map(|(_, ending)| ending);
    let format = ENDINGS.iter().find(|(known, _)| Some(*known) == ending);
    (format.map(|(_, format)| *format), compression)
}

/// File type by magic bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Magic {
    Parquet,
    Gzip,
    Zstd,
    /// Text or an unknown type.
    Unknown,
}

/// Detects the type of a file by its first bytes.
pub(crate) fn magic(head: &[u8]) -> Magic {
    if head.starts_with(PARQUET_MAGIC) {
        Magic::Parquet
    } else if head.starts_with(GZIP_MAGIC) {
        Magic::Gzip
    } else if head.starts_with(ZSTD_MAGIC) {
        Magic::Zstd
    } else {
        Magic::Unknown
    }
}

/// Opens a decompressing reader without a leading byte order mark.
pub(crate) fn unpacked(
    packed: impl Read + Send + 'static,
    compression: Compression,
) -> io::Result<Box<dyn BufRead + Send>> {
    let buffered = |reader: Box<dyn Read + Send>| BufReader::with_capacity(BUFFER_BYTES, reader);
    let mut text = match compression {
        Compression::Plain => buffered(Box::new(packed)),
        Compression::Gzip => buffered(Box::new(MultiGzDecoder::new(BufReader::new(packed)))),
        Compression::Zstd => buffered(Box::new(zstd::Decoder::new(packed)?)),
    };
    if text.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        text.consume(BYTE_ORDER_MARK.len());
    }
    Ok(Box::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_formats() {
        #[track_caller]
        fn check(name: &str, format: Option<Format>, compression: Compression) {
            assert_eq!(by_name(Path::new(name)), (format, compression), "{name}");
        }
        use Compression::{Gzip, Plain, Zstd};
        check("a.jsonl", Some(Format::Jsonl), Plain);
        check("a.JSONL.GZ", Some(Format::Jsonl), Gzip);
        check("a.b.ndjson.zst", Some(Format::Jsonl), Zstd);
        check("a.json", Some(Format::Jsonl), Plain);
        check("folder.csv/a.parquet", Some(Format::Parquet), Plain);
        check("train-00000-of-00005.parquet", Some(Format::Parquet), Plain);
        check("a.csv.gz", Some(Format::Csv), Gzip);
        check("a.tsv", Some(Format::Tsv), Plain);
        check("a.txt", None, Plain);
        check("a.gz", None, Gzip);
        check("jsonl", None, Plain);
        check("", None, Plain);
    }

    #[test]
    fn packed_bytes_are_unpacked() {
        #[track_caller]
        fn check(bytes: Vec<u8>, compression: Compression, expected: &str) {
            let mut unpacked = unpacked(io::Cursor::new(bytes), compression).expect("readable");
            let mut all = String::new();
            unpacked.read_to_string(&mut all).expect("text");
            assert_eq!(all, expected);
        }
        let text = "\u{feff}a\nb\n".as_bytes().to_vec();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, &text).expect("to memory");
        let member = gzip.finish().expect("to memory");
        let frame = zstd::encode_all(&text[..], 3).expect("to memory");
        check(text.clone(), Compression::Plain, "a\nb\n");
        check(member.clone(), Compression::Gzip, "a\nb\n");
        // A mark in the middle is text.
        check(member.repeat(2), Compression::Gzip, "a\nb\n\u{feff}a\nb\n");
        check(frame.clone(), Compression::Zstd, "a\nb\n");
        check(frame.repeat(2), Compression::Zstd, "a\nb\n\u{feff}a\nb\n");
        check(Vec::new(), Compression::Plain, "");
    }
}
