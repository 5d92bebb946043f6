//! Answers that are generated with their labels, by strata: a gold answer, a response that states the
//! same or a near miss, boxed or not, in ten languages.
//!
//! A label is true by construction, and checked by a second computation: both sides carry samples of
//! what they state (values, values at points, members, membership of points), and the label must be
//! whether these agree. `cargo xtask answers` prints the table of a new seed.

#![expect(clippy::cast_precision_loss, reason = "samples are of small whole numbers")]

mod endings;
mod random;
mod strata;
#[path = "../timing/mod.rs"]
mod timing;

use std::collections::BTreeMap;

use verifiers::extract::{self, AnswerPolicy, ExtractedTexts};
use verifiers::math::{Math, MathConfig};
use verifiers::{Candidate, Claim, Fuel, Gold, UnitScore, Verifier};

use self::random::Random;
use self::strata::{Pair, STRATA};

/// Counts of one stratum.
#[derive(Debug, Default, Clone)]
struct Counts {
    right: usize,
    wrong: usize,
    false_rejects: usize,
    false_accepts: usize,
    abstained: usize,
    examples: Vec<String>,
}

impl Counts {
    fn accuracy(&self) -> f64 {
        let all = (self.right + self.wrong).max(1);
        1.0 - (self.false_rejects + self.false_accepts) as f64 / all as f64
    }
}

/// Judgements of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Right,
    Wrong,
    Abstained,
}

fn judged(pair: &Pair, response: &str) -> Judgement {
    let found = extract::answer(response, &AnswerPolicy::default());
    let texts = found.map(|found| found.texts(response));
    let candidate = texts.as_ref().map_or(Candidate::Missing, ExtractedTexts::candidate);
    let claim = Claim {
        gold: Gold::Text(&pair.gold),
        candidate,
        response: Some(response),
        question: None,
        explain: false,
    };
    let config = MathConfig::named(pair.policy).expect("the policy has its name");
    match Math::new(config).verify(&claim, &mut Fuel::default()) {
        Ok(verdict) if verdict.score == UnitScore::ONE => Judgement::Right,
        Ok(_) => Judgement::Wrong,
        Err(_) => Judgement::Abstained,
    }
}

/// Returns the counts of `count` pairs by stratum.
fn table(seed: u64, count: usize) -> BTreeMap<&'static str, Counts> {
    let mut random = Random::new(seed);
    let mut table: BTreeMap<&str, Counts> = BTreeMap::new();
    for index in 0..count {
        let (name, make) = STRATA[index % STRATA.len()];
        let is_right = random.below(2) == 0;
        let pair = make(&mut random, is_right);
        assert_eq!(pair.samples_agree(), is_right, "{name}: {pair:?}");
        let response = endings::response(&pair, &mut random);
        let counts = table.entry(name).or_default();
        let judgement = judged(&pair, &response);
        if is_right {
            counts.right += 1;
            counts.false_rejects += usize::from(judgement != Judgement::Right);
        } else {
            counts.wrong += 1;
            counts.false_accepts += usize::from(judgement == Judgement::Right);
        }
        counts.abstained += usize::from(judgement == Judgement::Abstained);
        let is_judged_so = (judgement == Judgement::Right) == is_right;
        if !is_judged_so && counts.examples.len() < 4 {
            let sign = if is_right { '+' } else { '-' };
            counts
                .examples
                .push(format!("{sign} || {} || {response:?} ({judgement:?})", pair.gold));
        }
    }
    table
}

#[test]
fn generated_answers_are_judged_as_they_were_made() {
    const COUNT: usize = 1500;
    let table = table(20_260_101, COUNT);
    let mut misjudged = 0;
    for (name, counts) in &table {
        misjudged += counts.false_accepts + counts.false_rejects;
        assert_eq!(counts.false_accepts, 0, "{name}: {counts:#?}");
        assert!(counts.accuracy() >= 0.95, "{name}: {counts:#?}");
    }
    assert!(misjudged * 100 <= COUNT, "{misjudged} of {COUNT}: {table:#?}");
}

/// Prints the table of a seed that the clock gives: `cargo xtask answers`.
#[test]
#[ignore = "prints a table and asserts nothing"]
fn print_table() {
    const COUNT: usize = 10_000;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = now.map_or(1, |now| now.as_secs() ^ u64::from(now.subsec_nanos()) << 32);
    let table = table(seed, COUNT);
    println!("seed {seed}, {COUNT} pairs");
    println!("| stratum | right | false rejects | wrong | false accepts | abstained | accuracy |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut all = Counts::default();
    for (name, counts) in &table {
        let Counts { right, wrong, false_rejects, false_accepts, abstained, .. } = counts;
        let accuracy = 100.0 * counts.accuracy();
        println!(
            "| {name} | {right} | {false_rejects} | {wrong} | {false_accepts} | {abstained} | {accuracy:.1} % |"
        );
        all.right += right;
        all.wrong += wrong;
        all.false_rejects += false_rejects;
        all.false_accepts += false_accepts;
        all.abstained += abstained;
    }
    println!(
        "| all | {} | {} | {} | {} | {} | {:.2} % |",
        all.right,
        all.false_rejects,
        all.wrong,
        all.false_accepts,
        all.abstained,
        100.0 * all.accuracy()
    );
    for (name, counts) in &table {
        for example in &counts.examples {
            println!("{name}: {example}");
        }
    }
}

#[test]
#[ignore = "prints times for docs/performance.md"]
fn print_times() {
    let mut random = Random::new(20_260_102);
    let pairs: Vec<(Pair, String)> = (0..5_000)
        .map(|index| {
            let (_, make) = STRATA[index % STRATA.len()];
            let is_right = random.below(2) == 0;
            let pair = make(&mut random, is_right);
            let response = endings::response(&pair, &mut random);
            (pair, response)
        })
        .collect();
    timing::print("generated", pairs.len(), |index| {
        judged(&pairs[index].0, &pairs[index].1);
    });
}
