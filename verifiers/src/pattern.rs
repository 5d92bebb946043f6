//! `regex`: the candidate matches a regular expression.
//!
//! The engine is the `regex` crate: no back-references and no look-around, and in return no
//! pattern can make it take more than linear time.

pub(crate) mod cost;

#[cfg(test)]
mod tests;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::accepted::{Accepted, charge_gold, quoted, too_costly};
use crate::{Claim, ConfigError, Fuel, Reason, Verdict, Verifier, VerifierId, VerifyError};
use cost::{NEST_LIMIT, PatternCost, SIZE_LIMIT};

/// The part of the candidate that must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchMode {
    /// All of it. The default: a pattern that may match anywhere accepts more than its author
    /// thinks, and `\d+` in any text with a digit is not a reward.
    #[default]
    Full,
    /// Any part of it.
    Search,
}

/// The pattern and how it is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PatternConfig {
    /// The pattern; the gold answer is then not used. None, the default, takes the gold text, or
    /// any of the gold texts, as the pattern.
    pub pattern: Option<String>,
    /// Part of the text that must match.
    pub mode: MatchMode,
    /// Whether white space around the candidate is cut off first. On by default.
    pub trim: bool,
}

impl Default for PatternConfig {
    fn default() -> Self {
        Self { pattern: None, mode: MatchMode::default(), trim: true }
    }
}

/// Right when the candidate matches the pattern.
#[derive(Debug, Clone)]
pub struct PatternVerifier {
    mode: MatchMode,
    trim: bool,
    fixed: Option<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    regex: Regex,
    cost: PatternCost,
}

impl PatternVerifier {
    /// Creates a verifier with this configuration.
    ///
    /// # Errors
    /// [`ConfigError::Pattern`] when the configured pattern is empty, does not compile or is too
    /// large.
    pub fn new(config: PatternConfig) -> Result<Self, ConfigError> {
        let fixed = config
            .pattern
            .map(|source| fixed_pattern(&source, config.mode))
            .transpose()
            .map_err(|message| ConfigError::Pattern { message })?;
        Ok(Self { mode: config.mode, trim: config.trim, fixed })
    }

    fn judge(&self, pattern: &Pattern, claim: &Claim<'_>, fuel: &mut Fuel) -> Verdict {
        let Some(text) = claim.candidate.text() else {
            return Verdict::no_answer();
        };
        let text = if self.trim { text.trim() } else { text };
        if fuel.spend(pattern.cost.search_units(text.len())).is_err() {
            return too_costly();
        }
        if pattern.regex.is_match(text) {
            return Verdict::proven(true, "match", Reason::code("pattern_matched"));
        }
        let reason = Reason::explained("pattern_not_matched", claim.explain, || {
            format!("{} does not match", quoted(text))
        });
        Verdict::proven(false, "no_match", reason)
    }
}

impl Verifier for PatternVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "regex", revision: 1 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        if let Some(pattern) = &self.fixed {
            return Ok(self.judge(pattern, claim, fuel));
        }
        let accepted = Accepted::of(claim.gold)?;
        // All patterns are compiled before any is run, so that the cost of the candidate is never
        // taken for the cost of the reference.
        let mut patterns = Vec::new();
        for source in accepted.texts() {
            patterns.push(gold_pattern(source, self.mode, fuel)?);
        }
        let mut patterns = patterns.into_iter();
        accepted.judge(|_| {
            let pattern = patterns.next().expect("one pattern for each text")?;
            Ok(self.judge(&pattern, claim, fuel))
        })
    }
}

/// Returns the pattern of a configuration.
fn fixed_pattern(source: &str, mode: MatchMode) -> Result<Pattern, String> {
    if source.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    Pattern::compile(source, PatternCost::of(source)?, mode)
}

/// Compiles the pattern of one gold text; the error says why it is invalid.
fn gold_pattern(
    source: &str,
    mode: MatchMode,
    fuel: &mut Fuel,
) -> Result<Result<Pattern, Reason>, VerifyError> {
    if source.is_empty() {
        let reason = Reason::with("reference_empty", "the pattern is empty");
        return Ok(Err(reason));
    }
    charge_gold(fuel, PatternCost::reading_units(source))?;
    let unusable = |message| Reason::with("reference_pattern", message);
    let cost = match PatternCost::of(source) {
        Ok(cost) => cost,
        Err(message) => return Ok(Err(unusable(message))),
    };
    charge_gold(fuel, cost.compile_units())?;
    Ok(Pattern::compile(source, cost, mode).map_err(unusable))
}

impl Pattern {
    /// Compiles `source`, whose cost is known.
    fn compile(source: &str, cost: PatternCost, mode: MatchMode) -> Result<Self, String> {
        let regex = match mode {
            MatchMode::Search => build(source),
            // The source has been parsed by itself, so it cannot close this group early. A pattern
            // in verbose mode may end in a comment, which only a line feed ends.
            MatchMode::Full => build(&format!(r"\A(?:{source})\z"))
                .or_else(|_| build(&format!("\\A(?:{source}\n)\\z"))),
        };
        regex.map(|regex| Self { regex, cost }).map_err(|error| error.to_string())
    }
}

fn build(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).size_limit(SIZE_LIMIT).nest_limit(NEST_LIMIT + 1).build()
}
