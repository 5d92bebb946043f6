//! The layers of the workspace: which crate may name which.
//!
//! [`TABLE`] is the rule and `cargo metadata` the fact. Every edge counts, whether normal, build
//! or dev dependency: a crate that can only be tested with a higher layer cannot be understood
//! without it. [`WRAPPERS`] holds the packages that only some crates may name; `deny.toml` repeats
//! them for cargo-deny, and a test here keeps the two equal.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// A crate, its tier and every workspace crate that it may name.
struct Row {
    name: &'static str,
    tier: u8,
    may_name: &'static [&'static str],
}

const fn row(tier: u8, name: &'static str, may_name: &'static [&'static str]) -> Row {
    Row { name, tier, may_name }
}

/// A new crate gets a row here, and an edge only ever points to a lower tier. Every crate may name
/// `base`. `tests` stands at the top because it may look at everything, the command line included.
const TABLE: &[Row] = &[
    row(10, "tests", EVERYTHING),
    row(9, "cli", EVERYTHING),
    row(9, "xtask", &[]),
    row(
        8,
        "benchmarks",
        &[
            "scoring",
            "serve",
            "loadtest",
            "rubrics",
            "engine",
            "tiny-models",
            "models",
            "chat",
            "verifiers",
            "openapi",
        ],
    ),
    row(8, "gpu-kit", &["gpu-models", "gpu-checks", "gpu", "tiny-models", "models"]),
    row(8, "soak", &["loadtest", "tiny-models"]),
    row(7, "scoring", &["serve", "rubrics", "engine", "verifiers", "openapi", "datasets"]),
    row(
        6,
        "serve",
        &[
            "connections",
            "rubrics",
            "verifiers",
            "engine",
            "models",
            "chat",
            "hub",
            "openapi",
            "pages",
            "traces",
        ],
    ),
    row(
        7,
        "trainer",
        &["toytask", "rubrics", "verifiers", "maths", "engine", "models", "chat", "datasets"],
    ),
    row(6, "toytask", &["rubrics", "engine", "models", "chat"]),
    row(6, "curation", &["rubrics", "verifiers", "query", "datasets", "openapi"]),
    row(5, "rubrics", &["engine", "verifiers", "sandbox"]),
    row(4, "loadtest", &["openapi", "pages"]),
    row(4, "engine", &["gpu", "gpu-models", "models", "chat"]),
    row(5, "testkit", &["engine", "models", "chat"]),
    row(3, "tiny-models", &["models", "chat"]),
    row(2, "models", &["chat"]),
    row(2, "query", &["datasets"]),
    row(2, "verifiers", &["maths", "sandbox"]),
    row(1, "chat", &[]),
    row(1, "maths", &[]),
    row(1, "gpu", &[]),
    row(2, "gpu-checks", &["gpu"]),
    row(2, "gpu-emulated", &["gpu"]),
    row(3, "gpu-models", &["gpu", "models"]),
    row(1, "openapi", &[]),
    row(1, "datasets", &[]),
    row(1, "connections", &[]),
    row(1, "hub", &[]),
    row(1, "traces", &[]),
    row(0, "base", &[]),
    row(0, "pages", &[]),
    row(0, "sandbox", &[]),
];

/// What the program and the tests of the workspace may name.
const EVERYTHING: &[&str] = &[
    "benchmarks",
    "scoring",
    "serve",
    "soak",
    "trainer",
    "toytask",
    "curation",
    "query",
    "rubrics",
    "sandbox",
    "loadtest",
    "engine",
    "tiny-models",
    "models",
    "verifiers",
    "chat",
    "maths",
    "gpu",
    "gpu-models",
    "openapi",
    "pages",
    "datasets",
    "connections",
    "hub",
];

/// Crates that any crate may name in its tests, whatever its tier: what they make is used through
/// files and traits of lower tiers.
const TEST_SUPPORT: &[&str] = &["gpu-checks", "gpu-emulated", "gpu-kit", "testkit", "tiny-models"];

/// Packages from outside that only these crates may name. A pattern that ends in `*` is a prefix.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("actix-*", &["connections", "serve"]),
    ("candle-*", &["models", "trainer", "benchmarks"]),
    ("cudarc", &["gpu"]),
    ("datafusion", &["query"]),
    ("clap", &["cli", "benchmarks", "loadtest", "soak", "xtask"]),
];

/// What the checker looks at: a crate and the packages that it names, with the kind of each.
struct Crate {
    name: String,
    names: Vec<(String, DependencyKind)>,
}

/// Every edge that the two tables forbid, as sentences.
fn faults(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    for krate in crates {
        let Some(row) = TABLE.iter().find(|row| row.name == krate.name) else {
            faults.push(format!(
                "`{}` has no row in TABLE of tests/layering.rs: add one at its tier",
                krate.name
            ));
            continue;
        };
        for (target, kind) in &krate.names {
            let for_tests = *kind == DependencyKind::Development;
            if for_tests && TEST_SUPPORT.contains(&target.as_str()) {
                continue;
            }
            if let Some(why) = objection(row, target, crates) {
                faults.push(format!("`{}` names `{target}` ({kind} dependency): {why}", row.name));
            }
        }
    }
    faults
}

fn objection(row: &Row, target: &str, crates: &[Crate]) -> Option<String> {
    let internal =
        TABLE.iter().any(|r| r.name == target) || crates.iter().any(|c| c.name == target);
    if internal && target != "base" && !row.may_name.contains(&target) {
        return Some(format!("it may name only [{}]", row.may_name.join(", ")));
    }
    let only = wrapper(target)?;
    (!only.contains(&row.name)).then(|| format!("only [{}] may", only.join(", ")))
}

fn wrapper(package: &str) -> Option<&'static [&'static str]> {
    let (_, only) = WRAPPERS.iter().find(|(pattern, _)| matches(pattern, package))?;
    Some(only)
}

fn matches(pattern: &str, package: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => package.starts_with(prefix),
        None => package == pattern,
    }
}

#[test]
fn the_workspace_follows_the_table() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo metadata reads our manifests");
    let crates: Vec<Crate> = metadata
        .workspace_packages()
        .into_iter()
        .map(|package| Crate {
            name: package.name.to_string(),
            names: package.dependencies.iter().map(|d| (d.name.clone(), d.kind)).collect(),
        })
        .collect();
    assert!(crates.iter().any(|c| c.name == "tests"), "the metadata is of another workspace");
    let faults = faults(&crates);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_arrow_of_the_table_points_down() {
    let tiers: BTreeMap<_, _> = TABLE.iter().map(|row| (row.name, row.tier)).collect();
    assert_eq!(tiers.len(), TABLE.len(), "a crate has two rows");
    for row in TABLE {
        for target in row.may_name {
            assert!(tiers[target] < row.tier, "{} -> {target}", row.name);
        }
    }
}

#[test]
fn deny_toml_repeats_the_wrappers() {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is committed");
    let deny: toml::Table = text.parse().expect("deny.toml is TOML");
    let denied: Vec<(&str, Vec<&str>)> = deny["bans"]["deny"]
        .as_array()
        .expect("bans.deny is a list")
        .iter()
        .filter_map(|ban| Some((ban["crate"].as_str()?, strings(ban.get("wrappers")?))))
        .collect();
    for (package, wrappers) in &denied {
        // cargo-deny also wants the outside packages that name this one; they are not ours.
        let ours: Vec<_> =
            wrappers.iter().filter(|w| TABLE.iter().any(|row| row.name == **w)).copied().collect();
        assert_eq!(Some(ours.as_slice()), wrapper(package), "{package}");
    }
    for (pattern, _) in WRAPPERS {
        assert!(
            denied.iter().any(|(package, _)| matches(pattern, package)),
            "deny.toml says nothing of {pattern}"
        );
    }
}

fn strings(list: &toml::Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(toml::Value::as_str).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests package lies one folder below the workspace root")
}

/// Runs the checker over one made-up crate. `expected` is a part of its one fault, or nothing.
#[track_caller]
fn check(name: &str, target: &str, kind: DependencyKind, expected: Option<&str>) {
    let stranger = Crate { name: "openapi".to_owned(), names: Vec::new() };
    let krate = Crate { name: name.to_owned(), names: vec![(target.to_owned(), kind)] };
    let faults = faults(&[stranger, krate]);
    match expected {
        None => assert_eq!(faults, [""; 0], "{name} -> {target}"),
        Some(part) => {
            assert_eq!(faults.len(), 1, "{name} -> {target}: {faults:?}");
            assert!(faults[0].contains(part), "{name} -> {target}: {faults:?}");
        }
    }
}

#[test]
fn forbidden_edges_are_reported() {
    use DependencyKind::{Build, Development, Normal};
    check("rubrics", "engine", Normal, None);
    check("cli", "serve", Normal, None);
    check("maths", "base", Normal, None);
    check("tests", "scoring", Development, None);
    check("models", "tiny-models", Development, None);
    check("rubrics", "testkit", Development, None);
    check("rubrics", "testkit", Normal, Some("it may name only"));
    check("verifiers", "serde", Normal, None);
    // Up, sideways, and in every kind.
    let rule = Some("it may name only [gpu, gpu-models, models, chat]");
    check("engine", "serve", Normal, rule);
    check("engine", "rubrics", Development, rule);
    check("engine", "verifiers", Build, rule);
    check("serve", "trainer", Normal, Some("it may name only"));
    check("loadtest", "serve", Development, Some("(dev dependency)"));
    check("openapi", "verifiers", Normal, Some("it may name only []"));
    check("xtask", "openapi", Normal, Some("it may name only []"));
    check("rubrics", "models", Normal, Some("it may name only"));
    check("cli", "tests", Development, Some("it may name only"));
    check("unknown", "openapi", Normal, Some("add one at its tier"));
    // From outside.
    check("serve", "actix-web", Normal, None);
    check("cli", "actix-web", Normal, Some("only [connections, serve] may"));
    check("tests", "actix-http", Development, Some("only [connections, serve] may"));
    check("trainer", "candle-nn", Normal, None);
    check("engine", "candle-core", Normal, Some("only [models, trainer, benchmarks]"));
    check("trainer", "cudarc", Normal, Some("only [gpu] may"));
    check("serve", "clap", Normal, Some("only [cli, benchmarks, loadtest, soak, xtask]"));
    check("cli", "clap_complete", Normal, None);
}
