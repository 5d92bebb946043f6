//! Endings as models write them, boxed and not: each is extracted and judged by the default
//! configuration. The rows are in `endings/rows.txt`, by kind, right ones and near misses.

use std::collections::BTreeMap;

use verifiers::extract::{self, AnswerPolicy, ExtractedTexts};
use verifiers::math::Math;
use verifiers::{Candidate, Claim, Fuel, Gold, UnitScore, Verifier};

const ROWS: &str = include_str!("endings/rows.txt");

/// A line `kind || + or - || gold || response`; `\n` is a line break where a blank follows it.
struct Ending<'a> {
    kind: &'a str,
    is_right: bool,
    gold: &'a str,
    response: String,
}

fn ending(line: &str) -> Ending<'_> {
    let fields: Vec<&str> = line.splitn(4, " || ").collect();
    assert_eq!(fields.len(), 4, "{line:?}");
    let (kind, sign, gold, response) = (fields[0], fields[1], fields[2], fields[3]);
    assert!(matches!(sign, "+" | "-"), "{line:?}");
    let response = response.replace("\\n ", "\n");
    Ending { kind, is_right: sign == "+", gold, response }
}

fn is_accepted(ending: &Ending<'_>) -> bool {
    let found = extract::answer(&ending.response, &AnswerPolicy::default());
    let texts = found.map(|found| found.texts(&ending.response));
    let candidate = texts.as_ref().map_or(Candidate::Missing, ExtractedTexts::candidate);
    let claim = Claim { gold: Gold::Text(ending.gold), candidate, explain: false };
    let verdict = Math::default().verify(&claim, &mut Fuel::default());
    matches!(verdict, Ok(verdict) if verdict.score == UnitScore::ONE)
}

#[test]
fn endings_are_judged_as_labelled() {
    let lines = ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = Vec::new();
    let mut kinds: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for line in lines {
        let ending = ending(line);
        kinds.entry(ending.kind).or_default()[usize::from(ending.is_right)] += 1;
        if is_accepted(&ending) != ending.is_right {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{} of these are misjudged:\n{}", wrong.len(), wrong.join("\n"));
    // Every kind has right answers and near misses.
    assert!(kinds.values().all(|[near, right]| *near > 0 && *right > 0), "{kinds:?}");
}
