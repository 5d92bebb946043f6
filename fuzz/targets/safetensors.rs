//! Any weight file.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Map, Value, json};

#[path = "../entries/folder.rs"]
mod folder;
#[path = "mutate.rs"]
mod mutate;
#[path = "../entries/safetensors.rs"]
mod safetensors;

use mutate::Random;

/// Most bytes of the tensors that a mutation makes.
const MOST_DATA: usize = 2048;

fuzz_target!(|data: &[u8]| safetensors::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::with(data, (size, max_size), seed, file)
});

/// A file with another header, whose length is right, and mostly with the tensors where it has them.
fn file(input: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let length = u64::from_le_bytes(*input.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    let mut header = mutate::json(input.get(8..end)?, random)?;
    let mut data = input.len() - end;
    if random.below(4) > 0
        && let Ok(Value::Object(mut tensors)) = serde_json::from_slice(&header)
    {
        data = follow_each_other(&mut tensors);
        header = serde_json::to_vec(&tensors).ok()?;
    }
    let mut made = u64::try_from(header.len()).ok()?.to_le_bytes().to_vec();
    made.extend(header);
    made.resize(made.len() + data.min(MOST_DATA), 0x3c);
    Some(made)
}

/// Puts the tensors one after the other, each as long as its shape and type say; returns their bytes.
fn follow_each_other(tensors: &mut Map<String, Value>) -> usize {
    let mut end = 0_usize;
    for tensor in tensors.values_mut().filter_map(Value::as_object_mut) {
        let shape = tensor.get("shape").and_then(Value::as_array).into_iter().flatten();
        let dims = shape.filter_map(|dim| usize::try_from(dim.as_u64()?).ok());
        let bits: usize = match tensor.get("dtype").and_then(Value::as_str) {
            Some("F64" | "I64" | "U64" | "C64") => 64,
            Some("F32" | "I32" | "U32") => 32,
            Some("F16" | "BF16" | "I16" | "U16") => 16,
            Some("F4") => 4,
            Some("F6_E2M3" | "F6_E3M2") => 6,
            _ => 8,
        };
        let start = end;
        end = end.saturating_add(dims.fold(bits, usize::saturating_mul) / 8);
        tensor.insert("data_offsets".to_owned(), json!([start, end]));
    }
    end
}
