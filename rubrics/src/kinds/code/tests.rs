use std::time::{Duration, Instant};

use serde_json::json;
use testkit::has_python;

use super::*;
use crate::testing::Bench;
use crate::{FailureKind, Input};

/// A deadline of the request ends judging after a test that failed: the tests that did not run say
/// nothing, as against the scorer's own time.
#[test]
fn deadline_after_a_failed_test_is_no_score() {
    if !has_python() {
        return;
    }
    let tests = [("1", "2"), ("1", "1"), ("1", "1")];
    let tests = tests.map(|(stdin, stdout)| json!({"stdin": stdin, "stdout": stdout}));
    let reference = json!({ "tests": tests });
    let judged = |total: u64, deadline: Option<u64>| {
        let total = Duration::from_secs(total);
        let programs = SandboxConfig { slots: 1, floor: Floor::Limits, ..SandboxConfig::default() };
        let scorer = CodeScorer {
            policy: CodePolicy { total, stop_early: false, ..CodePolicy::default() },
            reward: Reward::PassRate,
            language: Languages::Fixed(Language::Python),
            programs: Programs::new(programs),
        };
        let task = Task::read(verifiers::Gold::Text(&reference.to_string())).expect("a task");
        let source = "import time\ntime.sleep(3)\nprint(input())".to_owned();
        let deadline = deadline.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let judging = scorer.judge(source, Language::Python, task, deadline);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let judged = runtime.block_on(judging).unwrap_or_else(|_| panic!("a slot answers"));
        judged.result.map(|result| (result.verdict, result.passed, result.judged))
    };
    assert_eq!(judged(120, Some(2)), Err(SandboxError::Cancelled.into()));
    assert_eq!(judged(2, None), Ok((CodeVerdict::WrongAnswer, 0, 1)));
}
