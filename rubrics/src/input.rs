//! Inputs: prompt, responses and what they are scored against.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user`, `assistant`, …
    pub role: String,
    /// The text.
    pub content: String,
}

impl Message {
    /// A message of `role`.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

/// A prompt or a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage {
    /// Plain text.
    Text(String),
    /// Messages in order.
    Messages(Vec<Message>),
}

impl Passage {
    /// The text itself, or the content of the last message; `None` if that is not the assistant's.
    pub fn answer_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Messages(turns) => {
                let last = turns.last()?;
                (last.role == "assistant").then_some(last.content.as_str())
            }
        }
    }

    /// The text itself, or the content of the last message of the user: the question of a prompt.
    pub fn question(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Messages(turns) => {
                turns.iter().rfind(|turn| turn.role == "user").map(|turn| turn.content.as_str())
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Messages(turns) => turns.iter().map(|t| t.role.len() + t.content.len()).sum(),
        }
    }
}

/// The gold answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reference {
    /// One accepted answer.
    Text(String),
    /// Any of these is accepted.
    AnyOf(Vec<String>),
    /// An object that the scorer defines.
    Object(Map<String, Value>),
}

/// One response or a group of responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Responses {
    /// Neither field was given.
    Missing,
    /// Both fields were given.
    Conflicting,
    /// `response`.
    One(Passage),
    /// `responses`.
    Group(Vec<Passage>),
}

/// One input of a scoring request.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The prompt; inputs may share one.
    pub prompt: Option<Arc<Passage>>,
    /// The response or responses.
    pub responses: Responses,
    /// The gold answer.
    pub reference: Option<Reference>,
    /// The response split into steps by the client.
    pub steps: Option<Vec<String>>,
    /// Principles to judge by.
    pub principles: Option<Vec<String>>,
    /// An inline rubric.
    pub rubric: Option<Map<String, Value>>,
    /// Supporting documents.
    pub context: Option<Vec<String>>,
}

impl Input {
    /// An input with one plain response and nothing else.
    pub fn of(response: impl Into<String>) -> Self {
        Self {
            prompt: None,
            responses: Responses::One(Passage::Text(response.into())),
            reference: None,
            steps: None,
            principles: None,
            rubric: None,
            context: None,
        }
    }

    /// Sets a text as reference.
    #[must_use]
    pub fn against(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(Reference::Text(reference.into()));
        self
    }

    /// Number of responses to judge, at least 1.
    pub fn n_responses(&self) -> usize {
        match &self.responses {
            Responses::Missing | Responses::Conflicting | Responses::One(_) => 1,
            Responses::Group(group) => group.len().max(1),
        }
    }

    /// Bytes of text in the input. The text dominates; small fields are not counted.
    pub fn text_bytes(&self) -> usize {
        self.response_bytes().saturating_add(self.shared_bytes())
    }

    /// Bytes of text in the prompts that models read to judge the input: what the responses share
    /// is in the prompt of each, and every principle or item of a rubric has a prompt of its own.
    pub fn prompt_bytes(&self) -> usize {
        let list_len = |value: &Value| value.as_array().map_or(0, Vec::len);
        let rubric = self.rubric.iter().flat_map(Map::values).map(list_len).max();
        let principles = self.principles.as_ref().map(Vec::len);
        let questions = rubric.max(principles).unwrap_or(0).max(1);
        let shared = self.shared_bytes().saturating_mul(self.n_responses());
        shared.saturating_add(self.response_bytes()).saturating_mul(questions)
    }

    fn response_bytes(&self) -> usize {
        match &self.responses {
            Responses::Missing | Responses::Conflicting => 0,
            Responses::One(passage) => passage.bytes(),
            Responses::Group(group) => group.iter().map(Passage::bytes).sum(),
        }
    }

    /// Bytes of the texts beside the responses.
    fn shared_bytes(&self) -> usize {
        let prompt = self.prompt.as_ref().map_or(0, |prompt| prompt.bytes());
        let reference = match &self.reference {
            Some(Reference::Text(text)) => text.len(),
            Some(Reference::AnyOf(texts)) => texts.iter().map(String::len).sum(),
            Some(Reference::Object(_)) | None => 0,
        };
        let lists = [&self.steps, &self.context];
        let lists = lists.into_iter().flatten().flatten().map(String::len).sum::<usize>();
        prompt + reference + lists
    }

    /// Adds everything that may change a score to `hash`. Texts are framed with their lengths and
    /// fields with their tags, so that different inputs have different hashes.
    pub fn hash_into(&self, hash: &mut Sha256) {
        let mut sink = Sink(hash);
        match &self.prompt {
            None => sink.tag(b'-'),
            Some(passage) => sink.passage(passage),
        }
        match &self.responses {
            Responses::Missing => sink.tag(b'0'),
            Responses::Conflicting => sink.tag(b'2'),
            Responses::One(passage) => sink.passage(passage),
            Responses::Group(group) => {
                sink.count(b'G', group.len());
                for passage in group {
                    sink.passage(passage);
                }
            }
        }
        match &self.reference {
            None => sink.tag(b'-'),
            Some(Reference::Text(text)) => sink.text(text),
            Some(Reference::AnyOf(texts)) => sink.texts(texts),
            Some(Reference::Object(object)) => sink.object(object),
        }
        for list in [&self.steps, &self.principles, &self.context] {
            match list {
                None => sink.tag(b'-'),
                Some(texts) => sink.texts(texts),
            }
        }
        match &self.rubric {
            None => sink.tag(b'-'),
            Some(rubric) => sink.object(rubric),
        }
    }
}

/// A hash whose parts are framed by tags and lengths.
struct Sink<'h>(&'h mut Sha256);

impl Sink<'_> {
    fn tag(&mut self, tag: u8) {
        self.0.update([tag]);
    }

    fn count(&mut self, tag: u8, count: usize) {
        self.tag(tag);
        self.0.update((count as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(b'T', text.len());
        self.0.update(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.count(b'L', texts.len());
        for text in texts {
            self.text(text);
        }
    }

    fn passage(&mut self, passage: &Passage) {
        match passage {
            Passage::Text(text) => self.text(text),
            Passage::Messages(turns) => {
                self.count(b'M', turns.len());
                for turn in turns {
                    self.text(&turn.role);
                    self.text(&turn.content);
                }
            }
        }
    }

    /// Objects keep their order of keys: a verifier may read it.
    fn object(&mut self, object: &Map<String, Value>) {
        let text = serde_json::to_string(object).expect("a JSON map serialises");
        self.tag(b'O');
        self.text(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(input: &Input) -> Vec<u8> {
        let mut hash = Sha256::new();
        input.hash_into(&mut hash);
        hash.finalize().to_vec()
    }

    #[test]
    fn question_is_the_last_message_of_the_user() {
        let turn = |(role, content): &(&str, &str)| Message::new(*role, *content);
        let check = |turns: &[(&str, &str)], expected: Option<&str>| {
            let passage = Passage::Messages(turns.iter().map(turn).collect());
            assert_eq!(passage.question(), expected, "{turns:?}");
        };
        check(&[("system", "Be brief."), ("user", "How many minutes?")], Some("How many minutes?"));
        check(&[("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")], Some("c"));
        check(&[("system", "In lowest terms.")], None);
        check(&[], None);
        assert_eq!(Passage::Text("c".to_owned()).question(), Some("c"));
    }

    #[test]
    fn texts_cannot_run_together() {
        let list = |texts: &[&str]| Input {
            reference: Some(Reference::AnyOf(texts.iter().map(ToString::to_string).collect())),
            ..Input::of("r")
        };
        let steps = |texts: &[&str]| Input {
            steps: Some(texts.iter().map(ToString::to_string).collect()),
            ..Input::of("r")
        };
        let inputs = [
            Input::of("r"),
            Input::of("r").against("ab"),
            list(&["ab"]),
            list(&["a", "b"]),
            list(&["", "ab"]),
            steps(&["ab"]),
            Input { prompt: Some(Passage::Text("ab".into()).into()), ..Input::of("r") },
            Input { responses: Responses::Missing, ..Input::of("r") },
            Input { responses: Responses::Group(vec![]), ..Input::of("r") },
        ];
        for (i, a) in inputs.iter().enumerate() {
            for (j, b) in inputs.iter().enumerate() {
                assert_eq!(digest(a) == digest(b), i == j, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn last_assistant_turn_is_the_response() {
        let turn = |role: &str| Message { role: role.into(), content: role.to_uppercase() };
        let spoken = Passage::Messages(vec![turn("user"), turn("assistant")]);
        assert_eq!(spoken.answer_text(), Some("ASSISTANT"));
        assert_eq!(Passage::Messages(vec![turn("assistant"), turn("user")]).answer_text(), None);
        assert_eq!(Passage::Messages(vec![]).answer_text(), None);
    }
}
