use std::sync::Arc;

use crate::config::Document;
use crate::registry::Registry;
use crate::{Input, ScoreOptions, evaluate_now};

/// Returns the label of each step under `options`, and the score if there is one.
fn evaluate_steps(options: &str, response: &str) -> (Vec<String>, Option<f64>) {
    let config = format!("[[scorer]]\nname = \"steps\"\nkind = \"arithmetic\"\n{options}\n");
    let document = Document::new("t.toml", &config);
    let table = document.parse();
    let registry = Registry::read(&document.root(&table), &[]);
    assert!(document.into_problems().is_empty(), "{config}");
    let scorer = registry.get("steps").expect("it is configured");
    let input = Arc::new(Input::of(response.to_owned()));
    let outcome = evaluate_now(scorer, &input, &ScoreOptions::default());
    let (evidence, score) = match outcome {
        Ok(reward) => (reward.evidence, Some(reward.score)),
        Err(failure) => (failure.evidence, None),
    };
    let steps = evidence.steps.unwrap_or_default();
    let labels = steps.iter().map(|step| step.label.to_string());
    (labels.collect(), score)
}

fn check(options: &str, response: &str, labels: &[&str], score: Option<f64>) {
    let labels = labels.iter().map(ToString::to_string).collect();
    assert_eq!(evaluate_steps(options, response), (labels, score), "{response}");
}

#[test]
fn symbolic_claims_join_arithmetic_ones() {
    let chain = "$2(x+1) = 2x + 2 = 2x + 3$";
    check("", chain, &["unchecked"], None);
    check("symbolic = true", chain, &["wrong"], Some(0.0));
    check("symbolic = true", "$2(x+1) = 2x + 2$", &["right"], Some(1.0));
    check("symbolic = true", "2 + 2 = 4\n$2(x+1) = 2x + 2$", &["right", "right"], Some(1.0));
    check("symbolic = true", "2 + 2 = 5\n$2(x+1) = 2x + 2$", &["wrong", "right"], Some(0.0));
    check("symbolic = true", "Let $x = 3$.", &["unchecked"], None);
}
