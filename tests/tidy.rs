//! House rules over the files of the checkout.
//!
//! Each rule is a pure function of a path and a text, with a table beside it that shows it
//! catching a bad line. One test runs them all over the tree and prints every violation at once as
//! `path:line: message`. What `.gitignore` names is not looked at.

#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/lines.rs"]
mod lines;
#[path = "tidy/manifests.rs"]
mod manifests;
#[path = "tidy/tree.rs"]
mod tree;

use std::path::Path;

use tree::Tree;

/// Files that must exist.
const REQUIRED: &[&str] = &["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "deny.toml"];

/// Documents whose names in backticks must exist. One that is absent is passed over, unless it is
/// in [`REQUIRED`] too.
const DOCUMENTS: &[&str] = &["ARCHITECTURE.md"];

/// A broken rule at a line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// A rule over one file. `path` is relative to the root and uses `/`.
type Rule = fn(path: &str, text: &str) -> Vec<Violation>;

const RULES: &[Rule] = &[
    lines::length,
    lines::leftovers,
    lines::machine_paths,
    lines::junk_drawers,
    lines::unsafe_in_its_place,
    lines::features_in_their_place,
    lines::no_allow,
    lines::ignored_with_reason,
    lines::environment_read_once,
    lines::engine_has_no_lock,
    lines::plain_text,
    manifests::inherits,
];

#[test]
fn the_tree_follows_the_house_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests package lies one folder below the workspace root");
    let tree = Tree::read(root).expect("the checkout can be read");
    assert!(tree.contains("tests/tidy.rs"), "this is another tree");
    let found = violations(&tree);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// Every violation in the tree, as `path:line: message`.
fn violations(tree: &Tree) -> Vec<String> {
    let mut found: Vec<String> = REQUIRED
        .iter()
        .filter(|path| !tree.contains(path))
        .map(|path| format!("{path}:1: this file must exist"))
        .collect();
    let mut report = |path: &str, violations: Vec<Violation>| {
        for Violation { line, message } in violations {
            found.push(format!("{path}:{line}: {message}"));
        }
    };
    for (path, text) in tree.texts() {
        for rule in RULES {
            report(path, rule(path, text));
        }
        if DOCUMENTS.contains(&path) {
            report(path, documents::names_exist(text, tree));
        }
        match path {
            "ARCHITECTURE.md" => report(path, documents::is_short(text)),
            "docs/GLOSSARY.md" => report(path, documents::terms_are_few_and_unique(text)),
            _ => {}
        }
    }
    found
}

#[test]
fn violations_of_all_kinds_come_out_together() {
    let mut tree = Tree::default();
    for path in REQUIRED {
        tree.add(path, "\n");
    }
    tree.add("ARCHITECTURE.md", "See `serve/src/gone.rs`.\n");
    tree.add("engine/src/lib.rs", "fn a() {} \n");
    assert_eq!(
        violations(&tree),
        [
            "ARCHITECTURE.md:1: `serve/src/gone.rs` does not exist",
            "engine/src/lib.rs:1: white space at the end of the line",
        ]
    );
    assert_eq!(violations(&Tree::default()).len(), REQUIRED.len());
}
