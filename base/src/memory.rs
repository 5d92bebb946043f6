//! Memory of this process and of the machine, from `/proc`; `None` where there is none.

use std::fs::read_to_string;

/// The peak resident memory of this process, in bytes.
pub fn peak_resident_bytes() -> Option<u64> {
    field(&read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// The resident memory of this process, in bytes.
pub fn resident_bytes() -> Option<u64> {
    field(&read_to_string("/proc/self/status").ok()?, "VmRSS")
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
    use super::field;

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
