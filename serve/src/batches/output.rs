//! The output files of a batch.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use serde::de::IgnoredAny;
use serde_json::json;

use super::disk::{Disk, UnrecordedFile, Writing};
use super::error::StorageError;
use super::ids::{FileId, LineId};
use super::journal::{Journal, JournalRecord, LineOutcome};
use super::lines::{self, LineLimits, Lines};
use super::record::{BatchRecord, FileRecord};
use crate::batches::record::{BatchCounts, FilePurpose};
use crate::batches::status::BatchStatus;

/// Buffered bytes before a write.
const PIECE: usize = 1 << 20;

/// The reply of a route to a line.
#[derive(Debug)]
pub(crate) struct LineReply {
    pub(crate) status: StatusCode,
    pub(crate) request_id: String,
    pub(crate) body: Bytes,
    /// When to retry; `None` unless the server was overloaded.
    pub(crate) busy: Option<Duration>,
}

/// Builds the journal record of a reply.
pub(crate) fn answered(
    line: u32,
    id: &LineId,
    custom_id: &str,
    answer: &LineReply,
) -> JournalRecord {
    let outcome =
        if answer.status.is_success() { LineOutcome::Succeeded } else { LineOutcome::Failed };
    let head = format!(
        r#"{{"id":{},"custom_id":{},"response":{{"status_code":{},"request_id":{},"body":"#,
        json!(id.as_str()),
        json!(custom_id),
        answer.status.as_u16(),
        json!(answer.request_id),
    );
    let mut text = head.into_bytes();
    if serde_json::from_slice::<IgnoredAny>(&answer.body).is_ok() {
        // In JSON, newlines occur only between values; within strings they are escaped.
        let plain = |byte: &u8| {
            if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }
        };
        text.extend(answer.body.iter().map(plain));
    } else {
        let shown = String::from_utf8_lossy(&answer.body);
        text.extend_from_slice(json!(shown).to_string().as_bytes());
    }
    text.extend_from_slice(br#"},"error":null}"#);
    JournalRecord { line, outcome, text }
}

/// Builds the journal record of a line whose handling failed inside the server.
pub(crate) fn broken(line: u32, id: &LineId, custom_id: &str) -> JournalRecord {
    let message = "the server failed; its log has the cause";
    JournalRecord {
        line,
        outcome: LineOutcome::Failed,
        text: without_answer(id.as_str(), custom_id, "internal_error", message).into_bytes(),
    }
}

/// Builds the outcome of a line that is given up after `deaths` process deaths.
pub(crate) fn dead_letter(
    line: u32,
    custom_id: &str,
    deaths: usize,
) -> std::io::Result<JournalRecord> {
    let message = format!("the server's process ended {deaths} times while it answered this line");
    let id = LineId::new()?;
    let text = without_answer(id.as_str(), custom_id, "dead_letter", &message);
    Ok(JournalRecord { line, outcome: LineOutcome::Failed, text: text.into_bytes() })
}

fn without_answer(id: &str, custom_id: &str, code: &str, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    json!({ "id": id, "custom_id": custom_id, "response": null, "error": error }).to_string()
}

/// The output files of a batch, with the counts of its lines.
#[derive(Debug)]
pub(crate) struct OutputFiles {
    /// The files, until their records are written.
    pub(crate) files: Vec<UnrecordedFile>,
    pub(crate) output: Option<FileRecord>,
    pub(crate) error: Option<FileRecord>,
    pub(crate) counts: BatchCounts,
    /// Number of unanswered lines.
    pub(crate) unfinished: u32,
}

/// Writes the output files of a closed batch, in the order of its lines.
///
/// # Errors
/// I/O errors; no file is left then.
pub(crate) fn make(
    disk: &Arc<Disk>,
    batch: &BatchRecord,
    limits: LineLimits,
    (place, now): (u64, u64),
) -> Result<OutputFiles, StorageError> {
    let journal = Journal::open(disk, &disk.journal(&batch.id))?;
    let (mut output, mut error) = (Draft::new(disk), Draft::new(disk));
    let mut unfinished = 0;
    // A batch that did not pass validation has no lines.
    if batch.times.in_progress.is_some() {
        let file = File::open(disk.file(&batch.input))?;
        let mut lines = Lines::new(BufReader::new(file), limits.line_bytes);
        while let Some((number, raw)) = lines.next()? {
            match journal.entry(number)? {
                Some(entry) if entry.outcome == LineOutcome::Succeeded => {
                    output.line(&entry.text)?;
                }
                Some(entry) => error.line(&entry.text)?,
                None => {
                    unfinished += 1;
                    let request = lines::read(&raw, &batch.endpoint, limits).ok();
                    let custom_id = request.map(|request| request.custom_id).unwrap_or_default();
                    error.line(&unanswered(batch.status, &custom_id)?)?;
                }
            }
        }
    }
    let record = |(file, bytes): &(UnrecordedFile, u64), what: &str| FileRecord {
        place,
        owner: batch.owner.clone(),
        bytes: *bytes,
        created_at: now,
        expires_at: Some(now.saturating_add(batch.keep_seconds)),
        filename: format!("{}_{what}.jsonl", batch.id.as_str()),
        purpose: FilePurpose::BatchOutput,
        id: file.id().clone(),
    };
    // Both are written first, so that neither is kept where there is no room for both.
    output.write()?;
    error.write()?;
    let (output, error) = (output.keep()?, error.keep()?);
    Ok(OutputFiles {
        output: output.as_ref().map(|kept| record(kept, "output")),
        error: error.as_ref().map(|kept| record(kept, "error")),
        files: [output, error].into_iter().flatten().map(|(file, _)| file).collect(),
        counts: BatchCounts {
            completed: journal.count(LineOutcome::Succeeded),
            failed: journal.count(LineOutcome::Failed),
            ..batch.counts
        },
        unfinished,
    })
}

fn unanswered(status: BatchStatus, custom_id: &str) -> std::io::Result<Vec<u8>> {
    let (code, message) = if status == BatchStatus::Cancelling {
        ("batch_cancelled", "the batch was cancelled before this was answered")
    } else {
        ("batch_expired", "the batch's time was over before this was answered")
    };
    let id = LineId::new()?;
    Ok(without_answer(id.as_str(), custom_id, code, message).into_bytes())
}

/// An output file that is created with its first line.
struct Draft<'d> {
    disk: &'d Arc<Disk>,
    writing: Option<Writing>,
    piece: Vec<u8>,
}

impl Draft<'_> {
    fn new(disk: &Arc<Disk>) -> Draft<'_> {
        Draft { disk, writing: None, piece: Vec::new() }
    }

    fn line(&mut self, text: &[u8]) -> std::io::Result<()> {
        self.piece.extend_from_slice(text);
        self.piece.push(b'\n');
        if self.piece.len() >= PIECE {
            self.write()?;
        }
        Ok(())
    }

    /// Writes the buffered bytes.
    fn write(&mut self) -> std::io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let writing = match &mut self.writing {
            Some(writing) => writing,
            slot => slot.insert(self.disk.begin()?),
        };
        writing.write(&self.piece)?;
        self.piece.clear();
        Ok(())
    }

    /// Gives the written file its final name; `None` without a line. Returns it with its bytes.
    fn keep(self) -> std::io::Result<Option<(UnrecordedFile, u64)>> {
        let Some(writing) = self.writing else {
            return Ok(None);
        };
        let bytes = writing.bytes();
        Ok(Some((writing.keep(&FileId::new()?)?, bytes)))
    }
}
