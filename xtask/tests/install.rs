//! The script that installs an archive of `cargo xtask dist`, with a stand-in for the program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ARCHIVE: &str = "tribunal-1.0.0.tar.gz";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/dist/install.sh");

/// An empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("a folder of an earlier run");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs a program in a folder.
fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder).env("HOME", folder.join("home"));
    command.output().expect("the program runs")
}

/// Makes an archive and its sums in a folder.
fn pack(folder: &Path) {
    let program = folder.join("tribunal-1.0.0/bin/tribunal");
    let page = folder.join("tribunal-1.0.0/share/man/man1/tribunal.1");
    for (path, text) in [(&program, "#!/bin/sh\necho tribunal 1.0.0\n"), (&page, "page\n")] {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    assert!(run(folder, &["tar", "-czf", ARCHIVE, "tribunal-1.0.0"]).status.success());
    let sums = format!("sha256sum {ARCHIVE} > SHA256SUMS");
    assert!(run(folder, &["sh", "-c", &sums]).status.success());
    fs::remove_dir_all(folder.join("tribunal-1.0.0")).expect("it was packed");
}

/// Installs with this prefix; the program is then at `expected`, in the folder of the archive.
#[track_caller]
fn check(name: &str, prefix: Option<&str>, expected: &str) {
    let folder = folder(name);
    pack(&folder);
    let words: Vec<&str> = ["sh", SCRIPT, ARCHIVE].into_iter().chain(prefix).collect();
    let output = run(&folder, &words);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let program = folder.join(expected).join("bin/tribunal");
    let place = format!("installed tribunal 1.0.0 as {}", program.display());
    assert!(said.lines().any(|line| line == place), "{place}: {said}");
    assert!(program.is_file(), "{said}");
    assert!(folder.join(expected).join("share/man/man1/tribunal.1").is_file(), "{said}");
}

#[test]
fn a_prefix_is_a_folder_from_where_the_script_runs() {
    check("home", None, "home/.local");
    check("relative", Some("opt/tribunal"), "opt/tribunal");
    check("with space", Some("a b"), "a b");
    let absolute = folder("absolute prefix");
    check("absolute", absolute.to_str(), absolute.to_str().expect("text"));
}

#[test]
fn an_archive_with_another_sum_is_not_installed() {
    let folder = folder("changed");
    pack(&folder);
    fs::write(folder.join(ARCHIVE), "changed").expect("written");
    let output = run(&folder, &["sh", SCRIPT, ARCHIVE, "prefix"]);
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not what SHA256SUMS says"));
    assert!(!folder.join("prefix").exists());
}
