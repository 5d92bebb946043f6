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

/// A language that a response chose is its own, and no fault of its tests.
#[test]
fn language_of_a_fence_that_tests_lack_is_a_wrong_answer() {
    if !has_python() {
        return;
    }
    let fence = "[[scorer]]
name = 'fence'
kind = 'code'
language = 'fence'
floor = 'limits'
";
    let c = "[[scorer]]
name = 'c'
kind = 'code'
language = 'c'
floor = 'limits'
";
    let bench = Bench::replying(&format!("{fence}{c}"), |_: &str| String::new());
    let asserts = json!({"test_list": ["assert f(1) == 2"]});
    let programs = json!({"tests": [{"stdin": "", "stdout": "1"}]});
    let python = "```python\ndef f(x): return x + 1\n```";
    let c = "```c\nint main(void) { return 0; }\n```";
    let in_c = json!({"test_list": ["assert f(1) == 2"], "language": "c"});
    let wrong = Ok((0.0, "language_not_tested"));
    let bad = Err((FailureKind::BadReference, "language_not_tested"));
    for (scorer, reference, response, expected) in [
        ("fence", &asserts, python, Ok((1.0, "tests_passed"))),
        ("fence", &asserts, c, wrong),
        ("fence", &asserts, "```bash\necho 1\n```", wrong),
        ("fence", &asserts, "def f(x): return x + 1", Ok((1.0, "tests_passed"))),
        ("fence", &programs, "```python\nprint(1)\n```", Ok((1.0, "tests_passed"))),
        ("fence", &in_c, python, bad),
        ("c", &asserts, python, bad),
    ] {
        let outcome = bench.one(scorer, Input::of(response).against(reference.to_string()));
        let found = outcome.as_ref().map(|score| (score.score, score.reason.code));
        let found = found.map_err(|failure| (failure.kind, failure.reason.code));
        assert_eq!(found, expected, "{scorer} {response} {reference}");
        if found == wrong {
            let label = outcome.ok().and_then(|score| score.label);
            assert_eq!(label.as_deref(), Some("ce"), "{response}");
        }
    }
}
