//! The folder: it loads, its tokens have their documented ids, and its numbers have the documented
//! size.

use chat::Tokenizer;
use models::{LoadOptions, Model};

use crate::model_folder::{ModelSize, write_model_folder};
use crate::symbols::{BEGIN, END, PAD, STEP, VOCABULARY};

fn made(size: ModelSize, seed: u64) -> (tempfile::TempDir, std::path::PathBuf) {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = parent.path().join("model");
    write_model_folder(&dir, size, seed).expect("it is written");
    (parent, dir)
}

pub(super) fn tokenizer() -> Tokenizer {
    let parent = tempfile::tempdir().expect("a folder");
    crate::model_folder::tokenizer(ModelSize::SMOKE, &parent.path().join("t")).expect("it loads")
}

#[test]
fn sizes_load_with_their_documented_parameters() {
    let check = |size: ModelSize, parameters: u64| {
        let (_parent, dir) = made(size, 1);
        let model = Model::load(&dir, &LoadOptions::default()).expect("it loads");
        assert_eq!(model.config.parameters(), Some(parameters));
        assert_eq!(model.config.vocab_size, VOCABULARY);
        assert!(model.config.max_positions >= 512);
        let tokenizer = Tokenizer::load(&dir).expect("it loads");
        tokenizer.check_against(VOCABULARY).expect("rows enough");
        assert_eq!(tokenizer.vocab_size(), VOCABULARY);
        assert_eq!(tokenizer.eos_ids(), [END]);
        let named = |name| tokenizer.named_id(name);
        assert_eq!(named("bos_token"), Some(BEGIN));
        assert_eq!(named("pad_token"), Some(PAD));
    };
    check(ModelSize::SMOKE, 107_968);
    check(ModelSize::DEMO, 806_272);
    check(ModelSize::EMBEDDED, 999_520);
}

#[test]
fn seed_determines_the_folder() {
    let weights = |seed| {
        let (_parent, dir) = made(ModelSize::SMOKE, seed);
        std::fs::read(dir.join("model.safetensors")).expect("there")
    };
    let first = weights(7);
    assert_eq!(first, weights(7));
    assert_ne!(first, weights(8));
}

#[test]
fn invalid_model_sizes_are_refused() {
    let parent = tempfile::tempdir().expect("a folder");
    let check = |change: fn(&mut ModelSize)| {
        let mut shape = ModelSize::SMOKE;
        change(&mut shape);
        let dir = parent.path().join("model");
        assert!(write_model_folder(&dir, shape, 0).is_err(), "{shape:?}");
        assert!(!dir.exists());
    };
    check(|shape| shape.layers = 0);
    check(|shape| shape.context = 0);
    check(|shape| shape.heads = 3);
    check(|shape| shape.kv_heads = 3);
    check(|shape| shape.hidden = 66);
    let full = parent.path().join("full");
    std::fs::create_dir_all(full.join("something")).expect("made");
    assert!(write_model_folder(&full, ModelSize::SMOKE, 0).is_err(), "nothing is overwritten");
}

#[test]
fn one_token_is_one_character() {
    let tokenizer = tokenizer();
    let check = |text: &str, expected: &[u32]| {
        let ids = tokenizer.encode_untrusted(text, true).expect("it encodes");
        assert_eq!(ids, expected, "{text:?}");
    };
    let ascii: String = (32_u8..127).map(char::from).chain(['\n']).collect();
    let codes: Vec<u32> = (32..127).chain([10]).collect();
    check(&ascii, &codes);
    let back = tokenizer.decode(&codes, true).expect("known tokens");
    assert_eq!(back, ascii);
    check("Yes", &[127]);
    check("No", &[128]);
    check("x Yes. No", &[120, 129, 46, 130]);
    check("Yesterday", &b"Yesterday".map(u32::from));
    check("None", &b"None".map(u32::from));
    check("[Correct]=[Incorrect]", &[131, 61, 132]);
    // Neither an unknown character nor the spelling of a special token becomes a special token.
    check("é\t", &[1, 1]);
    check("<|end|>", &b"<|end|>".map(u32::from));
    check("<tool_call>", &b"<tool_call>".map(u32::from));
    check("", &[]);
    assert_eq!(tokenizer.id("<|step|>"), Some(STEP));
    for id in 0..u32::try_from(VOCABULARY).expect("small") {
        let token = tokenizer.token(id).expect("every row has a token");
        assert_eq!(tokenizer.id(&token), Some(id));
        let bytes = tokenizer.token_bytes(id).expect("known");
        assert_eq!(bytes, token.as_bytes(), "{token:?}");
    }
}
