//! The examples of docs/scorers/KIND.md do what they say, on made models.
//!
//! On the page of a kind that calls models, the first ```toml block configures the scorer, the
//! first ```json block with `inputs` is a request, a ```text block is what the model says (`Yes` if
//! there is none), and the ```json block with `status` is what comes back: every field that it
//! shows must be so, numbers to within 0.0005. Kinds that read a head run on random weights; of
//! their numbers only the presence is compared.

#![expect(clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Capacity, Device, Folder, Host, HostSpec, LoadOptions};
use gpu_emulated::Emulator;
use models::weights::FloatType;
use openapi::ScoreRequest;
use rubrics::{Models, Registry, ScoreOptions, Tools, VerifierPool};
use serde_json::Value;
use serve::Config;
use serve::convert::{self, Frame};
use serve::hosts::Hosts;
use testkit::fake::{self, Replies};
use tiny_models::{Preset, TinyHead, TinySpec};

const HEADS: [TinyHead; 5] =
    [TinyHead::Sequence, TinyHead::Process, TinyHead::Token, TinyHead::Reward, TinyHead::Value];

struct Example {
    kind: String,
    config: String,
    request: Value,
    says: String,
    result: Value,
}

/// The pages of docs/scorers, each with its name, which is that of the kind.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root");
    let entries = std::fs::read_dir(root.join("docs/scorers")).expect("the folder exists");
    let mut pages: Vec<(String, String)> = entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let kind = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (kind, std::fs::read_to_string(&path).expect("a page"))
        })
        .collect();
    pages.sort();
    pages
}

/// The fenced blocks of a text, each with its language.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find("```") {
        let (language, body) = rest[open + 3..].split_once('\n').expect("a line follows");
        let end = body.find("```").expect("every block is closed");
        blocks.push((language.trim(), &body[..end]));
        rest = &body[end + 3..];
    }
    blocks
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for (kind, page) in pages() {
        let blocks = blocks(&page);
        let of = |language| blocks.iter().filter(move |(l, _)| *l == language);
        let json: Vec<Value> = of("json")
            .map(|(_, body)| serde_json::from_str(body).unwrap_or_else(|e| panic!("{kind}: {e}")))
            .collect();
        let find = |key: &str| json.iter().find(|value| value.get(key).is_some()).cloned();
        let (Some((_, config)), Some(request)) = (of("toml").next(), find("inputs")) else {
            continue;
        };
        examples.push(Example {
            kind: kind.clone(),
            config: (*config).to_owned(),
            request,
            says: of("text").next().map_or("Yes", |(_, body)| body.trim()).to_owned(),
            result: find("status").unwrap_or_else(|| panic!("{kind}: no result is shown")),
        });
    }
    examples
}

fn make(dir: &Path, head: TinyHead) {
    let spec = TinySpec { head, storage: FloatType::Bf16, ..TinySpec::from(Preset::Qwen2) };
    tiny_models::make(dir, &spec).expect("a folder is made");
    // The prompts of some kinds are longer than tiny models have positions.
    let path = dir.join("config.json");
    let config = std::fs::read_to_string(&path).expect("it was just made");
    let mut config: Value = serde_json::from_str(&config).expect("it is JSON");
    config["max_position_embeddings"] = 8192.into();
    std::fs::write(path, config.to_string()).expect("the folder is ours");
}

/// The models that the example's scorers can work with, and whether its numbers mean something.
fn models(example: &Example, registry: &Registry, dir: &Path) -> (Arc<dyn Models>, bool) {
    let says = example.says.clone();
    let vocabulary = dir.join("vocab");
    make(&vocabulary, TinyHead::Vocab);
    let replying =
        fake::host("m", &vocabulary, |host| Replies::new(host, move |_: &str| says.clone()));
    let served = Hosts::new(vec![Arc::new(replying.expect("it loads"))]);
    let mut problems = match registry.check(&served) {
        Ok(()) => return (Arc::new(served), true),
        Err(problems) => problems,
    };
    match with_a_head(registry, dir, &Device::Cpu) {
        Ok(host) => (Arc::new(Hosts::new(vec![host])), false),
        Err(more) => {
            problems.extend(more);
            panic!("{}: {}", example.kind, problems.join("\n"));
        }
    }
}

/// A model with a head that all scorers can work with.
fn with_a_head(registry: &Registry, dir: &Path, device: &Device) -> Result<Arc<Host>, Vec<String>> {
    let mut problems = Vec::new();
    for head in HEADS {
        let folder = dir.join(head.name());
        make(&folder, head);
        let host = Host::load(&HostSpec {
            name: "m".to_owned(),
            folder: Folder::directory(&folder),
            options: LoadOptions::default(),
            device: device.clone(),
            capacity: Capacity {
                kv_memory: 8 << 20,
                batch_tokens: 256,
                max_sequences: 16,
                queue_tokens: 1 << 18,
            },
        });
        let host = Arc::new(host.expect("it loads"));
        match registry.check(&Hosts::new(vec![host.clone()])) {
            Ok(()) => return Ok(host),
            Err(more) => problems.extend(more),
        }
    }
    Err(problems)
}

/// What comes back for the first input, and whether its numbers mean something.
fn run(example: &Example) -> (Value, bool) {
    let dir = tempfile::tempdir().expect("a folder");
    let mut is_exact = false;
    let result = run_with(example, |registry| {
        let (models, exact) = models(example, registry, dir.path());
        is_exact = exact;
        models
    });
    (result, is_exact)
}

/// What comes back where random models compute on a device; those with a vocabulary lean to what the page lets them say.
fn run_on(example: &Example, device: &Device) -> Value {
    let dir = tempfile::tempdir().expect("a folder");
    let mut used = None;
    let result = run_with(example, |registry| {
        let folder = dir.path().join("vocab");
        make(&folder, TinyHead::Vocab);
        let says = example.says.clone();
        let leaning = fake::leaning("m", &folder, device, move |_: &str| says.clone());
        let leaning = Arc::new(leaning.expect("it loads"));
        let host = match registry.check(&Hosts::new(vec![leaning.clone()])) {
            Ok(()) => leaning,
            Err(_) => with_a_head(registry, dir.path(), device).expect("a head fits"),
        };
        used = Some(host.clone());
        Arc::new(Hosts::new(vec![host]))
    });
    let steps = used.expect("a model was made").engine.status().steps;
    assert!(steps > 0, "{}: no model was asked", example.kind);
    result
}

fn run_with(example: &Example, models: impl FnOnce(&Registry) -> Arc<dyn Models>) -> Value {
    let mut config = Config::default();
    let (registry, problems) =
        serve::config::read_text_with("scorers.md", &example.config, &mut config, &["m"]);
    assert!(problems.is_empty(), "{}: {problems:?}", example.kind);
    let models = models(&registry);
    let request: ScoreRequest =
        serde_json::from_value(example.request.clone()).expect("a request of /v1/score");
    let scorer = registry.get(&request.model).expect("it is configured");
    let (input, echo) = convert::input(request.inputs[0].clone());
    let tools =
        Tools { pool: VerifierPool::new(2, 1024).expect("threads start"), models, recorder: None };
    let ask = ScoreOptions {
        explain: request.options.explain,
        seed: request.options.seed,
        ..ScoreOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let inputs = [Arc::new(input)];
    let scoring = rubrics::score(scorer, &inputs, ask, &tools);
    let scored = runtime.expect("a runtime").block_on(scoring).remove(0);
    let frame = Frame {
        scorer_digest: &scorer.digest_text(),
        queue: scored.queue,
        exec: scored.exec,
        cached: false,
    };
    let result = convert::result(0, echo, &scored.outcome, frame);
    serde_json::to_value(result).expect("a result serialises")
}

/// Every field that is shown is so.
fn compare(path: &str, shown: &Value, found: &Value, exact: bool) {
    match (shown, found) {
        (Value::Object(shown), Value::Object(found)) => {
            for (key, value) in shown {
                let other = found.get(key).unwrap_or(&Value::Null);
                compare(&format!("{path}.{key}"), value, other, exact);
            }
        }
        (Value::Array(shown), Value::Array(found)) => {
            assert_eq!(shown.len(), found.len(), "{path}: {found:?}");
            for (at, (value, other)) in shown.iter().zip(found).enumerate() {
                compare(&format!("{path}[{at}]"), value, other, exact);
            }
        }
        (Value::Number(shown), Value::Number(found)) => {
            let (a, b) = (shown.as_f64(), found.as_f64());
            let near = a.zip(b).is_some_and(|(a, b)| (a - b).abs() < 5e-4);
            assert!(near || !exact, "{path}: {shown} is shown, {found} comes back");
        }
        (Value::String(shown), _) if shown.ends_with('…') => {
            let begin = shown.trim_end_matches('…');
            let found = found.as_str().unwrap_or_default();
            assert!(found.starts_with(begin), "{path}: {found}");
        }
        (Value::String(_), Value::String(_))
            if !exact && path.rsplit('.').next() == Some("label") => {}
        _ => assert_eq!(shown, found, "{path}"),
    }
}

#[test]
fn every_example_does_what_it_says() {
    let examples = examples();
    let kinds: BTreeSet<&str> = examples.iter().map(|e| e.kind.as_str()).collect();
    // The embedded model has a scorer of every kind that calls models.
    let registry = Registry::with_default_model();
    let scorers = registry.iter().filter(|scorer| scorer.uses_models());
    assert_eq!(kinds, scorers.map(|scorer| scorer.kind()).collect());
    for example in &examples {
        let (found, exact) = run(example);
        println!("{}: {found}", example.kind);
        compare(&example.kind, &example.result, &found, exact);
    }
}

/// Results agree but for the rounding of numbers; returns how many numbers differ.
fn near(path: &str, here: &Value, there: &Value) -> usize {
    match (here, there) {
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{path}: {here} {there}");
            let shown = a.iter().filter(|(key, _)| !OF_ITS_OWN.contains(&key.as_str()));
            shown.map(|(key, value)| near(&format!("{path}.{key}"), value, &b[key])).sum()
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{path}: {here} {there}");
            let pairs = a.iter().zip(b).enumerate();
            pairs.map(|(at, (a, b))| near(&format!("{path}[{at}]"), a, b)).sum()
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().expect("finite"), b.as_f64().expect("finite"));
            assert!((a - b).abs() <= 0.02 * a.abs().max(1.0), "{path}: {a} {b}");
            usize::from(a.to_bits() != b.to_bits())
        }
        _ => {
            assert_eq!(here, there, "{path}");
            0
        }
    }
}

/// Fields of a result that differ between any two runs, or between devices: identities and times.
const OF_ITS_OWN: [&str; 4] = ["digest", "digests", "models", "timing"];

#[test]
fn every_kind_scores_on_a_card_as_on_the_processor() {
    let Some(emulator) = Emulator::get(Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let card = Device::Gpu(emulator.open(0));
    let mut with_other_numbers = 0;
    for example in &examples() {
        let (here, there) = (run_on(example, &Device::Cpu), run_on(example, &card));
        println!("{}: {here}\n{there}", example.kind);
        assert_eq!(here["status"], "ok", "{}: {here}", example.kind);
        with_other_numbers += usize::from(near(&example.kind, &here, &there) > 0);
    }
    // Votes and verdicts in words are the same; scores of heads and of labels are rounded otherwise.
    assert!(with_other_numbers > 2, "{with_other_numbers}");
}
