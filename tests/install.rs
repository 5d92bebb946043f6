//! What `cargo xtask dist` packs can be installed; a script stands for the program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const PROGRAM: &str = "#!/bin/sh\necho tribunal 1.2.3\n";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../xtask/dist").join(name)
}

/// The commands of the page that begin so.
fn commands(start: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/install.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let lines = page.lines().filter(|line| line.starts_with(start));
    lines.map(str::to_owned).collect()
}

/// Runs a command of the page where it installs nothing on this machine.
fn shell(folder: &TempDir, line: &str) -> Output {
    let line = line.replace("/usr/local", &folder.path().join("usr").to_string_lossy());
    let line = line.replace("target/dist", &folder.path().join("out").to_string_lossy());
    let mut sh = Command::new("sh");
    sh.args(["-c", &line]).current_dir(script("../..")).env("HOME", folder.path());
    sh.env("PIP_PREFIX", folder.path().join("prefix")).env("PIP_NO_INDEX", "1");
    sh.output().expect("sh starts")
}

/// A folder with the packages of a program, and those of the same files again.
fn packed() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let staging = folder.path().join("staging");
    for (name, content) in
        [("bin/tribunal", PROGRAM), ("share/man/man1/tribunal.1", ".TH tribunal 1\n")]
    {
        let file = staging.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is ours");
        fs::write(file, content).expect("the folder is ours");
    }
    for out in ["out", "again"] {
        let mut python = Command::new("python3");
        python.arg(script("package.py")).arg(&staging).args(["1.2.3", out]);
        ended(&python.current_dir(folder.path()).output().expect("python3 starts"), true);
    }
    folder
}

#[track_caller]
fn ended(output: &Output, well: bool) -> String {
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.success(), well, "{said}");
    said
}

#[track_caller]
fn file(folder: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let found = paths.filter(|path| path.to_string_lossy().ends_with(end)).collect::<Vec<_>>();
    found.first().expect(end).clone()
}

#[track_caller]
fn check_installed(prefix: &Path) {
    let program = prefix.join("bin/tribunal");
    let mode = fs::metadata(&program).expect("the program is there").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "{mode:o}");
    let page = fs::read_to_string(prefix.join("share/man/man1/tribunal.1"));
    assert_eq!(page.expect("the page is there"), ".TH tribunal 1\n");
    assert_eq!(fs::read_to_string(program).expect("a script"), PROGRAM);
}

#[test]
fn packages_of_equal_files_are_equal_and_install() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: python3 is not installed");
        return;
    }
    let folder = packed();
    let out = folder.path().join("out");
    for end in [".tar.gz", ".whl", "SHA256SUMS"] {
        let again = fs::read(file(&folder.path().join("again"), end)).expect("readable");
        assert!(fs::read(file(&out, end)).expect("readable") == again, "{end}");
    }
    let lines = commands("sh ");
    assert_eq!(lines.len(), 2);
    for line in lines.iter().chain(&lines) {
        assert!(ended(&shell(&folder, line), true).contains("installed tribunal 1.2.3"));
        let prefix = if line.contains("/usr/local") { "usr" } else { ".local" };
        check_installed(&folder.path().join(prefix));
    }
    let other = || shell(&folder, &lines[1].replace("/usr/local", "/usr/local/other"));
    let sums = out.join("SHA256SUMS");
    let listed = fs::read_to_string(&sums).expect("readable");
    fs::write(&sums, listed.replace(&listed[..8], "00000000")).expect("the folder is ours");
    assert!(ended(&other(), false).contains("is not what SHA256SUMS says"));
    fs::write(&sums, "").expect("the folder is ours");
    assert!(ended(&other(), false).contains("does not list"));
    assert!(!folder.path().join("usr/other").exists());
}

#[test]
fn a_relative_prefix_is_below_the_folder_of_the_caller() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: python3 is not installed");
        return;
    }
    let folder = packed();
    let archive = file(&folder.path().join("out"), ".tar.gz");
    for prefix in ["opt/tribunal", "with space"] {
        let mut sh = Command::new("sh");
        sh.arg(script("install.sh")).arg(&archive).arg(prefix);
        let output = sh.current_dir(folder.path()).output().expect("sh starts");
        assert!(ended(&output, true).contains("installed tribunal 1.2.3"));
        check_installed(&folder.path().join(prefix));
    }
}

#[test]
fn the_wheel_gives_the_command() {
    let pip = |args: &[&str]| Command::new("python3").args(["-m", "pip"]).args(args).output();
    if !pip(&["--version"]).is_ok_and(|output| output.status.success()) {
        println!("skipped: pip is not installed");
        return;
    }
    let folder = packed();
    for line in commands("pip install ") {
        ended(&shell(&folder, &format!("python3 -m {line}")), true);
    }
    check_installed(&folder.path().join("prefix"));
}
