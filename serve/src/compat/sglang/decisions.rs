//! `SGLang`'s decisions: questions with ids about an input.

use rubrics::decide::{
    DecisionAnswer, DecisionVerdict, Decisions, FieldPath, PROMPT_FORMAT, Question, QuestionKind,
};

use super::decision_types::{
    SglangAnswer, SglangCachedTokens, SglangDecision, SglangDecisionRequest, SglangQuestion,
    SglangQuestionType, SglangUsage,
};
use crate::compat::shared::decisions::text::{Named, TextOrJson};
use crate::compat::shared::decisions::types::{DecisionNotes, MAX_CHOICES, MAX_LEVELS};
use crate::compat::shared::decisions::{self, DecisionQuery, Wire};
use crate::compat::shared::{Json, check_count, invalid, refuse, refuse_images};
use crate::error::ApiError;

/// The part of a request that its reply needs.
#[derive(Debug)]
pub(crate) struct SglangEcho {
    questions: Vec<SglangQuestion>,
    tokens: bool,
}

/// Converts a request.
///
/// # Errors
/// 422 at the first invalid value.
pub(crate) fn convert(
    request: SglangDecisionRequest,
) -> Result<(DecisionQuery, SglangEcho), ApiError> {
    refuse_images(&request.images)?;
    decisions::check_template_kwargs(&request.chat_template_kwargs)?;
    decisions::check_questions(request.questions.len())?;
    if let Some(version) = request.prompt_format_version
        && version != u64::from(PROMPT_FORMAT)
    {
        let what = format_args!(
            "version {version} is not served; the wording here is version {PROMPT_FORMAT}"
        );
        return Err(invalid("prompt_format_version", what));
    }
    if let Some(temperature) = request.temperature
        && temperature <= 0.0
    {
        return Err(invalid("temperature", format_args!("{temperature} is not above 0")));
    }
    let mut ids = std::collections::HashSet::new();
    for (at, question) in request.questions.iter().enumerate() {
        let path = format!("questions[{at}].id");
        if question.id.trim().is_empty() {
            return Err(invalid(path, "an id is not blank"));
        }
        if !ids.insert(&question.id) {
            let what = format_args!("{:?} is another question's id", question.id);
            return Err(invalid(path, what));
        }
    }
    let query = DecisionQuery {
        model: request.model,
        input: decisions::document("input", &request.input)?,
        questions: request
            .questions
            .iter()
            .enumerate()
            .map(|(at, given)| question(&format!("questions[{at}]"), given))
            .collect::<Result<_, _>>()?,
        template_kwargs: request.chat_template_kwargs,
        temperature: request.temperature,
        cache_key: None,
    };
    let echo = SglangEcho { questions: request.questions, tokens: request.return_prompt_token_ids };
    Ok((query, echo))
}

fn question(path: &str, given: &SglangQuestion) -> Result<Question, ApiError> {
    let missing = |field: &str, what| Err(invalid(format!("{path}.{field}"), what));
    let options = ("options", given.options.is_some());
    let levels = ("levels", given.levels.is_some());
    let outcomes = [("yes", given.yes.is_some()), ("no", given.no.is_some())];
    let kind = match given.kind {
        SglangQuestionType::Choice => {
            refuse(path, "choice", outcomes.into_iter().chain([levels]))?;
            let Some(options) = &given.options else {
                return missing("options", "a choice has options");
            };
            check_count(&format!("{path}.options"), options.len(), 2..=MAX_CHOICES)?;
            let option = |option: &super::decision_types::SglangOption| {
                decisions::alternative(&option.name, option.description.as_ref())
            };
            QuestionKind::Choice { options: options.iter().map(option).collect() }
        }
        SglangQuestionType::Score => {
            refuse(path, "score", outcomes.into_iter().chain([options]))?;
            let Some(levels) = &given.levels else {
                return missing("levels", "a score has levels");
            };
            check_count(&format!("{path}.levels"), levels.len(), 2..=MAX_LEVELS)?;
            let level = |level: &TextOrJson| decisions::alternative(level.text(), None);
            QuestionKind::Score { levels: levels.iter().map(level).collect() }
        }
        SglangQuestionType::YesNo => {
            refuse(path, "yes_no", [options, levels])?;
            let meaning =
                |given: &Option<TextOrJson>| decisions::alternative("", given.as_ref()).description;
            QuestionKind::Predicate { yes: meaning(&given.yes), no: meaning(&given.no) }
        }
    };
    Ok(Question { instructions: given.question.text().into_owned(), kind })
}

impl Wire for SglangEcho {
    fn path(&self, question: usize, place: FieldPath) -> String {
        let path = format!("questions[{question}]");
        let list = match self.questions[question].kind {
            SglangQuestionType::Choice => "options",
            SglangQuestionType::Score | SglangQuestionType::YesNo => "levels",
        };
        match place {
            FieldPath::Whole => path,
            FieldPath::Instructions => path + ".question",
            FieldPath::Alternatives => format!("{path}.{list}"),
            FieldPath::Alternative(at) => format!("{path}.{list}[{at}]"),
        }
    }

    fn input_path(&self) -> &'static str {
        "input"
    }

    fn reply(self, model: String, decided: Decisions, notes: DecisionNotes) -> Json {
        let tokens = self.tokens;
        let (input, output) =
            (decided.usage.input_tokens as u64, decided.usage.output_tokens as u64);
        let pairs = self.questions.into_iter().zip(decided.answers);
        serde_json::to_vec(&SglangDecision {
            object: "decisions".to_owned(),
            model,
            prompt_format_version: PROMPT_FORMAT,
            answers: Named(
                pairs
                    .map(|(given, answer)| (given.id.clone(), reply_to(given, &answer, tokens)))
                    .collect(),
            ),
            usage: SglangUsage {
                prompt_tokens: input,
                completion_tokens: output,
                total_tokens: input + output,
                prompt_tokens_details: SglangCachedTokens {
                    cached_tokens: decided.usage.cached_tokens as u64,
                },
            },
            tribunal: notes,
        })
    }
}

fn reply_to(given: SglangQuestion, answer: &DecisionAnswer, tokens: bool) -> SglangAnswer {
    let names: Vec<String> = match given.kind {
        SglangQuestionType::Choice => {
            let options = given.options.unwrap_or_default();
            options.into_iter().map(|option| option.name).collect()
        }
        SglangQuestionType::Score => {
            decisions::level_names().take(answer.probabilities.len()).collect()
        }
        SglangQuestionType::YesNo => vec!["yes".to_owned(), "no".to_owned()],
    };
    let (choice, score) = match answer.verdict {
        DecisionVerdict::Predicate { .. } => (None, None),
        DecisionVerdict::Choice { option, .. } => (Some(names[option].clone()), None),
        DecisionVerdict::Score { value, .. } => (None, Some(value)),
    };
    let label_ids = answer.label_token_ids.as_deref().filter(|_| tokens);
    SglangAnswer {
        kind: given.kind,
        probabilities: Named(names.into_iter().zip(answer.probabilities.iter().copied()).collect()),
        label_mass: answer.label_mass,
        choice,
        score,
        prompt_token_ids: tokens.then(|| answer.prompt_token_ids.to_vec()),
        label_token_ids: label_ids.map(<[u32]>::to_vec),
        tribunal: decisions::notes(answer),
    }
}
