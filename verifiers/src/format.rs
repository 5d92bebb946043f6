//! `format`: the tags that a response must carry, and in which order.
//!
//! A tag is exactly `<name>` and `</name>`: no attributes, no white space, case as configured.
//! Anything else that looks like markup is text. Blocks never nest: one of the listed tags inside
//! the block of another is a violation, so that a response cannot hide a second answer in its
//! reasoning.

mod walk;

#[cfg(test)]
mod tests;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::accepted::{candidate, scan_cost};
use crate::{Claim, ConfigError, Fuel, Reason, Verdict, Verifier, VerifierId, VerifyError};

/// Bytes that one unit of fuel scans, also where the text is nothing but `<`.
const BYTES_PER_UNIT: u64 = 16;
/// Most tags that a configuration may name.
const MAX_TAGS: usize = 64;
/// Longest name of a tag, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// After which block which other must open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// The tag of the block that ends.
    pub tag: String,
    /// The tag that must open next, after white space at most.
    pub next: String,
}

/// The required shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatConfig {
    /// The required tags, such as `["think", "answer"]`. Each must have exactly one block, unless
    /// `repeatable` lists it.
    pub tags: Vec<String>,
    /// Those of `tags` that may have more than one block.
    pub repeatable: Vec<String>,
    /// Further tags that may appear, any number of times and anywhere outside other blocks.
    pub optional: Vec<String>,
    /// Whether the blocks of `tags` must come in that order. On by default.
    pub ordered: bool,
    /// Whether nothing but white space may stand outside the blocks. Off by default.
    pub nothing_outside: bool,
    /// Whether every block must hold more than white space. On by default.
    pub nonempty: bool,
    /// Blocks that must follow others. None by default.
    pub followed_by: Vec<Follow>,
    /// The tag that the prompt has already opened, as reasoning models' chat templates do with
    /// `<think>`: the response starts inside its block. None by default.
    pub starts_in: Option<String>,
}

impl Default for FormatConfig {
    fn default() -> Self {
        Self {
            tags: Vec::new(),
            repeatable: Vec::new(),
            optional: Vec::new(),
            ordered: true,
            nothing_outside: false,
            nonempty: true,
            followed_by: Vec::new(),
            starts_in: None,
        }
    }
}

/// Right when the response carries the configured tags. The gold answer is not used.
#[derive(Debug, Clone)]
pub struct FormatVerifier {
    rules: TagRules,
    scanner: Regex,
}

/// The configuration with every name resolved to its index.
#[derive(Debug, Clone)]
struct TagRules {
    /// Required tags first, in order, then the optional ones.
    tags: Vec<Tag>,
    ordered: bool,
    nothing_outside: bool,
    nonempty: bool,
    starts_in: Option<usize>,
}

#[derive(Debug, Clone)]
struct Tag {
    name: String,
    required: bool,
    repeatable: bool,
    followed_by: Option<usize>,
}

impl FormatVerifier {
    /// Creates a verifier with this configuration.
    ///
    /// # Errors
    /// The variants of [`ConfigError`] about tags.
    pub fn new(config: FormatConfig) -> Result<Self, ConfigError> {
        let rules = TagRules::resolve(config)?;
        let names: Vec<String> = rules.tags.iter().map(|t| regex::escape(&t.name)).collect();
        let scanner = Regex::new(&format!("</?(?:{})>", names.join("|")))
            .expect("64 escaped names of 64 bytes compile");
        Ok(Self { rules, scanner })
    }

    fn judge(&self, text: &str, explain: bool) -> Verdict {
        match walk::first_violation(&self.rules, &self.scanner, text) {
            None => Verdict::proven(true, "well_formed", Reason::code("format_followed")),
            Some(violation) => {
                let reason = Reason::explained(violation.rule.code(), explain, || {
                    violation.detail(&self.rules)
                });
                Verdict::proven(false, "malformed", reason)
            }
        }
    }
}

impl Verifier for FormatVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "format", revision: 1 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let given = candidate(claim.candidate, fuel, |text| scan_cost(text.len(), BYTES_PER_UNIT));
        Ok(match given {
            Ok(text) => self.judge(text, claim.explain),
            Err(verdict) => verdict,
        })
    }
}

impl TagRules {
    fn resolve(config: FormatConfig) -> Result<Self, ConfigError> {
        let mut rules = Self {
            tags: Vec::new(),
            ordered: config.ordered,
            nothing_outside: config.nothing_outside,
            nonempty: config.nonempty,
            starts_in: None,
        };
        if config.tags.is_empty() {
            return Err(ConfigError::NoTags);
        }
        let given = config.tags.len() + config.optional.len();
        if given > MAX_TAGS {
            return Err(ConfigError::TooManyTags { given, max: MAX_TAGS });
        }
        for name in config.tags {
            rules.add(name, true)?;
        }
        for name in config.optional {
            rules.add(name, false)?;
        }
        for name in &config.repeatable {
            let index = rules.index("repeatable", name)?;
            rules.tags[index].repeatable = true;
        }
        for follow in &config.followed_by {
            let tag = rules.index("followed_by", &follow.tag)?;
            let next = rules.index("followed_by", &follow.next)?;
            rules.tags[tag].followed_by = Some(next);
        }
        if let Some(name) = &config.starts_in {
            rules.starts_in = Some(rules.index("starts_in", name)?);
        }
        Ok(rules)
    }

    fn add(&mut self, name: String, required: bool) -> Result<(), ConfigError> {
        let unfit = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '/');
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(unfit) {
            return Err(ConfigError::TagName { name });
        }
        if self.find(&name).is_some() {
            return Err(ConfigError::TagRepeated { name });
        }
        self.tags.push(Tag { name, required, repeatable: !required, followed_by: None });
        Ok(())
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.tags.iter().position(|tag| tag.name == name)
    }

    fn index(&self, key: &'static str, name: &str) -> Result<usize, ConfigError> {
        self.find(name).ok_or_else(|| ConfigError::TagUnknown { key, name: name.to_owned() })
    }
}
