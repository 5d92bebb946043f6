//! Programs of every language whose tool is installed, with and without namespaces.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{
    Ending, Floor, Language, Limits, Loaded, Report, Rung, Sandbox, SandboxConfig, SandboxError,
    Session, Test,
};

/// Sandboxes with namespaces and without.
fn places() -> Vec<(&'static str, Sandbox)> {
    let found = Command::new("python3").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return Vec::new();
    }
    let config = SandboxConfig { slots: 1, floor: Floor::Limits, ..SandboxConfig::default() };
    let rungs = vec![Rung::Limits, Rung::Seccomp, Rung::Landlock];
    vec![
        ("all rungs", Sandbox::new(config.clone())),
        ("no namespaces", Sandbox::new(SandboxConfig { rungs, ..config })),
    ]
}

fn limits() -> Limits {
    Limits { memory_bytes: 512 << 20, ..Limits::with_cpu(Duration::from_secs(5)) }
}

/// Runs `work` in a slot and waits for what it returns.
fn in_slot<T: Send + 'static>(
    sandbox: &Sandbox,
    work: impl FnOnce(&mut Session<'_>) -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    let ticket = sandbox.submit(move |session| send.send(work(session)).expect("the test listens"));
    let _ticket = ticket.expect("room");
    receive.recv().expect("the slot answers")
}

/// What became of a program for these inputs; `None` where its tool is not installed or not open to
/// the sandbox's user.
fn run(
    sandbox: &Sandbox,
    language: Language,
    source: &str,
    inputs: &'static [&'static str],
) -> Option<Result<Vec<Report>, String>> {
    let program = language.program(source);
    if let Err(SandboxError::MissingTool { .. }) = program {
        println!("skipped: {} is not installed", language.name());
        return None;
    }
    let program = program.expect("its tool is there").expect("it is not Python");
    in_slot(sandbox, move |session| {
        let loaded = session.load_native(&program, limits());
        if let Err(SandboxError::UnusableTool(tool)) = loaded {
            println!("skipped: {tool} is not open to others");
            return None;
        }
        if let Loaded::NotCompiled(why) = loaded.expect("the sandbox works here") {
            return Some(Err(why));
        }
        let test = |stdin: &&str| {
            let test = Test::Program { stdin: (*stdin).to_owned() };
            session.run_native(&test).expect("the sandbox works here")
        };
        Some(Ok(inputs.iter().map(test).collect()))
    })
}

const SUMS: &[(Language, &str)] = &[
    (
        Language::C,
        "#include <stdio.h>\nint main(void) { long a, b; scanf(\"%ld %ld\", &a, &b); printf(\"%ld\\n\", a + b); }",
    ),
    (
        Language::Cpp,
        "#include <bits/stdc++.h>\nint main() { std::vector<long> v(2); for (auto &x : v) std::cin >> x; std::cout << v[0] + v[1] << std::endl; }",
    ),
    (
        Language::JavaScript,
        "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number); console.log(a + b);",
    ),
    (Language::Bash, "read a b; printf '%s\\n' \"$(echo $((a + b)) | cat)\" 2>/dev/null"),
    (
        Language::Rust,
        "fn main() { let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap(); println!(\"{}\", s.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum::<i64>()); }",
    ),
];

#[test]
fn programs_of_every_language_run() {
    for (place, sandbox) in places() {
        for (language, source) in SUMS {
            let Some(reports) = run(&sandbox, *language, source, &["1 2\n", "20 22\n"]) else {
                continue;
            };
            let reports = reports.unwrap_or_else(|why| panic!("{place}: {language:?}: {why}"));
            let seen: Vec<_> = reports
                .iter()
                .map(|report| {
                    (String::from_utf8_lossy(&report.stdout).into_owned(), report.ending(&limits()))
                })
                .collect();
            let right =
                [("3\n".to_owned(), Ending::Finished), ("42\n".to_owned(), Ending::Finished)];
            assert_eq!(seen, right, "{place}: {language:?}: {reports:?}");
        }
    }
}

#[test]
fn texts_that_are_no_program_are_named_by_their_tool() {
    for (place, sandbox) in places() {
        for (language, source, expected) in [
            (Language::C, "int main(void) { return x; }", "'x' undeclared"),
            (Language::Cpp, "int main() { return \"\"; }", "invalid conversion"),
            (Language::JavaScript, "let x = ;", "SyntaxError"),
            (Language::Bash, "if true; then", "syntax error"),
            (Language::Rust, "fn main() { x }", "cannot find value"),
            (Language::C, "#include \"/etc/shadow\"\nint main(void) {}", "No such file"),
        ] {
            match run(&sandbox, language, source, &[]) {
                None => {}
                Some(Err(why)) => {
                    let why = why.replace(['‘', '’'], "'");
                    let is_named = why.contains(expected) || why.contains("Permission denied");
                    assert!(is_named, "{place}: {language:?}: {why}");
                }
                Some(Ok(_)) => panic!("{place}: {language:?} compiled {source}"),
            }
        }
    }
}
