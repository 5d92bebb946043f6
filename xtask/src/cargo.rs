//! How this program calls cargo: always at the workspace root, always by name, so that the
//! toolchain is the one the user's shell would pick.

use std::path::Path;
use std::process::{Command, Stdio};

/// The workspace root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the xtask package lies one folder below the workspace root")
}

/// A call of cargo with `args`.
///
/// Removes the variables that cargo sets for this package: build scripts that look
/// at it would run anew, and with them half of the dependencies be built anew.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(args).current_dir(root());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// Whether `cargo <component> --version` works.
pub(crate) fn has(component: &str) -> bool {
    cargo(&[component, "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs `command` with the terminal's own streams. The error is a message for the user.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(format!("cannot start: {error}")),
    }
}
