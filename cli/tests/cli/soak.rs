//! The soak of `cargo xtask soak`, for two minutes.

use clap::Parser as _;
use soak::{SoakOptions, Standing};

use crate::program::Folder;

/// Each documented route, all hostile clients, keys and adapters that change, SIGTERM and SIGKILL: the
/// server gives back all that it held, and breaks no rule.
#[test]
fn server_under_hostile_load_breaks_no_rule_and_gives_back_all_it_held() {
    let folder = Folder::new();
    let out = folder.name("soak");
    let program = env!("CARGO_BIN_EXE_tribunal");
    let args = ["soak", "--minutes", "2", "--program", program, "--out", &out];
    let report = soak::run(&SoakOptions::parse_from(args)).expect("the server starts");
    assert!(report.passed(), "{report}");
    let judged = report.checks.iter().filter(|check| check.standing == Standing::Passed);
    assert!(judged.count() >= 7, "{report}");
    let page =
        std::fs::read_to_string(folder.path("soak").join("soak.html")).expect("it is written");
    assert!(page.contains("<h2>Resident memory</h2>"));
}
