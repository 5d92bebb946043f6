//! HTTP requests with retries.

use std::path::Path;
use std::time::Duration;

use crate::error::RunError;

/// Longest wait that is granted to a server's `Retry-After`.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Wait before the second try without `Retry-After`; it doubles with every try.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// Error of one attempt.
pub enum AttemptError {
    /// A retry may succeed, after this wait if the server sent `Retry-After`.
    Retryable(String, Option<Duration>),
    /// No retry can succeed.
    Fatal(String),
}

/// Calls `attempt` until it succeeds, at most `retries` times after the first.
///
/// # Errors
/// A fatal error, or the last retryable one.
pub fn with_retries<T>(
    retries: u32,
    mut attempt: impl FnMut() -> Result<T, AttemptError>,
) -> Result<T, RunError> {
    let (mut wait, mut left) = (FIRST_WAIT, retries);
    loop {
        let (message, server_wait) = match attempt() {
            Ok(reply) => return Ok(reply),
            Err(AttemptError::Fatal(message)) => return Err(RunError::Failed(message)),
            Err(AttemptError::Retryable(message, server_wait)) => (message, server_wait),
        };
        if left == 0 {
            let tries = retries + 1;
            let message = format!("{message} (gave up after {tries} tries)");
            return Err(RunError::Failed(message));
        }
        left -= 1;
        std::thread::sleep(server_wait.unwrap_or(wait).min(MAX_WAIT));
        wait = (wait * 2).min(MAX_WAIT);
    }
}

/// Reads the value of the `authorization` header from a key file.
///
/// # Errors
/// A file that cannot be read, or holds no key.
pub fn authorization(path: &Path) -> Result<String, RunError> {
    let text = std::fs::read_to_string(path).map_err(RunError::named(path))?;
    let mut lines = text.lines().map(str::trim);
    let key = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    match key {
        Some(key) if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(format!("Bearer {key}")),
        Some(_) => {
            let message = format!("{}: a key is printable ASCII without spaces", path.display());
            Err(RunError::Usage(message))
        }
        None => Err(RunError::Usage(format!("{} holds no key", path.display()))),
    }
}

/// Reads the `Retry-After` header in seconds; `None` without one, or for a date.
pub fn retry_after(headers: &ureq::http::HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Classifies a transport error: a request that cannot be made at all is fatal.
pub fn transport(url: &str, error: &ureq::Error) -> AttemptError {
    let message = format!("{url}: {error}");
    let hopeless =
        matches!(error, ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::Tls(_));
    if hopeless { AttemptError::Fatal(message) } else { AttemptError::Retryable(message, None) }
}
