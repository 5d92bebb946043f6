//! `kind = "principles"`: whether a response satisfies principles that are chosen when it is judged
//! (RLBFF: Binary Flexible Feedback, arXiv 2509.21319).
//!
//! One response at a time and one principle a question, so there is no order to be biased by. The
//! conversation comes first and the principle last: an engine computes the conversation once, and k
//! principles cost one prefill and k short endings.
//!
//! The scalar form reads log p(Yes) − log p(No) at one token without generating. In the generative
//! form the model writes its reasoning, and the same difference is read at the verdict at its end.

mod combine;
mod generation;
mod judgement;
mod list;
mod question;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::options::{LabelOptions, Slots, Thinking, Wording, nothing_shown};
use super::{InputFields, KindContext, Names, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::labels::Labels;
use crate::models::{Chat, Models, Served, wording_digest};
use crate::outcome::{Evidence, Failure, Outcome, PartReport, Trace};
use crate::prompt::{Prompt, transcript};
use crate::sample::Sample;
use crate::{Input, Message};
use combine::Combine;
use generation::{Generation, Generative};
use list::Principle;
use question::{PrincipleQuestion, score_of};

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "principles";

/// The role that models which were trained for principles read them in.
pub const ROLE: &str = "principle";
/// Maximum weight of a principle: sums of weights stay finite.
const MAX_WEIGHT: f64 = 1e9;

const SLOTS: Slots<'static> = Slots { needed: &["conversation", "principle"], optional: &[] };

/// The options.
#[derive(Debug)]
struct PrinciplesKind {
    model: String,
    principles: Vec<Principle>,
    combine: Combine,
    prompt_options: Arc<PrinciplePrompt>,
}

/// Prompt of principles and method of reading answers.
#[derive(Debug, Serialize)]
struct PrinciplePrompt {
    role: RoleChoice,
    thinking: Thinking,
    wording: Wording,
    labels: LabelOptions,
    generative: Option<Generative>,
}

/// Role of the message with a principle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RoleChoice {
    /// In a message of its own role where the chat template knows that role, else in a prompt.
    #[default]
    Auto,
    /// In a message of its own role.
    Principle,
    /// In a prompt.
    Prompt,
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let combines = [("mean", Combine::Mean), ("min", Combine::Min), ("product", Combine::Product)];
    let roles = [
        ("auto", RoleChoice::Auto),
        ("principle", RoleChoice::Principle),
        ("prompt", RoleChoice::Prompt),
    ];
    let combine = section.word("combine", &combines).unwrap_or_default();
    let role = section.word("template_role", &roles).unwrap_or_default();
    let labels = LabelOptions::read(section);
    let generative = Generative::read(section);
    let evidence = generative.is_some_and(|generative| generative.evidence);
    let wording = match generative {
        None => "principle",
        Some(_) if evidence => "principle-evidence",
        Some(_) => "principle-reasoning",
    };
    if role == RoleChoice::Principle && (evidence || section.has("message")) {
        let what = "a message of the role 'principle' holds the bare principle: there is no place \
                    for a wording, nor for asking for evidence";
        section.problem("template_role", what);
    }
    let wording = Wording::read(section, wording, SLOTS);
    let principles = read_principles(section);
    let model = names.model(section, "model");
    let prompt_options = PrinciplePrompt {
        role,
        thinking: Thinking::read(section),
        wording: wording?,
        labels,
        generative,
    };
    Some(Box::new(PrinciplesKind {
        model: model?,
        principles,
        combine,
        prompt_options: Arc::new(prompt_options),
    }))
}

/// `principles`, and `[[scorer.principle]]` for those with a weight or a name of their own.
fn read_principles(section: &Section<'_, '_>) -> Vec<Principle> {
    let given = section.texts("principles").unwrap_or_default();
    let mut principles: Vec<Principle> =
        given.iter().map(|text| Principle::of(text, 1.0)).collect();
    for table in section.sections("principle") {
        let text = table.required_text("text").unwrap_or_default();
        let weight = table.number("weight").unwrap_or(1.0);
        if weight <= 0.0 || weight > MAX_WEIGHT {
            table.problem("weight", format!("must be more than 0 and at most {MAX_WEIGHT:e}"));
        }
        let mut principle = Principle::of(&text, weight);
        if let Some(name) = table.text("name") {
            principle.name = name;
        }
        principles.push(principle);
        table.finish();
    }
    if let Err(flaw) = list::check(&principles) {
        section.problem("principles", flaw.to_string());
    }
    principles
}

impl ScorerKind for PrinciplesKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "asks a model whether a response satisfies principles"
    }

    fn options(&self) -> Value {
        json!([self.model, self.principles, self.combine, *self.prompt_options])
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.model]
    }

    fn input_fields(&self) -> InputFields {
        InputFields { principles: true, ..InputFields::default() }
    }

    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        Some(0.0)
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        if !served.has_vocabulary() {
            return Err(format!("'{}' has no vocabulary to answer in", self.model));
        }
        let turns = [Message::new("user", "What is 2 + 2?"), Message::new("assistant", "4")];
        let principles = [Principle::of("correct", 1.0)];
        let checked = self.prompt_options.questions(&served, &turns, &principles);
        checked.map(drop).map_err(Failure::into_message)
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context.client))
    }
}

impl PrinciplesKind {
    async fn evaluate_sample(&self, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        let principles = self.principles_of(sample.input)?;
        let response = self.prompt_options.thinking.shown(sample.response);
        if response.trim().is_empty() {
            return Ok(nothing_shown());
        }
        let mut turns = sample.conversation();
        if let Some(last) = turns.last_mut() {
            last.content = response.into_owned();
        }
        let served = client.served(&self.model)?;
        let host = served.clone();
        let (prompt_options, owned) = (self.prompt_options.clone(), principles.clone());
        let questions =
            client.run(move || prompt_options.questions(&host, &turns, &owned)).await??;
        let mut evidence = Evidence {
            trace: Some(Trace {
                prompt: Some(wording_digest(&served, &[&self.prompt_options.wording])),
                ..Trace::default()
            }),
            ..Evidence::default()
        };
        let read = match self.prompt_options.generative {
            None => self.read(&served, &questions, client, &mut evidence).await,
            Some(how) => {
                let response = sample.response;
                let writing = Generation { how, principles: &principles, response };
                let (served, evidence) = (&served, &mut evidence);
                writing.judge(served, &questions, client, evidence).await
            }
        };
        let outcomes = read?;
        let parts = principles.into_iter().zip(outcomes);
        let parts = parts.map(|(principle, outcome)| PartReport {
            name: principle.name,
            weight: principle.weight,
            outcome: Some(outcome),
        });
        self.combine.whole(parts.collect(), evidence)
    }

    /// The configured principles, then those of the input.
    fn principles_of(&self, input: &Input) -> Result<Vec<Principle>, Failure> {
        let mut principles = self.principles.clone();
        let own = input.principles.iter().flatten();
        principles.extend(own.map(|given| Principle::of(given, 1.0)));
        if principles.is_empty() {
            let detail = "no principles are configured: give 'principles'";
            return Err(Failure::refused("principles_missing", detail));
        }
        list::check(&principles).map_err(|flaw| Failure::refused(flaw.code(), flaw.to_string()))?;
        Ok(principles)
    }

    /// The verdicts of the scalar form, one for each question.
    async fn read(
        &self,
        served: &Served,
        questions: &[PrincipleQuestion],
        client: &EngineClient<'_>,
        evidence: &mut Evidence,
    ) -> Result<Vec<Outcome>, Failure> {
        let sequence = |question: &PrincipleQuestion| {
            let prompted = &question.prompted;
            (prompted.token_ids.clone(), question.labels.task(prompted))
        };
        let sequences = questions.iter().map(sequence).collect();
        let trace = evidence.trace.get_or_insert_default();
        let outputs = client.read(served, sequences, trace).await?;
        let mut outcomes = Vec::with_capacity(questions.len());
        for (question, outputs) in questions.iter().zip(&outputs) {
            let read = question.labels.read(&outputs[0])?;
            trace.saw_mass(Some(read.mass));
            let enough = read.enough_mass(self.prompt_options.labels.min_label_mass);
            outcomes.push(enough.map(|()| score_of(read.margin(), "principle_log_odds")));
        }
        Ok(outcomes)
    }
}

impl PrinciplePrompt {
    /// A question for each principle about one conversation.
    fn questions(
        &self,
        served: &Served,
        turns: &[Message],
        principles: &[Principle],
    ) -> Result<Vec<PrincipleQuestion>, Failure> {
        let refused = |what: String| Failure::refused("labels_unusable", what);
        let has_role = self.has_role(served)?;
        let shown = transcript(turns);
        let question = |principle: &Principle| {
            let own = if has_role {
                let mut turns = turns.to_vec();
                turns.push(Message::new(ROLE, &principle.text));
                turns
            } else {
                let slots = [("conversation", &*shown), ("principle", &*principle.text)];
                self.wording.fill(&slots)
            };
            let reasoning = self.generative.is_some_and(|how| how.writing.reasoning);
            let prompted =
                served.prompt(&Chat::with_generation_prompt(&own).reasoning(reasoning))?;
            let labels = if self.generative.is_some() {
                judgement::yes_no_labels(served)
            } else {
                let spellings = self.labels.spellings;
                Labels::after(served, &prompted, &judgement::VERDICTS, spellings)
            };
            Ok(PrincipleQuestion { labels: labels.map_err(refused)?, prompted })
        };
        principles.iter().map(question).collect()
    }

    /// Whether principles go in messages of their own role.
    fn has_role(&self, served: &Served) -> Result<bool, Failure> {
        let evidence = self.generative.is_some_and(|how| how.evidence);
        match self.role {
            RoleChoice::Prompt => Ok(false),
            RoleChoice::Auto => Ok(!evidence && knows_role(served)),
            RoleChoice::Principle if knows_role(served) => Ok(true),
            RoleChoice::Principle => {
                let detail = "the chat template does not know the role 'principle'";
                Err(Failure::refused("prompt_not_rendered", detail))
            }
        }
    }
}

/// The question whether a response satisfies a principle, in the wording of the scorer's scalar form: for
/// training on verdicts with a chat template that does not know [`ROLE`]. `turns` end with the response.
pub fn principle_in_words(turns: &[Message], principle: &str) -> Vec<Message> {
    let shown = transcript(turns);
    let slots = [("conversation", &*shown), ("principle", principle)];
    Prompt::built_in("principle").fill(&slots)
}

/// Whether the chat template renders the role: with its content, and not as it renders a user's.
fn knows_role(served: &Served) -> bool {
    const PROBE: &str = "is brief";
    let render = |role| {
        let turns =
            [Message::new("user", "a"), Message::new("assistant", "b"), Message::new(role, PROBE)];
        served.render(&Chat::with_generation_prompt(&turns)).ok()
    };
    render(ROLE).is_some_and(|own| {
        own.as_str().contains(PROBE)
            && render("user").is_none_or(|other| other.as_str() != own.as_str())
    })
}

#[cfg(test)]
mod tests;
