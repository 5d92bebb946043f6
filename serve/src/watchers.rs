//! Background tasks that run as long as the server: sampling memory, recording the progress of engines,
//! verifier threads and event loops, and reloading keys.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use actix_web::web::Data;
use base::memory::{mib, resident_anonymous_bytes};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::liveness;
use crate::memory::MemoryStage;
use crate::state::State;

/// Time between two samples of memory.
const MEMORY_PERIOD: Duration = Duration::from_millis(100);

/// Time between two checks of the key file.
const KEY_FILE_PERIOD: Duration = Duration::from_secs(1);

/// Starts the thread that samples memory until the state is dropped.
///
/// # Errors
/// The thread does not start.
pub(crate) fn sample_memory(state: Weak<State>) -> std::io::Result<()> {
    let run = move || {
        let mut keeps_pages = true;
        while let Some(state) = state.upgrade() {
            let Some(used) = resident_anonymous_bytes() else { return };
            if let Some(stage) = state.memory.sample(used) {
                report_memory(&state, stage);
            }
            if state.memory.keeps_no_pages() == keeps_pages {
                keeps_pages = !keeps_pages;
                (state.allocator.keep_pages)(keeps_pages);
            }
            if state.memory.stage() >= MemoryStage::DropCache {
                state.cache.clear();
                (state.allocator.collect)();
            }
            if state.memory.stage() >= MemoryStage::RefuseLargeBodies {
                state.connections.end_stalled();
            }
            drop(state);
            std::thread::sleep(MEMORY_PERIOD);
        }
    };
    std::thread::Builder::new().name("memory".to_owned()).spawn(run).map(drop)
}

fn report_memory(state: &State, stage: MemoryStage) {
    let used = mib(state.memory.used());
    let limit = state.memory.limit().map_or_else(String::new, mib);
    if stage == MemoryStage::Normal {
        tracing::info!(used, limit, "memory is free again");
    } else {
        tracing::warn!(stage = stage.name(), used, limit, "memory runs short");
    }
}

/// Records the progress of engines, verifier threads and event loops as long as the server runs.
/// `beats` are the counters that the event loops raise.
pub(crate) async fn note_progress(state: Data<State>, beats: Vec<Arc<AtomicU64>>) {
    loop {
        let now = Instant::now();
        for (number, beat) in beats.iter().enumerate() {
            let count = beat.load(Ordering::Relaxed);
            state.liveness.note(&format!("event loop {number}"), count, true, now);
        }
        for (number, turns) in state.tools.pool.turns().enumerate() {
            let is_busy = turns % 2 == 1;
            state.liveness.note(&format!("verifier thread {number}"), turns, is_busy, now);
        }
        for host in state.hosts.iter() {
            let status = host.engine.status();
            let has_work = status.running + status.queued > 0;
            let steps = status.steps + status.failed_steps;
            state.liveness.note(&format!("engine {}", host.name), steps, has_work, now);
        }
        tokio::time::sleep(liveness::PERIOD).await;
    }
}

/// Time of modification, size and inode of a file; differs after a change or a replacement. `None` for a
/// missing file.
type Stamp = Option<(SystemTime, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
}

/// Follows the key file: reloads the keys when it changes and at SIGHUP.
pub(crate) struct KeyFollower {
    path: PathBuf,
    hangup: Signal,
    /// The file that was read last.
    seen: Stamp,
}

impl KeyFollower {
    /// Reads the key file again and begins to follow it; `None` where no file is configured. The
    /// file may have been replaced since the keys were read, because models are loaded in between.
    ///
    /// # Errors
    /// A failure to install the signal handler.
    pub(crate) fn begin(state: &State) -> std::io::Result<Option<KeyFollower>> {
        let Some(path) = state.config.api_keys_file.clone() else {
            return Ok(None);
        };
        let hangup = signal(SignalKind::hangup())?;
        let mut follower = KeyFollower { path, hangup, seen: None };
        follower.reload(state);
        Ok(Some(follower))
    }

    /// Follows the file as long as the server runs.
    pub(crate) async fn run(mut self, state: Data<State>) {
        loop {
            let signalled = tokio::select! {
                _ = self.hangup.recv() => true,
                () = tokio::time::sleep(KEY_FILE_PERIOD) => false,
            };
            let now = stamp(&self.path);
            // A file that is missing is being replaced: the next check reads the new one.
            if signalled || (now.is_some() && now != self.seen) {
                self.reload(&state);
            }
        }
    }

    fn reload(&mut self, state: &State) {
        // Taken before the file is read, so that a later change differs from it.
        self.seen = stamp(&self.path);
        let done = state.keys.reload(&self.path);
        state.metrics.key_reload(done);
    }
}

/// Installs a handler of SIGHUP, which ends the process otherwise. It stays for the life of the
/// process. What the signal asks for is done when [`KeyFollower`] begins.
///
/// # Errors
/// A failure to install it.
pub(crate) fn outlive_hangup() -> std::io::Result<()> {
    signal(SignalKind::hangup()).map(drop)
}
