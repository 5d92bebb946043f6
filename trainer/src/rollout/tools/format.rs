//! Formats of tool calls in a model's text, and of the results between its turns.

use engine::StopStrings;
use rubrics::Message;
use rubrics::toolbox::{ToolResult, Toolbox};
use verifiers::tool_calls::{Call, read_calls};

use crate::encode::Encoder;
use crate::error::{Result, TrainError};
use crate::item::{Observation, Token};

/// The format of calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFormat {
    /// The model ends its turn after `<tool_call>{"name": …, "arguments": {…}}</tool_call>`; the chat
    /// template renders the results as messages and opens its next turn.
    Template,
    /// The model's text goes on: generation stops at the end of `<TOOL>argument</TOOL>`, and the result
    /// follows between `<observation>` and `</observation>`.
    Tags,
}

/// A format for one tokenizer.
#[derive(Clone, Debug)]
pub(super) enum Turns {
    Template {
        /// Whether the template knows the role `tool`; otherwise results are a message of the user.
        has_role: bool,
    },
    Tags {
        stop: StopStrings,
    },
}

const OPEN: &str = "<observation>";
const CLOSE: &str = "</observation>";

impl Turns {
    /// The format of a run; `None` takes the chat template's if it can render results. `stop` are the
    /// run's own texts that end a response.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] for a chat template that cannot continue after a result.
    pub(super) fn new(
        format: Option<CallFormat>,
        toolbox: &Toolbox,
        encoder: &Encoder,
        stop: &[String],
    ) -> Result<Turns> {
        match (format, Turns::of_template(encoder)) {
            (Some(CallFormat::Template), template) => template,
            (None, Ok(template)) => Ok(template),
            (None, Err(_)) | (Some(CallFormat::Tags), _) => {
                let tags = toolbox.tags().map(|tag| format!("</{tag}>"));
                let ends = tags.chain(stop.iter().cloned()).collect();
                let stop = StopStrings::new(encoder.tokenizer().clone(), ends, true);
                Ok(Turns::Tags { stop: stop.map_err(TrainError::Invalid)? })
            }
        }
    }

    fn of_template(encoder: &Encoder) -> Result<Turns> {
        const PROBE: &str = "tool probe";
        let shows = |role: &str| {
            let ids = inserted(encoder, &[Message::new(role, PROBE)])?;
            Ok::<bool, TrainError>(encoder.tokenizer().decode(&ids, true)?.contains(PROBE))
        };
        for (role, has_role) in [("tool", true), ("user", false)] {
            if shows(role).is_ok_and(|shown| shown) {
                return Ok(Turns::Template { has_role });
            }
        }
        inserted(encoder, &[Message::new("user", PROBE)])?;
        Err(TrainError::Invalid(
            "the chat template does not show the messages that follow a call; use `format = \"tags\"`"
                .to_owned(),
        ))
    }

    /// What generation stops at beside the tokens that end a response, the run's own texts included;
    /// `None` where those are all.
    pub(super) fn stop(&self) -> Option<StopStrings> {
        match self {
            Turns::Template { .. } => None,
            Turns::Tags { stop } => Some(stop.clone()),
        }
    }

    /// The calls of a turn that ended by itself, with this text.
    pub(super) fn calls(
        &self,
        toolbox: &Toolbox,
        encoder: &Encoder,
        (tokens, text): (&[Token], &str),
    ) -> Vec<Call> {
        match self {
            Turns::Template { .. } => {
                let answer = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
                read_calls(answer)
            }
            Turns::Tags { .. } => {
                let ends_response =
                    tokens.last().is_none_or(|last| encoder.stops().contains(&last.id));
                if ends_response {
                    Vec::new()
                } else {
                    tagged_call(toolbox, text).into_iter().collect()
                }
            }
        }
    }

    /// The observation of the results of a turn's calls; `at` is the number of tokens before it.
    ///
    /// # Errors
    /// A chat template that refuses the results.
    pub(super) fn observation(
        &self,
        encoder: &Encoder,
        results: &[ToolResult],
        at: usize,
    ) -> Result<Observation> {
        let (token_ids, text) = match self {
            Turns::Template { has_role } => {
                let texts = results.iter().map(|result| result.text.as_str());
                let wrapped =
                    texts.map(|text| format!("<tool_response>\n{text}\n</tool_response>"));
                let wrapped = wrapped.collect::<Vec<_>>().join("\n");
                let messages = if *has_role {
                    results.iter().map(|result| Message::new("tool", &*result.text)).collect()
                } else {
                    vec![Message::new("user", &*wrapped)]
                };
                (inserted(encoder, &messages)?, format!("\n{wrapped}\n"))
            }
            Turns::Tags { .. } => {
                let texts: Vec<&str> = results.iter().map(|result| &*result.plain).collect();
                let text = format!("\n{OPEN}\n{}\n{CLOSE}\n", texts.join("\n"));
                (encoder.text(&text)?, text)
            }
        };
        Ok(Observation {
            at,
            token_ids,
            text,
            calls: results.len(),
            failed: results.iter().filter(|result| !result.is_ok).count(),
        })
    }
}

/// The call that ends a text in plain tags; `None` if no tag of a tool does.
fn tagged_call(toolbox: &Toolbox, text: &str) -> Option<Call> {
    // A token of several characters may reach beyond the tag.
    let last = toolbox.tags().filter_map(|tag| Some((text.rfind(&format!("</{tag}>"))?, tag)));
    let (end, tag) = last.max()?;
    let open = format!("<{tag}>");
    Some(match text[..end].rfind(&open) {
        Some(begin) => toolbox.tagged_call(tag, &text[begin + open.len()..end]),
        None => Err(format!("</{tag}> without {open}")),
    })
}

/// The tokens that a chat template puts between the end of a turn of the model and the beginning of its
/// next one. Text of the messages never becomes a special token.
///
/// # Errors
/// [`TrainError::Invalid`] for a template whose turns do not end by a token, and errors of the template.
fn inserted(encoder: &Encoder, messages: &[Message]) -> Result<Vec<u32>> {
    let turn = [Message::new("user", "x"), Message::new("assistant", "x")];
    let before = encoder.conversation(&turn)?;
    let after = encoder.prompt(&[&turn[..], messages].concat())?;
    let shared = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let ends = |ids: &[u32]| ids.iter().rposition(|id| encoder.stops().contains(id));
    match (ends(&before), ends(&before[..shared])) {
        (Some(last), Some(end)) if last == end => Ok(after[end + 1..].to_vec()),
        _ => Err(TrainError::Invalid(
            "the chat template does not end the model's turn by a token that ends a text, so that no \
             result can follow a call; use `format = \"tags\"`"
                .to_owned(),
        )),
    }
}
