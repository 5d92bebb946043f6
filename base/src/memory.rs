//! Memory of this process and of the machine, from `/proc`; `None` where there is none.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The peak resident memory of this process, in bytes.
pub fn peak_resident_bytes() -> Option<u64> {
    field(&read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// The resident memory of this process, in bytes.
pub fn resident_bytes() -> Option<u64> {
    field(&read_to_string("/proc/self/status").ok()?, "VmRSS")
}

/// The resident memory of this process that no file stands behind, in bytes: what the system cannot
/// take back without ending the process.
pub fn resident_anonymous_bytes() -> Option<u64> {
    field(&read_to_string("/proc/self/status").ok()?, "RssAnon")
}

/// The memory that this process may hold, in bytes: the smallest limit of its control groups (of
/// version 1 and 2) and the memory of the machine.
pub fn limit_bytes() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_files(&groups).into_iter().filter_map(|file| {
        // `max` is no number: no limit.
        read_to_string(file).ok()?.trim().parse::<u64>().ok()
    });
    limits.chain(of_machine().map(|(total, _)| total)).min()
}

/// The files that may limit a process with this `/proc/self/cgroup`: of its group and of each group
/// above it, in both versions. A container often sees its own group as the root, which is among them.
fn group_files(groups: &str) -> Vec<PathBuf> {
    // A line is `number:controllers:group`; version 2 has no controllers.
    let of = |is_wanted: fn(&str) -> bool, root: &str, file: &str| {
        let own = groups.lines().find_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, group) = line.split_once(':')?;
            is_wanted(controllers).then_some(group)
        });
        let own = Path::new(own.unwrap_or("/").trim_start_matches('/'));
        let above = own.ancestors().map(|group| Path::new(root).join(group).join(file));
        above.collect::<Vec<_>>()
    };
    let has_memory = |controllers: &str| controllers.split(',').any(|name| name == "memory");
    let mut files = of(has_memory, "/sys/fs/cgroup/memory", "memory.limit_in_bytes");
    files.extend(of(str::is_empty, "/sys/fs/cgroup", "memory.max"));
    files
}

/// The total memory of the machine and the memory that programs can still get, in bytes.
pub fn of_machine() -> Option<(u64, u64)> {
    let text = read_to_string("/proc/meminfo").ok()?;
    Some((field(&text, "MemTotal")?, field(&text, "MemAvailable")?))
}

/// Reads a line such as `VmRSS:     1234 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
    let value = text.lines().find_map(value)?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Formats bytes in mebibytes without decimals: `12 MiB`.
pub fn mib(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown to a few digits")]
    let bytes = bytes as f64;
    format!("{:.0} MiB", bytes / f64::from(1 << 20))
}

/// Formats bytes in gibibytes with one decimal: `1.5 GiB`.
pub fn gib(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown to a few digits")]
    let bytes = bytes as f64;
    format!("{:.1} GiB", bytes / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{field, group_files};

    #[test]
    fn limits_are_those_of_the_group_and_its_parents() {
        let first = "/sys/fs/cgroup/memory/memory.limit_in_bytes";
        let second = "/sys/fs/cgroup/memory.max";
        for (groups, expected) in [
            ("0::/\n", vec![first, second]),
            ("", vec![first, second]),
            (
                "1:name=x:/y\n0::/a.slice/b.service\n",
                vec![
                    first,
                    "/sys/fs/cgroup/a.slice/b.service/memory.max",
                    "/sys/fs/cgroup/a.slice/memory.max",
                    second,
                ],
            ),
            (
                "5:memory_other:/x\n4:cpu,memory:/pod/c\n0::/\n",
                vec![
                    "/sys/fs/cgroup/memory/pod/c/memory.limit_in_bytes",
                    "/sys/fs/cgroup/memory/pod/memory.limit_in_bytes",
                    first,
                    second,
                ],
            ),
        ] {
            let expected: Vec<_> = expected.into_iter().map(Path::new).collect();
            assert_eq!(group_files(groups), expected, "{groups}");
        }
    }

    #[test]
    fn fields_of_proc_files() {
        let text = "Name:\tVmRSS\nVmHWM:\t  200 kB\nVmRSS:\t 123 kB\nBad: 1 MB\nHuge: 99999999999999999999 kB\n";
        for (name, expected) in [
            ("VmRSS", Some(125_952)),
            ("VmHWM", Some(204_800)),
            ("Vm", None),
            ("Bad", None),
            ("Huge", None),
            ("Missing", None),
        ] {
            assert_eq!(field(text, name), expected, "{name}");
        }
    }
}
