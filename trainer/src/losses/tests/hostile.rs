//! Non-finite numbers, lists that do not fit, and invalid options.

use proptest::prelude::*;

use super::gradients::batches;
use super::{Batch, LIMITS, objective};
use crate::losses::aggregate::{Denominators, Streams};
use crate::losses::correction::M2po;
use crate::losses::kl::{Estimator, Kl, penalties};
use crate::losses::layout::{Layout, Stream};
use crate::losses::policy::{credit, token_reward_loss};
use crate::losses::preference::weights::{confidence, wpo};
use crate::losses::preference::{
    BradleyTerry, Contrastive, DirectPreference, Pairs, PreferredResponses, plackett_luce,
    score_difference,
};
use crate::losses::process::{binary, progress, two_class};
use crate::losses::{FormulaError, Loss, Objective};

const NOT_NUMBERS: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

fn evaluate(batch: &Batch, objective: &Objective) -> Result<Loss, FormulaError> {
    let denominators = Denominators::of(&batch.layout(), &Streams::default(), LIMITS)?;
    objective.evaluate(&batch.tokens(), &denominators)
}

/// Two sequences with every list.
fn whole() -> Batch {
    let list = |value: f64| vec![value; 4];
    Batch {
        cu_seqlens: vec![0, 2, 4],
        mask: vec![true; 4],
        positive: Some(vec![true, false]),
        logp: list(-1.0),
        old_logprobs: list(-1.1),
        rollout_logprobs: Some(list(-0.9)),
        reference: Some(list(-1.2)),
        advantages: list(0.5),
        factors: Some(list(1.0)),
        entropies: Some(list(0.3)),
        credit: Some(list(0.6)),
        ..Batch::default()
    }
}

type List = fn(&mut Batch) -> &mut Vec<f64>;

const LISTS: [(&str, List); 8] = [
    ("log-probability", |batch| &mut batch.logp),
    ("old log-probability", |batch| &mut batch.old_logprobs),
    ("rollout log-probability", |batch| batch.rollout_logprobs.as_mut().expect("given")),
    ("reference log-probability", |batch| batch.reference.as_mut().expect("given")),
    ("advantage", |batch| &mut batch.advantages),
    ("factor", |batch| batch.factors.as_mut().expect("given")),
    ("entropy", |batch| batch.entropies.as_mut().expect("given")),
    ("credit", |batch| batch.credit.as_mut().expect("given")),
];

#[test]
fn non_finite_number_is_named_with_its_index() {
    for (what, list) in LISTS {
        for bad in NOT_NUMBERS {
            let mut batch = whole();
            list(&mut batch)[2] = bad;
            let expected = FormulaError::NotFinite { what, index: 2 };
            assert_eq!(evaluate(&batch, &Objective::default()), Err(expected));
            // An uncounted token is not read.
            batch.mask[2] = false;
            assert!(evaluate(&batch, &Objective::default()).is_ok(), "{what}");
        }
    }
}

#[test]
fn lists_of_another_length_are_refused() {
    for (what, list) in LISTS {
        let mut batch = whole();
        list(&mut batch).pop();
        let (given, expected) = (3, 4);
        let error = FormulaError::Length { what, given, expected };
        assert_eq!(evaluate(&batch, &Objective::default()), Err(error));
    }
}

#[test]
fn sequences_that_do_not_fit_are_refused() {
    for cu_seqlens in [vec![], vec![0], vec![0, 3], vec![1, 4], vec![0, 3, 2, 4], vec![0, 5]] {
        let batch = Batch { cu_seqlens, positive: None, ..whole() };
        let error = evaluate(&batch, &Objective::default());
        assert!(matches!(error, Err(FormulaError::Boundaries { .. })), "{error:?}");
    }
    let streams = Some(vec![Stream::Policy]);
    let error = evaluate(&Batch { streams, ..whole() }, &Objective::default());
    assert!(matches!(error, Err(FormulaError::Length { what: "streams", .. })));
}

#[test]
fn given_tokens_read_no_advantage() {
    let mut batch = whole();
    batch.streams = Some(vec![Stream::Policy, Stream::Ce]);
    batch.old_logprobs[3] = f64::NAN;
    batch.advantages[3] = f64::NAN;
    let unbiased = "kl = { weight = 1.0, estimator = 'unbiased' }";
    assert!(evaluate(&batch, &objective(unbiased)).is_ok());
    batch.streams = Some(vec![Stream::Policy, Stream::RefKl]);
    assert!(evaluate(&batch, &objective(unbiased)).is_ok());
}

#[test]
fn missing_inputs_of_a_method_are_errors() {
    let bare = || Batch {
        rollout_logprobs: None,
        reference: None,
        factors: None,
        entropies: None,
        credit: None,
        positive: None,
        ..whole()
    };
    for text in [
        "policy = { kind = 'decoupled_ppo' }",
        "policy = { kind = 'oreal' }",
        "policy = { kind = 'oreal', credit = 'even' }",
        "kl = { weight = 0.1 }",
        "entropy = 0.1",
        "correction = { kind = 'tis' }",
        "correction = { kind = 'opsm', delta = 0.5 }",
    ] {
        let error = evaluate(&bare(), &objective(text));
        assert!(matches!(error, Err(FormulaError::Missing { .. })), "{text}: {error:?}");
    }
    let no_mask = Batch { factors: None, ..whole() };
    let error = evaluate(&no_mask, &objective("correction = { kind = 'm2po' }"));
    assert!(matches!(error, Err(FormulaError::Missing { method: "m2po", .. })));
    let tokens = bare();
    assert!(M2po::default().keep(&tokens.tokens()).is_err());
}

#[test]
fn oreal_divides_by_tokens_of_its_sign() {
    let batch = whole();
    let unsigned = Layout { positive: None, ..batch.layout() };
    let denominators =
        Denominators::of(&unsigned, &Streams::default(), LIMITS).expect("a good layout");
    let oreal = objective("policy = { kind = 'oreal' }");
    let what = "tokens of one sign";
    let error = oreal.evaluate(&batch.tokens(), &denominators);
    assert_eq!(error, Err(FormulaError::Denominator { what }));
}

#[test]
fn credit_is_a_probability() {
    let mut batch = whole();
    batch.credit.as_mut().expect("given")[3] = 1.5;
    let error = evaluate(&batch, &objective("policy = { kind = 'oreal' }"));
    let (what, index, range) = ("credit", 3, "from 0 to 1");
    assert_eq!(error, Err(FormulaError::OutOfRange { what, index, range }));
}

#[test]
fn results_that_overflow_are_errors() {
    let mut batch = whole();
    batch.advantages.fill(f64::MAX);
    batch.logp.fill(-1e300);
    let error = evaluate(&batch, &objective("policy = { kind = 'reinforce' }"));
    assert!(matches!(error, Err(FormulaError::Overflow { .. })), "{error:?}");
}

#[test]
fn invalid_options_are_refused() {
    for text in [
        "policy = { kind = 'ppo', low = -0.1 }",
        "policy = { kind = 'ppo', low = 1.1 }",
        "policy = { kind = 'ppo', high = nan }",
        "policy = { kind = 'ppo', ratio_cap = 1.1 }",
        "policy = { kind = 'ppo', dual_clip = 1.0 }",
        "policy = { kind = 'cispo_trl', high = 0.5 }",
        "policy = { kind = 'cispo_verl', low = -0.5 }",
        "policy = { kind = 'aipo', cap = inf }",
        "policy = { kind = 'sapo', positive = 0.0 }",
        "policy = { kind = 'dppo', high = 2.0 }",
        "policy = { kind = 'dppo', kl_weight = -1.0 }",
        "policy = { kind = 'oreal', negative_factor = -1.0 }",
        "policy = { kind = 'oreal', credit = { threshold = { at = 1.0 } } }",
        "policy = { kind = 'oreal', credit = { top_share = { share = 2.0 } } }",
        "policy = { kind = 'stable_reinforce', least_ratio = 0.0 }",
        "policy = { kind = 'stable_reinforce', most_ratio = 1.0 }",
        "policy = { kind = 'decoupled_ppo', weight_cap = 0.5 }",
        "kl = { weight = -1.0 }",
        "entropy = nan",
        "correction = { kind = 'tis', cap = 0.0 }",
        "correction = { kind = 'ice_pop', low = 1.5 }",
        "correction = { kind = 'geometric_mask', high = 0.5 }",
        "correction = { kind = 'opsm', delta = 0.0 }",
        "correction = { kind = 'm2po', bound = 0.0 }",
        "policy = { kind = 'aipo' }\ncorrection = { kind = 'tis' }",
        "policy = { kind = 'decoupled_ppo' }\ncorrection = { kind = 'ice_pop' }",
    ] {
        let objective = objective(text);
        assert!(matches!(objective.check(), Err(FormulaError::Setting { .. })), "{text}");
        assert!(evaluate(&whole(), &objective).is_err(), "{text}");
    }
}

#[test]
fn unknown_and_missing_keys_are_refused() {
    for text in [
        "policy = { kind = 'pppo' }",
        "policy = { low = 0.2 }",
        "policy = { kind = 'reinforce', low = 0.2 }",
        "policy = { kind = 'dapo', ratio_cap = 3.0 }",
        "policy = { kind = 'oreal', credit = { threshold = { at = 0.5, by = 1 } } }",
        "kl = { estimator = 'k3' }",
        "kl = { weight = 1.0, beta = 1.0 }",
        "correction = { kind = 'opsm' }",
        "correction = { kind = 'tis', low = 0.5 }",
        "aggregation = 'mean'",
        "clip = 0.2",
    ] {
        assert!(toml::from_str::<Objective>(text).is_err(), "{text}");
    }
    for text in ["kind = 'dpo'\nflips = 0.1", "kind = 'robust'", "kind = 'ipo'\nsmoothing = 0.1"] {
        assert!(toml::from_str::<DirectPreference>(text).is_err(), "{text}");
    }
}

#[test]
fn objectives_round_trip_through_toml() {
    for text in [
        "",
        "policy = { kind = 'oreal', credit = 'even' }\nentropy = 0.5",
        "policy = { kind = 'decoupled_ppo', level = 'sequence' }\naggregation = 'bnpo'",
        "kl = { weight = 1e-3 }\ncorrection = { kind = 'opsm', delta = 0.5 }",
    ] {
        let objective = objective(text);
        let written = toml::to_string(&objective).expect("it can be written");
        assert_eq!(toml::from_str(&written).as_ref(), Ok(&objective), "{written}");
    }
}

#[test]
fn non_finite_scores_are_refused() {
    for bad in NOT_NUMBERS {
        let (good, list) = ([0.0, 1.0], [0.5, bad]);
        let pairs = Pairs::new(&good, &list);
        assert!(BradleyTerry::default().evaluate(&pairs, 2).is_err());
        let pairs = Pairs { margins: Some(&list), ..Pairs::new(&good, &good) };
        assert!(BradleyTerry::default().evaluate(&pairs, 2).is_err());
        assert!(plackett_luce(&list, &[0, 2], 1).is_err());
        assert!(score_difference(&list, &[0, 2], 1).is_err());
        assert!(Contrastive::default().evaluate(1, &list, &good).is_err());
        assert!(Contrastive::default().evaluate(1, &good, &list).is_err());
        assert!(binary(&list, &[Some(1.0); 2], 2).is_err());
        assert!(binary(&list, &[Some(1.0), None], 1).is_ok());
        assert!(binary(&good, &[Some(bad); 2], 2).is_err());
        assert!(two_class(&[list], &[Some(1.0)], 1).is_err());
        assert!(progress(&list, &[0, 2], &[1.0], 1).is_err());
        assert!(progress(&good, &[0, 2], &[bad], 1).is_err());
        assert!(credit(&list, &[0, 2]).is_err());
        assert!(token_reward_loss(&list, &[0, 2], &[true], 1).is_err());
        assert!(wpo(&list, &good).is_err());
        assert!(confidence(bad).is_err());
        let kl = Kl { weight: 1.0, estimator: Estimator::K3 };
        assert!(penalties(&kl, &list, &good).is_err());
    }
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let two = [0.0, 1.0];
    assert!(BradleyTerry::default().evaluate(&Pairs::new(&two, &two), 1).is_err());
    assert!(BradleyTerry::default().evaluate(&Pairs::new(&two, &two[..1]), 2).is_err());
    assert!(plackett_luce(&two, &[0, 1, 2], 1).is_err());
    assert!(plackett_luce(&two, &[0, 1], 1).is_err());
    assert!(score_difference(&two, &[0, 1, 2], 1).is_err());
    assert!(score_difference(&two, &[0, 1], 1).is_err());
    assert!(Contrastive::default().evaluate(2, &two, &two[..1]).is_err());
    assert!(Contrastive::default().evaluate(3, &two, &two).is_err());
    for wrong in [
        Contrastive { dropout: 1.0, ..Contrastive::default() },
        Contrastive { temperature: 0.0, ..Contrastive::default() },
        Contrastive { weight: f64::NAN, ..Contrastive::default() },
    ] {
        assert!(wrong.evaluate(1, &two, &two).is_err(), "{wrong:?}");
    }
    assert!(binary(&two, &[Some(1.0)], 2).is_err());
    assert!(binary(&two, &[Some(1.0); 2], 1).is_err());
    assert!(progress(&two, &[0, 2], &[1.0, 1.0], 2).is_err());
    assert!(token_reward_loss(&two, &[0, 2, 2], &[true, true], 2).is_err());
    assert!(token_reward_loss(&two, &[0, 1, 2], &[true, true], 1).is_err());
    let mask = [true, false];
    for cu_seqlens in [[0, 1, 2].as_slice(), &[0, 2]] {
        let responses = PreferredResponses {
            layout: Layout::new(cu_seqlens, &mask),
            logp: &two,
            reference: None,
            weights: None,
            labels: None,
            margins: None,
        };
        assert!(DirectPreference::default().evaluate(&responses, 1).is_err());
    }
}

#[test]
fn empty_batches_have_no_loss() {
    let empty = Batch { cu_seqlens: vec![0], ..Batch::default() };
    let loss = evaluate(&empty, &Objective::default()).expect("an empty batch is one");
    assert_eq!((loss.value, loss.grad.len()), (0.0, 0));
    let filtered = Batch { mask: vec![false; 4], ..whole() };
    let loss = evaluate(&filtered, &Objective::default()).expect("all of it was filtered");
    assert_eq!((loss.value, loss.grad), (0.0, vec![0.0; 4]));
    assert_eq!(loss.stats.iter().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// For any log-probabilities the result is finite or an error.
    #[test]
    fn results_are_finite_or_errors(
        mut batch in batches(),
        absurd in prop::sample::select(vec![-1e308, -1e6, -800.0, -50.0, 50.0, 800.0, 1e308]),
        list in 0_usize..LISTS.len(),
    ) {
        let (_, list) = LISTS[list];
        list(&mut batch)[0] = absurd;
        for kind in [
            "reinforce", "ppo", "gspo", "cispo_trl", "sapo", "dppo", "aipo", "oreal",
            "stable_reinforce", "decoupled_ppo",
        ] {
            for kl in ["k1", "k2", "k3", "k3_plus", "unbiased"] {
                let text = format!(
                    "policy = {{ kind = '{kind}' }}\nkl = {{ weight = 1.0, estimator = '{kl}' }}"
                );
                if let Ok(loss) = evaluate(&batch, &objective(&text)) {
                    prop_assert!(loss.value.is_finite());
                    prop_assert!(loss.grad.iter().all(|slope| slope.is_finite()));
                }
            }
        }
    }
}
