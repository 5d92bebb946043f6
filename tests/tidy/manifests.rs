//! What a crate's `Cargo.toml` leaves to the workspace.

use toml::{Table, Value};

use crate::Violation;

const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];
const DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// Every crate takes its lints, its package fields and the versions of its dependencies from the
/// root, so that each is stated once. The root itself states them.
pub(crate) fn inherits(path: &str, text: &str) -> Vec<Violation> {
    if !path.ends_with("/Cargo.toml") {
        return Vec::new();
    }
    match text.parse::<Table>() {
        // A workspace of its own, such as that of the fuzz targets, has nothing to take from ours.
        Ok(manifest) if manifest.contains_key("workspace") => Vec::new(),
        Ok(manifest) => faults(&manifest)
            .into_iter()
            .map(|(key, message)| Violation { line: line_of(text, key), message })
            .collect(),
        Err(error) => {
            Vec::from([Violation { line: 1, message: format!("not TOML: {}", error.message()) }])
        }
    }
}

/// What is wrong, each with the key it hangs on.
fn faults(manifest: &Table) -> Vec<(&str, String)> {
    let mut faults = Vec::new();
    if !manifest.get("lints").is_some_and(from_workspace) {
        faults.push(("[lints", "[lints] must say `workspace = true`".to_owned()));
    }
    let package = manifest.get("package").and_then(Value::as_table);
    for &field in INHERITED {
        if !package.is_some_and(|p| p.get(field).is_some_and(from_workspace)) {
            faults.push((field, format!("`{field}.workspace = true` is missing")));
        }
    }
    for (name, dependency) in dependencies(manifest) {
        let states_source =
            ["version", "path", "git"].iter().any(|key| dependency.get(key).is_some());
        if states_source || !from_workspace(dependency) {
            let message =
                format!("`{name}` must say `workspace = true`, its version is at the root");
            faults.push((name, message));
        }
    }
    faults
}

/// Every dependency of every kind, those of one platform included.
fn dependencies(manifest: &Table) -> impl Iterator<Item = (&str, &Value)> {
    let platforms = manifest.get("target").and_then(Value::as_table);
    platforms
        .into_iter()
        .flat_map(|table| table.values().filter_map(Value::as_table))
        .chain([manifest])
        .flat_map(|table| DEPENDENCIES.iter().filter_map(|kind| table.get(*kind)?.as_table()))
        .flat_map(|table| table.iter().map(|(name, value)| (name.as_str(), value)))
}

fn from_workspace(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// The first line that begins with `key`, or the first line of the file.
fn line_of(text: &str, key: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(key)).map_or(1, |index| index + 1)
}

#[cfg(test)]
const GOOD: &str = "\
[package]
name = \"a\"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
publish.workspace = true
[lints]
workspace = true
";

#[track_caller]
fn check(text: &str, expected: &[(usize, &str)]) {
    let found = inherits("a/Cargo.toml", text);
    let same = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(v, (line, part))| v.line == *line && v.message.contains(part));
    assert!(same, "{text}: {found:?}, expected {expected:?}");
}

#[test]
fn own_words_in_a_manifest_are_caught() {
    check(GOOD, &[]);
    check(
        &GOOD.replace("version.workspace = true\ned", "version = \"1.0.0\"\ned"),
        &[(3, "`version.")],
    );
    check(&GOOD.replace("license.workspace = true\n", ""), &[(1, "`license.")]);
    check(&GOOD.replace("[lints]\nworkspace = true\n", ""), &[(1, "[lints]")]);
    check(&GOOD.replace("[lints]\nworkspace = true", "[lints.rust]"), &[(8, "[lints]")]);
    check("[package", &[(1, "not TOML")]);
    assert_eq!(inherits("Cargo.toml", "[workspace]"), []);
    check("[package]\nversion = \"0.0.0\"\n[workspace]", &[]);
}

#[test]
fn versions_outside_the_root_are_caught() {
    let with = |lines: &str| format!("{GOOD}{lines}");
    check(&with("[dependencies]\nserde.workspace = true"), &[]);
    check(&with("[dependencies]\nserde = { workspace = true, features = [\"rc\"] }"), &[]);
    check(&with("[dependencies]\nserde = \"1\""), &[(11, "`serde`")]);
    check(&with("[dependencies]\nserde = { version = \"1\" }"), &[(11, "`serde`")]);
    check(&with("[dependencies]\nopenapi = { path = \"../openapi\" }"), &[(11, "`openapi`")]);
    check(&with("[dev-dependencies]\nserde = \"1\""), &[(11, "`serde`")]);
    check(&with("[build-dependencies]\nserde = \"1\""), &[(11, "`serde`")]);
    check(&with("[target.'cfg(unix)'.dependencies]\nserde = \"1\""), &[(11, "`serde`")]);
    check(&with("[target.'cfg(unix)'.dependencies]\nserde.workspace = true"), &[]);
}
