//! Who votes on a pair: scorers that judge both responses, and columns that hold scores already.

use datasets::column::Column;
use datasets::source::Batch;
use datasets::{RecordBatch, SchemaRef};
use openapi::{Content, ScoreInput};

use super::VoterArgs;
use crate::contents::contents;
use crate::error::CliError;
use crate::eval::{Answer, ValueArg};
use crate::score::{Judging, Local, Remote};
use crate::scorers;
use crate::tally::Tally;

/// A text or a conversation of a row, nothing for a null, or why it is neither.
type Cell = Result<Option<Content>, String>;

/// Pairs that are judged together.
const BATCH: usize = 256;

/// Everyone who votes, scorers first.
pub(super) struct Voting {
    scorers: Option<Scorers>,
    columns: Vec<Difference>,
    names: Vec<String>,
    /// Positions of the columns that change places in flipped pairs.
    pub(super) exchanged: Vec<(usize, usize)>,
}

/// Scorers, and where a pair stands in a row.
struct Scorers {
    judging: Box<dyn Judging>,
    value: ValueArg,
    pair: Pair,
    tallies: Vec<Tally>,
    refused: u64,
}

/// Where a pair stands in a row.
struct Pair {
    /// None where the conversations of both responses begin with it.
    prompt: Option<Column>,
    chosen: Column,
    rejected: Column,
}

/// A strength that the rows hold already.
enum Difference {
    /// As it is.
    Column(Column),
    /// The first column less the second.
    Scores(Column, Column),
}

/// The votes on the pairs of a batch.
pub(super) struct Ballots {
    /// Of each pair, one of each voter.
    pub(super) votes: Vec<Option<f64>>,
    /// Why a row is no pair.
    pub(super) refusals: Vec<Option<String>>,
}

impl Voting {
    /// Finds the columns and loads the scorers.
    pub(super) fn new(args: &VoterArgs, schema: &SchemaRef, flips: bool) -> Result<Self, CliError> {
        let columns = differences(args, schema)?;
        let mut names = args.scorers.clone();
        names.extend(columns.iter().map(Difference::name));
        if names.is_empty() {
            return Err(CliError::Usage(
                "nobody votes: name a scorer with --scorer, a column of differences with \
                 --strength, or two columns of scores with --chosen-score and --rejected-score"
                    .to_owned(),
            ));
        }
        let repeated = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
        if let Some(at) = repeated {
            return Err(CliError::Usage(format!("'{}' votes twice", names[at])));
        }
        let pair = (flips || !args.scorers.is_empty()).then(|| Pair::find(args, schema));
        let pair = pair.transpose()?;
        let mut exchanged: Vec<(usize, usize)> =
            columns.iter().filter_map(Difference::whole).collect();
        exchanged.extend(pair.as_ref().map(Pair::whole).transpose()?);
        for (first, second) in args.exchange.iter().map(|both| (&both.0, &both.1)) {
            exchanged.push(both_whole(schema, (first, second), "--exchange")?);
        }
        exchanged.sort_unstable();
        exchanged.dedup();
        let scorers = match pair {
            Some(pair) if !args.scorers.is_empty() => Some(Scorers::load(args, pair)?),
            Some(_) | None => None,
        };
        Ok(Self { scorers, columns, names, exchanged: if flips { exchanged } else { Vec::new() } })
    }

    /// Their names, in the order of their votes.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether votes take work that is not to be done twice.
    pub(super) fn asks_scorers(&self) -> bool {
        self.scorers.is_some()
    }

    /// The scorers with the digests of all that they ask.
    pub(super) fn digests(&self) -> Vec<(String, String)> {
        let judges = self.scorers.iter().flat_map(|scorers| scorers.judging.judges());
        judges.map(|judge| (judge.name, judge.digest)).collect()
    }

    /// What the scorers said, by their names.
    pub(super) fn tallies(&self) -> Vec<(&str, &Tally)> {
        let tallies = self.scorers.iter().flat_map(|scorers| &scorers.tallies);
        self.names.iter().map(String::as_str).zip(tallies).collect()
    }

    /// Pairs that a server would not take, for each scorer.
    pub(super) fn refused(&self) -> u64 {
        self.scorers.as_ref().map_or(0, |scorers| scorers.refused)
    }

    /// The votes on a batch of pairs.
    pub(super) fn ask(&mut self, batch: &Batch) -> Result<Ballots, CliError> {
        let n_pairs = batch.data.num_rows();
        let mut refusals = vec![None; n_pairs];
        let mut by_voter: Vec<Vec<Option<f64>>> = match &mut self.scorers {
            None => Vec::new(),
            Some(scorers) => scorers.ask(&batch.data, &mut refusals)?,
        };
        for column in &self.columns {
            by_voter.push(column.read(&batch.data)?);
        }
        let vote = |pair: usize| by_voter.iter().map(move |votes| votes[pair]);
        Ok(Ballots { votes: (0..n_pairs).flat_map(vote).collect(), refusals })
    }
}

/// The columns that hold strengths, or scores of both responses.
fn differences(args: &VoterArgs, schema: &SchemaRef) -> Result<Vec<Difference>, CliError> {
    let (chosen, rejected) = (&args.chosen_scores, &args.rejected_scores);
    if chosen.len() != rejected.len() {
        return Err(CliError::Usage(format!(
            "--chosen-score is given {} times and --rejected-score {} times; they go in pairs",
            chosen.len(),
            rejected.len()
        )));
    }
    let find = |path: &String, option| -> Result<Column, CliError> {
        let column = Column::find(schema, path, option)?;
        column.numeric(option)?;
        Ok(column)
    };
    let strengths = args.strengths.iter();
    let strengths = strengths.map(|path| find(path, "--strength").map(Difference::Column));
    let scores = chosen.iter().zip(rejected).map(|(chosen, rejected)| {
        let chosen = find(chosen, "--chosen-score")?;
        Ok(Difference::Scores(chosen, find(rejected, "--rejected-score")?))
    });
    strengths.chain(scores).collect()
}

/// The positions of two whole columns.
fn both_whole(
    schema: &SchemaRef,
    (first, second): (&str, &str),
    option: &str,
) -> Result<(usize, usize), CliError> {
    let whole = |path: &str| -> Result<usize, CliError> {
        let column = Column::find(schema, path, option)?;
        column.whole().ok_or_else(|| {
            CliError::Usage(format!(
                "{option}: '{path}' is part of a column, and only whole columns change places when \
                 a pair is flipped"
            ))
        })
    };
    Ok((whole(first)?, whole(second)?))
}

impl Difference {
    fn name(&self) -> String {
        match self {
            Self::Column(column) => column.path().to_owned(),
            Self::Scores(chosen, rejected) => format!("{}-{}", chosen.path(), rejected.path()),
        }
    }

    /// Scores of both responses go where the responses go, where they are columns of their own.
    fn whole(&self) -> Option<(usize, usize)> {
        match self {
            Self::Column(_) => None,
            Self::Scores(chosen, rejected) => Some((chosen.whole()?, rejected.whole()?)),
        }
    }

    fn read(&self, batch: &RecordBatch) -> Result<Vec<Option<f64>>, CliError> {
        let numbers = |column: &Column| {
            let numbers = column.numbers(batch);
            numbers
                .map_err(|error| CliError::Failed(format!("column '{}': {error}", column.path())))
        };
        match self {
            Self::Column(column) => numbers(column),
            Self::Scores(chosen, rejected) => {
                let both = numbers(chosen)?.into_iter().zip(numbers(rejected)?);
                Ok(both.map(|(chosen, rejected)| difference(chosen, rejected)).collect())
            }
        }
    }
}

impl Pair {
    fn find(args: &VoterArgs, schema: &SchemaRef) -> Result<Self, CliError> {
        let prompt = match &args.prompt {
            Some(path) => Some(Column::find(schema, path, "--prompt")?),
            None => Column::find(schema, "prompt", "--prompt").ok(),
        };
        Ok(Self {
            prompt,
            chosen: Column::find(schema, &args.chosen, "--chosen")?,
            rejected: Column::find(schema, &args.rejected, "--rejected")?,
        })
    }

    /// The responses' positions, which change places.
    fn whole(&self) -> Result<(usize, usize), CliError> {
        let whole = |column: &Column, option: &str| {
            column.whole().ok_or_else(|| {
                CliError::Usage(format!(
                    "{option}: '{}' is part of a column; responses are whole columns",
                    column.path()
                ))
            })
        };
        Ok((whole(&self.chosen, "--chosen")?, whole(&self.rejected, "--rejected")?))
    }

    /// The questions of a batch, or why a row asks none.
    fn inputs(&self, batch: &RecordBatch) -> Result<Vec<Result<ScoreInput, String>>, CliError> {
        let prompts = match &self.prompt {
            Some(prompt) => contents(prompt, batch)?,
            None => vec![Ok(None); batch.num_rows()],
        };
        let chosen = contents(&self.chosen, batch)?;
        let rejected = contents(&self.rejected, batch)?;
        let rows = prompts.into_iter().zip(chosen).zip(rejected);
        let input = |((prompt, chosen), rejected)| self.input(prompt, chosen, rejected);
        Ok(rows.map(input).collect())
    }

    fn input(&self, prompt: Cell, chosen: Cell, rejected: Cell) -> Result<ScoreInput, String> {
        let there = |response: Cell, column: &Column| {
            response?.ok_or_else(|| format!("column '{}' is null", column.path()))
        };
        let (chosen, rejected) = (there(chosen, &self.chosen)?, there(rejected, &self.rejected)?);
        let (prompt, chosen, rejected) = match prompt? {
            None => begun_alike(chosen, rejected),
            Some(prompt) => (Some(prompt), chosen, rejected),
        };
        Ok(ScoreInput { prompt, responses: Some(vec![chosen, rejected]), ..ScoreInput::default() })
    }
}

/// Takes what two conversations begin with for their prompt, as long as something is left of each:
/// datasets without a column for the prompt are often written so.
fn begun_alike(chosen: Content, rejected: Content) -> (Option<Content>, Content, Content) {
    match (chosen, rejected) {
        (Content::Messages(mut chosen), Content::Messages(mut rejected)) => {
            let most = chosen.len().min(rejected.len()).saturating_sub(1);
            let alike = chosen.iter().zip(&rejected).take(most);
            let n_alike = alike.take_while(|(a, b)| a == b).count();
            rejected.drain(..n_alike);
            let prompt: Vec<_> = chosen.drain(..n_alike).collect();
            let prompt = (!prompt.is_empty()).then_some(Content::Messages(prompt));
            (prompt, Content::Messages(chosen), Content::Messages(rejected))
        }
        (chosen, rejected) => (None, chosen, rejected),
    }
}

impl Scorers {
    fn load(args: &VoterArgs, pair: Pair) -> Result<Self, CliError> {
        scorers::refuse_repeated(&args.scorers)?;
        let judging: Box<dyn Judging> = if let Some(url) = &args.remote.url {
            Box::new(Remote::connect(&args.remote, url, &args.scorers, false)?)
        } else {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let threads = args.threads.map_or(cores, usize::from);
            let config = args.config.as_deref();
            Box::new(Local::new(&args.scorers, config, threads, false)?)
        };
        Ok(Self {
            tallies: vec![Tally::default(); args.scorers.len()],
            judging,
            value: args.value,
            pair,
            refused: 0,
        })
    }

    /// The votes of each scorer on each pair. Rows that are no pairs get their reasons.
    fn ask(
        &mut self,
        batch: &RecordBatch,
        refusals: &mut [Option<String>],
    ) -> Result<Vec<Vec<Option<f64>>>, CliError> {
        let mut votes = vec![vec![None; batch.num_rows()]; self.tallies.len()];
        let mut questions: Vec<(usize, ScoreInput)> = Vec::new();
        for (row, input) in self.pair.inputs(batch)?.into_iter().enumerate() {
            match input {
                Ok(input) => questions.push((row, input)),
                Err(reason) => refusals[row] = Some(reason),
            }
        }
        for some in questions.chunks(BATCH) {
            let inputs = some.iter().map(|(_, input)| input.clone()).collect();
            let judged = self.judging.judge(inputs)?;
            for ((row, _), results) in some.iter().zip(judged) {
                let Ok(results) = results else {
                    self.refused += 1;
                    continue;
                };
                for (scorer, result) in results.iter().enumerate() {
                    self.tallies[scorer].add(result);
                    let answer = Answer::of(result, self.value);
                    votes[scorer][*row] = difference(answer.response(0), answer.response(1));
                }
            }
        }
        Ok(votes)
    }
}

/// How much better the first score is. A response without one leaves no vote.
fn difference(chosen: Option<f64>, rejected: Option<f64>) -> Option<f64> {
    Some(chosen? - rejected?).filter(|difference| difference.is_finite())
}

#[cfg(test)]
mod tests {
    use openapi::Message;

    use super::*;

    fn messages(texts: &[&str]) -> Content {
        let message =
            |text: &&str| Message { role: "user".to_owned(), content: (*text).to_owned() };
        Content::Messages(texts.iter().map(message).collect())
    }

    #[test]
    fn what_two_conversations_begin_with_is_their_prompt() {
        #[track_caller]
        fn check(both: (&[&str], &[&str]), expected: (Option<&[&str]>, &[&str], &[&str])) {
            let found = begun_alike(messages(both.0), messages(both.1));
            let expected = (expected.0.map(messages), messages(expected.1), messages(expected.2));
            assert_eq!(found, expected, "{both:?}");
        }
        check((&["q", "a"], &["q", "b"]), (Some(&["q"]), &["a"], &["b"]));
        check((&["q", "a"], &["q", "a"]), (Some(&["q"]), &["a"], &["a"]));
        check((&["a"], &["b"]), (None, &["a"], &["b"]));
        check((&["q"], &["q", "b"]), (None, &["q"], &["q", "b"]));
        check((&[], &["b"]), (None, &[], &["b"]));
        let text = Content::Text("x".to_owned());
        let (prompt, _, _) = begun_alike(text.clone(), text);
        assert_eq!(prompt, None);
    }
}
