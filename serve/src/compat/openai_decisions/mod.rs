//! OpenAI's Decisions: requests and replies.

mod input;
pub(crate) mod types;

use std::collections::HashSet;

use rubrics::decide::{
    Alternative, DecisionAnswer, DecisionVerdict, Decisions, FieldPath, Question, QuestionKind,
};

use self::types::{
    ChoiceOption, ChoiceProbability, ChoiceValue, Decision, DecisionAnswer as WireAnswer,
    DecisionInputTokens, DecisionOutputTokens, DecisionQuestion, DecisionQuestionType,
    DecisionRequest, DecisionUsage, MAX_PROMPT_CACHE_KEY_CHARS, MAX_SAFETY_IDENTIFIER_CHARS,
    ScoreLevel, ScoreProbability,
};
use crate::compat::shared::decisions::types::{DecisionNotes, MAX_CHOICES, MAX_LEVELS};
use crate::compat::shared::decisions::{self, DecisionQuery, Wire};
use crate::compat::shared::{Json, check_count, invalid, refuse};
use crate::error::ApiError;

/// The part of a request that its reply needs.
#[derive(Debug)]
pub(crate) struct OpenAiEcho {
    questions: Vec<DecisionQuestion>,
}

/// Converts a request.
///
/// # Errors
/// 422 at the first invalid value.
pub(crate) fn convert(request: DecisionRequest) -> Result<(DecisionQuery, OpenAiEcho), ApiError> {
    decisions::check_questions(request.questions.len())?;
    let texts = [
        ("prompt_cache_key", &request.prompt_cache_key, MAX_PROMPT_CACHE_KEY_CHARS),
        ("safety_identifier", &request.safety_identifier, MAX_SAFETY_IDENTIFIER_CHARS),
    ];
    for (field, text, most) in texts {
        if let Some(text) = text {
            check_chars(field, text, most)?;
        }
    }
    let query = DecisionQuery {
        model: Some(request.model),
        input: input::convert(&request.input)?,
        questions: request
            .questions
            .iter()
            .enumerate()
            .map(|(at, given)| question(&format!("questions[{at}]"), given))
            .collect::<Result<_, _>>()?,
        template_kwargs: serde_json::Map::new(),
        temperature: None,
        cache_key: request.prompt_cache_key,
    };
    let echo = OpenAiEcho { questions: request.questions };
    Ok((query, echo))
}

fn check_chars(path: &str, text: &str, most: usize) -> Result<(), ApiError> {
    let given = text.chars().count();
    if given <= most {
        return Ok(());
    }
    Err(invalid(path, format_args!("{given} characters; at most {most} are taken")))
}

fn question(path: &str, given: &DecisionQuestion) -> Result<Question, ApiError> {
    let missing = |field: &str, what| Err(invalid(format!("{path}.{field}"), what));
    let choices = ("choices", given.choices.is_some());
    let levels = ("levels", given.levels.is_some());
    let kind = match given.kind {
        DecisionQuestionType::Predicate => {
            refuse(path, "predicate", [choices, levels])?;
            QuestionKind::Predicate { yes: None, no: None }
        }
        DecisionQuestionType::Choice => {
            refuse(path, "choice", [levels])?;
            let Some(choices) = &given.choices else {
                return missing("choices", "a choice has choices");
            };
            choice(&format!("{path}.choices"), choices)?
        }
        DecisionQuestionType::Score => {
            refuse(path, "score", [choices])?;
            let Some(levels) = &given.levels else {
                return missing("levels", "a score has levels");
            };
            check_count(&format!("{path}.levels"), levels.len(), 2..=MAX_LEVELS)?;
            let level = |level: &ScoreLevel| Alternative {
                text: level.label.clone(),
                description: described(level.description.as_ref()),
            };
            QuestionKind::Score { levels: levels.iter().map(level).collect() }
        }
    };
    let instructions = input::instructions(&format!("{path}.instructions"), &given.instructions)?;
    Ok(Question { instructions, kind })
}

/// Converts choices. Text and a boolean of the same spelling are two choices, which the model can
/// distinguish only by quotation marks.
fn choice(path: &str, choices: &[ChoiceOption]) -> Result<QuestionKind, ApiError> {
    check_count(path, choices.len(), 2..=MAX_CHOICES)?;
    let mut seen = HashSet::with_capacity(choices.len());
    for (at, choice) in choices.iter().enumerate() {
        if !seen.insert(&choice.value) {
            let what = "the same choice stands earlier in the list";
            return Err(invalid(format!("{path}[{at}].value"), what));
        }
    }
    let spelled = |value: &ChoiceValue| match value {
        ChoiceValue::Bool(value) => value.to_string(),
        ChoiceValue::Text(text) => {
            let boolean = text.parse().map(ChoiceValue::Bool);
            if boolean.is_ok_and(|boolean| seen.contains(&boolean)) {
                format!("\"{text}\"")
            } else {
                text.clone()
            }
        }
    };
    let option = |choice: &ChoiceOption| Alternative {
        text: spelled(&choice.value),
        description: described(choice.description.as_ref()),
    };
    Ok(QuestionKind::Choice { options: choices.iter().map(option).collect() })
}

fn described(description: Option<&String>) -> Option<String> {
    description.filter(|text| !text.trim().is_empty()).cloned()
}

impl Wire for OpenAiEcho {
    fn path(&self, question: usize, place: FieldPath) -> String {
        let path = format!("questions[{question}]");
        let (list, field) = match self.questions[question].kind {
            DecisionQuestionType::Choice => ("choices", "value"),
            DecisionQuestionType::Score | DecisionQuestionType::Predicate => ("levels", "label"),
        };
        match place {
            FieldPath::Whole => path,
            FieldPath::Instructions => path + ".instructions",
            FieldPath::Alternatives => format!("{path}.{list}"),
            FieldPath::Alternative(at) => format!("{path}.{list}[{at}].{field}"),
        }
    }

    fn input_path(&self) -> &'static str {
        "input"
    }

    fn reply(self, model: String, decided: Decisions, notes: DecisionNotes) -> Json {
        let usage = decided.usage;
        let pairs = self.questions.into_iter().zip(&decided.answers);
        let (input, output) = (usage.input_tokens as u64, usage.output_tokens as u64);
        serde_json::to_vec(&Decision {
            model,
            answers: pairs.map(|(given, answer)| reply_to(given, answer)).collect(),
            usage: DecisionUsage {
                input_tokens: input,
                input_tokens_details: DecisionInputTokens {
                    cached_tokens: usage.cached_tokens as u64,
                    cache_write_tokens: usage.computed_tokens as u64,
                },
                output_tokens: output,
                // Decisions are not reasoned about before the answer.
                output_tokens_details: DecisionOutputTokens { reasoning_tokens: 0 },
                total_tokens: input + output,
            },
            tribunal: notes,
        })
    }
}

fn reply_to(given: DecisionQuestion, answer: &DecisionAnswer) -> WireAnswer {
    let tribunal = decisions::notes(answer);
    let name = given.name;
    let probabilities = answer.probabilities.iter().copied();
    match answer.verdict {
        DecisionVerdict::Predicate { probability } => {
            WireAnswer::Predicate { name, probability, tribunal }
        }
        DecisionVerdict::Choice { option, confidence } => {
            let values = given.choices.unwrap_or_default().into_iter();
            let probabilities: Vec<ChoiceProbability> = values
                .zip(probabilities)
                .map(|(ChoiceOption { value, .. }, probability)| ChoiceProbability {
                    value,
                    probability,
                })
                .collect();
            WireAnswer::Choice {
                name,
                choice: probabilities[option].value.clone(),
                confidence,
                probabilities,
                tribunal,
            }
        }
        DecisionVerdict::Score { value, confidence } => {
            let levels = given.levels.unwrap_or_default().into_iter().zip(0..);
            let probabilities = levels
                .zip(probabilities)
                .map(|((level, value), probability)| ScoreProbability {
                    value,
                    label: level.label,
                    probability,
                })
                .collect();
            WireAnswer::Score { name, score: value, confidence, probabilities, tribunal }
        }
    }
}
