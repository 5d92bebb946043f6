//! The current keys, which can be reloaded from their file.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::keys::Keys;

/// The current keys. A read-write lock: every request reads it, and a reload replaces the keys as a
/// whole.
#[derive(Debug)]
pub struct KeyRing(RwLock<Arc<Keys>>);

impl KeyRing {
    /// A ring with the first keys.
    pub fn new(keys: Keys) -> KeyRing {
        KeyRing(RwLock::new(Arc::new(keys)))
    }

    /// The current keys.
    pub fn current(&self) -> Arc<Keys> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, keys: Keys) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Reloads the key file and returns whether that succeeded; otherwise the keys stay as they are.
    pub(crate) fn reload(&self, path: &Path) -> bool {
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
