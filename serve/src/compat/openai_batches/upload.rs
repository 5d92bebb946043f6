//! Parses a multipart form with a file and writes the file to disk as it arrives.

use std::sync::Arc;
use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::HttpRequest;
use actix_web::web::Payload;
use futures_util::StreamExt as _;
use tokio::time::Instant;

use crate::batches::record::{LEAST_SECONDS, MOST_SECONDS};
use crate::batches::{Batches, Writing};
use crate::compat::shared::invalid;
use crate::error::{ApiError, Code};
use crate::state::State;

/// Most bytes of a field other than the file.
const FIELD_BYTES: usize = 256;

/// Most bytes of a form beside its file.
pub(super) const FORM_BYTES: usize = 64 << 10;

/// Buffered bytes before a write.
const PIECE: usize = 256 << 10;

/// Minimum rate of an upload in bytes per second, so that a client that trickles bytes does not
/// hold a connection for long.
const LEAST_PACE: u64 = 16 << 10;

/// Most characters of a file name.
const NAME_CHARS: usize = 255;

/// A parsed form.
pub(super) struct UploadForm {
    /// The client's file name; never used as a path.
    pub(super) name: String,
    /// The written file.
    pub(super) file: Writing,
    /// Lifetime in seconds.
    pub(super) seconds: u64,
}

#[derive(Default)]
struct FormFields {
    file: Option<(String, Writing)>,
    purpose: Option<String>,
    anchor: Option<String>,
    seconds: Option<String>,
}

/// Parses a form.
///
/// # Errors
/// 400 for an invalid form, 408 below the minimum rate, 413 for a file that is too large, 422 for
/// invalid fields, 507 for a full disk.
pub(super) async fn receive(
    request: &HttpRequest,
    payload: Payload,
    state: &State,
    batches: &Arc<Batches>,
) -> Result<UploadForm, ApiError> {
    let mut form = Multipart::new(request.headers(), payload);
    let mut clock = Clock::start(state.config.body_timeout);
    let mut parts = FormFields::default();
    while let Some(field) = clock.in_time(form.next()).await? {
        let mut field = field.map_err(|error| malformed(&error))?;
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            if parts.file.is_some() {
                return Err(twice(&name));
            }
            let shown = file_name(&field);
            let file = file(&mut field, state, batches, &mut clock).await?;
            parts.file = Some((shown, file));
            continue;
        }
        let slot = match name.as_str() {
            "purpose" => &mut parts.purpose,
            "expires_after[anchor]" => &mut parts.anchor,
            "expires_after[seconds]" => &mut parts.seconds,
            _ => {
                let shown: String = name.chars().take(80).collect();
                return Err(invalid(shown, "no such field"));
            }
        };
        let value = clock.in_time(field.bytes(FIELD_BYTES)).await?;
        let value = value.map_err(|_| invalid(name.as_str(), "it is too long"))?;
        let value = value.map_err(|error| malformed(&error))?;
        let text =
            std::str::from_utf8(&value).map_err(|_| invalid(name.as_str(), "it is not UTF-8"))?;
        if slot.replace(text.to_owned()).is_some() {
            return Err(twice(&name));
        }
    }
    parts.checked()
}

impl FormFields {
    fn checked(self) -> Result<UploadForm, ApiError> {
        let Some((name, file)) = self.file else {
            return Err(invalid("file", "it is missing"));
        };
        match self.purpose.as_deref() {
            Some("batch") => {}
            Some(_) => return Err(invalid("purpose", "files are taken for 'batch' alone")),
            None => return Err(invalid("purpose", "it is missing; 'batch' is taken")),
        }
        let seconds = life(self.anchor.as_deref(), self.seconds.as_deref())?;
        Ok(UploadForm { name, file, seconds })
    }
}

/// Returns the lifetime of a file in seconds.
///
/// # Errors
/// 422 for an invalid anchor or lifetime.
fn life(anchor: Option<&str>, seconds: Option<&str>) -> Result<u64, ApiError> {
    if anchor.is_none() && seconds.is_none() {
        return Ok(MOST_SECONDS);
    }
    check_anchor("expires_after[anchor]", anchor)?;
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
    check_seconds("expires_after[seconds]", seconds)?;
    Ok(seconds)
}

/// Checks that an anchor is `created_at`.
///
/// # Errors
/// 422 for another anchor.
pub(super) fn check_anchor(path: &str, anchor: Option<&str>) -> Result<(), ApiError> {
    match anchor {
        Some("created_at") => Ok(()),
        _ => Err(invalid(path, "'created_at' is taken")),
    }
}

/// Checks that a lifetime is within its bounds.
///
/// # Errors
/// 422 outside them.
pub(super) fn check_seconds(path: &str, seconds: u64) -> Result<(), ApiError> {
    if (LEAST_SECONDS..=MOST_SECONDS).contains(&seconds) {
        return Ok(());
    }
    let limits = format_args!("{LEAST_SECONDS} to {MOST_SECONDS} are taken");
    Err(invalid(path, limits))
}

/// Writes the file as it arrives.
async fn file(
    field: &mut Field,
    state: &State,
    batches: &Arc<Batches>,
    clock: &mut Clock,
) -> Result<Writing, ApiError> {
    let most = state.config.batches_max_file;
    let mut writing = batches.run(|batches| batches.begin_file()).await?;
    let (mut piece, mut length) = (Vec::with_capacity(PIECE), 0_usize);
    loop {
        let chunk = clock.in_time(field.next()).await?;
        if let Some(chunk) = &chunk {
            let chunk = chunk.as_ref().map_err(malformed)?;
            length = length.saturating_add(chunk.len());
            if length > most {
                return Err(too_large(most));
            }
            clock.came(chunk.len());
            piece.extend_from_slice(chunk);
        }
        if piece.len() >= PIECE || chunk.is_none() {
            let written = batches.run(move |_| {
                writing.write(&piece)?;
                piece.clear();
                Ok((writing, piece))
            });
            (writing, piece) = written.await?;
        }
        if chunk.is_none() {
            return Ok(writing);
        }
    }
}

/// Creates a 413 error.
pub(super) fn too_large(most: usize) -> ApiError {
    let message = format!("the file is larger than {most} bytes, which batches.max_file allows");
    ApiError::new(Code::BodyTooLarge, message).at("file")
}

fn malformed(error: &MultipartError) -> ApiError {
    ApiError::new(Code::MalformedForm, format!("no form with a file: {error}"))
}

fn twice(name: &str) -> ApiError {
    invalid(name, "it is given twice")
}

/// Returns the last component of the client's file name, without control characters.
fn file_name(field: &Field) -> String {
    let given = field.content_disposition().and_then(|found| {
        let plain = found.get_filename().map(str::to_owned);
        plain.or_else(|| {
            let other = found.get_filename_ext()?;
            String::from_utf8(other.value.clone()).ok()
        })
    });
    shown_name(&given.unwrap_or_default())
}

fn shown_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = last.chars().filter(|c| !c.is_control());
    let shown: String = shown.take(NAME_CHARS).collect();
    match shown.as_str() {
        "" | "." | ".." => "file".to_owned(),
        _ => shown,
    }
}

/// The time limit of an upload, by its minimum rate.
struct Clock {
    begun: Instant,
    /// Time allowed regardless of the bytes received.
    grace: Duration,
    bytes: u64,
}

impl Clock {
    fn start(grace: Duration) -> Clock {
        Clock { begun: Instant::now(), grace, bytes: 0 }
    }

    fn came(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    async fn in_time<T>(&self, coming: impl Future<Output = T>) -> Result<T, ApiError> {
        let earned = Duration::from_secs(self.bytes / LEAST_PACE);
        let end = self.begun + self.grace + earned;
        let came = tokio::time::timeout_at(end, coming).await;
        came.map_err(|_| ApiError::new(Code::BodyTimeout, "the file comes too slowly"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_sanitised() {
        for (given, expected) in [
            ("requests.jsonl", "requests.jsonl"),
            ("", "file"),
            ("../../etc/passwd", "passwd"),
            ("..", "file"),
            ("a/..", "file"),
            ("C:\\temp\\a b.jsonl", "a b.jsonl"),
            ("nul\0and\u{7}bell\r\n", "nulandbell"),
            ("été.jsonl", "été.jsonl"),
        ] {
            assert_eq!(shown_name(given), expected, "{given:?}");
        }
        assert_eq!(shown_name(&"é".repeat(1_000)).chars().count(), NAME_CHARS);
    }

    #[test]
    fn lifetimes_are_checked() {
        let of = |anchor, seconds| life(anchor, seconds).ok();
        let anchor = Some("created_at");
        assert_eq!(of(None, None), Some(MOST_SECONDS));
        assert_eq!(of(anchor, Some("3600")), Some(3600));
        for (anchor, seconds) in [
            (anchor, None),
            (None, Some("3600")),
            (Some("now"), Some("3600")),
            (anchor, Some("3599")),
            (anchor, Some("2592001")),
            (anchor, Some("-1")),
            (anchor, Some("an hour")),
        ] {
            assert_eq!(of(anchor, seconds), None, "{anchor:?} {seconds:?}");
        }
    }
}
