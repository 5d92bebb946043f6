//! Questions to a judge: the prompt, the generated judgement and the label of the verdict.
//!
//! The verdict is read from log-probabilities at its position, before sampling and before any
//! constraint: at the beginning if reasons follow, and after the model's reasons if they come
//! first. The model's text is inserted in compact form, so that the same characters always precede
//! the verdict.

use std::sync::Arc;

use engine::{Grammar, Origin};
use serde::Serialize;
use verifiers::Reason;

use super::form::{Judgement, JudgementForm};
use crate::Message;
use crate::engine_client::{EngineClient, stream_of};
use crate::kinds::options::{Thinking, Wording, WritingOptions};
use crate::labels::{LabelRead, Labels, Spelling};
use crate::models::{Chat, Prompted, Served, wording_digest};
use crate::outcome::{Evidence, Failure, FailureKind, Trace};
use crate::prompt::leaves_reasoning_open;

/// Prompt and sampling options of a judge.
#[derive(Debug, Clone, Serialize)]
pub(super) struct JudgePrompt {
    // Part of the digest of a scorer, which keeps the name.
    #[serde(rename = "rubric")]
    pub(super) form: JudgementForm,
    pub(super) wording: Wording,
    pub(super) thinking: Thinking,
    pub(super) demonstrations: Vec<Demonstration>,
    pub(super) min_label_mass: f64,
    pub(super) writing: WritingOptions,
}

/// An example of a judgement: the messages of its question, and the judgement.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Demonstration {
    pub(super) question: Vec<(String, String)>,
    pub(super) judgement: String,
}

/// A text for each slot of the wording.
pub(super) type Slots = Vec<(&'static str, String)>;

/// A question that is ready for the engine.
pub(super) struct RenderedQuestion {
    prompted: Prompted,
    /// Responses that it is about.
    count: usize,
}

/// The result of a question.
#[derive(Debug)]
pub(super) struct JudgeReply {
    /// The generated judgement; `None` if only labels were read.
    pub(super) judgement: Option<Judgement>,
    /// Probabilities of the verdict's labels; `None` if only a judgement was generated.
    pub(super) labels: Option<LabelRead>,
}

/// A prompt that ends where the verdict's token follows, and the labels that the token may be.
struct VerdictPrompt {
    prompted: Prompted,
    labels: Labels,
}

impl JudgePrompt {
    /// The messages of a question.
    pub(super) fn turns(&self, slots: &Slots) -> Vec<Message> {
        let slots: Vec<(&str, &str)> = slots.iter().map(|(name, text)| (*name, &**text)).collect();
        let (mut turns, rest): (Vec<Message>, Vec<Message>) =
            self.wording.fill(&slots).into_iter().partition(|turn| turn.role == "system");
        for demonstration in &self.demonstrations {
            let question = demonstration.question.iter();
            turns.extend(question.map(|(role, content)| Message::new(role, content)));
            turns.push(Message::new("assistant", &demonstration.judgement));
        }
        turns.extend(rest);
        turns
    }

    /// Renders and encodes a question about `count` responses.
    ///
    /// # Errors
    /// A refusal: the model cannot take this prompt.
    pub(super) fn question(
        &self,
        served: &Served,
        slots: &Slots,
        count: usize,
    ) -> Result<RenderedQuestion, Failure> {
        let turns = self.turns(slots);
        let chat = Chat::with_generation_prompt(&turns).reasoning(self.writing.reasoning);
        Ok(RenderedQuestion { prompted: served.prompt(&chat)?, count })
    }

    /// Checks that the prompt can be rendered and the verdict can be read.
    ///
    /// # Errors
    /// [`FailureKind::Refused`] with the missing part.
    pub(super) fn try_on(
        &self,
        served: &Served,
        slots: &Slots,
        count: usize,
        label_verdict: bool,
    ) -> Result<(), Failure> {
        let question = self.question(served, slots, count)?;
        if leaves_reasoning_open(question.prompted.text.as_str()) {
            let detail =
                "its chat template leaves a reasoning block open where the judgement would begin";
            return Err(Failure::refused("reasoning_open", detail));
        }
        if label_verdict {
            self.verdict(served, &question.prompted, Some("because"))?;
        }
        if self.generates(label_verdict) {
            let unusable = |what: String| Failure::refused("constraint_unusable", what);
            let vocabulary = served.host.vocabulary();
            let vocabulary = vocabulary.map_err(|error| unusable(error.to_string()))?;
            let compiled = vocabulary.compile(&self.grammar(count));
            compiled.map_err(|error| unusable(error.to_string()))?;
        }
        Ok(())
    }

    /// Whether a judgement is generated: for its reasons, or because the verdict is not read from
    /// the probabilities of labels (`label_verdict`).
    fn generates(&self, label_verdict: bool) -> bool {
        self.form.gives_reasons() || !label_verdict
    }

    fn grammar(&self, count: usize) -> Grammar {
        Grammar::JsonSchema(self.form.schema(count))
    }

    /// The prompt continued up to the verdict's token.
    fn verdict(
        &self,
        served: &Served,
        prompted: &Prompted,
        reason: Option<&str>,
    ) -> Result<VerdictPrompt, Failure> {
        let refused = |what: String| Failure::refused("labels_unusable", what);
        let mut text = prompted.text.clone();
        text.push_str(&self.form.before_verdict(reason), Origin::Request);
        let token_ids = served.encode(&text).map_err(refused)?.into();
        let prompted = Prompted { token_ids, text };
        let labels = self.form.labels();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let labels = Labels::after(served, &prompted, &labels, Spelling::Bare).map_err(refused)?;
        Ok(VerdictPrompt { prompted, labels })
    }
}

/// One scorer's questions about one input.
pub(super) struct JudgeCaller<'a> {
    pub(super) prompt_options: &'a Arc<JudgePrompt>,
    pub(super) served: Served,
    pub(super) client: &'a EngineClient<'a>,
    /// Usage and texts of all questions.
    pub(super) evidence: Evidence,
}

impl<'a> JudgeCaller<'a> {
    pub(super) fn new(
        prompt_options: &'a Arc<JudgePrompt>,
        served: Served,
        client: &'a EngineClient<'a>,
    ) -> Self {
        let trace = Trace {
            prompt: Some(wording_digest(&served, &[&prompt_options.wording])),
            ..Trace::default()
        };
        Self {
            prompt_options,
            served,
            client,
            evidence: Evidence { trace: Some(trace), ..Evidence::default() },
        }
    }

    /// Runs all questions at once. With `label_verdict`, verdicts are read from the probabilities
    /// of their labels.
    ///
    /// # Errors
    /// A failure of all questions: a prompt that cannot be rendered, or an unavailable engine.
    /// Errors of one judgement are that judgement's failure.
    pub(super) async fn ask(
        &mut self,
        questions: Vec<(Slots, usize)>,
        label_verdict: bool,
    ) -> Result<Vec<Result<JudgeReply, Failure>>, Failure> {
        let (prompt_options, served) = (self.prompt_options.clone(), self.served.clone());
        let ready = move || {
            let questions = questions.iter();
            let ready =
                questions.map(|(slots, count)| prompt_options.question(&served, slots, *count));
            ready.collect::<Result<Vec<RenderedQuestion>, Failure>>()
        };
        let questions = self.client.run(ready).await??;
        let judgements = self.generate_judgements(&questions, label_verdict).await?;
        if label_verdict {
            return self.read_labels(&questions, judgements).await;
        }
        let answered = judgements.into_iter().map(|judgement| {
            let judgement = judgement?;
            Ok(JudgeReply { judgement, labels: None })
        });
        Ok(answered.collect())
    }

    /// The generated judgement of each question; `None` if none is generated.
    async fn generate_judgements(
        &mut self,
        questions: &[RenderedQuestion],
        label_verdict: bool,
    ) -> Result<Vec<Result<Option<Judgement>, Failure>>, Failure> {
        if !self.prompt_options.generates(label_verdict) {
            return Ok(questions.iter().map(|_| Ok(None)).collect());
        }
        let prompts: Vec<_> = questions
            .iter()
            .map(|question| {
                let stream = stream_of(&question.prompted, 0);
                let mut writing = self.prompt_options.writing.writing(stream);
                writing.grammar = Some(self.prompt_options.grammar(question.count));
                (&question.prompted, writing)
            })
            .collect();
        let trace = self.evidence.trace.get_or_insert_default();
        let written = self.client.write(&self.served, &prompts, trace).await?;
        if self.client.options().explain {
            let outputs = self.evidence.outputs.get_or_insert_default();
            outputs.extend(written.iter().map(|text| text.output("judgement")));
        }
        let judgements = written.iter().zip(questions).map(|(written, question)| {
            let text = written.whole()?;
            let parsed = self.prompt_options.form.parse(text, question.count);
            parsed.map(Some).map_err(unreadable)
        });
        Ok(judgements.collect())
    }

    /// Reads the labels of the questions whose judgements could be parsed.
    async fn read_labels(
        &mut self,
        questions: &[RenderedQuestion],
        judgements: Vec<Result<Option<Judgement>, Failure>>,
    ) -> Result<Vec<Result<JudgeReply, Failure>>, Failure> {
        let (prompt_options, served) = (self.prompt_options.clone(), self.served.clone());
        let parsed = questions.iter().zip(&judgements);
        let parsed: Vec<(Prompted, Option<String>)> = parsed
            .filter_map(|(question, judgement)| {
                let judgement = judgement.as_ref().ok()?.as_ref();
                let reason = judgement.and_then(|judgement| judgement.reason.clone());
                Some((question.prompted.clone(), reason))
            })
            .collect();
        let place = move || {
            let parsed = parsed.iter();
            let places = parsed.map(|(prompted, reason)| {
                let reason = reason.as_deref();
                prompt_options.verdict(&served, prompted, reason)
            });
            places.collect::<Result<Vec<VerdictPrompt>, Failure>>()
        };
        let verdicts = self.client.run(place).await??;
        let sequences = verdicts.iter().map(|verdict| {
            let prompted = &verdict.prompted;
            (prompted.token_ids.clone(), verdict.labels.task(prompted))
        });
        let trace = self.evidence.trace.get_or_insert_default();
        let sequences: Vec<_> = sequences.collect();
        let outputs = self.client.read(&self.served, sequences, trace).await?;
        let mut verdicts = verdicts.iter().zip(&outputs);
        let least = self.prompt_options.min_label_mass;
        let answered = judgements.into_iter().map(|judgement| {
            let judgement = judgement?;
            let (verdict, outputs) = verdicts.next().expect("each parsed judgement has labels");
            let labels = verdict.labels.read(&outputs[0])?;
            trace.saw_mass(Some(labels.mass));
            labels.enough_mass(least)?;
            Ok(JudgeReply { judgement, labels: Some(labels) })
        });
        Ok(answered.collect())
    }
}

fn unreadable(what: String) -> Failure {
    let reason = Reason::with("judgement_unreadable", what);
    Failure::new(FailureKind::ParseError, reason)
}
