//! Generations constrained to a JSON schema, and the same ones without a constraint.

use engine::sampling::{Constraint, Grammar, Vocabulary};
use engine::{SamplingParams, Tokenizer};
use serde::Serialize;
use serde_json::json;

use super::BenchEngineArgs;
use super::decode::{DecodeSizes, Generated, generate, need_vocabulary};
use super::figures::{Counts, FigureRow, Figures, float, median};
use super::subject::Subject;
use scoring::error::RunError;

/// Figures of the workload.
#[derive(Debug, Serialize)]
pub(super) struct Constrained {
    sequences: usize,
    new_tokens: usize,
    /// Vocabulary size of the tokenizer, over which masks are computed.
    tokenizer_tokens: usize,
    #[serde(flatten)]
    tokens: Counts,
    free_tokens_per_s: f64,
    schema_tokens_per_s: f64,
    /// Slowdown of a step under the constraint, in per cent.
    slower_percent: f64,
    /// Whether the schema allows every generated token.
    allowed: bool,
}

/// The schema of a judgement, whose text is so long that no generation ends early.
fn schema() -> Grammar {
    Grammar::JsonSchema(json!({
        "type": "object",
        "properties": {
            "critique": {"type": "string", "minLength": 400},
            "score": {"type": "integer", "minimum": 1, "maximum": 10},
        },
        "required": ["critique", "score"],
        "additionalProperties": false,
    }))
}

impl Constrained {
    /// Runs the workload.
    pub(super) fn measure(args: &BenchEngineArgs, subject: &mut Subject) -> Result<Self, RunError> {
        need_vocabulary(subject)?;
        let failed = |error: &dyn std::fmt::Display| RunError::Failed(error.to_string());
        let tokenizer = Tokenizer::load(&args.model).map_err(|error| failed(&error))?;
        let vocab_size = subject.loaded.model.config.vocab_size;
        let vocabulary = Vocabulary::new(&tokenizer, vocab_size).map_err(|error| failed(&error))?;
        let constraint = vocabulary.compile(&schema()).map_err(|error| failed(&error))?;
        let shape = DecodeSizes::new(args.short);
        let prompts = shape.prompts(subject);
        let (mut free, mut constrained) = (Vec::new(), Vec::new());
        for _ in 0..args.rounds {
            free.push(generate(subject, shape, &prompts, |_| SamplingParams::default())?);
            constrained.push(generate(subject, shape, &prompts, |_| SamplingParams {
                constraint: Some(constraint.fork()),
                ..SamplingParams::default()
            })?);
        }
        let seconds = |rounds: &[Generated]| {
            let all: Vec<f64> = rounds.iter().map(|round| round.seconds).collect();
            median(&all)
        };
        let decoded = float(shape.decoded_tokens());
        let (free_s, constrained_s) = (seconds(&free), seconds(&constrained));
        let ran = &constrained[0].ran;
        Ok(Self {
            sequences: shape.sequences,
            new_tokens: shape.new_tokens,
            tokenizer_tokens: tokenizer.vocab_size(),
            tokens: Counts {
                computed_tokens: ran.computed_tokens(),
                unique_tokens: shape.sequences * shape.prompt_tokens + shape.decoded_tokens(),
                tokens_per_s: float(ran.computed_tokens()) / ran.seconds,
            },
            free_tokens_per_s: decoded / free_s,
            schema_tokens_per_s: decoded / constrained_s,
            slower_percent: 100.0 * (constrained_s / free_s - 1.0),
            allowed: constrained.iter().all(|round| allows(&*constraint, round)),
        })
    }
}

/// Whether a constraint allows every token of every generation.
fn allows(constraint: &dyn Constraint, generated: &Generated) -> bool {
    generated.token_ids.iter().all(|token_ids| {
        let mut text = constraint.fork();
        let mut take = |id: &u32| {
            let allowed = text.mask().is_ok_and(|mask| mask.allows(*id));
            allowed && text.accept(*id).is_ok()
        };
        token_ids.iter().all(&mut take)
    })
}

impl Figures for Constrained {
    fn rows(&self) -> Vec<FigureRow> {
        let plain = |name, figure| FigureRow::plain("constrained", name, figure);
        vec![
            plain("free", format!("{:.1} tokens/s", self.free_tokens_per_s)),
            plain(
                "JSON of a schema",
                format!(
                    "{:.1} tokens/s, {} tokens",
                    self.schema_tokens_per_s, self.tokenizer_tokens
                ),
            ),
            plain("slower", format!("{:.1} %", self.slower_percent))
                .against("5 %", self.slower_percent <= 5.0),
        ]
    }

    fn tokens(&self) -> Counts {
        self.tokens
    }

    fn failed(&self) -> bool {
        !self.allowed
    }
}
