//! The identity of a run: scorers, input and options, kept with everything that a later run may
//! resume from.

use serde::{Deserialize, Serialize};

/// Version of the header's format. It moves when a run can no longer resume from an older one: in
/// format 1 the digest of a model in int8 was that of the same model in f32.
const FORMAT: u32 = 2;

/// The identity of a run. Two runs with equal headers over equal inputs write equal outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of the journal's format.
    pub(crate) format: u32,
    /// Version of this program.
    pub(crate) version: String,
    /// The input as it was named; it is compared by content.
    pub(crate) input: String,
    /// The scorers in order.
    pub(crate) scorers: Vec<ScorerIdentity>,
    /// All other options that shape the output, by name.
    pub(crate) options: serde_json::Map<String, serde_json::Value>,
}

/// A scorer and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScorerIdentity {
    /// Its name.
    pub name: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

impl Header {
    /// The header of a run; `options` serialises to an object.
    pub(crate) fn of(input: &str, scorers: Vec<ScorerIdentity>, options: &impl Serialize) -> Self {
        let options = serde_json::to_value(options).expect("options serialise");
        let serde_json::Value::Object(options) = options else {
            unreachable!("a struct serialises to an object")
        };
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            input: input.to_owned(),
            scorers,
            options,
        }
    }

    /// Why a run of this header cannot resume from `journaled`, as a sentence; `None` if it can.
    pub(crate) fn difference(&self, journaled: &Self) -> Option<String> {
        let was = |what: &str, old: &str, new: &str| format!("{what} was {old} and is {new} now");
        if self.format != journaled.format {
            let [old, new] = [journaled.format, self.format].map(|format| format.to_string());
            return Some(was("the format of unfinished runs", &old, &new));
        }
        if self.version != journaled.version {
            return Some(was("tribunal's version", &journaled.version, &self.version));
        }
        let names = |header: &Self| {
            let names: Vec<&str> = header.scorers.iter().map(|s| s.name.as_str()).collect();
            names.join(", ")
        };
        if names(self) != names(journaled) {
            return Some(was("the list of scorers", &names(journaled), &names(self)));
        }
        for (new, old) in self.scorers.iter().zip(&journaled.scorers) {
            if new.digest != old.digest {
                let what = format!("the version or configuration of scorer '{}'", new.name);
                return Some(was(&what, &old.digest, &new.digest));
            }
        }
        let keys = self.options.keys().chain(journaled.options.keys());
        let differs = |key: &&String| self.options.get(*key) != journaled.options.get(*key);
        keys.into_iter().find(differs).map(|key| {
            let shown = |header: &Self| {
                header.options.get(key).map_or_else(|| "not there".to_owned(), ToString::to_string)
            };
            was(&format!("option '{key}'"), &shown(journaled), &shown(self))
        })
    }
}
