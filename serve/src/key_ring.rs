//! The keys in force, which are read again when their file changes or the process gets SIGHUP.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use actix_web::web::Data;
use tokio::signal::unix::{SignalKind, signal};

use crate::keys::Keys;
use crate::state::State;

/// How often the file is looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// The keys in force. A lock, because every request reads them and a reload replaces them whole.
#[derive(Debug)]
pub struct KeyRing(RwLock<Arc<Keys>>);

impl KeyRing {
    /// A ring with the first keys.
    pub fn new(keys: Keys) -> KeyRing {
        KeyRing(RwLock::new(Arc::new(keys)))
    }

    /// The keys in force now.
    pub fn current(&self) -> Arc<Keys> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, keys: Keys) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Reads the key file. One that cannot be used changes nothing. Returns whether it could.
    fn reload(&self, path: &Path) -> bool {
        let read = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let parsed = read.and_then(|text| {
            Keys::parse(&text).map_err(|problems| {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                lines.join("; ")
            })
        });
        match parsed {
            Ok(keys) => {
                let count = keys.len();
                self.replace(keys);
                tracing::info!(target: "audit", action = "reload_keys", keys = count, "done");
                true
            }
            Err(problem) => {
                tracing::error!(target: "audit", action = "reload_keys", problem, "refused");
                false
            }
        }
    }
}

/// The state of a file that a replacement or a change makes different.
type Stamp = Option<(SystemTime, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
}

/// Keeps the keys in step with their file for as long as the server runs; ends at once where no
/// file is configured.
pub(crate) async fn follow(state: Data<State>) {
    let Some(path) = state.config.api_keys_file.clone() else {
        return;
    };
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        tracing::error!("SIGHUP cannot be listened for; keys are reloaded when their file changes");
        return;
    };
    let mut seen = stamp(&path);
    loop {
        let signalled = tokio::select! {
            _ = hangup.recv() => true,
            () = tokio::time::sleep(PERIOD) => false,
        };
        let now = stamp(&path);
        // A file that is away for a moment is on its way to be replaced.
        if signalled || (now.is_some() && now != seen) {
            seen = now;
            let done = state.keys.reload(&path);
            state.metrics.key_reload(done);
        }
    }
}
