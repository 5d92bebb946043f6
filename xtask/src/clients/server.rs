//! A server as a child process, with models that are made for it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::proofs::ServerKind;
use crate::cargo;

/// Positions that the models have; as they are made they would hold a few sentences.
const POSITIONS: u64 = 4096;

/// Tiny models with random weights.
pub(super) struct Models {
    folder: PathBuf,
}

impl Models {
    /// Makes them anew, so that they are this program's.
    pub(super) fn make(program: &Path, folder: &Path) -> Result<Self, String> {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| format!("the models: {error}"))?;
        }
        fs::create_dir_all(folder).map_err(|error| format!("the models: {error}"))?;
        let models = Self { folder: folder.to_owned() };
        for (name, head) in [("judge", "vocab"), ("rm", "sequence"), ("policy", "vocab")] {
            let mut make = Command::new(program);
            make.args(["models", "make-tiny", "--family", "qwen2", "--head", head])
                .arg(models.folder.join(name))
                .stdout(Stdio::null());
            cargo::run(&mut make).map_err(|why| format!("make-tiny: {why}"))?;
            lengthen(&models.folder.join(name).join("config.json"))?;
        }
        Ok(models)
    }

    /// A model to train.
    pub(super) fn policy(&self) -> PathBuf {
        self.folder.join("policy")
    }

    /// `NAME=FOLDER`.
    fn named(&self, name: &str) -> String {
        format!("{name}={}", self.folder.join(name).display())
    }
}

/// Gives the model of a configuration [`POSITIONS`].
fn lengthen(config: &Path) -> Result<(), String> {
    let problem = |error| format!("{}: {error}", config.display());
    let text = fs::read_to_string(config).map_err(problem)?;
    let text = with_number(&text, "max_position_embeddings", POSITIONS);
    let text = text.ok_or_else(|| format!("{}: no positions", config.display()))?;
    fs::write(config, text).map_err(problem)
}

/// A JSON text in which a field has another number.
fn with_number(text: &str, field: &str, number: u64) -> Option<String> {
    let (before, rest) = text.split_once(&format!("\"{field}\":"))?;
    let value = rest.trim_start();
    let end = value.find(|c: char| !c.is_ascii_digit())?;
    let after = &value[end..];
    (end > 0).then(|| format!("{before}\"{field}\": {number}{after}"))
}

/// A server on a free port. It ends with this value.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
    /// The model that it serves.
    pub(super) model: &'static str,
    batches: PathBuf,
}

impl Server {
    pub(super) fn start(program: &Path, models: &Models, kind: ServerKind) -> Result<Self, String> {
        let (model, more) = match kind {
            ServerKind::Writer => ("judge", None),
            ServerKind::Reward => ("rm", None),
            ServerKind::Limited => ("rm", Some("limits.client_requests=4")),
        };
        let batches = models.folder.join("batches");
        let mut command = Command::new(program);
        command
            .args(["serve", "--bind", "127.0.0.1:0", "--log", "warn"])
            .args(["--model", &models.named(model)])
            .args(["--set", &format!("batches.folder={}", batches.display())]);
        if let Some(setting) = more {
            command.args(["--set", setting]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        let url = match url_of(&mut child) {
            Ok(url) => url,
            Err(problem) => {
                end(&mut child);
                return Err(problem);
            }
        };
        Ok(Self { child, url, model, batches })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
        // The next server begins with none.
        let _ = fs::remove_dir_all(&self.batches);
    }
}

/// Where a server listens: the one line that it prints, once it takes work.
fn url_of(child: &mut Child) -> Result<String, String> {
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let mut line = String::new();
    let read = BufReader::new(stdout).read_line(&mut line);
    read.map_err(|error| format!("the server: {error}"))?;
    let url = line.split_whitespace().find(|word| word.starts_with("http://"));
    let url = url.ok_or("the server ended before it listened")?;
    Ok(url.to_owned())
}

/// Ends a server at once: what a proof wanted of it is over.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_json_text() {
        let check = |text: &str, expected: Option<&str>| {
            let found = with_number(text, "n", 7);
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("{\"n\": 3, \"m\": 1}", Some("{\"n\": 7, \"m\": 1}"));
        check("{\"n\":123}", Some("{\"n\": 7}"));
        check("{\"m\": 3}", None);
        check("{\"n\": \"x\"}", None);
    }
}
