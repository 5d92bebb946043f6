//! Resident memory of a server on this machine, from `/proc`.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Time between samples.
const PERIOD: Duration = Duration::from_millis(500);

/// Samples of one process.
#[derive(Debug, Clone)]
pub struct Memory {
    /// The process.
    pub pid: u32,
    /// Seconds from the start of the run, and resident bytes.
    pub samples: Vec<(f64, u64)>,
}

impl Memory {
    /// The smallest and the largest sample in bytes.
    pub fn range(&self) -> Option<(u64, u64)> {
        let bytes = || self.samples.iter().map(|(_, bytes)| *bytes);
        bytes().min().zip(bytes().max())
    }
}

impl Memory {
    /// Takes a sample. False if the process is gone.
    pub(crate) fn sample(&mut self, start: Instant) -> bool {
        let Ok(bytes) = resident_bytes(self.pid) else {
            return false;
        };
        self.samples.push((start.elapsed().as_secs_f64(), bytes));
        true
    }
}

/// Samples `memory.pid` from now on until the process ends or the future is dropped.
pub(crate) async fn watch(memory: Rc<RefCell<Memory>>, start: Instant) {
    let mut ticks = tokio::time::interval(PERIOD);
    // The first tick is immediate, and its sample is already taken: a short run may be over before
    // this is polled.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if !memory.borrow_mut().sample(start) {
            return;
        }
    }
}

/// Resident bytes of process `pid` now.
pub(crate) fn resident_bytes(pid: u32) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    // The status of a zombie process has no memory.
    vm_rss(&status).ok_or_else(|| io::Error::other("its status has no VmRSS"))
}

/// `VmRSS:     1234 kB` in bytes.
fn vm_rss(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_parsed() {
        let table = [
            ("Name:\tx\nVmHWM:\t  200 kB\nVmRSS:\t    123 kB\nThreads:\t1\n", Some(125_952)),
            ("VmRSS:\t0 kB", Some(0)),
            ("Name:\tx\nState:\tZ (zombie)\n", None),
            ("VmRSS:\t12 MB", None),
            ("VmRSS:\t99999999999999999999 kB", None),
            ("VmRSS:\t18446744073709551615 kB", None),
        ];
        for (status, expected) in table {
            assert_eq!(vm_rss(status), expected, "{status}");
        }
    }

    #[test]
    fn samples_give_minimum_and_maximum() {
        let memory = |samples| Memory { pid: 1, samples };
        assert_eq!(memory(vec![]).range(), None);
        assert_eq!(memory(vec![(0.0, 5), (0.5, 3), (1.0, 9)]).range(), Some((3, 9)));
    }
}
