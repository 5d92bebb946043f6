//! Templates with slots, by which rollouts become judge items.
//!
//! A file has a default `scorer` and `[[template]]` tables: a `name`, a `kind`, the two `labels` of
//! kinds that have labels, and messages with slots `{{slot|form}}` as in [`rubrics::prompt`].
//!
//! | kind | slots | labels |
//! |---|---|---|
//! | `pointwise` | `problem`, and `answer` or `solution` | right, wrong |
//! | `pairwise` | `problem`, and `answer_a` and `answer_b`, or `solution_a` and `solution_b` | the first is better, the second is |
//! | `reflect_reasoning` | `problem`, `solution` | |
//! | `reflect_answer` | `problem`, `answer` | |
//! | `critique` | `problem`, `solution` | right, wrong |
//! | `referee` | `problem`, `candidates` or `candidate`, and optionally `count` | |
//!
//! `answer` is the extracted final answer and `solution` the full text of a rollout. A referee
//! template with the slot `candidates` has a `candidate`, the wording of one candidate with the slots
//! `number` and `text`, and a `separator` between two. One with the slot `candidate` has neither: the
//! messages with that slot are there once for each candidate.
//!
//! `scorer` names the scorer of `rubrics` that rewards the answers; a reflection is rewarded by the
//! scorer of the problem. A template that asks for `\box{}` is refused: no verifier reads that, so
//! that every answer to it would be worth nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use rubrics::Message;
use rubrics::prompt::{MessageTemplate, Prompt};
use serde::Deserialize;

use crate::error::{Result, TrainError};

/// Kind of item that a template makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateKind {
    /// Whether one answer is right.
    Pointwise,
    /// Which of two answers is better.
    Pairwise,
    /// The problem again, with a wrong solution.
    ReflectReasoning,
    /// The problem again, with a wrong final answer.
    ReflectAnswer,
    /// A critique that concludes whether a solution is right.
    Critique,
    /// Scores for several candidates.
    #[serde(rename = "referee")]
    RankJudge,
}

/// Slots and labels of a kind.
struct TemplateRule {
    /// Alternative sets of slots for the subject of judgement; one set must be present.
    shows: &'static [&'static [&'static str]],
    /// Slots allowed beside `problem` and the sets.
    also: &'static [&'static str],
    labels: bool,
}

impl TemplateKind {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pointwise => "pointwise",
            Self::Pairwise => "pairwise",
            Self::ReflectReasoning => "reflect_reasoning",
            Self::ReflectAnswer => "reflect_answer",
            Self::Critique => "critique",
            Self::RankJudge => "referee",
        }
    }

    fn rule(self) -> TemplateRule {
        let rule = |shows, also, labels| TemplateRule { shows, also, labels };
        match self {
            Self::Pointwise => rule(&[&["answer"], &["solution"]], &[], true),
            Self::Pairwise => {
                rule(&[&["answer_a", "answer_b"], &["solution_a", "solution_b"]], &[], true)
            }
            Self::ReflectReasoning => rule(&[&["solution"]], &[], false),
            Self::ReflectAnswer => rule(&[&["answer"]], &[], false),
            Self::Critique => rule(&[&["solution"]], &[], true),
            Self::RankJudge => rule(&[&["candidates"], &["candidate"]], &["count"], false),
        }
    }
}

/// A template: one wording of a kind of item.
#[derive(Clone, Debug)]
pub struct Template {
    /// The kind of item that it makes.
    pub kind: TemplateKind,
    /// The scorer that rewards the answers, by name.
    pub scorer: Arc<str>,
    prompt: Arc<Prompt>,
    labels: Option<[Arc<str>; 2]>,
    listing: Option<Arc<Listing>>,
}

/// The list of candidates in a rank judge's template.
#[derive(Debug)]
enum Listing {
    /// In one text.
    Text { candidate: Prompt, separator: String },
    /// In messages: each message as a prompt of its own, and whether it is repeated for each
    /// candidate.
    Messages(Vec<(Prompt, bool)>),
}

impl Template {
    /// The name in logs.
    pub fn name(&self) -> &str {
        &self.prompt.name
    }

    /// SHA-256 of the wording, as `sha256:…`.
    pub fn digest(&self) -> &str {
        &self.prompt.digest
    }

    /// The label of a positive verdict: right, or the first is better.
    ///
    /// # Panics
    /// For kinds without labels; reading a file checks that the others have theirs.
    pub fn label(&self, yes: bool) -> Arc<str> {
        let labels = self.labels.as_ref();
        let [first, second] = labels.expect("the templates of this kind have labels");
        Arc::clone(if yes { first } else { second })
    }

    /// The conversation with texts in the slots.
    pub fn fill(&self, texts: &[(&str, &str)]) -> Vec<Message> {
        self.prompt.fill(texts)
    }

    /// The conversation of a rank judge over `candidates` in this order.
    ///
    /// # Panics
    /// For other kinds.
    pub fn fill_candidates(&self, problem: &str, candidates: &[&str]) -> Vec<Message> {
        let listing = self.listing.as_deref();
        let count = candidates.len().to_string();
        match listing.expect("the templates of a referee list candidates") {
            Listing::Text { candidate, separator } => {
                let listed = (1_usize..).zip(candidates).map(|(number, text)| {
                    let number = number.to_string();
                    let turns = candidate.fill(&[("number", &number), ("text", text)]);
                    let contents = turns.into_iter().map(|turn| turn.content);
                    contents.collect::<String>()
                });
                let listed = listed.collect::<Vec<_>>().join(separator);
                self.fill(&[("problem", problem), ("candidates", &listed), ("count", &count)])
            }
            Listing::Messages(messages) => {
                let fill = |message: &Prompt, candidate: &str| {
                    message.fill(&[
                        ("problem", problem),
                        ("candidate", candidate),
                        ("count", &count),
                    ])
                };
                let turns = messages.iter().flat_map(|(message, each)| {
                    let shown = if *each { candidates } else { &[""][..] };
                    shown.iter().flat_map(move |text| fill(message, text))
                });
                turns.collect()
            }
        }
    }
}

/// The templates of a run, by kind.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    by_kind: BTreeMap<TemplateKind, Vec<Template>>,
}

/// Scorers that the templates of this crate name and that `rubrics` does not build in, as tables of
/// a configuration. A verdict is the text of the last box that closes, byte by byte: a verdict in
/// words, in `\box{}` or in another mark earns 0. A `reply` is the full text.
pub const SCORERS: &str = r#"
[[scorer]]
name = "verdict"
kind = "exact"
extract = "marked"
marker = '\boxed'

[[scorer]]
name = "conclusion"
kind = "exact"
extract = "marked"
marker = '\conclusion'

[[scorer]]
name = "reply"
kind = "exact"
extract = "whole"
"#;

/// The built-in files, by name.
const FILES: &[(&str, &str)] = &[
    ("spark", include_str!("../../templates/spark.toml")),
    ("urpo", include_str!("../../templates/urpo.toml")),
    ("crl", include_str!("../../templates/crl.toml")),
    ("compact", include_str!("../../templates/compact.toml")),
];

impl Templates {
    /// The names of the built-in files.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// A built-in file: `spark`, `urpo`, `crl`, or `compact`, which has all kinds but critiques
    /// without words, for a model whose chat template has roles for them.
    ///
    /// # Errors
    /// An unknown name.
    pub fn built_in(name: &str) -> Result<Self> {
        let found = FILES.iter().find(|(known, _)| *known == name);
        let Some((_, text)) = found else {
            let names: Vec<&str> = Self::names().collect();
            return Err(TrainError::Invalid(format!(
                "no templates '{name}'; there are {}",
                names.join(", ")
            )));
        };
        Self::read(&format!("{name}.toml"), text)
    }

    /// Parses the templates of a file's text; errors name it `file`.
    ///
    /// # Errors
    /// Every fault of the file, one per line.
    pub fn read(file: &str, text: &str) -> Result<Self> {
        let written: TemplateFile = toml::from_str(text).map_err(|error| {
            TrainError::Invalid(format!("{file}: {}", error.to_string().trim()))
        })?;
        let mut templates = Self::default();
        let mut problems = Vec::new();
        if written.template.is_empty() {
            problems.push(format!("{file}: no [[template]]"));
        }
        let mut seen = Vec::new();
        for entry in written.template {
            let mut found = entry.problems();
            if seen.contains(&entry.name) {
                found.push("another template of this file has this name".to_owned());
            }
            seen.push(entry.name.clone());
            let place = format!("{file}: template '{}'", entry.name);
            match entry.build(&written.scorer) {
                Ok(template) if found.is_empty() => templates.add(template),
                Ok(_) => {}
                Err(problem) => found.push(problem),
            }
            problems.extend(found.into_iter().map(|problem| format!("{place}: {problem}")));
        }
        if problems.is_empty() {
            return Ok(templates);
        }
        Err(TrainError::Invalid(problems.join("\n")))
    }

    /// Adds the templates of another file.
    pub fn extend(&mut self, other: Self) {
        for template in other.by_kind.into_values().flatten() {
            self.add(template);
        }
    }

    /// The templates of one kind, in the order of their files.
    pub fn of(&self, kind: TemplateKind) -> &[Template] {
        self.by_kind.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// Checks that there is a template of each kind.
    ///
    /// # Errors
    /// Names the kinds that have none.
    pub fn require(&self, kinds: &[TemplateKind]) -> Result<()> {
        let missing = kinds.iter().filter(|kind| self.of(**kind).is_empty());
        let missing: Vec<&str> = missing.map(|kind| kind.name()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(TrainError::Invalid(format!("no template of the kind {}", missing.join(", "))))
    }

    fn add(&mut self, template: Template) {
        self.by_kind.entry(template.kind).or_default().push(template);
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateFile {
    scorer: String,
    #[serde(default)]
    template: Vec<TemplateEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateEntry {
    name: String,
    kind: TemplateKind,
    scorer: Option<String>,
    labels: Option<[String; 2]>,
    candidate: Option<String>,
    separator: Option<String>,
    message: Vec<MessageTemplate>,
}

impl TemplateEntry {
    /// Contradictions between the entry and its kind, except for slots that cannot be parsed.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let rule = self.kind.rule();
        match &self.labels {
            None if rule.labels => problems.push("labels are missing".to_owned()),
            Some(_) if !rule.labels => problems.push("this kind has no labels".to_owned()),
            Some([first, second]) if first == second || first.is_empty() || second.is_empty() => {
                problems.push("the two labels are two different words".to_owned());
            }
            Some(_) | None => {}
        }
        if self.message.is_empty() {
            problems.push("no [[template.message]]".to_owned());
        }
        if self.message.iter().any(|m| m.content.contains("\\box{")) {
            problems
                .push("it asks for \\box{}, which no verifier reads; write \\boxed{}".to_owned());
        }
        problems
    }

    fn build(self, scorer: &str) -> std::result::Result<Template, String> {
        let prompt = Prompt::new(&self.name, 1, &self.message)?;
        check_slots(self.kind, &prompt.slots())?;
        let listing = self.listing(&prompt)?;
        Ok(Template {
            kind: self.kind,
            scorer: self.scorer.as_deref().unwrap_or(scorer).into(),
            prompt: Arc::new(prompt),
            labels: self.labels.map(|labels| labels.map(Arc::from)),
            listing: listing.map(Arc::new),
        })
    }

    /// The listing of candidates, for a rank judge.
    fn listing(&self, prompt: &Prompt) -> std::result::Result<Option<Listing>, String> {
        let slots = prompt.slots();
        let text = slots.contains(&"candidates");
        let written = (self.candidate.as_ref(), self.separator.as_ref());
        match (self.kind == TemplateKind::RankJudge, text, written) {
            (false, _, (None, None)) => Ok(None),
            (true, true, (Some(content), Some(separator))) if !slots.contains(&"candidate") => {
                let candidate = self.alone(&MessageTemplate {
                    role: "user".to_owned(),
                    content: content.clone(),
                })?;
                let slots = candidate.slots();
                let known = |slot: &&str| ["number", "text"].contains(slot);
                if !slots.contains(&"text") || !slots.iter().all(known) {
                    return Err("a candidate has the slots text and number".to_owned());
                }
                let separator = separator.clone();
                Ok(Some(Listing::Text { candidate, separator }))
            }
            (true, false, (None, None)) => {
                let messages = self.message.iter().map(|message| {
                    let message = self.alone(message)?;
                    let each = message.slots().contains(&"candidate");
                    Ok((message, each))
                });
                let messages = messages.collect::<std::result::Result<_, String>>()?;
                Ok(Some(Listing::Messages(messages)))
            }
            _ => Err(
                "candidate and separator belong to a referee with the slot candidates, and both \
                 of them"
                    .to_owned(),
            ),
        }
    }

    /// One message as a prompt of its own.
    fn alone(&self, message: &MessageTemplate) -> std::result::Result<Prompt, String> {
        Prompt::new(&self.name, 1, std::slice::from_ref(message))
    }
}

fn check_slots(kind: TemplateKind, slots: &[&str]) -> std::result::Result<(), String> {
    let rule = kind.rule();
    let known = |slot: &&str| {
        *slot == "problem"
            || rule.also.contains(slot)
            || rule.shows.iter().any(|s| s.contains(slot))
    };
    if let Some(slot) = slots.iter().find(|slot| !known(slot)) {
        return Err(format!("the kind {} has no slot '{slot}'", kind.name()));
    }
    let is_present = |set: &&&[&str]| set.iter().all(|slot| slots.contains(slot));
    if !slots.contains(&"problem") || !rule.shows.iter().any(|set| is_present(&set)) {
        let sets: Vec<String> = rule.shows.iter().map(|set| set.join(" and ")).collect();
        return Err(format!("it needs the slots problem, and {}", sets.join(", or ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
