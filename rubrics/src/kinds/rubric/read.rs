//! The options of `kind = "rubric"`.

use std::sync::Arc;

use super::{Ask, Asking, Counting, OnItemError, RubricKind, TierValue};
use crate::Scorer;
use crate::config::{Section, nearest};
use crate::kinds::Kind;
use crate::kinds::options::{LabelOptions, Slots, Wording, WritingOptions};
use crate::registry::Scope;
use crate::rubric::{Rubric, built_in, built_in_names, from_section, parse};

/// What begins the name of a rubric that comes with the program.
const BUILT_IN: &str = "builtin:";
/// The scorers that the rubric of an input may ask, where the configuration does not say.
const VERIFIERS: [&str; 1] = ["math"];
/// Tokens for a grade and its explanation.
const MAX_TOKENS: usize = 512;
/// Tries after one that was cut; the paper's code makes ten.
const RETRIES: u64 = 10;

/// Something is wrong with the rubric, and has become a problem.
struct Unusable;

pub(crate) fn read(section: &Section<'_, '_>, scope: &Scope<'_>) -> Option<Box<dyn Kind>> {
    let rubric = read_rubric(section, scope);
    let inline = section.boolean("inline").unwrap_or(true);
    let listed = read_verifiers(section, scope);
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
        Some(scope.model(section, "model")?)
    } else {
        None
    };
    let mut verifiers: Vec<Arc<Scorer>> = Vec::new();
    let named = rubric.iter().flat_map(Rubric::scorers);
    for name in named.chain(listed.iter().map(String::as_str)) {
        if let Some(scorer) = scope.registry.get(name)
            && !verifiers.iter().any(|known| known.name() == name)
        {
            verifiers.push(scorer.clone());
        }
    }
    Some(Box::new(RubricKind { model, rubric, inline, verifiers, asking: asking?, counting }))
}

/// `rubric`: a file, `builtin:…`, or a table.
fn read_rubric(section: &Section<'_, '_>, scope: &Scope<'_>) -> Result<Option<Rubric>, Unusable> {
    if !section.has("rubric") {
        return Ok(None);
    }
    let scorers: Vec<String> = scope.registry.iter().map(|s| s.name().to_owned()).collect();
    if !section.holds_text("rubric") {
        let table = section.section("rubric").ok_or(Unusable)?;
        return from_section(&table, &scorers).map(Some).ok_or(Unusable);
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
    read_file(section, scope, &named, &scorers).map(Some)
}

fn read_file(
    section: &Section<'_, '_>,
    scope: &Scope<'_>,
    path: &str,
    scorers: &[String],
) -> Result<Rubric, Unusable> {
    let Some(base) = scope.base else {
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
    let names: Vec<&str> = scorers.iter().map(String::as_str).collect();
    parse(&file.display().to_string(), &text, &names).map_err(|problems| {
        for problem in problems {
            section.problem("rubric", problem.to_string());
        }
        Unusable
    })
}

/// `verifiers`: the scorers that the rubric of an input may ask.
fn read_verifiers(section: &Section<'_, '_>, scope: &Scope<'_>) -> Vec<String> {
    let Some(names) = section.texts("verifiers") else {
        return VERIFIERS.map(str::to_owned).to_vec();
    };
    for name in &names {
        if scope.registry.get(name).is_none() {
            let near = scope.registry.near(name);
            let hint =
                near.first().map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            section.problem("verifiers", format!("no scorer '{name}'{hint}"));
        }
    }
    names
}

fn read_asking(section: &Section<'_, '_>) -> Option<Asking> {
    let is_json = section.word("ask", &[("labels", false), ("json", true)]);
    let (ask, name) = match is_json {
        Some(true) => {
            let writing = WritingOptions::read(section, WritingOptions::greedy(MAX_TOKENS));
            let retries = section.integer("retries", 0..101).unwrap_or(RETRIES);
            (Ask::Json(writing, retries), "rubric-grade")
        }
        Some(false) | None => (Ask::Labels, "rubric-item"),
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
    Some(Asking { ask, labels: LabelOptions::read(section), item: item?, tiers: tiers? })
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
