//! Question formats, as conversations in the short roles of the chat template.
//!
//! The scorers' own wordings are rendered to the same tokens, so that training on these turns
//! is training on what a server asks.

use rubrics::Message;

/// A question format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Solve the problem.
    Player,
    /// Solve the problem again, given an earlier attempt.
    Reflection,
    /// Whether the result is right, read where the conversation ends: `reward`.
    Reward,
    /// Whether each step is right, read after it: `process`.
    Process,
    /// Whether the final answer is right: `critic` with `mode = "rerank"`.
    Pointwise,
    /// The same of a candidate of which nothing else is known: `validate`.
    Validate,
    /// Whether a sentence is true of the solution: `principles` and `rubric`.
    Principle,
    /// Which of two solutions is better: `judge` with `mode = "pair"`.
    Pair,
    /// A grade: `judge`.
    Grade,
    /// A grade for each of several solutions: `judge` with `mode = "list"`.
    List,
    /// Which steps are wrong, and why: `critic` with `mode = "capo"`.
    Critic,
    /// A word for each step and for the solution: `critic` with `mode = "retrospective"`.
    Retrospective,
    /// Whether documents say a sentence: `grounded` with `mode = "labels"`.
    Faithful,
    /// Whether a sentence is right: the other half of it.
    Correct,
    /// Both with a reason: `grounded`.
    Grounded,
    /// Whether an answer agrees with the reference: `tool` with `mode = "label"`, or without tools.
    Verify,
    /// The call of a tool that finds it out: `tool`.
    Call,
    /// The verdict once the tool has answered.
    Conclude,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 18] = [
        Format::Player,
        Format::Reflection,
        Format::Reward,
        Format::Process,
        Format::Pointwise,
        Format::Validate,
        Format::Principle,
        Format::Pair,
        Format::Grade,
        Format::List,
        Format::Critic,
        Format::Retrospective,
        Format::Faithful,
        Format::Correct,
        Format::Grounded,
        Format::Verify,
        Format::Call,
        Format::Conclude,
    ];

    /// Its name in files and logs.
    pub fn name(self) -> &'static str {
        match self {
            Format::Player => "player",
            Format::Reflection => "reflection",
            Format::Reward => "reward",
            Format::Process => "process",
            Format::Pointwise => "pointwise",
            Format::Validate => "validate",
            Format::Principle => "principle",
            Format::Pair => "pair",
            Format::Grade => "grade",
            Format::List => "list",
            Format::Critic => "critic",
            Format::Retrospective => "retrospective",
            Format::Faithful => "faithful",
            Format::Correct => "correct",
            Format::Grounded => "grounded",
            Format::Verify => "verify",
            Format::Call => "call",
            Format::Conclude => "conclude",
        }
    }

    /// The format of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether the model is a judge in it.
    pub fn judges(self) -> bool {
        match self {
            Format::Player | Format::Reflection => false,
            Format::Reward
            | Format::Process
            | Format::Pointwise
            | Format::Validate
            | Format::Principle
            | Format::Pair
            | Format::Grade
            | Format::List
            | Format::Critic
            | Format::Retrospective
            | Format::Faithful
            | Format::Correct
            | Format::Grounded
            | Format::Verify
            | Format::Call
            | Format::Conclude => true,
        }
    }
}

/// A message.
pub fn turn(role: &str, content: &str) -> Message {
    Message { role: role.to_owned(), content: content.to_owned() }
}

/// Solve this.
pub fn player(problem: &str) -> Vec<Message> {
    vec![turn("user", problem)]
}

/// A problem and a solution, without a question.
pub fn solved(problem: &str, solution: &str) -> Vec<Message> {
    vec![turn("user", problem), turn("assistant", solution)]
}

/// Solve this again: `solution` is an earlier attempt.
pub fn reflection(problem: &str, solution: &str) -> Vec<Message> {
    about(problem, solution, "again", "")
}

/// Is the final answer right? The solution may be nothing but its last line.
pub fn pointwise(problem: &str, solution: &str) -> Vec<Message> {
    about(problem, solution, "pointwise", "")
}

/// Does the candidate solve it, of which nothing else is known?
pub fn validate(problem: &str, solution: &str) -> Vec<Message> {
    let mut turns = about(problem, solution, "context", "");
    turns.push(turn("pointwise", ""));
    turns
}

/// Is this sentence true of the solution?
pub fn principle(problem: &str, solution: &str, sentence: &str) -> Vec<Message> {
    about(problem, solution, "principle", sentence)
}

/// Which of the two is better?
pub fn pairwise_turns(problem: &str, solutions: [&str; 2]) -> Vec<Message> {
    several(problem, &solutions, "pair")
}

/// What grade from 0 to 9?
pub fn grade(problem: &str, solution: &str) -> Vec<Message> {
    about(problem, solution, "grade", "")
}

/// What grade from 0 to 10 for each?
pub fn listwise_turns(problem: &str, solutions: &[&str]) -> Vec<Message> {
    several(problem, solutions, "list")
}

/// Which steps are wrong? Each line of the solution is one.
pub fn critic(problem: &str, solution: &str) -> Vec<Message> {
    stepwise(problem, solution, "critic")
}

/// Is each step right, and the solution?
pub fn retrospective(problem: &str, solution: &str) -> Vec<Message> {
    stepwise(problem, solution, "retrospective")
}

/// A problem and a solution with a place after each of its lines to judge it at.
pub fn process(problem: &str, solution: &str) -> Vec<Message> {
    vec![turn("user", problem), turn("steps", solution)]
}

/// Does the final answer agree with the reference? `question` is `verify` or `tools`.
pub fn agreement(problem: &str, solution: &str, reference: &str, question: &str) -> Vec<Message> {
    let mut turns = about(problem, solution, "reference", reference);
    turns.push(turn(question, ""));
    turns
}

/// A sentence of a solution held against documents; `question` is `faithful`, `correct` or
/// `grounded`.
pub fn grounded(
    documents: &[String],
    problem: &str,
    solution: &str,
    sentence: &str,
    question: &str,
) -> Vec<Message> {
    let documents = documents.iter().map(|text| turn("document", text));
    let mut turns: Vec<Message> = documents.collect();
    turns.extend(about(problem, solution, "sentence", sentence));
    turns.push(turn(question, ""));
    turns
}

fn about(problem: &str, solution: &str, question: &str, text: &str) -> Vec<Message> {
    let mut turns = solved(problem, solution);
    turns.push(turn(question, text));
    turns
}

fn several(problem: &str, solutions: &[&str], question: &str) -> Vec<Message> {
    let solutions = solutions.iter().map(|solution| turn("assistant", solution));
    let mut turns = vec![turn("user", problem)];
    turns.extend(solutions);
    turns.push(turn(question, ""));
    turns
}

fn stepwise(problem: &str, solution: &str, question: &str) -> Vec<Message> {
    let mut turns = process(problem, solution);
    turns.push(turn(question, ""));
    turns
}
