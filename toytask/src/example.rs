//! Rows as tokens: inputs and targets.

use std::collections::BTreeMap;

use chat::{Conversation, Origin, Text, Tokenizer};
use rubrics::Message;
use serde_json::json;

use super::check::chain::ChainProblem;
use super::check::{self, SolutionLine, WrittenEquation};
use super::make::chain::MODULUS;
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

    /// As [`Encoder::encode`], with more targets for the lines of the solutions that a row asks about:
    /// - at the marker behind a line, whether it is right;
    /// - from the `=` of a step on, the digits of the right result;
    /// - on the two tokens behind the marker of a step, where a line follows, by how much the ones and the tens of the
    ///   stated result exceed the right ones, modulo 10;
    /// - where documents come first, on the third token behind the marker, whether they contain the line, and on tokens of a
    ///   line that have no other target, whether a line of theirs begins as it does up to there.
    ///
    /// A label says of a sum only that it is wrong, and is learnt as far as the parity of its terms; a difference says
    /// by how much, and judgements of the whole rest on those of the lines. These targets cost no tokens of input, and
    /// those of texts that the model writes itself stay as they are. Lines of countdown, whose results have no bound, have
    /// their labels alone.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and for a solution of another task.
    pub fn encode_with_results(&self, row: &TaskRow) -> Result<Example> {
        let Example { token_ids, aims } = self.encode(row)?;
        let problem = row.turns.iter().find(|turn| turn.role == "user");
        let problem = problem.map_or("", |turn| turn.content.as_str());
        let mut lines = Vec::new();
        for solution in judged_solutions(&row.turns) {
            let judged = check::check_solution(problem, solution).ok_or_else(|| {
                ToyTaskError::Invalid(format!("`{solution}` solves no problem `{problem}`"))
            })?;
            lines.extend(judged.lines);
        }
        let labels: Vec<bool> = lines.iter().map(|line| line.fault.is_none()).collect();
        let mut all = self.steps(&token_ids, &labels)?;
        if ChainProblem::read(problem).is_some() {
            let markers: Vec<usize> = all.iter().map(|aim| aim.at).collect();
            for (&marker, line) in markers.iter().zip(&lines) {
                if let SolutionLine::Equation(step) = line.line {
                    all.extend(results(&token_ids, marker, step));
                }
            }
            let contained = self.contained(row, &markers, &all);
            all.extend(contained);
        }
        all.extend(aims.into_iter().filter(|aim| token_ids.get(aim.at) != Some(&STEP)));
        all.sort_by_key(|aim| aim.at);
        Ok(Example { token_ids, aims: all })
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

    /// The targets of [`Encoder::encode_with_results`] that compare lines with documents, but for positions that have
    /// others.
    fn contained(&self, row: &TaskRow, markers: &[usize], others: &[Aim]) -> Vec<Aim> {
        let documents = row.turns.iter().filter(|turn| turn.role == "document");
        let said: Vec<&str> = documents.flat_map(|turn| turn.content.lines()).collect();
        if said.is_empty() {
            return Vec::new();
        }
        let mut aims: BTreeMap<usize, bool> = BTreeMap::new();
        let lines = judged_solutions(&row.turns).flat_map(str::lines);
        let lines = lines.filter(|line| !line.trim().is_empty());
        for (marker, line) in markers.iter().zip(lines) {
            for length in 1..=line.len() {
                let begins =
                    said.iter().any(|own| own.as_bytes().starts_with(&line.as_bytes()[..length]));
                aims.entry(marker - line.len() + length - 1).or_insert(begins);
            }
            aims.insert(marker + 3, said.contains(&line));
        }
        for other in others {
            aims.remove(&other.at);
        }
        let label = |(at, holds): (usize, bool)| Aim { at, token: self.labels[usize::from(holds)] };
        aims.into_iter().map(label).collect()
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

/// Solutions before the question about them, whose steps the chat template marks.
fn judged_solutions(turns: &[Message]) -> impl Iterator<Item = &str> {
    const NOT_ASKING: [&str; 6] = ["system", "user", "assistant", "steps", "document", "again"];
    let asks = |turn: &Message| !NOT_ASKING.contains(&turn.role.as_str());
    let asked = turns.iter().position(asks).unwrap_or_default();
    let is_judged = move |(at, turn): &(usize, &Message)| {
        turn.role == "steps" || (turn.role == "assistant" && *at < asked)
    };
    turns.iter().enumerate().filter(is_judged).map(|(_, turn)| turn.content.as_str())
}

/// Targets in and after a step of a chain that a marker ends: see [`Encoder::encode_with_results`].
fn results(token_ids: &[u32], marker: usize, step: WrittenEquation) -> Vec<Aim> {
    let WrittenEquation { left, symbol, right, value: stated } = step;
    let right = match symbol {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        _ => return Vec::new(),
    };
    let right = right.rem_euclid(i64::from(MODULUS));
    let digit = |at, token: u8| Aim { at, token: u32::from(token) };
    let equals = marker - stated.to_string().len() - 1;
    let digits = (equals..marker).zip(right.to_string().into_bytes());
    let mut aims: Vec<Aim> = digits.map(|(at, token)| digit(at, token)).collect();
    if token_ids.get(marker + 1) == Some(&LINE_BREAK) {
        let differences = [stated - right, stated / 10 - right / 10];
        let differences = differences.map(|by| by.rem_euclid(10).to_string().into_bytes()[0]);
        aims.extend((marker + 1..).zip(differences).map(|(at, token)| digit(at, token)));
    }
    aims
}

const LINE_BREAK: u32 = b'\n' as u32;
