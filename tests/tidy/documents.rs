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

/// Lines of ARCHITECTURE.md: a way in, and no second manual.
const MAX_ARCHITECTURE_LINES: usize = 150;
/// Terms of the glossary.
const MAX_TERMS: usize = 50;

/// The way in stays short.
pub(crate) fn is_short(text: &str) -> Vec<Violation> {
    let lines = text.lines().count();
    let message = format!("{lines} lines, the limit is {MAX_ARCHITECTURE_LINES}");
    let too_long = lines > MAX_ARCHITECTURE_LINES;
    too_long
        .then_some(Violation { line: MAX_ARCHITECTURE_LINES + 1, message })
        .into_iter()
        .collect()
}

/// The glossary is short enough to be read whole, and no term is in it twice.
pub(crate) fn terms_are_few_and_unique(text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let Some(cell) = content.strip_prefix("| ").and_then(|row| row.split(" |").next()) else {
            continue;
        };
        if cell == "term" {
            continue;
        }
        for term in cell.split(", ") {
            if seen.contains(&term) {
                found.push(Violation { line, message: format!("`{term}` is here twice") });
            }
            seen.push(term);
        }
        if seen.len() == MAX_TERMS + 1 {
            let message = format!("more than {MAX_TERMS} terms");
            found.push(Violation { line, message });
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

#[test]
fn a_long_way_in_and_a_double_term_are_caught() {
    assert!(is_short(&"line\n".repeat(MAX_ARCHITECTURE_LINES)).is_empty());
    assert_eq!(is_short(&"line\n".repeat(MAX_ARCHITECTURE_LINES + 1)).len(), 1);
    let row = |term: &str| format!("| {term} | meaning | where |\n");
    let table = format!("| term | meaning | where |\n|---|---|---|\n{}{}", row("a"), row("b, a"));
    let found = terms_are_few_and_unique(&table);
    assert_eq!(found.iter().map(|v| v.line).collect::<Vec<_>>(), [4]);
    let many: String = (0..=MAX_TERMS).map(|at| row(&at.to_string())).collect();
    assert_eq!(terms_are_few_and_unique(&many).len(), 1);
}
