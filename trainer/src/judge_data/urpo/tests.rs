use proptest::prelude::*;
use rubrics::FailureKind;

use super::rank_judge::{NoScores, ScoreFormat, Unreadable, pairwise_accuracy};
use super::*;
use crate::item::ItemRole;
use crate::judge_data::draws::StepSeed;
use crate::judge_data::fixtures::{group, right};
use crate::judge_data::templates::Templates;

fn templates() -> Templates {
    Templates::built_in("urpo").expect("built in")
}

fn at(step: u64) -> StepSeed {
    StepSeed { seed: 1, step }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-12
}

#[test]
fn c2_scores_are_read_from_a_strict_last_line() {
    use NoScores::{NoList, OutOfRange, WrongCount};
    let config = RankJudgeConfig::default();
    let check = |text: &str, expected: Result<Vec<f64>, NoScores>| {
        assert_eq!(config.scores(text, 3), expected, "{text:?}");
    };
    check("[1, 2, 3]", Ok(vec![1.0, 2.0, 3.0]));
    check("I think so.\n[0, 10, 2.5]  \n\n", Ok(vec![0.0, 10.0, 2.5]));
    check("[9, 9, 9]\n[1, 2, 3]", Ok(vec![1.0, 2.0, 3.0]));
    check("[1, 2, 3]\nso the first", Err(NoList));
    check("scores: [1, 2, 3]", Err(NoList));
    check("[1, 2]", Err(WrongCount));
    check("[1, 2, 3, 4]", Err(WrongCount));
    check("[1, 2, 11]", Err(OutOfRange));
    check("[1, 2, -1]", Err(OutOfRange));
    check("[1, 2, \"3\"]", Err(NoList));
    check("[1, 2, null]", Err(NoList));
    check("[1, 2, NaN]", Err(NoList));
    check("[1, 2, 1e999]", Err(NoList));
    check("[[1, 2, 3]]", Err(NoList));
    check(&"[".repeat(100_000), Err(NoList));
    check("", Err(NoList));
    let object = RankJudgeConfig { format: ScoreFormat::Object, ..RankJudgeConfig::default() };
    let whole = "{\"scores\":[7,3,5]}";
    assert_eq!(object.scores(whole, 3), Ok(vec![7.0, 3.0, 5.0]));
    assert_eq!(object.scores("[7,3,5]", 3), Err(NoList));
    assert_eq!(object.scores("{\"scores\":[7],\"x\":1}", 1), Err(NoList));
    let compact = RankJudgeConfig { format: ScoreFormat::Commas, ..RankJudgeConfig::default() };
    assert_eq!(compact.scores("7,3,5", 3), Ok(vec![7.0, 3.0, 5.0]));
    assert_eq!(compact.scores("[7,3,5]", 3), Err(NoList));
    for (low, high, calls) in
        [(1.0, 1.0, 1), (0.0, f64::INFINITY, 1), (f64::NAN, 1.0, 1), (0.0, 1.0, 0)]
    {
        let config = RankJudgeConfig { low, high, calls, ..RankJudgeConfig::default() };
        assert!(config.check().is_err(), "{low} {high} {calls}");
    }
}

#[test]
fn c2_kendall_tau() {
    let check = |scores: &[f64], ranks: &[f64], expected: f64| {
        let tau = kendall_tau(scores, ranks).expect("valid");
        assert!(close(tau, expected), "{scores:?} {ranks:?}: {tau}");
    };
    check(&[9.0, 1.0], &[1.0, 2.0], 1.0);
    check(&[5.0, 5.0], &[1.0, 2.0], 0.0);
    check(&[1.0, 9.0], &[1.0, 2.0], -1.0);
    check(&[9.0, 5.0, 1.0], &[1.0, 2.0, 3.0], 1.0);
    // Two pairs agree and one does not.
    check(&[9.0, 1.0, 5.0], &[1.0, 2.0, 3.0], 1.0 / 3.0);
    // One pair is tied by the scores: (2 - 0) / 3.
    check(&[9.0, 5.0, 5.0], &[1.0, 2.0, 3.0], 2.0 / 3.0);
    // Gold ties count 0 as well: 5 of 6 pairs are ordered, one of them wrongly.
    check(&[9.0, 2.0, 4.0, 3.0], &[1.0, 2.0, 2.0, 3.0], 3.0 / 6.0);
    for (scores, ranks) in [
        (&[1.0][..], &[1.0][..]),
        (&[], &[]),
        (&[1.0, 2.0], &[1.0]),
        (&[1.0, f64::NAN], &[1.0, 2.0]),
        (&[1.0, 2.0], &[1.0, f64::INFINITY]),
    ] {
        assert!(kendall_tau(scores, ranks).is_err(), "{scores:?} {ranks:?}");
    }
}

#[test]
fn c2_rank_judge_reward() {
    let ranked = [("best", 1.0), ("middle", 2.0), ("worst", 3.0)];
    let mut firsts = [0; 3];
    for step in 0..300 {
        let item = preference_item(5, "do it", &ranked, &templates(), at(step)).expect("worded");
        assert_eq!((item.role, item.index, &*item.scorer), (ItemRole::RankJudge, 5, SCORER));
        let ranks: Vec<f64> =
            serde_json::from_str(item.gold.as_deref().expect("ranks")).expect("a list");
        // The shown order and the gold ranks belong together.
        let text = &item.turns[0].content;
        let mut shown: Vec<_> =
            ranked.iter().map(|(name, rank)| (text.find(&format!("> {name}")), *rank)).collect();
        shown.sort_by_key(|(place, _)| *place);
        assert_eq!(shown.iter().map(|s| s.1).collect::<Vec<_>>(), ranks);
        firsts[ranked.iter().position(|r| close(r.1, ranks[0])).expect("one of them")] += 1;
        let config = RankJudgeConfig::default();
        let perfect: Vec<f64> = ranks.iter().map(|rank| 10.0 - rank).collect();
        assert_eq!(reward(&item, &format!("Well.\n{perfect:?}"), &config), Ok(1.0));
        assert_eq!(reward(&item, &format!("{ranks:?}"), &config), Ok(-1.0));
        assert_eq!(reward(&item, "[5, 5, 5]", &config), Ok(0.0));
        assert_eq!(reward(&item, "no list", &config), Ok(-1.0));
        let drop = RankJudgeConfig { unreadable: Unreadable::Drop, ..RankJudgeConfig::default() };
        assert_eq!(reward(&item, "no list", &drop), Err(FailureKind::ParseError));
    }
    assert!(firsts.iter().all(|n| (60..=140).contains(n)), "{firsts:?}");
    let mut item = preference_item(5, "p", &ranked, &templates(), at(1)).expect("worded");
    item.gold = None;
    let failed = reward(&item, "[1, 2, 3]", &RankJudgeConfig::default());
    assert_eq!(failed, Err(FailureKind::BadReference));
}

#[test]
fn c2_pairwise_accuracy() {
    let ranks = || vec![1.0, 2.0, 3.0];
    let check = |replies: &[(Option<Vec<f64>>, Vec<f64>)], expected: Option<f64>| {
        let found = pairwise_accuracy(replies);
        let same = match (found, expected) {
            (Some(found), Some(expected)) => close(found, expected),
            (found, expected) => found == expected,
        };
        assert!(same, "{replies:?}: {found:?}");
    };
    check(&[(Some(vec![9.0, 5.0, 1.0]), ranks())], Some(1.0));
    check(&[(Some(vec![9.0, 5.0, 5.0]), ranks())], Some(2.0 / 3.0));
    check(&[(None, ranks()), (Some(vec![3.0, 2.0, 1.0]), ranks())], Some(0.5));
    check(&[(Some(vec![1.0]), ranks())], Some(0.0));
    check(&[(Some(vec![1.0, 2.0]), vec![1.0, 1.0])], None);
    check(&[], None);
}

fn answers(count: usize) -> crate::Group {
    let rollouts = (0..count).map(|n| right(&format!("a{n}")));
    group(8, rollouts.collect())
}

#[test]
fn c2_open_calls_have_different_orders() {
    let check = |answers_: usize, calls_: usize, expected: usize| {
        let config = RankJudgeConfig { calls: calls_, ..RankJudgeConfig::default() };
        let group = answers(answers_);
        let made = calls(&group, &config, &templates(), at(1)).expect("worded");
        let mut orders: Vec<_> = made.iter().map(|call| call.order.clone()).collect();
        for call in &made {
            assert!(call.item.gold.is_none() && call.item.role == ItemRole::RankJudge);
            let text = &call.item.turns[0].content;
            let place = |answer: usize| text.find(&format!("boxed{{a{answer}}}"));
            assert!(call.order.is_sorted_by_key(|answer| place(*answer)), "{text}");
        }
        orders.sort();
        orders.dedup();
        assert_eq!((made.len(), orders.len()), (if answers_ < 2 { 0 } else { calls_ }, expected));
    };
    check(8, 2, 2);
    check(2, 2, 2);
    check(2, 5, 2);
    check(3, 6, 6);
    check(1, 2, 0);
    check(0, 2, 0);
}

#[test]
fn c2_open_rewards() {
    let config = RankJudgeConfig::default();
    let group = answers(3);
    let call = |order: Vec<usize>| Call { item: (*group.item).clone(), order };
    let (one, two) = (call(vec![0, 1, 2]), call(vec![2, 0, 1]));
    let check = |replies: &[(&Call, &str)], expected: &Open| {
        let found = self_rewards(replies, 3, &config);
        match (&found, expected) {
            (Open::Rewards(found), Open::Rewards(expected)) => {
                let same = found.iter().zip(expected).all(|(f, e)| close(*f, *e));
                assert!(same && found.len() == 3, "{replies:?}: {found:?}");
            }
            (found, expected) => assert_eq!(found, expected, "{replies:?}"),
        }
    };
    check(&[(&one, "[10, 5, 0]")], &Open::Rewards(vec![1.0, 0.5, 0.0]));
    // The second call shows answer 2 first: (10 + 6) / 20, (5 + 2) / 20, (0 + 4) / 20.
    check(&[(&one, "[10, 5, 0]"), (&two, "[4, 6, 2]")], &Open::Rewards(vec![0.8, 0.35, 0.2]));
    // A reply that cannot be read is left out.
    check(&[(&one, "[10, 5, 0]"), (&two, "?")], &Open::Rewards(vec![1.0, 0.5, 0.0]));
    check(&[(&one, "?"), (&two, "[1, 2]")], &Open::NoneReadable);
    check(&[], &Open::NoneReadable);
    check(&[(&one, "[3, 3, 3]")], &Open::NoSpread);
    // A referee that likes places and nothing else says nothing.
    let three = call(vec![1, 2, 0]);
    check(&[(&one, "[9, 1, 2]"), (&two, "[9, 1, 2]"), (&three, "[9, 1, 2]")], &Open::NoSpread);
}

#[test]
fn c2_schedule() {
    let schedule = |rule| Schedule::new(Mix::default(), rule).expect("valid");
    let kinds = |v, p, o| schedule::BatchKinds { verifiable: v, preference: p, open: o };
    let mut gate = schedule(OpenRule::default());
    assert_eq!(gate.batch(1, 12), kinds(8, 4, 0));
    gate.observe(Some(0.74));
    gate.observe(None);
    assert_eq!(gate.batch(1, 12), kinds(8, 4, 0));
    gate.observe(Some(0.75));
    gate.observe(None);
    gate.observe(Some(f64::NAN));
    assert_eq!(gate.batch(1, 12), kinds(6, 3, 3));
    let text = serde_json::to_string(&gate).expect("serialises");
    assert_eq!(serde_json::from_str::<Schedule>(&text).expect("reads"), gate);
    gate.observe(Some(0.7));
    assert_eq!(gate.batch(1, 12), kinds(8, 4, 0), "it closes again");
    let mut stays = schedule(OpenRule::Gate { accuracy: 0.75, closes: false });
    stays.observe(Some(0.8));
    stays.observe(Some(0.1));
    assert!(close(stays.open_part(1), 1.0));
    let ramp = schedule(OpenRule::Ramp { from: 10, to: 20 });
    for (step, expected) in [(0, 0.0), (10, 0.0), (15, 0.5), (20, 1.0), (99, 1.0)] {
        assert!(close(ramp.open_part(step), expected), "{step}");
    }
    assert_eq!(ramp.batch(15, 24), kinds(14, 7, 3));
    let always = schedule(OpenRule::Always);
    assert_eq!(always.batch(0, 0), kinds(0, 0, 0));
    let thin = Mix { verifiable: 0.0, preference: 0.01, open: 1.0 };
    let thin = Schedule::new(thin, OpenRule::Always).expect("valid");
    assert_eq!(thin.batch(0, 8), kinds(0, 1, 7), "an anchor to the end");
}

#[test]
fn schedules_that_cannot_work_are_refused() {
    let mix = |verifiable, preference, open| Mix { verifiable, preference, open };
    let check = |mix: Mix, rule: OpenRule, expected: &str| {
        let error = Schedule::new(mix, rule).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(mix(1.0, 0.0, 1.0), OpenRule::Always, "its own opinion alone");
    check(mix(0.0, 0.0, 0.0), OpenRule::Always, "is needed");
    check(mix(-1.0, 2.0, 0.0), OpenRule::Always, "not negative");
    check(mix(f64::NAN, 2.0, 0.0), OpenRule::Always, "not negative");
    check(mix(1.0, 1.0, 1.0), OpenRule::Gate { accuracy: 1.5, closes: true }, "between 0 and 1");
    check(mix(1.0, 1.0, 1.0), OpenRule::Ramp { from: 2, to: 1 }, "ramp");
}

#[test]
fn rewarded_length_shows_in_the_correlation() {
    let mut group = answers(3);
    let token = crate::Token { id: 1, logprob: 0.0, revision: 0 };
    for (n, rollout) in (1..).zip(&mut group.rollouts) {
        rollout.tokens = vec![token; n];
        rollout.reward = Ok(n as f64 / 10.0);
    }
    let found = length_correlation([&group].into_iter());
    assert!(close(found.expect("both vary"), 1.0));
    group.rollouts[0].reward = Err(FailureKind::ParseError);
    assert!(length_correlation([&group].into_iter()).is_some(), "two are left");
    for rollout in &mut group.rollouts {
        rollout.reward = Ok(0.1);
    }
    assert_eq!(length_correlation([&group].into_iter()), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn tau_is_antisymmetric_and_bounded(pairs in prop::collection::vec((0_u8..4, 0_u8..4), 2..8)) {
        let scores: Vec<f64> = pairs.iter().map(|p| f64::from(p.0)).collect();
        let ranks: Vec<f64> = pairs.iter().map(|p| f64::from(p.1)).collect();
        let turned: Vec<f64> = scores.iter().map(|score| -score).collect();
        let tau = kendall_tau(&scores, &ranks).expect("valid");
        prop_assert!((-1.0..=1.0).contains(&tau));
        prop_assert!(close(tau, -kendall_tau(&turned, &ranks).expect("valid")));
    }

    #[test]
    fn batches_are_full_and_anchored(size in 0_usize..40, step in 0_u64..30) {
        let rule = OpenRule::Ramp { from: 5, to: 20 };
        let kinds = Schedule::new(Mix::default(), rule).expect("valid").batch(step, size);
        prop_assert_eq!(kinds.verifiable + kinds.preference + kinds.open, size);
        prop_assert!(kinds.open == 0 || kinds.preference > 0);
    }
}
