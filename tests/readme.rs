//! Runs every command of the README and compares what it prints with what the README shows.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A private key: that of RFC 8032, section 7.1, test 1.
const SIGNING_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the workspace root").to_owned()
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).expect("the README exists")
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = text.split(&fence).skip(1);
    parts.map(|part| part.split("\n```").next().unwrap_or_default().to_owned()).collect()
}

/// A shell in `folder`, with the built `tribunal` on its path.
fn shell(command: &str, folder: &Path) -> Command {
    let built = root().join("target/release");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = vec![built];
    paths.extend(std::env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(paths).expect("paths without colons"));
    // A user's shell has none of what cargo and `cargo xtask test --slowest` set for this test. Build scripts that look at
    // it would run anew, and with them a dozen crates or all of them be built anew.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_set = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if is_set || name == "RUSTC_BOOTSTRAP" {
            shell.env_remove(&*name);
        }
    }
    shell
}

/// The server of the README's first command, on a port of its own.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// `exec`, so that ending the shell ends the server.
    fn start(command: &str, folder: &Path) -> Self {
        let mut child = shell(&format!("exec {command}"), folder)
            .env("TRIBUNAL_BIND", "127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh exists");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the server says where it listens");
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.map(str::to_owned);
        let url = url.expect("the server names its address");
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself after a failed test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Without what differs from run to run.
fn stable(mut reply: Value) -> Value {
    for field in ["id", "created"] {
        reply[field] = Value::Null;
    }
    reply["results"][0]["timing"] = Value::Null;
    reply["results"][0]["digests"]["scorer"] = Value::Null;
    reply
}

/// Whether all that is shown is there. What a model computes differs in its last digits between
/// machines, and the README shows the first.
fn holds(found: &Value, shown: &Value) -> bool {
    match (found, shown) {
        (Value::Object(found), Value::Object(shown)) => {
            let mut shown = shown.iter();
            shown.all(|(key, value)| found.get(key).is_some_and(|it| holds(it, value)))
        }
        (Value::Array(found), Value::Array(shown)) => {
            found.len() == shown.len() && found.iter().zip(shown).all(|(a, b)| holds(a, b))
        }
        (Value::Number(found), Value::Number(shown)) => {
            let pair = found.as_f64().zip(shown.as_f64());
            pair.is_some_and(|(found, shown)| (found - shown).abs() < 0.01)
        }
        _ => found == shown,
    }
}

#[test]
fn every_command_of_the_readme_works() {
    let text = readme();
    let commands = blocks(&text, "sh");
    let [serve, curl, process, file, scorers, test, model] = commands.as_slice() else {
        unreachable!("the README has other commands than this test runs: {commands:?}");
    };
    let server = Server::start(serve, &root());

    if Command::new("curl").arg("--version").output().is_ok() {
        let printed = |command: &String| -> Value {
            let curl = command.replace("http://127.0.0.1:8080", &server.url);
            let printed = shell(&curl, &root()).output().expect("sh exists").stdout;
            serde_json::from_slice(&printed).expect("the reply is JSON")
        };
        let shown = blocks(&text, "json");
        let [whole, part, _] = shown.as_slice() else {
            unreachable!("the README shows other replies: {shown:?}");
        };
        let whole: Value = serde_json::from_str(whole).expect("the shown reply is JSON");
        assert_eq!(stable(printed(curl)), stable(whole));
        let part: Value = serde_json::from_str(part).expect("the shown part is JSON");
        let found = &printed(process)["results"][0];
        assert!(holds(found, &part), "{found:#}");
    } else {
        println!("skipped: curl is not installed");
    }

    // The test command cannot run itself; continuous integration runs exactly it.
    let ci = std::fs::read_to_string(root().join(".ci/run")).expect("the script exists");
    assert!(ci.contains(test.trim()), "{test}");

    score_file(&text, file, scorers);
    run_table(&text, &server.url);
    run_client(&text, model);
}

/// The README's file of answers, the verdict that it shows, and its scorer, whose server starts.
fn score_file(text: &str, commands: &str, scorers: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).expect("the folder is writable");
    };
    let run = |line: &str| {
        let output = shell(line, folder.path()).output().expect("sh exists");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {complaint}");
    };
    let rows = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("it was written");
        text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
    };
    write("answers.jsonl", &(blocks(text, "jsonl").remove(0) + "\n"));
    commands.lines().for_each(run);
    let shown: Value = serde_json::from_str(&blocks(text, "json")[2]).expect("it is JSON");
    let scored = rows("scored.jsonl");
    let found = &scored[1]["scores"]["math"];
    assert!(holds(found, &shown), "{found:#}");
    assert_eq!(rows("right.jsonl").len(), 1);
    assert!(folder.path().join("scored.html").is_file());

    let (init, rest) = scorers.split_once('\n').expect("several commands");
    run(init);
    let config = std::fs::read_to_string(folder.path().join("tribunal.toml")).expect("it is there");
    write("tribunal.toml", &(config + &blocks(text, "toml")[0]));
    for line in rest.lines() {
        if line.starts_with("tribunal serve") {
            drop(Server::start(line, folder.path()));
        } else {
            run(line);
        }
    }
    // 46 is within a twentieth of 48.
    assert_eq!(rows("close.jsonl")[1]["scores"]["approximate"]["score"], 1.0);
}

/// The README's model and the example of the official client, which needs an environment of its
/// own (tests/clients/decisions.py tells how to make it; `.ci/run` does).
fn run_client(text: &str, commands: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let commands = commands.replace("cargo run --release --", "tribunal");
    let (make, serve) = commands.split_once('\n').expect("two commands");
    let made = shell(make, folder.path()).status().expect("sh exists");
    assert!(made.success(), "{make}");
    let server = Server::start(serve, folder.path());
    let python = root().join("tests/clients/.venv/bin/python");
    if !python.exists() {
        println!("skipped: tests/clients/.venv is not there");
        return;
    }
    let example = blocks(text, "python").remove(0);
    let example = example.replace("http://127.0.0.1:8080", &server.url);
    let output = Command::new(python).args(["-c", &example]).output();
    let output = output.expect("the interpreter runs");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{example}: {complaint}");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, grade) = printed.split_once('\n').expect("a line, and the reply");
    let grade: Value = serde_json::from_str(grade).expect("the grade is JSON");
    assert!((1..=5).contains(&grade["grade"].as_i64().unwrap_or(0)));
}

/// The commands of the README's table, in a folder with the files they name.
fn run_table(text: &str, url: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let row = r#"{"response": "A: 18", "reference": "18"}"#;
    std::fs::write(folder.path().join("answers.jsonl"), row).expect("the folder is writable");
    let labelled = "{\"raw\": 1.5, \"label\": 1}\n{\"raw\": -0.5, \"label\": 0}\n".repeat(20);
    std::fs::write(folder.path().join("labelled.jsonl"), &labelled)
        .expect("the folder is writable");
    let pair = r#"{"source": "mmlu-pro", "question": "2 + 2?", "response_A": "2 + 2 = 4", "response_B": "2 + 2 = 5", "label": "A>B"}"#;
    std::fs::write(folder.path().join("pairs.jsonl"), pair).expect("the folder is writable");
    let preference = r#"{"prompt": "2 + 2?", "chosen": "2 + 2 = 4", "rejected": "2 + 2 = 5"}"#;
    std::fs::write(folder.path().join("preferences.jsonl"), preference)
        .expect("the folder is writable");
    for line in [&labelled[..25], pair, preference] {
        assert!(text.contains(&format!("`{}`", line.trim_end())), "the README shows {line}");
    }
    let key = folder.path().join("key.pem");
    std::fs::write(&key, SIGNING_KEY).expect("the folder is writable");
    let owner = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&key, owner).expect("the file is ours");
    let scorers = "[[scorer]]\nname = \"m\"\nkind = \"math\"\n";
    std::fs::write(folder.path().join("tribunal.toml"), scorers).expect("the folder is writable");
    let run = "[run]\nfolder = \"run\"\nsteps = 1\n[policy]\npath = \"tiny-policy\"\n\
               make = \"tribunal-tiny\"\n[[data]]\nkind = \"mixture\"\n[method]\n\
               kind = \"supervised\"\nrows = 4\n[optimiser]\nrate = 1e-3\n";
    std::fs::write(folder.path().join("run.toml"), run).expect("the folder is writable");
    let commands: Vec<&str> =
        text.split('`').filter(|code| code.starts_with("tribunal ")).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        if command.starts_with("tribunal serve") {
            drop(Server::start(command, folder.path()));
            continue;
        }
        if command.contains("python-tests") && Command::new("python3").arg("-V").output().is_err() {
            println!("skipped: python3 is not installed");
            continue;
        }
        if command.contains("verilog") && Command::new("iverilog").arg("-V").output().is_err() {
            println!("skipped: iverilog is not installed");
            continue;
        }
        let command = if command.starts_with("tribunal bench serve") {
            format!("{command} --url {url}")
        } else {
            command.to_owned()
        };
        let output = shell(&command, folder.path()).output().expect("sh exists");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {complaint}");
    }
    for made in ["scored.jsonl", "signed.jsonl", "load.html"] {
        assert!(folder.path().join(made).is_file(), "{made}");
    }
}
