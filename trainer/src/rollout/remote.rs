//! Scorers of a server beside the run (`[remote]`), to which the run's adapters are pushed.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use rubrics::{Input, Outcome};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// `[remote]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteSection {
    /// Base URL of the server.
    pub url: String,
    /// A file whose first line is the API key.
    #[serde(default)]
    pub api_key_file: Option<PathBuf>,
    /// The server's scorers that the run uses, by their names there.
    pub scorers: Vec<String>,
    /// Tries after the first before the run stops; 8.
    #[serde(default = "retries")]
    pub retries: u32,
    /// Adapters that the server gets.
    #[serde(default)]
    pub push: Vec<PushedAdapter>,
}

fn retries() -> u32 {
    8
}

/// `[[remote.push]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushedAdapter {
    /// The run's adapter.
    pub adapter: String,
    /// The server's adapter whose weights are replaced; the run's name by default.
    #[serde(default)]
    pub name: Option<String>,
    /// The server's model that it is of; `None` where it has one.
    #[serde(default)]
    pub model: Option<String>,
    /// The folder that the server reads adapters from (its `compat.adapters`), as this machine sees it.
    pub folder: PathBuf,
    /// Steps between pushes, the first of which is before step 1; 1.
    #[serde(default = "every")]
    pub every: u64,
}

fn every() -> u64 {
    1
}

impl PushedAdapter {
    /// The name on the server.
    pub fn served_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.adapter)
    }
}

impl RemoteSection {
    /// Lists what cannot work with these adapters and the scorers that the run defines.
    pub(crate) fn check(
        &self,
        adapters: &[&str],
        is_defined: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        if self.scorers.is_empty() {
            problems.push("`scorers` names at least one".to_owned());
        }
        let mut seen = BTreeSet::new();
        for name in &self.scorers {
            if is_defined(name) {
                problems.push(format!(
                    "'{name}' is a scorer of the run itself: give one of both another name"
                ));
            }
            if !seen.insert(name) {
                problems.push(format!("'{name}' is named twice"));
            }
        }
        for push in &self.push {
            if !adapters.contains(&push.adapter.as_str()) {
                let name = &push.adapter;
                problems.push(format!("the adapter '{name}' is not in [[policy.adapter]]"));
            }
            if push.every == 0 {
                problems.push("`every` of a push is at least 1".to_owned());
            }
        }
        problems
    }
}

/// An adapter in a folder that a server can read.
#[derive(Clone, Copy, Debug)]
pub struct AdapterToLoad<'a> {
    /// Its name on the server.
    pub name: &'a str,
    /// The model that it is of; `None` where the server has one.
    pub model: Option<&'a str>,
    /// Its folder, below the server's folder of adapters.
    pub path: &'a str,
}

/// A connection to a server, whose scorers are those of its section.
pub trait RemoteScorers: Debug + Send + Sync {
    /// The outcome of a scorer for each input, in order.
    ///
    /// # Errors
    /// A server that cannot be reached or refuses the request as a whole, after all tries.
    fn score(&self, scorer: &str, inputs: &[Arc<Input>], seed: u64) -> Result<Vec<Outcome>>;

    /// Replaces the weights of an adapter.
    ///
    /// # Errors
    /// As for [`RemoteScorers::score`].
    fn load_adapter(&self, adapter: AdapterToLoad<'_>) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_cannot_work_are_listed() {
        let check = |rest: &str, expected: &[&str]| {
            let text = format!("url = \"http://127.0.0.1:1\"\n{rest}");
            let section: RemoteSection = toml::from_str(&text).expect("a section");
            let found = section.check(&["judge"], |name| name == "math");
            let near = found.iter().zip(expected).all(|(found, part)| found.contains(part));
            assert!(near && found.len() == expected.len(), "{rest}: {found:?}");
        };
        let push = "scorers = [\"far\"]\n[[push]]\nfolder = \"f\"\n";
        check("scorers = [\"far\"]", &[]);
        check("scorers = []", &["at least one"]);
        check("scorers = [\"math\", \"far\", \"far\"]", &["scorer of the run", "named twice"]);
        check(&format!("{push}adapter = \"judge\""), &[]);
        check(&format!("{push}adapter = \"none\"\nevery = 0"), &["not in", "at least 1"]);
    }
}
