//! Bodies of paths that several interfaces share, each detected by its fields.

use openapi::{BodyError, ScoreRequest, ScoreResponse, parse_body};
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use super::detect::{Interface, detect};
use crate::compat::sglang::types::{
    SglangRewardRequest, SglangRewards, SglangScoreRequest, SglangScores,
};
use crate::compat::shared::ApiFlavor;
use crate::compat::shared::pooling::types::ClassifyReply;
use crate::compat::tei::types::{TeiRank, TeiRerankRequest};
use crate::compat::vllm::types::{
    PairScores, RerankReply, RerankRequest, VllmClassifyRequest, VllmScoreRequest,
};

const OWN_SCORE: Interface =
    Interface { name: "this server's own", signature: &["inputs", "options"] };
const VLLM_SCORE: Interface = Interface {
    name: "vLLM's",
    signature: &[
        "queries",
        "documents",
        "data_1",
        "data_2",
        "text_1",
        "text_2",
        "use_activation",
        "activation",
        "truncate_prompt_tokens",
    ],
};
const SGLANG_SCORE: Interface = Interface {
    name: "SGLang's",
    signature: &["query", "label_token_ids", "apply_softmax", "item_first"],
};
const VLLM_CLASSIFY: Interface = Interface {
    name: "vLLM's",
    signature: &["input", "messages", "use_activation", "activation", "add_special_tokens"],
};
const SGLANG_CLASSIFY: Interface =
    Interface { name: "SGLang's", signature: &["text", "input_ids", "sampling_params"] };
const COHERE_RERANK: Interface =
    Interface { name: "Cohere's", signature: &["documents", "return_documents", "use_activation"] };
const TEI_RERANK: Interface = Interface {
    name: "Text Embeddings Inference's",
    signature: &["texts", "raw_scores", "return_text", "truncate"],
};

/// A body that cannot be parsed, with the interface that answers.
#[derive(Debug)]
pub(crate) struct FlavoredBodyError {
    /// The interface of the body; the first of the path if it is undetermined.
    pub(crate) flavor: ApiFlavor,
    /// The error.
    pub(crate) error: BodyError,
}

/// Returns a closure for `map_err` that gives an error this flavor.
fn flavored(flavor: ApiFlavor) -> impl Fn(BodyError) -> FlavoredBodyError {
    move |error| FlavoredBodyError { flavor, error }
}

/// A body of `POST /v1/score`.
#[derive(Debug, Clone, PartialEq, ToSchema)]
#[schema(title = "ScoreBody")]
#[serde(untagged)]
pub(crate) enum ScoreBody {
    /// Native: `inputs`.
    Own(ScoreRequest),
    /// vLLM's: `queries` with `documents`, and its other pairs of names.
    Vllm(VllmScoreRequest),
    /// `SGLang`'s: `query` with `items`.
    Sglang(SglangScoreRequest),
}

/// A reply of `POST /v1/score`, in the shape of its request's interface.
#[derive(Debug, Clone, PartialEq, ToSchema)]
#[schema(title = "ScoreReply")]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes replies and is never made")]
pub(crate) enum ScoreReply {
    /// Native.
    Own(ScoreResponse),
    /// vLLM's.
    Vllm(PairScores),
    /// `SGLang`'s.
    Sglang(SglangScores),
}

/// A body of `POST /classify`.
#[derive(Debug, Clone, PartialEq, ToSchema)]
#[schema(title = "ClassifyBody")]
#[serde(untagged)]
pub(crate) enum ClassifyBody {
    /// vLLM's: `input` or `messages`.
    Vllm(VllmClassifyRequest),
    /// `SGLang`'s: `text` or `input_ids`.
    Sglang(SglangRewardRequest),
}

/// A reply of `POST /classify`, in the shape of its request's interface.
#[derive(Debug, Clone, PartialEq, ToSchema)]
#[schema(title = "ClassifyBodyReply")]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes replies and is never made")]
pub(crate) enum ClassifyBodyReply {
    /// vLLM's.
    Vllm(ClassifyReply),
    /// `SGLang`'s.
    Sglang(SglangRewards),
}

/// A body of `POST /rerank`.
#[derive(Debug, Clone, PartialEq, ToSchema)]
#[schema(title = "RerankBody")]
#[serde(untagged)]
pub(crate) enum RerankBody {
    /// Cohere's, Jina's, vLLM's and llama.cpp's: `documents`.
    Cohere(RerankRequest),
    /// Text Embeddings Inference's: `texts`.
    Tei(TeiRerankRequest),
}

/// A reply of `POST /rerank`, in the shape of its request's interface.
#[derive(Debug, Clone, PartialEq, ToSchema)]
#[schema(title = "RerankBodyReply")]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes replies and is never made")]
pub(crate) enum RerankBodyReply {
    /// Cohere's.
    Cohere(RerankReply),
    /// Text Embeddings Inference's.
    Tei(Vec<TeiRank>),
}

/// Parses a body of `POST /v1/score` as its interface has it.
///
/// The native form is tried first, so that detection costs it nothing.
///
/// # Errors
/// As [`parse_body`] for the detected interface; a body with fields of two interfaces.
pub(crate) fn parse_score(bytes: &[u8]) -> Result<ScoreBody, FlavoredBodyError> {
    let error = match parse_body(bytes) {
        Ok(own) => return Ok(ScoreBody::Own(own)),
        Err(error @ BodyError::Malformed { .. }) => return Err(flavored(ApiFlavor::Own)(error)),
        Err(error @ BodyError::Invalid { .. }) => error,
    };
    match detect(bytes, &[OWN_SCORE, VLLM_SCORE, SGLANG_SCORE]).map_err(flavored(ApiFlavor::Own))? {
        0 => Err(flavored(ApiFlavor::Own)(error)),
        1 => parse_as(bytes, ScoreBody::Vllm, ApiFlavor::Vllm),
        _ => parse_as(bytes, ScoreBody::Sglang, ApiFlavor::Sglang),
    }
}

/// Parses a body of `POST /classify` as its interface has it.
///
/// # Errors
/// As [`parse_body`] for the detected interface; a body with fields of two interfaces.
pub(crate) fn parse_classify(bytes: &[u8]) -> Result<ClassifyBody, FlavoredBodyError> {
    match detect(bytes, &[VLLM_CLASSIFY, SGLANG_CLASSIFY]).map_err(flavored(ApiFlavor::Vllm))? {
        0 => parse_as(bytes, ClassifyBody::Vllm, ApiFlavor::Vllm),
        _ => parse_as(bytes, ClassifyBody::Sglang, ApiFlavor::Sglang),
    }
}

/// Parses a body of `POST /rerank` as its interface has it.
///
/// # Errors
/// As [`parse_body`] for the detected interface; a body with fields of two interfaces.
pub(crate) fn parse_rerank(bytes: &[u8]) -> Result<RerankBody, FlavoredBodyError> {
    match detect(bytes, &[COHERE_RERANK, TEI_RERANK]).map_err(flavored(ApiFlavor::Vllm))? {
        0 => parse_as(bytes, RerankBody::Cohere, ApiFlavor::Vllm),
        _ => parse_as(bytes, RerankBody::Tei, ApiFlavor::Tei),
    }
}

fn parse_as<T: DeserializeOwned, B>(
    bytes: &[u8],
    body: impl Fn(T) -> B,
    flavor: ApiFlavor,
) -> Result<B, FlavoredBodyError> {
    parse_body(bytes).map(body).map_err(flavored(flavor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome<T>(read: Result<T, FlavoredBodyError>, name: impl Fn(&T) -> &'static str) -> String {
        let FlavoredBodyError { flavor, error } = match read {
            Ok(body) => return name(&body).to_owned(),
            Err(error) => error,
        };
        match error {
            BodyError::Malformed { .. } => "malformed".to_owned(),
            BodyError::Invalid { path, message } if message.contains("two interfaces") => {
                format!("two at {path}: {message}")
            }
            BodyError::Invalid { path, .. } => format!("invalid {path} of {flavor:?}"),
        }
    }

    fn check_score(body: &str, expected: &str) {
        let found = outcome(parse_score(body.as_bytes()), |body| match body {
            ScoreBody::Own(_) => "own",
            ScoreBody::Vllm(_) => "vllm",
            ScoreBody::Sglang(_) => "sglang",
        });
        assert!(found.starts_with(expected), "{body}: {found}");
    }

    fn check_rerank(body: &str, expected: &str) {
        let found = outcome(parse_rerank(body.as_bytes()), |body| match body {
            RerankBody::Cohere(_) => "cohere",
            RerankBody::Tei(_) => "tei",
        });
        assert!(found.starts_with(expected), "{body}: {found}");
    }

    fn check_classify(body: &str, expected: &str) {
        let found = outcome(parse_classify(body.as_bytes()), |body| match body {
            ClassifyBody::Vllm(_) => "vllm",
            ClassifyBody::Sglang(_) => "sglang",
        });
        assert!(found.starts_with(expected), "{body}: {found}");
    }

    #[test]
    fn scores_are_detected() {
        check_score(r#"{"model":"m","inputs":[{"response":"x"}]}"#, "own");
        check_score(r#"{"queries":"a","documents":["b"]}"#, "vllm");
        check_score(r#"{"queries":"a","items":["b"]}"#, "vllm");
        check_score(r#"{"text_1":"a","text_2":"b","model":"m"}"#, "vllm");
        check_score(r#"{"query":"a","items":["b"],"label_token_ids":[1]}"#, "sglang");
        check_score(r#"{"query":[1,2],"items":[[3]],"label_token_ids":[[1]]}"#, "sglang");
        check_score(r#"{"model":"m","inputs":[],"queries":"a"}"#, "two at queries");
        check_score(
            r#"{"query":"a","documents":["b"]}"#,
            "two at query: the body fits two interfaces, vLLM's by `documents` and SGLang's by `query`",
        );
        check_score("{}", "invalid ");
        check_score(r#"{"model":"m"}"#, "invalid ");
        check_score(r#"{"model":"m","inputs":3}"#, "invalid inputs of Own");
        check_score(r#"{"queries":3}"#, "invalid queries of Vllm");
        check_score(r#"{"query":3,"items":[]}"#, "invalid query of Sglang");
        check_score("{", "malformed");
        check_score(r#"{"query":"a","items":["b"]}}"#, "malformed");
        check_score("[]", "invalid .");
    }

    #[test]
    fn rankings_are_detected() {
        check_rerank(r#"{"query":"a","documents":["b",{"text":"c"}]}"#, "cohere");
        check_rerank(r#"{"query":"a","documents":[],"top_n":1}"#, "cohere");
        check_rerank(r#"{"query":"a","texts":["b"],"raw_scores":true}"#, "tei");
        check_rerank(r#"{"query":"a","texts":["b"],"documents":["b"]}"#, "two at texts");
        check_rerank(r#"{"query":"a"}"#, "invalid ");
        check_rerank(r#"{"query":"a","documents":["b"],"rank":1}"#, "invalid rank");
        check_rerank(r#"{"query":"a","documents":[3]}"#, "invalid documents[0] of Vllm");
        check_rerank(r#"{"query":3,"texts":[]}"#, "invalid query of Tei");
    }

    #[test]
    fn classifications_are_detected() {
        check_classify(r#"{"input":"a"}"#, "vllm");
        check_classify(r#"{"model":"m","input":[[1,2]],"activation":false}"#, "vllm");
        check_classify(r#"{"messages":[{"role":"user","content":"a"}]}"#, "vllm");
        check_classify(r#"{"text":["a"]}"#, "sglang");
        check_classify(r#"{"input_ids":[1]}"#, "sglang");
        check_classify(r#"{"text":"a","input":"a"}"#, "two at text");
        check_classify(r#"{"inputs":"a"}"#, "invalid inputs of Vllm");
        check_classify(r#"{"text":3}"#, "invalid text of Sglang");
    }
}
