//! A run is stopped after every single step, and what a later run ends with is compared with what
//! an unbroken run ends with.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::header::ScorerIdentity;
use crate::lines::HeaderOptions;
use crate::lines::output::ScoredLines;
use crate::mapping::Mapping;

const ROWS: &str = "one\ntwo\nthree\nfour\nfive\n";

/// One row a chunk, so that there is something to stop between.
fn input(folder: &Path) -> Input {
    let path = folder.join("in");
    if !path.exists() {
        fs::write(&path, ROWS).expect("the folder is ours");
    }
    Input::in_small_chunks(path.to_str().expect("plain names"))
}

fn header(digest: &str) -> Header {
    let scorers = vec![ScorerIdentity { name: "math".to_owned(), digest: digest.to_owned() }];
    let mapping = Mapping::of_pairs();
    let options = HeaderOptions {
        mapping: &mapping,
        explain: false,
        overwrite_scores: false,
        limit: None,
        rejects: None,
        signed_by: None,
    };
    Header::of("in", scorers, &options)
}

fn paths(folder: &Path) -> Paths {
    Paths::beside(&folder.join("out"), None)
}

const NOTHING: OverwriteMode = OverwriteMode { overwrite: false, restart: false };
const RESTART: OverwriteMode = OverwriteMode { overwrite: false, restart: true };
const OVERWRITE: OverwriteMode = OverwriteMode { overwrite: true, restart: false };

/// Every row goes to the output, and every second one to the rejected rows too.
fn finished(chunk: &LineChunk) -> ScoredLines {
    let (mut output, mut rejects) = (Vec::new(), Vec::new());
    let mut counts = Counts::new(1);
    for line in chunk.lines() {
        output.extend_from_slice(line.bytes);
        output.extend_from_slice(b"!\n");
        counts.scored += 1;
        if line.number % 2 == 0 {
            rejects.extend_from_slice(line.bytes);
            counts.rejected += 1;
        }
    }
    let digest = chunk_digest(&output, &rejects);
    ScoredLines { end: chunk.end, output, rejects, counts, digest }
}

/// Opens a run and carries on until `steps` are used up. Returns the counts if it came to its end.
fn carry_on(
    folder: &Path,
    existing: OverwriteMode,
    mut steps: usize,
) -> Result<Option<Counts>, RunError> {
    let mut step = || {
        steps = steps.saturating_sub(1);
        steps > 0
    };
    let mut input = input(folder);
    let mut run = match open(paths(folder), &header("sha256:a"), existing, &mut input)? {
        RunState::Complete(counts) => return Ok(Some(counts)),
        RunState::InProgress(run) => run,
    };
    while let Some(chunk) = input.next_chunk()? {
        let chunk = finished(&chunk);
        if !step() {
            run.output.write(&chunk.output[..2])?;
            return Ok(None);
        }
        run.output.write(&chunk.output)?;
        if !step() {
            return Ok(None);
        }
        run.rejects.write(&chunk.rejects)?;
        if !step() {
            return Ok(None);
        }
        run.note(&chunk)?;
    }
    if !step() {
        return Ok(None);
    }
    run.journal.complete()?;
    if !step() {
        return Ok(None);
    }
    run.rejects.commit(true)?;
    if !step() {
        return Ok(None);
    }
    run.output.commit(false)?;
    if !step() {
        return Ok(None);
    }
    run.journal.remove()?;
    Ok(Some(run.counts))
}

/// Names and contents of the files in the folder.
fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("the folder is ours");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("readable").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("text"))
        })
        .collect();
    files.sort();
    files
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The end of an unbroken run, and how many steps it takes.
fn unbroken() -> (Vec<(String, String)>, Counts, usize) {
    let mut steps = 1;
    loop {
        let folder = folder();
        if let Some(counts) = carry_on(folder.path(), NOTHING, steps).expect("nothing fails") {
            return (files(folder.path()), counts, steps);
        }
        steps += 1;
    }
}

fn refused(result: Result<Option<Counts>, RunError>) -> String {
    match result {
        Err(RunError::Usage(message)) => message,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_run_stopped_anywhere_ends_like_an_unbroken_one() {
    let (expected, counts, all_steps) = unbroken();
    assert!(expected.iter().any(|(name, text)| name == "out" && text.contains("five!")));
    assert_eq!(expected.len(), 3, "{expected:?}");
    for steps in 1..all_steps {
        let folder = folder();
        let stopped = carry_on(folder.path(), NOTHING, steps).expect("nothing fails");
        assert_eq!(stopped, None);
        let ended = carry_on(folder.path(), NOTHING, usize::MAX).expect("it can go on");
        assert_eq!(ended, Some(counts.clone()), "stopped after {steps} steps");
        assert_eq!(files(folder.path()), expected, "stopped after {steps} steps");
    }
}

#[test]
fn run_stopped_repeatedly_completes() {
    let (expected, counts, _) = unbroken();
    let folder = folder();
    let mut runs = 0;
    let ended = loop {
        // Four steps are one chunk and a bit: every run gets one chunk further.
        if let Some(counts) = carry_on(folder.path(), NOTHING, 4).expect("it can go on") {
            break counts;
        }
        runs += 1;
        assert!(runs < 20, "no progress");
    };
    assert!(runs > 3, "{runs}");
    assert_eq!((files(folder.path()), ended), (expected, counts));
}

#[test]
fn lost_or_torn_tails_are_rewritten() {
    let (expected, _, _) = unbroken();
    let spoil: [fn(&Path); 5] = [
        |folder| cut(&folder.join("out.journal"), 10),
        |folder| cut(&folder.join("out.partial"), 7),
        |folder| cut(&folder.join("out.rejects.jsonl.partial"), 2),
        |folder| fs::remove_file(folder.join("out.partial")).expect("it was written"),
        |folder| fs::write(folder.join("out.partial"), "one!\nTWO!\n").expect("ours"),
    ];
    for (index, spoil) in spoil.iter().enumerate() {
        let folder = folder();
        carry_on(folder.path(), NOTHING, 11).expect("nothing fails");
        spoil(folder.path());
        carry_on(folder.path(), NOTHING, usize::MAX).expect("it can go on");
        assert_eq!(files(folder.path()), expected, "spoiled in way {index}");
    }
}

fn cut(path: &Path, bytes: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).expect("it was written");
    let length = file.metadata().expect("open").len();
    assert!(length > bytes, "there is something to cut");
    file.set_len(length - bytes).expect("ours");
}

#[test]
fn changed_input_is_refused_and_restart_discards_the_run() {
    let folder = folder();
    carry_on(folder.path(), NOTHING, 8).expect("nothing fails");
    fs::write(folder.path().join("in"), ROWS.replace("two", "TWO")).expect("ours");
    let message = refused(carry_on(folder.path(), NOTHING, usize::MAX));
    assert!(message.contains("differs after row 1"), "{message}");
    carry_on(folder.path(), RESTART, usize::MAX).expect("it begins anew");
    let files = files(folder.path());
    assert!(files.iter().any(|(_, text)| text.contains("TWO!")), "{files:?}");
}

#[test]
fn appended_input_can_be_resumed() {
    let folder = folder();
    carry_on(folder.path(), NOTHING, 8).expect("nothing fails");
    fs::write(folder.path().join("in"), ROWS.to_owned() + "six\n").expect("ours");
    carry_on(folder.path(), NOTHING, usize::MAX).expect("it can go on");
    assert!(files(folder.path()).iter().any(|(_, text)| text.ends_with("five!\nsix!\n")));
}

#[test]
fn another_scorer_is_refused_by_name() {
    let folder = folder();
    carry_on(folder.path(), NOTHING, 8).expect("nothing fails");
    let mut input = input(folder.path());
    let opened = open(paths(folder.path()), &header("sha256:b"), NOTHING, &mut input);
    let message = refused(opened.map(|_| None));
    for part in ["scorer 'math'", "sha256:a", "sha256:b", "--restart"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn existing_output_is_kept_without_overwrite() {
    let folder = folder();
    fs::write(folder.path().join("out"), "mine").expect("ours");
    let message = refused(carry_on(folder.path(), NOTHING, usize::MAX));
    assert!(message.contains("--overwrite"), "{message}");
    let kept = files(folder.path());
    assert_eq!(kept[1..], [("out".to_owned(), "mine".to_owned())]);
    carry_on(folder.path(), OVERWRITE, usize::MAX).expect("--overwrite is set");
    assert!(files(folder.path()).iter().any(|(_, text)| text.ends_with("five!\n")));
    // Without --overwrite an output is kept in the middle of a run, too.
    carry_on(folder.path(), OVERWRITE, 8).expect("--overwrite is set");
    refused(carry_on(folder.path(), NOTHING, usize::MAX));
}

#[test]
fn changed_output_of_a_complete_run_is_refused() {
    let (_, _, all_steps) = unbroken();
    let folder = folder();
    // The output has its name, and the journal is still there.
    carry_on(folder.path(), NOTHING, all_steps - 1).expect("nothing fails");
    assert!(folder.path().join("out").exists() && folder.path().join("out.journal").exists());
    fs::write(folder.path().join("out"), "another file").expect("ours");
    let message = refused(carry_on(folder.path(), NOTHING, usize::MAX));
    assert!(message.contains("has changed"), "{message}");
}

#[test]
fn file_that_is_no_journal_is_refused_and_kept() {
    let folder = folder();
    let journal = folder.path().join("out.journal");
    fs::write(&journal, "dear diary").expect("ours");
    for existing in [NOTHING, RESTART, OVERWRITE] {
        let message = refused(carry_on(folder.path(), existing, usize::MAX));
        assert!(message.contains("is no journal"), "{message}");
    }
    // The first line of a journal, torn.
    fs::write(&journal, "{\"hea").expect("ours");
    carry_on(folder.path(), NOTHING, usize::MAX).expect("it begins anew");
}

#[test]
fn output_is_locked_by_one_run() {
    let folder = folder();
    let mut input = input(folder.path());
    let first = open(paths(folder.path()), &header("sha256:a"), NOTHING, &mut input);
    let second = carry_on(folder.path(), NOTHING, usize::MAX);
    assert!(matches!(second, Err(RunError::Failed(_))), "{second:?}");
    drop(first);
    carry_on(folder.path(), NOTHING, usize::MAX).expect("the lock went with the first");
}
