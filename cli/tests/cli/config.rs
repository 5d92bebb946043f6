//! `tribunal config`, and how commands end whose reader or file is gone.

use std::io::Read as _;
use std::process::Stdio;

use crate::program::{Folder, command, tribunal};

#[test]
fn files_are_made_once_and_checked() {
    let folder = Folder::new();
    let file = folder.name("tribunal.toml");
    tribunal(["config", "init", &file]).ends(0).says(&["wrote"]);
    let says = ["is valid: 0 scorers and 0 models of its own, ", " built-in scorers\n"];
    tribunal(["config", "check", &file]).ends(0).says(&says);
    let own = "[[scorer]]\nname = \"math\"\nkind = \"math\"\nrelative = 0.05\n\
               [[scorer]]\nname = \"mine\"\nkind = \"math\"\nrelative = \"0.05\"\n";
    let says = ["2 scorers and 0 models of its own", "in place of the built-in ones: 'math'\n"];
    tribunal(["config", "check", &folder.write("own.toml", own)]).ends(0).says(&says);
    tribunal(["config", "init", &file]).ends(2).says(&["exists"]);
    let printed = tribunal(["config", "init", "-"]).ends(0).stdout;
    assert_eq!(folder.read("tribunal.toml"), printed.as_bytes());
    let bad = folder.write("bad.toml", "[server]\nbint = \"x\"\n[limits]\ndeadline = 3\n");
    let says = ["bad.toml:2", "bint", "bind", "bad.toml:4", "deadline"];
    tribunal(["config", "check", &file, &bad]).ends(2).says(&says);
    tribunal(["config", "check", &folder.name("none.toml")]).ends(2).says(&["none.toml"]);
}

#[test]
fn what_is_installed_beside_the_program_is_written() {
    let said = tribunal(["--version"]).ends(0).stdout;
    for line in ["tribunal 0.1.0", "commit: ", "os: ", "arch: ", "kernels: "] {
        assert!(said.contains(line), "{line} is missing: {said}");
    }
    let shell = ["bash", "zsh", "fish"];
    for printed in shell.map(|shell| tribunal(["completions", shell]).ends(0).stdout) {
        assert!(printed.contains("score") && printed.contains("scorer"), "{printed}");
    }
    let folder = Folder::new();
    tribunal(["man", &folder.name("share/man1")]).ends(0);
    let pages = folder.names_in("share/man1");
    for page in ["tribunal.1", "tribunal-score.1", "tribunal-config-init.1"] {
        assert!(pages.iter().any(|name| name == page), "{page} is missing: {pages:?}");
    }
}

#[test]
fn a_reader_that_leaves_ends_a_command_quietly() {
    let mut child = command(["openapi"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // The document is larger than a pipe holds.
    let mut first = [0_u8; 1];
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut first).expect("the document begins");
    drop(stdout);
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert_eq!(ended.status.code(), Some(1));
}
