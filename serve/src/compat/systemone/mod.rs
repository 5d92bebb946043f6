//! System One: questions by name about a state.

pub(crate) mod types;

use rubrics::decide::{
    DecisionAnswer, DecisionVerdict, Decisions, FieldPath, Question, QuestionKind,
};

use self::types::{
    SystemOneAnswer, SystemOneChoice, SystemOneCriteria, SystemOneNoul, SystemOneQuestion,
    SystemOneQuestionType, SystemOneReply, SystemOneRequest, SystemOneScore, SystemOneUsage,
};
use crate::compat::shared::decisions::text::{Named, TextOrJson};
use crate::compat::shared::decisions::types::{DecisionNotes, MAX_CHOICES, MAX_LEVELS};
use crate::compat::shared::decisions::{self, DecisionQuery, Wire};
use crate::compat::shared::{Json, check_count, invalid, refuse_images};
use crate::error::ApiError;

/// The part of a request that its reply needs.
#[derive(Debug)]
pub(crate) struct SystemOneEcho {
    questions: Vec<(String, SystemOneQuestion)>,
}

/// Converts a request.
///
/// # Errors
/// 422 at the first invalid value.
pub(crate) fn convert(
    request: SystemOneRequest,
) -> Result<(DecisionQuery, SystemOneEcho), ApiError> {
    refuse_images(&request.images)?;
    decisions::check_template_kwargs(&request.chat_template_kwargs)?;
    let Named(questions) = request.questions;
    decisions::check_questions(questions.len())?;
    let query = DecisionQuery {
        model: Some(request.model),
        input: decisions::document("state", &request.state)?,
        questions: questions
            .iter()
            .map(|(name, given)| question(&format!("questions.{name}"), given))
            .collect::<Result<_, _>>()?,
        template_kwargs: request.chat_template_kwargs,
        temperature: None,
        cache_key: None,
    };
    Ok((query, SystemOneEcho { questions }))
}

fn question(path: &str, given: &SystemOneQuestion) -> Result<Question, ApiError> {
    let criteria = format!("{path}.criteria");
    let kind = match (given.kind, &given.criteria) {
        (SystemOneQuestionType::Noul, None) => QuestionKind::Predicate { yes: None, no: None },
        (SystemOneQuestionType::Noul, Some(SystemOneCriteria::ByName(outcomes))) => {
            noul(&criteria, outcomes)?
        }
        (SystemOneQuestionType::Choice, Some(SystemOneCriteria::ByName(Named(options)))) => {
            check_count(&criteria, options.len(), 2..=MAX_CHOICES)?;
            let option = |(name, meaning): &(String, Option<TextOrJson>)| {
                decisions::alternative(name, meaning.as_ref())
            };
            QuestionKind::Choice { options: options.iter().map(option).collect() }
        }
        (SystemOneQuestionType::Score, Some(SystemOneCriteria::Levels(levels))) => {
            check_count(&criteria, levels.len(), 2..=MAX_LEVELS)?;
            let level = |level: &TextOrJson| decisions::alternative(level.text(), None);
            QuestionKind::Score { levels: levels.iter().map(level).collect() }
        }
        (SystemOneQuestionType::Noul, Some(SystemOneCriteria::Levels(_))) => {
            return Err(invalid(criteria, "a noul takes an object with `true` and `false`"));
        }
        (SystemOneQuestionType::Choice, None | Some(SystemOneCriteria::Levels(_))) => {
            return Err(invalid(criteria, "a choice takes an object of options"));
        }
        (SystemOneQuestionType::Score, None | Some(SystemOneCriteria::ByName(_))) => {
            return Err(invalid(criteria, "a score takes a list of levels"));
        }
    };
    Ok(Question { instructions: given.instructions.text().into_owned(), kind })
}

fn noul(path: &str, Named(outcomes): &Named<Option<TextOrJson>>) -> Result<QuestionKind, ApiError> {
    let (mut yes, mut no) = (None, None);
    for (name, meaning) in outcomes {
        let outcome = match name.as_str() {
            "true" => &mut yes,
            "false" => &mut no,
            _ => {
                let what = "a noul has the outcomes `true` and `false`";
                return Err(invalid(format!("{path}.{name}"), what));
            }
        };
        *outcome = decisions::alternative(name, meaning.as_ref()).description;
    }
    Ok(QuestionKind::Predicate { yes, no })
}

impl Wire for SystemOneEcho {
    fn path(&self, question: usize, place: FieldPath) -> String {
        let (name, given) = &self.questions[question];
        let path = format!("questions.{name}");
        match (place, &given.criteria) {
            (FieldPath::Whole, _) => path,
            (FieldPath::Instructions, _) => path + ".instructions",
            (FieldPath::Alternative(at), Some(SystemOneCriteria::ByName(Named(options)))) => {
                format!("{path}.criteria.{}", options[at].0)
            }
            (FieldPath::Alternative(at), Some(SystemOneCriteria::Levels(_))) => {
                format!("{path}.criteria[{at}]")
            }
            (FieldPath::Alternatives, _) | (FieldPath::Alternative(_), None) => path + ".criteria",
        }
    }

    fn input_path(&self) -> &'static str {
        "state"
    }

    fn reply(self, model: String, decided: Decisions, notes: DecisionNotes) -> Json {
        let pairs = self.questions.into_iter().zip(&decided.answers);
        serde_json::to_vec(&SystemOneReply {
            model,
            answers: Named(
                pairs.map(|((name, given), answer)| (name, reply_to(given, answer))).collect(),
            ),
            usage: SystemOneUsage {
                input_tokens: decided.usage.input_tokens as u64,
                output_tokens: decided.usage.output_tokens as u64,
            },
            tribunal: notes,
        })
    }
}

fn reply_to(given: SystemOneQuestion, answer: &DecisionAnswer) -> SystemOneAnswer {
    let tribunal = decisions::notes(answer);
    let probabilities = answer.probabilities.iter().copied();
    let (options, levels) = match given.criteria {
        Some(SystemOneCriteria::ByName(Named(options))) => (options, Vec::new()),
        Some(SystemOneCriteria::Levels(levels)) => (Vec::new(), levels),
        None => (Vec::new(), Vec::new()),
    };
    match answer.verdict {
        DecisionVerdict::Predicate { probability } => {
            SystemOneAnswer::Noul(SystemOneNoul { noul: probability, tribunal })
        }
        DecisionVerdict::Choice { option, confidence } => {
            let names = options.into_iter().map(|(name, _)| name);
            let probabilities: Vec<(String, f64)> = names.zip(probabilities).collect();
            SystemOneAnswer::Choice(SystemOneChoice {
                choice: probabilities[option].0.clone(),
                confidence,
                probabilities: Named(probabilities),
                tribunal,
            })
        }
        DecisionVerdict::Score { value, confidence } => SystemOneAnswer::Score(SystemOneScore {
            score: value,
            confidence,
            legend: Named(decisions::level_names().zip(levels).collect()),
            probabilities: Named(decisions::level_names().zip(probabilities).collect()),
            tribunal,
        }),
    }
}
