//! The model that is part of the program, so that every scorer answers on a fresh machine.
//!
//! A Qwen3 decoder of a million parameters that reads one character a token and knows arithmetic
//! modulo 100, step by step, and nothing else. `models/assets/tribunal-tiny` holds the run files, the
//! logs and the evaluation that made it beside its files.

use std::path::Path;

use crate::error::Result;
use crate::save::Stage;
use chat::Folder;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$((
            $name,
            include_bytes!(concat!("../assets/tribunal-tiny/", $name)).as_slice(),
        )),*]
    };
}

const FILES: [(&str, &[u8]); 6] = files![
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
];

/// Its files.
pub fn folder() -> Folder {
    Folder::in_memory(Path::new("<part of the program>"), FILES)
}

/// Writes them into a folder, which appears whole or not at all.
///
/// # Errors
/// Something is at `dir`, or the system refuses.
pub fn write(dir: &Path) -> Result<()> {
    let stage = Stage::begin(dir)?;
    for (name, bytes) in FILES {
        stage.bytes(name, bytes)?;
    }
    stage.finish()
}
