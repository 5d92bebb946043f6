//! An inspection reports the findings of a load, and lists everything at which a load would stop.

use std::path::Path;

use serde_json::{Value, json};

use models::inspect::{FolderKind, InspectOptions, Inspection, inspect};
use models::weights::Storage;
use models::{LoadOptions, Model};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

const ALL: InspectOptions = InspectOptions { check: true, base: None };

fn tiny(preset: Preset, head: TinyHead) -> TinySpec {
    TinySpec { head, ..TinySpec::from(preset) }
}

/// A folder that a test may change.
fn folder(spec: &TinySpec) -> (tempfile::TempDir, std::path::PathBuf) {
    let root = tempfile::tempdir().expect("a folder");
    let dir = root.path().join("model");
    make(&dir, spec).expect("a model");
    (root, dir)
}

fn look(dir: &Path, options: &InspectOptions) -> Inspection {
    inspect(dir, options).expect("a folder")
}

#[test]
fn inspection_equals_a_load() {
    for preset in Preset::ALL.iter().filter(|p| **p != Preset::Qwen25Half) {
        let (_root, dir) = folder(&tiny(*preset, TinyHead::Vocab));
        let found = look(&dir, &ALL);
        assert_eq!(found.problems, [""; 0], "{preset:?}");
        assert_eq!(found.kind, FolderKind::Model);
        let facts = found.model.expect("a model");
        let (parameters, memory) =
            (facts.parameters.expect("numbers"), facts.memory.expect("sizes"));
        for (storage, bytes) in [
            (Storage::AsStored, memory.as_stored),
            (Storage::F32, memory.f32),
            (Storage::F16, memory.f16),
            (Storage::Bf16, memory.f16),
        ] {
            let model = Model::load(&dir, &LoadOptions { storage, ..LoadOptions::default() })
                .expect("it loads");
            assert_eq!(model.memory.total_bytes(), bytes, "{preset:?} {storage:?}");
            assert_eq!(model.parameters, parameters.total, "{preset:?}");
            assert_eq!(Some(&model.digest), facts.digest.as_ref(), "{preset:?}");
        }
        let layers: u64 = parameters.layers.iter().sum();
        let norm = facts.shape.hidden_size as u64;
        let parts = parameters.embedding + parameters.vocabulary + parameters.head + layers + norm;
        assert_eq!(parts, parameters.total, "{preset:?}");
        assert!(memory.int8 < memory.f32);
        for layers in [
            facts.shape.mlps.iter().map(|each| each.layers).sum::<usize>(),
            facts.shape.windows.iter().map(|each| each.layers).sum(),
            facts.shape.ropes.iter().map(|each| each.layers).sum(),
        ] {
            assert_eq!(layers, facts.shape.num_layers, "{preset:?}");
        }
        assert!(found.tokenizer.expect("a tokenizer").template.is_some());
    }
}

#[test]
fn heads_are_named() {
    for (head, kind, n_labels) in [
        (TinyHead::Vocab, "vocabulary", None),
        (TinyHead::Value, "value", Some(1)),
        (TinyHead::Sequence, "sequence", Some(1)),
        (TinyHead::Token, "token", Some(2)),
    ] {
        let (_root, dir) = folder(&tiny(Preset::Qwen2, head));
        let facts = look(&dir, &InspectOptions::default()).model.expect("a model");
        assert_eq!((facts.head.kind, facts.head.n_labels), (kind, n_labels));
    }
}

/// Checks that with these fields of config.json, each of these texts is in a problem of its own.
fn check_problems(fields: &Value, says: &[&str]) {
    let (_root, dir) = folder(&tiny(Preset::Qwen2, TinyHead::Vocab));
    let path = dir.join("config.json");
    let text = std::fs::read_to_string(&path).expect("read");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    for (field, value) in fields.as_object().expect("fields") {
        config[field] = value.clone();
    }
    std::fs::write(&path, config.to_string()).expect("written");
    let problems = look(&dir, &ALL).problems;
    assert_eq!(problems.len(), says.len(), "{problems:#?}");
    for (problem, says) in problems.iter().zip(says) {
        assert!(problem.contains(says), "{problem} does not say {says}");
    }
}

#[test]
fn all_problems_are_listed_at_once() {
    check_problems(&json!({}), &[]);
    check_problems(&json!({"model_type": "unheard_of"}), &["model_type"]);
    // A tied vocabulary head becomes a separate one, which no file has.
    check_problems(&json!({"tie_word_embeddings": false}), &["`lm_head.weight`: is missing"]);
    let (_root, dir) = folder(&tiny(Preset::Qwen2, TinyHead::Vocab));
    std::fs::write(dir.join("tokenizer.json"), "{").expect("written");
    std::fs::write(dir.join("model.safetensors"), "short").expect("written");
    let problems = look(&dir, &ALL).problems;
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems[0].contains("model.safetensors") && problems[1].contains("tokenizer.json"));
}

#[test]
fn all_misfitting_tensors_are_named() {
    let (_root, dir) = folder(&tiny(Preset::Qwen2, TinyHead::Vocab));
    let (_other, wider) = folder(&tiny(Preset::Qwen3, TinyHead::Vocab));
    std::fs::copy(wider.join("model.safetensors"), dir.join("model.safetensors")).expect("copied");
    let problems = look(&dir, &InspectOptions::default()).problems;
    for says in ["q_proj.bias`: is missing", "q_norm.weight`: belongs to no part"] {
        let named = problems.iter().filter(|problem| problem.contains(says));
        assert!(named.count() > 1, "{says}: {problems:#?}");
    }
}

#[test]
fn non_finite_numbers_are_found_only_with_check() {
    let (_root, dir) = folder(&tiny(Preset::Qwen2, TinyHead::Vocab));
    let path = dir.join("model.safetensors");
    let mut bytes = std::fs::read(&path).expect("read");
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, bytes).expect("written");
    assert_eq!(look(&dir, &InspectOptions::default()).problems, [""; 0]);
    let problems = look(&dir, &ALL).problems;
    assert!(problems.len() == 1 && problems[0].contains("NaN"), "{problems:#?}");
}

fn spec(targets: &[&str]) -> AdapterSpec {
    let json = json!({"r": 4, "alpha": 8, "targets": targets, "score_labels": 1});
    serde_json::from_value(json).expect("a specification")
}

#[test]
fn adapter_is_inspected_with_and_without_its_base() {
    let base = tiny(Preset::Qwen2, TinyHead::Vocab);
    let (root, dir) = folder(&base);
    let adapter = root.path().join("adapter");
    make_adapter(&adapter, &base, &spec(&["q_proj", "embed_tokens"])).expect("an adapter");

    let alone = look(&adapter, &ALL);
    assert_eq!((alone.kind, alone.problems.len()), (FolderKind::Adapter, 0));
    let facts = alone.adapter.expect("an adapter");
    assert_eq!(facts.outline.expect("an outline").targets, ["q_proj", "embed_tokens"]);
    assert!(facts.report.is_none() && alone.notes[0].contains("--base"));

    let options = InspectOptions { base: Some(dir), ..ALL };
    let bound = look(&adapter, &options);
    assert_eq!(bound.problems, [""; 0]);
    let report = bound.adapter.and_then(|facts| facts.report).expect("a report");
    assert!(report.norm > 0.0 && report.head.is_some_and(|head| head.n_labels == 1));

    let (_other, wider) = folder(&tiny(Preset::Llama, TinyHead::Vocab));
    let options = InspectOptions { base: Some(wider), ..ALL };
    let problems = look(&adapter, &options).problems;
    assert!(problems[0].contains("has shape"), "{problems:#?}");
}

#[test]
fn unknown_folder_is_a_problem_and_missing_folder_an_error() {
    let root = tempfile::tempdir().expect("a folder");
    let found = look(root.path(), &ALL);
    assert_eq!((found.kind, found.problems.len()), (FolderKind::Unknown, 1));
    std::fs::write(root.path().join("file"), "").expect("written");
    assert!(inspect(&root.path().join("file"), &ALL).is_err());
    assert!(inspect(&root.path().join("absent"), &ALL).is_err());
}
