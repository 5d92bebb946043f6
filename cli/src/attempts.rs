//! Requests to a server that may have to be tried again.

use std::path::Path;
use std::time::Duration;

use crate::error::CliError;

/// Longest wait that a server may ask for.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Wait before the second try where the server does not say; it doubles from try to try.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// Why one try brought no reply.
pub(crate) enum Trouble {
    /// Another try may help, after this wait if the server asked for one.
    Passing(String, Option<Duration>),
    /// No other try will help.
    Lasting(String),
}

/// Tries until a reply comes, and so many times more after the first.
///
/// # Errors
/// A trouble that lasts, or the last one that passes.
pub(crate) fn persist<T>(
    retries: u32,
    mut attempt: impl FnMut() -> Result<T, Trouble>,
) -> Result<T, CliError> {
    let (mut wait, mut left) = (FIRST_WAIT, retries);
    loop {
        let (message, asked) = match attempt() {
            Ok(reply) => return Ok(reply),
            Err(Trouble::Lasting(message)) => return Err(CliError::Failed(message)),
            Err(Trouble::Passing(message, asked)) => (message, asked),
        };
        if left == 0 {
            let tries = retries + 1;
            let message = format!("{message} (gave up after {tries} tries)");
            return Err(CliError::Failed(message));
        }
        left -= 1;
        std::thread::sleep(asked.unwrap_or(wait).min(MAX_WAIT));
        wait = (wait * 2).min(MAX_WAIT);
    }
}

/// The value of the `authorization` header, from a key file.
///
/// # Errors
/// A file that cannot be read, or holds no key.
pub(crate) fn authorization(path: &Path) -> Result<String, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::named(path))?;
    let mut lines = text.lines().map(str::trim);
    let key = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    match key {
        Some(key) if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(format!("Bearer {key}")),
        Some(_) => {
            let message = format!("{}: a key is printable ASCII without spaces", path.display());
            Err(CliError::Usage(message))
        }
        None => Err(CliError::Usage(format!("{} holds no key", path.display()))),
    }
}

/// Seconds to wait; a date is not read, for the servers that this speaks to send seconds.
pub(crate) fn retry_after(headers: &ureq::http::HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// A request that cannot be made at all fails every time; a connection may come back.
pub(crate) fn transport(url: &str, error: &ureq::Error) -> Trouble {
    let message = format!("{url}: {error}");
    let hopeless =
        matches!(error, ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::Tls(_));
    if hopeless { Trouble::Lasting(message) } else { Trouble::Passing(message, None) }
}
