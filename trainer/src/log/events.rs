//! `TensorBoard` event files: records with checksums, each an event.
//!
//! A record is the length of its data (u64), the masked checksum of those eight bytes (u32), the
//! data, and the masked checksum of the data (u32), all little-endian.

use std::fs::{self, OpenOptions};
use std::path::Path;

use super::Record;
use super::append::{Appended, failed};
use super::crc::masked;
use super::protobuf::{What, event};
use crate::error::{Result, TrainError};

/// The version in the first event of a file.
const VERSION: &str = "brain.Event:2";

/// A new event file. A resumed run writes another one into the same folder, and `TensorBoard` reads
/// them as one.
#[derive(Debug)]
pub struct EventFile {
    file: Appended,
}

impl EventFile {
    /// Creates a file in `folder`, which is created if missing. `time` is in seconds since 1970 and
    /// part of the name; `resumed_at` is the first step that this run writes again, if it is
    /// resumed: it voids that step and later ones in other files.
    ///
    /// # Errors
    /// [`TrainError::File`].
    pub fn create(folder: &Path, time: f64, resumed_at: Option<u64>) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        // Two files of one second have two names.
        for number in 0_u32.. {
            let name = format!("events.out.tfevents.{:010}.tribunal.{number}", time.trunc());
            let path = folder.join(name);
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&path, error)),
                Ok(file) => {
                    let file = Appended::new(&path, file, 0)?;
                    let mut events = Self { file };
                    events.put(&event(time, 0, &What::FileVersion(VERSION)))?;
                    if let Some(step) = resumed_at {
                        events.put(&event(time, step, &What::SessionStart))?;
                    }
                    return Ok(events);
                }
            }
        }
        Err(TrainError::Invalid(format!("{} holds too many event files", folder.display())))
    }

    /// Writes the numbers of a step as scalars, in single precision.
    ///
    /// # Errors
    /// [`TrainError::File`].
    pub fn write(&mut self, record: &Record) -> Result<()> {
        let numbers = record.numbers.iter();
        let scalars: Vec<(&str, f64)> = numbers.map(|(name, n)| (name.as_str(), *n)).collect();
        self.put(&event(record.time, record.step, &What::Scalars(&scalars)))
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    fn put(&mut self, data: &[u8]) -> Result<()> {
        self.file.put(&framed(data))
    }
}

fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut out = Vec::with_capacity(data.len() + 16);
    out.extend(length);
    out.extend(masked(&length).to_le_bytes());
    out.extend(data);
    out.extend(masked(data).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that `TensorBoard`'s own classes write for the same events:
    /// `tests/goldens/tensorboard_events.py`.
    const GOLDEN: &str = include_str!("../../tests/goldens/tensorboard_events.hex");

    /// The events that the golden file holds.
    fn events() -> Vec<u8> {
        let scalars = [("loss", 0.25), ("spark/pointwise_right", 12.0), ("größe", -1e-3)];
        let said = [
            event(1_790_000_000.5, 0, &What::FileVersion(VERSION)),
            event(1_790_000_000.5, 300, &What::SessionStart),
            event(1_790_000_001.0, 300, &What::Scalars(&scalars)),
            event(1_790_000_002.0, u64::from(u32::MAX), &What::Scalars(&[("a", 0.0)])),
            event(0.0, 1, &What::Scalars(&[])),
        ];
        said.iter().flat_map(|event| framed(event)).collect()
    }

    #[test]
    fn bytes_equal_tensorboard() {
        let digits: String = GOLDEN.split_whitespace().collect();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
        let golden: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        assert_eq!(events(), golden);
    }

    #[test]
    fn event_file_reads_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("run/tensorboard");
        let mut first = EventFile::create(&inside, 12.75, None).expect("created");
        let second = EventFile::create(&inside, 12.75, Some(300)).expect("created");
        assert_ne!(first.path(), second.path());
        let mut record = Record::new(7, 13.0);
        record.set("loss", 0.5);
        first.write(&record).expect("written");
        let expected = [
            event(12.75, 0, &What::FileVersion(VERSION)),
            event(13.0, 7, &What::Scalars(&[("loss", 0.5)])),
        ];
        let expected: Vec<u8> = expected.iter().flat_map(|event| framed(event)).collect();
        assert_eq!(fs::read(first.path()).expect("read"), expected);
        let expected =
            [event(12.75, 0, &What::FileVersion(VERSION)), event(12.75, 300, &What::SessionStart)];
        let expected: Vec<u8> = expected.iter().flat_map(|event| framed(event)).collect();
        assert_eq!(fs::read(second.path()).expect("read"), expected);
        let error = EventFile::create(first.path(), 1.0, None).expect_err("a file is no folder");
        assert!(matches!(error, TrainError::File { .. }));
    }
}
