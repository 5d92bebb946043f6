//! Any two answers, the first line against the rest: a verdict comes within fuel, the same one each
//! time, and explaining it changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use verifiers::math::Math;
use verifiers::{Candidate, Claim, Gold, Verifier};

mod budget;

fuzz_target!(|text: &str| {
    let (gold, candidate) = text.split_once('\n').unwrap_or((text, "1"));
    let judge = |explain| {
        let claim = Claim {
            gold: Gold::Text(gold),
            candidate: Candidate::Text(candidate),
            response: None,
            question: None,
            explain,
        };
        let mut fuel = budget::of(text);
        let verdict = Math::default().verify(&claim, &mut fuel);
        let score = verdict.map(|verdict| (verdict.score, verdict.label, verdict.reason.code));
        (score.map_err(|error| error.to_string()), fuel.used())
    };
    assert_eq!(judge(false), judge(true));
});
