//! Advantages, values and NFT against `trainer/goldens/values.py` and by the numbers of their papers'
//! code.

use serde::Deserialize;

use super::{Batch, LIMITS, all_near, near, objective};
use crate::advantages::steps::implicit_rewards;
use crate::advantages::{AdvantageKind, Gae, ResponseStep, ScoredResponse, Signal};
use crate::item::{Observation, Rollout, Token};
use crate::judge_data::fixtures::none;
use crate::losses::FormulaError;
use crate::losses::kl::penalties;
use crate::losses::policy::{Nft, PolicyLossKind};
use crate::losses::preference::{BradleyTerry, Contrastive, Pairs, score_difference};
use crate::losses::value::{ValueLoss, ValueTokens};
use crate::losses::{Kl, Loss, Objective};

#[derive(Deserialize)]
struct Goldens {
    gae: Vec<GaeCase>,
    value_loss: Vec<ValueCase>,
    nft: Vec<NftCase>,
    contrastive: Vec<ContrastiveCase>,
    difference: Vec<DifferenceCase>,
}

#[derive(Deserialize)]
struct GaeCase {
    options: Gae,
    groups: Vec<Vec<EpisodeCase>>,
    advantages: Vec<Vec<f64>>,
    returns: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct EpisodeCase {
    reward: f64,
    token_rewards: Vec<f64>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct ValueCase {
    clip: f64,
    values: Vec<f64>,
    old: Vec<f64>,
    returns: Vec<f64>,
    mask: Vec<bool>,
    total: usize,
    value: f64,
    grad: Vec<f64>,
}

#[derive(Deserialize)]
struct NftCase {
    options: Nft,
    #[serde(flatten)]
    batch: Batch,
    value: f64,
    grad: Vec<f64>,
}

#[derive(Deserialize)]
struct ContrastiveCase {
    options: Contrastive,
    width: usize,
    first: Vec<f64>,
    second: Vec<f64>,
    value: f64,
    grad: Vec<f64>,
}

#[derive(Deserialize)]
struct DifferenceCase {
    scores: Vec<f64>,
    cu_lists: Vec<usize>,
    total: usize,
    value: f64,
    grad: Vec<f64>,
}

fn goldens() -> Goldens {
    serde_json::from_str(include_str!("../../../goldens/values.json")).expect("they can be read")
}

impl EpisodeCase {
    fn response(&self) -> ScoredResponse<'_> {
        ScoredResponse {
            token_rewards: &self.token_rewards,
            values: &self.values,
            ..ScoredResponse::new(self.reward, self.values.len())
        }
    }
}

#[test]
fn generalised_advantages_equal_their_sums() {
    for case in goldens().gae {
        let groups: Vec<Vec<ScoredResponse<'_>>> = case
            .groups
            .iter()
            .map(|group| group.iter().map(EpisodeCase::response).collect())
            .collect();
        let name = format!("{:?}", case.options);
        let got = AdvantageKind::Gae(case.options).evaluate(&groups).expect("good numbers");
        all_near(&name, &got.concat().concat(), &case.advantages.concat());
        let returns = groups
            .iter()
            .flatten()
            .flat_map(|response| case.options.estimate(0, response).expect("good numbers").returns);
        all_near(&name, &returns.collect::<Vec<_>>(), &case.returns.concat());
    }
}

#[test]
fn f6_gae_by_hand() {
    let (rewards, values) = ([0.0; 3], [0.2, 0.4, 0.6]);
    let response =
        ScoredResponse { token_rewards: &rewards, values: &values, ..ScoredResponse::new(1.0, 3) };
    let check = |lambda: f64, advantages: [f64; 3], returns: [f64; 3]| {
        let gae = Gae { lambda, whiten: false, ..Gae::default() };
        let got = gae.estimate(0, &response).expect("good numbers");
        all_near("advantages", &got.advantages, &advantages);
        all_near("returns", &got.returns, &returns);
    };
    check(0.95, [0.751, 0.58, 0.4], [0.951, 0.98, 1.0]);
    check(1.0, [0.8, 0.6, 0.4], [1.0, 1.0, 1.0]);
    check(0.0, [0.2, 0.2, 0.4], [0.4, 0.6, 1.0]);
    let whitened = AdvantageKind::Gae(Gae { lambda: 1.0, ..Gae::default() });
    let got = whitened.evaluate(&[vec![response]]).expect("good numbers");
    all_near("whitened", &got[0][0], &[1.0, 0.0, -1.0]);
    let kl = Kl { weight: 0.05, estimator: crate::losses::kl::Estimator::K1 };
    let mut rewards = penalties(&kl, &[-1.0, -2.0], &[-1.5, -1.8]).expect("good numbers");
    rewards[1] += 1.0;
    all_near("divergence", &rewards, &[-0.025, 1.01]);
    let bare = ScoredResponse::new(1.0, 3);
    let error = Gae::default().estimate(0, &bare).expect_err("no values");
    assert!(matches!(error, FormulaError::Missing { method: "gae", .. }));
    // One token has no variance.
    let one = ScoredResponse { values: &[0.25], ..ScoredResponse::new(1.0, 1) };
    let got = AdvantageKind::Gae(Gae::default()).evaluate(&[vec![one]]).expect("good numbers");
    all_near("one", &got[0][0], &[0.0]);
}

/// The advantage behind a result of a tool is carried to the token before it, and no value is read of the
/// result.
#[test]
fn f6_values_are_carried_through_observations() {
    let token = Token { id: 1, logprob: -1.0, revision: 0 };
    let observation =
        Observation { at: 1, token_ids: [7].into(), text: String::new(), calls: 1, failed: 0 };
    let rollout = Rollout { tokens: vec![token; 2], observations: vec![observation], ..none() };
    let of_all = [0.2, 9.0, 0.6];
    let values: Vec<f64> = rollout.places().into_iter().map(|place| of_all[place]).collect();
    let gae = Gae { lambda: 0.95, whiten: false, ..Gae::default() };
    let check = |values: &[f64], expected: &[f64]| {
        let response = ScoredResponse { values, ..ScoredResponse::new(1.0, values.len()) };
        let got = gae.estimate(0, &response).expect("good numbers");
        all_near("advantages", &got.advantages, expected);
    };
    check(&values, &[0.78, 0.4]);
    // With the result as a token of the response, its value would leak.
    check(&of_all, &[1.181, -8.02, 0.4]);
}

#[test]
fn b4_step_rewards_are_at_the_last_tokens_of_steps() {
    let step = |tokens, reward| ResponseStep { tokens, signal: Signal::Reward(reward) };
    let steps = [step(0..2, 0.7), step(2..3, 0.4)];
    let values = [0.0; 4];
    let check = |toml: &str, reward: f64, expected: [f64; 4]| {
        let gae: Gae =
            toml::from_str(&format!("whiten = false\nlambda = 0.0\n{toml}")).expect("good options");
        let response = ScoredResponse { values: &values, ..ScoredResponse::new(reward, 4) };
        let got = gae.estimate(0, &response.with_steps(&steps)).expect("good numbers");
        all_near(toml, &got.advantages, &expected);
    };
    check("renorm = 'every_step'", 1.0, [0.0, 0.7, 0.4, 0.0]);
    check("renorm = 'every_step'", 0.0, [0.0, -0.3, -0.6, 0.0]);
    check("renorm = 'last_step'", 1.0, [0.0, 0.2, 0.4, 0.0]);
    check("", 1.0, [0.0, 0.0, 0.0, 1.0]);
}

/// METHODS2 G3: scores of two lines, and a divergence of 0.1 times the log-ratios.
#[test]
fn g3_lines_are_rewarded_at_their_last_tokens() {
    let step = |tokens, score| ResponseStep { tokens, signal: Signal::Reward(score) };
    let steps = [step(0..1, 0.9), step(1..2, 0.2)];
    let kl = Kl { weight: 0.1, estimator: crate::losses::kl::Estimator::K1 };
    let token_rewards = penalties(&kl, &[-1.0, -1.0], &[-1.2, -0.9]).expect("good numbers");
    let check = |toml: &str, steps: &[ResponseStep], expected: [f64; 2]| {
        let gae: Gae =
            toml::from_str(&format!("whiten = false\nlambda = 0.0\n{toml}")).expect("good options");
        let values = [0.0; 2];
        let response = ScoredResponse {
            values: &values,
            token_rewards: &token_rewards,
            ..ScoredResponse::new(1.0, 2)
        };
        let got = gae.estimate(0, &response.with_steps(steps)).expect("good numbers");
        all_near(toml, &got.advantages, &expected);
    };
    check("steps = 'signed'", &steps, [0.98, -0.99]);
    check("steps = 'score'", &steps, [0.88, 0.21]);
    check("steps = 'signed'", &[], [-0.02, 1.01]);
    let both = toml::from_str("steps = 'signed'\nrenorm = 'every_step'").expect("it can be read");
    assert!(AdvantageKind::Gae(both).check().is_err());
}

#[test]
fn values_equal_automatic_differentiation() {
    for case in goldens().value_loss {
        let tokens = ValueTokens {
            values: &case.values,
            old: &case.old,
            returns: &case.returns,
            mask: &case.mask,
        };
        let loss = ValueLoss { clip: case.clip }.evaluate(&tokens, case.total);
        let loss = loss.expect("good numbers");
        near("value", loss.value, case.value);
        all_near("gradient", &loss.grad, &case.grad);
    }
    let of = |value: f64, old: f64, clip: f64| -> Loss {
        let (values, old) = ([value], [old]);
        let tokens = ValueTokens { values: &values, old: &old, returns: &[1.0], mask: &[true] };
        ValueLoss { clip }.evaluate(&tokens, 1).expect("good numbers")
    };
    // The clipped value, 0.7, is the further one.
    near("clipped", of(0.9, 0.2, 0.5).value, 0.045);
    near("no gradient", of(0.9, 0.2, 0.5).grad[0], 0.0);
    assert!(ValueLoss { clip: 0.0 }.check().is_err());
}

#[test]
fn contrasts_equal_automatic_differentiation() {
    for case in goldens().contrastive {
        let loss = case.options.evaluate(case.width, &case.first, &case.second);
        let loss = loss.expect("good numbers");
        let name = format!("{:?}", case.options);
        near(&name, loss.value, case.value);
        all_near(&name, &loss.grad, &case.grad);
    }
    // One pair has no negatives.
    let alone = Contrastive::default().evaluate(2, &[1.0, 2.0], &[0.5, -1.0]);
    let alone = alone.expect("good numbers");
    near("alone", alone.value, 0.0);
    all_near("alone", &alone.grad, &[0.0; 4]);
}

#[test]
fn h2_meta_rm_tells_scores_apart() {
    for case in goldens().difference {
        let loss = score_difference(&case.scores, &case.cu_lists, case.total);
        let loss = loss.expect("good numbers");
        near("value", loss.value, case.value);
        all_near("gradient", &loss.grad, &case.grad);
    }
    let of =
        |scores: &[f64]| score_difference(scores, &[0, scores.len()], 1).expect("good numbers");
    assert!((of(&[0.5, 0.1, -0.4]).value - 0.64403).abs() < 5e-6);
    near("equal", of(&[0.3, 0.3]).value, 0.5);
    all_near("equal", &of(&[0.3, 0.3]).grad, &[0.0, 0.0]);
    near("one", of(&[0.3]).value, 0.0);
}

#[test]
fn nft_equals_automatic_differentiation() {
    for case in goldens().nft {
        let objective =
            Objective { policy: PolicyLossKind::Nft(case.options), ..Objective::default() };
        let batch = Batch { advantages: vec![0.0; case.batch.logp.len()], ..case.batch };
        let loss = objective.evaluate(&batch.tokens(), &batch.denominators(LIMITS));
        let loss = loss.expect("good numbers");
        near("value", loss.value, case.value);
        all_near("gradient", &loss.grad, &case.grad);
    }
}

#[test]
fn f1_nft_by_hand() {
    let nft = |options: &str| {
        objective(&format!(
            "aggregation = 'seq_mean_token_sum'\npolicy = {{ kind = 'nft'{options} }}"
        ))
    };
    let check = |options: &str, positive: bool, ratio: f64, value: f64, slope: f64| {
        let batch = Batch {
            cu_seqlens: vec![0, 1],
            mask: vec![true],
            positive: Some(vec![positive]),
            pass_rates: Some(vec![0.25]),
            logp: vec![ratio.ln() - 1.0],
            old_logprobs: vec![-1.0],
            advantages: vec![0.0],
            ..Batch::default()
        };
        let loss = batch.loss(&nft(options));
        near(options, loss.value, value);
        near(options, loss.grad[0], slope);
    };
    check("", true, 1.2, -0.75 * 1.2_f64.ln(), -0.75);
    check("", false, 1.2, 0.0, 0.3);
    check("", false, 0.8, -0.75 * (0.8_f64 / 0.75).ln(), 0.1875);
    check("", true, 1.0, 0.0, -0.75);
    check("", false, 1.0, 0.0, 0.25);
    check(", weight = 'deviation'", true, 1.0, 0.0, -(3.0_f64.sqrt()));
    check(", negative = 0.0", false, 0.8, 0.0, 0.0);
    let bare = Batch {
        cu_seqlens: vec![0, 1],
        mask: vec![true],
        positive: Some(vec![true]),
        logp: vec![-1.0],
        old_logprobs: vec![-1.0],
        advantages: vec![0.0],
        ..Batch::default()
    };
    let error = nft("").evaluate(&bare.tokens(), &bare.denominators(LIMITS));
    assert!(matches!(error, Err(FormulaError::Missing { method: "nft", .. })), "{error:?}");
}

#[test]
fn g1_istar_rewards_and_pairs() {
    let old = [-1.0; 3];
    let check = |log_ratios: [f64; 3], steps: &[std::ops::Range<usize>], expected: &[f64]| {
        let logp = log_ratios.map(|ratio| ratio - 1.0);
        let rewards = implicit_rewards(&logp, &old, steps, 0.05).expect("good numbers");
        all_near("step rewards", &rewards, expected);
        rewards
    };
    let right = check([0.4, 0.2, 0.6], &[0..2, 2..3], &[0.03, 0.03]);
    let wrong = check([-0.2, 0.1, -0.3], &[0..1, 1..3], &[-0.01, -0.01]);
    let loss = |share: f64| {
        let score = |rewards: &[f64]| [share * rewards.iter().sum::<f64>()];
        let (chosen, rejected) = (score(&right), score(&wrong));
        let pairs = Pairs::new(&chosen, &rejected);
        BradleyTerry::default().evaluate(&pairs, 1).expect("good numbers").value
    };
    assert!((loss(0.5) - 0.67335).abs() < 5e-6 && (loss(1.0) - 0.65395).abs() < 5e-6);
}

/// On policy and at equal lengths, the loss is the negative mean advantage.
#[test]
fn f2_loss_of_w_reinforce_on_policy() {
    let group = [1.0, 0.0, 0.0, 1.0].map(|reward| ScoredResponse::new(reward, 1));
    let kind: AdvantageKind = toml::from_str("kind = 'w_reinforce'").expect("a good kind");
    let advantages = kind.evaluate(&[group.to_vec()]).expect("good rewards").concat().concat();
    let batch = Batch {
        cu_seqlens: vec![0, 1, 2, 3, 4],
        mask: vec![true; 4],
        logp: vec![-1.0; 4],
        old_logprobs: vec![-1.0; 4],
        advantages,
        ..Batch::default()
    };
    near("loss", batch.loss(&objective("policy = { kind = 'ppo' }")).value, 0.45);
}
