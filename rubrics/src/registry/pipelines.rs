//! `kind = "pipeline"`: scorers made of scorers.

use std::sync::Arc;

use super::Registry;
use crate::Scorer;
use crate::config::{Section, nearest};
use crate::pipeline::{Combine, OnError, PartSpec, Pipeline};

/// The kind that configurations name.
pub(super) const KIND: &str = "pipeline";

/// Most parts of a pipeline.
const MAX_PARTS: usize = 64;

/// A pipeline whose parts are not looked up yet.
pub(super) struct Draft<'d, 't> {
    name: String,
    section: Section<'d, 't>,
    pipeline: Option<Pipeline>,
}

impl<'d, 't> Draft<'d, 't> {
    /// Reads the pipeline's own table; every part states what its failure means.
    pub(super) fn read(name: String, section: Section<'d, 't>) -> Self {
        let pipeline = read_pipeline(&section);
        Self {
            name,
            section,
            pipeline,
        }
    }
}

fn read_pipeline(section: &Section<'_, '_>) -> Option<Pipeline> {
    let words = [
        ("weighted_sum", Combine::WeightedSum),
        ("min", Combine::Min),
        ("gate", Combine::Gate),
        ("cascade", Combine::Cascade),
    ];
    section.require("combine");
    let combine = section.word("combine", &words);
    let tables = section.sections("part");
    if tables.is_empty() || tables.len() > MAX_PARTS {
        section.problem("part", format!("a pipeline has 1 to {MAX_PARTS} parts"));
        return None;
    }
    let last = tables.len() - 1;
    let read = |(index, table): (usize, Section<'_, '_>)| {
        let part = read_part(&table, combine?, index == last);
        table.finish();
        part
    };
    let read: Vec<Option<PartSpec>> = tables.into_iter().enumerate().map(read).collect();
    let parts: Vec<PartSpec> = read.into_iter().collect::<Option<_>>()?;
    let pipeline = Pipeline {
        combine: combine?,
        parts,
    };
    let skips = pipeline
        .parts
        .iter()
        .any(|part| part.on_error == OnError::Skip);
    let negative = pipeline.parts.iter().any(|part| part.weight < 0.0);
    if skips && negative {
        let rule = "on_error = \"skip\" scales the other weights up, so none may be negative";
        section.problem("part", rule);
    }
    Some(pipeline)
}

fn read_part(table: &Section<'_, '_>, combine: Combine, last: bool) -> Option<PartSpec> {
    let words = [
        ("fail", OnError::Fail),
        ("skip", OnError::Skip),
        ("floor", OnError::Floor),
    ];
    let scorer = table.required_text("scorer");
    let name = table.text("name").or_else(|| scorer.clone());
    table.require("on_error");
    let on_error = table.word("on_error", &words);
    let threshold = match (combine, last) {
        (Combine::Gate, false) => Some(table.required_number("threshold")?),
        (Combine::Gate | Combine::WeightedSum | Combine::Min | Combine::Cascade, _) => None,
    };
    let weight = match combine {
        Combine::WeightedSum => table.required_number("weight")?,
        // A part that only opens the gate counts for nothing unless it is given a weight.
        Combine::Gate if threshold.is_some() => table.number("weight").unwrap_or(0.0),
        Combine::Gate => table.number("weight").unwrap_or(1.0),
        Combine::Min | Combine::Cascade => 1.0,
    };
    Some(PartSpec {
        name: name?,
        scorer: scorer?,
        weight,
        threshold,
        on_error: on_error?,
    })
}

/// Looks up the parts and adds the pipelines to `registry`, the ones that others need first.
pub(super) fn resolve(registry: &mut Registry, drafts: Vec<Draft<'_, '_>>) {
    let names: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
    let mut open: Vec<Draft<'_, '_>> = Vec::new();
    for draft in drafts {
        if is_known(registry, &draft, &names) {
            open.push(draft);
        } else {
            draft.section.finish();
        }
    }
    loop {
        let waiting: Vec<String> = open.iter().map(|draft| draft.name.clone()).collect();
        let is_ready = |draft: &Draft<'_, '_>| {
            let mut parts = draft.pipeline.iter().flat_map(|pipeline| &pipeline.parts);
            !parts.any(|part| waiting.contains(&part.scorer))
        };
        let Some(position) = open.iter().position(is_ready) else {
            break;
        };
        let draft = open.swap_remove(position);
        if let Some(pipeline) = draft.pipeline
            && let Some(scorers) = parts(registry, &pipeline)
        {
            registry.insert(Scorer::pipeline(draft.name, pipeline, scorers));
        }
        draft.section.finish();
    }
    for draft in open {
        draft
            .section
            .problem("part", "the parts lead back to this pipeline");
        draft.section.finish();
    }
}

fn parts(registry: &Registry, pipeline: &Pipeline) -> Option<Vec<Arc<Scorer>>> {
    let scorers = pipeline
        .parts
        .iter()
        .map(|part| registry.get(&part.scorer).cloned());
    scorers.collect()
}

/// Whether every part names a scorer or another pipeline of the file; what does not is reported.
fn is_known(registry: &Registry, draft: &Draft<'_, '_>, pipelines: &[String]) -> bool {
    let mut known = true;
    for part in draft.pipeline.iter().flat_map(|pipeline| &pipeline.parts) {
        if registry.get(&part.scorer).is_some() || pipelines.contains(&part.scorer) {
            continue;
        }
        known = false;
        let names = registry.iter().map(|scorer| scorer.name());
        let all = names.chain(pipelines.iter().map(String::as_str));
        let hint = nearest(&part.scorer, all)
            .map(|near| format!("; did you mean '{near}'?"))
            .unwrap_or_default();
        draft
            .section
            .problem("part", format!("no scorer '{}'{hint}", part.scorer));
    }
    known && draft.pipeline.is_some()
}
