use std::collections::BTreeMap;
use std::path::Path;

use safetensors::SafeTensors;

use models::weights::FloatType;

use super::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

fn spec(preset: Preset, head: TinyHead) -> TinySpec {
    TinySpec { head, ..TinySpec::from(preset) }
}

/// Every tensor of a folder: name, shape and bytes.
fn tensors(dir: &Path, files: &[String]) -> BTreeMap<String, (Vec<usize>, Vec<u8>)> {
    let mut all = BTreeMap::new();
    for file in files {
        let bytes = std::fs::read(dir.join(file)).expect("readable");
        let file = SafeTensors::deserialize(&bytes).expect("well formed");
        for (name, tensor) in file.iter() {
            let value = (tensor.shape().to_vec(), tensor.data().to_vec());
            assert!(all.insert(name.to_owned(), value).is_none(), "{name} twice");
        }
    }
    all
}

#[test]
fn seed_determines_the_bytes() {
    let parent = tempfile::tempdir().expect("a folder");
    let make =
        |name: &str, spec: &TinySpec| make(&parent.path().join(name), spec).expect("made").digest;
    let first = TinySpec::from(Preset::Qwen2);
    let digest = make("a", &first);
    assert_eq!(make("b", &first), digest);
    assert_ne!(make("c", &TinySpec { seed: 1, ..first.clone() }), digest);
    let f16 = TinySpec { storage: FloatType::F16, ..first };
    assert_ne!(make("d", &f16), digest);
}

#[test]
fn shards_hold_the_same_tensors_as_one_file() {
    let parent = tempfile::tempdir().expect("a folder");
    let whole_dir = parent.path().join("whole");
    let whole = make(&whole_dir, &Preset::Phi3.into()).expect("made");
    let expected = tensors(&whole_dir, &whole.files);
    for shards in [2, 3, expected.len()] {
        let dir = parent.path().join(shards.to_string());
        let spec = TinySpec { shards, ..TinySpec::from(Preset::Phi3) };
        let made = make(&dir, &spec).expect("made");
        assert_eq!(made.files.len(), shards);
        assert_eq!(made.n_parameters, whole.n_parameters);
        assert_eq!(tensors(&dir, &made.files), expected, "{shards}");
        let index = std::fs::read(dir.join("model.safetensors.index.json")).expect("there");
        let index: serde_json::Value = serde_json::from_slice(&index).expect("JSON");
        let map = index["weight_map"].as_object().expect("an object");
        assert_eq!(map.len(), expected.len());
    }
}

#[test]
fn fused_tensors_hold_their_parts_in_order() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = parent.path().join("phi3");
    let made = make(&dir, &Preset::Phi3.into()).expect("made");
    let tensors = tensors(&dir, &made.files);
    // 4 query heads and 2 of keys and values each, 16 wide, over 64; two times 80 over 64.
    let qkv = &tensors["model.layers.0.self_attn.qkv_proj.weight"];
    assert_eq!(qkv.0, [(4 + 2 + 2) * 16, 64]);
    let gate_up = &tensors["model.layers.1.mlp.gate_up_proj.weight"];
    assert_eq!(gate_up.0, [2 * 80, 64]);
    assert_eq!(gate_up.1.len(), 2 * 80 * 64 * 4);
}

#[test]
fn every_tiny_family_is_made_with_every_head() {
    let parent = tempfile::tempdir().expect("a folder");
    for preset in Preset::ALL.into_iter().filter(|p| !p.is_published_size()) {
        for head in TinyHead::ALL {
            let dir = parent.path().join(format!("{preset}-{head}"));
            let made = make(&dir, &spec(preset, head));
            let lacks = match head {
                TinyHead::Vocab | TinyHead::Value | TinyHead::Sequence => false,
                TinyHead::Token => matches!(preset, Preset::Gemma3 | Preset::Olmo2),
                TinyHead::Reward | TinyHead::Process => {
                    !matches!(preset, Preset::Qwen2 | Preset::Qwen2Window)
                }
            };
            assert_eq!(made.is_err(), lacks, "{preset} {head}: {made:?}");
            assert_eq!(dir.exists(), !lacks, "{preset} {head}");
        }
    }
}

#[test]
fn impossible_spec_is_refused_and_leaves_no_files() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = parent.path().join("model");
    let check = |spec: &TinySpec, part: &str| {
        let error = make(&dir, spec).expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
        let left = std::fs::read_dir(parent.path()).expect("readable").count();
        assert_eq!(left, 0, "{error}");
    };
    let base = TinySpec::from(Preset::Gemma3);
    let with = |head, labels| TinySpec { head, labels, ..base.clone() };
    check(&with(TinyHead::Token, None), "vocab, sequence, value");
    check(&with(TinyHead::Sequence, Some(0)), "0 labels");
    check(&with(TinyHead::Sequence, Some(100_000)), "from 1 to 1024");
    check(&with(TinyHead::Vocab, Some(2)), "has none to choose");
    check(&TinySpec { shards: 0, ..base.clone() }, "0 files");
    check(&TinySpec { shards: 999, ..base.clone() }, "999 files");
}

#[test]
fn an_adapter_has_two_factors_for_each_module_it_names() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = parent.path().join("adapter");
    let adapter = AdapterSpec {
        seed: 3,
        r: 4,
        alpha: 8,
        targets: ["q_proj", "embed_tokens"].map(String::from).to_vec(),
        rank_pattern: BTreeMap::from([("layers.1.self_attn.q_proj".into(), 2)]),
        alpha_pattern: BTreeMap::new(),
        rslora: false,
        score_labels: Some(3),
    };
    let base = Preset::Qwen2.into();
    let made = make_adapter(&dir, &base, &adapter).expect("made");
    let shapes: BTreeMap<_, _> =
        tensors(&dir, &made.files).into_iter().map(|(name, (shape, _))| (name, shape)).collect();
    let layer = |layer, factor| {
        format!("base_model.model.model.layers.{layer}.self_attn.q_proj.lora_{factor}.weight")
    };
    let embedding = |factor| format!("base_model.model.model.embed_tokens.lora_embedding_{factor}");
    let expected = BTreeMap::from([
        (layer(0, "A"), vec![4, 32]),
        (layer(0, "B"), vec![32, 4]),
        (layer(1, "A"), vec![2, 32]),
        (layer(1, "B"), vec![32, 2]),
        (embedding("A"), vec![4, 320]),
        (embedding("B"), vec![32, 4]),
        ("base_model.model.score.weight".into(), vec![3, 32]),
    ]);
    assert_eq!(shapes, expected);

    let refused = |change: fn(&mut AdapterSpec)| {
        let mut spec = adapter.clone();
        change(&mut spec);
        let dir = parent.path().join("refused");
        let error = make_adapter(&dir, &base, &spec).expect_err("refused");
        assert!(!dir.exists());
        error.to_string()
    };
    let check = |error: String, part: &str| assert!(error.contains(part), "{error}");
    check(refused(|spec| spec.targets.push("qkv_proj".into())), "`qkv_proj`");
    check(refused(|spec| spec.r = 0), "rank of 0");
    check(refused(|spec| spec.score_labels = Some(0)), "0 outputs");
    check(
        refused(|spec| spec.alpha_pattern.extend([("layers.9.q_proj".into(), 1)])),
        "alpha_pattern",
    );
}
