//! Rules that look at one line at a time, and the length of a file.
//!
//! Needles are put together from pieces, so that this file does not break its own rules.

use crate::Violation;

/// Lines of a Rust file.
const MAX_LINES: usize = 600;
/// Lines of a Rust file of tests or benchmarks.
const MAX_TEST_LINES: usize = 900;

const LEFTOVERS: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
];
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
const ENVIRONMENT: &[&str] = &["env::var(", "env::var_os(", "env::vars(", "env::vars_os("];
const JUNK_DRAWERS: &[&str] = &["utils", "helpers", "common"];

/// Applies `fault` to every line and keeps what it objects to.
fn each_line(text: &str, fault: impl Fn(&str) -> Option<String>) -> Vec<Violation> {
    (1..)
        .zip(text.lines())
        .filter_map(|(line, content)| {
            let message = fault(content)?;
            Some(Violation { line, message })
        })
        .collect()
}

/// The same over the lines of Rust code: comments are free to speak of anything.
fn each_code_line(
    path: &str,
    text: &str,
    fault: impl Fn(&str) -> Option<String>,
) -> Vec<Violation> {
    if !is_rust(path) {
        return Vec::new();
    }
    each_line(text, |line| {
        let code = line.trim_start();
        if code.starts_with("//") { None } else { fault(code) }
    })
}

fn is_rust(path: &str) -> bool {
    extension(path) == "rs"
}

/// The part of the name after its last dot.
fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `needle` occurs in `line` and is not the end or the beginning of a longer word.
fn has_word(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + needle.len()..]);
        let open = !needle.ends_with(|c: char| c.is_ascii_alphanumeric());
        !before.bytes().next_back().is_some_and(is_word)
            && (open || !after.bytes().next().is_some_and(is_word))
    })
}

/// A Rust file has one subject, and its length shows when it has two.
pub(crate) fn length(path: &str, text: &str) -> Vec<Violation> {
    let in_tests = path.split('/').any(|part| part == "tests" || part == "benches")
        || path.ends_with("/tests.rs");
    let limit = if in_tests { MAX_TEST_LINES } else { MAX_LINES };
    let lines = text.lines().count();
    if !is_rust(path) || lines <= limit {
        return Vec::new();
    }
    let message = format!("{lines} lines, the limit is {limit}: split the file");
    Vec::from([Violation { line: limit + 1, message }])
}

/// Unfinished work is finished or goes away.
pub(crate) fn leftovers(path: &str, text: &str) -> Vec<Violation> {
    if !matches!(extension(path), "rs" | "py" | "toml" | "sh") {
        return Vec::new();
    }
    each_line(text, |line| {
        let mark = LEFTOVERS.iter().find(|mark| has_word(line, mark))?;
        Some(format!("`{mark}` left behind"))
    })
}

/// A path of somebody's machine works on no other. A relative path or a URL is none.
pub(crate) fn machine_paths(_path: &str, text: &str) -> Vec<Violation> {
    each_line(text, |line| {
        let found = MACHINE_PATHS.iter().find(|path| {
            line.match_indices(**path).any(|(start, _)| {
                let before = line[..start].bytes().next_back();
                !before.is_some_and(|b| is_word(b) || b".-~*})".contains(&b))
            })
        })?;
        Some(format!("a path below `{found}` exists on one machine only"))
    })
}

/// A module is named by what it holds, not by its being left over.
pub(crate) fn junk_drawers(path: &str, text: &str) -> Vec<Violation> {
    let message = |name: &str| format!("`{name}` says nothing of what is in it");
    let mut found = each_code_line(path, text, |code| {
        let (before, name) = code.split_once("mod ")?;
        let name = name.trim_end_matches([' ', ';', '{', '}']);
        let is_module = before.is_empty() || before.starts_with("pub");
        (is_module && JUNK_DRAWERS.contains(&name)).then(|| message(name))
    });
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let drawer = stem.split('/').find(|part| JUNK_DRAWERS.contains(part));
    if let Some(name) = drawer.filter(|_| matches!(extension(path), "rs" | "py")) {
        found.push(Violation { line: 1, message: message(name) });
    }
    found
}

/// Unsafe code stays where it is reviewed as such.
pub(crate) fn unsafe_in_its_place(path: &str, text: &str) -> Vec<Violation> {
    // A process changes its environment before it has threads, or not at all; the calls of its allocator
    // and of a driver are C functions.
    let places = [
        "models/src/kernels/",
        "gpu/src/driver/",
        "gpu-emulated/src/lib.rs",
        "cli/src/allocator.rs",
        "cli/src/train.rs",
    ];
    if places.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    let word = "unsafe";
    each_code_line(path, text, |code| {
        let is_code = code.match_indices(word).any(|(start, _)| {
            let after = &code[start + word.len()..];
            let opens = ["{", "(", " {", " fn ", " impl", " extern", " trait "];
            !code[..start].bytes().next_back().is_some_and(is_word)
                && opens.iter().any(|open| after.starts_with(open))
        });
        is_code.then(|| {
            "unsafe code belongs in models/src/kernels, gpu/src/driver, cli/src/allocator.rs or cli/src/train.rs"
                .to_owned()
        })
    })
}

/// A feature changes what runs, so only the two places with a choice to make ask for one.
pub(crate) fn features_in_their_place(path: &str, text: &str) -> Vec<Violation> {
    let places = ["models/src/kernels", "models/src/attention"];
    if places.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    each_code_line(path, text, |code| {
        code.contains("feature = \"").then(|| {
            "a cargo feature is asked for only in models/src/kernels and models/src/attention"
                .to_owned()
        })
    })
}

/// An expectation that no longer holds is reported by the compiler; a permission is not.
pub(crate) fn no_allow(path: &str, text: &str) -> Vec<Violation> {
    each_code_line(path, text, |code| {
        [concat!("#[al", "low("), concat!("#![al", "low(")]
            .iter()
            .any(|allow| code.contains(allow))
            .then(|| "write #[expect(lint, reason = \"…\")] instead".to_owned())
    })
}

/// A test that does not run says why.
pub(crate) fn ignored_with_reason(path: &str, text: &str) -> Vec<Violation> {
    let (ignore, reason) = (concat!("#[ig", "nore"), " = \"");
    each_code_line(path, text, |code| {
        let after = &code[code.find(ignore)? + ignore.len()..];
        let says_why = after.strip_prefix(reason).is_some_and(|r| !r.starts_with('"'));
        (!says_why).then(|| "an ignored test needs a reason".to_owned())
    })
}

/// Configuration is resolved once; nothing else depends on the environment.
pub(crate) fn environment_read_once(path: &str, text: &str) -> Vec<Violation> {
    // A build script has no other settings.
    let places = ["serve/src/config", "xtask/", "tests/", "gpu/build.rs"];
    if places.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    each_code_line(path, text, |code| {
        let call = ENVIRONMENT.iter().find(|call| code.contains(**call))?;
        let call = call.trim_end_matches('(');
        Some(format!("`{call}` belongs in serve/src/config"))
    })
}

/// One thread owns an engine's state and everything else holds a handle: there is nothing to lock.
pub(crate) fn engine_has_no_lock(path: &str, text: &str) -> Vec<Violation> {
    if !path.starts_with("engine/src/") {
        return Vec::new();
    }
    each_code_line(path, text, |code| {
        let locks = ["Mutex", "RwLock", "Atomic", "thread::sleep"];
        let lock = locks.iter().find(|lock| code.contains(**lock))?;
        Some(format!("`{lock}` has no place in the engine"))
    })
}

/// Text that every editor and diff shows alike. Recorded data is kept as it was recorded.
pub(crate) fn plain_text(path: &str, text: &str) -> Vec<Violation> {
    let is_data = matches!(extension(path), "csv" | "jsonl" | "snap" | "svg")
        || path.split('/').any(|part| part == "fixtures")
        || path.starts_with("fuzz/corpus/");
    if is_data || text.is_empty() {
        return Vec::new();
    }
    // Not `lines()`, which takes a carriage return for a part of the line end.
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    let mut found: Vec<Violation> = (1..)
        .zip(lines)
        .filter_map(|(line, content)| {
            let message = unlike_plain(content, is_rust(path))?.to_owned();
            Some(Violation { line, message })
        })
        .collect();
    if !text.ends_with('\n') {
        found.push(Violation {
            line: text.lines().count(),
            message: "no newline at the end of the file".to_owned(),
        });
    }
    found
}

fn unlike_plain(line: &str, rust: bool) -> Option<&'static str> {
    if line.ends_with('\r') {
        Some("a carriage return at the end of the line")
    } else if line.ends_with(|c: char| c.is_whitespace()) {
        Some("white space at the end of the line")
    } else if rust && line.contains('\t') {
        Some("a tab")
    } else {
        None
    }
}

/// Runs `rule` and compares the numbers of the lines it objects to.
#[track_caller]
fn check(rule: crate::Rule, path: &str, text: &str, expected: &[usize]) {
    let found = rule(path, text);
    let lines: Vec<usize> = found.iter().map(|v| v.line).collect();
    assert_eq!(lines, expected, "{path}: {text:?}: {found:?}");
}

#[test]
fn long_files_are_caught() {
    let of = |n| "x\n".repeat(n);
    check(length, "engine/src/lib.rs", &of(600), &[]);
    check(length, "engine/src/lib.rs", &of(601), &[601]);
    check(length, "engine/src/lib/tests.rs", &of(900), &[]);
    check(length, "engine/src/lib/tests.rs", &of(901), &[901]);
    check(length, "engine/src/tests/a.rs", &of(900), &[]);
    check(length, "engine/benches/a.rs", &of(900), &[]);
    check(length, "engine/src/contests.rs", &of(700), &[601]);
    check(length, "docs/guide.md", &of(2000), &[]);
}

#[test]
fn leftovers_are_caught() {
    for mark in LEFTOVERS {
        check(leftovers, "a.rs", &format!("ok\n// {mark} x"), &[2]);
        check(leftovers, "a.py", &format!("# {mark}"), &[1]);
        check(leftovers, "Cargo.toml", &format!("# {mark}: x"), &[1]);
        check(leftovers, "a.md", mark, &[]);
    }
    check(leftovers, "a.rs", concat!("XX", "XX and MX", "XX"), &[]);
    check(leftovers, "a.rs", concat!("TO", "DOS"), &[]);
    check(leftovers, "a.rs", concat!("let to", "do = 1;"), &[]);
}

#[test]
fn machine_paths_are_caught() {
    for path in MACHINE_PATHS {
        for start in ["", "\"", "file://", "see ", "=", "("] {
            check(machine_paths, "a.md", &format!("{start}{path}x"), &[1]);
        }
        for start in ["https://example.org", "$DIR", "..", "~"] {
            check(machine_paths, "a.md", &format!("{start}{path}x"), &[]);
        }
        check(machine_paths, "a.md", path.trim_end_matches('/'), &[]);
    }
}

#[test]
fn junk_drawers_are_caught() {
    for name in JUNK_DRAWERS {
        check(junk_drawers, "a.rs", &format!("mod {name};"), &[1]);
        check(junk_drawers, "a.rs", &format!("\npub(crate) mod {name} {{"), &[2]);
        check(junk_drawers, "a.rs", &format!("    pub mod {name};"), &[1]);
        check(junk_drawers, "a.rs", &format!("// the mod {name};"), &[]);
        check(junk_drawers, "a.rs", &format!("mod {name}_of_text;"), &[]);
        check(junk_drawers, &format!("a/{name}.rs"), "", &[1]);
        check(junk_drawers, &format!("tests/{name}/mod.rs"), "", &[1]);
        check(junk_drawers, &format!("docs/{name}.md"), "", &[]);
    }
}

#[test]
fn unsafe_code_is_caught() {
    for code in [
        concat!("let x = un", "safe { *p };"),
        concat!("pub un", "safe fn f() {"),
        concat!("un", "safe impl Send for X {}"),
        concat!("#[un", "safe(no_mangle)]"),
    ] {
        check(unsafe_in_its_place, "engine/src/lib.rs", code, &[1]);
        check(unsafe_in_its_place, "models/src/ops.rs", code, &[1]);
        check(unsafe_in_its_place, "models/src/kernels/gemm.rs", code, &[]);
        check(unsafe_in_its_place, "gpu/src/driver/context.rs", code, &[]);
        check(unsafe_in_its_place, "gpu/src/open.rs", code, &[1]);
        check(unsafe_in_its_place, "models/src/weights.rs", code, &[1]);
        check(unsafe_in_its_place, "cli/src/train.rs", code, &[]);
        check(unsafe_in_its_place, "cli/src/allocator.rs", code, &[]);
    }
    for text in ["label: unsafe", concat!("// un", "safe { *p }"), "#![forbid(unsafe_code)]"] {
        check(unsafe_in_its_place, "engine/src/lib.rs", text, &[]);
    }
}

#[test]
fn features_are_caught() {
    let ask = concat!("#[cfg(feat", "ure = \"cuda\")]");
    let any = concat!("    feat", "ure = \"cuda\",");
    for line in [ask, any] {
        check(features_in_their_place, "serve/src/lib.rs", line, &[1]);
        check(features_in_their_place, "models/src/lib.rs", line, &[1]);
        check(features_in_their_place, "models/src/kernels/a.rs", line, &[]);
        check(features_in_their_place, "models/src/attention.rs", line, &[]);
    }
    check(features_in_their_place, "serve/src/lib.rs", "#[cfg(test)]", &[]);
}

#[test]
fn permissions_are_caught() {
    check(no_allow, "a.rs", concat!("#[al", "low(dead_code)]"), &[1]);
    check(no_allow, "a.rs", concat!("\n#![al", "low(dead_code)]"), &[2]);
    check(no_allow, "a.rs", "#[expect(dead_code, reason = \"x\")]", &[]);
    check(no_allow, "a.md", concat!("#[al", "low(dead_code)]"), &[]);
}

#[test]
fn silent_ignores_are_caught() {
    let ignore = concat!("#[ig", "nore");
    for (rest, expected) in [("]", &[1][..]), (" = \"\"]", &[1]), (" = \"needs a GPU\"]", &[])] {
        let line = format!("    {ignore}{rest}");
        check(ignored_with_reason, "a.rs", &line, expected);
    }
}

#[test]
fn environment_reads_are_caught() {
    for call in ENVIRONMENT {
        let line = format!("let x = std::{call}\"HOME\")");
        check(environment_read_once, "serve/src/lib.rs", &line, &[1]);
        check(environment_read_once, "cli/src/main.rs", &line, &[1]);
        check(environment_read_once, "serve/src/config/env.rs", &line, &[]);
        check(environment_read_once, "serve/src/config.rs", &line, &[]);
        check(environment_read_once, "xtask/src/main.rs", &line, &[]);
        check(environment_read_once, "serve/src/lib.rs", &format!("// {line}"), &[]);
    }
    let compile_time = "env!(\"CARGO_MANIFEST_DIR\")";
    check(environment_read_once, "serve/src/lib.rs", compile_time, &[]);
}

#[test]
fn locks_are_found_in_the_engine_alone() {
    let lock = "use std::sync::Mutex;\n";
    check(engine_has_no_lock, "engine/src/handle.rs", lock, &[1]);
    check(engine_has_no_lock, "serve/src/state.rs", lock, &[]);
    check(engine_has_no_lock, "engine/src/handle.rs", "use tokio::sync::Semaphore;\n", &[]);
}

#[test]
fn odd_text_is_caught() {
    check(plain_text, "a.md", "", &[]);
    check(plain_text, "a.md", "a\n\nb\n", &[]);
    check(plain_text, "a.md", "a\nb", &[2]);
    check(plain_text, "a.md", "a \nb\n", &[1]);
    check(plain_text, "a.md", "a\n\t\nb\n", &[2]);
    check(plain_text, "a.md", "a\r\nb\r\n", &[1, 2]);
    check(plain_text, "a.rs", "a\n\tb\n", &[2]);
    check(plain_text, "a.md", "a\n\tb\n", &[]);
    check(plain_text, "tests/fixtures/a.txt", "a \r\nb", &[]);
    check(plain_text, "a.jsonl", "{} ", &[]);
}
