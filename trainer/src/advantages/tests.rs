//! Advantages by golden numbers and by invariants.

use proptest::prelude::*;
use rubrics::combine::thoughts::ThoughtLabel;
use serde::Deserialize;

use super::steps::{grounded_rewards, implicit_rewards, token_returns};
use super::{AdvantageKind, ResponseStep, ScoredResponse, Signal, TokenAdvantages};
use crate::losses::FormulaError;
use crate::losses::error::Result;
use crate::losses::process::progress;
use crate::losses::tests::{GOLDENS, all_near, near};

#[derive(Deserialize)]
struct Goldens {
    advantages: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    kind: AdvantageKind,
    groups: Vec<Vec<ResponseCase>>,
    advantages: TokenAdvantages,
}

#[derive(Deserialize)]
struct ResponseCase {
    reward: f64,
    n_tokens: usize,
    steps: Vec<StepCase>,
    token_rewards: Vec<f64>,
}

#[derive(Deserialize)]
struct StepCase {
    start: usize,
    end: usize,
    wrong: Option<f64>,
    label: Option<String>,
    reward: Option<f64>,
}

impl StepCase {
    fn step(&self) -> ResponseStep {
        let label = self.label.as_ref().map(|label| match label.as_str() {
            "right" => ThoughtLabel::Right,
            "wrong" => ThoughtLabel::Wrong,
            "matching" => ThoughtLabel::Matching,
            "mismatched" => ThoughtLabel::Mismatched,
            other => panic!("no label: {other}"),
        });
        let signal = self
            .wrong
            .map(Signal::Wrong)
            .or(label.map(Signal::Label))
            .or(self.reward.map(Signal::Reward));
        ResponseStep {
            tokens: self.start..self.end,
            signal: signal.expect("every step has a signal"),
        }
    }
}

/// The steps of each response of each group.
type Steps = Vec<Vec<Vec<ResponseStep>>>;

impl Case {
    fn steps(&self) -> Steps {
        let response =
            |response: &ResponseCase| response.steps.iter().map(StepCase::step).collect();
        let group = |group: &Vec<ResponseCase>| group.iter().map(response).collect();
        self.groups.iter().map(group).collect()
    }

    fn scored_responses<'a>(&'a self, steps: &'a Steps) -> Vec<Vec<ScoredResponse<'a>>> {
        let mut groups = Vec::new();
        for (group, steps) in self.groups.iter().zip(steps) {
            let scored =
                |(response, steps): (&'a ResponseCase, &'a Vec<ResponseStep>)| ScoredResponse {
                    token_rewards: &response.token_rewards,
                    ..ScoredResponse::new(response.reward, response.n_tokens).with_steps(steps)
                };
            groups.push(group.iter().zip(steps).map(scored).collect());
        }
        groups
    }
}

#[test]
fn advantages_equal_the_formulas() {
    let goldens: Goldens = serde_json::from_str(GOLDENS).expect("the goldens can be read");
    for case in goldens.advantages {
        let steps = case.steps();
        let got = case.kind.evaluate(&case.scored_responses(&steps)).expect("good numbers");
        let name = format!("{:?}", case.kind);
        assert_eq!(got.len(), case.advantages.len(), "{name}");
        for (got, expected) in got.iter().flatten().zip(case.advantages.iter().flatten()) {
            all_near(&name, got, expected);
        }
    }
}

/// A kind as a run file writes it.
#[track_caller]
fn kind(toml: &str) -> AdvantageKind {
    toml::from_str(toml).expect("a good kind")
}

/// Groups of responses of one token each.
#[track_caller]
fn outcomes(toml: &str, rewards: &[&[f64]]) -> Result<Vec<Vec<f64>>> {
    let groups: Vec<Vec<ScoredResponse<'_>>> = rewards
        .iter()
        .map(|group| group.iter().map(|reward| ScoredResponse::new(*reward, 1)).collect())
        .collect();
    let advantages = kind(toml).evaluate(&groups)?;
    Ok(advantages.into_iter().map(|group| group.concat()).collect())
}

#[test]
fn outcome_advantages_by_hand() {
    let check = |toml: &str, rewards: &[f64], expected: &[f64]| {
        let got = outcomes(toml, &[rewards]).expect("good rewards");
        all_near(toml, &got[0], expected);
    };
    let rewards = [1.0, 0.0, 0.0, 0.0];
    check("kind = 'mean'", &rewards, &[0.75, -0.25, -0.25, -0.25]);
    check("kind = 'max_rl'", &rewards, &[3.0, -1.0, -1.0, -1.0]);
    let third = -1.0 / 3.0;
    check("kind = 'rloo'", &rewards, &[1.0, third, third, third]);
    check(
        "kind = 'grpo'\nvariance = 'unbiased'\nepsilon = 0.0",
        &rewards,
        &[1.5, -0.5, -0.5, -0.5],
    );
    let root = f64::sqrt(3.0);
    check(
        "kind = 'grpo'\nvariance = 'population'\nepsilon = 0.0",
        &rewards,
        &[root, -root / 3.0, -root / 3.0, -root / 3.0],
    );
    let wide = 4.0 / 3.0;
    check("kind = 'rloo'", &[1.0, 0.0], &[1.0, -1.0]);
    check("kind = 'rloo'", &[1.0, 1.0, -1.0, -1.0], &[wide, wide, -wide, -wide]);
    check("kind = 'rloo'", &[1.0, 1.0, 1.0, 0.0], &[-third, -third, -third, -1.0]);
    // StableReinforce with the unbiased variance: all are kept.
    let std = (2.1875_f64 / 3.0).sqrt();
    check(
        "kind = 'stable_reinforce'\nwhitening = { variance = 'unbiased' }",
        &[1.0, 2.0, 0.0, 0.5],
        &[0.125, 1.125, -0.875, -0.375].map(|x| x / std),
    );
}

/// 0.70711 of the outcome and 0.86603 of the step.
#[test]
fn g1_istar_standardises_all_steps() {
    let [right, wrong] = [0.03, -0.01].map(|reward| {
        [0..2, 2..4].map(|tokens| ResponseStep { tokens, signal: Signal::Reward(reward) })
    });
    let group = vec![
        ScoredResponse::new(1.0, 4).with_steps(&right),
        ScoredResponse::new(0.0, 4).with_steps(&wrong),
    ];
    let kind: AdvantageKind = toml::from_str("kind = 'istar'\nepsilon = 0.0").expect("a kind");
    let got = kind.evaluate(&[group]).expect("good numbers");
    let both = 0.5_f64.sqrt() + 0.75_f64.sqrt();
    all_near("right", &got[0][0], &[both; 4]);
    all_near("wrong", &got[0][1], &[-both; 4]);
}

#[test]
fn g2_progress_by_hand() {
    let contributions = [0.2, 0.5, -0.1];
    let loss = progress(&contributions, &[0, 3], &[1.0], 1).expect("good numbers");
    near("loss", loss.value, 0.16);
    let rewards = grounded_rewards(&contributions, &[true, false, true], 0.5);
    all_near("rewards", &rewards.expect("good numbers"), &[0.7, 0.5, 0.4]);
}

#[test]
fn c1_spark_divides_by_the_unbiased_deviation() {
    let got = outcomes("kind = 'grpo'\nvariance = 'unbiased'\nepsilon = 1e-9", &[&[1.0, 0.0]]);
    let half = 0.5 / (f64::sqrt(0.5) + 1e-9);
    all_near("two responses", &got.expect("good rewards")[0], &[half, -half]);
}

const OF_GROUPS: [&str; 9] = [
    "kind = 'grpo'",
    "kind = 'grpo'\nepsilon = 0.0",
    "kind = 'mean'",
    "kind = 'rloo'",
    "kind = 'max_rl'",
    "kind = 'reinforce_plus_plus_baseline'",
    "kind = 'reinforce_plus_plus_baseline'\ngroup = { grpo = { variance = 'population', epsilon = 1e-5 } }",
    "kind = 'capo'",
    "kind = 'istar'",
];

#[test]
fn equal_rewards_have_zero_advantages() {
    let third = 1.0 / 3.0;
    for toml in OF_GROUPS {
        let spread = [1.0, 0.0, 1.0];
        for equal in [[0.0; 3].as_slice(), &[1.0; 3], &[1.0]] {
            let got = outcomes(toml, &[equal, &spread]).expect("good rewards");
            assert_eq!(got[0], vec![0.0; equal.len()], "{toml}");
            assert_ne!(got[1], vec![0.0; 3], "{toml}");
        }
    }
    for toml in &OF_GROUPS[..7] {
        // A mean of thirds is not exactly a third; the result must still be 0.
        let got = outcomes(toml, &[&[third; 7]]).expect("good rewards");
        assert_eq!(got[0], vec![0.0; 7], "{toml}");
    }
    for toml in ["kind = 'reinforce_plus_plus'", "kind = 'stable_reinforce'"] {
        let got = outcomes(toml, &[&[third; 4], &[third; 3]]).expect("good rewards");
        assert_eq!(got.concat(), vec![0.0; 7], "{toml}");
    }
}

#[test]
fn c7_stable_reinforce_drops_outliers() {
    let mut rewards = vec![0.0; 30];
    rewards[3] = 1.0;
    let got = outcomes("kind = 'stable_reinforce'", &[&rewards]).expect("good rewards");
    // The outlier stands more than five deviations away.
    assert_eq!(got[0][3].to_bits(), 0.0_f64.to_bits());
    assert!(got[0][0] < 0.0);
    let wide = outcomes("kind = 'stable_reinforce'\nwidth = 9.0", &[&rewards]);
    assert!(wide.expect("good rewards")[0][3] > 5.0);
    let most = outcomes("kind = 'stable_reinforce'\nwidth = 9.0\nmost = 5.0", &[&rewards]);
    assert_eq!(most.expect("good rewards")[0][3].to_bits(), 0.0_f64.to_bits());
}

/// A step of two tokens for each signal.
fn steps(signals: &[Signal]) -> Vec<ResponseStep> {
    let step = |(at, signal): (usize, &Signal)| ResponseStep {
        tokens: 2 * at..2 * at + 2,
        signal: *signal,
    };
    signals.iter().enumerate().map(step).collect()
}

#[test]
fn a3_capo_right_responses_outrank_clean_steps() {
    let flawed = steps(&[Signal::Wrong(0.0), Signal::Wrong(1.0)]);
    let clean = steps(&[Signal::Wrong(0.0), Signal::Wrong(0.0)]);
    let group = vec![
        ScoredResponse::new(1.0, 5).with_steps(&flawed),
        ScoredResponse::new(0.0, 5).with_steps(&clean),
        ScoredResponse::new(0.0, 4).with_steps(&flawed),
    ];
    let got = kind("kind = 'capo'\nnormalise = 'mean'").evaluate(&[group]);
    let got = got.expect("good numbers");
    // Token rewards are 2 2 1 1 2, 0 0 0 0 0, 0 0 -1 -1; their mean is 6 / 14.
    let mean = 6.0 / 14.0;
    let less = |rewards: &[f64]| -> Vec<f64> { rewards.iter().map(|r| r - mean).collect() };
    all_near("right", &got[0][0], &less(&[2.0, 2.0, 1.0, 1.0, 2.0]));
    all_near("clean", &got[0][1], &less(&[0.0; 5]));
    all_near("wrong", &got[0][2], &less(&[0.0, 0.0, -1.0, -1.0]));
}

#[test]
fn a4_tp_grpo_punishes_detours_of_the_strong() {
    let right = steps(&[Signal::Label(ThoughtLabel::Right), Signal::Label(ThoughtLabel::Wrong)]);
    let wrong =
        steps(&[Signal::Label(ThoughtLabel::Matching), Signal::Label(ThoughtLabel::Mismatched)]);
    let toml = "kind = 'tp_grpo'\nalpha = 0.5\nnormalise = 'mean'";
    let group = vec![
        ScoredResponse::new(1.0, 5).with_steps(&right),
        ScoredResponse::new(0.0, 4).with_steps(&wrong),
    ];
    let got = kind(toml).evaluate(&[group]).expect("good numbers");
    all_near("right", &got[0][0], &[0.5, 0.5, 0.25, 0.25, 0.5]);
    all_near("wrong", &got[0][1], &[-0.5, -0.5, 0.0, 0.0]);
    // With equal outcomes a wrong thought still costs.
    let group = vec![ScoredResponse::new(1.0, 4).with_steps(&right); 2];
    let got = kind(toml).evaluate(&[group]).expect("good numbers");
    all_near("all right", &got[0][0], &[0.0, 0.0, -0.5, -0.5]);
}

#[test]
fn a7_ppr_a_failed_episode_pays_no_step() {
    let good = steps(&[Signal::Reward(1.0), Signal::Reward(0.5)]);
    let toml = "kind = 'ppr'\nnormalise = 'mean'";
    let group = vec![
        ScoredResponse::new(1.0, 5).with_steps(&good),
        ScoredResponse::new(0.0, 4).with_steps(&good),
    ];
    let got = kind(toml).evaluate(&[group]).expect("good numbers");
    // Returns are 1.5 and 0.5, and -0.5 and -0.5; their mean is 1/4.
    all_near("done", &got[0][0], &[1.25, 1.25, 0.25, 0.25, 0.25]);
    all_near("failed", &got[0][1], &[-0.75; 4]);
}

/// Judgements and reflections have no steps: what they earn is relative to the outcomes of their group.
#[test]
fn group_without_steps_has_the_advantages_of_its_outcomes() {
    for toml in ["kind = 'ppr'\nnormalise = 'mean'", "kind = 'step_returns'\nnormalise = 'mean'"] {
        let group = vec![ScoredResponse::new(1.0, 2), ScoredResponse::new(-1.0, 3)];
        let got = kind(toml).evaluate(&[group]).expect("good numbers");
        all_near(toml, &got[0][0], &[1.0; 2]);
        all_near(toml, &got[0][1], &[-1.0; 3]);
    }
}

#[test]
fn c5_istar_adds_steps_to_outcomes() {
    let rewards =
        implicit_rewards(&[-1.0, -2.0, -1.0, -1.0], &[-2.0, -2.0, -1.5, -0.5], &[0..2, 2..4], 0.05);
    all_near("implicit", &rewards.expect("good numbers"), &[0.05, 0.0]);
    let (first, second) = (
        steps(&[Signal::Reward(1.0), Signal::Reward(0.0)]),
        steps(&[Signal::Reward(1.0), Signal::Reward(0.0)]),
    );
    let toml = "kind = 'istar'\nvariance = 'population'\nepsilon = 0.0";
    let group = vec![
        ScoredResponse::new(1.0, 4).with_steps(&first),
        ScoredResponse::new(0.0, 5).with_steps(&second),
    ];
    let got = kind(toml).evaluate(&[group]).expect("good numbers");
    all_near("right", &got[0][0], &[2.0, 2.0, 0.0, 0.0]);
    all_near("wrong", &got[0][1], &[0.0, 0.0, -2.0, -2.0, -1.0]);
}

#[test]
fn c6_spa_step_rewards() {
    let rewards = grounded_rewards(&[0.25, 0.5, 0.25], &[true, false, true], 0.5);
    all_near("rewards", &rewards.expect("good numbers"), &[0.75, 0.5, 0.75]);
    let returns = token_returns(&[0.75, 0.5, 0.75], 0.5).expect("good numbers");
    all_near("returns", &returns, &[1.1875, 0.875, 0.75]);
}

/// What the steps of a response earn by `toml`, without rewards shaped by the scorer.
fn step_rewards(toml: &str, scores: &[f64], outcome: f64) -> Vec<f64> {
    let AdvantageKind::StepReturns(returns) = kind(&format!("kind = 'step_returns'\n{toml}"))
    else {
        panic!("{toml} is of another kind");
    };
    returns.rewards(scores, None, outcome).expect("good numbers")
}

#[test]
fn b1_step_rewards_have_the_outcome_at_their_end() {
    let check = |toml: &str, outcome: f64, expected: &[f64]| {
        all_near(toml, &step_rewards(toml, &[0.9, 0.2, 0.7], outcome), expected);
    };
    check("shaping = 'clip'", 1.0, &[0.0, -0.3, 1.0]);
    check("shaping = 'clip'", 0.0, &[0.0, -0.3, 0.0]);
    check("shaping = 'clip'\neta = 0.8", 1.0, &[0.0, -0.6, 0.9]);
    check("shaping = 'delta'", 1.0, &[0.7, 0.2, 1.0]);
    check("shaping = 'delta'\nending = 'own_score'\nalpha = 0.5", 1.0, &[0.35, -0.25, 1.35]);
    check("shaping = 'clip_delta'", 1.0, &[0.3, -0.3, 1.0]);
    check("shaping = 'raw_more_steps_earn_more'\noutcome = 0.0", 1.0, &[0.9, 0.2, 0.7]);
    // Without steps the outcome alone is left.
    all_near("no step", &step_rewards("shaping = 'clip'", &[], 0.5), &[0.5]);
}

/// A right step that is repeated earns nothing more, unless the run file says that it should.
#[test]
fn e4_repeated_steps_earn_no_more() {
    for shaping in ["clip", "delta", "clip_delta", "raw_more_steps_earn_more"] {
        let toml = format!("shaping = '{shaping}'");
        let total = |n: usize| step_rewards(&toml, &vec![0.9; n], 0.0).iter().sum::<f64>();
        let grows = total(12) > total(2) + 1e-9;
        assert_eq!(grows, shaping.starts_with("raw"), "{shaping}: {} {}", total(2), total(12));
    }
}

#[test]
fn f2_psr_nsr_and_w_reinforce() {
    let check = |toml: &str, expected: [f64; 4]| {
        let got = outcomes(toml, &[&[1.0, 0.0, 0.0, 1.0]]).expect("good rewards");
        all_near(toml, &got[0], &expected);
    };
    check("kind = 'w_reinforce'", [0.1, -1.0, -1.0, 0.1]);
    check("kind = 'w_reinforce'\npositive = 1.0\nnegative = 0.0", [1.0, 0.0, 0.0, 1.0]);
    check("kind = 'w_reinforce'\npositive = 0.0", [0.0, -1.0, -1.0, 0.0]);
    assert!(kind("kind = 'w_reinforce'").leaves_out_zeros());
    assert!(!kind("kind = 'mean'").leaves_out_zeros());
    assert!(outcomes("kind = 'w_reinforce'", &[&[0.5]]).is_err());
}

#[test]
fn f3_canon_compares_halves() {
    let group = |rewards: [f64; 4]| -> Vec<ScoredResponse<'static>> {
        let pairs = rewards.into_iter().zip([1, 4, 2, 3]);
        pairs.map(|(reward, n)| ScoredResponse::new(reward, n)).collect()
    };
    let check = |toml: &str, rewards: [f64; 4], expected: [f64; 4]| {
        let toml = format!("kind = 'canon'\n{toml}");
        let got = kind(&toml).evaluate(&[group(rewards)]).expect("good numbers");
        let first: Vec<f64> = got[0].iter().map(|tokens| tokens[0]).collect();
        all_near(&toml, &first, &expected);
    };
    let rewards = [1.0, 0.0, 1.0, 1.0];
    check("mu = 1.0", rewards, [0.5, -1.0, 0.5, 0.0]);
    check("mu = 0.0", rewards, [0.0, -0.5, 0.0, 0.5]);
    // Half of both is the distance to the mean.
    check("mu = 0.5", rewards, [0.25, -0.75, 0.25, 0.25]);
    check("alpha = 0.5", [1.0; 4], [0.5, -0.5, 0.5, -0.5]);
    let odd = vec![ScoredResponse::new(1.0, 1); 3];
    let error = kind("kind = 'canon'").evaluate(&[odd]).expect_err("no halves").to_string();
    assert!(error.contains("even"), "{error}");
}

/// METHODS2 F3: the half of the higher entropy is favoured.
#[test]
fn f3_canon_by_entropy() {
    let check = |toml: &str, expected: [f64; 4]| {
        let response = |(reward, entropy): (&f64, f64)| ScoredResponse {
            entropy: Some(entropy),
            ..ScoredResponse::new(*reward, 1)
        };
        let group = [1.0, 0.0, 1.0, 1.0];
        let group = group.iter().zip([0.1, 0.4, 0.2, 0.3]).map(response).collect();
        let kind = kind(&format!("kind = 'canon'\nmetric = 'entropy'\n{toml}"));
        let got = kind.evaluate(&[group]).expect("good rewards").concat().concat();
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-12, "{toml}: {got} for {expected}");
        }
    };
    check("", [0.5, -1.0, 0.5, 0.0]);
    check("mu = 0.0", [0.0, -0.5, 0.0, 0.5]);
    check("mu = 0.5", [0.25, -0.75, 0.25, 0.25]);
    check("alpha = 0.5", [0.0, -0.5, 0.0, 0.5]);
    check("beta = 0.1", [0.4, -0.9, 0.4, 0.1]);
    // Three of four are right.
    check("anneal = 'accuracy'", [0.375, -0.875, 0.375, 0.125]);
    // The weight of the other half rises over two steps and falls in each of two cycles of four.
    let cosine = kind("kind = 'canon'\nanneal = 'cosine'\nwarmup = 2\ncycles = 2");
    let half = f64::midpoint(1.0, std::f64::consts::FRAC_1_SQRT_2);
    for (step, mu) in [(1, 0.0), (2, 0.5), (3, 1.0), (4, half), (5, 0.5), (7, 1.0), (9, 0.5)] {
        let AdvantageKind::Canon(own) = cosine.at(step, 10) else { panic!("another kind") };
        assert!((own.mu - mu).abs() < 1e-12, "{step}: {}", own.mu);
    }
    assert!(kind("kind = 'canon'\ncycles = 0").check().is_err());
    let bare = vec![ScoredResponse::new(1.0, 1), ScoredResponse::new(0.0, 1)];
    let error = kind("kind = 'canon'\nmetric = 'entropy'").evaluate(&[bare]);
    assert!(matches!(error, Err(FormulaError::Missing { method: "canon", .. })));
    assert!(matches!(
        kind("kind = 'canon'\nbeta = 0.1").check(),
        Err(FormulaError::Setting { .. })
    ));
}

#[test]
fn raw_step_scores_are_refused_by_name() {
    let AdvantageKind::StepReturns(returns) = kind("kind = 'step_returns'") else {
        panic!("another kind");
    };
    let error = returns.rewards(&[0.9, 0.9], None, 1.0).expect_err("raw sums").to_string();
    assert!(error.contains("more steps earn more") && error.contains("shaping"), "{error}");
    let shaped = returns.rewards(&[0.9, 0.9], Some(&[0.0, -0.25]), 1.0);
    all_near("shaped", &shaped.expect("good numbers"), &[0.0, 0.75]);
}

#[test]
fn rewards_of_tokens_are_part_of_the_return() {
    let penalties = [-0.1, -0.2, -0.3];
    let with = |token_rewards| ScoredResponse { token_rewards, ..ScoredResponse::new(1.0, 3) };
    let group = vec![with(&penalties), ScoredResponse::new(0.0, 3)];
    let got = kind("kind = 'mean'").evaluate(std::slice::from_ref(&group));
    all_near("group", &got.expect("good numbers")[0][0], &[0.2; 3]);
    let returns = [0.4, 0.5, 0.7, 0.0, 0.0, 0.0];
    let mean = returns.iter().sum::<f64>() / 6.0;
    let std = (returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 6.0).sqrt();
    let got = kind("kind = 'reinforce_plus_plus'").evaluate(std::slice::from_ref(&group));
    let got = got.expect("good numbers").concat().concat();
    for (got, value) in got.iter().zip(returns) {
        near("token", *got, (value - mean) / std);
    }
    assert!(kind("kind = 'istar'").evaluate(&[group]).is_err());
}

#[test]
fn steps_and_signals_that_do_not_fit_are_refused() {
    let step = |from, to, signal| ResponseStep { tokens: from..to, signal };
    let reward = Signal::Reward(0.5);
    let check = |toml: &str, reward: f64, steps: &[ResponseStep]| {
        let response = ScoredResponse::new(reward, 4).with_steps(steps);
        let got = kind(toml).evaluate(&[vec![response]]);
        assert!(got.is_err(), "{toml}: {got:?}");
    };
    check("kind = 'ppr'", 1.0, &[step(0, 5, reward)]);
    check("kind = 'ppr'", 1.0, &[step(2, 2, reward)]);
    check("kind = 'ppr'", 1.0, &[step(0, 3, reward), step(2, 4, reward)]);
    check("kind = 'ppr'", 1.0, &[step(0, 2, Signal::Reward(1.5))]);
    check("kind = 'ppr'", 1.0, &[step(0, 2, Signal::Wrong(1.0))]);
    check("kind = 'ppr'", 2.0, &[step(0, 2, reward)]);
    check("kind = 'capo'", 1.0, &[step(0, 2, reward)]);
    check("kind = 'capo'", 0.5, &[step(0, 2, Signal::Wrong(1.0))]);
    check("kind = 'capo'", 1.0, &[step(0, 2, Signal::Wrong(f64::NAN))]);
    let thoughts = "kind = 'tp_grpo'\nalpha = 1.0";
    check(thoughts, 1.0, &[step(0, 2, Signal::Label(ThoughtLabel::Matching))]);
    check(thoughts, 0.0, &[step(0, 2, Signal::Label(ThoughtLabel::Right))]);
    check(thoughts, 0.5, &[]);
    check("kind = 'istar'", 1.0, &[step(0, 2, Signal::Reward(f64::INFINITY))]);
    check("kind = 'max_rl'", -1.0, &[]);
    check("kind = 'grpo'", f64::NAN, &[]);
    let out_of_reach = implicit_rewards(&[0.0], &[0.0], std::slice::from_ref(&(0..2)), 1.0);
    assert!(out_of_reach.is_err());
    assert!(token_returns(&[1.0], 1.5).is_err());
    assert!(grounded_rewards(&[1.0], &[], 0.5).is_err());
}

#[test]
fn too_large_numbers_are_errors() {
    for toml in ["kind = 'mean'", "kind = 'reinforce_plus_plus'", "kind = 'grpo'"] {
        let got = outcomes(toml, &[&[f64::MAX, f64::MAX, 0.0]]);
        assert!(got.is_err(), "{toml}: {got:?}");
    }
    let response = ScoredResponse { token_rewards: &[1.0], ..ScoredResponse::new(1.0, 2) };
    let got = AdvantageKind::default().evaluate(&[vec![response]]);
    assert!(matches!(got, Err(FormulaError::Length { .. })));
}

#[test]
fn invalid_options_and_keys_are_refused() {
    for toml in [
        "kind = 'grpo'\nepsilon = -1.0",
        "kind = 'reinforce_plus_plus'\ngamma = 1.1",
        "kind = 'reinforce_plus_plus'\nwhitening = { floor = 0.0 }",
        "kind = 'stable_reinforce'\nwidth = 0.0",
        "kind = 'capo'\nwhole = -1.0",
        "kind = 'tp_grpo'\nalpha = 0.0",
        "kind = 'istar'\nalpha = nan",
        "kind = 'step_returns'\neta = 0.5",
        "kind = 'canon'\nmu = 1.5",
        "kind = 'w_reinforce'\npositive = 0.0\nnegative = 0.0",
        "kind = 'step_returns'\nshaping = 'delta'\neta = 0.5",
        "kind = 'step_returns'\nshaping = 'clip'\nending = 'own_score'",
        "kind = 'step_returns'\nnormalise = { grpo = { variance = 'unbiased', epsilon = -1.0 } }",
    ] {
        assert!(matches!(kind(toml).check(), Err(FormulaError::Setting { .. })), "{toml}");
    }
    for toml in [
        "kind = 'grppo'",
        "kind = 'grpo'\neps = 1e-4",
        "kind = 'mean'\nepsilon = 1e-4",
        "kind = 'tp_grpo'",
        "kind = 'capo'\nnormalise = { grpo = { variance = 'unbiased', epsilon = 0.0, mean = 1 } }",
        "kind = 'reinforce_plus_plus'\nwhitening = { epsilon = 1e-8 }",
    ] {
        assert!(toml::from_str::<AdvantageKind>(toml).is_err(), "{toml}");
    }
    for toml in ["kind = 'istar'", "kind = 'tp_grpo'\nalpha = 0.3", "kind = 'stable_reinforce'"] {
        let written = toml::to_string(&kind(toml)).expect("it can be written");
        assert_eq!(kind(&written), kind(toml), "{written}");
    }
}

#[test]
fn empty_groups_have_no_advantages() {
    for toml in OF_GROUPS {
        assert_eq!(kind(toml).evaluate(&[]), Ok(vec![]), "{toml}");
        assert_eq!(kind(toml).evaluate(&[vec![]]), Ok(vec![vec![]]), "{toml}");
        let silent = vec![ScoredResponse::new(1.0, 0), ScoredResponse::new(0.0, 0)];
        assert_eq!(kind(toml).evaluate(&[silent]), Ok(vec![vec![vec![], vec![]]]), "{toml}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Group advantages add up to nothing, do not mind what is added to all rewards, and keep their
    /// order.
    #[test]
    fn group_advantages_are_relative(
        rewards in prop::collection::vec(0.0_f64..1.0, 2..8),
        shift in 0.0_f64..5.0,
    ) {
        for toml in ["kind = 'grpo'", "kind = 'mean'", "kind = 'rloo'"] {
            let got = outcomes(toml, &[&rewards]).expect("good rewards").concat();
            prop_assert!(got.iter().sum::<f64>().abs() < 1e-9);
            let shifted: Vec<f64> = rewards.iter().map(|reward| reward + shift).collect();
            let moved = outcomes(toml, &[&shifted]).expect("good rewards").concat();
            for (a, b) in got.iter().zip(&moved) {
                prop_assert!((a - b).abs() < 1e-6, "{toml}: {a} {b}");
            }
            for (i, j) in (0..got.len()).zip(1..got.len()) {
                prop_assert_eq!(rewards[i] < rewards[j], got[i] < got[j]);
            }
        }
    }

    /// Whitened advantages have mean 0 and variance 1 over all tokens.
    #[test]
    fn whitened_advantages_have_mean_0_and_variance_1(rewards in prop::collection::vec(-1.0_f64..1.0, 3..8)) {
        prop_assume!(rewards.iter().any(|reward| (reward - rewards[0]).abs() > 1e-3));
        let got = outcomes("kind = 'reinforce_plus_plus'", &[&rewards, &[0.5]]);
        let got = got.expect("good rewards").concat();
        let n = f64::from(u8::try_from(got.len()).expect("few"));
        prop_assert!((got.iter().sum::<f64>() / n).abs() < 1e-9);
        let variance = got.iter().map(|value| value * value).sum::<f64>() / n;
        prop_assert!((variance - 1.0).abs() < 1e-6);
    }
}
