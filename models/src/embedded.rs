//! The model built into the program, so that every scorer kind works without a download.
//!
//! A Qwen3 decoder of a million parameters that reads one character per token and is trained only
//! on step-by-step arithmetic modulo 100. `models/assets/tribunal-tiny` holds its files with the
//! run files, the logs and the evaluation of its training.

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

/// The model's files.
pub fn folder() -> Folder {
    Folder::in_memory(Path::new("<part of the program>"), FILES)
}

/// Writes the model's files into a folder, which appears complete or not at all.
///
/// # Errors
/// Something exists at `dir`, or the system refuses.
pub fn write(dir: &Path) -> Result<()> {
    let stage = Stage::begin(dir)?;
    for (name, bytes) in FILES {
        stage.bytes(name, bytes)?;
    }
    stage.finish()
}
