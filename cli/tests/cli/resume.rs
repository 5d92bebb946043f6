//! Runs that are killed and gone on with.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::program::{Folder, Ran, command, dataset, tribunal};

/// Rows of a run that is killed at several moments.
const N_ROWS: usize = 200_000;

/// Rows of a run that is killed early.
const N_ROWS_EARLY: usize = 50_000;

fn args<'a>(input: &'a str, output: &'a str) -> Vec<&'a str> {
    vec!["score", input, "-o", output, "--scorer", "math", "--scorer", "arithmetic"]
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Looks again and again until `done`.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_mins(2);
    while !done() {
        assert!(Instant::now() < patience, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a run and kills it once its journal holds this many bytes. Returns whether it was still
/// running then.
fn kill_at(folder: &Folder, input: &str, journal_bytes: u64) -> bool {
    let output = folder.name("out.jsonl");
    let mut run = command(args(input, &output));
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let journal = folder.path("out.jsonl.journal");
    let mut ended = false;
    wait_until("the journal grows", || {
        ended = child.try_wait().expect("our child").is_some();
        ended || size(&journal) >= journal_bytes
    });
    if ended {
        return false;
    }
    child.kill().expect("our child");
    child.wait().expect("our child");
    journal.exists()
}

fn go_on(folder: &Folder, input: &str, more: &[&str]) -> Ran {
    let output = folder.name("out.jsonl");
    tribunal(args(input, &output).iter().chain(more))
}

/// The rejected rows without the name of the folder, which differs from test to test.
fn nameless_rejects(folder: &Folder, input: &str) -> String {
    let rejects = folder.read("out.jsonl.rejects.jsonl");
    String::from_utf8(rejects).expect("text").replace(input, "in.jsonl")
}

/// A dataset with bad rows in it, its unbroken output and its unbroken rejects.
static UNBROKEN: LazyLock<(String, Vec<u8>, String)> = LazyLock::new(|| {
    let folder = Folder::new();
    let bad = "{\"reference\": \"no response\"}\n";
    let text = dataset(N_ROWS / 2) + bad + &dataset(N_ROWS / 2) + bad;
    let input = folder.write("in.jsonl", &text);
    go_on(&folder, &input, &[]).ends(1);
    (text, folder.read("out.jsonl"), nameless_rejects(&folder, &input))
});

#[test]
fn a_run_that_is_killed_at_any_time_ends_like_an_unbroken_one() {
    let (text, output, rejects) = &*UNBROKEN;
    let mut killed = 0;
    for journal_bytes in [1, 5_000, 60_000, 150_000, 250_000] {
        let folder = Folder::new();
        let input = folder.write("in.jsonl", text);
        if !kill_at(&folder, &input, journal_bytes) {
            continue;
        }
        killed += 1;
        assert!(!folder.path("out.jsonl").exists(), "an output appeared half-written");
        go_on(&folder, &input, &[]).ends(1);
        assert!(folder.read("out.jsonl") == *output, "killed at {journal_bytes}");
        assert_eq!(nameless_rejects(&folder, &input), *rejects, "killed at {journal_bytes}");
        assert_eq!(
            folder.names(),
            ["in.jsonl", "out.jsonl", "out.jsonl.manifest.json", "out.jsonl.rejects.jsonl"]
        );
    }
    assert!(killed > 0, "every run ended before it could be killed");
}

#[test]
fn run_killed_repeatedly_completes() {
    let (text, output, _) = &*UNBROKEN;
    let folder = Folder::new();
    let input = folder.write("in.jsonl", text);
    let mut killed = 0;
    for step in 1..=6 {
        killed += u32::from(kill_at(&folder, &input, step * 40_000));
    }
    assert!(killed > 0, "every run ended before it could be killed");
    if !folder.path("out.jsonl").exists() {
        go_on(&folder, &input, &[]).ends(1).says(&["rows were done before"]);
    }
    assert!(folder.read("out.jsonl") == *output);
}

/// A folder with a run that was killed in the middle, and its input.
fn interrupted() -> (Folder, String) {
    let attempt = |_| {
        let folder = Folder::new();
        let input = folder.write("in.jsonl", dataset(N_ROWS_EARLY));
        kill_at(&folder, &input, 5_000).then_some((folder, input))
    };
    (0..20).find_map(attempt).expect("a run of this size can be killed in the middle")
}

#[test]
fn a_journal_of_another_scorer_version_is_refused() {
    let (folder, input) = interrupted();
    // The same name, another budget of work: another digest.
    let config = "[[scorer]]\nname = \"math\"\nkind = \"math\"\nfuel = 12345\n";
    let config = folder.write("config.toml", config);
    // The lock of the killed run goes with the next one.
    let kept = || -> Vec<String> {
        folder.names().into_iter().filter(|name| name != "out.jsonl.lock").collect()
    };
    let before = kept();
    let ran = go_on(&folder, &input, &["--config", &config]).ends(2);
    ran.says(&["scorer 'math'", "sha256:", "--restart"]);
    go_on(&folder, &input, &["--explain"]).ends(2).says(&["option 'explain'", "--restart"]);
    go_on(&folder, &input, &["--limit", "10"]).ends(2).says(&["option 'limit'"]);
    assert_eq!(kept(), before);
    go_on(&folder, &input, &["--config", &config, "--restart"]).ends(0);
    assert_eq!(folder.rows("out.jsonl").len(), N_ROWS_EARLY);
}

#[test]
fn a_changed_input_is_refused() {
    let (folder, input) = interrupted();
    let text = dataset(N_ROWS_EARLY).replacen("It is", "It was", 1);
    folder.write("in.jsonl", text);
    go_on(&folder, &input, &[]).ends(2).says(&["another input", "--restart"]);
}

#[test]
fn renamed_input_can_be_resumed() {
    let (folder, input) = interrupted();
    let moved = folder.name("moved.jsonl");
    std::fs::rename(&input, &moved).expect("ours");
    go_on(&folder, &moved, &[]).ends(0).says(&["rows were done before"]);
    assert_eq!(folder.rows("out.jsonl").len(), N_ROWS_EARLY);
}

#[test]
fn one_output_takes_one_run_and_standard_input_cannot_be_resumed() {
    let folder = Folder::new();
    let output = folder.name("out.jsonl");
    let mut run = command(args("-", &output));
    let mut child = run
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    let text = dataset(2_000);
    pipe.write_all(text.as_bytes()).expect("it reads");
    let journal = folder.path("out.jsonl.journal");
    wait_until("the journal grows", || size(&journal) >= 1_000);
    // The first run waits for more input, and has the output for itself.
    let input = folder.write("in.jsonl", text);
    go_on(&folder, &input, &[]).ends(1).says(&["another run"]);
    child.kill().expect("our child");
    child.wait().expect("our child");
    go_on(&folder, &input, &[]).ends(2).says(&["standard input cannot be read a second time"]);
    go_on(&folder, &input, &["--restart"]).ends(0);
    assert_eq!(folder.rows("out.jsonl").len(), 2_000);
}

/// Whoever may write to the folder of an output could name a file of its owner there.
#[test]
fn symbolic_link_at_a_partial_file_is_refused_and_its_target_stays() {
    for (output, format) in
        [("out.jsonl", ".partial"), ("out.jsonl", ".journal"), ("out.parquet", ".partial")]
    {
        let folder = Folder::new();
        let input = folder.write("in.jsonl", dataset(10));
        let kept = folder.write("kept", "of somebody else");
        std::os::unix::fs::symlink(&kept, folder.path(&format!("{output}{format}")))
            .expect("a link");
        let refused = tribunal(args(&input, &folder.name(output))).says(&["symbolic link"]);
        assert_ne!(refused.code, Some(0), "{output}{format}");
        assert_eq!(folder.read("kept"), b"of somebody else", "{output}{format}");
    }
}
