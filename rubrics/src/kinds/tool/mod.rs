//! `kind = "tool"`: a model decides whether an answer agrees with the reference, with tools for
//! computations (`CoSineVerifier`, tool-augmented answer verification, 2512.01224).
//!
//! The conversation is bounded: in each turn the model writes, and the calls in its text are run
//! and answered; a turn without calls is the last one and has the verdict, of which the last
//! occurrence counts. Tools are a closed set of computations, programs in the sandbox and queries,
//! so that a call cannot reach another model; a failure of the sandbox is one of the score. Only generated text is parsed: text of a response is never a call or a verdict.
//!
//! Unlike the published code, which scores the error string of the turn limit as incorrect, the
//! turn limit is a failure here unless `at_turn_limit = "incorrect"`.

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use verifiers::Reason;

use super::options::{LabelOptions, Slots, Wording, WritingOptions};
use super::prompting::{self, EvaluationLog};
use super::toolbox::{ToolResult, Toolbox};
use super::{KindContext, Names, ScoreFuture, ScorerKind};
use crate::Message;
use crate::config::Section;
use crate::engine_client::{EngineClient, stream_of};
use crate::labels::{Labels, Spelling};
use crate::models::{Chat, Models, Served};
use crate::outcome::{Failure, FailureKind, Outcome, Score};
use crate::programs::Programs;
use crate::sample::Sample;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "tool";

/// Last characters of a candidate that are shown, as in the published code.
const CANDIDATE_CHARS: usize = 8192;

/// The options.
#[derive(Clone, Serialize)]
struct Verifying {
    model: String,
    wording: Wording,
    candidate_chars: usize,
    #[serde(flatten)]
    mode: VerdictMode,
}

/// Method of the verdict.
#[derive(Clone, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
enum VerdictMode {
    /// In a conversation.
    Tools(Box<Conversing>),
    /// By one read of labels.
    Label {
        #[serde(flatten)]
        labels: LabelOptions,
        /// The good one first.
        words: [String; 2],
    },
}

/// The options of a conversation.
#[derive(Clone, Serialize)]
struct Conversing {
    #[serde(flatten)]
    writing: WritingOptions,
    max_turns: usize,
    at_turn_limit: AtTurnLimit,
    verdict: Marker,
    toolbox: Toolbox,
}

/// Result at the turn limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum AtTurnLimit {
    /// Nothing is known.
    #[default]
    Fail,
    /// A verdict of incorrect, as in the published code.
    Incorrect,
}

/// Form of a verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Marker {
    /// `[Correct]` or `[Incorrect]`.
    #[default]
    Bracketed,
    /// The words alone count too, as in the published parser.
    Bare,
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let model = names.model(section, "model");
    let words = [("tools", false), ("label", true)];
    let by_label = section.word("mode", &words).unwrap_or(false);
    let chars = section.integer("candidate_chars", 1..1 << 24);
    let (wording, mode) = if by_label {
        (label_wording(section), label_mode(section))
    } else {
        let slots = Slots { needed: &["candidate", "reference"], optional: &["question", "tools"] };
        let wording = Wording::read(section, "tool-verifier", slots);
        let mode =
            Conversing::read(section, names.base).map(|mode| VerdictMode::Tools(Box::new(mode)));
        (wording, mode)
    };
    Some(Box::new(Verifying {
        model: model?,
        wording: wording?,
        candidate_chars: chars.and_then(|n| usize::try_from(n).ok()).unwrap_or(CANDIDATE_CHARS),
        mode: mode?,
    }))
}

fn label_wording(section: &Section<'_, '_>) -> Option<Wording> {
    let slots =
        Slots { needed: &["candidate", "reference"], optional: &["question", "right", "wrong"] };
    Wording::read(section, "tool-verifier-label", slots)
}

fn label_mode(section: &Section<'_, '_>) -> Option<VerdictMode> {
    let words = match section.texts("labels") {
        None => ["[Correct]".to_owned(), "[Incorrect]".to_owned()],
        Some(words) => {
            let words: Result<[String; 2], _> = words.try_into();
            let Ok(words) = words else {
                section.problem("labels", "give two labels, the good one first");
                return None;
            };
            words
        }
    };
    let default = LabelOptions::read(section);
    // A label in brackets, unlike a word, has only one spelling.
    let spellings = if section.has("spellings") { default.spellings } else { Spelling::Bare };
    Some(VerdictMode::Label { labels: LabelOptions { spellings, ..default }, words })
}

impl Conversing {
    fn read(section: &Section<'_, '_>, base: Option<&Path>) -> Option<Self> {
        let limits = [("fail", AtTurnLimit::Fail), ("incorrect", AtTurnLimit::Incorrect)];
        let markers = [("bracketed", Marker::Bracketed), ("bare", Marker::Bare)];
        let default =
            WritingOptions { temperature: 0.6, top_p: 0.85, ..WritingOptions::greedy(32_768) };
        let turns = section.integer("max_turns", 1..101);
        Some(Self {
            writing: WritingOptions::read(section, default),
            max_turns: turns.and_then(|n| usize::try_from(n).ok()).unwrap_or(5),
            at_turn_limit: section.word("at_turn_limit", &limits).unwrap_or_default(),
            verdict: section.word("verdict", &markers).unwrap_or_default(),
            toolbox: Toolbox::read(section, base)?,
        })
    }
}

impl ScorerKind for Verifying {
    fn name(&self) -> &'static str {
        NAME
    }

    fn revision(&self) -> u32 {
        3
    }

    fn description(&self) -> &'static str {
        "lets a model with tools decide whether an answer agrees with the reference"
    }

    fn options(&self) -> Value {
        json!(self)
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.model]
    }

    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        Some(0.0)
    }

    fn programs(&self) -> Option<&Programs> {
        match &self.mode {
            VerdictMode::Tools(mode) => mode.toolbox.programs(),
            VerdictMode::Label { .. } => None,
        }
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        match &self.mode {
            VerdictMode::Tools(mode) => {
                prompting::try_wording(&served, &self.wording, mode.writing.reasoning).map(drop)
            }
            VerdictMode::Label { labels, words } => {
                let prompt = prompting::try_wording(&served, &self.wording, false)?;
                let words = words.each_ref().map(String::as_str);
                Labels::after(&served, &prompt, &words, labels.spellings).map(drop)
            }
        }
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context.client))
    }
}

impl Verifying {
    async fn evaluate_sample(&self, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        let turns = self.turns(&sample)?;
        let served = client.served(&self.model)?;
        let mut log = EvaluationLog::new(client, &served, &[&*self.wording]);
        let judged = match &self.mode {
            VerdictMode::Tools(mode) => mode.converse(&served, turns, client, &mut log).await,
            VerdictMode::Label { labels, words } => {
                let words = words.each_ref().map(String::as_str);
                let how = (&words[..], *labels);
                let read = prompting::judge_by_labels(client, &served, turns, how, &mut log).await;
                read.map(|read| ToolVerdict {
                    score: read.shares()[0],
                    raw: Some(read.margin()),
                    is_correct: read.margin() >= 0.0,
                    reason: Reason::code("label_read"),
                })
            }
        };
        match judged {
            Err(failure) => Err(log.failed(failure)),
            Ok(verdict) => Ok(Score {
                raw: verdict.raw,
                label: Some(if verdict.is_correct { "correct" } else { "incorrect" }.into()),
                evidence: log.evidence(),
                ..Score::proven(verdict.score, verdict.reason)
            }),
        }
    }

    /// Renders the question for the model.
    fn turns(&self, sample: &Sample<'_>) -> Result<Vec<Message>, Failure> {
        let reference = prompting::reference_text(sample.input)?;
        let question = prompting::question(sample)?;
        let visible = verifiers::extract::visible_response(sample.response);
        let candidate = tail(visible.as_ref().map_or("", |found| found.text), self.candidate_chars);
        if candidate.trim().is_empty() {
            let detail = "the response says nothing after its thinking";
            return Err(Failure::refused("no_candidate", detail));
        }
        let (mut tools, mut right, mut wrong) = (String::new(), "", "");
        match &self.mode {
            VerdictMode::Tools(mode) => tools = mode.toolbox.described(),
            VerdictMode::Label { words, .. } => {
                right = &words[0];
                wrong = &words[1];
            }
        }
        Ok(self.wording.fill(&[
            ("question", &question),
            ("candidate", candidate),
            ("reference", &reference),
            ("tools", &tools),
            ("right", right),
            ("wrong", wrong),
        ]))
    }
}

/// Verdict of a conversation or of labels.
struct ToolVerdict {
    score: f64,
    raw: Option<f64>,
    is_correct: bool,
    reason: Reason,
}

impl Conversing {
    async fn converse(
        &self,
        served: &Served,
        mut turns: Vec<Message>,
        client: &EngineClient<'_>,
        log: &mut EvaluationLog,
    ) -> Result<ToolVerdict, Failure> {
        let mut counted = CallCounts::default();
        for _ in 0..self.max_turns {
            let reasoning = self.writing.reasoning;
            let prompt = prompting::prompt(client, served, turns.clone(), reasoning).await?;
            let writing = self.writing.writing(stream_of(&prompt, 0));
            let requests = [(&prompt, writing)];
            let written = client.write(served, &requests, &mut log.trace).await?;
            log.wrote("judgement", &written[0]);
            counted.turns += 1;
            let text = written[0].whole()?;
            let calls = verifiers::tool_calls::read_calls(prompting::after_thinking(text));
            if calls.is_empty() {
                return self.verdict(prompting::after_thinking(text), &counted);
            }
            let answers = self.toolbox.answer(calls, client).await?;
            for answer in &answers {
                counted.calls += 1;
                counted.failed += usize::from(!answer.is_ok);
                log.tool_said(&answer.text);
            }
            turns.push(prompting::said(text));
            let (probed, opening) = (served.clone(), turns[0].clone());
            let has_role = client.run(move || knows_tools(&probed, opening)).await?;
            turns.extend(result_turns(&answers, has_role));
        }
        self.out_of_turns(&counted)
    }

    /// The verdict of a turn without calls.
    fn verdict(&self, text: &str, counted: &CallCounts) -> Result<ToolVerdict, Failure> {
        let (right, wrong) = match self.verdict {
            Marker::Bracketed => ("[Correct]", "[Incorrect]"),
            Marker::Bare => ("Correct", "Incorrect"),
        };
        // The later one counts; `None` is less than every position.
        let is_correct = match (text.rfind(right), text.rfind(wrong)) {
            (None, None) => {
                let detail = format!("neither {right} nor {wrong} was written");
                return Err(prompting::unreadable("verdict_missing", detail));
            }
            (right, wrong) => right > wrong,
        };
        Ok(ToolVerdict {
            score: f64::from(u8::from(is_correct)),
            raw: None,
            is_correct,
            reason: Reason::with("verdict_written", counted.detail()),
        })
    }

    fn out_of_turns(&self, counted: &CallCounts) -> Result<ToolVerdict, Failure> {
        let reason = Reason::with("turn_limit", counted.detail());
        match self.at_turn_limit {
            AtTurnLimit::Fail => Err(Failure::new(FailureKind::ToolError, reason)),
            AtTurnLimit::Incorrect => {
                Ok(ToolVerdict { score: 0.0, raw: None, is_correct: false, reason })
            }
        }
    }
}

/// Counts of a conversation.
#[derive(Debug, Clone, Copy, Default)]
struct CallCounts {
    turns: usize,
    calls: usize,
    failed: usize,
}

impl CallCounts {
    fn detail(&self) -> String {
        format!("{} turns, {} tool calls, {} of which failed", self.turns, self.calls, self.failed)
    }
}

/// Whether the template knows the role `tool`, and does not merely pass it over.
fn knows_tools(served: &Served, opening: Message) -> bool {
    const PROBE: &str = "tool-probe";
    let turns = [opening, prompting::said("x"), Message::new("tool", PROBE)];
    let rendered = served.render(&Chat::with_generation_prompt(&turns));
    rendered.is_ok_and(|text| text.as_str().contains(PROBE))
}

/// Returns the turns with the results of calls.
fn result_turns(answers: &[ToolResult], has_role: bool) -> Vec<Message> {
    let texts = answers.iter().map(|answer| answer.text.as_str());
    if has_role {
        return texts.map(|text| Message::new("tool", text)).collect();
    }
    let wrapped = texts.map(|text| format!("<tool_response>\n{text}\n</tool_response>"));
    let wrapped: Vec<String> = wrapped.collect();
    vec![Message::new("user", wrapped.join("\n"))]
}

/// The last `most` characters of a text.
fn tail(text: &str, most: usize) -> &str {
    match text.char_indices().rev().nth(most - 1) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}
