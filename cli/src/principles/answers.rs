//! A file cache of judge answers, so that an interrupted run continues.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use base::digest;
use rubrics::feedback::{self, Feedback, Listed, Met};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::judge::{Judge, JudgeListing};
use crate::error::CliError;

/// A judge with a file cache. Equal requests are sent once; failures are not cached.
pub(super) struct Remembering {
    judge: Box<dyn Judge>,
    path: PathBuf,
    file: File,
    /// Lists by the digest of judge, settings and feedback.
    known: HashMap<String, Vec<Listed>>,
    /// Digest of the judge and its settings.
    judge_digest: String,
}

/// A line of the cache file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedListing {
    key: String,
    /// What [`feedback::read_feedback`] reads.
    answer: Value,
}

impl Remembering {
    /// Opens a cache file, or creates it. `manner` holds the settings that answers depend on.
    pub(super) fn open(
        path: &Path,
        judge: Box<dyn Judge>,
        manner: &Value,
    ) -> Result<Self, CliError> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(CliError::file("write", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CliError::Failed(format!(
                    "another run is writing {}: wait for it, or name another file",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(CliError::file("lock", path)(error)),
        }
        let known = read_cache(&mut file, path)?;
        Ok(Self {
            judge_digest: digest::of(json!([judge.described(), manner]).to_string().as_bytes()),
            judge,
            path: path.to_owned(),
            file,
            known,
        })
    }

    fn key(&self, feedback: &Feedback) -> String {
        let turns = feedback::turns(feedback);
        let turns = turns.iter().map(|turn| json!([turn.role, turn.content]));
        digest::of(json!([self.judge_digest, turns.collect::<Vec<_>>()]).to_string().as_bytes())
    }

    fn keep(&mut self, key: String, list: &[Listed]) -> Result<(), CliError> {
        let line = CachedListing { key: key.clone(), answer: judge_format(list) };
        let mut bytes = serde_json::to_vec(&line).expect("a line serialises");
        bytes.push(b'\n');
        // One write a line: a crash truncates the last line alone.
        self.file.write_all(&bytes).map_err(CliError::file("write", &self.path))?;
        self.known.insert(key, list.to_vec());
        Ok(())
    }
}

impl Judge for Remembering {
    fn list(&mut self, all: &[Feedback]) -> Result<Vec<JudgeListing>, CliError> {
        let keys: Vec<String> = all.iter().map(|one| self.key(one)).collect();
        let mut seen = HashSet::new();
        let mut is_new =
            |at: &usize| !self.known.contains_key(&keys[*at]) && seen.insert(&keys[*at]);
        let new: Vec<usize> = (0..all.len()).filter(|at| is_new(at)).collect();
        let missing: Vec<Feedback> = new.iter().map(|at| all[*at].clone()).collect();
        let answers = self.judge.list(&missing)?;
        let mut failed: HashMap<&String, JudgeListing> = HashMap::new();
        for (at, answer) in new.into_iter().zip(answers) {
            match answer {
                Ok(list) => self.keep(keys[at].clone(), &list)?,
                Err(why) => {
                    failed.insert(&keys[at], Err(why));
                }
            }
        }
        let answer = |key: &String| match (failed.get(key), self.known.get(key)) {
            (Some(failed), _) => failed.clone(),
            (None, known) => Ok(known.cloned().unwrap_or_default()),
        };
        Ok(keys.iter().map(answer).collect())
    }

    fn described(&self) -> Value {
        self.judge.described()
    }
}

/// Reads a cache file. A truncated last line is dropped; any other malformed line is an error, because
/// the file is not a cache.
fn read_cache(file: &mut File, path: &Path) -> Result<HashMap<String, Vec<Listed>>, CliError> {
    let mut known = HashMap::new();
    let mut reader = BufReader::new(&*file);
    let (mut line, mut good, mut number) = (Vec::new(), 0_u64, 0_u64);
    loop {
        line.clear();
        number += 1;
        let bytes = reader.read_until(b'\n', &mut line);
        let bytes = bytes.map_err(CliError::file("read", path))?;
        if !line.ends_with(b"\n") {
            break;
        }
        let parsed: Result<CachedListing, _> = serde_json::from_slice(&line);
        let parsed = parsed.map_err(|error| error.to_string()).and_then(|line| {
            let list = feedback::read_feedback(&line.answer.to_string());
            let list = list.map_err(|failure| failure.reason.code.to_owned())?;
            Ok((line.key, list))
        });
        let (key, list) = parsed.map_err(|what| {
            CliError::Usage(format!(
                "{}:{number}: no answer of a judge ({what}); name another file",
                path.display()
            ))
        })?;
        known.insert(key, list);
        good += bytes as u64;
    }
    let cut = file.set_len(good).and_then(|()| file.seek(SeekFrom::End(0)));
    cut.map_err(CliError::file("write", path))?;
    Ok(known)
}

/// Serialises a list in the format of the judge.
fn judge_format(list: &[Listed]) -> Value {
    let item = |listed: &Listed| {
        let verdict = match listed.met {
            Met::Yes => "yes",
            Met::No => "no",
            Met::Partially => "partially",
        };
        json!({
            "principle": listed.principle, "verdict": verdict, "evidence": listed.evidence,
        })
    };
    json!({ "principles": list.iter().map(item).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Lists the words of the feedback; those that begin with an x are none.
    struct Counting(Arc<AtomicUsize>, &'static str);

    impl Judge for Counting {
        fn list(&mut self, all: &[Feedback]) -> Result<Vec<JudgeListing>, CliError> {
            self.0.fetch_add(all.len(), Ordering::Relaxed);
            let answer = |one: &Feedback| {
                if one.feedback.starts_with('x') {
                    return Err(("parse_error", "an x".to_owned()));
                }
                Ok(vec![Listed {
                    principle: one.feedback.clone(),
                    met: Met::Partially,
                    evidence: "\"e\"\n".to_owned(),
                }])
            };
            Ok(all.iter().map(answer).collect())
        }

        fn described(&self) -> Value {
            json!(self.1)
        }
    }

    fn feedback(words: &[&str]) -> Vec<Feedback> {
        let one =
            |words: &&str| Feedback { conversation: Vec::new(), feedback: (*words).to_owned() };
        words.iter().map(one).collect()
    }

    #[test]
    fn cached_answer_is_not_requested_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("answers.jsonl");
        let requested = Arc::new(AtomicUsize::new(0));
        let open = |name| {
            let judge = Box::new(Counting(requested.clone(), name));
            Remembering::open(&path, judge, &json!(0))
        };
        let all = feedback(&["a", "x", "b", "a"]);
        let first = open("j").expect("a new file").list(&all).expect("answers");
        assert_eq!(requested.swap(0, Ordering::Relaxed), 3);
        let mut again = open("j").expect("the same file");
        assert_eq!(again.list(&all).expect("answers"), first);
        assert_eq!(requested.swap(0, Ordering::Relaxed), 1, "the failure alone");
        let busy = open("j").err().map(|error| error.to_string());
        assert!(busy.is_some_and(|busy| busy.contains("another run is writing")));
        drop(again);
        let mut other = open("another judge").expect("the same file");
        other.list(&all).expect("answers");
        assert_eq!(requested.swap(0, Ordering::Relaxed), 3);
        drop(other);
        // A crash in the middle of a line.
        let bytes = std::fs::read(&path).expect("it is there");
        std::fs::write(&path, &bytes[..bytes.len() - 9]).expect("the folder is ours");
        open("another judge").expect("a torn file").list(&all).expect("answers");
        assert_eq!(requested.swap(0, Ordering::Relaxed), 2, "the failure and the torn line");
        assert_eq!(std::fs::read(&path).expect("it is there"), bytes);
    }

    #[test]
    fn file_that_is_no_cache_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rows.jsonl");
        let text = "{\"prompt\": \"p\"}\n";
        std::fs::write(&path, text).expect("the folder is ours");
        let judge = Box::new(Counting(Arc::default(), "j"));
        let error = Remembering::open(&path, judge, &Value::Null).err().expect("refused");
        assert!(error.to_string().contains("rows.jsonl:1: no answer of a judge"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
    }
}
