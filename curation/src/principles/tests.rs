use super::*;

fn stated(
    annotator: usize,
    principle: &str,
    verdict: PrincipleVerdict,
    evidence: &str,
) -> StatedPrinciple {
    StatedPrinciple {
        annotator,
        principle: principle.to_owned(),
        verdict,
        evidence: evidence.to_owned(),
    }
}

fn feedback() -> Vec<String> {
    [
        "Clear and correct, but far too long.",
        "The answer is right. It rambles.",
        "Correct result; hard to read!",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn words_not_in_the_feedback_are_no_evidence() {
    #[track_caller]
    fn check(principle: &str, evidence_of: &str, annotator: usize, kept: bool) {
        let stated = vec![stated(annotator, principle, PrincipleVerdict::Yes, evidence_of)];
        let found = with_evidence(stated, &feedback(), 60.0);
        assert_eq!(found.len(), usize::from(kept), "{evidence_of:?}: {found:?}");
    }
    check("correctness", "Clear and correct", 0, true);
    check("correctness", "clear and corect", 0, true);
    check("correctness", "The answer is right.", 0, false);
    check("correctness", "The answer is right.", 1, true);
    check("correctness", "", 0, false);
    check("correctness", " ", 0, false);
    check("", "Clear and correct", 0, false);
    // An annotator that there is not.
    check("correctness", "Clear and correct", 3, false);
}

#[test]
fn evidence_bound_is_exclusive() {
    // 2 · 3 / 10 = 60 per cent.
    let exact = || vec![stated(0, "p", PrincipleVerdict::Yes, "abc12")];
    let own = ["abcxyzabc98".to_owned()];
    let ratio = partial_ratio("abc12", &own[0]);
    assert_eq!(with_evidence(exact(), &own, ratio).len(), 0);
    assert_eq!(with_evidence(exact(), &own, ratio - 1e-6).len(), 1);
}

/// Principles whose texts are directions in the plane, in degrees.
fn placed(of: &[(usize, f64, PrincipleVerdict)]) -> (Vec<(StatedPrinciple, f64)>, Vec<Vec<f32>>) {
    let principle = |(annotator, degrees, verdict): &(usize, f64, PrincipleVerdict)| {
        let stated = stated(*annotator, &format!("p{degrees}"), *verdict, "e");
        let angle = degrees.to_radians();
        ((stated, 100.0), unit_vector(&[angle.cos(), angle.sin()]))
    };
    of.iter().map(principle).unzip()
}

fn names(found: &[SupportedPrinciple]) -> Vec<&str> {
    found.iter().map(|found| found.stated.principle.as_str()).collect()
}

#[test]
fn all_annotators_must_agree() {
    use PrincipleVerdict::{No, Yes};
    #[track_caller]
    fn check(of: &[(usize, f64, PrincipleVerdict)], n_annotators: usize, expected: &[&str]) {
        let (stated, vectors) = placed(of);
        // Cosines above 0.8 are angles below 36.87 degrees.
        let found = with_consensus(stated, vectors, n_annotators, 0.8);
        assert_eq!(names(&found), expected, "{of:?}");
    }
    check(&[(0, 0.0, Yes), (1, 30.0, No), (2, -30.0, Yes)], 3, &["p0"]);
    check(&[(0, 0.0, Yes), (1, 30.0, Yes), (2, 35.0, Yes)], 3, &["p0", "p30", "p35"]);
    check(&[(0, 0.0, Yes), (1, 30.0, Yes)], 3, &[]);
    check(&[(0, 0.0, Yes), (1, 37.0, Yes)], 2, &[]);
    check(&[(0, 0.0, Yes), (1, 36.0, Yes)], 2, &["p0", "p36"]);
    // Repeats of one annotator are no agreement.
    check(&[(0, 0.0, Yes), (0, 1.0, Yes)], 2, &[]);
    check(&[(0, 0.0, Yes)], 1, &[]);
    check(&[], 3, &[]);
}

#[test]
fn agreement_is_the_least_over_annotators() {
    use PrincipleVerdict::Yes;
    let (stated, vectors) =
        placed(&[(0, 0.0, Yes), (1, 10.0, Yes), (1, 80.0, Yes), (2, 20.0, Yes)]);
    let found = with_consensus(stated, vectors, 3, 0.8);
    assert!((found[0].agreement - 20f64.to_radians().cos()).abs() < 1e-6);
}

#[test]
fn principles_are_left_out_by_name_and_verdict() {
    use PrincipleVerdict::{No, Partially, Yes};
    let (stated, vectors) = placed(&[(0, 0.0, Yes), (1, 1.0, Partially), (0, 2.0, No)]);
    let found = with_consensus(stated, vectors, 2, 0.8);
    let left_out = [" P0! ".to_owned(), "helpfulness".to_owned()];
    assert_eq!(names(&without_named(found.clone(), &left_out)), ["p1", "p2"]);
    assert_eq!(names(&without_partial(found.clone())), ["p0", "p2"]);
    assert_eq!(names(&without_partial(without_named(found, &left_out))), ["p2"]);
}

#[test]
fn repeats_are_merged_and_disputes_dropped() {
    use PrincipleVerdict::{No, Yes};
    #[track_caller]
    fn check(of: &[(usize, f64, PrincipleVerdict)], agreed: &[&str], once: &[&str]) {
        let (stated, vectors) = placed(of);
        let found: Vec<SupportedPrinciple> = stated
            .into_iter()
            .zip(vectors)
            .map(|((stated, evidence_ratio), vector)| SupportedPrinciple {
                stated,
                evidence_ratio,
                vector,
                agreement: 1.0,
            })
            .collect();
        let left = without_contradictions(found.clone(), 0.8);
        assert_eq!(names(&left), agreed, "{of:?}");
        assert_eq!(names(&without_repeats(found, 0.8)), once, "{of:?}");
    }
    check(&[(0, 0.0, Yes), (1, 5.0, Yes), (2, 90.0, Yes)], &["p0", "p5", "p90"], &["p0", "p90"]);
    check(&[(0, 0.0, Yes), (1, 5.0, No), (2, 90.0, Yes)], &["p90"], &["p0", "p5", "p90"]);
    check(&[(0, 0.0, Yes), (1, 30.0, Yes), (2, 60.0, No)], &["p0"], &["p0", "p60"]);
    check(&[], &[], &[]);
}
