//! TensorBoard event files: records with checksums, each an event.
//!
//! A record is the length of its data (u64), the masked checksum of those eight bytes (u32), the data,
//! and the masked checksum of the data (u32), all little-endian.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Record;
use super::crc::masked;
use super::protobuf::{What, event};
use crate::{Result, TrainError};

/// What the first event of a file says.
const VERSION: &str = "brain.Event:2";

/// A new event file. A run that is resumed writes another one into the same folder, and TensorBoard
/// reads them as one.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    file: File,
}

impl EventFile {
    /// Creates a file in `folder`, which is made if it is missing. `time` is in seconds since 1970 and
    /// part of the name; `resumed_at` is the first step that this run writes again, if it is resumed:
    /// what other files say of that step and later ones is then void.
    ///
    /// # Errors
    /// [`TrainError::File`].
    pub fn create(folder: &Path, time: f64, resumed_at: Option<u64>) -> Result<Self> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| TrainError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        // Two files of one second have two names.
        for number in 0_u32.. {
            let name = format!("events.out.tfevents.{:010}.tribunal.{number}", time.trunc());
            let path = folder.join(name);
            match File::create_new(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&path)(error)),
                Ok(file) => {
                    let mut events = Self { path, file };
                    events.put(&event(time, 0, &What::FileVersion(VERSION)))?;
                    if let Some(step) = resumed_at {
                        events.put(&event(time, step, &What::SessionStart))?;
                    }
                    return Ok(events);
                }
            }
        }
        Err(TrainError::Invalid(format!(
            "{} holds too many event files",
            folder.display()
        )))
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one record in one write, so that what is there is whole unless the machine stops.
    fn put(&mut self, data: &[u8]) -> Result<()> {
        let written = self.file.write_all(&framed(data));
        written.map_err(|source| TrainError::File {
            path: self.path.display().to_string(),
            source,
        })
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

    /// What TensorBoard's own classes write for the same events: tests/goldens/tensorboard_events.py.
    const GOLDEN: &str = include_str!("../../tests/goldens/tensorboard_events.hex");

    /// The events that the golden file holds.
    fn events() -> Vec<u8> {
        let scalars = [
            ("loss", 0.25),
            ("spark/pointwise_right", 12.0),
            ("größe", -1e-3),
        ];
        let said = [
            event(1_790_000_000.5, 0, &What::FileVersion(VERSION)),
            event(1_790_000_000.5, 300, &What::SessionStart),
            event(1_790_000_001.0, 300, &What::Scalars(&scalars)),
            event(
                1_790_000_002.0,
                u64::from(u32::MAX),
                &What::Scalars(&[("a", 0.0)]),
            ),
            event(0.0, 1, &What::Scalars(&[])),
        ];
        said.iter().flat_map(|event| framed(event)).collect()
    }

    #[test]
    fn the_bytes_are_those_of_tensorboard() {
        let hex: String = events().iter().map(|byte| format!("{byte:02x}")).collect();
        let golden: String = GOLDEN.split_whitespace().collect();
        assert_eq!(hex, golden);
    }

    #[test]
    fn a_file_holds_what_was_written() {
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
        let expected = [
            event(12.75, 0, &What::FileVersion(VERSION)),
            event(12.75, 300, &What::SessionStart),
        ];
        let expected: Vec<u8> = expected.iter().flat_map(|event| framed(event)).collect();
        assert_eq!(fs::read(second.path()).expect("read"), expected);
        let error = EventFile::create(first.path(), 1.0, None).expect_err("a file is no folder");
        assert!(matches!(error, TrainError::File { .. }));
    }
}
