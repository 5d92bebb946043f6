//! The kit from its script to its tables, on the emulated driver with small sizes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpu_emulated::{Emulator, NULL};
use serde_json::Value;

/// A folder of the workspace.
fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn emulator() -> Option<&'static Emulator> {
    let emulator = Emulator::get(Path::new(env!("CARGO_TARGET_TMPDIR")));
    if emulator.is_none() {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
    }
    emulator
}

/// The program's own arguments for a card of the emulated driver.
fn of_card(emulator: &Emulator, index: usize) -> Vec<String> {
    let options = emulator.options(index);
    let libraries = options.libraries.iter();
    let libraries = libraries.flat_map(|file| ["--library".to_owned(), file.display().to_string()]);
    ["--device".to_owned(), index.to_string()].into_iter().chain(libraries).collect()
}

fn python(script: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(workspace("xtask/gpu").join(script));
    command
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn the_kit_runs_to_its_end_on_the_emulated_driver() {
    let Some(emulator) = emulator() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut check = python("check.py");
    check.args(["--small", "--commit", "0123abc", "--program", env!("CARGO_BIN_EXE_gpu-kit")]);
    check.arg("--out").arg(folder.path()).args(of_card(emulator, 0));
    let Ok(output) = check.output() else {
        println!("skipped: python3 cannot be run");
        return;
    };
    assert!(output.status.success(), "{}", text(&output));
    let results = folder.path().join("results.json");
    let run: Value =
        serde_json::from_slice(&fs::read(&results).expect("it was written")).expect("it is JSON");
    let parts = run["parts"].as_array().expect("a list");
    let mut names = Vec::new();
    for part in parts {
        assert_eq!(part["status"], "done", "{part}");
        assert!(!part["results"].as_array().expect("a list").is_empty(), "{part}");
        names.push(part["name"].as_str().expect("a name"));
    }
    let expected = ["card", "kernels", "families", "invariance", "physics", "speed", "peers"];
    assert_eq!(names, expected);
    assert_eq!(parts[0]["results"][0]["card"], "emulated card 0");

    // A run of tiny sizes is no measurement; as one of a card's it gives tables.
    let docs = folder.path().join("docs");
    fs::create_dir(&docs).expect("a folder");
    fs::copy(workspace("docs/gpu.md"), docs.join("gpu.md")).expect("the page is committed");
    fs::write(docs.join("gpu-runs.json"), "[]").expect("it can be written");
    let report = |file: &Path| {
        let mut report = python("report.py");
        report.arg("--docs").arg(&docs).arg(file).output().expect("python3 runs")
    };
    assert!(!report(&results).status.success());
    let full = folder.path().join("full.json");
    let mut run = run;
    run["small"] = Value::Bool(false);
    fs::write(&full, run.to_string()).expect("it can be written");
    for _ in 0..2 {
        let output = report(&full);
        assert!(output.status.success(), "{}", text(&output));
        let page = fs::read_to_string(docs.join("gpu.md")).expect("it was written");
        for line in ["### emulated card 0, ", "| small: prefill | ", "**kernels**: 2 ok, 0 failed"]
        {
            assert_eq!(page.matches(line).count(), 1, "{line}: {page}");
        }
    }
}

#[test]
fn the_page_has_the_tables_of_the_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in ["gpu.md", "gpu-runs.json"] {
        fs::copy(workspace("docs").join(file), folder.path().join(file)).expect("it is committed");
    }
    let Ok(output) = python("report.py").arg("--docs").arg(folder.path()).output() else {
        println!("skipped: python3 cannot be run");
        return;
    };
    assert!(output.status.success(), "{}", text(&output));
    for file in ["gpu.md", "gpu-runs.json"] {
        let read = |folder: &Path| fs::read_to_string(folder.join(file)).expect("it is there");
        assert_eq!(read(folder.path()), read(&workspace("docs")), "run `cargo xtask gpu report`");
    }
}

#[test]
fn a_card_that_cannot_be_opened_and_a_part_that_is_unknown_are_errors() {
    let Some(emulator) = emulator() else { return };
    let kit = |index: usize, part: &str| {
        let mut kit = Command::new(env!("CARGO_BIN_EXE_gpu-kit"));
        kit.args(of_card(emulator, index)).args(["--small", part]);
        kit
    };
    let run = |index: usize, part: &str| kit(index, part).output().expect("it runs");
    let check = |output: Output, code: i32, expected: &str| {
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(expected), "{}", text(&output));
    };
    check(run(99, "card"), 1, "there is no card cuda:99");
    let old = kit(0, "card").env("EMULATED_CUDA_VERSION", "11040").output().expect("it runs");
    check(old, 1, "the CUDA driver is of version 11.4, and 12.0 is needed");
    check(run(0, "weather"), 2, "there is no part weather");
    check(run(NULL, "host"), 0, "\"forward, ms\"");
}
