//! Outputs compared with those of transformers and peft, on folders made from seeds.
//!
//! The goldens hold the results of the reference, one sequence at a time; `cargo xtask parity`
//! writes them. Each test makes the folders again, checks that their weights are those of the
//! reference, and must come within 1e-4 of every number.

#![expect(clippy::cast_precision_loss, reason = "counts of numbers in a mean")]

mod cases;
mod golden;
mod rounded;
mod second_opinion;
mod sequences;

use std::path::Path;
use std::sync::Arc;

use chat::{Conversation, Tokenizer};
use models::adapter::{Adapter, Base};
use models::batch::AdapterSlot;
use models::model::{LoadOptions, Model};
use models::weights::Compute;
use models::{Forward as _, Runner};

use cases::{AdapterCase, Cases, ModelCase};
use golden::{Closeness, Golden, Reference, read};
use sequences::{Sequence, Work, advance, greedy, scatter};

/// Makes, loads and checks every model; all that fail are listed.
fn for_each_model(check: impl Fn(Model, &Golden, &mut Closeness) -> Result<(), String>) {
    let parent = tempfile::tempdir().expect("a folder");
    let failures: Vec<_> = Cases::read()
        .models
        .iter()
        .filter_map(|case| {
            let golden = read(format!("models/{}.json", case.name));
            let mut closeness = Closeness::default();
            let checked = load_checked(case, parent.path(), &golden)
                .and_then(|model| check(model, &golden, &mut closeness));
            report(&case.name, checked, &closeness)
        })
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Prints the distance of a case; returns its fault, if any.
fn report(name: &str, checked: Result<(), String>, closeness: &Closeness) -> Option<String> {
    match checked.and_then(|()| closeness.verdict()) {
        Ok(line) => {
            println!("{name}: {line}");
            None
        }
        Err(why) => Some(format!("{name}: {why}")),
    }
}

fn load_checked(case: &ModelCase, parent: &Path, golden: &Golden) -> Result<Model, String> {
    load_checked_as(Compute::F32, case, parent, golden)
}

fn load_checked_as(
    compute: Compute,
    case: &ModelCase,
    parent: &Path,
    golden: &Golden,
) -> Result<Model, String> {
    let (dir, made) = case.make(parent)?;
    if made.digest != golden.weights {
        return Err("the weights are not those that the reference read".into());
    }
    load(&dir, compute)
}

fn load(dir: &Path, compute: Compute) -> Result<Model, String> {
    let options = LoadOptions { compute: Some(compute), ..LoadOptions::default() };
    Model::load(dir, &options).map_err(|error| error.to_string())
}

/// Every prompt with its expected outputs.
fn works(golden: &Golden, adapter: Option<AdapterSlot>) -> Vec<Work> {
    let reference: Reference = read("reference.json");
    let prompts = golden.prompts.iter();
    prompts
        .map(|prompt| {
            let token_ids = reference.prompt(prompt.length);
            (Sequence::new(token_ids, adapter), prompt.wanted())
        })
        .collect()
}

/// One batch per prompt, and then one batch of all prompts.
fn alone_and_together(
    runner: &mut Runner,
    golden: &Golden,
    adapter: Option<AdapterSlot>,
    closeness: &mut Closeness,
) -> Result<(), String> {
    for mut work in works(golden, adapter) {
        advance(runner, &mut [(&mut work, usize::MAX)], closeness)?;
    }
    let mut all = works(golden, adapter);
    all.reverse();
    let mut together: Vec<_> = all.iter_mut().map(|work| (work, usize::MAX)).collect();
    advance(runner, &mut together, closeness)
}

/// All prompts at once, in pieces of these lengths, over KV blocks.
fn in_pieces(
    model: Model,
    golden: &Golden,
    lengths: &[usize],
    closeness: &mut Closeness,
) -> Result<(), String> {
    let mut all = works(golden, None);
    let mut sequences: Vec<_> = all.iter_mut().map(|work| &mut work.0).collect();
    let n_blocks = scatter(&mut sequences, 0);
    let mut runner = with_kv(model, n_blocks)?;
    for n in lengths.iter().cycle() {
        let mut left: Vec<_> =
            all.iter_mut().filter(|work| !work.0.is_done()).map(|work| (work, *n)).collect();
        if left.is_empty() {
            break;
        }
        advance(&mut runner, &mut left, closeness)?;
    }
    Ok(())
}

fn with_kv(model: Model, n_blocks: usize) -> Result<Runner, String> {
    let runner = Runner::new(model.decoder, model.head).with_kv(n_blocks);
    runner.map_err(|error| error.to_string())
}

/// Greedy continuations, all prompts side by side.
fn continuations(
    runner: &mut Runner,
    golden: &Golden,
    sequences: &mut [Sequence],
    closeness: &mut Closeness,
) -> Result<(), String> {
    let steps = golden.generated.first().map_or(0, |g| g.tokens.len());
    let logits = greedy(runner, sequences, steps)?;
    for ((golden, sequence), seen) in golden.generated.iter().zip(sequences).zip(logits) {
        let tokens = &sequence.token_ids[golden.length..];
        if tokens != golden.tokens {
            return Err(format!("{tokens:?} follow, not {:?}", golden.tokens));
        }
        for (row, expected) in seen.iter().zip(&golden.logits) {
            let chosen: Vec<_> = golden.columns.iter().map(|at| row[*at]).collect();
            closeness.see_all(&chosen, expected)?;
        }
    }
    Ok(())
}

fn prompts_to_continue(golden: &Golden, adapter: Option<AdapterSlot>) -> Vec<Sequence> {
    let reference: Reference = read("reference.json");
    let lengths = golden.generated.iter().map(|g| g.length);
    lengths.map(|length| Sequence::new(reference.prompt(length), adapter)).collect()
}

#[test]
fn prompts_alone_and_batched_equal_transformers() {
    for_each_model(|model, golden, closeness| {
        let mut runner = Runner::new(model.decoder, model.head);
        alone_and_together(&mut runner, golden, None, closeness)
    });
}

#[test]
fn chunked_prompts_over_kv_blocks_equal_transformers() {
    for_each_model(|model, golden, closeness| {
        in_pieces(model.clone(), golden, &[5, 1, 40, 16, 128], closeness)?;
        in_pieces(model, golden, &[256], closeness)
    });
}

#[test]
fn greedy_tokens_over_kv_blocks_equal_transformers() {
    for_each_model(|model, golden, closeness| {
        if golden.generated.is_empty() {
            // Without a vocabulary nothing is generated.
            assert!(!model.config.head.has_vocabulary());
            closeness.see(0.0, 0.0);
            return Ok(());
        }
        let mut sequences = prompts_to_continue(golden, None);
        let n_blocks = scatter(&mut sequences.iter_mut().collect::<Vec<_>>(), 12);
        let mut runner = with_kv(model, n_blocks)?;
        continuations(&mut runner, golden, &mut sequences, closeness)
    });
}

/// Loads an adapter beside its base; returns its slot and a runner with KV blocks.
fn load_adapter(
    case: &AdapterCase,
    cases: &Cases,
    parent: &Path,
) -> Result<(Runner, AdapterSlot), String> {
    load_adapter_as(Compute::F32, case, cases, parent)
}

fn load_adapter_as(
    compute: Compute,
    case: &AdapterCase,
    cases: &Cases,
    parent: &Path,
) -> Result<(Runner, AdapterSlot), String> {
    let golden: Golden = read(format!("adapters/{}.json", case.name));
    let base = cases.model(&case.base)?;
    let golden_base = read(format!("models/{}.json", base.name));
    let model = load_checked_as(compute, base, parent, &golden_base)?;
    let (dir, made) = case.make(parent, &base.spec)?;
    if made.digest != golden.weights {
        return Err("the factors are not those that the reference read".into());
    }
    let known = Base { config: &model.config, digest: Some(&model.digest), files: None };
    let adapter = Adapter::load(&dir, &known).map_err(|error| error.to_string())?;
    let mut runner = with_kv(model, KV_BLOCKS)?;
    let slot = runner.insert(Arc::new(adapter)).map_err(|error| error.to_string())?;
    Ok((runner, slot))
}

/// KV blocks for both continued prompts.
const KV_BLOCKS: usize = 64;

#[test]
fn adapters_equal_peft() {
    let cases = Cases::read();
    let check = |case: &AdapterCase, closeness: &mut Closeness| {
        let parent = tempfile::tempdir().expect("a folder");
        let golden: Golden = read(format!("adapters/{}.json", case.name));
        let (mut runner, slot) = load_adapter(case, &cases, parent.path())?;
        alone_and_together(&mut runner, &golden, Some(slot), closeness)?;
        let mut sequences = prompts_to_continue(&golden, Some(slot));
        scatter(&mut sequences.iter_mut().collect::<Vec<_>>(), 12);
        continuations(&mut runner, &golden, &mut sequences, closeness)
    };
    let failures: Vec<_> = cases
        .adapters
        .iter()
        .filter_map(|case| {
            let mut closeness = Closeness::default();
            report(&case.name, check(case, &mut closeness), &closeness)
        })
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn base_beside_an_adapter_equals_transformers() {
    let cases = Cases::read();
    for case in &cases.adapters {
        let parent = tempfile::tempdir().expect("a folder");
        let (mut runner, slot) = load_adapter(case, &cases, parent.path()).expect("loaded");
        let mut closeness = Closeness::default();
        let base: Golden = read(format!("models/{}.json", case.base));
        let adapted: Golden = read(format!("adapters/{}.json", case.name));
        let mut all = works(&base, None);
        all.extend(works(&adapted, Some(slot)));
        // Sequences of both kinds in turn.
        all.sort_by_key(|work| work.0.token_ids.len());
        let mut together: Vec<_> = all.iter_mut().map(|work| (work, usize::MAX)).collect();
        advance(&mut runner, &mut together, &mut closeness).expect("comparable");
        closeness.verdict().expect(&case.name);
    }
}

#[test]
fn chats_are_rendered_and_encoded_as_by_transformers() {
    let parent = tempfile::tempdir().expect("a folder");
    let (dir, _) = Cases::read().models[0].make(parent.path()).expect("made");
    let tokenizer = Tokenizer::load(&dir).expect("a tokenizer and a template");
    let reference: Reference = read("reference.json");
    assert!(!reference.chats.is_empty());
    for chat in reference.chats {
        let conversation = Conversation {
            messages: chat.messages,
            add_generation_prompt: chat.add_generation_prompt,
            ..Conversation::default()
        };
        let rendered = tokenizer.template().render(&conversation);
        assert_eq!(rendered.expect("a good chat").as_str(), chat.text);
        let encoded = tokenizer.encode_chat(&conversation).expect("a good chat");
        assert_eq!(encoded.token_ids, chat.token_ids, "{:?}", chat.text);
    }
}
