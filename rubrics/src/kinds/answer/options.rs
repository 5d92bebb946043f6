//! Options of the kinds that extract an answer and verify it.
//!
//! `docs/verifiers.md` and `docs/math.md` document every option.

#![expect(clippy::unnecessary_wraps, reason = "all kinds are read by functions of one signature")]

use serde::Serialize;
use verifiers::Verifier;
use verifiers::choice::{ChoiceConfig, ChoiceVerifier};
use verifiers::exact::{ExactConfig, ExactVerifier};
use verifiers::extract::{AnswerPolicy, Occurrence};
use verifiers::format::{Follow, FormatConfig, FormatVerifier};
use verifiers::instructions::{
    InstructionReward, InstructionsConfig, InstructionsVerifier, Strictness,
};
use verifiers::json::{JsonConfig, JsonVerifier, Syntax};
use verifiers::length::{LengthConfig, LengthUnit, LengthVerifier};
use verifiers::lp::{LpAnswer, LpConfig, LpVerifier};
use verifiers::math::{
    Bound, LogBase, Math, MathConfig, POLICIES, PhysicalConstant, Policy, Tolerance, Undecided,
    UnknownConstant,
};
use verifiers::pattern::{MatchMode, PatternConfig, PatternVerifier};
use verifiers::text::{TextConfig, TextVerifier};

use super::{AnswerSpec, Extract};
use crate::config::Section;

/// Decimals to which values may be rounded before they are compared, at most.
const MAX_DECIMALS: u64 = 31;

/// Reads the options of one kind; errors become problems of the section.
type OptionsReader = fn(&Section<'_, '_>) -> Option<AnswerSpec>;

/// A kind that extracts an answer and verifies it.
pub(crate) struct AnswerKind {
    /// Name of the kind in configurations.
    pub(crate) name: &'static str,
    /// Whether a verdict costs about as much as a cache look-up: extraction and a comparison,
    /// without compilation or a search through the response.
    pub(crate) is_cheap: bool,
    /// Reads its options.
    pub(crate) read: OptionsReader,
}

/// All kinds that extract an answer and verify it.
pub(crate) const KINDS: &[AnswerKind] = &[
    kind("math", true, math),
    kind("choice", true, choice),
    kind("text", true, text_spec),
    kind("exact", true, exact),
    kind("regex", false, regex),
    kind("format", false, format),
    kind("instructions", false, instructions),
    kind("json", false, json),
    kind("structured", false, structured),
    kind("length", false, length),
    kind("lp", false, lp),
];

const fn kind(name: &'static str, is_cheap: bool, read: OptionsReader) -> AnswerKind {
    AnswerKind { name, is_cheap, read }
}

/// The specification of a verifier with its configuration.
fn spec(
    description: &'static str,
    extract: Extract,
    verifier: impl Verifier + 'static,
    config: &impl Serialize,
) -> Option<AnswerSpec> {
    let options = serde_json::to_value(config).expect("configurations serialise");
    let verifier = Box::new(verifier);
    Some(AnswerSpec { description, extract, verifier, options })
}

fn math(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let names = POLICIES.map(|name| (name, name));
    let name = section.word("policy", &names).unwrap_or(POLICIES[0]);
    let named = MathConfig::named(name).expect("each of the names has a policy");
    let config = MathConfig {
        tolerance: tolerance(section).unwrap_or(named.tolerance),
        policy: math_policy(section, named.policy),
        constants: constants(section),
        question: section.boolean("question").unwrap_or(named.question),
    };
    // A strict reader guesses nothing, and other graders do not count the boxes of a response.
    let policy = AnswerPolicy {
        last_number: name != "strict",
        refuse_many: matches!(name, "default" | "strict"),
        ..AnswerPolicy::default()
    };
    let extract = extract(section, Extract::Answer(policy));
    let description = "compares the final answer with the reference symbolically";
    let verifier = Math::new(config.clone());
    spec(description, extract, verifier, &config)
}

/// Reads the policy for disputed equalities; `default` where nothing is said.
fn math_policy(section: &Section<'_, '_>, default: Policy) -> Policy {
    let flag = |key, default| section.boolean(key).unwrap_or(default);
    let logs = [("10", LogBase::Ten), ("e", LogBase::E), ("either", LogBase::Either)];
    let undecided = [("abstain", Undecided::Abstain), ("wrong", Undecided::Wrong)];
    Policy {
        repair: flag("repair", default.repair),
        percent_as_number: flag("percent_as_number", default.percent_as_number),
        reduced: flag("reduced", default.reduced),
        factored: flag("factored", default.factored),
        decimal_comma: flag("decimal_comma", default.decimal_comma),
        log: section.word("log", &logs).unwrap_or(default.log),
        degrees_as_radians: flag("degrees_as_radians", default.degrees_as_radians),
        ratio_as_fraction: flag("ratio_as_fraction", default.ratio_as_fraction),
        column_as_tuple: flag("column_as_tuple", default.column_as_tuple),
        positive_variables: flag("positive_variables", default.positive_variables),
        inequality_as_interval: flag("inequality_as_interval", default.inequality_as_interval),
        renamed_constants: flag("renamed_constants", default.renamed_constants),
        collapse_repeats: flag("collapse_repeats", default.collapse_repeats),
        unit_required: flag("unit_required", default.unit_required),
        rounded_decimals: flag("rounded_decimals", default.rounded_decimals),
        undecided: section.word("undecided", &undecided).unwrap_or(default.undecided),
    }
}

/// Reads the physical constants that symbols denote.
fn constants(section: &Section<'_, '_>) -> Vec<PhysicalConstant> {
    let symbols = section.texts("constants").unwrap_or_default();
    let known = |symbol: String| match symbol.parse() {
        Ok(constant) => Some(constant),
        Err(error) => {
            let error: UnknownConstant = error;
            section.problem("constants", format!("'{symbol}': {error}"));
            None
        }
    };
    symbols.into_iter().filter_map(known).collect()
}

/// One of `tolerance`, `absolute`, `relative` and `decimals`; `None` where none is given.
fn tolerance(section: &Section<'_, '_>) -> Option<Tolerance> {
    let words = [("exact", Tolerance::Exact), ("gold_digits", Tolerance::GoldDigits)];
    let indices = [(words[0].0, 0), (words[1].0, 1)];
    let word = section.word("tolerance", &indices).map(|index| words[index].1.clone());
    if word.is_none() && section.has("tolerance") {
        section.problem("tolerance", "a number stands under 'absolute' or 'relative'");
    }
    let bound = |key: &'static str, wrap: fn(Bound) -> Tolerance| {
        let text = section.decimal(key)?;
        match text.parse() {
            Ok(bound) => Some(wrap(bound)),
            Err(error) => {
                section.problem(key, error.to_string());
                None
            }
        }
    };
    let decimals = section.integer("decimals", 0..MAX_DECIMALS);
    let decimals = decimals.and_then(|count| u8::try_from(count).ok()).map(Tolerance::Decimals);
    let absolute = bound("absolute", Tolerance::Absolute);
    let given = [word, absolute, bound("relative", Tolerance::Relative), decimals];
    let mut given = given.into_iter().flatten();
    let tolerance = given.next();
    if given.next().is_some() {
        let detail = "give one of 'tolerance', 'absolute', 'relative' and 'decimals'";
        section.problem("tolerance", detail);
    }
    tolerance
}

fn choice(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let config = ChoiceConfig { multiple: section.boolean("multiple").unwrap_or(false) };
    let extract = extract(section, Extract::AnswerOrWhole(marked_only()));
    let description = "compares the chosen option with the reference";
    let verifier = ChoiceVerifier::new(config.clone());
    spec(description, extract, verifier, &config)
}

fn text_spec(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let config = TextConfig {
        strip_punctuation: section.boolean("strip_punctuation").unwrap_or(false),
        strip_articles: section.boolean("strip_articles").unwrap_or(false),
    };
    let extract = extract(section, Extract::AnswerOrWhole(marked_only()));
    let description = "compares the answer with the reference as normalised text";
    let verifier = TextVerifier::new(config.clone());
    spec(description, extract, verifier, &config)
}

fn exact(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let config = ExactConfig { trim: section.boolean("trim").unwrap_or(true) };
    let extract = extract(section, Extract::AnswerOrWhole(marked_only()));
    let description = "compares the answer with the reference byte by byte";
    let verifier = ExactVerifier::new(config.clone());
    spec(description, extract, verifier, &config)
}

fn regex(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let words = [("full", MatchMode::Full), ("search", MatchMode::Search)];
    let default = PatternConfig::default();
    let config = PatternConfig {
        pattern: section.text("pattern"),
        mode: section.word("mode", &words).unwrap_or(default.mode),
        trim: section.boolean("trim").unwrap_or(default.trim),
    };
    let extract = extract(section, Extract::Visible);
    let description = "matches the response against a pattern in linear time";
    let verifier = PatternVerifier::new(config.clone());
    let verifier = built(section, "pattern", verifier)?;
    spec(description, extract, verifier, &config)
}

fn format(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let default = FormatConfig::default();
    let follow = |table: Section<'_, '_>| {
        let follow = (table.required_text("tag"), table.required_text("next"));
        table.finish();
        Some(Follow { tag: follow.0?, next: follow.1? })
    };
    let config = FormatConfig {
        tags: section.texts("tags").unwrap_or_default(),
        repeatable: section.texts("repeatable").unwrap_or_default(),
        optional: section.texts("optional").unwrap_or_default(),
        ordered: section.boolean("ordered").unwrap_or(default.ordered),
        nothing_outside: section.boolean("nothing_outside").unwrap_or(default.nothing_outside),
        nonempty: section.boolean("nonempty").unwrap_or(default.nonempty),
        followed_by: section.sections("followed_by").into_iter().filter_map(follow).collect(),
        starts_in: section.text("starts_in"),
    };
    let extract = extract(section, Extract::Whole);
    let description = "checks that the response has the required tags in their order";
    let verifier = built(section, "tags", FormatVerifier::new(config.clone()))?;
    spec(description, extract, verifier, &config)
}

fn instructions(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let modes = [("strict", Strictness::Strict), ("loose", Strictness::Loose)];
    let rewards = [("all", InstructionReward::All), ("share", InstructionReward::Share)];
    let config = InstructionsConfig {
        mode: section.word("mode", &modes).unwrap_or_default(),
        reward: section.word("reward", &rewards).unwrap_or_default(),
    };
    let extract = extract(section, Extract::Visible);
    let description = "checks that the response follows verifiable instructions";
    spec(description, extract, InstructionsVerifier::new(config), &config)
}

fn json(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let description = "checks that the response is JSON and follows a schema";
    document(section, description, Syntax::Json)
}

fn structured(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let description = "checks that the response is a document of a syntax and follows a schema";
    let Some(syntax) = section.word("syntax", &Syntax::NAMES) else {
        section.problem("syntax", "give the syntax of the documents");
        return None;
    };
    document(section, description, syntax)
}

fn document(
    section: &Section<'_, '_>,
    description: &'static str,
    syntax: Syntax,
) -> Option<AnswerSpec> {
    let default = JsonConfig::default();
    let config = JsonConfig {
        schema: section.json("schema"),
        allow_fence: section.boolean("allow_fence").unwrap_or(default.allow_fence),
        syntax,
        formats: section.boolean("formats").unwrap_or(default.formats),
    };
    let extract = extract(section, Extract::Visible);
    let verifier = built(section, "schema", JsonVerifier::new(config.clone()))?;
    spec(description, extract, verifier, &config)
}

fn length(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let words = [
        ("chars", LengthUnit::Chars),
        ("words", LengthUnit::Words),
        ("lines", LengthUnit::Lines),
        ("bytes", LengthUnit::Bytes),
    ];
    let any = 0..u64::MAX;
    let config = LengthConfig {
        min: section.integer("min", any.clone()).unwrap_or(0),
        max: section.integer("max", any.clone()),
        unit: section.word("unit", &words).unwrap_or_default(),
        falloff: section.integer("falloff", any).unwrap_or(0),
    };
    let extract = extract(section, Extract::Whole);
    let description = "checks that the response is neither too short nor too long";
    let verifier = built(section, "max", LengthVerifier::new(config.clone()))?;
    spec(description, extract, verifier, &config)
}

fn lp(section: &Section<'_, '_>) -> Option<AnswerSpec> {
    let (config, verifier) = lp_verifier(section, LpAnswer::Solution)?;
    let extract = extract(section, Extract::Visible);
    let description = "checks that the response solves a linear or mixed-integer program";
    spec(description, extract, verifier, &config)
}

/// The verifier of answers to a linear program; `default` is what a response gives.
pub(crate) fn lp_verifier(
    section: &Section<'_, '_>,
    default: LpAnswer,
) -> Option<(LpConfig, LpVerifier)> {
    let answers = [
        ("solution", LpAnswer::Solution),
        ("objective", LpAnswer::Objective),
        ("model", LpAnswer::Model),
    ];
    let config = LpConfig {
        answer: section.word("answer", &answers).unwrap_or(default),
        tolerance: section.decimal("tolerance").unwrap_or(LpConfig::default().tolerance),
    };
    let verifier = built(section, "tolerance", LpVerifier::new(&config))?;
    Some((config, verifier))
}

/// Reads the part of the response that is judged; `default` if not configured.
fn extract(section: &Section<'_, '_>, default: Extract) -> Extract {
    let policy = match &default {
        Extract::Answer(own) | Extract::AnswerOrWhole(own) => own.clone(),
        Extract::Marked { .. } | Extract::Visible | Extract::Whole => AnswerPolicy::default(),
    };
    let policy = AnswerPolicy {
        phrases: section.boolean("phrases").unwrap_or(policy.phrases),
        last_number: section.boolean("last_number").unwrap_or(policy.last_number),
        refuse_many: section.boolean("refuse_many").unwrap_or(policy.refuse_many),
        max_candidates: section
            .integer("max_candidates", 1..1 << 32)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(policy.max_candidates),
    };
    let words =
        [("answer", 0), ("answer_or_whole", 1), ("visible", 2), ("whole", 3), ("marked", 4)];
    match (section.word("extract", &words), default) {
        (Some(0), _) | (None, Extract::Answer(_)) => Extract::Answer(policy),
        (Some(1), _) | (None, Extract::AnswerOrWhole(_)) => Extract::AnswerOrWhole(policy),
        (Some(2), _) | (None, Extract::Visible) => Extract::Visible,
        (Some(4), _) => marked(section),
        (None, marked @ Extract::Marked { .. }) => marked,
        (Some(_), _) | (None, Extract::Whole) => Extract::Whole,
    }
}

/// Reads the extraction of braces after `marker`, the last ones unless `occurrence` is set.
fn marked(section: &Section<'_, '_>) -> Extract {
    let words = [("first", Occurrence::First), ("last", Occurrence::Last)];
    let marker = section.text("marker");
    if marker.as_deref() == Some("") {
        section.problem("marker", "an empty marker is everywhere");
    }
    Extract::Marked {
        marker: marker.unwrap_or_else(|| "\\boxed".to_owned()),
        occurrence: section.word("occurrence", &words).unwrap_or(Occurrence::Last),
    }
}

/// Answers that are marked as such. The last number is not used, because the answer here is a text.
fn marked_only() -> AnswerPolicy {
    AnswerPolicy { last_number: false, ..AnswerPolicy::default() }
}

/// Returns the built value, or reports a problem at `key`.
fn built<T, E: std::fmt::Display>(
    section: &Section<'_, '_>,
    key: &'static str,
    result: Result<T, E>,
) -> Option<T> {
    match result {
        Ok(built) => Some(built),
        Err(error) => {
            section.problem(key, error.to_string());
            None
        }
    }
}
