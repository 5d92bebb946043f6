use proptest::prelude::*;

use super::fill::{DiscardRate, Next, Shortfall};
use super::*;
use crate::item::Group;
use crate::judge_data::fixtures::{group, none, right, wrong};

fn no_values(_: &[u64]) -> Result<Vec<f64>> {
    panic!("only PCL asks for values")
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

fn two_kinds(config: CurriculumConfig) -> Curriculum {
    let problems = (0..10).map(|index| (index, Some(if index < 4 { "easy" } else { "hard" })));
    Curriculum::new(config, problems, 7).expect("valid")
}

fn dump() -> CurriculumConfig {
    CurriculumConfig::Dump { window: 300, temperature: 0.1 }
}

fn sec() -> CurriculumConfig {
    CurriculumConfig::Sec { rate: 0.1, temperature: 1.0 }
}

fn check_weights(curriculum: &Curriculum, expected: [f64; 2]) {
    let weights = curriculum.weights();
    assert_eq!(weights.iter().map(|w| w.0).collect::<Vec<_>>(), ["easy", "hard"]);
    let near = weights.iter().zip(expected).all(|(found, expected)| close(found.1, expected));
    assert!(near, "{weights:?} is not {expected:?}");
}

fn observed<'a>(category: &'a str, advantages: &'a [f64]) -> GroupAdvantages<'a> {
    GroupAdvantages { category: Some(category), advantages }
}

#[test]
fn d_uniform_episodes() {
    let mut curriculum = two_kinds(CurriculumConfig::Uniform);
    let mut passes = Vec::new();
    for pass in 0..3 {
        assert_eq!(curriculum.pass(), pass);
        let mut drawn = curriculum.draw(10, no_values).expect("drawn");
        passes.push(drawn.clone());
        drawn.sort_unstable();
        assert_eq!(drawn, (0..10).collect::<Vec<_>>(), "each problem once");
    }
    assert_ne!(passes[0], passes[1]);
    let again = two_kinds(CurriculumConfig::Uniform).draw(20, no_values).expect("drawn");
    assert_eq!(again, passes[..2].concat(), "batches do not matter");
}

#[test]
fn shares_are_those_of_each_batch() {
    let config = |easy: f64| CurriculumConfig::Shares {
        shares: [("easy".to_owned(), easy), ("hard".to_owned(), 1.0 - easy)].into(),
    };
    let check = |easy: f64, batch: usize, expected: &[usize]| {
        let mut curriculum = two_kinds(config(easy));
        let drawn = expected.iter().map(|_| {
            let drawn = curriculum.draw(batch, no_values).expect("drawn");
            drawn.into_iter().filter(|index| *index < 4).count()
        });
        assert_eq!(drawn.collect::<Vec<_>>(), expected, "{easy} of {batch}");
    };
    check(0.5, 8, &[4, 4, 4]);
    check(0.25, 8, &[2, 2, 2]);
    check(0.25, 2, &[1, 0, 1, 0]);
    check(0.3, 10, &[3, 3]);
    // A category is drawn in passes of its own.
    let mut curriculum = two_kinds(config(0.5));
    let drawn = curriculum.draw(24, no_values).expect("drawn");
    for index in 0..4 {
        assert_eq!(drawn.iter().filter(|drawn| **drawn == index).count(), 3, "{drawn:?}");
    }
    let problems = [(0, Some("easy")), (1, Some("odd"))];
    let error = Curriculum::new(config(0.5), problems, 7).expect_err("other categories");
    assert!(error.to_string().contains("the categories of `shares`"), "{error}");
    for bad in [0.0, 1.5, f64::NAN] {
        assert!(config(bad).check().is_err(), "{bad}");
    }
}

#[test]
fn d_dump_ucb() {
    let mut curriculum = two_kinds(dump());
    check_weights(&curriculum, [0.5, 0.5]);
    curriculum
        .observe(&[observed("easy", &[0.5, -0.5]), observed("hard", &[1.0, -1.0, 1.0])])
        .expect("finite");
    // easy: 0.5 + sqrt(2 ln 6 / 3) = 1.592934725, hard: 1 + sqrt(2 ln 6 / 4) = 1.946509236; the
    // difference over 0.1 is 3.535745115.
    let hard = 1.0 / (1.0 + (-3.535_745_115_5_f64).exp());
    let weights = curriculum.weights();
    assert!((weights[1].1 - hard).abs() < 1e-9, "{weights:?} {hard}");
    // Counts are of all advantages, means of the window.
    let mut short = two_kinds(CurriculumConfig::Dump { window: 2, temperature: 0.1 });
    short.observe(&[observed("easy", &[9.0, 9.0, 0.25, 0.75])]).expect("finite");
    // easy: 0.5 + sqrt(2 ln 5 / 5) = 1.302357, hard: sqrt(2 ln 5) = 1.794123.
    let (easy, hard) = (0.5 + (2.0 * 5f64.ln() / 5.0).sqrt(), (2.0 * 5f64.ln()).sqrt());
    let expected = 1.0 / (1.0 + ((hard - easy) / 0.1).exp());
    check_weights(&short, [expected, 1.0 - expected]);
}

#[test]
fn d_sec_estimates() {
    let mut curriculum = two_kinds(sec());
    check_weights(&curriculum, [0.5, 0.5]);
    curriculum
        .observe(&[
            observed("hard", &[1.0, -1.0]),
            observed("hard", &[0.0, 0.0]),
            observed("easy", &[0.2]),
        ])
        .expect("finite");
    // Q(hard) = 0.1 · 0.5, Q(easy) = 0.1 · 0.2.
    let hard = 1.0 / (1.0 + (0.02_f64 - 0.05).exp());
    check_weights(&curriculum, [1.0 - hard, hard]);
    curriculum.observe(&[observed("hard", &[2.0])]).expect("finite");
    // Q(hard) = 0.1 · 2 + 0.9 · 0.05 = 0.245; easy was not there and stays.
    let hard = 1.0 / (1.0 + (0.02_f64 - 0.245).exp());
    check_weights(&curriculum, [1.0 - hard, hard]);
}

#[test]
fn d_arms_are_drawn_with_their_weights() {
    let mut curriculum = two_kinds(CurriculumConfig::Sec { rate: 1.0, temperature: 1.0 });
    // Weights 1 : 3.
    curriculum.observe(&[observed("hard", &[3f64.ln()])]).expect("finite");
    let drawn = curriculum.draw(4000, no_values).expect("drawn");
    let easy = drawn.iter().filter(|index| **index < 4).count();
    assert!(easy.abs_diff(1000) < 165, "{easy}");
    for index in 0..4 {
        let times = drawn.iter().filter(|other| **other == index).count();
        assert!(times.abs_diff(easy / 4) <= 1, "each problem as often as its neighbours");
    }
}

#[test]
fn i5_dump_and_sec_by_hand() {
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    };
    let arm = |size: f64, n: usize| {
        let mut arm = Arm::new("arm", vec![0], 7);
        arm.remember(&vec![size; n], 300);
        arm
    };
    let bounds = arms::upper_bounds(&[&arm(0.4, 30), &arm(0.2, 10)]);
    bounds.into_iter().zip([0.88947, 1.02170]).for_each(|(bound, expected)| near(bound, expected));
    let check = |config, groups: &[GroupAdvantages<'_>], expected: [f64; 2]| {
        let mut curriculum = two_kinds(config);
        curriculum.observe(groups).expect("finite");
        for ((_, weight), expected) in curriculum.weights().into_iter().zip(expected) {
            near(weight, expected);
        }
    };
    let both = [observed("easy", &[0.4; 30]), observed("hard", &[0.2; 10])];
    check(dump(), &both, [0.21044, 0.78956]);
    check(sec(), &[observed("easy", &[0.5])], [0.51250, 0.48750]);
}

#[test]
fn d_pcl_takes_the_nearest() {
    let check = |values: &[f64], count: usize, expected: &[u64]| {
        let candidates: Vec<u64> = (10..10 + values.len() as u64).collect();
        let found = pcl::nearest(&candidates, values, 0.5, count).expect("finite");
        assert_eq!(found, expected, "{values:?}");
    };
    check(&[0.1, 0.5, 0.9, 0.45], 2, &[11, 13]);
    check(&[0.4, 0.6, 0.5], 2, &[10, 12]);
    check(&[0.1, 0.45, 0.8, 0.62, 0.5, 0.0], 3, &[11, 13, 14]);
    check(&[0.4], 3, &[10]);
    check(&[], 3, &[]);
    let config = CurriculumConfig::Pcl { target: 0.5, candidates: 4, value: None };
    let mut curriculum = two_kinds(config);
    let mut candidates = 0;
    let values = |of: &[u64]| -> Result<Vec<f64>> {
        candidates = of.len();
        Ok(of.iter().map(|index| *index as f64 / 10.0).collect())
    };
    let mut drawn = curriculum.draw(2, values).expect("drawn");
    drawn.sort_unstable();
    assert_eq!((drawn.len(), candidates), (2, 8));
    let before = curriculum.state();
    for broken in [vec![0.5; 3], vec![f64::NAN; 4]] {
        assert!(curriculum.draw(1, |_| Ok(broken.clone())).is_err());
        assert_eq!(curriculum.state(), before, "a draw that fails takes nothing");
    }
}

#[test]
fn d_a_resumed_curriculum_draws_the_same() {
    let pcl = CurriculumConfig::Pcl { target: 0.5, candidates: 3, value: None };
    for config in [CurriculumConfig::Uniform, dump(), sec(), pcl] {
        let step = |curriculum: &mut Curriculum, step: u64| {
            let values = |of: &[u64]| Ok(of.iter().map(|i| (i % 3) as f64 / 2.0).collect());
            let drawn = curriculum.draw(3, values).expect("drawn");
            let size = [step as f64 / 7.0];
            let category = if drawn[0] < 4 { "easy" } else { "hard" };
            curriculum.observe(&[observed(category, &size)]).expect("finite");
            drawn
        };
        let mut whole = two_kinds(config.clone());
        let unbroken: Vec<_> = (0..20).map(|n| step(&mut whole, n)).collect();
        let mut first = two_kinds(config.clone());
        let mut broken: Vec<_> = (0..9).map(|n| step(&mut first, n)).collect();
        let text = serde_json::to_string(&first.state()).expect("serialises");
        let mut second = two_kinds(config.clone());
        second.resume(serde_json::from_str(&text).expect("reads")).expect("the same problems");
        broken.extend((9..20).map(|n| step(&mut second, n)));
        assert_eq!(broken, unbroken, "{config:?}");
        assert_eq!(second.state(), whole.state());
    }
}

#[test]
fn invalid_curriculum_options_are_refused() {
    let refused = |config: CurriculumConfig| {
        let error = Curriculum::new(config, [(0, None)], 1).expect_err("refused");
        assert!(error.to_string().starts_with("curriculum: "), "{error}");
    };
    for temperature in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(CurriculumConfig::Dump { window: 1, temperature });
        refused(CurriculumConfig::Sec { rate: 0.1, temperature });
    }
    refused(CurriculumConfig::Dump { window: 0, temperature: 1.0 });
    refused(CurriculumConfig::Sec { rate: 1.1, temperature: 1.0 });
    refused(CurriculumConfig::Pcl { target: f64::NAN, candidates: 1, value: None });
    refused(CurriculumConfig::Pcl { target: 0.5, candidates: 0, value: None });
    assert!(Curriculum::new(CurriculumConfig::Uniform, [], 1).is_err());
    let mut curriculum = two_kinds(sec());
    let before = curriculum.state();
    let broken = [observed("easy", &[1.0]), observed("hard", &[f64::NAN])];
    assert!(curriculum.observe(&broken).is_err());
    assert_eq!(curriculum.state(), before);
    let mut other = Curriculum::new(sec(), [(0, Some("easy"))], 7).expect("valid");
    let error = other.resume(before).expect_err("other problems").to_string();
    assert!(error.contains("easy") && error.contains("hard"), "{error}");
}

#[test]
fn options_are_read_with_their_defaults() {
    let check = |text: &str, expected: Option<CurriculumConfig>| {
        let found = toml::from_str::<CurriculumConfig>(text);
        assert_eq!(found.ok(), expected, "{text}");
    };
    check("kind = \"dump\"", Some(dump()));
    check("kind = \"sec\"\nrate = 0.1", Some(sec()));
    check("kind = \"uniform\"", Some(CurriculumConfig::Uniform));
    check(
        "kind = \"pcl\"",
        Some(CurriculumConfig::Pcl { target: 0.5, candidates: 4, value: None }),
    );
    check("kind = \"dump\"\nrate = 1", None);
    check("kind = \"king\"", None);
    let band = toml::from_str::<Keep>("keep = \"band\"").expect("valid");
    assert_eq!(band, Keep::Band { low: 0.2, high: 0.8, pass: 1.0 });
}

fn group_with(rights: usize, wrongs: usize) -> Group {
    group(0, [vec![right("2"); rights], vec![wrong("3"); wrongs]].concat())
}

#[test]
fn d_odf_band() {
    let band = Keep::Band { low: 0.25, high: 0.75, pass: 1.0 };
    let check = |rights, wrongs, expected: Fate| {
        let fate = band.judge(&group_with(rights, wrongs), &mut KeepCounts::default());
        assert_eq!(fate, expected, "{rights} {wrongs}");
    };
    check(2, 6, Fate::Kept);
    check(6, 2, Fate::Kept);
    check(4, 4, Fate::Kept);
    check(1, 7, Fate::TooHard);
    check(7, 1, Fate::TooEasy);
    check(0, 8, Fate::Equal(0.0));
    check(8, 0, Fate::Equal(1.0));
    for (low, high) in [(0.0, 0.5), (0.5, 1.0), (0.6, 0.4), (f64::NAN, 0.5)] {
        assert!(Keep::Band { low, high, pass: 1.0 }.check().is_err(), "{low} {high}");
    }
    assert!(band.check().is_ok() && Keep::All.check().is_ok());
}

#[test]
fn e5_zero_variance_is_kept_or_dropped_and_counted() {
    let mut failed = group_with(1, 1);
    failed.rollouts.push(none());
    let groups =
        [group_with(2, 2), group_with(3, 0), group_with(0, 3), failed, group(0, Vec::new())];
    let check = |keep: Keep, kept: u64| {
        let mut counts = KeepCounts::default();
        for group in &groups {
            keep.judge(group, &mut counts);
        }
        let expected = KeepCounts {
            groups: 5,
            kept,
            failed: 2,
            zero_variance: 2,
            all_right: 1,
            ..KeepCounts::default()
        };
        assert_eq!(counts, expected, "{keep:?}");
    };
    check(Keep::All, 3);
    check(Keep::Varied, 1);
}

#[test]
fn run_without_differing_rewards_ends() {
    let counts = |groups, zero_variance, all_right, failed| KeepCounts {
        groups,
        failed,
        zero_variance,
        all_right,
        ..KeepCounts::default()
    };
    let mut rule = NoProgressRule::new(3);
    let mut see = |counts| rule.observe(&counts);
    assert!(see(counts(4, 4, 0, 0)).is_ok());
    assert!(see(counts(4, 4, 0, 0)).is_ok());
    assert!(see(counts(4, 3, 0, 0)).is_ok(), "one group taught something");
    assert!(see(counts(4, 4, 0, 0)).is_ok());
    assert!(see(counts(4, 2, 0, 2)).is_ok());
    let error = see(counts(4, 4, 1, 0)).expect_err("three in a row");
    assert!(matches!(&error, TrainError::NoProgress(text) if text.contains("too hard")), "{error}");
    let text = |last: KeepCounts| {
        let mut rule = NoProgressRule::new(1);
        rule.observe(&last).expect_err("stuck").to_string()
    };
    assert!(text(counts(4, 4, 4, 0)).contains("too easy"));
    assert!(text(counts(4, 0, 0, 4)).contains("gives no rewards"));
    let mut never = NoProgressRule::new(0);
    for _ in 0..100 {
        assert!(never.observe(&counts(4, 4, 4, 0)).is_ok());
    }
}

#[test]
fn dapo_samples_until_the_batch_is_full() {
    let fill = |rounds, groups, shortfall| {
        let config = FillConfig { rounds, groups, adaptive: false, shortfall };
        Fill::new(config, 4).expect("valid")
    };
    let mut full = fill(10, None, Shortfall::Fail);
    for kept in [1, 0, 2] {
        assert_eq!(full.next().expect("more"), Next::Sample(4));
        full.add(kept);
    }
    assert_eq!(full.next().expect("more"), Next::Sample(4));
    full.add(3);
    assert_eq!(full.next().expect("full"), Next::Train(4));
    assert_eq!((full.surplus(), full.rounds()), (2, 4));
    let mut short = fill(2, Some(6), Shortfall::Train);
    assert_eq!(short.next().expect("more"), Next::Sample(6));
    short.add(1);
    short.add(0);
    assert_eq!(short.next().expect("what there is"), Next::Train(1));
    let mut fails = fill(1, None, Shortfall::Fail);
    fails.add(3);
    assert!(matches!(fails.next(), Err(TrainError::NoProgress(_))));
    for (rounds, groups, want) in [(0, None, 4), (1, Some(0), 4), (1, None, 0)] {
        let config = FillConfig { rounds, groups, adaptive: false, shortfall: Shortfall::Train };
        assert!(Fill::new(config, want).is_err());
    }
}

/// METHODS2 I4, with one refill.
#[test]
fn i4_batches_follow_the_discard_rate() {
    assert_eq!(DiscardRate::new(0.36).needed(128), 200);
    let mut rate = DiscardRate::new(0.3);
    rate.observe(0.5);
    assert!((rate.rate() - 0.32).abs() < 1e-12);
    assert_eq!((DiscardRate::default().needed(7), DiscardRate::new(1.0).needed(10)), (7, 100));
    let config = FillConfig { rounds: 2, adaptive: true, ..FillConfig::default() };
    let mut fill = Fill::new(config, 128).expect("valid").with_discard(DiscardRate::new(0.36));
    assert_eq!(fill.next().expect("a round"), Next::Sample(200));
    fill.add(96);
    assert_eq!(fill.next().expect("a round"), Next::Sample(50));
    fill.add(20);
    assert_eq!(fill.next().expect("it is short"), Next::Train(116));
    assert!(Fill::new(FillConfig { groups: Some(3), ..config }, 4).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn weights_are_probabilities(sizes in prop::collection::vec((any::<bool>(), -1e6_f64..1e6), 0..12)) {
        for config in [dump(), sec()] {
            let mut curriculum = two_kinds(config);
            for (easy, size) in &sizes {
                let advantages = [*size];
                let category = if *easy { "easy" } else { "hard" };
                curriculum.observe(&[observed(category, &advantages)]).expect("finite");
            }
            let weights = curriculum.weights();
            prop_assert!(weights.iter().all(|w| (0.0..=1.0).contains(&w.1)));
            prop_assert!(close(weights.iter().map(|w| w.1).sum::<f64>(), 1.0));
            curriculum.draw(5, no_values).expect("drawn");
        }
    }

    #[test]
    fn fill_always_terminates(kept in prop::collection::vec(0_usize..3, 0..40), rounds in 1_u32..12) {
        let config = FillConfig { rounds, groups: Some(2), adaptive: false, shortfall: Shortfall::Train };
        let mut fill = Fill::new(config, 5).expect("valid");
        let mut kept = kept.into_iter().chain(std::iter::repeat(0));
        let mut steps = 0;
        while let Next::Sample(_) = fill.next().expect("it trains on what there is") {
            fill.add(kept.next().expect("endless"));
            steps += 1;
            prop_assert!(steps <= rounds);
        }
    }
}
