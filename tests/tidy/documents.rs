//! Documents that name files and tests keep step with them.

use crate::Violation;
use crate::tree::Tree;

/// Endings by which a name with a `/` in it is taken for a file of this repository.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".json", ".py", ".sh"];

/// Every path (`serve/src/cache.rs`, `serve/src/`) and every test (`tests/tidy.rs::name`) in
/// backticks must exist. Fenced blocks are examples and are not read.
pub(crate) fn names_exist(text: &str, tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let faults = spans(content).filter_map(|span| fault(span, tree));
            found.extend(faults.map(|message| Violation { line, message }));
        }
    }
    found
}

/// What stands between backticks on one line.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn fault(span: &str, tree: &Tree) -> Option<String> {
    let (path, test) = match span.split_once(".rs::") {
        Some((stem, test)) => (format!("{stem}.rs"), Some(test)),
        None => (span.to_owned(), None),
    };
    if !looks_like_path(&path) {
        return None;
    }
    if !tree.contains(&path) {
        return Some(format!("`{path}` does not exist"));
    }
    let name = test?.rsplit("::").next()?;
    let exists = tree.text(&path).is_some_and(|text| text.contains(&format!("fn {name}(")));
    (!exists).then(|| format!("`{path}` has no function `{name}`"))
}

/// A relative path with a known ending, or a folder written with its last `/`, or anything in the
/// sources of a crate. A route (`/v1/score`) and a media type are none of these.
fn looks_like_path(span: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./".contains(&b);
    span.bytes().all(is_plain)
        && span.contains('/')
        && !span.starts_with('/')
        && !span.contains("..")
        && (span.ends_with('/')
            || span.contains("/src/")
            || ENDINGS.iter().any(|ending| span.ends_with(ending)))
}

#[track_caller]
fn check(text: &str, expected: &[usize]) {
    let mut tree = Tree::default();
    tree.add("serve/src/cache.rs", "fn hit() {}\nfn hits_again() {}\n");
    tree.add("docs/guide.md", "");
    let found = names_exist(text, &tree);
    let lines: Vec<usize> = found.iter().map(|v| v.line).collect();
    assert_eq!(lines, expected, "{text:?}: {found:?}");
}

#[test]
fn names_of_what_is_gone_are_caught() {
    check("see `serve/src/cache.rs` and `docs/guide.md`", &[]);
    check("see\n`serve/src/cash.rs`", &[2]);
    check("`serve/src/cache.rs` and `docs/gone.md`", &[1]);
    check("`serve/src/` and `docs/`", &[]);
    check("`server/`", &[1]);
    check("`serve/src/compat`", &[1]);
    check("`serve/src/cache.rs::hit`", &[]);
    check("`serve/src/cache.rs::tests::hit`", &[]);
    check("`serve/src/cache.rs::hits`", &[1]);
    check("`serve/src/gone.rs::hit`", &[1]);
}

#[test]
fn other_names_are_not_paths() {
    check("`POST /v1/score`, `/v1/score`, `application/json`", &[]);
    check("`cache.rs`, `a::b`, `../shared/data`, `*/tests.rs`", &[]);
    check("serve/src/gone.rs without backticks", &[]);
    check("```\n`serve/src/gone.rs`\n```\n`serve/src/gone.rs`", &[4]);
    check("`open to the end serve/src/gone.rs", &[]);
}
