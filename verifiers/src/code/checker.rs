//! Outputs that a program of the task accepts or not, where several are right.

use sandbox::{CheckFiles, Ending, Limits, Loaded, Report, Session, Test};

use super::{ExpectedResult, JudgeError, TaskTest};

/// A checker: Python that gets the names of three files, the input, the reference's output and the
/// submission's output, as its arguments.
pub(super) struct Checker<'a> {
    pub(super) source: &'a str,
    pub(super) limits: Limits,
}

impl Checker<'_> {
    /// Whether the output of a program is accepted; `None` for another kind of test. The session has
    /// the checker loaded afterwards.
    ///
    /// # Errors
    /// [`JudgeError::Checker`] if it cannot be run, meets a limit, or rejects the reference's output
    /// too.
    pub(super) fn accepts(
        &self,
        test: &TaskTest,
        report: &Report,
        session: &mut Session<'_>,
    ) -> Result<Option<bool>, JudgeError> {
        let (Test::Program { stdin }, ExpectedResult::Output(expected)) =
            (&test.run, &test.expected)
        else {
            return Ok(None);
        };
        if let Loaded::NotCompiled(why) = session.load(self.source, self.limits)? {
            return Err(JudgeError::Checker(why));
        }
        let output = String::from_utf8_lossy(&report.stdout);
        if self.run(stdin, expected, &output, session)? {
            return Ok(Some(true));
        }
        if !expected.is_empty() && !self.run(stdin, expected, expected, session)? {
            let why = "it rejects the output of the reference".to_owned();
            return Err(JudgeError::Checker(why));
        }
        Ok(Some(false))
    }

    fn run(
        &self,
        input: &str,
        expected: &str,
        output: &str,
        session: &mut Session<'_>,
    ) -> Result<bool, JudgeError> {
        let [input, expected, output] = [input, expected, output].map(str::to_owned);
        let report = session.run(&Test::Check(CheckFiles { input, expected, output }))?;
        match report.ending(&self.limits) {
            Ending::Finished => Ok(is_accepted(&report)),
            // Most checkers read an output without looking and fail at a malformed one.
            Ending::Failed => Ok(false),
            other @ (Ending::Time(_)
            | Ending::Memory
            | Ending::Output
            | Ending::Security
            | Ending::Broken) => Err(JudgeError::Checker(format!("it ended by {other:?}"))),
        }
    }
}

/// The last word of stdout is a score, of 1 or of 100 points; without one the exit code counts.
fn is_accepted(report: &Report) -> bool {
    let text = String::from_utf8_lossy(&report.stdout);
    let score = text.split_whitespace().next_back().and_then(|word| word.parse::<f64>().ok());
    score.is_none_or(|score| score >= 1.0)
}
