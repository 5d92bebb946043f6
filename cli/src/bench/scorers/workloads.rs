//! What is measured: for each workload a scorer, a head for its model, and inputs.

use ::models::tiny::TinyHead;
use serde_json::{Value, json};

/// One workload.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// What the scorer's model is read by.
    pub(super) head: TinyHead,
    /// The options of the scorer, without its name.
    pub(super) scorer: &'static str,
    /// So many inputs, other ones in every round.
    pub(super) inputs: fn(usize, u64) -> Vec<Value>,
}

/// Every workload.
pub(super) const WORKLOADS: &[Workload] = &[Workload {
    name: "reward",
    head: TinyHead::Sequence,
    scorer: "kind = 'reward'",
    inputs: solutions,
}];

/// Prompts with a worked solution each.
fn solutions(count: usize, round: u64) -> Vec<Value> {
    let each = (0..count).map(|n| {
        let (prompt, response) = worked(n, round);
        json!({ "prompt": prompt, "response": response })
    });
    each.collect()
}

/// A problem and its solution in four steps. No two are equal, and they differ early on.
fn worked(n: usize, round: u64) -> (String, String) {
    let (a, b) = (n + 3, usize::try_from(round).unwrap_or(0) * 7 + 11);
    let (sum, product) = (a + b, (a + b) * 4);
    let prompt = format!("{a}.{round} Ann has {a} cards, gets {b}, and pays 4 for each. How much?");
    let response = format!(
        "Ann starts with {a} cards.\n\nShe gets {b} more, so she has {a} + {b} = {sum}.\n\n\
         Each costs 4, so she pays {sum} * 4 = {product}.\n\nThe answer is \\boxed{{{product}}}."
    );
    (prompt, response)
}
