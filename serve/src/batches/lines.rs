//! Reads and checks the lines of a batch input file.
//!
//! A file is read line by line, never into memory at once. Empty lines are skipped.

use std::collections::HashMap;
use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::batches::record::BatchFault;

/// Most faults that are listed; further ones are counted.
const MOST_FAULTS: usize = 100;

/// Longest `custom_id` in bytes.
const MOST_ID_BYTES: usize = 512;

/// Limits of an input file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineLimits {
    /// Most requests.
    pub(crate) requests: u32,
    /// Most bytes of a line.
    pub(crate) line_bytes: usize,
}

/// The request of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineRequest {
    pub(crate) custom_id: String,
    /// The body, byte for byte.
    pub(crate) body: String,
}

/// The result of checking an input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Number of requests.
    pub(crate) requests: u32,
    /// The faults, with their lines.
    pub(crate) faults: Vec<BatchFault>,
}

/// A line as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawLine {
    /// The bytes of the line.
    Whole(Vec<u8>),
    /// A line longer than the limit.
    TooLong,
}

/// The non-empty lines of a file with their numbers from 1.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    number: u32,
    most_bytes: usize,
}

impl<R: BufRead> Lines<R> {
    /// Creates a reader of lines.
    pub(crate) fn new(reader: R, most_bytes: usize) -> Lines<R> {
        Lines { reader, number: 0, most_bytes }
    }

    /// Returns the next non-empty line.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u32, RawLine)>> {
        while let Some(raw) = self.any()? {
            self.number = self.number.saturating_add(1);
            let empty = matches!(&raw, RawLine::Whole(bytes) if bytes.trim_ascii().is_empty());
            if !empty {
                return Ok(Some((self.number, raw)));
            }
        }
        Ok(None)
    }

    fn any(&mut self) -> io::Result<Option<RawLine>> {
        let (mut line, mut length) = (Vec::new(), 0_usize);
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok((length > 0).then(|| self.raw(line, length)));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(buffer.len());
            if length + taken <= self.most_bytes {
                line.extend_from_slice(&buffer[..taken]);
            }
            length += taken;
            self.reader.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(Some(self.raw(line, length)));
            }
        }
    }

    fn raw(&self, line: Vec<u8>, length: usize) -> RawLine {
        if length > self.most_bytes { RawLine::TooLong } else { RawLine::Whole(line) }
    }
}

/// Checks a file to its end.
///
/// # Errors
/// I/O errors.
pub(crate) fn check(reader: impl BufRead, url: &str, limits: LineLimits) -> io::Result<Checked> {
    let mut lines = Lines::new(reader, limits.line_bytes);
    let mut first_lines: HashMap<[u8; 16], u32> = HashMap::new();
    let mut checked = Checked { requests: 0, faults: Vec::new() };
    let mut beyond = 0_u64;
    while let Some((number, raw)) = lines.next()? {
        checked.requests = checked.requests.saturating_add(1);
        if checked.requests > limits.requests {
            let message = format!(
                "the file has more requests than batches.max_requests: {}",
                limits.requests
            );
            checked.faults.push(fault("too_many_tasks", message));
            return Ok(checked);
        }
        let found = read(&raw, url, limits).and_then(|request| {
            let key = key(&request.custom_id);
            let first = *first_lines.entry(key).or_insert(number);
            (first == number).then_some(()).ok_or_else(|| LineError {
                code: "duplicate_custom_id",
                param: Some("custom_id"),
                message: format!("line {first} has the same custom_id"),
            })
        });
        match found {
            Ok(()) => {}
            Err(_) if checked.faults.len() >= MOST_FAULTS => beyond += 1,
            Err(fault) => checked.faults.push(fault.wire(number)),
        }
    }
    if checked.requests == 0 {
        let message = "the file has no request".to_owned();
        checked.faults.push(fault("empty_file", message));
    }
    if beyond > 0 {
        let message = format!("{beyond} more lines cannot be used");
        checked.faults.push(fault("more_errors", message));
    }
    Ok(checked)
}

/// Parses the request of a line.
///
/// # Errors
/// The fault of the line.
pub(crate) fn read(raw: &RawLine, url: &str, limits: LineLimits) -> Result<LineRequest, LineError> {
    let RawLine::Whole(bytes) = raw else {
        let message = format!("the line is longer than {} bytes", limits.line_bytes);
        return Err(LineError::new("invalid_request", None, message));
    };
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| LineError::broken("the line is not UTF-8".to_owned()))?;
    // serde would accept a list as the fields in order.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(LineError::broken("the line is no JSON object".to_owned()));
    }
    let shape: LineFields<'_> = serde_json::from_str(text).map_err(|error| broken(&error))?;
    let custom_id = shape.custom_id()?;
    shape.check_method()?;
    shape.check_url(url)?;
    let body = shape.body()?;
    Ok(LineRequest { custom_id, body })
}

/// A fault of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineError {
    code: &'static str,
    param: Option<&'static str>,
    message: String,
}

impl LineError {
    fn new(code: &'static str, param: Option<&'static str>, message: String) -> LineError {
        LineError { code, param, message }
    }

    fn broken(message: String) -> LineError {
        LineError::new("invalid_json_line", None, message)
    }

    fn missing(param: &'static str) -> LineError {
        let message = format!("{param} is missing");
        LineError::new("missing_required_parameter", Some(param), message)
    }

    fn invalid(param: &'static str, message: &str) -> LineError {
        let message = format!("{param}: {message}");
        LineError::new("invalid_request", Some(param), message)
    }

    fn wire(self, line: u32) -> BatchFault {
        BatchFault {
            code: self.code.to_owned(),
            message: self.message,
            param: self.param.map(str::to_owned),
            line: Some(line.into()),
        }
    }
}

/// Builds a fault that concerns the file and not one line.
pub(crate) fn fault(code: &str, message: String) -> BatchFault {
    BatchFault { code: code.to_owned(), message, param: None, line: None }
}

/// The four fields of a line, each as raw JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFields<'t> {
    #[serde(borrow, default)]
    custom_id: Option<&'t RawValue>,
    #[serde(borrow, default)]
    method: Option<&'t RawValue>,
    #[serde(borrow, default)]
    url: Option<&'t RawValue>,
    #[serde(borrow, default)]
    body: Option<&'t RawValue>,
}

impl LineFields<'_> {
    fn custom_id(&self) -> Result<String, LineError> {
        let id = text("custom_id", self.custom_id)?;
        if (1..=MOST_ID_BYTES).contains(&id.len()) {
            return Ok(id);
        }
        let message = format!("1 to {MOST_ID_BYTES} bytes are taken");
        Err(LineError::invalid("custom_id", &message))
    }

    fn check_method(&self) -> Result<(), LineError> {
        let method = text("method", self.method)?;
        (method == "POST")
            .then_some(())
            .ok_or_else(|| LineError::invalid("method", "only POST is taken"))
    }

    fn check_url(&self, url: &str) -> Result<(), LineError> {
        let given = text("url", self.url)?;
        (given == url).then_some(()).ok_or_else(|| {
            let message = format!("url: the batch's endpoint is {url}");
            LineError::new("url_mismatch", Some("url"), message)
        })
    }

    fn body(&self) -> Result<String, LineError> {
        let raw = self.body.ok_or_else(|| LineError::missing("body"))?;
        let value: Value = serde_json::from_str(raw.get())
            .map_err(|error| LineError::broken(format!("body: {error}")))?;
        let Some(fields) = value.as_object() else {
            return Err(LineError::invalid("body", "an object is taken"));
        };
        if fields.get("stream") == Some(&Value::Bool(true)) {
            let message = "streams are not supported in batches";
            return Err(LineError::invalid("body.stream", message));
        }
        Ok(raw.get().to_owned())
    }
}

fn text(field: &'static str, raw: Option<&RawValue>) -> Result<String, LineError> {
    let raw = raw.ok_or_else(|| LineError::missing(field))?;
    serde_json::from_str(raw.get()).map_err(|_| LineError::invalid(field, "a text is taken"))
}

fn broken(error: &serde_json::Error) -> LineError {
    if error.is_data() {
        LineError::new("invalid_request", None, error.to_string())
    } else {
        LineError::broken(format!("the line is no JSON: {error}"))
    }
}

/// Returns 128 bits of the digest of a `custom_id`, enough to make collisions within a file
/// negligible.
fn key(custom_id: &str) -> [u8; 16] {
    let digest = Sha256::digest(custom_id.as_bytes());
    *digest.first_chunk().expect("a digest has 32 bytes")
}
