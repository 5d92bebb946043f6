//! A folder of bytes in the program equals the folder that the bytes came from.

use std::path::{Path, PathBuf};

use chat::{Folder, Tokenizer};
use models::decoder::RowSelection;
use models::{LoadOptions, Model, PackItem, pack};
use tiny_models::{Preset, TinyHead, TinySpec, make};

type Files = Vec<(&'static str, &'static [u8])>;

/// All files below a directory, with their names in it.
fn files(dir: &Path, below: &str) -> Files {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = format!("{below}{}", name.expect("our own names"));
        if path.is_dir() {
            found.extend(files(&path, &format!("{name}/")));
        } else {
            let bytes = std::fs::read(&path).expect("readable");
            let (name, bytes): (&str, &[u8]) = (name.leak(), bytes.leak());
            found.push((name, bytes));
        }
    }
    found
}

fn embedded(dir: &Path) -> Folder {
    Folder::in_memory(Path::new("<built in>/tiny"), files(dir, ""))
}

fn bits(model: &Model) -> Vec<u32> {
    let item = PackItem {
        token_ids: vec![3, 1, 36, 0, 7],
        start: 0,
        adapter: None,
        outputs: Vec::new(),
        blocks: Vec::new(),
    };
    let batch = pack(&[item]).expect("one item is a batch");
    let hidden = model.decoder.forward(&batch, &[], None, RowSelection::All);
    let hidden = hidden.and_then(|hidden| Ok(hidden.flatten_all()?.to_vec1::<f32>()?));
    let hidden = hidden.expect("it runs");
    hidden.into_iter().map(f32::to_bits).collect()
}

fn load(folder: &Folder) -> Model {
    Model::of_folder(folder, &LoadOptions::default()).expect("the folder is good")
}

#[test]
fn model_from_memory_equals_model_from_folder() {
    for (preset, head, shards) in [
        (Preset::Qwen2, TinyHead::Vocab, 1),
        (Preset::Phi3, TinyHead::Sequence, 3),
        (Preset::Qwen3, TinyHead::Value, 2),
    ] {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let dir = parent.path().join("model");
        let spec = TinySpec { head, shards, ..TinySpec::from(preset) };
        make(&dir, &spec).expect("it is made");
        let (there, here) = (load(&Folder::directory(&dir)), load(&embedded(&dir)));
        assert_eq!(there.digest, here.digest, "{preset:?}");
        let unloaded = Model::digest_of(&embedded(&dir)).expect("the folder is good");
        assert_eq!(there.digest, unloaded, "{preset:?}");
        assert_eq!(there.config, here.config, "{preset:?}");
        assert_eq!(bits(&there), bits(&here), "{preset:?}");
        assert_eq!(there.parameters, here.parameters);
        let names = |model: &Model| -> Vec<PathBuf> {
            let names = model.files.iter().map(|path| path.file_name());
            names.map(|name| name.expect("files").into()).collect()
        };
        assert_eq!(names(&there), names(&here));
        let there = Tokenizer::load(&dir).expect("it was made");
        let here = Tokenizer::of_folder(&embedded(&dir)).expect("it was made");
        same_tokenizer(&there, &here);
    }
}

fn same_tokenizer(there: &Tokenizer, here: &Tokenizer) {
    assert_eq!(there.template().digest(), here.template().digest());
    assert_eq!(there.template().is_missing(), here.template().is_missing());
    assert_eq!(there.eos_ids(), here.eos_ids());
    assert_eq!(there.vocab_size(), here.vocab_size());
    let text = "What is 2 + 3?\n<|im_start|> é";
    let [there, here] = [there, here].map(|each| each.encode(text, true).expect("text"));
    assert_eq!(there, here);
}

/// Folders with legacy files, templates in every place, and folders in the folder.
#[test]
fn tokenizer_from_memory_equals_tokenizer_from_folder() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat/tests/fixtures");
    for kind in ["qwen", "gemma", "llama2", "words"] {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let dir = parent.path();
        for (name, bytes) in files(&fixtures.join("tokenizers").join(kind), "") {
            std::fs::write(dir.join(name), bytes).expect("the folder is ours");
        }
        let compare = || {
            let there = Tokenizer::load(dir).expect("the fixture is good");
            let here = Tokenizer::of_folder(&embedded(dir)).expect("the fixture is good");
            same_tokenizer(&there, &here);
        };
        compare();
        let write = |name: &str, text: &str| {
            std::fs::write(dir.join(name), text).expect("the folder is ours");
        };
        write("generation_config.json", r#"{"eos_token_id": [1, 2]}"#);
        write("chat_template.json", r#"{"chat_template": "old"}"#);
        compare();
        write("chat_template.jinja", "{{ messages[0].content }}");
        std::fs::create_dir(dir.join("additional_chat_templates")).expect("the folder is ours");
        for name in ["tool_use.jinja", "a.jinja", ".jinja", "notes.txt"] {
            write(&format!("additional_chat_templates/{name}"), name);
        }
        compare();
    }
}

#[test]
fn missing_or_truncated_file_is_named() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let dir = parent.path().join("model");
    make(&dir, &TinySpec::from(Preset::Qwen2)).expect("it is made");
    let whole = files(&dir, "");
    let check = |change: &dyn Fn(&mut Files), expected: &str| {
        let mut files = whole.clone();
        change(&mut files);
        let folder = Folder::in_memory(Path::new("<built in>/tiny"), files);
        let model = Model::of_folder(&folder, &LoadOptions::default()).map(drop);
        let error = model.and_then(|()| Ok(Tokenizer::of_folder(&folder).map(drop)?));
        let error = error.expect_err(expected).to_string();
        assert!(error.contains("<built in>/tiny"), "{error}");
        assert!(error.contains(expected), "{error}");
    };
    let without = |name: &'static str| move |files: &mut Files| files.retain(|(n, _)| *n != name);
    check(&without("config.json"), "config.json");
    check(&without("model.safetensors"), "neither model.safetensors");
    check(&without("tokenizer.json"), "tokenizer.json");
    check(
        &|files| {
            let file = files.iter_mut().find(|(n, _)| *n == "model.safetensors");
            let (_, bytes) = file.expect("it was made");
            *bytes = &bytes[..bytes.len() / 2];
        },
        "model.safetensors",
    );
}
