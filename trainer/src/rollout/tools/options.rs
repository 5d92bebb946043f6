//! `[tools]` of a run file.

use std::path::Path;

use rubrics::config::Section;
use rubrics::toolbox::Toolbox;
use serde_json::Value;

use super::format::CallFormat;
use crate::rollout::ScoredText;

/// Default number of turns with calls.
const MAX_TURNS: u64 = 4;

/// `[tools]`: the tools that a policy may call in its rollouts.
#[derive(Clone, Debug)]
pub struct ToolSection {
    /// The tools and their limits, those of the scorer kind `tool`.
    pub toolbox: Toolbox,
    /// Turns whose calls are run; a call in the turn after them ends the response. 4 by default.
    pub max_turns: usize,
    /// The format of calls; `None` takes that of the chat template if it can render results.
    pub format: Option<CallFormat>,
    /// What happens to a response that ran out of turns or tokens.
    pub at_limit: AtLimit,
    /// The text that scorers read.
    pub scored: ScoredText,
}

/// What happens to a response that ran out of turns or tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtLimit {
    /// It is scored as it stands.
    #[default]
    Score,
    /// It leaves its group, which is dropped if fewer than two responses are left.
    Drop,
}

impl ToolSection {
    /// Reads the section; databases are relative to `base`.
    pub(crate) fn read(section: &Section<'_, '_>, base: &Path) -> Option<ToolSection> {
        let formats = [("template", CallFormat::Template), ("tags", CallFormat::Tags)];
        let limits = [("score", AtLimit::Score), ("drop", AtLimit::Drop)];
        let texts = [("written", ScoredText::Written), ("transcript", ScoredText::Transcript)];
        let turns = section.integer("max_turns", 1..1001).unwrap_or(MAX_TURNS);
        Some(ToolSection {
            max_turns: usize::try_from(turns).unwrap_or(usize::MAX),
            format: section.word("format", &formats),
            at_limit: section.word("at_limit", &limits).unwrap_or_default(),
            scored: section.word("scored", &texts).unwrap_or_default(),
            toolbox: Toolbox::read(section, Some(base))?,
        })
    }

    /// The schemas of the tools for chat templates; `None` for a format that no template describes.
    pub(crate) fn schemas(&self) -> Option<Vec<Value>> {
        (self.format != Some(CallFormat::Tags)).then(|| self.toolbox.schemas())
    }
}
