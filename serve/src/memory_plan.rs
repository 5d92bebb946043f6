//! The memory that a configuration may come to need, part by part.

use crate::Config;

/// Memory of the program without models and requests: code, tables, buffers of threads.
const PROGRAM_BYTES: u64 = 64 << 20;

/// Lines that a batch at work has read ahead.
const BATCH_BYTES: u64 = 4 << 20;

/// A model as it will be held in the program's memory, or in that of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelMemory {
    /// Its name.
    pub name: String,
    /// Bytes of its weights.
    pub weight_bytes: u64,
    /// Bytes that are kept for its steps, on a card.
    pub step_bytes: u64,
    /// Bytes of its KV cache.
    pub kv_bytes: u64,
    /// Bytes of its adapters.
    pub adapter_bytes: u64,
}

/// A part of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPart {
    /// What it holds.
    pub name: String,
    /// Its bytes at most.
    pub bytes: u64,
    /// The setting that bounds it, if there is one.
    pub setting: Option<&'static str>,
}

/// Lists what a model may hold at most.
pub fn model_parts(model: &ModelMemory) -> Vec<MemoryPart> {
    let part = |what: &str, bytes, setting| MemoryPart {
        name: format!("{what} of {}", model.name),
        bytes,
        setting,
    };
    let parts = [
        part("weights", model.weight_bytes, None),
        part("steps", model.step_bytes, Some("engine.batch_tokens")),
        part("KV cache", model.kv_bytes, Some("engine.kv_memory")),
        part("adapters", model.adapter_bytes, None),
    ];
    parts.into_iter().filter(|part| part.bytes > 0).collect()
}

/// Lists what a server of this configuration may hold at most, the largest bound of each part.
pub fn memory_parts(config: &Config, models: &[ModelMemory]) -> Vec<MemoryPart> {
    let part =
        |name: &str, bytes: u64, setting| MemoryPart { name: name.to_owned(), bytes, setting };
    let mut parts = Vec::new();
    for model in models {
        parts.extend(model_parts(model));
    }
    let setting = |name, bytes: usize, setting| part(name, bytes as u64, Some(setting));
    parts.push(setting("requests in hand", config.queue_bytes, "limits.queue_bytes"));
    parts.push(setting("replies in hand", config.queue_output, "limits.queue_output"));
    if !models.is_empty() {
        let bytes = config.encoding_bytes;
        parts.push(setting("texts being encoded", bytes, "limits.encoding_bytes"));
    }
    parts.push(setting("cached outcomes", config.cache_memory, "cache.memory"));
    if config.batches_folder.is_some() {
        let bytes = config.batches_max_active as u64 * BATCH_BYTES;
        parts.push(part("batches", bytes, Some("batches.max_active")));
    }
    parts.push(part("program", PROGRAM_BYTES, None));
    parts
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn every_bound_of_the_configuration_is_a_part() {
        let config = Config {
            queue_bytes: 3 << 20,
            queue_output: 5 << 20,
            encoding_bytes: 19 << 20,
            cache_memory: 7 << 20,
            batches_folder: Some(PathBuf::from("batches")),
            batches_max_active: 2,
            ..Config::default()
        };
        let model = ModelMemory {
            name: "judge".to_owned(),
            weight_bytes: 11 << 20,
            step_bytes: 0,
            kv_bytes: 13 << 20,
            adapter_bytes: 17 << 20,
        };
        let parts = memory_parts(&config, &[model]);
        let total: u64 = parts.iter().map(|part| part.bytes).sum();
        assert_eq!(total, (11 + 13 + 17 + 3 + 5 + 19 + 7 + 2 * 4 + 64) << 20);
        assert!(parts.iter().any(|part| part.name == "KV cache of judge"));
        // A model whose memory is a card's: only its texts are the program's.
        let elsewhere = ModelMemory { name: "judge".to_owned(), ..ModelMemory::default() };
        let parts = memory_parts(&config, &[elsewhere]);
        let total: u64 = parts.iter().map(|part| part.bytes).sum();
        assert_eq!(total, (3 + 5 + 19 + 7 + 2 * 4 + 64) << 20);
        let without = Config { batches_folder: None, ..config };
        assert_eq!(memory_parts(&without, &[]).len(), 4);
    }
}
