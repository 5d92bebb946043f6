//! Verdicts of real submissions, and attacks, each contained and scored wrong.
//!
//! Every attack is run as the user of the test and, by root, as an ordinary user, with and without
//! namespaces, and as in a container of Docker's (`container.py`). An attack is given the output that it prints when it succeeds as the expected one:
//! `ok` is an escape. [`holes`] takes rungs away and finds that the matching attacks succeed.

mod attacks;
mod compiled_again;
mod formats;
mod languages;
mod lp;
mod throughput;
mod unit_tests;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{Floor, Language, Limits, Rung, Sandbox, SandboxConfig};
use serde_json::{Value, json};
use verifiers::Gold;
use verifiers::code::{CodePolicy, CodeResult, CodeVerdict, JudgeError, Task, judge};

/// A sandbox, and in words how it runs.
struct Place {
    name: String,
    sandbox: Sandbox,
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: there is no python3");
    }
    found
}

fn policy() -> CodePolicy {
    let cpu = Duration::from_millis(250);
    let limits = Limits {
        wall: Duration::from_millis(1500),
        memory_bytes: 512 << 20,
        ..Limits::with_cpu(cpu)
    };
    CodePolicy { limits, stop_early: false, ..CodePolicy::default() }
}

fn task(reference: &Value) -> Task {
    Task::read(Gold::Object(reference.as_object().expect("an object"))).expect("a task")
}

fn verdict(
    sandbox: &Sandbox,
    source: &str,
    reference: &Value,
    policy: CodePolicy,
) -> Result<CodeResult, JudgeError> {
    verdict_in(sandbox, Language::Python, source, reference, policy)
}

fn verdict_in(
    sandbox: &Sandbox,
    language: Language,
    source: &str,
    reference: &Value,
    policy: CodePolicy,
) -> Result<CodeResult, JudgeError> {
    let (send, receive) = mpsc::channel();
    let (source, task) = (source.to_owned(), task(reference));
    let ticket = sandbox.submit(move |session| {
        send.send(judge(&source, language, &task, &policy, session)).expect("the test listens");
    });
    let _ticket = ticket.expect("room");
    receive.recv().expect("the slot answers")
}

fn place(name: &str, python: &Path, rungs: &[Rung]) -> Place {
    let config = SandboxConfig {
        python: python.to_owned(),
        rungs: rungs.to_vec(),
        slots: 1,
        floor: Floor::Limits,
        ..SandboxConfig::default()
    };
    Place { name: name.to_owned(), sandbox: Sandbox::new(config) }
}

/// A program that starts the interpreter in another way; `None` where this user cannot.
fn started_by(folder: &Path, name: &str, text: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("its mode");
    let works = Command::new(&path).args(["-c", "pass"]).output();
    works.is_ok_and(|output| output.status.success()).then_some(path)
}

/// The interpreter as an ordinary user. One below a private home cannot be read by others.
fn ordinary_user(folder: &Path) -> Option<PathBuf> {
    let text = "#!/bin/sh\nexec setpriv --reuid 65500 --regid 65500 --clear-groups \
                /usr/bin/python3 \"$@\"\n";
    started_by(folder, "python-as-user", text)
}

/// The interpreter under the limits of Docker's defaults.
fn in_container(folder: &Path) -> Option<PathBuf> {
    started_by(folder, "python-in-container", include_str!("container.py"))
}

/// This user and an ordinary one, with and without namespaces, and a container.
fn places(folder: &Path) -> Vec<Place> {
    const NO_NAMESPACES: &[Rung] = &[Rung::Limits, Rung::Seccomp, Rung::Landlock];
    let mut places = Vec::new();
    let own = Some(PathBuf::from("python3"));
    for (user, python) in [("this user", own), ("ordinary user", ordinary_user(folder))] {
        let Some(python) = python else {
            println!("skipped: no {user}");
            continue;
        };
        places.push(place(user, &python, &Rung::ALL));
        places.push(place(&format!("{user}, no namespaces"), &python, NO_NAMESPACES));
    }
    match in_container(folder) {
        Some(python) => places.push(place("container", &python, &Rung::ALL)),
        None => println!("skipped: no container"),
    }
    places
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of submissions and their verdicts")]
fn verdicts_name_what_happened() {
    use CodeVerdict::{
        CompileError, MemoryLimit, Ok, OutputLimit, RuntimeError, TimeLimitCpu, TimeLimitWall,
        WrongAnswer,
    };
    if !has_python() {
        return;
    }
    let Place { sandbox, .. } = place("", Path::new("python3"), &Rung::ALL);
    let sum =
        json!({"tests": [{"stdin": "1 2\n", "stdout": "3"}, {"stdin": "5 5\n", "stdout": "10"}]});
    let call = json!({"function": "f", "tests": [
        {"args": [[3, 1, 2]], "expected": [1, 2, 3]}, {"args": [[]], "expected": []}]});
    let human = json!({"prompt": "def f(x):\n", "entry_point": "f",
        "test": "def check(candidate):\n    assert candidate(1) == 2\n    assert abs(candidate(2) - 3) < 1e-6\n"});
    let mbpp = json!({"test_list": ["assert f(1) == 2", "assert f((1, 2)) == (2, 3)",
        "assert math.isclose(f(1.5), 2.5)"]});
    let unit = json!({"unit_tests": "import unittest\nfrom solution import Stack\n\
        class TestStack(unittest.TestCase):\n    def test_push(self):\n        s = Stack()\n        \
        s.push(4)\n        self.assertEqual(s.items, [4])\n    def test_pop(self):\n        \
        with self.assertRaises(IndexError):\n            Stack().pop()\n"});
    let sorting = json!({"function": "f", "tests": [
        {"args": [[2, 1]], "expected": [1, 2], "in_place": true}]});
    for (source, reference, expected, passed) in [
        ("a, b = map(int, input().split()); print(a + b)", &sum, Ok, 2),
        (
            "import sys\ndef main():\n    print(sum(map(int, sys.stdin.read().split())))\nif __name__ == '__main__':\n    main()",
            &sum,
            Ok,
            2,
        ),
        (
            "import threading\nt = threading.Thread(target=lambda: print(sum(map(int, input().split()))))\nt.start()",
            &sum,
            Ok,
            2,
        ),
        ("print(3)", &sum, WrongAnswer, 1),
        ("print(sum(map(int, input().split()))); exit(0)", &sum, Ok, 2),
        ("print(sum(map(int, input().split()))); exit(1)", &sum, RuntimeError, 0),
        ("print(", &sum, CompileError, 0),
        // What is done to oneself is allowed.
        ("import os; os.abort()", &sum, RuntimeError, 0),
        (
            "import os, resource as r\nr.prlimit(os.getpid(), r.RLIMIT_NOFILE, (64, 64))\nos.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))\nr.setrlimit(r.RLIMIT_NOFILE, (32, 32))\nos.sched_setaffinity(0, os.sched_getaffinity(0))\nprint(sum(map(int, input().split())))",
            &sum,
            Ok,
            2,
        ),
        ("while True: pass", &sum, TimeLimitCpu, 0),
        // Its limit of CPU time stays, so that the kernel never kills it in the worker's place.
        (
            "import resource as r\ntry:\n    r.setrlimit(r.RLIMIT_CPU, (1, 1))\nexcept (OSError, ValueError): pass\nwhile True: pass",
            &sum,
            TimeLimitCpu,
            0,
        ),
        (
            "import os, resource as r\ntry:\n    r.prlimit(os.getpid(), r.RLIMIT_CPU, (0, 1))\nexcept (OSError, ValueError): pass\nwhile True: pass",
            &sum,
            TimeLimitCpu,
            0,
        ),
        ("import resource as r\nr.setrlimit(r.RLIMIT_CPU, (1, 1))", &sum, RuntimeError, 0),
        (
            "import resource as r\nassert r.getrlimit(r.RLIMIT_CPU)[1] > 0 and r.prlimit(0, r.RLIMIT_CPU)[1] > 0\nr.setrlimit(r.RLIMIT_STACK, (1 << 20, 1 << 20))\nprint(sum(map(int, input().split())))",
            &sum,
            Ok,
            2,
        ),
        ("import time; time.sleep(60)", &sum, TimeLimitWall, 0),
        ("x = [0] * (1 << 28)", &sum, MemoryLimit, 0),
        ("print('x' * 3_000_000)", &sum, OutputLimit, 0),
        ("for _ in range(100): print('x' * (1 << 20))", &sum, OutputLimit, 0),
        ("\u{0}\u{1}\u{ff}binary \u{7f}ELF", &sum, CompileError, 0),
        ("", &sum, WrongAnswer, 0),
        ("def f(x): return sorted(x)", &call, Ok, 2),
        ("class Solution:\n    def f(self, x): return tuple(sorted(x))", &call, Ok, 2),
        ("def f(x): return x", &call, WrongAnswer, 1),
        ("def g(x): return x", &call, RuntimeError, 0),
        ("def f(x): x.sort()", &sorting, Ok, 1),
        ("    return x + 1\n", &human, Ok, 1),
        ("def f(x):\n    return x + 1\n", &human, Ok, 1),
        ("def f(x):\n    return 2\n", &human, WrongAnswer, 0),
        (
            "def f(x):\n    return tuple(i + 1 for i in x) if isinstance(x, tuple) else x + 1",
            &mbpp,
            Ok,
            3,
        ),
        ("def f(x): return x + 1", &mbpp, RuntimeError, 2),
        (
            "class Stack:\n    def __init__(self): self.items = []\n    def push(self, x): self.items.append(x)\n    def pop(self): return self.items.pop()",
            &unit,
            Ok,
            2,
        ),
        (
            "class Stack:\n    def __init__(self): self.items = []\n    def push(self, x): pass\n    def pop(self): return self.items.pop()",
            &unit,
            WrongAnswer,
            1,
        ),
    ] {
        let mut policy = policy();
        if expected == TimeLimitWall {
            policy.limits.wall = Duration::from_millis(300);
        }
        policy.stop_early = matches!(expected, TimeLimitCpu | TimeLimitWall | OutputLimit);
        let result = verdict(&sandbox, source, reference, policy).expect("the sandbox works here");
        assert_eq!((result.verdict, result.passed), (expected, passed), "{source}\n{result:?}");
    }
}

/// Tests that no response could pass say nothing of one, and no response can make tests look so.
#[test]
fn broken_tests_are_no_verdict() {
    if !has_python() {
        return;
    }
    let Place { sandbox, .. } = place("", Path::new("python3"), &Rung::ALL);
    let asserts = ["assert f(1) == 2"];
    for (reference, expected) in [
        (json!({"test_list": ["assert f(1) == 2", "assert f(2) == "]}), "SyntaxError"),
        (json!({"test_list": asserts, "test_imports": ["import"]}), "SyntaxError"),
        (json!({"test_list": asserts, "test_setup_code": "import not_a_module"}), "not_a_module"),
        (json!({"test_list": asserts, "test_setup_code": "import os.no_part"}), "no_part"),
        (json!({"test_list": asserts, "test_setup_code": "from math import no_name"}), "no_name"),
    ] {
        for source in ["def f(x): return x + 1", "exit(0)", "import os\nos.fork()"] {
            let result = verdict(&sandbox, source, &reference, policy());
            let error = result.map(|result| result.verdict).map_err(|error| error.to_string());
            let is_named = error.as_ref().is_err_and(|why| why.contains(expected));
            assert!(is_named, "{reference} {source}\n{error:?}");
        }
    }
    let good = json!({"modules": ["main"], "test_code": "import json, unittest\nfrom main import f\n\
        from json import loads\ntry:\n    import not_a_module\nexcept ImportError:\n    pass\n\
        class T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(loads('41')), 42)\n"});
    for source in [
        "def f(x): return x",
        "raise ImportError('not_a_module')",
        "raise ModuleNotFoundError(\"No module named 'json'\")",
        "def f(x): raise ModuleNotFoundError(\"No module named 'json'\")",
        "def f(x): raise SyntaxError('malformed')",
        "def __getattr__(name): raise ImportError(name)",
        "import sys\nsys.modules.clear()\nsys.path.clear()",
        "import sys\nsys.modules['unittest'] = sys.modules['json'] = None\ndef f(x): return x",
        "try:\n    open('json.py', 'w').write('raise ImportError')\nexcept OSError: pass\ndef f(x): return x",
        "json = unittest = None",
        "exit(0)",
    ] {
        let result = verdict(&sandbox, source, &good, policy()).expect("the tests are good");
        assert_ne!(result.verdict, CodeVerdict::Ok, "{source}\n{result:?}");
        assert_eq!(result.passed, 0, "{source}\n{result:?}");
    }
    let right = verdict(&sandbox, "def f(x): return x + 1", &good, policy());
    assert_eq!(right.map(|result| result.verdict), Ok(CodeVerdict::Ok));
}

#[test]
fn checkers_accept_outputs() {
    if !has_python() {
        return;
    }
    let Place { sandbox, .. } = place("", Path::new("python3"), &Rung::ALL);
    // Any two numbers with the sum of the input.
    let points = "import sys\nn = int(open(sys.argv[1]).read())\nexpected = open(sys.argv[2]).read()\n\
        a, b = map(int, open(sys.argv[3], 'rb').read().split())\n\
        print('sum', 100 if a + b == n and len(expected.split()) == 2 else 0)";
    let codes = "import sys\nfrom pathlib import Path\n\
        n, e, s = (Path(name).read_text() for name in sys.argv[1:])\n\
        sys.exit(sum(map(int, s.split())) != int(n))";
    let task = |checker: &str| {
        json!({"generated_checker": checker, "official_tests": [
            {"input": "5\n", "output": "2 3\n"}, {"input": "7\n", "output": "0 7\n"}]})
    };
    for checker in [points, codes] {
        for (source, expected, passed) in [
            ("n = int(input()); print(1, n - 1)", CodeVerdict::Ok, 2),
            ("print(4, 1)", CodeVerdict::WrongAnswer, 1),
            ("print('nothing')", CodeVerdict::WrongAnswer, 0),
            ("print(); 1 / 0", CodeVerdict::RuntimeError, 0),
            // What the checker reads is out of reach.
            ("print(open('correct_output.txt').read())", CodeVerdict::RuntimeError, 0),
        ] {
            let result = verdict(&sandbox, source, &task(checker), policy());
            let found = result.as_ref().map(|result| (result.verdict, result.passed));
            assert_eq!(found, Ok((expected, passed)), "{source}\n{result:?}");
        }
    }
    // An output that brings the checker to a limit is wrong, unless that of the reference does the same.
    let lists = "import sys\nout = open(sys.argv[3]).read().split()\nn = int(out[0])\nseen = [0] * (n + 1)\n\
        while n < 0: pass\nprint(1 if n == 3 else 0)";
    let listed =
        |output: &str| json!({"checker": lists, "tests": [{"input": "", "output": output}]});
    for (source, expected) in [
        ("print(3)", CodeVerdict::Ok),
        ("print(5)", CodeVerdict::WrongAnswer),
        ("print(10 ** 11)", CodeVerdict::WrongAnswer),
        ("print(-1)", CodeVerdict::WrongAnswer),
    ] {
        let result = verdict(&sandbox, source, &listed("3\n1 2 3\n"), policy());
        let found = result.as_ref().map(|result| result.verdict);
        assert_eq!(found, Ok(expected), "{source}\n{result:?}");
        let result = verdict(&sandbox, source, &listed("100000000000\n"), policy());
        let is_judged = source == "print(3)";
        let is_bad = matches!(result, Err(JudgeError::Checker(_)));
        assert_eq!(is_bad, !is_judged, "{source}\n{result:?}");
    }
    for checker in ["print(", "print(0)", "while True: pass", "1 / 0", "import os\nos.fork()"] {
        let result = verdict(&sandbox, "print(1, 4)", &task(checker), policy());
        assert!(matches!(result, Err(JudgeError::Checker(_))), "{checker}\n{result:?}");
    }
}

/// The world that attacks try to reach: a file, a listening port, this process.
struct Bait {
    folder: tempfile::TempDir,
    listener: std::net::TcpListener,
}

/// What an attack prints that has succeeded.
const ESCAPED: &str = "escaped";

impl Bait {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let open = Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).expect("its mode");
        std::fs::write(folder.path().join("secret"), ESCAPED).expect("a file");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        Self { folder, listener }
    }

    fn attack(&self, text: &str) -> String {
        let port = self.listener.local_addr().expect("its address").port();
        text.replace("{FOLDER}", &self.folder.path().to_string_lossy())
            .replace("{PORT}", &port.to_string())
            .replace("{PID}", &std::process::id().to_string())
    }

    /// Runs an attack of `attacks::PROGRAMS`.
    fn run(&self, place: &Place, text: &str) -> Result<CodeResult, JudgeError> {
        let reference = json!({"tests": [{"stdin": "", "stdout": ESCAPED}]});
        verdict(&place.sandbox, &self.attack(text), &reference, policy())
    }
}

#[test]
fn programs_do_not_escape() {
    if !has_python() {
        return;
    }
    let bait = Bait::new();
    let mut faults = Vec::new();
    for (index, place) in places(bait.folder.path()).iter().enumerate() {
        let exhausting = if index == 0 { attacks::EXHAUSTING } else { &[] };
        let attacks = || attacks::PROGRAMS.iter().chain(exhausting);
        for (name, attack) in attacks() {
            match bait.run(place, attack) {
                Ok(result) if result.verdict != CodeVerdict::Ok => {}
                other => faults.push(format!("{}: {name}: {other:?}", place.name)),
            }
        }
        let rungs = place.sandbox.isolation().expect("a worker ran").names();
        println!("{}: {} attacks; in force: {rungs}", place.name, attacks().count());
        assert!(!bait.folder.path().join("pwned").exists(), "{}: a file was written", place.name);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn scores_are_not_forged() {
    if !has_python() {
        return;
    }
    let bait = Bait::new();
    let call = json!({"function": "f", "tests": [{"args": [41], "expected": 42}]});
    let check = json!({"entry_point": "f",
        "test": "def check(candidate):\n    assert candidate(41) == 42\n    assert 42 == candidate(41)\n"});
    let unit = json!({"unit_tests": "import unittest\nfrom solution import f\n\
        class T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(41), 42)\n        \
        self.assertIn(42, [f(41)])\n"});
    let mut faults = Vec::new();
    for (index, place) in places(bait.folder.path()).iter().enumerate() {
        let forms = [("check", &check), ("call", &call), ("unittest", &unit)];
        let forms = if index == 0 { &forms[..] } else { &forms[..1] };
        for (name, attack) in attacks::FORGERIES {
            for (form, reference) in forms.iter().copied() {
                match verdict(&place.sandbox, attack, reference, policy()) {
                    Ok(result) if result.passed == 0 && result.verdict != CodeVerdict::Ok => {}
                    other => faults.push(format!("{}: {name}, {form}: {other:?}", place.name)),
                }
            }
        }
        // The same references accept what is right.
        for reference in [&call, &check, &unit] {
            let right = verdict(&place.sandbox, "def f(x): return x + 1", reference, policy());
            assert_eq!(right.map(|result| result.verdict), Ok(CodeVerdict::Ok), "{}", place.name);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn tests_leave_nothing_for_the_next_one() {
    if !has_python() {
        return;
    }
    let bait = Bait::new();
    let twice =
        json!({"tests": [{"stdin": "", "stdout": "none"}, {"stdin": "", "stdout": "none"}]});
    for place in places(bait.folder.path()) {
        for attack in attacks::REMAINS {
            let result = verdict(&place.sandbox, attack, &twice, policy()).expect("a verdict");
            let seen = (result.verdict, result.passed);
            assert_eq!(seen, (CodeVerdict::Ok, 2), "{}: {attack}\n{result:?}", place.name);
        }
    }
}

/// An escape suite that could not fail would show nothing: without a rung its attacks succeed.
#[test]
fn holes_let_the_matching_attacks_through() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for python in [Some(PathBuf::from("python3")), in_container(folder.path())] {
        let Some(python) = python else { continue };
        // Another user may not write to the files of the one before.
        let bait = Bait::new();
        for (rungs, attacks) in [
            (&[Rung::Limits][..], &["fork", "memfd", "read a file", "tcp to loopback"][..]),
            (&[Rung::Limits, Rung::Landlock], &["fork", "memfd"]),
            (&[Rung::Limits, Rung::Seccomp], &["read a file", "list the root", "write a file"]),
        ] {
            let place = place("hole", &python, rungs);
            for name in attacks {
                let (_, attack) =
                    attacks::PROGRAMS.iter().find(|(known, _)| known == name).expect("known");
                let result = bait.run(&place, attack).expect("the sandbox works here");
                let shown = python.display();
                assert_eq!(result.verdict, CodeVerdict::Ok, "{shown}: {name} with {rungs:?}");
            }
        }
    }
}

/// Where the profile of a container refuses namespaces, every result says so, and a floor that needs
/// them runs nothing.
#[test]
fn container_works_without_namespaces_and_says_so() {
    let bait = Bait::new();
    let Some(python) = in_container(bait.folder.path()) else {
        println!("skipped: no container");
        return;
    };
    let reference = json!({"tests": [{"stdin": "", "stdout": "1"}]});
    let place = place("container", &python, &Rung::ALL);
    let result = verdict(&place.sandbox, "print(1)", &reference, policy());
    assert_eq!(result.map(|result| result.verdict), Ok(CodeVerdict::Ok));
    let isolation = place.sandbox.isolation().expect("a worker ran");
    println!("in force: {}; refused: {:?}", isolation.names(), isolation.refused);
    assert!(!isolation.rungs.contains(&Rung::Namespaces), "{isolation:?}");
    assert!(isolation.refused.iter().any(|(rung, _)| *rung == Rung::Namespaces), "{isolation:?}");
    let config = SandboxConfig { floor: Floor::All, ..place.sandbox.config().clone() };
    let result = verdict(&Sandbox::new(config), "print(1)", &reference, policy());
    let below = |error: &JudgeError| error.to_string().contains("namespaces");
    assert!(result.as_ref().is_err_and(below), "{result:?}");
}

#[test]
fn g4_pass_rates() {
    let check = |passed: usize, total: usize, expected: f64| {
        let result = CodeResult {
            verdict: CodeVerdict::WrongAnswer,
            passed,
            judged: total,
            total,
            detail: String::new(),
            cpu: Duration::ZERO,
            is_cut: false,
        };
        assert!((result.pass_rate() - expected).abs() < 1e-12, "{result:?}");
    };
    check(3, 4, 0.75);
    check(0, 0, 0.0);
}
