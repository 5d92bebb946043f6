//! Text Embeddings Inference: the bodies of its routes for classifiers and rerankers.

use std::collections::BTreeMap;
use std::fmt;

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Texts, or pairs of texts, to classify.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct PredictRequest {
    /// A text, a pair `[text, text]`, or a list of lists of one or two texts.
    pub(crate) inputs: PredictInputs,
    /// Whether logits are wanted in the place of probabilities.
    #[serde(default)]
    pub(crate) raw_scores: bool,
}

// What is too long is refused and never cut, so that there is no side to cut.
object!(
    PredictRequest,
    but & [Unused("truncate", Harmless::Every), Unused("truncation_direction", Harmless::Every),]
);

/// What is classified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PredictInputs {
    /// A text.
    Text(String),
    /// One or two texts.
    Pair(Vec<String>),
    /// Each one or two texts.
    Batch(Vec<Vec<String>>),
}

impl<'de> Deserialize<'de> for PredictInputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputsVisitor)
    }
}

struct InputsVisitor;

impl<'de> Visitor<'de> for InputsVisitor {
    type Value = PredictInputs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a pair of texts, or a list of lists of one or two texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<PredictInputs, E> {
        Ok(PredictInputs::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PredictInputs, A::Error> {
        let Some(first) = seq.next_element()? else {
            return Ok(PredictInputs::Batch(Vec::new()));
        };
        match first {
            Item::Text(text) => {
                let mut pair = vec![text];
                while let Some(next) = seq.next_element()? {
                    pair.push(next);
                }
                check_pair(&pair).map(|()| PredictInputs::Pair(pair))
            }
            Item::Pair(pair) => {
                let mut batch = vec![pair];
                while let Some(next) = seq.next_element()? {
                    batch.push(next);
                }
                batch.iter().try_for_each(|pair| check_pair(pair))?;
                Ok(PredictInputs::Batch(batch))
            }
        }
    }
}

fn check_pair<E: Error>(pair: &[String]) -> Result<(), E> {
    if (1..=2).contains(&pair.len()) {
        return Ok(());
    }
    Err(E::custom(format_args!("{} texts; one is classified by itself, two as a pair", pair.len())))
}

/// The first element of a list, which says what the others are.
#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    Text(String),
    Pair(Vec<String>),
}

/// The classes of a text, likeliest first, or of each text of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PredictReply {
    /// Of one text.
    One(Vec<Prediction>),
    /// Of each text, in order.
    Batch(Vec<Vec<Prediction>>),
}

/// A class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Prediction {
    /// Its probability, or its logit.
    pub(crate) score: f64,
    /// Its name.
    pub(crate) label: String,
}

/// Texts to rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct TeiRerankRequest {
    /// What is asked.
    pub(crate) query: String,
    /// What is ranked.
    pub(crate) texts: Vec<String>,
    /// Whether logits are wanted in the place of probabilities.
    #[serde(default)]
    pub(crate) raw_scores: bool,
    /// Whether the reply repeats the texts.
    #[serde(default)]
    pub(crate) return_text: bool,
    /// How many are given back; nothing for all. llama.cpp takes it in this shape too.
    #[serde(
        default,
        deserialize_with = "openapi::whole::read_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) top_n: Option<u64>,
    /// Name of a scorer, a model or an adapter; llama.cpp's clients send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

object!(
    TeiRerankRequest,
    but & [Unused("truncate", Harmless::Every), Unused("truncation_direction", Harmless::Every),]
);

/// A text and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiRank {
    /// Its place in the request.
    pub(crate) index: usize,
    /// It.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// How well it goes with the query.
    pub(crate) score: f64,
}

/// What a server of this interface says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiInfo {
    /// The model's name.
    pub(crate) model_id: String,
    /// Digest of its weights and configuration.
    pub(crate) model_sha: Option<String>,
    /// How its matrices are kept.
    pub(crate) model_dtype: String,
    /// The model's name.
    pub(crate) served_model_name: String,
    /// What its head is for.
    pub(crate) model_type: TeiModelType,
    /// Requests in hand at most.
    pub(crate) max_concurrent_requests: usize,
    /// Tokens in a text at most.
    pub(crate) max_input_length: usize,
    /// Tokens in one step.
    pub(crate) max_batch_tokens: usize,
    /// Sequences in one step.
    pub(crate) max_batch_requests: Option<usize>,
    /// Texts in a request at most.
    pub(crate) max_client_batch_size: usize,
    /// Always false: nothing is ever cut.
    pub(crate) auto_truncate: bool,
    /// Threads that encode.
    pub(crate) tokenization_workers: usize,
    /// Of this server.
    pub(crate) version: String,
    /// Always null.
    pub(crate) sha: Option<String>,
    /// Always null.
    pub(crate) docker_label: Option<String>,
}

/// What a head is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TeiModelType {
    /// Several classes.
    Classifier(TeiLabels),
    /// One number.
    Reranker(TeiLabels),
}

/// The classes of a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiLabels {
    /// Names by index.
    pub(crate) id2label: BTreeMap<String, String>,
    /// Indexes by name.
    pub(crate) label2id: BTreeMap<String, usize>,
}
