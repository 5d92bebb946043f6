//! Text Embeddings Inference: bodies and replies of its routes for classifiers and rerankers.

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
    /// Text, a pair `[text, text]`, or a list of lists of one or two texts.
    pub(crate) inputs: PredictInputs,
    /// Whether to return logits instead of probabilities.
    #[serde(default)]
    pub(crate) raw_scores: bool,
}

// Input that is too long is refused and never truncated, so the truncation side has no effect.
object!(
    PredictRequest,
    but & [Unused("truncate", Harmless::Every), Unused("truncation_direction", Harmless::Every),]
);

/// Input to classify.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PredictInputs {
    /// Text.
    Text(String),
    /// One or two texts.
    Pair(Vec<String>),
    /// Lists of one or two texts.
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
            FirstElement::Text(text) => {
                let mut pair = vec![text];
                while let Some(next) = seq.next_element()? {
                    pair.push(next);
                }
                check_pair(&pair).map(|()| PredictInputs::Pair(pair))
            }
            FirstElement::Pair(pair) => {
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

/// The first element of a list, which determines the type of the others.
#[derive(Deserialize)]
#[serde(untagged)]
enum FirstElement {
    Text(String),
    Pair(Vec<String>),
}

/// The classes of a text, most probable first, or of each text of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PredictReply {
    /// For one text.
    One(Vec<Prediction>),
    /// For each text, in order.
    Batch(Vec<Vec<Prediction>>),
}

/// A class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Prediction {
    /// Probability or logit.
    pub(crate) score: f64,
    /// Name of the class.
    pub(crate) label: String,
}

/// Texts to rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct TeiRerankRequest {
    /// The query.
    pub(crate) query: String,
    /// The texts to rank.
    pub(crate) texts: Vec<String>,
    /// Whether to return logits instead of probabilities.
    #[serde(default)]
    pub(crate) raw_scores: bool,
    /// Whether the reply includes the texts.
    #[serde(default)]
    pub(crate) return_text: bool,
    /// Most texts to return; null for all. llama.cpp accepts it in this body too.
    #[serde(
        default,
        deserialize_with = "openapi::integer::read_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) top_n: Option<u64>,
    /// Name of a scorer, a model or an adapter, as sent by llama.cpp's clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

object!(
    TeiRerankRequest,
    but & [Unused("truncate", Harmless::Every), Unused("truncation_direction", Harmless::Every),]
);

/// A ranked text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiRank {
    /// Index of the text in the request.
    pub(crate) index: usize,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Relevance to the query.
    pub(crate) score: f64,
}

/// A description of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiInfo {
    /// Name of the model.
    pub(crate) model_id: String,
    /// Digest of its weights and configuration.
    pub(crate) model_sha: Option<String>,
    /// Storage type of its weights.
    pub(crate) model_dtype: String,
    /// Name of the model.
    pub(crate) served_model_name: String,
    /// Type of its head.
    pub(crate) model_type: TeiModelType,
    /// Most requests in hand.
    pub(crate) max_concurrent_requests: usize,
    /// Most tokens in a text.
    pub(crate) max_input_length: usize,
    /// Most tokens in an engine step.
    pub(crate) max_batch_tokens: usize,
    /// Most sequences in an engine step.
    pub(crate) max_batch_requests: Option<usize>,
    /// Most texts in a request.
    pub(crate) max_client_batch_size: usize,
    /// Always false: input is never truncated.
    pub(crate) auto_truncate: bool,
    /// Number of tokenizer threads.
    pub(crate) tokenization_workers: usize,
    /// Version of this server.
    pub(crate) version: String,
    /// Always null.
    pub(crate) sha: Option<String>,
    /// Always null.
    pub(crate) docker_label: Option<String>,
}

/// The type of a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TeiModelType {
    /// Several classes.
    Classifier(TeiLabels),
    /// One output.
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
