//! Slots of the prompt that all modes fill.

use super::ask::Slots;
use super::form::JudgementForm;
use crate::Message;
use crate::outcome::Failure;
use crate::prompt::transcript;
use crate::sample::Sample;

/// Returns the conversation before the last message.
pub(super) fn conversation_before(sample: &Sample<'_>) -> Vec<Message> {
    let mut turns = sample.conversation();
    turns.pop();
    turns
}

/// Returns the conversation that all responses of a group answer.
pub(super) fn shared_conversation(samples: &[Sample<'_>]) -> Result<Vec<Message>, Failure> {
    let first = conversation_before(&samples[0]);
    if samples[1..].iter().any(|sample| conversation_before(sample) != first) {
        let detail = "the responses have different messages before their last one";
        return Err(Failure::refused("conversations_differ", detail));
    }
    Ok(first)
}

/// The slots that all modes have.
pub(super) fn common_slots(form: &JudgementForm, conversation: &[Message]) -> Slots {
    vec![("rubric", form.line()), ("conversation", transcript(conversation))]
}
