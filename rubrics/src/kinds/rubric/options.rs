//! The options of `kind = "rubric"`.

use serde::Serialize;

use crate::config::{Section, nearest};
use crate::kinds::options::{LabelOptions, Slots, Wording, WritingOptions};
use crate::kinds::{Names, ScorerKind};
use crate::rubric::{ItemAnswer, Rubric, built_in, built_in_names, from_section, parse};

/// The options.
#[derive(Serialize)]
pub(super) struct RubricKind {
    /// Model for the items without a verifier; `None` if every item has one.
    pub(super) model: Option<String>,
    /// The configured rubric; without one, each input brings its own.
    pub(super) rubric: Option<Rubric>,
    /// Whether an input's own rubric is read, in the place of the configured one.
    pub(super) inline: bool,
    /// The scorers that items may name.
    pub(super) verifiers: Vec<String>,
    pub(super) asking: ItemPrompts,
    pub(super) counting: Counting,
}

/// Prompts of items.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ItemPrompts {
    pub(super) ask: AnswerForm,
    pub(super) labels: LabelOptions,
    /// The wording for labels or for JSON, by `ask`.
    pub(super) item: Wording,
    pub(super) tiers: Wording,
}

/// Form of a model's answer about a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerForm {
    /// One token, `Yes` or `No`, read from log-probabilities.
    Labels,
    /// A generated JSON object, with retries after a truncated one.
    Json(WritingOptions, u64),
}

/// Counting of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Counting {
    /// Whether probabilities and verifiers' scores are partial credit.
    pub(super) soft: bool,
    pub(super) tiers: TierValue,
    pub(super) on_item_error: OnItemError,
}

/// Value from the tiers' probabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TierValue {
    /// The mean of the tiers' values.
    #[default]
    Expected,
    /// The value of the likeliest tier, the first of equals.
    Likeliest,
}

/// Treatment of an item without an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnItemError {
    /// The rubric fails.
    #[default]
    Fail,
    /// The item is left out.
    Skip,
    /// The item is not met, as in the paper's code.
    Unmet,
}

/// The answers to a yes/no item.
pub(super) const YES_NO: [&str; 2] = ["Yes", "No"];
/// The letters of tiers.
pub(super) const LETTERS: [&str; 26] = [
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S",
    "T", "U", "V", "W", "X", "Y", "Z",
];

/// The answers that are read for an item.
pub(super) fn labels_of(answer: &ItemAnswer) -> &'static [&'static str] {
    match answer {
        ItemAnswer::YesNo | ItemAnswer::Verifier(_) => &YES_NO,
        ItemAnswer::Tiers(tiers) => &LETTERS[..tiers.len().min(LETTERS.len())],
    }
}

/// Prefix of built-in rubrics' names.
const BUILT_IN: &str = "builtin:";
/// Default scorers that an input's rubric may use.
const VERIFIERS: [&str; 1] = ["math"];
/// Tokens for a grade and its explanation.
const MAX_TOKENS: usize = 512;
/// Tries after one that was cut; the paper's code makes ten.
const RETRIES: u64 = 10;

/// Something is wrong with the rubric, and has become a problem.
struct Unusable;

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let rubric = read_rubric(section, names);
    let inline = section.boolean("inline").unwrap_or(true);
    let listed = read_verifiers(section, names);
    let asking = read_asking(section);
    let counting = read_counting(section);
    let Ok(rubric) = rubric else {
        return None;
    };
    if rubric.is_none() && !inline {
        section.problem("inline", "without 'rubric', each input must bring its own");
    }
    let needs_model = rubric.as_ref().is_none_or(Rubric::asks_model);
    let model = if needs_model || section.has("model") {
        Some(names.model(section, "model")?)
    } else {
        None
    };
    let mut verifiers: Vec<String> = Vec::new();
    let named = rubric.iter().flat_map(Rubric::scorers);
    for name in named.chain(listed.iter().map(String::as_str)) {
        if names.has_scorer(name) && !verifiers.iter().any(|known| known == name) {
            verifiers.push(name.to_owned());
        }
    }
    Some(Box::new(RubricKind { model, rubric, inline, verifiers, asking: asking?, counting }))
}

/// `rubric`: a file, `builtin:…`, or a table.
fn read_rubric(section: &Section<'_, '_>, names: &Names<'_>) -> Result<Option<Rubric>, Unusable> {
    if !section.has("rubric") {
        return Ok(None);
    }
    if !section.holds_text("rubric") {
        let table = section.section("rubric").ok_or(Unusable)?;
        return from_section(&table, names.scorers).map(Some).ok_or(Unusable);
    }
    let named = section.text("rubric").unwrap_or_default();
    if let Some(name) = named.strip_prefix(BUILT_IN) {
        if let Some(rubric) = built_in(name) {
            return Ok(Some(Rubric::clone(&rubric)));
        }
        let hint = nearest(name, built_in_names())
            .map(|near| format!("; did you mean '{BUILT_IN}{near}'?"))
            .unwrap_or_default();
        section.problem("rubric", format!("no rubric '{named}' comes with us{hint}"));
        return Err(Unusable);
    }
    read_file(section, names, &named).map(Some)
}

fn read_file(section: &Section<'_, '_>, names: &Names<'_>, path: &str) -> Result<Rubric, Unusable> {
    let Some(base) = names.base else {
        let rule = "a rubric file lies beside the configuration file, and there is none here";
        section.problem("rubric", rule);
        return Err(Unusable);
    };
    let file = base.join(path);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let message = format!("'{}' cannot be read: {error}", file.display());
        section.problem("rubric", message);
        Unusable
    })?;
    let scorers: Vec<&str> = names.scorers.iter().map(String::as_str).collect();
    parse(&file.display().to_string(), &text, &scorers).map_err(|problems| {
        for problem in problems {
            section.problem("rubric", problem.to_string());
        }
        Unusable
    })
}

/// Reads `verifiers`: the scorers that an input's rubric may use.
fn read_verifiers(section: &Section<'_, '_>, names: &Names<'_>) -> Vec<String> {
    let Some(verifiers) = section.texts("verifiers") else {
        return VERIFIERS.map(str::to_owned).to_vec();
    };
    for name in &verifiers {
        if !names.has_scorer(name) {
            let hint = names.scorer_hint(name);
            section.problem("verifiers", format!("no scorer '{name}'{hint}"));
        }
    }
    verifiers
}

fn read_asking(section: &Section<'_, '_>) -> Option<ItemPrompts> {
    let is_json = section.word("ask", &[("labels", false), ("json", true)]);
    let (ask, name) = match is_json {
        Some(true) => {
            let writing = WritingOptions::read(section, WritingOptions::greedy(MAX_TOKENS));
            let retries = section.integer("retries", 0..101).unwrap_or(RETRIES);
            (AnswerForm::Json(writing, retries), "rubric-grade")
        }
        Some(false) | None => (AnswerForm::Labels, "rubric-item"),
    };
    let slots = Slots { needed: &["criterion"], optional: &["conversation", "prompt", "response"] };
    let tier_slots = Slots { needed: &["criterion", "tiers"], ..slots };
    let item = Wording::read(section, name, slots);
    let tiers = Wording::read_from(section, "tier_message", "rubric-tiers", tier_slots);
    for (key, wording) in [("message", &item), ("tier_message", &tiers)] {
        let slots = wording.as_ref().map(|wording| wording.slots());
        let shows =
            |slots: &Vec<&str>| slots.contains(&"conversation") || slots.contains(&"response");
        if slots.is_some_and(|slots| !shows(&slots)) {
            let rule = "the wording must have the slot 'conversation' or 'response'";
            section.problem(key, rule);
        }
    }
    Some(ItemPrompts { ask, labels: LabelOptions::read(section), item: item?, tiers: tiers? })
}

fn read_counting(section: &Section<'_, '_>) -> Counting {
    let tiers = [("expected", TierValue::Expected), ("likeliest", TierValue::Likeliest)];
    let errors =
        [("fail", OnItemError::Fail), ("skip", OnItemError::Skip), ("unmet", OnItemError::Unmet)];
    Counting {
        soft: section.boolean("soft").unwrap_or(false),
        tiers: section.word("tiers", &tiers).unwrap_or_default(),
        on_item_error: section.word("on_item_error", &errors).unwrap_or_default(),
    }
}
