//! `kind = "grounded"`: each sentence of an answer is compared with documents for faithfulness and
//! correctness (TRM, thinking-supervised reward model, 2509.25409).
//!
//! The judge decides faithfulness first, then gives reasons, then decides correctness. The paper is
//! known to weigh the judge's two verdicts with α = 0.5 in training; here the same weights combine
//! them to the sentence's score.
//!
//! Only sentences outside thinking count. There is one request for each; everything before the
//! sentence is shared and computed once.

mod judgement;

#[cfg(test)]
mod tests;

use std::ops::Range;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::{Value, json};
use verifiers::arithmetic::{self, Splitter};
use verifiers::{Reason, extract};

use super::options::{LabelOptions, Slots, Wording, WritingOptions, read_share};
use super::prompting::{self, EvaluationLog, mean};
use super::{InputFields, KindContext, Names, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::engine_client::{EngineClient, stream_of};
use crate::labels::Labels;
use crate::models::{Models, Served};
use crate::outcome::{CodePoints, Evidence, Failure, Outcome, Score, SpanNote, StepScore};
use crate::prompt::Prompt;
use crate::sample::Sample;
use judgement::{Judgement, grammar};

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "grounded";

/// The verdicts that are read, the good one first.
const VERDICTS: [&str; 2] = ["Yes", "No"];
/// Default limit of a judgement's tokens.
const MAX_TOKENS: usize = 512;

/// The options.
#[derive(Debug, Clone, Serialize)]
struct Grounded {
    model: String,
    alpha: f64,
    max_sentences: usize,
    #[serde(flatten)]
    mode: Mode,
}

/// Method of judging a sentence.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
enum Mode {
    /// In three lines that the model writes.
    Written {
        #[serde(flatten)]
        writing: WritingOptions,
        constrain: bool,
        wording: Wording,
    },
    /// By two reads of labels, without reasons.
    Labels {
        #[serde(flatten)]
        labels: LabelOptions,
        faithful: Wording,
        correct: Wording,
    },
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let slots = Slots { needed: &["documents", "sentence"], optional: &["problem", "answer"] };
    let words = [("written", false), ("labels", true)];
    let model = names.model(section, "model");
    let by_labels = section.word("mode", &words).unwrap_or(false);
    let mode = if by_labels {
        let faithful = Wording::read(section, "grounded-faithful", slots);
        let correct = Wording::read_from(section, "message_correct", "grounded-correct", slots);
        Mode::Labels { labels: LabelOptions::read(section), faithful: faithful?, correct: correct? }
    } else {
        Mode::Written {
            writing: WritingOptions::read(section, WritingOptions::greedy(MAX_TOKENS)),
            constrain: section.boolean("constrain").unwrap_or(true),
            wording: Wording::read(section, "grounded-sentence", slots)?,
        }
    };
    let most = section.integer("max_sentences", 1..100_001);
    Some(Box::new(Grounded {
        model: model?,
        alpha: read_share(section, "alpha").unwrap_or(0.5),
        max_sentences: most.and_then(|n| usize::try_from(n).ok()).unwrap_or(256),
        mode,
    }))
}

impl ScorerKind for Grounded {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "holds every sentence of an answer against documents"
    }

    fn options(&self) -> Value {
        json!(self)
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.model]
    }

    fn input_fields(&self) -> InputFields {
        InputFields { context: true, ..InputFields::default() }
    }

    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        Some(0.0)
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        match &self.mode {
            Mode::Written { writing, wording, .. } => {
                prompting::try_wording(&served, wording, writing.reasoning).map(drop)
            }
            Mode::Labels { labels, faithful, correct } => {
                [faithful, correct].into_iter().try_for_each(|wording| {
                    let prompt = prompting::try_wording(&served, wording, false)?;
                    Labels::after(&served, &prompt, &VERDICTS, labels.spellings).map(drop)
                })
            }
        }
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context.client))
    }
}

impl Grounded {
    async fn evaluate_sample(&self, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        let documents = documents(&sample)?;
        let sentences = self.sentences(sample.response)?;
        let problem = match &sample.input.prompt {
            None => "(not given)\n".to_owned(),
            Some(_) => prompting::problem(&sample)?,
        };
        let answer = prompting::quotation(sample.response);
        let served = client.served(&self.model)?;
        let judged = sentences.iter().map(|span| {
            let sentence = prompting::quotation(&sample.response[span.clone()]);
            let texts =
                SlotTexts { documents: &documents, problem: &problem, answer: &answer, sentence };
            self.sentence(&served, texts, client)
        });
        let judged = join_all(judged).await;
        self.conclude(&sample, &sentences, judged)
    }

    /// The sentences of what a response shows, as byte ranges.
    fn sentences(&self, response: &str) -> Result<Vec<Range<usize>>, Failure> {
        let visible = extract::visible(response);
        let within = |range: &Range<usize>| {
            let start = range.start;
            let sentences = arithmetic::split(&response[range.clone()], Splitter::Sentences);
            let moved = move |span: Range<usize>| span.start + start..span.end + start;
            sentences.into_iter().map(moved)
        };
        let sentences: Vec<_> = visible.ranges().iter().flat_map(within).collect();
        if sentences.is_empty() {
            let detail = "the response shows no sentence";
            return Err(Failure::refused("no_sentences", detail));
        }
        if sentences.len() > self.max_sentences {
            let (given, most) = (sentences.len(), self.max_sentences);
            let detail = format!("{given} sentences; max_sentences is {most}");
            return Err(Failure::refused("too_many_sentences", detail));
        }
        Ok(sentences)
    }

    async fn sentence(
        &self,
        served: &Served,
        texts: SlotTexts<'_>,
        client: &EngineClient<'_>,
    ) -> (Result<Judgement, Failure>, EvaluationLog) {
        match &self.mode {
            Mode::Written { wording, .. } => {
                let mut log = EvaluationLog::new(client, served, &[&**wording]);
                let judged = self.written(served, &texts, client, &mut log).await;
                (judged, log)
            }
            Mode::Labels { labels, faithful, correct } => {
                let mut log = EvaluationLog::new(client, served, &[&**faithful, &**correct]);
                let mut read = Vec::with_capacity(2);
                for wording in [faithful, correct] {
                    let turns = texts.fill(wording);
                    let how = (&VERDICTS[..], *labels);
                    match prompting::judge_by_labels(client, served, turns, how, &mut log).await {
                        Ok(label) => read.push(label.shares()[0]),
                        Err(failure) => return (Err(failure), log),
                    }
                }
                let judged = Judgement { faithful: read[0], correct: read[1], reasoning: None };
                (Ok(judged), log)
            }
        }
    }

    async fn written(
        &self,
        served: &Served,
        texts: &SlotTexts<'_>,
        client: &EngineClient<'_>,
        log: &mut EvaluationLog,
    ) -> Result<Judgement, Failure> {
        let Mode::Written { writing, constrain, wording } = &self.mode else {
            return Err(Failure::internal());
        };
        let turns = texts.fill(wording);
        let prompt = prompting::prompt(client, served, turns, writing.reasoning).await?;
        let mut how = writing.writing(stream_of(&prompt, 0));
        how.grammar = constrain.then(|| grammar(writing.reasoning));
        let written = client.write(served, &[(&prompt, how)], &mut log.trace).await?;
        log.wrote("judgement", &written[0]);
        Judgement::read(written[0].whole()?)
    }

    /// A score where every sentence has one; a sentence that could not be judged is no 0.
    fn conclude(
        &self,
        sample: &Sample<'_>,
        sentences: &[Range<usize>],
        judged: Vec<(Result<Judgement, Failure>, EvaluationLog)>,
    ) -> Outcome {
        let mut points = CodePoints::new(sample.response);
        let (mut steps, mut spans, mut failed) = (Vec::new(), Vec::new(), None);
        let mut whole: Option<EvaluationLog> = None;
        for (range, (judged, log)) in sentences.iter().zip(judged) {
            let span = points.range(range);
            match judged {
                Ok(judged) => {
                    spans.extend(sentence_notes(&span, &judged));
                    steps.push(self.step(span, judged));
                }
                Err(failure) => {
                    steps.push(unjudged(span));
                    failed.get_or_insert(failure);
                }
            }
            match &mut whole {
                None => whole = Some(log),
                Some(whole) => whole.add(log),
            }
        }
        let scores: Vec<f64> = steps.iter().filter_map(|step| step.score).collect();
        let evidence = Evidence {
            steps: Some(steps),
            spans: Some(spans),
            ..whole.map(EvaluationLog::evidence).unwrap_or_default()
        };
        if let Some(failure) = failed {
            return Err(failure.with_evidence(evidence));
        }
        Ok(Score { evidence, ..Score::proven(mean(&scores), Reason::code("sentences_judged")) })
    }

    fn step(&self, span: Range<usize>, judged: Judgement) -> StepScore {
        let label = match (judged.faithful >= 0.5, judged.correct >= 0.5) {
            (true, true) => "right",
            (false, true) => "unfaithful",
            (true, false) => "incorrect",
            (false, false) => "unfaithful_and_incorrect",
        };
        StepScore {
            span,
            score: Some(self.alpha * judged.faithful + (1.0 - self.alpha) * judged.correct),
            raw: None,
            reward: None,
            label: label.into(),
            critique: judged.reasoning,
            equalities: None,
        }
    }
}

/// Texts of a wording's slots.
struct SlotTexts<'a> {
    documents: &'a str,
    problem: &'a str,
    answer: &'a str,
    sentence: String,
}

impl SlotTexts<'_> {
    fn fill(&self, wording: &Prompt) -> Vec<crate::Message> {
        wording.fill(&[
            ("documents", self.documents),
            ("problem", self.problem),
            ("answer", self.answer),
            ("sentence", &self.sentence),
        ])
    }
}

/// The documents, numbered and quoted.
fn documents(sample: &Sample<'_>) -> Result<String, Failure> {
    let given = sample.input.context.as_deref().unwrap_or_default();
    if given.iter().all(|text| text.trim().is_empty()) {
        let detail = "this scorer holds an answer against documents: give 'context'";
        return Err(Failure::refused("context_missing", detail));
    }
    let numbered = given.iter().enumerate().map(|(index, text)| {
        let text = prompting::quotation(text);
        format!("Document {}:\n{text}", index + 1)
    });
    Ok(numbered.collect())
}

/// Both values of a sentence.
fn sentence_notes(span: &Range<usize>, judged: &Judgement) -> [SpanNote; 2] {
    let note = |label: &'static str, value| SpanNote {
        span: span.clone(),
        label: label.into(),
        value: Some(value),
    };
    [note("faithful", judged.faithful), note("correct", judged.correct)]
}

fn unjudged(span: Range<usize>) -> StepScore {
    StepScore {
        span,
        score: None,
        raw: None,
        reward: None,
        label: "unchecked".into(),
        critique: None,
        equalities: None,
    }
}
