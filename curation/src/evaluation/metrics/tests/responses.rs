//! Benchmarks of whole responses, computed by hand.

use super::super::*;
use super::{PLAIN, check, near};

fn pair(subset: &str, chosen: f64, rejected: f64) -> RewardBenchPair {
    RewardBenchPair { subset: subset.to_owned(), chosen: Some(chosen), rejected: Some(rejected) }
}

#[test]
fn reward_bench_weighs_subsets_by_prompts() {
    let rows = [
        // 1 of 2
        pair("alpacaeval-easy", 1.0, 0.0),
        pair("alpacaeval-easy", 0.0, 1.0),
        // 1 of 1
        pair("mt-bench-med", 2.0, -1.0),
        // A tie is wrong: 0 of 1
        pair("math-prm", 0.5, 0.5),
        // 2 of 2
        pair("hep-rust", 0.9, 0.8),
        pair("hep-rust", 0.9, 0.1),
        // In no section.
        pair("of-mine", 1.0, 0.0),
    ];
    let report = reward_bench(&rows, PLAIN);
    // Chat: (100 × 1/2 + 40 × 1) / 140 = 90 / 140.
    let chat = 90.0 / 140.0;
    check(&report, "Chat", (Some(chat), Some(chat), 3, 3));
    // Reasoning: (984 × 0 + 164 × 1) / 1148.
    let reasoning = 164.0 / 1148.0;
    check(&report, "Reasoning", (Some(reasoning), Some(reasoning), 3, 3));
    let overall = f64::midpoint(chat, reasoning);
    check(&report, "overall", (Some(overall), Some(overall), 7, 7));
    check(&report, "of-mine", (Some(1.0), Some(1.0), 1, 1));
    assert_eq!(report.line("Safety"), None);
    let notes = report.notes.join("\n");
    for part in ["1 pairs are tied", "donotanswer", "of-mine"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert!(!notes.contains("hep-rust"), "{notes}");
}

#[test]
fn pair_without_a_score_is_neither_right_nor_wrong() {
    let mut rows = vec![pair("donotanswer", 1.0, 0.0), pair("donotanswer", 0.0, 1.0)];
    for (chosen, rejected) in [
        (None, Some(0.0)),
        (Some(1.0), None),
        (Some(f64::NAN), Some(0.0)),
        (Some(f64::INFINITY), Some(0.0)),
    ] {
        rows.push(RewardBenchPair { chosen, rejected, ..pair("donotanswer", 0.0, 0.0) });
    }
    let report = reward_bench(&rows, PLAIN);
    for name in ["overall", "Safety", "donotanswer"] {
        // 1 of 2 that were judged, 1 of 6 at least.
        check(&report, name, (Some(0.5), Some(1.0 / 6.0), 2, 6));
    }
    let none = reward_bench(&[], PLAIN);
    check(&none, "overall", (None, None, 0, 0));
}

fn best(subset: &str, scores: &[f64]) -> RewardBench2Prompt {
    RewardBench2Prompt::Best { subset: subset.to_owned(), completions: completions(1, scores) }
}

fn completions(n_right: usize, scores: &[f64]) -> ScoredCompletions {
    ScoredCompletions { n_right, scores: scores.iter().map(|score| Some(*score)).collect() }
}

fn ties(single: Option<&[f64]>, tied: Option<(usize, &[f64])>) -> RewardBench2Prompt {
    RewardBench2Prompt::Ties {
        single: single.map(|scores| completions(1, scores)),
        tied: tied.map(|(n_right, scores)| completions(n_right, scores)),
    }
}

#[test]
fn best_of_four_shares_its_point_with_equals() {
    let rows = [
        best("Math", &[3.0, 1.0, 2.0, 0.0]),
        best("Math", &[3.0, 3.0, 2.0, 0.0]),
        best("Math", &[3.0, 3.0, 3.0, 3.0]),
        best("Math", &[2.0, 3.0, 1.0, 1.0]),
        best("Focus", &[1.0, 0.0, 0.0, 0.0]),
    ];
    let report = reward_bench_2(&rows, PLAIN);
    // 1 + 1/2 + 1/4 + 0 = 1.75 of 4.
    check(&report, "Math", (Some(0.4375), Some(0.4375), 4, 4));
    check(&report, "Focus", (Some(1.0), Some(1.0), 1, 1));
    // The mean of the subsets, not of the rows.
    let overall = f64::midpoint(0.4375, 1.0);
    check(&report, "overall", (Some(overall), Some(overall), 5, 5));
    assert!(report.notes[0].contains("Ties"), "{:?}", report.notes);
}

#[test]
fn ties_count_accuracy_and_margins() {
    let rows = [
        // Tied: right 5, 4, wrong 1: gap 3, spread 1. Single: right 3, wrong 1: gap 2.
        // Both right; 3 > 1; lesser gap 2 > 1; tanh(2/1 - 1).
        ties(Some(&[3.0, 1.0]), Some((2, &[5.0, 4.0, 1.0, 0.0]))),
        // Tied: right 6, 2, wrong 1: gap 1, spread 4. Single: gap -1.
        // Tied right, single wrong; 1 > 4 is false; -1 > 4 is false; tanh(-1/4 - 1).
        ties(Some(&[0.0, 1.0]), Some((2, &[6.0, 2.0, 1.0]))),
        // All right answers alike: spread 0, gap 0: 0 / 0 counts 0. Nothing is right.
        ties(Some(&[1.0, 1.0]), Some((2, &[1.0, 1.0, 1.0]))),
        // Without its companion it counts for its accuracy alone: right.
        ties(None, Some((2, &[2.0, 1.0, 0.0]))),
    ];
    let report = reward_bench_2(&rows, PLAIN);
    let (tied, single) = (3.0 / 4.0, 1.0 / 3.0);
    let close = (f64::tanh(1.0) + f64::tanh(-1.25) + 0.0) / 3.0;
    let expected = 0.3 * tied + 0.3 * single + 0.2 / 3.0 + 0.2 / 3.0 + 0.01 * close;
    check(&report, "Ties", (Some(expected), Some(expected), 4, 4));
    check(&report, "Ties accuracy, tied", (Some(tied), Some(tied), 4, 4));
    check(&report, "Ties accuracy, ref", (Some(single), Some(single), 4, 4));
    check(&report, "overall", (Some(expected), Some(expected), 4, 4));
}

#[test]
fn unscored_ties_count_as_wrong_in_the_lower_bound() {
    let mut broken = completions(2, &[1.0, 1.0, 0.0]);
    broken.scores[2] = None;
    let rows = [
        ties(Some(&[3.0, 1.0]), Some((2, &[5.0, 4.0, 1.0]))),
        RewardBench2Prompt::Ties { single: Some(completions(1, &[1.0, 0.0])), tied: Some(broken) },
    ];
    let report = reward_bench_2(&rows, PLAIN);
    let whole = 0.3 + 0.3 + 0.2 + 0.2 + 0.01 * f64::tanh(1.0);
    // The other prompt has nothing right, and tanh(-∞) = -1.
    let least = 0.5 * (0.3 + 0.3 + 0.2 + 0.2) + 0.01 * f64::midpoint(f64::tanh(1.0), -1.0);
    check(&report, "Ties", (Some(whole), Some(least), 1, 2));
    // No pair of both rows: the margins are not defined.
    let alone = reward_bench_2(&[ties(None, Some((2, &[2.0, 1.0, 0.0])))], PLAIN);
    check(&alone, "Ties", (None, None, 1, 1));
}

fn styled(domain: Domain, chosen: [f64; 3], rejected: [f64; 3]) -> RmBenchRow {
    RmBenchRow { domain, chosen: chosen.map(Some), rejected: rejected.map(Some) }
}

#[test]
fn rm_bench_has_three_difficulties() {
    let rows = [
        // chosen 1, 2, 3 against 1.5, 1.5, 2: rows of the matrix
        // 1 > 1.5 0, 1 > 1.5 0, 1 > 2 0 / 2: 1, 1, 0 / 3: 1, 1, 1
        styled(Domain::Chat, [1.0, 2.0, 3.0], [1.5, 1.5, 2.0]),
        // Everything right.
        styled(Domain::Chat, [1.0; 3], [0.0; 3]),
        // Everything tied, and so wrong.
        styled(Domain::Math, [1.0; 3], [1.0; 3]),
    ];
    let report = rm_bench(&rows, PLAIN);
    // First row: easy is (2,1), (3,1), (3,2): 3 of 3; normal (1,1), (2,2), (3,3): 2 of 3; hard 0.
    let (easy, normal, hard) = (1.0, f64::midpoint(2.0 / 3.0, 1.0), 0.5);
    check(&report, "chat easy", (Some(easy), Some(easy), 2, 2));
    check(&report, "chat normal", (Some(normal), Some(normal), 2, 2));
    check(&report, "chat hard", (Some(hard), Some(hard), 2, 2));
    let chat = (easy + normal + hard) / 3.0;
    check(&report, "chat", (Some(chat), Some(chat), 2, 2));
    check(&report, "math", (Some(0.0), Some(0.0), 1, 1));
    check(&report, "overall", (Some(chat / 2.0), Some(chat / 2.0), 3, 3));
    // Means over domains, of which chat has two rows and math one.
    check(&report, "normal", (Some(normal / 2.0), Some(normal / 2.0), 3, 3));
    check(&report, "markdown over concise", (Some(0.5), Some(0.5), 3, 3));
    check(&report, "concise over markdown", (Some(0.25), Some(0.25), 3, 3));
    // The benchmark's own check: the mean of the difficulties is that of the domains.
    let value = |name: &str| report.line(name).and_then(|line| line.value).expect(name);
    let difficulties = (value("easy") + value("normal") + value("hard")) / 3.0;
    assert!(near(difficulties, value("overall")));
    assert!(report.notes[0].contains("code, safety"), "{:?}", report.notes);
}

#[test]
fn row_of_six_without_a_score_is_not_judged() {
    let mut broken = styled(Domain::Code, [1.0; 3], [0.0; 3]);
    broken.rejected[1] = None;
    let rows = [styled(Domain::Code, [1.0; 3], [0.0; 3]), broken];
    let report = rm_bench(&rows, PLAIN);
    check(&report, "overall", (Some(1.0), Some(0.5), 1, 2));
    for (text, expected) in [
        ("safety-refuse", Some(Domain::Safety)),
        ("safety-response", Some(Domain::Safety)),
        ("chat", Some(Domain::Chat)),
        ("law", None),
        ("", None),
    ] {
        assert_eq!(Domain::of(text), expected, "{text}");
    }
}

fn judged(
    source: &str,
    better: BetterResponse,
    first: Option<PairPreference>,
    second: Option<PairPreference>,
) -> JudgedPair {
    JudgedPair { source: source.to_owned(), better, first, second, orders: JudgeOrders::Both }
}

#[test]
fn judge_bench_sums_both_orders() {
    use PairPreference::{A, B, Tie};
    let rows = [
        // A is right: +1 +1, +1 0, +1 -1, 0 0, -1 0, -1 -1; right are the first two.
        judged("mmlu-pro-law", BetterResponse::A, Some(A), Some(A)),
        judged("mmlu-pro-law", BetterResponse::A, Some(A), Some(Tie)),
        judged("mmlu-pro-law", BetterResponse::A, Some(A), Some(B)),
        judged("mmlu-pro-health", BetterResponse::A, Some(Tie), Some(Tie)),
        judged("livebench-math", BetterResponse::A, Some(B), Some(Tie)),
        judged("livebench-math", BetterResponse::A, Some(B), Some(B)),
        // B is right.
        judged("livecodebench", BetterResponse::B, Some(B), Some(B)),
        judged("elsewhere", BetterResponse::B, Some(A), Some(A)),
        // One order has no verdict.
        judged("livecodebench", BetterResponse::B, Some(B), None),
    ];
    let report = judge_bench(&rows, PLAIN);
    check(&report, "overall", (Some(3.0 / 8.0), Some(3.0 / 9.0), 8, 9));
    check(&report, "knowledge (mmlu-pro)", (Some(0.5), Some(0.5), 4, 4));
    check(&report, "math (livebench-math)", (Some(0.0), Some(0.0), 2, 2));
    check(&report, "coding (livecodebench)", (Some(1.0), Some(0.5), 1, 2));
    check(&report, "other sources", (Some(0.0), Some(0.0), 1, 1));
    // Rows 1, 4, 6, 7 and 8 of the judged eight.
    check(&report, "both orders agree", (Some(5.0 / 8.0), Some(5.0 / 9.0), 8, 9));
    check(&report, "right in both orders", (Some(2.0 / 8.0), Some(2.0 / 9.0), 8, 9));
}

#[test]
fn single_order_suffices_without_position_bias() {
    let single = |first| JudgedPair {
        orders: JudgeOrders::Single,
        ..judged("mmlu-pro-law", BetterResponse::B, first, None)
    };
    let rows = [single(Some(PairPreference::B)), single(Some(PairPreference::Tie)), single(None)];
    let report = judge_bench(&rows, PLAIN);
    check(&report, "overall", (Some(0.5), Some(1.0 / 3.0), 2, 3));
    assert_eq!(report.line("both orders agree"), None);
    for (a, b, expected) in [
        (Some(1.0), Some(0.0), Some(PairPreference::A)),
        (Some(0.0), Some(1.0), Some(PairPreference::B)),
        (Some(0.5), Some(0.5), Some(PairPreference::Tie)),
        (Some(-0.0), Some(0.0), Some(PairPreference::Tie)),
        (None, Some(1.0), None),
        (Some(1.0), Some(f64::NAN), None),
    ] {
        assert_eq!(PairPreference::by_scores(a, b), expected, "{a:?} {b:?}");
    }
}
