//! JSON Lines logs: one object per step.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::{Map, Value};

use super::Record;
use super::append::{Appended, failed};
use crate::error::{Result, TrainError};

/// An append-only log. Each line is one write; a line that was cut when the machine stopped is
/// removed when the run resumes.
#[derive(Debug)]
pub struct JsonLines {
    file: Appended,
    /// The step of the last line; `None` without lines.
    last: Option<u64>,
}

impl JsonLines {
    /// Creates a log.
    ///
    /// # Errors
    /// [`TrainError::File`], also if the file exists: a log is never overwritten.
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|source| failed(path, source))?;
        Ok(Self { file: Appended::new(path, file, 0)?, last: None })
    }

    /// Resumes a log after `step`, the step of a checkpoint: a cut line and the lines of later
    /// steps, which will be written again, are removed. A missing log is created.
    ///
    /// # Errors
    /// [`TrainError::File`], or [`TrainError::Invalid`] for a complete line that is not a record:
    /// nothing is changed then.
    pub fn resume(path: &Path, step: u64) -> Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(|source| failed(path, source))?;
        let (length, last) = kept(&file, path, step)?;
        Ok(Self { file: Appended::new(path, file, length)?, last })
    }

    /// Appends the line of a step.
    ///
    /// # Errors
    /// [`TrainError::File`]; a partly written line, for instance on a full disk, is removed, so
    /// that a later line stands alone.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        let mut line = line(record);
        line.push('\n');
        self.put(record.step, &line)
    }

    /// Appends a line of a step with the fields of an object.
    ///
    /// # Errors
    /// As [`JsonLines::write`].
    pub fn write_fields(&mut self, step: u64, object: &Value) -> Result<()> {
        let mut fields = Map::new();
        fields.insert("step".to_owned(), step.into());
        for (name, value) in object.as_object().into_iter().flatten() {
            fields.insert(name.clone(), value.clone());
        }
        self.put(step, &format!("{}\n", Value::Object(fields)))
    }

    fn put(&mut self, step: u64, line: &str) -> Result<()> {
        self.file.put(line.as_bytes())?;
        self.last = Some(step);
        Ok(())
    }

    /// The step of the last line; `None` without lines.
    pub fn last_step(&self) -> Option<u64> {
        self.last
    }

    /// Waits until everything written is on the disk; for checkpoints.
    ///
    /// # Errors
    /// [`TrainError::File`].
    pub fn sync(&self) -> Result<()> {
        self.file.sync()
    }
}

/// `step`, `time` and then the numbers in the order of their names.
fn line(record: &Record) -> String {
    let number =
        |number: f64| serde_json::Number::from_f64(number).map_or(Value::Null, Value::from);
    let mut fields = Map::new();
    fields.insert("step".to_owned(), record.step.into());
    fields.insert("time".to_owned(), number(record.time));
    for (name, value) in &record.numbers {
        fields.entry(name).or_insert_with(|| number(*value));
    }
    Value::Object(fields).to_string()
}

/// The length of the file up to the last line of `step` or before, and the step of that line.
fn kept(file: &File, path: &Path, step: u64) -> Result<(u64, Option<u64>)> {
    let mut reader = BufReader::new(file);
    let (mut length, mut last) = (0, None);
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        let read = read.map_err(|source| failed(path, source))?;
        // A last line without a new line was cut.
        if !bytes.ends_with(b"\n") {
            break;
        }
        let found = serde_json::from_slice::<Value>(&bytes).ok();
        let found = found.and_then(|value| value.get("step")?.as_u64());
        let Some(found) = found else {
            return Err(TrainError::Invalid(format!(
                "{}:{number}: no record of a step; the log is left as it is",
                path.display()
            )));
        };
        if found > step {
            break;
        }
        length += read as u64;
        last = Some(found);
    }
    Ok((length, last))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(step: u64) -> Record {
        let mut record = Record::new(step, 100.0 + step as f64);
        record.set("loss", 0.5 / step as f64);
        record
    }

    fn steps(text: &str) -> Vec<u64> {
        let lines = text.lines().map(|line| {
            let value: Value = serde_json::from_str(line).expect("whole");
            value["step"].as_u64().expect("a step")
        });
        lines.collect()
    }

    #[test]
    fn a_line_is_one_object() {
        let mut record = Record::new(3, 12.5);
        record.set("loss", f64::NAN);
        record.set("a/b", 1.0);
        record.set("step", 9.0);
        let value: Value = serde_json::from_str(&line(&record)).expect("valid");
        let expected = serde_json::json!({"step": 3, "time": 12.5, "a/b": 1.0, "loss": null});
        assert_eq!(value, expected);
        assert!(line(&record).starts_with("{\"step\":3,"));
    }

    #[test]
    fn resumed_log_continues_after_the_checkpoint() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log.jsonl");
        let mut log = JsonLines::create(&path).expect("created");
        for step in 1..=5 {
            log.write(&record(step)).expect("written");
        }
        log.sync().expect("synced");
        drop(log);
        let log = fs::read_to_string(&path).expect("read");
        let check = |text: &str, step: u64, expected: &[u64]| {
            fs::write(&path, text).expect("written");
            let mut log = JsonLines::resume(&path, step).expect("resumed");
            assert_eq!(steps(&fs::read_to_string(&path).expect("read")), expected);
            log.write(&record(step + 1)).expect("written");
            let after = fs::read_to_string(&path).expect("read");
            assert_eq!(steps(&after), [expected, &[step + 1]].concat());
        };
        check(&log, 5, &[1, 2, 3, 4, 5]);
        check(&log, 3, &[1, 2, 3]);
        check(&log, 0, &[]);
        check("", 4, &[]);
        let twice = format!("{log}{}\n", line(&record(5)));
        check(&twice, 5, &[1, 2, 3, 4, 5, 5]);
        // Killed at any moment: complete lines are kept.
        for length in 0..=log.len() {
            let cut = &log[..length];
            let lines = cut.matches('\n').count() as u64;
            check(cut, 5, &(1..=lines).collect::<Vec<_>>());
        }
        fs::remove_file(&path).expect("removed");
        JsonLines::resume(&path, 9).expect("begins anew");
        assert_eq!(fs::read(&path).expect("read"), b"");
    }

    #[test]
    fn existing_log_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log.jsonl");
        for text in ["{\"step\":1}\nnonsense\n{\"step\":2}\n", "{\"stop\":1}\n", "[1]\n", "\n"] {
            fs::write(&path, text).expect("written");
            let error = JsonLines::resume(&path, 9).expect_err(text).to_string();
            assert!(error.contains("log.jsonl:"), "{error}");
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
            assert!(JsonLines::create(&path).is_err());
        }
    }
}
