use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::item::Rollout;
use crate::judge_data::fixtures::{group, none, right, wrong};

fn spark(change: impl FnOnce(&mut SparkConfig)) -> Spark {
    let mut config = SparkConfig::default();
    change(&mut config);
    let templates = Templates::built_in("spark").expect("built in");
    Spark::new(config, templates).expect("valid")
}

fn at(seed: u64) -> StepSeed {
    StepSeed { seed, step: 1 }
}

fn all(rollout: impl Fn(&str) -> Rollout, count: usize) -> Vec<Rollout> {
    (0..count).map(|n| rollout(&format!("a{n}"))).collect()
}

fn mixed() -> Vec<Rollout> {
    let mut rollouts = all(right, 4);
    rollouts.extend(all(|n| wrong(&format!("w{n}")), 4));
    rollouts
}

fn text(item: &TrainingItem) -> &str {
    &item.turns[0].content
}

#[test]
fn c1_spark_table_uniform_groups() {
    for seed in 0..20 {
        let groups = [group(3, all(right, 8)), group(4, all(wrong, 8))];
        let recycled = spark(|_| ()).recycle(&groups, at(seed), None);
        let [yes, no, again] = &recycled.items[..] else {
            panic!("{:#?}", recycled.items);
        };
        assert_eq!((yes.role, yes.index, yes.parent), (ItemRole::Pointwise, 3, Some(0)));
        assert!(["Yes", "A"].contains(&yes.gold.as_deref().expect("a label")));
        assert!(text(yes).contains("> a0"), "rollout 0's answer");
        assert_eq!((no.role, no.index), (ItemRole::Pointwise, 4));
        assert!(["No", "B"].contains(&no.gold.as_deref().expect("a label")));
        let parent = no.parent.expect("made of a rollout");
        assert!((8..16).contains(&parent));
        assert!(text(no).contains(&format!("> a{}", parent - 8)));
        assert!(text(no).contains("> problem 4") && !text(no).contains("reason."));
        assert_eq!((again.role, again.gold.as_deref()), (ItemRole::Reflection, Some("2")));
        assert_eq!((&*again.scorer, &*yes.scorer), ("math", "verdict"));
        assert!(text(again).contains("> I reason."), "the whole reasoning");
        let counts = recycled.counts;
        assert!(counts.pointwise_right > 0 && counts.pointwise_right == counts.pointwise_wrong);
    }
}

#[test]
fn c1_spark_table_mixed_groups() {
    let spark = spark(|config| config.reflection_cap = 0);
    let runs = 4000;
    let mut total = SparkCounts::default();
    let mut shown = [0_u32; 8];
    for seed in 0..runs {
        let recycled = spark.recycle(&[group(0, mixed())], at(seed), None);
        let [item] = &recycled.items[..] else {
            panic!("one item a group");
        };
        let parent = item.parent.expect("made of a rollout");
        shown[parent] += 1;
        let counts = recycled.counts;
        total.pointwise_right += counts.pointwise_right;
        total.pointwise_wrong += counts.pointwise_wrong;
        total.pairwise_first += counts.pairwise_first;
        total.pairwise_second += counts.pairwise_second;
        if item.role == ItemRole::Pairwise {
            let (a, b) = (text(item).find("> a"), text(item).find("> w"));
            let first = a.expect("the right one") < b.expect("the wrong one");
            assert_eq!(item.gold.as_deref(), Some(if first { "A" } else { "B" }));
        } else {
            assert_eq!(text(item).contains("> a"), parent < 4);
        }
    }
    // Six deviations of the binomials are within these.
    let near = |count: u64, expected: u64| count.abs_diff(expected) < 190;
    assert!(near(total.pairwise_first + total.pairwise_second, 2800), "{total:?}");
    assert!(near(total.pairwise_first, 1400), "{total:?}");
    assert!(near(total.pointwise_right, 600) && near(total.pointwise_wrong, 600), "{total:?}");
    // A right rollout is a parent of pairs and of half of the rest, a wrong one of the other half.
    assert!(shown[..4].iter().all(|n| near(u64::from(*n), 850)), "{shown:?}");
    assert!(shown[4..].iter().all(|n| near(u64::from(*n), 150)), "{shown:?}");
}

#[test]
fn contrasting_items_are_two_of_one_problem() {
    let check = |rollouts: Vec<Rollout>, want: &[bool]| {
        let spark = spark(|config| {
            config.contrast = true;
            config.pairwise_share = 0.0;
            config.reflection_cap = 0;
        });
        for seed in 0..20 {
            let recycled = spark.recycle(&[group(5, rollouts.clone())], at(seed), None);
            let seen = recycled.items.iter().map(|item| {
                assert_eq!((item.role, item.index), (ItemRole::Pointwise, 5));
                ["Yes", "A"].contains(&item.gold.as_deref().expect("a label"))
            });
            assert_eq!(seen.collect::<Vec<_>>(), want);
        }
    };
    check(mixed(), &[true, false]);
    check(all(right, 8), &[]);
    check(all(wrong, 8), &[]);
    check(vec![none()], &[]);
    check(vec![right("2"), none(), wrong("2")], &[]);
}

#[test]
fn c1_spark_table_reflections_by_place_in_the_batch() {
    let groups: Vec<Group> = (0..64).map(|index| group(index, all(wrong, 8))).collect();
    let recycled = spark(|_| ()).recycle(&groups, at(1), None);
    let counts = recycled.counts;
    assert_eq!(counts.pointwise_wrong, 32, "the cap");
    assert_eq!(counts.reflect_reasoning + counts.reflect_answer, 32);
    assert_eq!(counts.over_cap, 64);
    for item in recycled.items.iter().filter(|i| i.role == ItemRole::Reflection) {
        assert_eq!(text(item).contains("I reason."), item.index < 32, "{}", item.index);
    }
    let uncapped = spark(|c| c.reflection_cap = 64).recycle(&groups, at(1), None);
    let counts = uncapped.counts;
    assert_eq!((counts.reflect_reasoning, counts.reflect_answer), (32, 32));
}

#[test]
fn c1_spark_caps_are_a_uniform_choice_without_replacement() {
    let groups: Vec<Group> = (0..40).map(|index| group(index, all(right, 2))).collect();
    let mut kept = [0_u32; 40];
    for seed in 0..1000 {
        let recycled = spark(|c| c.judge_cap = 10).recycle(&groups, at(seed), None);
        let indices: Vec<u64> = recycled.items.iter().map(|item| item.index).collect();
        assert_eq!(indices.len(), 10);
        assert!(indices.is_sorted_by(|a, b| a < b), "in order, each once");
        for index in indices {
            kept[usize::try_from(index).expect("small")] += 1;
        }
    }
    assert!(kept.iter().all(|n| n.abs_diff(250) < 83), "{kept:?}");
}

#[test]
fn every_wording_is_used() {
    let names = |kind| Templates::built_in("spark").expect("built in").of(kind).len();
    assert_eq!(names(TemplateKind::Pointwise), 6);
    assert_eq!(names(TemplateKind::Pairwise), 6);
    let spark = spark(|_| ());
    let mut seen: Vec<String> = (0..400)
        .map(|seed| spark.recycle(&[group(0, vec![right("2")])], at(seed), None))
        .map(|recycled| text(&recycled.items[0]).to_owned())
        .collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 6);
}

#[test]
fn rollouts_without_a_reward_are_ignored() {
    let check = |rollouts: Vec<Rollout>, items: usize, unrewarded: u64| {
        let recycled = spark(|_| ()).recycle(&[group(0, rollouts)], at(1), None);
        assert_eq!(recycled.items.len(), items);
        assert_eq!(recycled.counts.unrewarded, unrewarded);
        for item in &recycled.items {
            assert!(!text(item).contains("unjudged"));
        }
    };
    check(vec![none(), none()], 0, 2);
    check(vec![none(), right("2")], 1, 1);
    check(vec![none(), wrong("3")], 2, 1);
    check(vec![], 0, 0);
}

#[test]
fn items_without_an_answer_are_dropped_and_counted() {
    let silent = |mut rollout: Rollout| {
        rollout.answer = None;
        rollout
    };
    let check = |rollouts: Vec<Rollout>, place: usize, items: usize, no_answer: u64| {
        let spark = spark(|config| config.reasoning_prompts = place);
        let recycled = spark.recycle(&[group(0, rollouts)], at(1), None);
        assert_eq!(recycled.items.len(), items);
        assert_eq!(recycled.counts.no_answer, no_answer);
    };
    check(vec![silent(right("2")), right("2")], 0, 0, 1);
    check(vec![silent(wrong("3"))], 1, 1, 1);
    check(vec![silent(wrong("3"))], 0, 0, 2);
    check(vec![silent(wrong("3")), wrong("4")], 0, 2, 0);
    let pair = |answer: &str| {
        let spark = spark(|config| config.pairwise_share = 1.0);
        let groups = [group(0, vec![right("2"), wrong(answer)])];
        spark.recycle(&groups, at(1), None).counts
    };
    assert_eq!(pair("2").same_answer, 1);
    assert_eq!(pair("3").same_answer, 0);
}

#[test]
fn self_given_rewards_make_no_judge_data() {
    let mut judged = group(0, all(right, 3));
    let item = Arc::make_mut(&mut judged.item);
    item.role = ItemRole::Pointwise;
    let groups = [judged, group(1, all(wrong, 2))];
    let recycled = spark(|_| ()).recycle(&groups, at(1), None);
    assert!(recycled.items.iter().all(|item| item.index == 1));
    let parents: Vec<_> = recycled.items.iter().filter_map(|item| item.parent).collect();
    assert!(parents.iter().all(|parent| (3..5).contains(parent)), "{parents:?}");
    let mut no_gold = group(2, all(wrong, 2));
    Arc::make_mut(&mut no_gold.item).gold = None;
    let recycled = spark(|_| ()).recycle(&[no_gold], at(1), None);
    assert_eq!((recycled.items.len(), recycled.counts.no_gold), (1, 1));
}

#[test]
fn e2_which_answer_is_shown_is_an_option() {
    let check = |shown, expected: &str| {
        let spark = spark(|config| config.answer = shown);
        let mut rollout = right("judged");
        rollout.text = "\\boxed{one} and \\boxed{two}, \\boxed{open".to_owned();
        let recycled = spark.recycle(&[group(0, vec![rollout])], at(1), None);
        assert!(text(&recycled.items[0]).contains(&format!("> {expected}")));
    };
    check(ShownAnswer::Judged, "judged");
    check(ShownAnswer::FirstBoxed, "one");
    check(ShownAnswer::LastBoxed, "two");
}

#[test]
fn balance_fills_up_with_old_mistakes() {
    let rights: Vec<Group> = (0..6).map(|index| group(index, all(right, 2))).collect();
    let wrongs: Vec<Group> = (9..11).map(|index| group(index, all(wrong, 2))).collect();
    let mut old = ReplayBuffer::new(10, 1);
    old.observe(&(20..23).map(|i| group(i, all(wrong, 1))).collect::<Vec<_>>());
    let check = |cap: usize, old: Option<&ReplayBuffer>, each: u64, from: u64| {
        let spark = spark(|config| {
            config.balance = true;
            config.judge_cap = cap;
            config.reflection_cap = 0;
        });
        let groups = [rights.clone(), wrongs.clone()].concat();
        let counts = spark.recycle(&groups, at(1), old).counts;
        assert_eq!((counts.pointwise_right, counts.pointwise_wrong), (each, each));
        assert_eq!(counts.from_reservoir, from);
    };
    check(32, None, 2, 0);
    check(32, Some(&old), 5, 3);
    check(8, Some(&old), 4, 2);
}

#[test]
fn the_same_step_gives_the_same_items() {
    let groups = [group(0, mixed()), group(1, mixed())];
    let spark = spark(|_| ());
    assert_eq!(spark.recycle(&groups, at(1), None), spark.recycle(&groups, at(1), None));
    let other = (2..40)
        .any(|seed| spark.recycle(&groups, at(seed), None) != spark.recycle(&groups, at(1), None));
    assert!(other);
    // A group's item does not depend on its neighbours.
    let alone = spark.recycle(&groups[..1], at(1), None);
    assert!(alone.items.iter().all(|item| item.index == 0));
    let both = spark.recycle(&groups, at(1), None);
    let first: Vec<_> = both.items.into_iter().filter(|item| item.index == 0).collect();
    assert_eq!(alone.items, first);
}

#[test]
fn options_out_of_range_are_refused() {
    let refused = |change: fn(&mut SparkConfig)| {
        let mut config = SparkConfig::default();
        change(&mut config);
        let templates = Templates::built_in("spark").expect("built in");
        Spark::new(config, templates).expect_err("refused").to_string()
    };
    assert!(refused(|c| c.pairwise_share = 1.5).contains("spark.pairwise_share"));
    assert!(refused(|c| c.right_share = f64::NAN).contains("spark.right_share"));
    let without = Spark::new(SparkConfig::default(), Templates::built_in("crl").expect("built in"));
    let message = without.expect_err("no wordings").to_string();
    assert!(
        message.contains("pointwise, pairwise, reflect_reasoning, reflect_answer"),
        "{message}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn labels_equal_the_verifier(seed in any::<u64>(), outcomes in prop::collection::vec(
        prop::collection::vec(0_u8..3, 0..5), 0..8
    )) {
        let groups: Vec<Group> = (0..).zip(&outcomes).map(|(index, outcomes)| {
            let rollouts = outcomes.iter().enumerate().map(|(n, outcome)| match outcome {
                0 => wrong(&format!("w{n}")),
                1 => right(&format!("a{n}")),
                _ => none(),
            });
            group(index, rollouts.collect())
        }).collect();
        let flat: Vec<&Rollout> = groups.iter().flat_map(|g| &g.rollouts).collect();
        let recycled = spark(|_| ()).recycle(&groups, at(seed), None);
        for item in recycled.items {
            let parent = flat[item.parent.expect("made of a rollout")];
            let gold = item.gold.as_deref().expect("labelled");
            match item.role {
                ItemRole::Pointwise => {
                    prop_assert_eq!(["Yes", "A"].contains(&gold), parent.is_right());
                }
                ItemRole::Pairwise => prop_assert!(parent.is_right()),
                ItemRole::Reflection => prop_assert!(parent.is_wrong() && gold == "2"),
                ItemRole::Policy | ItemRole::RankJudge | ItemRole::Critic => prop_assert!(false),
            }
        }
    }
}

#[test]
fn compact_items_are_conversations_without_words() {
    let templates = Templates::built_in("compact").expect("built in");
    let config = SparkConfig { pairwise_share: 1.0, first_share: 1.0, ..SparkConfig::default() };
    let spark = Spark::new(config, templates).expect("valid");
    let recycled = spark.recycle(&[group(0, vec![right("2"), wrong("3")])], at(1), None);
    let said = |item: &TrainingItem| {
        let turns = item.turns.iter();
        let turns = turns.map(|turn| (turn.role.clone(), turn.content.clone()));
        turns.collect::<Vec<_>>()
    };
    let turn = |role: &str, content: &str| (role.to_owned(), content.to_owned());
    let [pair, again] = &recycled.items[..] else {
        panic!("a pair and a reflection");
    };
    let a = turn("assistant", "I reason. \\boxed{2}");
    let b = turn("assistant", "I reason. \\boxed{3}");
    let problem = turn("user", "problem 0");
    let expected = [problem.clone(), a, b.clone(), turn("pair", "")];
    assert_eq!(said(pair), expected);
    assert_eq!(pair.gold.as_deref(), Some("{\"winner\":\"A\"}"));
    assert_eq!(said(again), [problem, b, turn("again", "")]);
    assert_eq!((&*pair.scorer, &*again.scorer), ("reply", "math"));
}
