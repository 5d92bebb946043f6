//! From the labels' numbers to an answer. Pure, in f64.

use base::stats::{max, softmax_with_temperature};
use std::sync::Arc;

use super::calibration::Calibrations;
use super::question::{Question, QuestionKind};
use base::stats::sigmoid;

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionAnswer {
    /// The verdict.
    pub verdict: DecisionVerdict,
    /// Probability of each alternative in order (for a predicate Yes, then No); they sum to 1.
    pub probabilities: Vec<f64>,
    /// The probability that all labels hold together at the answer position, before any
    /// calibration. Far below 1, the model would continue with something else.
    pub label_mass: f64,
    /// Logit of each label in order, or, if labels were scored as continuations, the sum of
    /// its tokens' log-probabilities.
    pub logits: Vec<f64>,
    /// Method of reading the labels.
    pub method: Method,
    /// The calibration that was applied.
    pub calibration: Option<Arc<str>>,
    /// The prompt that was read.
    pub prompt_token_ids: Arc<[u32]>,
    /// The token of each label, where each is one.
    pub label_token_ids: Option<Arc<[u32]>>,
}

/// The verdict of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DecisionVerdict {
    /// Yes or no.
    Predicate {
        /// Probability of Yes.
        probability: f64,
    },
    /// One of the options.
    Choice {
        /// The likeliest; the earliest of several.
        option: usize,
        /// From 0 for a uniform distribution to 1 for a certain one.
        confidence: f64,
    },
    /// A place on the scale.
    Score {
        /// The expected level.
        value: f64,
        /// From 0 for a distribution as wide as the uniform one to 1 for a certain one.
        confidence: f64,
    },
}

/// Method of reading labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Each label is one token: its logit at the answer position.
    Labels,
    /// Each label with the end of the turn is a continuation of its own: the sum of
    /// log-probabilities.
    Continuations,
}

/// Label scores of a question, all finite.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LabelScores {
    /// Logit or log-probability of each label.
    pub(super) scores: Vec<f64>,
    /// Subtrahend that turns a score into a log-probability.
    pub(super) normalizer: f64,
}

/// Verdict, probabilities and the name of the calibration that was applied.
pub(super) fn decide_answer(
    question: &Question,
    read: &LabelScores,
    calibrations: Option<&Calibrations>,
) -> (DecisionVerdict, Vec<f64>, Option<Arc<str>>) {
    let name = |used: bool| calibrations.filter(|_| used).map(|all| all.name.clone());
    let spread = |temperature: Option<super::Temperature>| {
        softmax_with_temperature(&read.scores, temperature.map_or(1.0, super::Temperature::value))
    };
    match &question.kind {
        QuestionKind::Predicate { .. } => {
            let map = calibrations.and_then(|all| all.predicate.as_ref());
            let margin = read.scores[0] - read.scores[1];
            let probability = map.map_or_else(|| sigmoid(margin), |map| map.apply(margin));
            let verdict = DecisionVerdict::Predicate { probability };
            (verdict, vec![probability, 1.0 - probability], name(map.is_some()))
        }
        QuestionKind::Choice { .. } => {
            let temperature = calibrations.and_then(|all| all.choice);
            let probabilities = spread(temperature);
            let option = top(&probabilities);
            let confidence = choice_confidence(&probabilities);
            let verdict = DecisionVerdict::Choice { option, confidence };
            (verdict, probabilities, name(temperature.is_some()))
        }
        QuestionKind::Score { .. } => {
            let temperature = calibrations.and_then(|all| all.score);
            let probabilities = spread(temperature);
            let value = levels().zip(&probabilities).map(|(k, p)| k * p).sum();
            let confidence = score_confidence(&probabilities);
            let verdict = DecisionVerdict::Score { value, confidence };
            (verdict, probabilities, name(temperature.is_some()))
        }
    }
}

impl LabelScores {
    /// The probability that all labels hold together.
    pub(super) fn mass(&self) -> f64 {
        let top = max(&self.scores);
        let sum: f64 = self.scores.iter().map(|z| (z - top).exp()).sum();
        // Each part was rounded to f32, so that the sum may exceed 1.
        (top + sum.ln() - self.normalizer).exp().min(1.0)
    }
}

/// The place of the largest; the earliest of several.
fn top(values: &[f64]) -> usize {
    base::stats::argmax(values).expect("a question has alternatives")
}

/// 0, 1, 2, …
fn levels() -> impl Iterator<Item = f64> {
    (0_u32..).map(f64::from)
}

#[expect(clippy::cast_precision_loss, reason = "a question has at most some hundred alternatives")]
fn count(probabilities: &[f64]) -> f64 {
    probabilities.len() as f64
}

/// Returns the excess of the likeliest option over chance: `(K p_max - 1) / (K - 1)`.
fn choice_confidence(probabilities: &[f64]) -> f64 {
    let k = count(probabilities);
    ((k * max(probabilities) - 1.0) / (k - 1.0)).clamp(0.0, 1.0)
}

/// One less the mean distance from the likeliest level, in units of the mean distance that a
/// uniform distribution has from the middle of the scale; not below 0.
fn score_confidence(probabilities: &[f64]) -> f64 {
    let k = count(probabilities);
    let (_, mode) = probabilities
        .iter()
        .zip(levels())
        .nth(top(probabilities))
        .expect("the place of one of them");
    let distances = levels().map(|level| (level - mode).abs());
    let spread: f64 = distances.zip(probabilities).map(|(d, p)| d * p).sum();
    let middle = (k - 1.0) / 2.0;
    let around = levels().take(probabilities.len());
    let uniform = around.map(|level| (level - middle).abs()).sum::<f64>() / k;
    (1.0 - spread / uniform).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Alternative, Calibration, Temperature};
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    fn question(kind: &str, n: usize) -> Question {
        let alternatives = (0..n).map(|at| Alternative::named(format!("{at}"))).collect();
        let kind = match kind {
            "choice" => QuestionKind::Choice { options: alternatives },
            "score" => QuestionKind::Score { levels: alternatives },
            _ => QuestionKind::Predicate { yes: None, no: None },
        };
        Question { instructions: "?".to_owned(), kind }
    }

    fn read(scores: &[f64], normalizer: f64) -> LabelScores {
        LabelScores { scores: scores.to_vec(), normalizer }
    }

    fn logs(probabilities: &[f64]) -> LabelScores {
        let scores: Vec<f64> = probabilities.iter().map(|p| p.ln()).collect();
        read(&scores, 0.0)
    }

    #[test]
    fn choices() {
        let check = |scores: &[f64], option: usize, confidence: f64| {
            let (verdict, _, _) =
                decide_answer(&question("choice", scores.len()), &logs(scores), None);
            let DecisionVerdict::Choice { option: found, confidence: sure } = verdict else {
                unreachable!("a choice was requested")
            };
            assert_eq!(found, option, "{scores:?}");
            assert!(close(sure, confidence), "{scores:?}: {sure}");
        };
        check(&[0.25, 0.75], 1, 0.5);
        check(&[0.5, 0.5], 0, 0.0);
        check(&[0.2, 0.4, 0.4], 1, 0.1);
        check(&[1.0, 1e-300], 0, 1.0);
        check(&[0.7, 0.1, 0.1, 0.1], 0, 0.6);
    }

    #[test]
    fn scores() {
        let check = |scores: &[f64], value: f64, confidence: f64| {
            let (verdict, _, _) =
                decide_answer(&question("score", scores.len()), &logs(scores), None);
            let DecisionVerdict::Score { value: found, confidence: sure } = verdict else {
                unreachable!("a score was requested")
            };
            assert!(close(found, value), "{scores:?}: {found}");
            assert!(close(sure, confidence), "{scores:?}: {sure}");
        };
        check(&[0.25, 0.75], 0.75, 0.5);
        check(&[0.5, 0.5], 0.5, 0.0);
        check(&[0.25, 0.5, 0.25], 1.0, 0.25);
        check(&[1e-300, 1.0, 1e-300], 1.0, 1.0);
        check(&[0.5, 1e-300, 0.5], 1.0, 0.0);
    }

    #[test]
    fn calibrations_are_applied_and_named() {
        let calibrations = Calibrations {
            name: "fit".into(),
            predicate: Some(Calibration::Platt { a: 2.0, b: 1.0 }),
            choice: Temperature::new(2.0),
            score: None,
        };
        let (_, p, name) =
            decide_answer(&question("predicate", 0), &read(&[0.5, 0.0], 3.0), Some(&calibrations));
        assert!(close(p[0], sigmoid(2.0)), "{p:?}");
        assert_eq!(name.as_deref(), Some("fit"));
        let (_, p, name) =
            decide_answer(&question("choice", 2), &read(&[3.0, 1.0], 3.0), Some(&calibrations));
        assert!(close(p[0], sigmoid(1.0)), "{p:?}");
        assert_eq!(name.as_deref(), Some("fit"));
        let (_, p, name) =
            decide_answer(&question("score", 2), &read(&[3.0, 1.0], 3.0), Some(&calibrations));
        assert!(close(p[0], sigmoid(2.0)), "{p:?}");
        assert_eq!(name, None, "a score has no calibration here");
    }

    #[test]
    fn label_mass_is_the_sum_of_label_probabilities() {
        assert!(close(logs(&[0.25, 0.125]).mass(), 0.375));
        assert!(close(read(&[1000.0, 1000.0], 1002.0).mass(), 2.0 * (-2.0_f64).exp()));
        assert!(close(read(&[1.0, -1e4], 1.0 - 1e-9).mass(), 1.0));
    }

    proptest! {
        #[test]
        fn probabilities_sum_to_one(scores in proptest::collection::vec(-900_i32..900, 2..255)) {
            let scores: Vec<f64> = scores.into_iter().map(f64::from).collect();
            let read = read(&scores, 0.0);
            for kind in ["choice", "score", "predicate"] {
                let (verdict, p, _) = decide_answer(&question(kind, scores.len()), &read, None);
                prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                let sure = match verdict {
                    DecisionVerdict::Predicate { probability } => probability,
                    DecisionVerdict::Choice { confidence, .. }
                    | DecisionVerdict::Score { confidence, .. } => confidence,
                };
                prop_assert!((0.0..=1.0).contains(&sure), "{sure}");
            }
        }
    }
}
