//! Folders that cannot be loaded: the error names the fault; nothing panics, and no size from a
//! file determines an allocation unchecked.

mod folder;

use std::path::Path;

use folder::{
    Tensors, Written, config, file, layout, model, parse, write, write_index, write_shards,
};
use models::weights::Storage;
use models::{LoadOptions, Model};
use serde_json::{Value, json};

/// Makes a good folder, lets `spoil` change it, and expects an error with every text.
fn check(spoil: impl FnOnce(&Path, Value, Tensors), says: &[&str]) {
    check_as(Storage::AsStored, spoil, says);
}

fn check_as(storage: Storage, spoil: impl FnOnce(&Path, Value, Tensors), says: &[&str]) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let json = config("llama");
    let (tensors, ..) = model(&parse(&json), "F32");
    write(dir.path(), &json, &tensors);
    spoil(dir.path(), json, tensors);
    let error = Model::load(dir.path(), &LoadOptions { storage, ..LoadOptions::default() })
        .expect_err(&format!("a load that says {says:?}"))
        .to_string();
    for text in says {
        assert!(error.contains(text), "`{text}` in `{error}`");
    }
}

/// As [`check`], with the tensors changed and written again.
fn check_tensors(change: impl FnOnce(&mut Tensors), says: &[&str]) {
    check(
        |dir, json, mut tensors| {
            change(&mut tensors);
            write(dir, &json, &tensors);
        },
        says,
    );
}

/// As [`check`], with the header's JSON changed and the data unchanged.
fn check_header(change: impl FnOnce(&mut Value), says: &[&str]) {
    check(
        |dir, _, tensors| {
            let (mut header, data) = layout(&tensors);
            change(&mut header);
            write_bytes(dir, &file(&header, &data));
        },
        says,
    );
}

fn write_bytes(dir: &Path, bytes: &[u8]) {
    std::fs::write(dir.join("model.safetensors"), bytes).expect("it is written");
}

const NORM: &str = "model.norm.weight";
const GATE: &str = "model.layers.1.mlp.gate_proj.weight";

#[test]
fn tensors() {
    check_tensors(|t| drop(t.remove(GATE)), &[GATE, "is missing; expected [20, 24]"]);
    check_tensors(
        |t| t.get_mut(GATE).expect("a gate").shape = vec![24, 20],
        &["model.safetensors", GATE, "has shape [24, 20]; expected [20, 24]"],
    );
    check_tensors(
        |t| t.get_mut(NORM).expect("a norm").shape = vec![24, 1],
        &[NORM, "has shape [24, 1]; expected [24]"],
    );
    for dtype in ["F64", "I32"] {
        let wrong = Written::new(dtype, &[20, 24], &[0.0; 480]);
        check_tensors(
            |t| drop(t.insert(GATE.into(), wrong)),
            &[GATE, dtype, "weights are F32, F16 or BF16"],
        );
    }
    let byte = Written { dtype: "F8_E4M3", shape: vec![20, 24], bytes: vec![0; 480] };
    check_tensors(|t| drop(t.insert(GATE.into(), byte)), &[GATE, "F8_E4M3"]);
    for extra in ["model.layers.3.mlp.gate_proj.weight", "model.layers.0.self_attn.q_proj.bias"] {
        let tensor = Written::new("F32", &[2], &[0.0; 2]);
        check_tensors(
            |t| drop(t.insert(extra.into(), tensor)),
            &["model.safetensors", extra, "belongs to no part"],
        );
    }
}

#[test]
fn numbers() {
    for (bad, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        check_tensors(
            |t| {
                t.get_mut(GATE).expect("a gate").bytes[4 * 245..4 * 246]
                    .copy_from_slice(&bad.to_le_bytes());
            },
            &["model.safetensors", GATE, shown, "[10, 5]", "not a finite number"],
        );
        check_tensors(
            |t| {
                t.get_mut(NORM).expect("a norm").bytes[4 * 23..]
                    .copy_from_slice(&bad.to_le_bytes());
            },
            &[NORM, shown, "[23]"],
        );
    }
    check_as(
        Storage::F16,
        |dir, json, mut tensors| {
            let gate = tensors.get_mut(GATE).expect("a gate");
            *gate = Written::new("BF16", &[20, 24], &[70_000.0; 480]);
            write(dir, &json, &tensors);
        },
        &[GATE, "70144 at [0, 0] is too large for F16"],
    );
}

#[test]
fn heads() {
    let head = |name: &'static str, shape: &'static [usize]| {
        let n = shape.iter().product();
        move |t: &mut Tensors| {
            drop(t.insert(name.into(), Written::new("F32", shape, &vec![0.0; n])));
        }
    };
    check_tensors(
        head("score.weight", &[1, 24]),
        &["score.weight", "contradicts the architecture", "Vocab"],
    );
    check_tensors(head("v_head.summary.weight", &[1, 24]), &["v_head.summary.bias", "is missing"]);
    let classifier = |dir: &Path, mut json: Value, mut tensors: Tensors| {
        json["architectures"] = json!(["LlamaForSequenceClassification"]);
        tensors.insert("score.0.weight".into(), Written::new("F32", &[1], &[0.0]));
        write(dir, &json, &tensors);
    };
    check(classifier, &["score.0.weight", "contradicts", "Sequence"]);
    let tied = |dir: &Path, mut json: Value, tensors: Tensors| {
        json["tie_word_embeddings"] = json!(true);
        write(dir, &json, &tensors);
    };
    check(tied, &["lm_head.weight", "differs from the embedding"]);
}

#[test]
fn files() {
    let cut = |len: usize| {
        move |dir: &Path, _: Value, tensors: Tensors| {
            let (header, data) = layout(&tensors);
            let bytes = file(&header, &data);
            let len = len.min(bytes.len() - 1);
            write_bytes(dir, &bytes[..len]);
        }
    };
    check(cut(0), &["model.safetensors", "too short"]);
    check(cut(7), &["too short"]);
    check(cut(100), &["model.safetensors", "truncated", "in a file of 100 bytes"]);
    check(cut(usize::MAX), &["model.safetensors", NORM, "truncated"]);
    check(
        |dir, _, tensors| {
            let (header, mut data) = layout(&tensors);
            data.extend([0; 3]);
            write_bytes(dir, &file(&header, &data));
        },
        &["3 bytes after the last tensor"],
    );
    for length in [1_u64 << 60, u64::MAX, 100_000_001] {
        let bytes = [&length.to_le_bytes()[..], b"{}"].concat();
        check(|dir, _, _| write_bytes(dir, &bytes), &["a header of", "at most"]);
    }
    for header in ["", "{", "[]", "{\"a\": 1}", "\u{0}\u{1}", "null"] {
        let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        check(
            |dir, _, _| write_bytes(dir, &bytes),
            &["model.safetensors", "not one of safetensors"],
        );
    }
    let twice = br#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#;
    let bytes = [&(twice.len() as u64).to_le_bytes(), &twice[..], &[0; 2]].concat();
    check(|dir, _, _| write_bytes(dir, &bytes), &["`a`", "twice"]);
}

#[test]
fn headers() {
    check_header(|h| h[GATE]["dtype"] = json!("F128"), &["model.safetensors", GATE, "F128"]);
    check_header(
        |h| h[GATE]["shape"] = json!([1_u64 << 40, 1_u64 << 40]),
        &[GATE, "are not a tensor", "1099511627776"],
    );
    check_header(|h| h[GATE]["shape"] = json!([20, 23]), &[GATE, "[20, 23]"]);
    check_header(|h| h[GATE]["shape"] = json!([-1]), &[GATE]);
    check_header(
        |h| {
            let start = h[GATE]["data_offsets"][0].as_u64().expect("an offset");
            h[GATE]["data_offsets"][0] = json!(start - 8);
        },
        &[GATE, "inside the one that ends at"],
    );
    check_header(
        |h| h[NORM]["data_offsets"] = json!([u64::MAX - 95, u64::MAX]),
        &[NORM, "the one before ends at"],
    );
    check_header(
        |h| {
            let start = h[NORM]["data_offsets"][0].clone();
            h[NORM]["data_offsets"] = json!([start, 1_u64 << 50]);
        },
        &[NORM, "truncated"],
    );
    check_header(
        |h| {
            let start = h[NORM]["data_offsets"][0].as_u64().expect("an offset");
            h[NORM]["data_offsets"] = json!([start, start - 1]);
        },
        &[NORM, "are not a tensor"],
    );
}

/// Makes shards, passes the index to `change`, and expects an error.
fn check_shards(change: impl FnOnce(&Path, &mut Value), says: &[&str]) {
    check(
        |dir, json, tensors| {
            std::fs::remove_file(dir.join("model.safetensors")).expect("it was there");
            let mut index = write_shards(dir, &json, &tensors);
            change(dir, &mut index);
            write_index(dir, &index);
        },
        says,
    );
}

#[test]
fn shards() {
    const FIRST: &str = "model-00001-of-00003.safetensors";
    const LAST: &str = "model-00003-of-00003.safetensors";
    check_shards(
        |dir, _| std::fs::remove_file(dir.join(LAST)).expect("it was there"),
        &[LAST, "absent"],
    );
    check_shards(
        |_, index| index["weight_map"][NORM] = json!(FIRST),
        &[FIRST, NORM, "is not in this file"],
    );
    check_shards(
        |_, index| index["weight_map"]["stray"] = json!(FIRST),
        &[FIRST, "`stray`", "is not in this file"],
    );
    check_shards(
        |_, index| {
            drop(index["weight_map"].as_object_mut().expect("a map").remove(NORM));
        },
        &["index.json", NORM, "not in the index"],
    );
    check_shards(
        |dir, _| {
            std::fs::copy(dir.join(FIRST), dir.join(LAST)).expect("it is copied");
        },
        &["is also in", FIRST],
    );
    for shard in ["../model.safetensors", "/etc/passwd", "a/b.safetensors", "..", ".", "", "c:\\x"]
    {
        check_shards(
            |_, index| index["weight_map"][NORM] = json!(shard),
            &["index.json", "is not a file of this folder", shard],
        );
    }
    check_shards(
        |_, index| index["weight_map"] = json!([1]),
        &["index.json", "not an index of shards"],
    );
    check_shards(
        |dir, _| std::fs::write(dir.join("model.safetensors"), b"").expect("it is written"),
        &["the choice between them is ambiguous"],
    );
}

#[test]
fn folders() {
    let remove =
        |dir: &Path| std::fs::remove_file(dir.join("model.safetensors")).expect("it was there");
    check(|dir, _, _| remove(dir), &["holds neither model.safetensors nor"]);
    check(
        |dir, _, _| {
            remove(dir);
            std::fs::write(dir.join("pytorch_model.bin"), b"\x80").expect("it is written");
        },
        &["pytorch_model.bin", "convert it"],
    );
    check(
        |dir, _, _| {
            remove(dir);
            std::fs::create_dir(dir.join("model.safetensors")).expect("it is made");
        },
        &["model.safetensors", "not a regular file"],
    );
    let dir = tempfile::tempdir().expect("a temporary folder");
    let load = |path: &Path| {
        let error = Model::load(path, &LoadOptions::default()).expect_err("it cannot be loaded");
        error.to_string()
    };
    let absent = dir.path().join("absent");
    assert!(load(&absent).contains("absent"), "{}", load(&absent));
    let plain = dir.path().join("plain");
    std::fs::write(&plain, b"").expect("it is written");
    assert!(load(&plain).ends_with("plain: not a folder"), "{}", load(&plain));
}

#[cfg(unix)]
#[test]
fn links() {
    use std::os::unix::fs::symlink;
    // A loop of links in place of the weights, the configuration or the folder.
    for name in ["model.safetensors", "config.json"] {
        check(
            |dir, _, _| {
                std::fs::remove_file(dir.join(name)).expect("it was there");
                symlink(name, dir.join(name)).expect("it is linked");
            },
            &[name, "symbolic links"],
        );
    }
    check(
        |dir, _, _| {
            std::fs::remove_file(dir.join("model.safetensors")).expect("it was there");
            symlink("nowhere", dir.join("model.safetensors")).expect("it is linked");
        },
        &["model.safetensors", "No such file"],
    );
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("loop");
    symlink("loop", &path).expect("it is linked");
    let error = Model::load(&path, &LoadOptions::default()).expect_err("a loop");
    assert!(error.to_string().contains("symbolic links"), "{error}");
}
