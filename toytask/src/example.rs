//! Rows as tokens: inputs and targets.

use chat::{Conversation, Origin, Text, Tokenizer};
use rubrics::Message;
use serde_json::json;

use super::check;
use super::make::chain::{Link, Op, WrittenStep};
use super::mixture::{TaskRow, TrainingTarget};
use super::symbols::{END, STEP};
use crate::error::{Result, ToyTaskError};

/// The target token at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aim {
    /// The position before the target token.
    pub at: usize,
    /// The token.
    pub token: u32,
}

/// A row as tokens. The loss is on the aims only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Input tokens.
    pub token_ids: Vec<u32>,
    /// The targets, by ascending position.
    pub aims: Vec<Aim>,
}

/// Renders and encodes with a model's own template and tokenizer.
#[derive(Clone, Copy, Debug)]
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    labels: [u32; 2],
}

impl<'t> Encoder<'t> {
    /// Encodes for the model with this tokenizer.
    ///
    /// # Errors
    /// [`ToyTaskError::Invalid`] if it is not that of [`super::symbols`].
    pub fn new(tokenizer: &'t Tokenizer) -> Result<Self> {
        let own = [(super::symbols::STEP_TEXT, STEP), ("+", u32::from(b'+'))];
        for (text, id) in own {
            if tokenizer.id(text) != Some(id) {
                let what = format!("the tokenizer has no `{text}` at {id}: it is another one");
                return Err(ToyTaskError::Invalid(what));
            }
        }
        Ok(Self { tokenizer, labels: [u32::from(b'-'), u32::from(b'+')] })
    }

    /// Encodes a row.
    ///
    /// # Errors
    /// A conversation that the template or the tokenizer refuses; steps that are not as many as
    /// their labels.
    pub fn encode(&self, row: &TaskRow) -> Result<Example> {
        match &row.target {
            TrainingTarget::Reply(reply) => self.reply(&row.turns, reply),
            TrainingTarget::Ending(word) => {
                let token_ids = self.tokenizer.encode_text(&self.render(&row.turns, false)?)?;
                let token = self.word(word)?;
                let at = token_ids.len() - 1;
                Ok(Example { token_ids, aims: vec![Aim { at, token }] })
            }
            TrainingTarget::Steps(labels) => {
                let token_ids = self.tokenizer.encode_text(&self.render(&row.turns, false)?)?;
                let aims = self.steps(&token_ids, labels)?;
                Ok(Example { token_ids, aims })
            }
        }
    }

    /// As [`Encoder::encode`], with targets for every step that a marker ends: there, whether it is right; from its `=`
    /// on the digits of the right result; and after it, where a line follows, by how much the ones and the tens of the
    /// stated result exceed the right ones, modulo 10.
    ///
    /// A label says of a sum only that it is wrong, and is learnt as far as the parity of its terms; a difference says
    /// by how much, and judgements of the whole rest on those of the steps. These targets cost no tokens of input, and
    /// those of texts that the model writes itself stay as they are.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and for a solution of another task.
    pub fn encode_with_results(&self, row: &TaskRow) -> Result<Example> {
        let mut example = self.encode(row)?;
        let of_reply = example.aims.first().map_or(0, |aim| aim.at);
        let mut labels = Vec::new();
        for solution in judged_solutions(&row.turns) {
            let problem = row.turns.iter().find(|turn| turn.role == "user");
            let problem = problem.map_or("", |turn| turn.content.as_str());
            let judged = check::check_solution(problem, solution).ok_or_else(|| {
                ToyTaskError::Invalid(format!("`{solution}` solves no problem `{problem}`"))
            })?;
            labels.extend(judged.local());
        }
        let own = std::mem::take(&mut example.aims);
        example.aims = self.steps(&example.token_ids, &labels)?;
        let steps: Vec<Aim> =
            example.aims.iter().flat_map(|step| results(&example.token_ids, step.at)).collect();
        example.aims.extend(steps);
        if !matches!(row.target, TrainingTarget::Steps(_)) {
            example.aims.retain(|aim| aim.at < of_reply);
            example.aims.extend(own);
        }
        example.aims.sort_by_key(|aim| aim.at);
        Ok(example)
    }

    /// Encodes a conversation up to the model's reply.
    ///
    /// # Errors
    /// A conversation that the template or the tokenizer refuses.
    pub fn prompt(&self, turns: &[Message]) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode_text(&self.render(turns, true)?)?)
    }

    fn reply(&self, turns: &[Message], reply: &str) -> Result<Example> {
        let mut token_ids = self.prompt(turns)?;
        let said = Text::new(reply, Origin::Reply);
        let mut said = self.tokenizer.encode_text(&said)?;
        said.push(END);
        let first = token_ids.len() - 1;
        let aims = (first..).zip(&said);
        let aims = aims.map(|(at, token)| Aim { at, token: *token }).collect();
        said.pop();
        token_ids.extend(said);
        Ok(Example { token_ids, aims })
    }

    /// Labels at the markers of steps.
    fn steps(&self, token_ids: &[u32], labels: &[bool]) -> Result<Vec<Aim>> {
        let places = token_ids.iter().enumerate();
        let places = places.filter(|(_, id)| **id == STEP).map(|(at, _)| at);
        let places: Vec<usize> = places.collect();
        if places.len() != labels.len() {
            let (n, m) = (places.len(), labels.len());
            let what = format!("{m} labels for {n} steps");
            return Err(ToyTaskError::Invalid(what));
        }
        let aims = places
            .into_iter()
            .zip(labels)
            .map(|(at, right)| Aim { at, token: self.labels[usize::from(*right)] });
        Ok(aims.collect())
    }

    fn word(&self, word: &str) -> Result<u32> {
        let ids = self.tokenizer.encode_untrusted(word, false)?;
        match ids[..] {
            [id] => Ok(id),
            _ => Err(ToyTaskError::Invalid(format!("`{word}` is no single token"))),
        }
    }

    fn render(&self, turns: &[Message], open: bool) -> Result<Text> {
        let messages = turns.iter();
        let conversation = Conversation {
            messages: messages
                .map(|turn| json!({ "role": turn.role, "content": turn.content }))
                .collect(),
            add_generation_prompt: open,
            ..Conversation::default()
        };
        Ok(self.tokenizer.template().render(&conversation)?.text)
    }
}

/// Solutions whose steps are marked.
fn judged_solutions(turns: &[Message]) -> impl Iterator<Item = &str> {
    turns.iter().filter(|turn| turn.role == "steps").map(|turn| turn.content.as_str())
}

/// Targets in and after the step that a marker ends: see [`Encoder::encode_with_results`].
fn results(token_ids: &[u32], marker: usize) -> Vec<Aim> {
    let Some(step) = written_step(&token_ids[..marker]) else { return Vec::new() };
    let right = step.right.to_string().into_bytes();
    let digits = (step.equals..marker).zip(right);
    let mut aims: Vec<Aim> = digits.map(|(at, digit)| Aim::digit(at, digit - b'0')).collect();
    if token_ids.get(marker + 1) == Some(&LINE_BREAK) {
        let ones = (step.stated % 10 + 10 - step.right % 10) % 10;
        let tens = (step.stated / 10 + 10 - step.right / 10) % 10;
        aims.extend([Aim::digit(marker + 1, ones), Aim::digit(marker + 2, tens)]);
    }
    aims
}

impl Aim {
    fn digit(at: usize, digit: u8) -> Self {
        Self { at, token: u32::from(b'0' + digit) }
    }
}

const LINE_BREAK: u32 = b'\n' as u32;

/// A step of a chain in tokens.
struct StepTokens {
    /// The position of `=`.
    equals: usize,
    stated: u8,
    right: u8,
}

/// The step that these tokens end with.
fn written_step(tokens: &[u32]) -> Option<StepTokens> {
    let (stated, tokens) = last_number(tokens)?;
    let (equals, tokens) = tokens.split_last()?;
    let at = tokens.len();
    let (right, tokens) = last_number(tokens)?;
    let (symbol, tokens) = tokens.split_last()?;
    let (left, tokens) = last_number(tokens)?;
    let op = Op::ALL.into_iter().find(|op| u32::from(op.symbol()) == *symbol)?;
    let is_whole = tokens.last().is_none_or(|id| !is_term(*id));
    let is_step = *equals == u32::from(b'=') && is_whole;
    let right = WrittenStep::of(left, Link { op, right }).value;
    is_step.then_some(StepTokens { equals: at, stated, right })
}

/// Whether a step that begins after this token begins within a longer one.
fn is_term(token: u32) -> bool {
    let signs = Op::ALL.map(|op| u32::from(op.symbol()));
    digit(token).is_some() || signs.contains(&token)
}

/// The number of one or two digits that these tokens end with, and what is before it.
fn last_number(tokens: &[u32]) -> Option<(u8, &[u32])> {
    let (ones, rest) = tokens.split_last()?;
    let ones = digit(*ones)?;
    match rest.split_last().and_then(|(tens, rest)| Some((digit(*tens)?, rest))) {
        Some((tens, rest)) => Some((tens * 10 + ones, rest)),
        None => Some((ones, rest)),
    }
}

fn digit(token: u32) -> Option<u8> {
    let character = u8::try_from(token).ok()?;
    character.is_ascii_digit().then(|| character - b'0')
}
