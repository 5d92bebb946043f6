//! The control group of a slot: what its workers and all their processes may take together.

use std::io::Result;

use base::cgroup::{ControlGroup, GroupLimits, MemoryEvents, remove_stale_groups};

/// How the names of groups begin.
const PREFIX: &str = "tribunal-sandbox";

/// Memory of a slot beside the limit of its submission: its working folder, stdin, stdout, stderr, results and jobs,
/// which are files in memory of at most 64 MiB each, and its workers.
const SPARE_BYTES: u64 = 512 << 20;

/// Processes of a slot beside those of a submission: its two workers with what forks for them.
const OWN_PROCESSES: u64 = 16;

/// Processors that a slot may use at a time: one runs a test, and a compiler may use more.
const CPUS: u64 = 2;

/// A control group and what is known of it.
#[derive(Debug)]
pub(crate) struct SlotGroup {
    group: ControlGroup,
    /// The limit in force.
    memory_bytes: u64,
    /// Those that were seen.
    events: MemoryEvents,
}

impl SlotGroup {
    /// Makes the group of a slot, whose submissions may start so many processes.
    pub(crate) fn make(processes: u32) -> Result<Self> {
        let limits = GroupLimits {
            memory_bytes: Some(SPARE_BYTES),
            processes: Some(u64::from(processes) + OWN_PROCESSES),
            cpus: Some(CPUS),
        };
        let group = ControlGroup::make(PREFIX, &limits)?;
        Ok(Self { group, memory_bytes: 0, events: MemoryEvents::default() })
    }

    /// Removes groups that a process left which was killed.
    pub(crate) fn remove_stale() {
        remove_stale_groups(PREFIX);
    }

    /// Moves a worker that has started nothing into the group.
    pub(crate) fn add(&self, pid: u32) -> Result<()> {
        self.group.add(pid)
    }

    /// Sets what the processes of a submission may hold together. Most submissions have the limit of the one before.
    pub(crate) fn limit_memory(&mut self, bytes: u64) -> Result<()> {
        if bytes != self.memory_bytes {
            self.group.limit_memory(bytes.saturating_add(SPARE_BYTES))?;
            self.memory_bytes = bytes;
        }
        Ok(())
    }

    /// Whether processes were killed since the last call because the slot held too much.
    pub(crate) fn has_exceeded(&mut self) -> bool {
        let before = std::mem::replace(&mut self.events, self.group.memory_events());
        self.events.has_exceeded(&before)
    }
}
