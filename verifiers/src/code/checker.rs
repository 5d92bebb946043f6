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
    /// [`JudgeError::Checker`] if it cannot be run, or meets a limit or rejects the reference's output, too.
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
        let found = self.run(stdin, expected, &output, session)?;
        if found == CheckerEnd::Accepted {
            return Ok(Some(true));
        }
        // An output may bring a checker to a limit, as one that begins with the length of a list. Whether the checker
        // is at fault is seen by the output of the reference, which it must accept if there is one.
        if found == CheckerEnd::Rejected && expected.is_empty() {
            return Ok(Some(false));
        }
        match self.run(stdin, expected, expected, session)? {
            CheckerEnd::Accepted => Ok(Some(false)),
            CheckerEnd::Rejected if expected.is_empty() => Ok(Some(false)),
            CheckerEnd::Rejected => {
                Err(JudgeError::Checker("it rejects the output of the reference".to_owned()))
            }
            CheckerEnd::Limit(ending) => {
                let why = format!("it ended by {ending:?} on the output of the reference");
                Err(JudgeError::Checker(why))
            }
        }
    }

    fn run(
        &self,
        input: &str,
        expected: &str,
        output: &str,
        session: &mut Session<'_>,
    ) -> Result<CheckerEnd, JudgeError> {
        let [input, expected, output] = [input, expected, output].map(str::to_owned);
        let report = session.run(&Test::Check(CheckFiles { input, expected, output }))?;
        Ok(match report.ending(&self.limits) {
            Ending::Finished if is_accepted(&report) => CheckerEnd::Accepted,
            // Most checkers read an output without looking and fail at a malformed one.
            Ending::Finished | Ending::Failed => CheckerEnd::Rejected,
            limit @ (Ending::Time(_)
            | Ending::Memory
            | Ending::Output
            | Ending::Security
            | Ending::Broken) => CheckerEnd::Limit(limit),
        })
    }
}

/// What a checker did with an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckerEnd {
    Accepted,
    Rejected,
    /// It met a limit.
    Limit(Ending),
}

/// The last word of stdout is a score, of 1 or of 100 points; without one the exit code counts.
fn is_accepted(report: &Report) -> bool {
    let text = String::from_utf8_lossy(&report.stdout);
    let score = text.split_whitespace().next_back().and_then(|word| word.parse::<f64>().ok());
    score.is_none_or(|score| score >= 1.0)
}
