//! Reads the output of `cargo test` and adds it up.
//!
//! The harness of each test binary prints `running N tests`, a line for each test, what passed tests
//! printed (`--show-output`), and one `test result:` line. A binary that dies in between (an abort,
//! a signal) prints no result, and its tests would vanish from the sum: such a binary counts as one
//! failure. A test that could not run where it is prints `skipped: ` and its reason, and passes as
//! far as the harness knows: it is counted as skipped here.

use std::fmt;

/// Counts so far.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TestSummary {
    passed: u64,
    failed: u64,
    skipped: u64,
    failures: Vec<String>,
    /// Tests that could not run, with their reasons.
    skips: Vec<String>,
    /// Seconds of each test, where the harness reports them.
    times: Vec<(f64, String)>,
    /// A binary announced its tests and has not reported yet.
    running: bool,
    /// Tests of the running binary that were skipped, which its result counts as passed.
    passed_but_skipped: u64,
    /// The harness prints what passed tests printed: of this test, once one is named.
    printed_by: Option<String>,
}

impl TestSummary {
    /// Takes one line of output, without its line end, and says whether a reader wants to see it:
    /// what passed tests printed is left out.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if is_announcement(line) {
            self.close();
            self.running = true;
        } else if let Some([passed, failed, skipped]) = result(line) {
            self.running = false;
            self.printed_by = None;
            self.passed += passed.saturating_sub(std::mem::take(&mut self.passed_but_skipped));
            self.failed += failed;
            self.skipped += skipped;
        } else if line == "successes:" {
            self.printed_by = Some(String::new());
        } else if line == "failures:" {
            self.printed_by = None;
        } else if self.printed_by.is_some() {
            self.printed(line);
        } else if let Some((name, outcome)) = tested(line) {
            let (outcome, seconds) = timed(outcome);
            self.times.extend(seconds.map(|seconds| (seconds, name.to_owned())));
            if outcome == "FAILED" {
                self.failures.push(name.to_owned());
            }
        }
        self.printed_by.is_none()
    }

    /// Takes a line that a passed test printed, or the heading that names the test.
    fn printed(&mut self, line: &str) {
        let heading = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = heading {
            self.printed_by = Some(name.to_owned());
        } else if let (Some(reason), Some(name)) = (
            line.strip_prefix("skipped: "),
            self.printed_by.as_mut().filter(|name| !name.is_empty()),
        ) {
            self.skips.push(format!("{name}: {reason}"));
            // One test is skipped once, whatever it prints.
            name.clear();
            self.skipped += 1;
            // Its binary reports it as passed.
            self.passed_but_skipped += 1;
        }
    }

    /// Tests that could not run, with their reasons.
    pub(crate) fn skips(&self) -> &[String] {
        &self.skips
    }

    /// The `n` slowest tests, the slowest first, in seconds.
    pub(crate) fn slowest(&self, n: usize) -> Vec<(f64, &str)> {
        let mut times: Vec<(f64, &str)> =
            self.times.iter().map(|(s, name)| (*s, name.as_str())).collect();
        times.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        times.truncate(n);
        times
    }

    /// Adds what passed without a test that reports it.
    pub(crate) fn add_success(&mut self) {
        self.passed += 1;
    }

    /// Adds a failure that no test reported.
    pub(crate) fn add_failure(&mut self, name: String) {
        self.failed += 1;
        self.failures.push(name);
    }

    /// Ends the output: a binary still without a result has died.
    pub(crate) fn close(&mut self) {
        if self.running {
            self.running = false;
            self.add_failure("a test binary ended without a result".to_owned());
        }
    }

    /// Names of what failed, in order of appearance.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// How much has failed so far.
    pub(crate) fn failed(&self) -> u64 {
        self.failed
    }

    /// No test passed and none failed. Ignored tests did not run.
    pub(crate) fn ran_nothing(&self) -> bool {
        self.failed == 0 && self.passed == 0
    }

    /// At least one test ran, and none failed.
    pub(crate) fn is_success(&self) -> bool {
        self.failed == 0 && !self.ran_nothing()
    }
}

impl fmt::Display for TestSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// `running 12 tests`, `running 1 test`.
fn is_announcement(line: &str) -> bool {
    let mut words = line.split(' ');
    words.next() == Some("running")
        && words.next().is_some_and(|n| n.parse::<u64>().is_ok())
        && words.next().is_some_and(|w| matches!(w, "test" | "tests"))
        && words.next().is_none()
}

/// `test result: ok. 5 passed; 0 failed; 1 ignored; …` as passed, failed, ignored.
fn result(line: &str) -> Option<[u64; 3]> {
    let rest = line.strip_prefix("test result: ")?;
    let counts = rest.strip_prefix("ok. ").or_else(|| rest.strip_prefix("FAILED. "))?;
    let mut counts = counts.split("; ");
    let mut count = |word| counts.next()?.strip_suffix(word)?.parse().ok();
    Some([count(" passed")?, count(" failed")?, count(" ignored")?])
}

/// `test extract::tests::boxes ... ok` as name and outcome.
fn tested(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.rsplit_once(" ... ")
}

/// `ok <0.123s>` as outcome and seconds; without `--report-time` there are no seconds.
fn timed(outcome: &str) -> (&str, Option<f64>) {
    let split = outcome.split_once(" <").and_then(|(outcome, time)| {
        let seconds = time.strip_suffix("s>")?.parse().ok()?;
        Some((outcome, Some(seconds)))
    });
    split.unwrap_or((outcome, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.03s";
    const BAD: &str = "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s";

    fn check(lines: &[&str], expected: &str, failures: &[&str], success: bool) {
        let mut summary = TestSummary::default();
        for line in lines {
            summary.line(line);
        }
        summary.close();
        assert_eq!(summary.to_string(), expected, "{lines:?}");
        assert_eq!(summary.failures(), failures, "{lines:?}");
        assert_eq!(summary.is_success(), success, "{lines:?}");
    }

    #[test]
    fn results_add_up() {
        check(&[], "0 passed, 0 failed, 0 skipped", &[], false);
        check(&[OK], "5 passed, 0 failed, 1 skipped", &[], true);
        check(
            &["running 6 tests", "test a ... ok", OK, "", OK],
            "10 passed, 0 failed, 2 skipped",
            &[],
            true,
        );
        check(
            &["running 4 tests", "test a::b ... FAILED", BAD, OK],
            "8 passed, 1 failed, 1 skipped",
            &["a::b"],
            false,
        );
        // Ignored tests alone are not a run.
        check(
            &["test result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out"],
            "0 passed, 0 failed, 2 skipped",
            &[],
            false,
        );
    }

    #[test]
    fn a_skipped_test_is_not_a_passed_one() {
        let lines = [
            "running 6 tests",
            "test a::b ... ok",
            "",
            "successes:",
            "",
            "---- a::b stdout ----",
            "skipped: no curl",
            "skipped: no python",
            "test c ... FAILED",
            "",
            "successes:",
            "    a::b",
            "",
            OK,
        ];
        check(&lines, "4 passed, 0 failed, 2 skipped", &[], true);
        let mut summary = TestSummary::default();
        let shown: Vec<&str> = lines.into_iter().filter(|line| summary.line(line)).collect();
        assert_eq!(shown, ["running 6 tests", "test a::b ... ok", "", OK]);
        assert_eq!(summary.skips(), ["a::b: no curl"]);
    }

    #[test]
    fn the_slowest_tests_come_first() {
        let mut summary = TestSummary::default();
        for line in ["test a ... ok <0.5s>", "test b ... FAILED <2.25s>", "test c ... ok"] {
            summary.line(line);
        }
        assert_eq!(summary.slowest(1), [(2.25, "b")]);
        assert_eq!(summary.slowest(9).len(), 2);
        assert_eq!(summary.failures(), ["b"]);
    }

    #[test]
    fn a_binary_that_dies_is_a_failure() {
        let died = "a test binary ended without a result";
        check(
            &["running 3 tests", "test a ... ok"],
            "0 passed, 1 failed, 0 skipped",
            &[died],
            false,
        );
        check(
            &["running 3 tests", "running 1 test", OK],
            "5 passed, 1 failed, 1 skipped",
            &[died],
            false,
        );
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "test result: 5 passed",
            "test result: ok. five passed; 0 failed; 0 ignored",
            "test result: ok. 5 passed; 0 failed",
            " test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured",
            "running on 4 threads",
            "running 4 tests in order",
            "test a ... ok",
            "test a ... ignored, needs a GPU",
        ] {
            check(&[line], "0 passed, 0 failed, 0 skipped", &[], false);
        }
    }
}
