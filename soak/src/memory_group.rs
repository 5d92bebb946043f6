//! A control group with a memory limit, made without systemd: for containers and machines whose
//! control groups root may change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names of a hierarchy's files.
struct Hierarchy {
    root: &'static str,
    limit: &'static str,
    /// Forbids swapping where the system has it; `(file, value)`.
    no_swap: (&'static str, &'static str),
    peak: &'static str,
}

/// Version 2, and version 1 as it is usually mounted.
const HIERARCHIES: [Hierarchy; 2] = [
    Hierarchy {
        root: "/sys/fs/cgroup",
        limit: "memory.max",
        no_swap: ("memory.swap.max", "0"),
        peak: "memory.peak",
    },
    Hierarchy {
        root: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        no_swap: ("memory.swappiness", "0"),
        peak: "memory.max_usage_in_bytes",
    },
];

/// A control group of this process alone. It is removed with this value, which must outlive its
/// processes.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    folder: PathBuf,
    peak: PathBuf,
}

impl MemoryGroup {
    /// Makes a group that may hold `bytes`; `None` where the system or its rights do not allow it.
    pub(crate) fn make(bytes: u64) -> Option<Self> {
        HIERARCHIES.iter().find_map(|hierarchy| {
            let name = format!("tribunal-soak-{}", std::process::id());
            Self::make_at(&Path::new(hierarchy.root).join(name), hierarchy, bytes)
        })
    }

    fn make_at(folder: &Path, hierarchy: &Hierarchy, bytes: u64) -> Option<Self> {
        // Without the hierarchy's root this would be an ordinary folder.
        if !Path::new(hierarchy.root).join("cgroup.procs").exists() {
            return None;
        }
        fs::create_dir(folder).ok()?;
        let group = Self { folder: folder.to_owned(), peak: folder.join(hierarchy.peak) };
        fs::write(folder.join(hierarchy.limit), bytes.to_string()).ok()?;
        let (file, value) = hierarchy.no_swap;
        // Absent where the system swaps nothing.
        let _ = fs::write(folder.join(file), value);
        Some(group)
    }

    /// A command that runs `program` within the group.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
        command.arg(self.folder.join("cgroup.procs")).arg(program);
        command
    }

    /// The most that the group has held, in bytes, its files in the system's cache included.
    pub(crate) fn peak_bytes(&self) -> Option<u64> {
        fs::read_to_string(&self.peak).ok()?.trim().parse().ok()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A group that still has a process stays; it limits nothing else.
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_run_within_a_group_of_the_limit() {
        let Some(group) = MemoryGroup::make(64 << 20) else {
            eprintln!("skipped: no control group can be made here");
            return;
        };
        let mut command = group.command(Path::new("cat"));
        let output = command.arg("/proc/self/cgroup").output().expect("sh runs");
        let name = group.folder.file_name().expect("the group has a name").to_string_lossy();
        assert!(String::from_utf8_lossy(&output.stdout).contains(&*name), "{output:?}");
        assert!(group.peak_bytes().is_some_and(|bytes| bytes <= 64 << 20));
        let folder = group.folder.clone();
        drop(group);
        assert!(!folder.exists());
    }

    #[test]
    fn folders_that_are_no_hierarchy_make_no_group() {
        let place = tempfile::tempdir().expect("a folder");
        let root: &'static str = Box::leak(place.path().display().to_string().into_boxed_str());
        let hierarchy =
            Hierarchy { root, limit: "memory.max", no_swap: ("swap", "0"), peak: "memory.peak" };
        assert!(MemoryGroup::make_at(&place.path().join("group"), &hierarchy, 1).is_none());
        assert!(!place.path().join("group").exists());
    }
}
