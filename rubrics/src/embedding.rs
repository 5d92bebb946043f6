//! Text embeddings from the hidden states of a decoder.

use std::sync::Arc;

use engine::{Output, OutputSpec, Task};

use crate::engine_client::EngineClient;
use crate::models::Served;
use crate::outcome::{Failure, Trace};
use crate::{ScoreOptions, Tools};

/// Computes a vector for each text, in order: the model's last hidden state, after the final norm,
/// at the last token of the text with the special tokens that its tokenizer adds. This is the
/// pooling of decoder embedding models such as Qwen3-Embedding. Vectors have the hidden size and
/// are not normalised.
///
/// # Errors
/// The first failure of any text: a text that cannot be encoded or is too long, or an engine that
/// cannot answer.
pub async fn embed(
    served: &Served,
    texts: &[String],
    ask: ScoreOptions,
    tools: &Tools,
) -> Result<Vec<Vec<f32>>, Failure> {
    let client = EngineClient::new(tools, ask, served.host.engine.limits().queue_tokens);
    let (tokenizer, texts) = (served.host.tokenizer.clone(), texts.to_vec());
    let encode = move || {
        let texts = texts.iter();
        let encoded = texts.map(|text| tokenizer.encode_untrusted(text, true));
        encoded.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
    };
    let encoded = client.run(encode).await?;
    let encoded = encoded.map_err(|what| Failure::refused("text_not_encoded", what))?;
    let sequence = |token_ids: Vec<u32>| {
        let last = token_ids.len().checked_sub(1);
        let last = last.ok_or_else(|| Failure::refused("text_not_encoded", "a text is empty"))?;
        let token_ids: Arc<[u32]> = token_ids.into();
        Ok((token_ids, Task::Rows(vec![(last, OutputSpec::Hidden)])))
    };
    let sequences = encoded.into_iter().map(sequence).collect::<Result<Vec<_>, Failure>>()?;
    let mut trace = Trace::default();
    let outputs = client.read(served, sequences, &mut trace).await?;
    let hidden = |outputs: Vec<Output>| match outputs.into_iter().next() {
        Some(Output::Hidden(hidden)) => Ok(hidden),
        Some(
            Output::Head(_) | Output::Vocab(_) | Output::Labels { .. } | Output::Logprob { .. },
        )
        | None => Err(Failure::internal()),
    };
    outputs.into_iter().map(hidden).collect()
}

#[cfg(test)]
mod tests {
    use tiny_models::{Preset, TinyHead};

    use super::*;
    use crate::outcome::FailureKind;
    use crate::testing::Bench;

    fn embedded(bench: &Bench, texts: &[&str]) -> Result<Vec<Vec<f32>>, Failure> {
        let served = bench.tools.models.find("m").expect("it is served");
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let embedding = embed(&served, &texts, ScoreOptions::default(), &bench.tools);
        runtime.expect("a runtime").block_on(embedding)
    }

    #[test]
    fn embeddings_do_not_depend_on_other_texts() {
        let bench = Bench::real("", Preset::Qwen2, TinyHead::Sequence, 1);
        let together = embedded(&bench, &["clarity", "brevity", "clarity"]).expect("vectors");
        let alone = embedded(&bench, &["clarity"]).expect("a vector");
        assert_eq!(together[0], alone[0]);
        assert_eq!(together[2], alone[0]);
        assert_ne!(together[1], alone[0]);
        assert!(alone[0].iter().all(|x| x.is_finite()) && alone[0].len() > 1);
    }

    #[test]
    fn empty_and_too_long_texts_are_refused() {
        let bench = Bench::real("", Preset::Qwen2, TinyHead::Vocab, 1);
        for text in [String::new(), "long ".repeat(1 << 16)] {
            let failure = embedded(&bench, &[&text]).expect_err("it is refused");
            assert_eq!(failure.kind, FailureKind::Refused, "{}", text.len());
        }
    }
}
