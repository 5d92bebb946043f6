//! `kind = "pipeline"`: scorers made of scorers.

mod part;
mod read;

use std::sync::Arc;

use crate::Scorer;
use crate::config::{Section, nearest};
use crate::pipeline::Pipeline;
use crate::scorer::ScorersByName;

/// The kind that configurations name.
pub(super) const KIND: &str = "pipeline";

/// A pipeline whose parts are not looked up yet.
pub(super) struct Draft<'d, 't> {
    name: String,
    section: Section<'d, 't>,
    /// The scorers that its parts name, also where a part has a problem.
    scorers: Vec<String>,
    pipeline: Option<Pipeline>,
}

impl<'d, 't> Draft<'d, 't> {
    /// Reads the pipeline's own table; every part states what its failure means.
    pub(super) fn read(name: String, section: Section<'d, 't>) -> Self {
        let pipeline = read::pipeline(&section);
        let parts = section.sections("part");
        let scorers = parts.iter().filter_map(|part| part.text("scorer")).collect();
        Self { name, section, scorers, pipeline }
    }
}

/// Looks up the parts and adds the pipelines to `scorers`, the ones that others need first.
pub(super) fn resolve(scorers: &mut ScorersByName, drafts: Vec<Draft<'_, '_>>) {
    let names: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
    let mut open: Vec<Draft<'_, '_>> = Vec::new();
    for draft in drafts {
        if is_known(scorers, &draft, &names) {
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
            && let Some(parts) = parts(scorers, &pipeline)
        {
            let scorer = Scorer::pipeline(draft.name.clone(), pipeline, parts);
            scorers.insert(draft.name, Arc::new(scorer));
        }
        draft.section.finish();
    }
    for draft in open {
        draft.section.problem("part", "the parts lead back to this pipeline");
        draft.section.finish();
    }
}

fn parts(scorers: &ScorersByName, pipeline: &Pipeline) -> Option<Vec<Arc<Scorer>>> {
    pipeline.parts.iter().map(|part| scorers.get(&part.scorer).cloned()).collect()
}

/// Whether every part names a scorer or another pipeline of the file; what does not is reported.
fn is_known(scorers: &ScorersByName, draft: &Draft<'_, '_>, pipelines: &[String]) -> bool {
    let mut known = true;
    for name in &draft.scorers {
        if scorers.get(name).is_some_and(|scorer| scorer.is_pairwise()) {
            known = false;
            let message = format!(
                "the scorer '{name}' compares the responses of a group; a part judges one response"
            );
            draft.section.problem("part", message);
            continue;
        }
        if scorers.get(name).is_some() || pipelines.contains(name) {
            continue;
        }
        known = false;
        let names = scorers.keys().map(String::as_str);
        let all = names.chain(pipelines.iter().map(String::as_str));
        let hint =
            nearest(name, all).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        draft.section.problem("part", format!("no scorer '{name}'{hint}"));
    }
    known && draft.pipeline.is_some()
}
