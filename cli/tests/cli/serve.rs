//! `tribunal serve` and `tribunal openapi`.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::program::{Folder, command, tribunal};

/// A running server. It goes when the test does.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    /// Starts a server on a free port and waits for the line that says where.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(args, |_| ())
    }

    /// The same with changes to its process, such as variables of the environment.
    pub(crate) fn start_with(args: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let all = ["serve", "--bind", "127.0.0.1:0", "--log", "error"].iter().chain(args);
        let mut command = command(all);
        change(&mut command);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("text");
        let address = line.strip_prefix("tribunal listening on ").expect(&line);
        let url = address.split_whitespace().next().expect("an address").to_owned();
        Self { child, url }
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status();
        assert!(sent.expect("kill is part of every system").success());
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.child.wait().expect("our child")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_listens_where_it_says_and_drains_on_a_signal() {
    for signal in ["TERM", "INT"] {
        let server = Server::start(&[]);
        let url = format!("{}/healthz", server.url);
        let mut reply = ureq::get(&url).call().expect("it listens");
        assert!(reply.body_mut().read_to_string().expect("text").contains("ok"));
        server.signal(signal);
        assert_eq!(server.end().code(), Some(0), "{signal}");
    }
}

#[test]
fn access_lines_have_the_bytes_and_the_trace_of_their_request() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    // Nothing listens there, which changes no reply.
    let check = |endpoint: &str, expected: Option<&str>| {
        let folder = Folder::new();
        let log = folder.name("log");
        let args = ["serve", "--bind", "127.0.0.1:0", "--log-format", "json"];
        let mut command = command(args.iter().chain(&["--log", "info,access=debug"]));
        command.stderr(std::fs::File::create(&log).expect("the folder is ours"));
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
        let server = Server::of(command);
        let parent = format!("00-{trace}-00f067aa0ba902b7-01");
        let request = ureq::get(&format!("{}/v1/models", server.url));
        let request = request.header("traceparent", &parent).header("x-request-id", "mine");
        let mut reply = request.call().expect("it listens");
        let text = reply.body_mut().read_to_string().expect("text");
        server.signal("TERM");
        assert_eq!(server.end().code(), Some(0));
        let lines = std::fs::read_to_string(&log).expect("text");
        let lines = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let of_access = |line: &serde_json::Value| line["target"] == "access";
        let lines: Vec<serde_json::Value> = lines.filter(of_access).collect();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let facts = ["request_id", "method", "route", "status", "bytes", "complete"];
        let facts = facts.map(|key| line[key].to_string());
        let bytes = text.len().to_string();
        assert_eq!(facts, ["\"mine\"", "\"GET\"", "\"/v1/models\"", "200", &bytes, "true"]);
        assert_eq!(line["trace_id"].as_str(), expected, "{line}");
    };
    check("", None);
    check("http://127.0.0.1:9", Some(trace));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    tribunal(["serve", "--bind", &address]).ends(1).says(&[&address, "another program"]);
}

#[test]
fn all_problems_of_a_configuration_are_listed() {
    let folder = Folder::new();
    let config = "[server]\nbind = \"nowhere\"\n[[scorer]]\nname = \"a\"\nkind = \"maths\"\n";
    let config = folder.write("tribunal.toml", config);
    let ran = tribunal(["serve", "--config", &config, "--set", "limits.deadlin=1s"]).ends(2);
    ran.says(&["tribunal.toml:2", "server.bind", "tribunal.toml:5", "'math'", "limits.deadline"]);
    for args in [
        vec!["--config", "missing.toml"],
        vec!["--set", "limits.deadline"],
        vec!["--bind", "0.0.0.0:0"],
        vec!["--log", "a=b=c"],
    ] {
        tribunal(["serve"].iter().chain(&args)).ends(2);
    }
}

#[test]
fn the_printed_document_is_the_served_one() {
    let printed = tribunal(["openapi"]).ends(0).stdout;
    let server = Server::start(&[]);
    let url = format!("{}/openapi.json", server.url);
    let fetched = ureq::get(&url).call().expect("it listens").body_mut().read_to_string();
    assert_eq!(printed, fetched.expect("text"));
}

#[test]
fn every_command_has_help_with_an_example() {
    for args in [
        vec![],
        vec!["score"],
        vec!["verify"],
        vec!["serve"],
        vec!["openapi"],
        vec!["bench", "verify"],
        vec!["bench", "kernels"],
        vec!["bench", "serve"],
    ] {
        let ran = tribunal(args.iter().chain(&["--help"])).ends(0);
        let example = format!("tribunal {}", args.join(" "));
        assert!(ran.stdout.contains("Example"), "{args:?}");
        assert!(ran.stdout.matches(&example).count() > 1, "{args:?}: {}", ran.stdout);
    }
    tribunal(["no-such-command"]).ends(2);
    tribunal(["score", "--no-such-flag"]).ends(2);
}

/// Makes a tiny model and gives its folder.
fn tiny(folder: &Folder) -> String {
    let path = folder.name("tiny");
    tribunal(["models", "make-tiny", "--family", "qwen2", &path]).ends(0);
    path
}

fn post(url: &str, body: &serde_json::Value) -> serde_json::Value {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let request = agent.post(url).header("content-type", "application/json");
    let sent = request.send(body.to_string());
    let text = sent.expect("it listens").body_mut().read_to_string();
    serde_json::from_str(&text.expect("text")).expect("every reply is JSON")
}

#[test]
fn a_model_of_a_flag_answers_a_chat() {
    let folder = Folder::new();
    let path = tiny(&folder);
    let server = Server::start(&["--model", &format!("tiny={path}")]);
    let url = format!("{}/v1/chat/completions", server.url);
    let body = serde_json::json!({
        "model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5,
    });
    let reply = post(&url, &body);
    assert_eq!(reply["object"], "chat.completion", "{reply}");
    assert!(reply["choices"][0]["message"]["content"].is_string());
    let again = post(&url, &body);
    assert_eq!(reply["choices"], again["choices"]);
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_model_of_a_file_lies_relative_to_it() {
    let folder = Folder::new();
    tiny(&folder);
    let config = "[engine]\nkv_memory = \"8MiB\"\n[[model]]\nname = \"judge\"\npath = \"tiny\"\n\
                  storage = \"int8\"\n";
    let config = folder.write("tribunal.toml", config);
    let server = Server::start(&["--config", &config]);
    let url = format!("{}/v1/completions", server.url);
    let body = serde_json::json!({"model": "judge", "prompt": "a", "max_tokens": 2});
    assert_eq!(post(&url, &body)["object"], "text_completion");
}

#[test]
fn a_model_that_cannot_be_served_ends_the_start() {
    let folder = Folder::new();
    let path = tiny(&folder);
    let start = |args: &[&str]| {
        let all = ["serve", "--bind", "127.0.0.1:0"].iter().chain(args);
        tribunal(all)
    };
    // Folders are looked for before anything is loaded.
    let missing = format!("x={}", folder.name("missing"));
    start(&["--model", &missing, "--adapter", "a=b:c"]).ends(2).says(&[
        "--model: x",
        "missing",
        "--adapter: a",
    ]);
    start(&["--model", &format!("math={path}")]).ends(2).says(&["a scorer is called 'math'"]);
    // Their content is an error of its own that names the model and the file.
    std::fs::write(folder.path("tiny").join("config.json"), "{").expect("the folder is ours");
    start(&["--model", &format!("x={path}")]).ends(1).says(&["model 'x'", "config.json"]);
}
