//! Makes an untrained model of the toy task:
//! `cargo run --release -p toytask --example task_folder -- DIR SHAPE SEED`, where the shape is
//! `smoke`, `demo` or `embedded`.

use std::path::Path;
use std::process::ExitCode;

use toytask::{ModelSize, write_model_folder};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let made = match &args[..] {
        [dir, shape, seed] => make(dir, shape, seed),
        _ => Err("usage: task_folder DIR SHAPE SEED".to_owned()),
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn make(dir: &str, shape: &str, seed: &str) -> Result<(), String> {
    let shape = ModelSize::named(shape).ok_or_else(|| format!("no shape is called '{shape}'"))?;
    let seed = seed.parse().map_err(|error| format!("the seed '{seed}': {error}"))?;
    write_model_folder(Path::new(dir), shape, seed).map_err(|error| error.to_string())
}
