//! Support for tests of the layers above engines.
//!
//! Only a dev-dependency: no production crate names it (`tests/layering.rs`). Model folders for
//! tests come from `tiny_models`.

pub mod fake;
pub mod hub;

/// Whether `python3` can be started. Says that a test is skipped where it cannot.
pub fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: there is no python3");
    }
    found
}
