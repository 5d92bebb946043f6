//! Question formats, as conversations in the short roles of the chat template.
//!
//! The scorers' own wordings are rendered to the same tokens, so that training on these turns is
//! training on a server's prompts.

use rubrics::Message;

/// A question format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Solves the problem.
    Player,
    /// Solves the problem again, given an earlier attempt.
    Reflection,
    /// Judges whether the result is right, read at the end of the conversation: `reward`.
    Reward,
    /// Judges whether each step is right, read after it: `process`.
    Process,
    /// Judges whether the final answer is right: `critic` with `mode = "rerank"`.
    Pointwise,
    /// Judges a candidate, with the right result as its context or without one: `validate`.
    Validate,
    /// Judges whether a sentence is true of the solution: `principles` and `rubric`.
    Principle,
    /// Judges which of two solutions is better: `judge` with `mode = "pair"`.
    Pair,
    /// A grade: `judge`.
    Grade,
    /// A grade for each of several solutions: `judge` with `mode = "list"`.
    List,
    /// Lists the wrong steps with reasons: `critic` with `mode = "capo"`.
    Critic,
    /// A verdict for each step and for the solution: `critic` with `mode = "retrospective"`.
    Retrospective,
    /// Judges whether documents support a sentence: `grounded` with `mode = "labels"`.
    Faithful,
    /// Judges whether the sentence is right: the other half of it.
    Correct,
    /// Both with a reason: `grounded`.
    Grounded,
    /// Judges whether an answer agrees with the reference: `tool` with `mode = "label"`, or without
    /// tools.
    Verify,
    /// Calls the tool that compares the answers: `tool`.
    Call,
    /// The verdict after the tool's reply.
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

    /// The format of a name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether the model judges in it.
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

/// Requests a solution.
pub fn player(problem: &str) -> Vec<Message> {
    vec![turn("user", problem)]
}

/// A problem and a solution, without a question.
pub fn solved(problem: &str, solution: &str) -> Vec<Message> {
    vec![turn("user", problem), turn("assistant", solution)]
}

/// Requests another solution: `solution` is an earlier attempt.
pub fn reflection(problem: &str, solution: &str) -> Vec<Message> {
    about(problem, solution, "again", "")
}

/// Requests a verdict on the final answer. The solution may be only its last line.
pub fn pointwise(problem: &str, solution: &str) -> Vec<Message> {
    about(problem, solution, "pointwise", "")
}

/// Requests a verdict on a candidate; `context` is what is known of it, which may be nothing.
pub fn validate(problem: &str, solution: &str, context: &str) -> Vec<Message> {
    let mut turns = about(problem, solution, "context", context);
    turns.push(turn("pointwise", ""));
    turns
}

/// Requests a verdict on whether a sentence is true of the solution.
pub fn principle(problem: &str, solution: &str, sentence: &str) -> Vec<Message> {
    about(problem, solution, "principle", sentence)
}

/// Requests the better of two solutions.
pub fn pairwise_turns(problem: &str, solutions: [&str; 2]) -> Vec<Message> {
    several(problem, &solutions, "pair")
}

/// Requests a grade from 0 to 9.
pub fn grade(problem: &str, solution: &str) -> Vec<Message> {
    about(problem, solution, "grade", "")
}

/// Requests a grade from 0 to 10 for each solution.
pub fn listwise_turns(problem: &str, solutions: &[&str]) -> Vec<Message> {
    several(problem, solutions, "list")
}

/// Requests the wrong steps; each line of the solution is a step.
pub fn critic(problem: &str, solution: &str) -> Vec<Message> {
    stepwise(problem, solution, "critic")
}

/// Requests a verdict on each step and on the solution.
pub fn retrospective(problem: &str, solution: &str) -> Vec<Message> {
    stepwise(problem, solution, "retrospective")
}

/// A problem and a solution with a marker after each line, at which it is judged.
pub fn process(problem: &str, solution: &str) -> Vec<Message> {
    vec![turn("user", problem), turn("steps", solution)]
}

/// Requests whether the final answer agrees with the reference; `question` is `verify` or `tools`.
pub fn agreement(problem: &str, solution: &str, reference: &str, question: &str) -> Vec<Message> {
    let mut turns = about(problem, solution, "reference", reference);
    turns.push(turn(question, ""));
    turns
}

/// Requests a verdict on a sentence of a solution against documents; `question` is `faithful`,
/// `correct` or `grounded`.
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
