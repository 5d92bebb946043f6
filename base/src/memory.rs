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

/// The memory that this process may hold, in bytes: the smallest limit of its control groups (version
/// 2, and version 1 as containers mount it) and the memory of the machine.
pub fn limit_bytes() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_files(&groups).into_iter().filter_map(|file| {
        // `max` is no number: no limit.
        read_to_string(file).ok()?.trim().parse::<u64>().ok()
    });
    limits.chain(of_machine().map(|(total, _)| total)).min()
}

/// The files that may limit a process with this `/proc/self/cgroup`: of its group and of each group
/// above it.
fn group_files(groups: &str) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/sys/fs/cgroup/memory/memory.limit_in_bytes")];
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let own = Path::new(own.unwrap_or("/").trim_start_matches('/'));
    let above = own.ancestors().map(|group| Path::new("/sys/fs/cgroup").join(group));
    files.extend(above.map(|group| group.join("memory.max")));
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
        let root = "/sys/fs/cgroup/memory.max";
        for (groups, expected) in [
            ("0::/\n", vec![root]),
            ("", vec![root]),
            (
                "1:name=x:/y\n0::/a.slice/b.service\n",
                vec![
                    "/sys/fs/cgroup/a.slice/b.service/memory.max",
                    "/sys/fs/cgroup/a.slice/memory.max",
                    root,
                ],
            ),
        ] {
            let expected: Vec<_> = expected.into_iter().map(Path::new).collect();
            assert_eq!(group_files(groups)[1..], expected, "{groups}");
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
