//! Directions of principles' texts.

use std::sync::Arc;

use curation::principles::{ngram_vectors, unit_vector};
use rubrics::Served;
use serde_json::{Value, json};

use super::client::{Access, Client, Reply};
use super::judge::{Engines, batch_options};
use super::{PrinciplesArgs, SimilarityArg};
use crate::error::CliError;

/// What makes texts alike.
pub(super) enum Similarity {
    /// The characters that they share.
    Ngram,
    /// The hidden states of a model of this process.
    Model(Arc<Engines>, Served),
    /// A server's embeddings.
    Server(Client, String),
}

impl Similarity {
    /// What the command line names.
    pub(super) fn new(
        args: &PrinciplesArgs,
        engines: Option<&Arc<Engines>>,
    ) -> Result<Self, CliError> {
        let own = &args.similarity;
        let model = match own.similarity {
            SimilarityArg::Ngram if own.embedding_model.is_some() => {
                let message = "--embedding-model needs --similarity embedding";
                return Err(CliError::Usage(message.to_owned()));
            }
            SimilarityArg::Ngram => return Ok(Self::Ngram),
            SimilarityArg::Embedding => own.embedding_model.clone().unwrap_or_default(),
        };
        if let Some(url) = &own.embedding_url {
            let access = Access {
                url,
                option: "--embedding-url",
                api_key_file: args.judge.remote.api_key_file.as_deref(),
                connections: 1,
                retries: args.judge.remote.retries,
            };
            return Ok(Self::Server(Client::new(&access)?, model));
        }
        let engines = engines.expect("models are loaded where one embeds").clone();
        let served = engines.find(&model, "--embedding-model")?;
        Ok(Self::Model(engines, served))
    }

    /// The measure and its model, for the manifest.
    pub(super) fn described(&self) -> Value {
        match self {
            Self::Ngram => json!({ "kind": "ngram" }),
            Self::Model(_, served) => json!({
                "kind": "embedding",
                "model": &**served.name(),
                "digest": &*served.host.digest,
            }),
            Self::Server(client, model) => {
                json!({ "kind": "embedding", "model": model, "url": client.url() })
            }
        }
    }

    /// A vector of length 1 for each text of each row. Rows do not see each other.
    ///
    /// # Errors
    /// A model or server that cannot embed: without it nothing can be compared.
    pub(super) fn vectors(&self, rows: &[Vec<String>]) -> Result<Vec<Vec<Vec<f32>>>, CliError> {
        let flat: Vec<String> = rows.iter().flatten().cloned().collect();
        let flat = match self {
            Self::Ngram => return Ok(rows.iter().map(|texts| ngram_vectors(texts)).collect()),
            Self::Model(..) | Self::Server(..) if flat.is_empty() => Vec::new(),
            Self::Model(engines, served) => {
                let embedding =
                    rubrics::embedding::embed(served, &flat, batch_options(0), &engines.tools);
                let vectors = scoring::backend::block_on(embedding).map_err(|failure| {
                    let detail = failure.reason.detail.unwrap_or(failure.reason.code.into());
                    CliError::Failed(format!("'{}' does not embed: {detail}", served.name()))
                })?;
                let unit_of = |vector: &Vec<f32>| {
                    unit_vector(&vector.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>())
                };
                vectors.iter().map(unit_of).collect()
            }
            Self::Server(client, model) => embedded(client, model, &flat)?,
        };
        let mut flat = flat.into_iter();
        let of_row = |texts: &Vec<String>| flat.by_ref().take(texts.len()).collect();
        Ok(rows.iter().map(of_row).collect())
    }
}

/// Texts that are sent in one request.
const BATCH: usize = 256;

fn embedded(client: &Client, model: &str, texts: &[String]) -> Result<Vec<Vec<f32>>, CliError> {
    let bodies: Vec<Value> = texts
        .chunks(BATCH)
        .map(|some| json!({ "model": model, "input": some, "encoding_format": "float" }))
        .collect();
    let replies = client.post_all("/v1/embeddings", &bodies)?;
    let mut vectors = Vec::with_capacity(texts.len());
    for (reply, some) in replies.into_iter().zip(texts.chunks(BATCH)) {
        let body = match reply {
            Reply::Body(body) => body,
            Reply::Refused(message) => return Err(CliError::Failed(message)),
        };
        vectors.extend(
            reply_vectors(&body, some.len()).map_err(|what| {
                CliError::Failed(format!("{}/v1/embeddings: {what}", client.url()))
            })?,
        );
    }
    Ok(vectors)
}

/// The vectors of a reply, in the order of the texts that were sent.
fn reply_vectors(body: &Value, n_texts: usize) -> Result<Vec<Vec<f32>>, String> {
    let data = body["data"].as_array().ok_or("the reply has no list 'data'")?;
    if data.len() != n_texts {
        return Err(format!("{} vectors came for {n_texts} texts", data.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; n_texts];
    for (place, item) in data.iter().enumerate() {
        let index = item["index"].as_u64().map_or(Some(place), |index| usize::try_from(index).ok());
        let numbers = item["embedding"].as_array().ok_or("an item has no list 'embedding'")?;
        let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
        let numbers = numbers.ok_or("an embedding holds something other than numbers")?;
        let slot = index.and_then(|index| vectors.get_mut(index));
        *slot.ok_or("an item's index is beyond the texts")? = Some(unit_vector(&numbers));
    }
    let whole: Option<Vec<Vec<f32>>> = vectors.into_iter().collect();
    let whole = whole.ok_or("two items have one index")?;
    if whole.windows(2).any(|two| two[0].len() != two[1].len()) {
        return Err("embeddings differ in length".to_owned());
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeddings_are_put_in_order() {
        #[track_caller]
        fn check(body: &Value, expected: Result<Vec<Vec<f32>>, &str>) {
            match (reply_vectors(body, 2), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
                (Err(found), Err(part)) => assert!(found.contains(part), "{body}: {found}"),
                (found, expected) => panic!("{body}: {found:?} and not {expected:?}"),
            }
        }
        let of = |index: u32, embedding: Value| json!({"index": index, "embedding": embedding});
        check(
            &json!({"data": [of(1, json!([0, 5])), of(0, json!([2, 0.0]))]}),
            Ok(vec![vec![1.0, 0.0], vec![0.0, 1.0]]),
        );
        check(&json!({"data": [of(0, json!([1]))]}), Err("1 vectors came for 2 texts"));
        check(&json!({"data": [of(0, json!([1])), of(0, json!([1]))]}), Err("one index"));
        check(&json!({"data": [of(0, json!([1])), of(7, json!([1]))]}), Err("beyond"));
        check(&json!({"data": [of(0, json!([1])), of(1, json!(["x"]))]}), Err("than numbers"));
        check(&json!({"data": [of(0, json!([1])), of(1, json!([1, 2]))]}), Err("differ in length"));
        check(&json!({"object": "list"}), Err("no list 'data'"));
    }
}
