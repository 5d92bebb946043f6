//! The workloads: each a scorer, a head for its model, and inputs.

use serde_json::{Value, json};
use tiny_models::TinyHead;

/// One workload.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// The head of the scorer's model.
    pub(super) head: TinyHead,
    /// The options of the scorer, without its name.
    pub(super) scorer: &'static str,
    /// Whether the model generates. A random model generates noise that rarely ends by itself, so cut or
    /// unreadable texts are expected; only their cost is measured.
    pub(super) writes: bool,
    /// Makes that many inputs, different ones in every round.
    pub(super) inputs: fn(usize, u64) -> Vec<Value>,
}

/// All workloads. Labels have almost no probability in a random model, so `min_label_mass` is 0.
pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "reward",
        head: TinyHead::Sequence,
        scorer: "kind = 'reward'",
        writes: false,
        inputs: solutions,
    },
    Workload {
        name: "process",
        head: TinyHead::Process,
        scorer: "kind = 'process'",
        writes: false,
        inputs: solutions,
    },
    Workload {
        name: "principles",
        head: TinyHead::Vocab,
        scorer: "kind = 'principles'
                 principles = ['accurate', 'complete', 'concise', 'It ends with a number.']
                 template_role = 'prompt'
                 min_label_mass = 0",
        writes: false,
        inputs: solutions,
    },
    Workload {
        name: "rubric",
        head: TinyHead::Vocab,
        scorer: "kind = 'rubric'
                 min_label_mass = 0
                 [scorer.rubric]
                 items = [{ criterion = 'It states the sum.', points = 3 },
                          { criterion = 'It states the price.', points = 3 },
                          { criterion = 'It explains every step.', points = 2 },
                          { criterion = 'It praises itself.', points = -2 }]",
        writes: false,
        inputs: solutions,
    },
    Workload {
        name: "judge",
        head: TinyHead::Vocab,
        scorer: "kind = 'judge'
                 rationale = 'none'
                 min_label_mass = 0",
        writes: false,
        inputs: solutions,
    },
    Workload {
        name: "critic",
        head: TinyHead::Vocab,
        scorer: "kind = 'critic'
                 mode = 'capo'
                 max_tokens = 32",
        writes: true,
        inputs: solutions,
    },
    Workload {
        name: "tool",
        head: TinyHead::Vocab,
        scorer: "kind = 'tool'
                 max_tokens = 32",
        writes: true,
        inputs: solutions,
    },
];

/// Prompts with a worked solution each, and the right answer.
fn solutions(count: usize, round: u64) -> Vec<Value> {
    let each = (0..count).map(|n| {
        let (a, b) = (n + 3, usize::try_from(round).unwrap_or(0) * 7 + 11);
        let (sum, product) = (a + b, (a + b) * 4);
        // No two are equal, and they differ early on.
        let prompt =
            format!("{a}.{round} Ann has {a} cards, gets {b}, and pays 4 for each. How much?");
        let response = format!(
            "Ann starts with {a} cards.\n\nShe gets {b} more, so she has {a} + {b} = {sum}.\n\n\
             Each costs 4, so she pays {sum} * 4 = {product}.\n\n\
             The answer is \\boxed{{{product}}}."
        );
        json!({ "prompt": prompt, "response": response, "reference": product.to_string() })
    });
    each.collect()
}
