//! The commands of docs/sandbox.md.

use std::path::Path;
use std::process::Command;

use crate::documents::blocks;
use crate::program::{Folder, Ran, command};

#[test]
fn the_commands_of_the_page_work() {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sandbox.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let folder = Folder::new();
    folder.write("tasks.jsonl", blocks_of_lines(&page));
    let commands = blocks(&page, "sh");
    assert!(!commands.is_empty());
    for line in commands.iter().flat_map(|block| block.lines()) {
        let args = line.strip_prefix("tribunal ").expect("commands of this program");
        let mut run = command(args.split(' '));
        Ran::from(run.current_dir(folder.path("")).output().expect("it starts")).ends(0);
    }
    let rows = folder.rows("scored.jsonl");
    let seen: Vec<(Option<f64>, &str)> = rows
        .iter()
        .map(|row| &row["scores"]["python-tests"])
        .map(|result| (result["score"].as_f64(), result["label"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(seen, [(Some(1.0), "ok"), (Some(0.0), "wa"), (Some(0.0), "wa")], "{rows:#?}");
}

/// The rows of the page, whose responses hold fences themselves.
fn blocks_of_lines(page: &str) -> String {
    let (_, after) = page.split_once("```jsonl\n").expect("the page has rows");
    let (rows, _) = after.split_once("\n```\n").expect("the block is closed");
    format!("{rows}\n")
}
