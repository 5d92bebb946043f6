//! Verdicts of programs that are compiled, and attacks in C.

use std::time::Duration;

use sandbox::{Language, Rung, SandboxError};
use serde_json::{Value, json};
use verifiers::code::{CodePolicy, CodeResult, CodeVerdict, JudgeError};

use super::{Bait, ESCAPED, Place, has_python, place, places, policy, verdict_in};

/// The result of a program; `None` where its tool is not installed, or not open to the sandbox's user.
fn judged(
    place: &Place,
    language: Language,
    source: &str,
    reference: &Value,
    policy: CodePolicy,
) -> Option<CodeResult> {
    let result = verdict_in(&place.sandbox, language, source, reference, policy);
    if let Err(JudgeError::Sandbox(
        error @ (SandboxError::MissingTool { .. } | SandboxError::UnusableTool(_)),
    )) = &result
    {
        println!("skipped: {error}");
        return None;
    }
    Some(result.expect("the sandbox works here"))
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn verdicts_of_compiled_programs_name_what_happened() {
    use CodeVerdict::{
        CompileError, MemoryLimit, Ok, OutputLimit, RuntimeError, TimeLimitCpu, TimeLimitWall,
        WrongAnswer,
    };
    use Language::{Bash, C, Cpp, JavaScript, Rust};
    if !has_python() {
        return;
    }
    let here = place("", std::path::Path::new("python3"), &Rung::ALL);
    let sum =
        json!({"tests": [{"stdin": "1 2\n", "stdout": "3"}, {"stdin": "5 5\n", "stdout": "10"}]});
    let call = json!({"function": "f", "tests": [
        {"args": [[3, 1, 2]], "expected": [1, 2, 3]}, {"args": [["b", "é"]], "expected": ["b", "é"]}]});
    for (language, source, reference, expected, passed) in [
        (
            C,
            "#include <stdio.h>\nint main(void){int a,b;scanf(\"%d%d\",&a,&b);printf(\"%d\",a+b);}",
            &sum,
            Ok,
            2,
        ),
        (C, "#include <stdio.h>\nint main(void){puts(\"3\");}", &sum, WrongAnswer, 1),
        (C, "int main(void){return 3;}", &sum, RuntimeError, 0),
        (C, "#include <stdlib.h>\nint main(void){abort();}", &sum, RuntimeError, 0),
        (C, "int main(void){volatile int *p=0;*p=1;}", &sum, RuntimeError, 0),
        (C, "int main(void){for(volatile int i=0;;i++);}", &sum, TimeLimitCpu, 0),
        (C, "#include <unistd.h>\nint main(void){sleep(60);}", &sum, TimeLimitWall, 0),
        (
            C,
            "#include <stdlib.h>\n#include <string.h>\nint main(void){for(;;)memset(malloc(1<<20),1,1<<20);}",
            &sum,
            MemoryLimit,
            0,
        ),
        (
            C,
            "#include <stdio.h>\nint main(void){for(int i=0;i<3000000;i++)putchar('x');}",
            &sum,
            OutputLimit,
            0,
        ),
        (C, "int main(void){", &sum, CompileError, 0),
        (C, "", &sum, CompileError, 0),
        (
            Cpp,
            "#include <iostream>\nint main(){int a,b;std::cin>>a>>b;std::cout<<a+b;}",
            &sum,
            Ok,
            2,
        ),
        (
            Cpp,
            "#include <stdexcept>\nint main(){throw std::runtime_error(\"x\");}",
            &sum,
            RuntimeError,
            0,
        ),
        (
            Rust,
            "fn main(){let mut s=String::new();std::io::stdin().read_line(&mut s).unwrap();let t:i32=s.split_whitespace().map(|x|x.parse::<i32>().unwrap()).sum();println!(\"{t}\");}",
            &sum,
            Ok,
            2,
        ),
        (Rust, "fn main(){panic!()}", &sum, RuntimeError, 0),
        (Bash, "read a b; echo $((a + b)) | cat", &sum, Ok, 2),
        (Bash, "exit 4", &sum, RuntimeError, 0),
        (JavaScript, "const f = (x) => x.sort();", &call, Ok, 2),
        (JavaScript, "class Solution { f(x) { return [...x].sort(); } }", &call, Ok, 2),
        (JavaScript, "function f(x) { return x; }", &call, WrongAnswer, 1),
        (JavaScript, "function g(x) { return x; }", &call, RuntimeError, 0),
        (
            JavaScript,
            "JSON.stringify = () => '[1]'; function f(x) { return { equals: () => true }; }",
            &call,
            WrongAnswer,
            0,
        ),
        (
            JavaScript,
            "const t = require('fs').readFileSync(0, 'utf8').split(' '); console.log(+t[0] + +t[1]);",
            &sum,
            Ok,
            2,
        ),
        (
            JavaScript,
            "require('child_process').execSync('echo 3');",
            &sum,
            CodeVerdict::Security,
            0,
        ),
    ] {
        let mut policy = policy();
        policy.limits.cpu = Duration::from_secs(2);
        policy.limits.wall = Duration::from_secs(5);
        if expected == TimeLimitCpu {
            policy.limits.cpu = Duration::from_millis(250);
        } else if expected == TimeLimitWall {
            policy.limits.wall = Duration::from_millis(300);
        }
        policy.stop_early = !matches!(expected, Ok | WrongAnswer);
        let Some(result) = judged(&here, language, source, reference, policy) else { continue };
        assert_eq!((result.verdict, result.passed), (expected, passed), "{source}\n{result:?}");
    }
}

#[test]
fn checkers_accept_outputs_of_compiled_programs() {
    if !has_python() {
        return;
    }
    let here = place("", std::path::Path::new("python3"), &Rung::ALL);
    let task = json!({
        "generated_checker": "import sys\nn, e, s = (open(name).read() for name in sys.argv[1:])\nsys.exit(sum(map(int, s.split())) != int(n))",
        "official_tests": [{"input": "5\n", "output": "2 3\n"}, {"input": "7\n", "output": "0 7\n"}]});
    let source = "#include <stdio.h>\nint main(void){int n;scanf(\"%d\",&n);printf(\"1 %d\",n-1);}";
    if let Some(result) = judged(&here, Language::C, source, &task, policy()) {
        assert_eq!((result.verdict, result.passed), (CodeVerdict::Ok, 2), "{result:?}");
    }
}

/// Programs in C that print `escaped` if they reach what they may not.
const ATTACKS: &[(&str, &str)] = &[
    ("raw fork", "if (syscall(SYS_fork) == 0) _exit(0); puts(\"escaped\");"),
    ("fork", "if (fork() == 0) _exit(0); puts(\"escaped\");"),
    ("vfork", "if (vfork() == 0) _exit(0); puts(\"escaped\");"),
    ("fork bomb", "for (int i = 0; i < 100; i++) if (fork() == 0) _exit(0); puts(\"escaped\");"),
    (
        "fork and outlive",
        "if (fork() == 0) { setsid(); if (fork() == 0) { sleep(1); } _exit(0); } puts(\"escaped\");",
    ),
    ("raw clone", "if (syscall(SYS_clone, 17, 0, 0, 0, 0) == 0) _exit(0); puts(\"escaped\");"),
    ("exec", "execl(\"/bin/echo\", \"echo\", \"escaped\", (char *)0);"),
    (
        "exec at every page",
        "for (long p = 4096; p < 1L << 20; p += 4096) syscall(SYS_execve, p, 0, 0); puts(\"escaped\");",
    ),
    ("system", "if (system(\"echo escaped\") == 0) puts(\"escaped\");"),
    ("popen", "char b[9] = \"\"; fgets(b, 9, popen(\"echo escaped\", \"r\")); puts(b);"),
    ("ptrace", "if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) puts(\"escaped\");"),
    ("attach to the parent", "if (ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0) puts(\"escaped\");"),
    (
        "memory of the parent",
        "char b[8]; struct iovec v = {b, 8}; process_vm_readv(getppid(), &v, 1, &v, 1, 0); puts(\"escaped\");",
    ),
    ("signal to the parent", "if (kill(getppid(), 0) == 0) puts(\"escaped\");"),
    (
        "stop the parent",
        "if (syscall(SYS_tgkill, getppid(), getppid(), SIGSTOP) == 0) puts(\"escaped\");",
    ),
    (
        "limit of the parent",
        "struct rlimit r = {900, 900}; if (prlimit(getppid(), RLIMIT_CPU, &r, 0) == 0) puts(\"escaped\");",
    ),
    (
        "processors of the parent",
        "cpu_set_t c; sched_getaffinity(0, sizeof c, &c); if (sched_setaffinity(getppid(), sizeof c, &c) == 0) puts(\"escaped\");",
    ),
    ("signal to all", "if (kill(-1, 0) == 0) puts(\"escaped\");"),
    (
        "read a file",
        "int f = open(\"{FOLDER}/secret\", O_RDONLY); char b[9] = \"\"; read(f, b, 7); puts(b);",
    ),
    (
        "write outside",
        "if (open(\"{FOLDER}/pwned\", O_CREAT | O_WRONLY, 0666) >= 0) puts(\"escaped\");",
    ),
    (
        "write beside",
        "if (open(\"../pwned\", O_CREAT | O_WRONLY, 0666) >= 0 && chdir(\"/tmp\") == 0 && open(\"pwned\", O_CREAT | O_WRONLY, 0666) >= 0) puts(\"escaped\");",
    ),
    (
        "symbolic link",
        "symlink(\"{FOLDER}/secret\", \"l\"); int f = open(\"l\", O_RDONLY); char b[9] = \"\"; read(f, b, 7); puts(b);",
    ),
    ("password file", "if (open(\"/etc/passwd\", O_RDONLY) >= 0) puts(\"escaped\");"),
    (
        "processes",
        "if (opendir(\"/proc/1\") || fopen(\"/proc/self/status\", \"r\")) puts(\"escaped\");",
    ),
    (
        "every descriptor",
        "char b[64]; for (int i = 3; i < 512; i++) if (fcntl(i, F_GETFD) >= 0 && pread(i, b, 64, 0) >= 0) puts(\"escaped\");",
    ),
    (
        "sockets among the descriptors",
        "struct stat s; for (int i = 0; i < 512; i++) if (fstat(i, &s) == 0 && S_ISSOCK(s.st_mode)) puts(\"escaped\");",
    ),
    (
        "environment",
        "extern char **environ; for (char **e = environ; *e; e++) if (strstr(*e, \"CARGO\")) puts(\"escaped\");",
    ),
    ("arguments", "if (argc > 1 || strstr(argv[0], \"escaped\")) puts(\"escaped\");"),
    ("socket", "if (socket(AF_INET, SOCK_STREAM, 0) >= 0) puts(\"escaped\");"),
    ("unix socket", "if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) puts(\"escaped\");"),
    ("io_uring", "char b[120] = {0}; if (syscall(425, 4, b) >= 0) puts(\"escaped\");"),
    ("unshare", "if (syscall(SYS_unshare, 0x10000000) == 0) puts(\"escaped\");"),
    ("mount", "if (syscall(SYS_mount, \"x\", \"/\", \"tmpfs\", 0, 0) == 0) puts(\"escaped\");"),
    ("memfd", "if (syscall(SYS_memfd_create, \"x\", 0) >= 0) puts(\"escaped\");"),
    ("become root", "if (setuid(0) == 0 && getuid() == 0) puts(\"escaped\");"),
    (
        "raise a limit",
        "struct rlimit r = {-1, -1}; if (setrlimit(RLIMIT_AS, &r) == 0) puts(\"escaped\");",
    ),
    ("memory", "char *p = malloc(2L << 30); if (p) { memset(p, 1, 2L << 30); puts(\"escaped\"); }"),
    (
        "shared memory",
        "char *p = mmap(0, 2L << 30, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); if (p != MAP_FAILED) puts(\"escaped\");",
    ),
    (
        "write oneself",
        "int f = open(\"main\", O_WRONLY | O_CREAT | O_TRUNC, 0777); if (f >= 0 && execl(\"main\", \"main\", (char *)0) == 0) puts(\"escaped\");",
    ),
    ("pass mark", "puts(\"PASSED\\nOK\\n1 passed\\nAccepted\"); return 0;"),
    ("nothing", "_exit(0);"),
    (
        "forged result",
        "for (int i = 3; i < 64; i++) dprintf(i, \"00000000000000000000000000000000\"); return 0;",
    ),
];

/// Programs in C that a limit ends.
const EXHAUSTING: &[(&str, &str)] = &[
    ("endless output", "for (;;) puts(\"escaped escaped escaped escaped\");"),
    ("endless loop", "for (volatile int i = 0;; i++);"),
    (
        "output, then sleep",
        "for (int i = 0; i < 400000; i++) puts(\"escaped\"); fflush(stdout); sleep(60);",
    ),
    (
        "endless files",
        "for (int i = 0; i < 100000; i++) { char n[9]; sprintf(n, \"%d\", i); int f = open(n, O_CREAT | O_WRONLY, 0600); if (f < 0) return 1; char b[4096] = {0}; for (int k = 0; k < 256; k++) write(f, b, 4096); close(f); } puts(\"escaped\");",
    ),
];

const HEAD: &str = "#define _GNU_SOURCE\n#include <dirent.h>\n#include <fcntl.h>\n#include <sched.h>\n#include <signal.h>\n\
    #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n\
    #include <sys/ptrace.h>\n#include <sys/resource.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n\
    #include <sys/syscall.h>\n#include <sys/uio.h>\n#include <unistd.h>\n\
    int main(int argc, char **argv) {\n";

#[test]
fn programs_in_c_do_not_escape() {
    if !has_python() {
        return;
    }
    let bait = Bait::new();
    let reference = json!({"tests": [{"stdin": "", "stdout": ESCAPED}]});
    let mut faults = Vec::new();
    for (index, place) in places(bait.folder.path()).iter().enumerate() {
        let exhausting = if index == 0 { EXHAUSTING } else { &[] };
        for (name, body) in ATTACKS.iter().chain(exhausting) {
            let source = format!("{HEAD}{}\n}}", bait.attack(body));
            let Some(result) = judged(place, Language::C, &source, &reference, policy()) else {
                return;
            };
            let is_contained = result.verdict != CodeVerdict::Ok;
            if !is_contained || result.verdict == CodeVerdict::CompileError {
                faults.push(format!("{}: {name}: {result:?}", place.name));
            }
        }
        let rungs = place.sandbox.isolation().expect("a worker ran").names();
        println!("{}: {} attacks in C; in force: {rungs}", place.name, ATTACKS.len());
        assert!(!bait.folder.path().join("pwned").exists(), "{}: a file was written", place.name);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Programs in Bash, which may start others, that print `escaped` if they reach their worker.
const SHELL_ATTACKS: &[(&str, &str)] = &[
    ("limit of the worker", "prlimit --pid $PPID --cpu=900 && echo escaped"),
    (
        "processors of the worker",
        "python3 -c \"import os; os.sched_setaffinity($PPID, os.sched_getaffinity(0)); print('escaped')\"",
    ),
    (
        "signal the worker's thread",
        "python3 -c \"import ctypes, os; call = 131 if os.uname().machine == 'aarch64' else 234; print('escaped' if ctypes.CDLL(None).syscall(call, $PPID, $PPID, 0) == 0 else 'no')\"",
    ),
];

#[test]
fn programs_in_bash_do_not_reach_their_worker() {
    if !has_python() {
        return;
    }
    let bait = Bait::new();
    let reference = json!({"tests": [{"stdin": "", "stdout": ESCAPED}]});
    let right = json!({"tests": [{"stdin": "", "stdout": "ran"}]});
    let mut policy = policy();
    policy.limits = sandbox::Limits::with_cpu(Duration::from_secs(5));
    for place in places(bait.folder.path()) {
        let run = |source: &str, reference: &Value| {
            verdict_in(&place.sandbox, Language::Bash, source, reference, policy)
        };
        // Where no limit counts processes, Bash is not run.
        let tools = "prlimit --nofile=64:64 python3 -c \"print('ran')\"";
        match run(tools, &right) {
            Ok(result) => assert_eq!(result.verdict, CodeVerdict::Ok, "{}: {result:?}", place.name),
            Err(error) => {
                println!("skipped: {}: {error}", place.name);
                continue;
            }
        }
        for (name, source) in SHELL_ATTACKS {
            let result = run(source, &reference).expect("the sandbox works here");
            assert_ne!(result.verdict, CodeVerdict::Ok, "{}: {name}: {result:?}", place.name);
        }
    }
}

/// Processes that hold little each and much together: none writes before its reader has slept.
const MANY: &str = "for i in $(seq 12); do\n\
    head -c 90000000 /dev/zero | tail -c 90000000 | (sleep 3; cat > /dev/null) &\n\
    done; wait; echo escaped";

/// All rungs but the control group.
const OTHERS: &[Rung] = &[Rung::Limits, Rung::Seccomp, Rung::Landlock, Rung::Namespaces];

/// The limit of memory of a process does not count others; a control group does, and no other rung.
#[test]
fn memory_of_many_processes_is_limited_by_the_group() {
    if !has_python() {
        return;
    }
    let reference = json!({"tests": [{"stdin": "", "stdout": ESCAPED}]});
    let mut policy = policy();
    policy.limits = sandbox::Limits {
        memory_bytes: 128 << 20,
        ..sandbox::Limits::with_cpu(Duration::from_secs(10))
    };
    for (rungs, expected) in [(&Rung::ALL[..], CodeVerdict::MemoryLimit), (OTHERS, CodeVerdict::Ok)]
    {
        let here = place("", std::path::Path::new("python3"), rungs);
        let Some(result) = judged(&here, Language::Bash, MANY, &reference, policy) else { return };
        let isolation = here.sandbox.isolation().expect("a worker ran");
        if rungs.len() > OTHERS.len() && !isolation.rungs.contains(&Rung::Cgroups) {
            println!("skipped: {:?}", isolation.refused);
            return;
        }
        assert_eq!(result.verdict, expected, "{}: {result:?}", isolation.names());
    }
}

/// What a program does to itself is its own end, and never looks as if it was killed from outside.
#[test]
fn programs_do_not_turn_their_end_into_a_failure_of_the_sandbox() {
    if !has_python() {
        return;
    }
    let here = place("", std::path::Path::new("python3"), &Rung::ALL);
    let reference = json!({"tests": [{"stdin": "", "stdout": ESCAPED}]});
    let mut policy = policy();
    policy.limits = sandbox::Limits {
        wall: Duration::from_mins(1),
        ..sandbox::Limits::with_cpu(Duration::from_secs(3))
    };
    let lowered = |set: &str| {
        format!("{HEAD}struct rlimit r = {{1, 1}}; {set}; for (volatile int i = 0;; i++); }}")
    };
    let clone = "import ctypes, os, time\ncall = 220 if os.uname().machine == 'aarch64' else 56\n\
        if ctypes.CDLL(None).syscall(call, 9, 0, 0, 0, 0) == 0: os._exit(0)\ntime.sleep(1)";
    for (language, source, expected) in [
        (Language::C, lowered("setrlimit(RLIMIT_CPU, &r)"), CodeVerdict::TimeLimitCpu),
        (Language::C, lowered("prlimit(0, RLIMIT_CPU, &r, 0)"), CodeVerdict::TimeLimitCpu),
        (Language::Bash, "ulimit -t 1; while :; do :; done".to_owned(), CodeVerdict::TimeLimitCpu),
        (Language::Bash, format!("exec python3 -c \"{clone}\""), CodeVerdict::Security),
    ] {
        let result = judged(&here, language, &source, &reference, policy);
        let Some(result) = result else { continue };
        assert_eq!(result.verdict, expected, "{source}\n{result:?}");
    }
}

/// Stdin has its usual path, which a program may read and not change for those after it.
#[test]
fn stdin_is_read_by_its_path() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("its mode");
    let reference =
        json!({"tests": [{"stdin": "1 2\n", "stdout": "1 2"}, {"stdin": "3\n", "stdout": "3"}]});
    let mut policy = policy();
    policy.limits = sandbox::Limits::with_cpu(Duration::from_secs(5));
    for place in places(folder.path()) {
        for (language, source) in [
            (
                Language::JavaScript,
                "const s = require('fs').readFileSync('/dev/stdin', 'utf8'); console.log(s.trim());",
            ),
            (Language::Python, "print(open('/dev/stdin').read())"),
            (
                Language::Python,
                "import os\nprint(open('/dev/stdin').read())\nfor change in (lambda: os.fchmod(0, 0), lambda: os.chmod('/dev/stdin', 0), lambda: os.write(0, b'x' * 99), lambda: os.unlink('/dev/stdin')):\n    try: change()\n    except OSError: pass",
            ),
            (Language::Python, "print(open('/dev/stdin').read())"),
            (Language::Bash, "cat /dev/stdin"),
            (
                Language::C,
                "#include <stdio.h>\nint main(void){int c;FILE *f=freopen(\"/dev/stdin\",\"r\",stdin);while((c=getc(f))!=EOF)putchar(c);}",
            ),
        ] {
            let result = verdict_in(&place.sandbox, language, source, &reference, policy);
            match result {
                Err(JudgeError::Sandbox(
                    error @ (SandboxError::MissingTool { .. }
                    | SandboxError::UnusableTool(_)
                    | SandboxError::BelowFloor { .. }),
                )) => println!("skipped: {}: {error}", place.name),
                result => {
                    let found = result.as_ref().map(|result| (result.verdict, result.passed));
                    let shown = &place.name;
                    assert_eq!(found, Ok((CodeVerdict::Ok, 2)), "{shown}: {source}\n{result:?}");
                }
            }
        }
    }
}
