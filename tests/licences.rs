//! The licences of everything that is compiled in, from `cargo metadata`.
//!
//! The allowed list is the one in `deny.toml`, so that cargo-deny and this test cannot disagree.
//! This test sees what is built by default on the machine it runs on, so that it needs no package
//! that the build did not; cargo-deny sees all platforms and features.

use std::path::Path;
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand};

/// Packages that would need a C library of TLS on the user's machine.
const BANNED: &[&str] = &["openssl-sys", "native-tls"];

/// Evaluates a licence expression (SPDX: `AND` binds before `OR`, `WITH` belongs to its term; the
/// old `MIT/Apache-2.0` means `OR`).
fn is_allowed(expression: &str, allowed: &[&str]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    let value = reader.any(0)?;
    match reader.words.first() {
        None => Ok(value),
        Some(word) => Err(format!("`{word}` is out of place")),
    }
}

/// Reads an expression from the left; `words` is what remains.
struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl<'a> Reader<'a> {
    const MAX_DEPTH: usize = 16;

    fn any(&mut self, depth: usize) -> Result<bool, String> {
        let mut value = self.all(depth)?;
        while self.take("OR") {
            value |= self.all(depth)?;
        }
        Ok(value)
    }

    fn all(&mut self, depth: usize) -> Result<bool, String> {
        let mut value = self.term(depth)?;
        while self.take("AND") {
            value &= self.term(depth)?;
        }
        Ok(value)
    }

    fn term(&mut self, depth: usize) -> Result<bool, String> {
        match self.next()? {
            "(" if depth == Self::MAX_DEPTH => Err("too many parentheses".to_owned()),
            "(" => {
                let value = self.any(depth + 1)?;
                if self.take(")") { Ok(value) } else { Err("a parenthesis stays open".to_owned()) }
            }
            word @ (")" | "OR" | "AND" | "WITH") => Err(format!("`{word}` is out of place")),
            licence if self.take("WITH") => {
                let whole = format!("{licence} WITH {}", self.next()?);
                Ok(self.allowed.contains(&whole.as_str()))
            }
            licence => Ok(self.allowed.contains(&licence)),
        }
    }

    fn next(&mut self) -> Result<&'a str, String> {
        let (word, rest) =
            self.words.split_first().ok_or_else(|| "the expression stops short".to_owned())?;
        self.words = rest;
        Ok(word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }
}

/// What is wrong with a package, if anything. `licence` is its `license` field.
fn fault(name: &str, licence: Option<&str>, allowed: &[&str]) -> Option<String> {
    if BANNED.contains(&name) {
        return Some(format!("{name}: not wanted in the tree"));
    }
    match licence.map(|expression| (expression, is_allowed(expression, allowed))) {
        None => Some(format!("{name}: states no licence")),
        Some((_, Ok(true))) => None,
        Some((expression, Ok(false))) => Some(format!("{name}: {expression} is not allowed")),
        Some((expression, Err(why))) => Some(format!("{name}: cannot read {expression}: {why}")),
    }
}

#[test]
fn every_package_has_an_allowed_licence() {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is committed");
    let deny: toml::Table = text.parse().expect("deny.toml is TOML");
    let allowed: Vec<&str> = deny["licenses"]["allow"]
        .as_array()
        .expect("licenses.allow is a list")
        .iter()
        .filter_map(toml::Value::as_str)
        .collect();
    let faults: Vec<String> = metadata()
        .packages
        .iter()
        .filter_map(|package| fault(&package.name, package.license.as_deref(), &allowed))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The packages of this machine's platform: cargo has them all already, because it built them.
fn metadata() -> Metadata {
    let mut options = vec!["--filter-platform".to_owned(), host()];
    if root().join("Cargo.lock").exists() {
        options.push("--locked".to_owned());
    }
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(options)
        .exec()
        .expect("cargo metadata resolves the workspace");
    assert!(
        metadata.packages.iter().any(|p| p.name == "cargo_metadata"),
        "the list of packages lacks our own dependencies"
    );
    metadata
}

/// The platform of the toolchain, such as `x86_64-unknown-linux-gnu`.
fn host() -> String {
    let output = Command::new(env!("CARGO"))
        .arg("-vV")
        .output()
        .expect("cargo built this test and can say its version");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("`cargo -vV` names the host")
        .to_owned()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests package lies one folder below the workspace root")
}

const SOME: &[&str] = &["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];

#[track_caller]
fn check(expression: &str, expected: Option<bool>) {
    assert_eq!(is_allowed(expression, SOME).ok(), expected, "{expression}");
}

#[test]
fn expressions_follow_spdx() {
    check("MIT", Some(true));
    check("GPL-3.0", Some(false));
    check("mit", Some(false));
    check("MIT OR GPL-3.0", Some(true));
    check("GPL-3.0 OR MIT", Some(true));
    check("GPL-3.0/MIT", Some(true));
    check("MIT AND GPL-3.0", Some(false));
    check("MIT AND ISC", Some(true));
    check("GPL-3.0 AND MIT OR ISC", Some(true));
    check("ISC OR MIT AND GPL-3.0", Some(true));
    check("(ISC OR MIT) AND GPL-3.0", Some(false));
    check("(MIT OR GPL-3.0) AND (ISC OR GPL-3.0)", Some(true));
    check("Apache-2.0 WITH LLVM-exception", Some(true));
    check("Apache-2.0", Some(false));
    check("MIT WITH LLVM-exception", Some(false));
    check("Apache-2.0 WITH LLVM-exception AND MIT", Some(true));
    for broken in ["", "OR MIT", "MIT ISC", "(MIT", "MIT)", "MIT AND", "MIT WITH"] {
        check(broken, None);
    }
    check(&"(".repeat(100_000), None);
}

#[test]
fn bad_packages_are_reported() {
    assert_eq!(fault("serde", Some("MIT"), SOME), None);
    let bad = [
        ("openssl-sys", Some("MIT"), "not wanted"),
        ("native-tls", Some("MIT"), "not wanted"),
        ("quiet", None, "states no licence"),
        ("viral", Some("GPL-3.0"), "is not allowed"),
        ("odd", Some("MIT,"), "is not allowed"),
        ("broken", Some("MIT ISC"), "cannot read"),
    ];
    for (name, licence, expected) in bad {
        let fault = fault(name, licence, SOME).unwrap_or_default();
        assert!(fault.contains(expected), "{name}: {fault}");
    }
}
