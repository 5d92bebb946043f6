//! Open instructions: the model scores its own answers, in several orders.

use std::sync::Arc;

use rand::Rng;
use rand::seq::SliceRandom as _;
use rubrics::Message;

use super::rank_judge::{RankJudgeConfig, SCORER};
use crate::error::Result;
use crate::item::{Group, ItemRole, TrainingItem};
use crate::judge_data::balance;
use crate::judge_data::draws::StepSeed;
use crate::judge_data::templates::{TemplateKind, Templates};

/// A listwise call of the rank judge over a group's answers.
///
/// It is not a group and has no reward: **its tokens get no gradient**, because only the model
/// itself could tell whether it judged well.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The prompt of the rank judge.
    pub item: TrainingItem,
    /// The answer of the group at each place.
    pub order: Vec<usize>,
}

/// Result of a group's calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Open {
    /// A reward in [0, 1] for each answer: the mean over the readable calls, on the scale of the
    /// scores.
    Rewards(Vec<f64>),
    /// No call could be parsed, so nothing was measured: the group is dropped.
    NoneReadable,
    /// All answers are equally good: the group is dropped.
    NoSpread,
}

/// The calls that score the answers to one open instruction, each in another order as long as there
/// are others; more orders average out the effect of position. A group of one answer has none.
///
/// # Errors
/// No wording for a rank judge, or options that cannot be used.
pub fn calls(
    group: &Group,
    config: &RankJudgeConfig,
    templates: &Templates,
    seed: StepSeed,
) -> Result<Vec<Call>> {
    config.check()?;
    templates.require(&[TemplateKind::RankJudge])?;
    if group.rollouts.len() < 2 {
        return Ok(Vec::new());
    }
    let mut rng = base::seeded::decision(seed.seed, "urpo calls", &[seed.step, group.item.index]);
    let wordings = templates.of(TemplateKind::RankJudge);
    let template = wordings.first().expect("required above");
    let call = |order: Vec<usize>| {
        let texts = order.iter().map(|answer| &*group.rollouts[*answer].text);
        let turns: Vec<Message> =
            template.fill_candidates(&group.item.problem, &texts.collect::<Vec<_>>());
        Call {
            item: TrainingItem {
                role: ItemRole::RankJudge,
                turns,
                gold: None,
                scorer: SCORER.into(),
                fields: Arc::default(),
                parent: None,
                ..(*group.item).clone()
            },
            order,
        }
    };
    let orders = orders(group.rollouts.len(), config.calls, &mut rng);
    Ok(orders.into_iter().map(call).collect())
}

/// `count` random orders of `0..of`, each different from those before it while there are others.
fn orders(of: usize, count: usize, rng: &mut impl Rng) -> Vec<Vec<usize>> {
    let possible = (1..=of).fold(1_usize, usize::saturating_mul);
    let mut orders: Vec<Vec<usize>> = Vec::with_capacity(count);
    while orders.len() < count {
        let round = orders.len() / possible * possible;
        let mut order: Vec<usize> = (0..of).collect();
        order.shuffle(rng);
        if !orders[round..].contains(&order) {
            orders.push(order);
        }
    }
    orders
}

/// The rewards of `answers` answers from the replies to their calls. A reply that cannot be parsed
/// is a failed measurement: it is left out and never a number.
pub fn self_rewards(replies: &[(&Call, &str)], answers: usize, config: &RankJudgeConfig) -> Open {
    let mut sums = vec![0.0; answers];
    let mut readable = 0_u32;
    for (call, reply) in replies {
        if call.order.len() != answers {
            continue;
        }
        let Ok(scores) = config.scores(reply, answers) else {
            continue;
        };
        readable += 1;
        for (answer, score) in call.order.iter().zip(scores) {
            sums[*answer] += (score - config.low) / (config.high - config.low);
        }
    }
    if readable == 0 {
        return Open::NoneReadable;
    }
    let rewards: Vec<f64> = sums.iter().map(|sum| sum / f64::from(readable)).collect();
    // Sums of the same scores in another order may differ in their last bits.
    let spread = |a: &f64, b: &f64| (a - b).abs() > 1e-12;
    if !rewards.windows(2).any(|pair| spread(&pair[0], &pair[1])) {
        return Open::NoSpread;
    }
    Open::Rewards(rewards)
}

/// The correlation of a response's length in tokens with its reward, over groups: the rank judge must
/// not reward length. Responses without a reward are left out. `None` if it is undefined.
pub fn length_correlation<'a>(groups: impl Iterator<Item = &'a Group>) -> Option<f64> {
    let rollouts = groups.flat_map(|group| &group.rollouts);
    let measured = rollouts.filter_map(|own| Some((own.tokens.len() as f64, own.reward.ok()?)));
    let (lengths, rewards): (Vec<f64>, Vec<f64>) = measured.unzip();
    balance::correlation(&lengths, &rewards)
}
