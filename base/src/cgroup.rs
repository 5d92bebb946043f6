//! Control groups of Linux, made without systemd: limits over all processes of a group together.
//!
//! Version 2 where its controllers are delegated to this process, else version 1. A group lies below
//! the one that this process is in, so that it can hold no more than that; of version 2, whose groups
//! have either processes or groups, beside it.

use std::fs;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where control groups are usually mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The period of limits of processor time, in microseconds.
const PERIOD: u64 = 100_000;

/// How often, and how long between, a group is removed whose processes are ending.
const REMOVALS: (u32, Duration) = (50, Duration::from_millis(4));

/// Limits over all processes of a group; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupLimits {
    /// Memory in bytes, files in memory and what the kernel holds for them included. Nothing is swapped.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Processors.
    pub cpus: Option<u64>,
}

/// A resource that a group limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Memory,
    Processes,
    Cpu,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
            Self::Cpu => "cpu",
        }
    }
}

impl GroupLimits {
    fn controllers(&self) -> Vec<Controller> {
        let wanted = [
            (Controller::Memory, self.memory_bytes),
            (Controller::Processes, self.processes),
            (Controller::Cpu, self.cpus),
        ];
        wanted.iter().filter(|(_, limit)| limit.is_some()).map(|(name, _)| *name).collect()
    }

    /// Files and what is written to them.
    fn settings(&self, version: Version) -> Vec<(&'static str, String)> {
        let mut settings = Vec::new();
        if let Some(bytes) = self.memory_bytes {
            settings.push((version.memory_file(), bytes.to_string()));
        }
        if let Some(processes) = self.processes {
            settings.push(("pids.max", processes.to_string()));
        }
        if let Some(cpus) = self.cpus {
            let quota = cpus.saturating_mul(PERIOD);
            match version {
                Version::One => settings.push(("cpu.cfs_quota_us", quota.to_string())),
                Version::Two => settings.push(("cpu.max", format!("{quota} {PERIOD}"))),
            }
        }
        settings
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    fn memory_file(self) -> &'static str {
        match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        }
    }

    /// The file that forbids swapping, absent where the system swaps nothing.
    fn no_swap(self) -> (&'static str, &'static str) {
        match self {
            Self::One => ("memory.swappiness", "0"),
            Self::Two => ("memory.swap.max", "0"),
        }
    }

    fn peak_file(self) -> &'static str {
        match self {
            Self::One => "memory.max_usage_in_bytes",
            Self::Two => "memory.peak",
        }
    }
}

/// How often a group was out of memory since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryEvents {
    /// Processes of it that were killed for a lack of memory, in the group or in one above it.
    kills: u64,
    /// Times that it met its own limit.
    own_limit: u64,
}

impl MemoryEvents {
    /// Whether processes were killed since `before` because the group met its own limit.
    pub fn has_exceeded(&self, before: &Self) -> bool {
        self.kills > before.kills && self.own_limit > before.own_limit
    }
}

/// A control group. It is removed with this value, which must outlive its processes.
#[derive(Debug)]
pub struct ControlGroup {
    version: Version,
    /// One folder of version 2, or one of each controller of version 1.
    folders: Vec<PathBuf>,
}

impl ControlGroup {
    /// Makes a group with `limits`, whose name begins with `prefix`.
    ///
    /// # Errors
    /// Where the system has no control groups that this process may change, with the path.
    pub fn make(prefix: &str, limits: &GroupLimits) -> Result<Self> {
        Self::make_in(Path::new(ROOT), &own_groups()?, prefix, limits)
    }

    fn make_in(root: &Path, groups: &str, prefix: &str, limits: &GroupLimits) -> Result<Self> {
        let controllers = limits.controllers();
        let (version, parents) = parents(root, groups, &controllers)?;
        let mut group = Self { version, folders: Vec::new() };
        for parent in parents {
            group.folders.push(make_folder(&parent, prefix)?);
        }
        for (file, value) in limits.settings(version) {
            write(&group.file(file)?, &value)?;
        }
        let (file, value) = version.no_swap();
        if let Ok(path) = group.file(file) {
            write(&path, value)?;
        }
        Ok(group)
    }

    /// The file of this name in the folder that has it.
    fn file(&self, name: &str) -> Result<PathBuf> {
        let found = self.folders.iter().map(|folder| folder.join(name)).find(|path| path.exists());
        found
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no {name} of a control group")))
    }

    /// Moves a process into the group. What it starts from then on is in the group, too.
    ///
    /// # Errors
    /// Those of the system, with the path.
    pub fn add(&self, pid: u32) -> Result<()> {
        self.folders.iter().try_for_each(|folder| write(&folder.join(PROCESSES), &pid.to_string()))
    }

    /// A command that runs `program` within the group.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let script = "while [ \"$1\" != -- ]; do echo $$ > \"$1\" || exit 1; shift; done; shift; exec \"$@\"";
        command.args(["-c", script, "sh"]);
        command.args(self.folders.iter().map(|folder| folder.join(PROCESSES)));
        command.arg("--").arg(program);
        command
    }

    /// Sets the limit of memory.
    ///
    /// # Errors
    /// Those of the system, with the path: version 1 refuses a limit that the group exceeds.
    pub fn limit_memory(&self, bytes: u64) -> Result<()> {
        write(&self.file(self.version.memory_file())?, &bytes.to_string())
    }

    /// The most memory that the group has held, in bytes, its files in the system's cache included.
    pub fn peak_bytes(&self) -> Option<u64> {
        let path = self.file(self.version.peak_file()).ok()?;
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    /// What happened to the group's memory so far; nothing where the system does not say.
    pub fn memory_events(&self) -> MemoryEvents {
        let read = |name: &str| self.file(name).and_then(fs::read_to_string).unwrap_or_default();
        match self.version {
            Version::One => MemoryEvents {
                kills: field(&read("memory.oom_control"), "oom_kill"),
                own_limit: read("memory.failcnt").trim().parse().unwrap_or_default(),
            },
            Version::Two => {
                let events = read("memory.events");
                MemoryEvents { kills: field(&events, "oom_kill"), own_limit: field(&events, "oom") }
            }
        }
    }

    /// The folders of the group.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Version 2 ends what is left in a group; version 1 has no such file.
            let _ = write(&folder.join("cgroup.kill"), "1");
            for _ in 0..REMOVALS.0 {
                if fs::remove_dir(folder).is_ok() {
                    break;
                }
                // A process of it is ending. A group that keeps one stays; it limits nothing else.
                std::thread::sleep(REMOVALS.1);
            }
        }
    }
}

/// Removes groups of this prefix that have no process and were made by a process that is gone.
pub fn remove_stale_groups(prefix: &str) {
    if let Ok(groups) = own_groups() {
        remove_stale_in(Path::new(ROOT), &groups, prefix);
    }
}

fn remove_stale_in(root: &Path, groups: &str, prefix: &str) {
    let all = [Controller::Memory, Controller::Processes, Controller::Cpu];
    let parents = parents(root, groups, &all).map(|(_, parents)| parents).unwrap_or_default();
    for parent in parents {
        let entries = fs::read_dir(&parent).into_iter().flatten().flatten();
        for folder in entries.map(|entry| entry.path()) {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
            let owner = number.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            let is_stale =
                owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
            let processes = fs::read_to_string(folder.join(PROCESSES));
            if is_stale && processes.is_ok_and(|processes| processes.trim().is_empty()) {
                // Another process may have removed it.
                let _ = fs::remove_dir(&folder);
            }
        }
    }
}

/// The file of a group that lists its processes, and to which one is written that enters it.
const PROCESSES: &str = "cgroup.procs";

fn own_groups() -> Result<String> {
    fs::read_to_string("/proc/self/cgroup")
}

/// The folders in which groups are made: of version 2 if it has the controllers, else one of each
/// controller of version 1.
fn parents(
    root: &Path,
    groups: &str,
    controllers: &[Controller],
) -> Result<(Version, Vec<PathBuf>)> {
    let own = |is_wanted: &dyn Fn(&str) -> bool| {
        // A line is `number:controllers:group`; version 2 has no controllers.
        let group = groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            is_wanted(controllers).then_some(group)
        });
        group.unwrap_or("/").trim_start_matches('/')
    };
    if root.join("cgroup.controllers").exists() {
        let own = root.join(own(&|controllers| controllers.is_empty()));
        let above = own.parent().filter(|above| above.starts_with(root));
        let found = [Some(own.as_path()), above].into_iter().flatten().find(|parent| {
            // Refused where the group has processes, unless it is the root.
            let wanted: Vec<String> =
                controllers.iter().map(|controller| format!("+{}", controller.name())).collect();
            let control = parent.join("cgroup.subtree_control");
            let _ = write(&control, &wanted.join(" "));
            let given = fs::read_to_string(control).unwrap_or_default();
            let given: Vec<&str> = given.split_whitespace().collect();
            controllers.iter().all(|controller| given.contains(&controller.name()))
        });
        let refused = || {
            let message = format!("{}: the controllers are not delegated", own.display());
            Error::new(ErrorKind::PermissionDenied, message)
        };
        return Ok((Version::Two, vec![found.ok_or_else(refused)?.to_owned()]));
    }
    let parent = |controller: &Controller| {
        let name = controller.name();
        let top = root.join(name);
        let below = top.join(own(&|list| list.split(',').any(|known| known == name)));
        // A container may not see the group that it is in.
        let found = [below, top.clone()].into_iter().find(|parent| parent.join(PROCESSES).exists());
        let absent =
            || Error::new(ErrorKind::NotFound, format!("{}: no control group", top.display()));
        found.ok_or_else(absent)
    };
    Ok((Version::One, controllers.iter().map(parent).collect::<Result<_>>()?))
}

fn make_folder(parent: &Path, prefix: &str) -> Result<PathBuf> {
    for number in 0..10_000_u32 {
        let folder = parent.join(format!("{prefix}-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at(&folder, &error)),
        }
    }
    Err(Error::new(ErrorKind::AlreadyExists, format!("{}: too many groups", parent.display())))
}

fn at(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes to a file that must be there: in an ordinary folder it would be made.
fn write(path: &Path, value: &str) -> Result<()> {
    let file = fs::OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|error| at(path, &error))
}

/// The number of a line `name number`.
fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    const LIMITS: GroupLimits =
        GroupLimits { memory_bytes: Some(64 << 20), processes: None, cpus: None };

    #[test]
    fn commands_run_within_a_group_of_the_limit() {
        let Ok(group) = ControlGroup::make("tribunal-test", &LIMITS) else {
            eprintln!("skipped: no control group can be made here");
            return;
        };
        let mut command = group.command(Path::new("cat"));
        let output = command.arg("/proc/self/cgroup").output().expect("sh runs");
        let folder = group.folders()[0].clone();
        let name = folder.file_name().expect("the group has a name").to_string_lossy();
        assert!(String::from_utf8_lossy(&output.stdout).contains(&*name), "{output:?}");
        assert!(group.peak_bytes().is_some_and(|bytes| bytes <= 64 << 20));
        let before = group.memory_events();
        // `tail` holds what it is going to print.
        let mut hog = group.command(Path::new("sh"));
        let script = "head -c 200000000 /dev/zero | tail -c 200000000";
        let killed = hog.args(["-c", script]).stdout(Stdio::null()).output().expect("sh runs");
        assert!(!killed.status.success());
        assert!(group.memory_events().has_exceeded(&before));
        drop(group);
        assert!(!folder.exists());
    }

    /// Folders with the files of a hierarchy, in which nothing is limited.
    fn hierarchy(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("it is below the root")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        place
    }

    #[test]
    fn groups_are_made_where_controllers_are() {
        let own = "4:memory:/box\n8:pids:/\n1:cpu,cpuacct:/none\n0::/box/leaf\n";
        let all = [Controller::Memory, Controller::Processes];
        for (files, expected) in [
            (&[][..], None),
            // Version 1: the own group if it is seen, else the top.
            (
                &[("memory/box/cgroup.procs", ""), ("pids/cgroup.procs", "")],
                Some(&["memory/box", "pids"][..]),
            ),
            (&[("memory/cgroup.procs", ""), ("pids/cgroup.procs", "")], Some(&["memory", "pids"])),
            (&[("memory/box/cgroup.procs", "")], None),
            // Version 2: delegated in the own group or above, or not.
            (&[("cgroup.controllers", ""), ("box/leaf/cgroup.subtree_control", "cpu")], None),
        ] {
            let place = hierarchy(files);
            let found = parents(place.path(), own, &all).ok().map(|(_, parents)| parents);
            let expected: Option<Vec<PathBuf>> =
                expected.map(|names| names.iter().map(|name| place.path().join(name)).collect());
            assert_eq!(found, expected, "{files:?}");
        }
    }

    #[test]
    fn folders_that_are_no_hierarchy_make_no_group() {
        let place = hierarchy(&[("memory/cgroup.procs", "")]);
        let made = ControlGroup::make_in(place.path(), "4:memory:/\n", "group", &LIMITS);
        assert!(made.is_err(), "{made:?}");
        assert_eq!(fs::read_dir(place.path().join("memory")).expect("a folder").count(), 1);
    }

    #[test]
    fn groups_of_processes_that_are_gone_are_removed() {
        let own = format!("group-{}-0", std::process::id());
        let names = ["memory", "pids", "cpu"];
        let mut files: Vec<(String, &str)> =
            names.iter().map(|name| (format!("{name}/{PROCESSES}"), "")).collect();
        // A number that no process has.
        let gone = "group-4194999-0";
        files.push((format!("memory/{own}/{PROCESSES}"), ""));
        files.push((format!("memory/group-4194999-1/{PROCESSES}"), "17\n"));
        files.push((format!("memory/other-4194999-0/{PROCESSES}"), ""));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        let place = hierarchy(&files);
        fs::create_dir(place.path().join("memory").join(gone)).expect("a folder");
        remove_stale_in(place.path(), "", "group");
        let left = |name: &str| place.path().join("memory").join(name).exists();
        // An ordinary folder is no group: it has no list of processes.
        assert!(left(gone) && left(&own) && left("group-4194999-1") && left("other-4194999-0"));
        let Ok((_, parents)) = own_groups()
            .and_then(|groups| parents(Path::new(ROOT), &groups, &[Controller::Memory]))
        else {
            eprintln!("skipped: there is no control group of memory");
            return;
        };
        let stale = parents[0].join("tribunal-stale-4194999-0");
        if fs::create_dir(&stale).is_ok() {
            remove_stale_groups("tribunal-stale");
            assert!(!stale.exists());
        }
    }

    #[test]
    fn events_of_the_own_limit_are_told_from_others() {
        let quiet = MemoryEvents::default();
        for (kills, own_limit, expected) in
            [(0, 0, false), (1, 0, false), (0, 1, false), (1, 1, true)]
        {
            assert_eq!(MemoryEvents { kills, own_limit }.has_exceeded(&quiet), expected);
        }
        assert_eq!(field("oom 3\noom_kill 7\n", "oom_kill"), 7);
        assert_eq!(field("oom 3\noom_kill 7\n", "oom"), 3);
        assert_eq!(field("", "oom"), 0);
    }
}
