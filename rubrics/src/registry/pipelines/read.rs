//! A pipeline's own table, and what its parts must be together.

use super::part::{self, VARIANCES};
use crate::combine::Variance;
use crate::combine::ensemble::LAMBDA_BEST_OF_N;
use crate::combine::group::Normalisation;
use crate::config::Section;
use crate::pipeline::{Combine, OnError, PartSpec, Pipeline, Role};

/// Most parts of a pipeline.
const MAX_PARTS: usize = 64;

/// Keeps a standard deviation of almost 0 from making advantages of rounding; SPARK's (2509.22624).
const EPSILON: f64 = 1e-9;

/// Reads the pipeline and reports all problems at once.
pub(super) fn pipeline(section: &Section<'_, '_>) -> Option<Pipeline> {
    let combine = combine(section);
    let normalise = normalise(section);
    let tables = section.sections("part");
    if tables.is_empty() || tables.len() > MAX_PARTS {
        section.problem("part", format!("a pipeline has 1 to {MAX_PARTS} parts"));
        return None;
    }
    let last = tables.len() - 1;
    let read = |(index, table): (usize, Section<'_, '_>)| {
        let Some(combine) = combine else {
            // The other keys of a part depend on the invalid word; these do not.
            part::common(&table);
            return None;
        };
        let part = part::read_part(&table, combine, index == last);
        table.finish();
        part
    };
    let read: Vec<Option<PartSpec>> = tables.into_iter().enumerate().map(read).collect();
    let pipeline = Pipeline {
        combine: combine?,
        parts: read.into_iter().collect::<Option<_>>()?,
        normalise: normalise?,
    };
    for problem in problems(&pipeline) {
        section.problem("part", problem);
    }
    Some(pipeline)
}

fn combine(section: &Section<'_, '_>) -> Option<Combine> {
    let uwo = Combine::Uwo { lambda: LAMBDA_BEST_OF_N, variance: Variance::Population };
    let words = [
        ("weighted_sum", Combine::WeightedSum),
        ("mean", Combine::Mean),
        ("min", Combine::Min),
        ("wco", Combine::Min),
        ("uwo", uwo),
        ("product", Combine::Product),
        ("r1", Combine::R1),
        ("gate", Combine::Gate),
        ("g_ra", Combine::GRa),
        ("cascade", Combine::Cascade),
    ];
    match section.required_word("combine", &words)? {
        Combine::Uwo { lambda, variance } => {
            let lambda = section.number("lambda").unwrap_or(lambda);
            if lambda < 0.0 {
                section.problem("lambda", "below 0 it would reward disagreement");
            }
            let variance = section.word("variance", VARIANCES).unwrap_or(variance);
            Some(Combine::Uwo { lambda, variance })
        }
        word @ (Combine::WeightedSum
        | Combine::Mean
        | Combine::Min
        | Combine::Product
        | Combine::R1
        | Combine::Gate
        | Combine::GRa
        | Combine::Cascade) => Some(word),
    }
}

/// The normalisation; `None` if it is invalid.
#[expect(
    clippy::option_option,
    reason = "the outer one says whether it could be read, the inner one whether it is there"
)]
fn normalise(section: &Section<'_, '_>) -> Option<Option<Normalisation>> {
    if !section.has("normalise") {
        return Some(None);
    }
    let grpo = Normalisation::Grpo { variance: Variance::Unbiased, epsilon: EPSILON };
    let words = [
        ("grpo", grpo),
        ("mean", Normalisation::Mean),
        ("leave_one_out", Normalisation::LeaveOneOut),
    ];
    let normalise = section.word("normalise", &words)?;
    let Normalisation::Grpo { variance, epsilon } = normalise else {
        return Some(Some(normalise));
    };
    let epsilon = section.number("normalise_epsilon").unwrap_or(epsilon);
    if epsilon < 0.0 {
        section.problem("normalise_epsilon", "it is 0 or more");
    }
    let variance = section.word("normalise_variance", VARIANCES).unwrap_or(variance);
    Some(Some(Normalisation::Grpo { variance, epsilon }))
}

/// Returns the problems of the parts in combination.
fn problems(pipeline: &Pipeline) -> Vec<String> {
    let parts = &pipeline.parts;
    let mut problems = Vec::new();
    let skips = parts.iter().any(|part| part.on_error == OnError::Skip);
    let negative = parts.iter().any(|part| part.weight < 0.0);
    if skips && negative {
        let rule = "on_error = \"skip\" scales the other weights up, so none may be negative";
        problems.push(rule.to_owned());
    }
    let variance = match pipeline.combine {
        Combine::Uwo { variance, .. } => Some(variance),
        Combine::WeightedSum
        | Combine::Mean
        | Combine::Min
        | Combine::Product
        | Combine::R1
        | Combine::Gate
        | Combine::GRa
        | Combine::Cascade => None,
    };
    if variance == Some(Variance::Unbiased) && parts.len() < 2 {
        problems.push("an unbiased variance needs 2 parts".to_owned());
    }
    if pipeline.combine == Combine::R1 {
        problems.extend(role_problems(parts));
    }
    problems
}

fn role_problems(parts: &[PartSpec]) -> Vec<String> {
    let roles = [
        ("format", Role::Format),
        ("accuracy", Role::Accuracy),
        ("consistency", Role::Consistency),
    ];
    let problem = |(word, role): (&str, Role)| {
        let holders = parts.iter().filter(|part| part.role == Some(role)).count();
        (holders != 1).then(|| format!("{holders} parts have the role '{word}'; one must"))
    };
    roles.into_iter().filter_map(problem).collect()
}
