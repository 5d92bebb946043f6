//! The configurations in the documents are valid, and mean what the documents say.

use std::path::Path;

use rubrics::config::Problem;
use serve::Config;

fn document(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root");
    std::fs::read_to_string(root.join("docs").join(name)).expect("the document exists")
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = text.split(&fence).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The pages of docs/scorers, relative to docs.
fn scorer_pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root");
    let entries = std::fs::read_dir(root.join("docs/scorers")).expect("the folder exists");
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| format!("scorers/{}", name(entry.expect("an entry")))).collect()
}

#[test]
fn documented_configurations_are_valid() {
    let mut count = 0;
    let mut refused = Vec::new();
    let schema = serve::config::schema(|_, _| None);
    let schema = jsonschema::validator_for(&schema).expect("it is a schema");
    let pages = scorer_pages();
    let names = ["configuration.md", "scorers.md", "deploy.md"].into_iter();
    for name in names.chain(pages.iter().map(String::as_str)) {
        for block in blocks(&document(name), "toml") {
            let config = &mut Config::default();
            let (_, problems) = serve::config::read_text_with(name, &block, config, &["m"]);
            assert_eq!(problems, Vec::<Problem>::new(), "{block}");
            let value = toml::from_str(&block).expect("it was read");
            refused.extend(schema.iter_errors(&value).map(|error| format!("{name}: {error}")));
            count += 1;
        }
    }
    assert_eq!(refused, Vec::<String>::new());
    assert!(count >= 3, "only {count} blocks were found");
}

#[test]
fn configurations_that_do_not_fit_the_schema_are_refused() {
    let schema = serve::config::schema(|_, _| None);
    let schema = jsonschema::validator_for(&schema).expect("it is a schema");
    for text in [
        "[server]\nbin = \"127.0.0.1:1\"",
        "[limits]\ndeadline = 30",
        "[limits]\nqueue_bytes = \"8 MB\"",
        "[engine]\ndevice = \"gpu\"",
        "[verify]\nthreads = 0",
        "[[model]]\nname = \"m\"",
        "[[model]]\nname = \"m\"\npath = \"p\"\ncompute = \"fast\"",
        "[[queue]]\nscorer = \"math\"\nsize = \"many\"",
        "[[scorer]]\nname = \"x\"\nkind = \"maths\"",
        "[[scorer]]\nname = \"x\"\nkind = \"math\"\nmodle = \"m\"",
        "[[scorer]]\nname = \"x\"\nkind = \"critic\"",
    ] {
        assert!(!schema.is_valid(&toml::from_str(text).expect("TOML")), "{text}");
    }
}

#[test]
fn the_documented_settings_are_the_defaults() {
    let text = document("configuration.md");
    let block = blocks(&text, "toml").into_iter().next().expect("the example");
    let cores = Config::default();
    let mut config = cores.clone();
    let (_, problems) = serve::config::read_text("configuration.md", &block, &mut config);
    assert_eq!(problems, Vec::<Problem>::new());
    // The example was written on a machine with two cores.
    let given = config.given.clone();
    let expected = Config { workers: 2, threads: 2, given, ..cores };
    assert_eq!(config, expected);
}

/// Every page is in the index of pages, and every page in the index exists.
#[test]
fn every_page_is_in_the_index() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root");
    let entries = std::fs::read_dir(root.join("docs")).expect("the folder exists");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let stems = names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
    let mut pages: Vec<String> = stems.filter(|stem| stem != "README").collect();
    pages.sort();
    let index = document("README.md");
    let links = index.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let stems = links.filter_map(|link| link.strip_suffix(".md"));
    let mut listed: Vec<String> =
        stems.filter(|stem| !stem.contains('/')).map(str::to_owned).collect();
    listed.sort();
    assert_eq!(listed, pages);
}

/// The series of `docs/http.md` are those that the program registers.
#[test]
fn documented_series_are_registered() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root");
    let source = std::fs::read_to_string(root.join("serve/src/metrics.rs")).expect("the file");
    let page = document("http.md");
    let named = page.split("`tribunal_").skip(1).filter_map(|rest| rest.split('`').next());
    let stem = |name: &str| {
        let name = name.trim_end_matches("_total").trim_end_matches("_info");
        name.trim_end_matches("_seconds").trim_end_matches("_bytes").to_owned()
    };
    let mut named: Vec<String> = named.map(stem).collect();
    named.sort();
    // A registration names its series in the first text after its bracket.
    let calls = ["register(", "register_with_unit(", "gauge(", "counter("];
    let first_text = |rest: &str| {
        let rest = rest.trim_start().strip_prefix('"')?;
        rest.split('"').next().map(str::to_owned)
    };
    let registered =
        calls.iter().flat_map(|call| source.split(call).skip(1).filter_map(first_text));
    let mut registered: Vec<String> = registered.collect();
    registered.sort();
    assert!(registered.len() > 15, "{registered:?}");
    assert_eq!(named, registered);
}

/// Every route without parameters in its path is on a page, in backticks or after its method.
#[test]
fn every_route_is_documented() {
    let served: serde_json::Value =
        serde_json::from_str(&serve::document_text()).expect("the document is JSON");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root");
    let entries = std::fs::read_dir(root.join("docs")).expect("the folder exists");
    let pages = entries.map(|entry| entry.expect("an entry").path());
    // The log names routes of the past.
    let pages = pages.filter(|page| page.is_file() && !page.ends_with("LOG.md"));
    let pages: String =
        pages.map(|page| std::fs::read_to_string(page).expect("a page is text")).collect();
    for path in served["paths"].as_object().expect("paths").keys() {
        let names = ["`", "GET ", "POST "].map(|before| format!("{before}{path}"));
        let is_named = |name: &String| {
            let mut found = pages.match_indices(name.as_str());
            found.any(|(at, _)| pages[at + name.len()..].starts_with(['`', '?', ' ', '\n']))
        };
        assert!(path.contains('{') || names.iter().any(is_named), "{path} is on no page of docs");
    }
}

/// Checks the forms of `.github/ISSUE_TEMPLATE`: where one is broken, a reporter gets an empty field and no message.
#[test]
fn issue_templates_are_forms() {
    use saphyr::{LoadableYamlNode as _, Yaml};

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root");
    let entries =
        std::fs::read_dir(root.join(".github/ISSUE_TEMPLATE")).expect("the folder exists");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut count = 0;
    for file in files.filter(|file| !file.ends_with("config.yml")) {
        let text = std::fs::read_to_string(&file).expect("a template is text");
        let form = Yaml::load_from_str(&text).expect("YAML").remove(0);
        let name = file.display();
        for key in ["name", "description"] {
            assert!(form[key].as_str().is_some_and(|text| !text.is_empty()), "{name}: {key}");
        }
        let fields = form["body"].as_vec().expect("a list of fields");
        let mut ids = Vec::new();
        for field in fields.iter().filter(|field| field["type"].as_str() != Some("markdown")) {
            assert!(
                ["input", "textarea"].contains(&field["type"].as_str().expect("a type")),
                "{name}"
            );
            assert!(field["attributes"]["label"].as_str().is_some(), "{name}");
            ids.push(field["id"].as_str().expect("an id"));
        }
        let given = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert!(given > 0 && ids.len() == given, "{name}: {ids:?}");
        count += 1;
    }
    assert_eq!(count, 3);
}
