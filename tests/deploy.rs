//! What deploy/ holds agrees with the program.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use rubrics::Registry;
use rubrics::config::Problem;
use saphyr::{LoadableYamlNode as _, Yaml};
use serve::keys::Keys;
use serve::{Background, Config, State};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root")
}

fn folder() -> PathBuf {
    root().join("deploy")
}

fn text(file: &str) -> String {
    std::fs::read_to_string(folder().join(file)).expect("the file exists")
}

/// The instructions of the Dockerfile with this keyword, without it.
fn instructions(keyword: &str) -> Vec<String> {
    let text = text("Dockerfile").replace("\\\n", " ");
    let of_keyword = |line: &str| Some(line.strip_prefix(keyword)?.trim().to_owned());
    text.lines().filter_map(of_keyword).collect()
}

/// The words of an instruction whose command is a JSON array.
fn command(instruction: &str) -> Vec<String> {
    let array = &instruction[instruction.find('[').expect("an array")..];
    serde_json::from_str(array).expect("JSON")
}

/// The object of a kind in the manifest for Kubernetes.
fn object<'a>(manifest: &'a [Yaml<'a>], kind: &str) -> &'a Yaml<'a> {
    let of_kind = |object: &&Yaml<'_>| object["kind"].as_str() == Some(kind);
    manifest.iter().find(of_kind).expect(kind)
}

/// The settings of a configuration, which has no problem.
fn settings(name: &str, text: &str) -> Config {
    let mut config = Config::default();
    let (_, problems) = serve::config::read_text(name, text, &mut config);
    assert_eq!(problems, Vec::<Problem>::new(), "{name}");
    config
}

#[test]
fn configurations_are_valid_and_fit_what_runs_them() {
    let manifest = text("kubernetes/tribunal.yaml");
    let manifest = Yaml::load_from_str(&manifest).expect("YAML");
    let in_map = object(&manifest, "ConfigMap")["data"]["tribunal.toml"].as_str().expect("text");
    let pod = &object(&manifest, "Deployment")["spec"]["template"]["spec"];
    let grace = pod["terminationGracePeriodSeconds"].as_integer().expect("a number");
    let drain = settings("the ConfigMap", in_map).drain.as_secs();
    assert!(u64::try_from(grace).expect("positive") > drain, "{grace} s for a drain of {drain} s");
    let drain = settings("tribunal.toml", &text("tribunal.toml")).drain.as_secs();
    for (file, key) in
        [("tribunal.service", "TimeoutStopSec="), ("compose.yaml", "stop_grace_period: ")]
    {
        let text = text(file);
        let value = text.split(key).nth(1).and_then(|rest| rest.lines().next()).expect(key);
        let grace: u64 = value.trim_end_matches('s').parse().expect("seconds");
        assert!(grace > drain, "{file}: {grace} s for a drain of {drain} s");
    }
}

#[test]
fn probes_are_routes_of_health() {
    let manifest = text("kubernetes/tribunal.yaml");
    let manifest = Yaml::load_from_str(&manifest).expect("YAML");
    let container = &object(&manifest, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    let document = serve::document_text();
    for (probe, path) in
        [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")]
    {
        assert_eq!(container[probe]["httpGet"]["path"].as_str(), Some(path), "{probe}");
        assert!(document.contains(&format!("\"{path}\"")), "{path} is no route");
    }
}

#[test]
fn image_is_built_and_run_as_the_other_files_say() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("it exists");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let rust = manifest["workspace"]["package"]["rust-version"].as_str().expect("a version");
    let stages = [format!("rust:{rust}-bookworm AS build"), "debian:bookworm-slim".to_owned()];
    assert_eq!(instructions("FROM "), stages, "program and system have the same C library");
    let built = instructions("COPY ").pop().expect("the program is copied");
    let built = built.split_whitespace().nth(1).expect("a path");
    let made = format!("cp target/release/tribunal {built}");
    assert!(instructions("RUN ").iter().any(|line| line.ends_with(&made)), "{made}");
    let address = settings("tribunal.toml", &text("tribunal.toml")).bind;
    assert_eq!(instructions("EXPOSE "), [address.port().to_string()]);
    let manifest = text("kubernetes/tribunal.yaml");
    let manifest = Yaml::load_from_str(&manifest).expect("YAML");
    let pod = &object(&manifest, "Deployment")["spec"]["template"]["spec"];
    let user = pod["securityContext"]["runAsUser"].as_integer().expect("a number");
    assert_eq!(instructions("USER "), [user.to_string()]);
    let packages = &instructions("RUN ")[1];
    // The worker of the sandbox imports what `python3-minimal` lacks.
    assert!(packages.contains("--no-install-recommends python3 "), "{packages}");
    assert!(packages.contains("rm -rf /var/lib/apt/lists/*"), "{packages}");
    let run = command(&instructions("CMD ")[0]);
    let mounted = format!("./tribunal.toml:{}:ro", run[2]);
    assert_eq!(run[..2], ["serve", "--config"]);
    assert!(text("compose.yaml").contains(&mounted), "{mounted}");
}

/// The check that a container is alive, against a server, and where there is none any more.
#[test]
fn health_check_of_the_image_sees_a_server() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let config = Config { threads: 1, workers: 1, ..Config::default() };
    let state = State::new(config, Registry::built_in(), Keys::default()).expect("threads start");
    let server = Background::start(listener, state).expect("it starts");
    let words = command(&instructions("HEALTHCHECK ")[0]);
    let port = server.address().port().to_string();
    let check = || {
        let arguments = words[1..].iter().map(|word| word.replace("8080", &port));
        Command::new(&words[0]).args(arguments).output().expect("it starts").status.success()
    };
    assert!(check());
    server.stop().expect("it ends well");
    assert!(!check());
}

/// Neither keys of the operator nor gigabytes of environments go into the image.
#[test]
fn image_is_built_without_what_git_ignores() {
    let patterns = |file: &str| -> BTreeSet<String> {
        let text = std::fs::read_to_string(root().join(file)).expect("it exists");
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    // Where git looks in every folder, Docker looks in the first.
    let as_docker = |line: &String| match line.strip_prefix('/') {
        Some(path) => path.to_owned(),
        None => format!("**/{}", line.trim_end_matches('/')),
    };
    let mut expected: BTreeSet<String> = patterns(".gitignore").iter().map(as_docker).collect();
    expected.insert(".git".to_owned());
    assert_eq!(patterns(".dockerignore"), expected);
}

#[test]
fn files_that_are_mounted_exist() {
    let compose = text("compose.yaml");
    let compose = Yaml::load_from_str(&compose).expect("YAML").remove(0);
    // Keys are the operator's.
    let own = ["./keys", "./metrics-key.txt"];
    let mut mounted = 0;
    for service in ["tribunal", "prometheus", "grafana"] {
        for volume in compose["services"][service]["volumes"].as_vec().expect("a list") {
            let file = volume.as_str().and_then(|volume| volume.split(':').next()).expect("a path");
            assert!(own.contains(&file) || folder().join(file).is_file(), "{file}");
            mounted += 1;
        }
    }
    assert_eq!(mounted, 8);
}

#[test]
fn alerts_fire_as_their_tests_say() {
    let folder = folder().join("prometheus");
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]] {
        let Ok(done) = Command::new("promtool").args(arguments).current_dir(&folder).output()
        else {
            println!("skipped: promtool is not installed");
            return;
        };
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(done.status.success(), "{said}");
    }
}
