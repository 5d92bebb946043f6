//! The interfaces that a run can use: path, body and reply of each. All send the same samples, so that
//! an interface can be compared with the native route.

use std::fmt;

use clap::ValueEnum;
use openapi::{Content, Options, Reference, ScoreInput, ScoreRequest, Status};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::error::LoadError;
use crate::outcome::Verdicts;
use crate::reply::count_verdicts;

/// An interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    /// This server's own, `POST /v1/score`
    #[default]
    Native,
    /// `OpenRLHF`, `POST /get_reward`
    Openrlhf,
    /// slime, `POST /remote_rm`; one input a request
    Slime,
    /// `NeMo`-Gym, `POST /verify`; one input a request
    NemoGym,
    /// OpenAI's `string_check` grader; one input a request
    OpenaiGrader,
    /// NIM's reward models, `POST /v1/chat/completions`; one input a request
    Nim,
    /// vLLM, `POST /classify` with logits
    VllmClassify,
    /// vLLM, `POST /score`
    VllmScore,
    /// vLLM, `POST /pooling`
    VllmPooling,
    /// `SGLang`, `POST /v1/embeddings` as verl reads it
    SglangEmbeddings,
    /// `SGLang`, `POST /classify`
    SglangClassify,
    /// Text Embeddings Inference, `POST /predict`
    TeiPredict,
}

impl Wire {
    /// Whether its requests hold one input.
    pub(crate) fn is_single(self) -> bool {
        match self {
            Self::Slime | Self::NemoGym | Self::OpenaiGrader | Self::Nim => true,
            Self::Native
            | Self::Openrlhf
            | Self::VllmClassify
            | Self::VllmScore
            | Self::VllmPooling
            | Self::SglangEmbeddings
            | Self::SglangClassify
            | Self::TeiPredict => false,
        }
    }

    /// Path and query of its route.
    pub(crate) fn path(self, scorer: &str) -> String {
        match self {
            Self::Native => "/v1/score".to_owned(),
            Self::Openrlhf => format!("/get_reward?model={scorer}"),
            Self::Slime => format!("/remote_rm?model={scorer}"),
            Self::NemoGym => format!("/verify?model={scorer}"),
            Self::OpenaiGrader => "/v1/fine_tuning/alpha/graders/run".to_owned(),
            Self::Nim => "/v1/chat/completions".to_owned(),
            Self::VllmClassify | Self::SglangClassify => "/classify".to_owned(),
            Self::VllmScore => "/score".to_owned(),
            Self::VllmPooling => "/pooling".to_owned(),
            Self::SglangEmbeddings => "/v1/embeddings".to_owned(),
            Self::TeiPredict => format!("/predict?model={scorer}"),
        }
    }

    /// The body of a request with these inputs.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for an input with messages, on a wire that takes texts only.
    pub(crate) fn body(
        self,
        scorer: &str,
        inputs: Vec<ScoreInput>,
        options: &Options,
    ) -> Result<Vec<u8>, LoadError> {
        let bytes = if self == Self::Native {
            serde_json::to_vec(&ScoreRequest {
                model: scorer.to_owned(),
                inputs,
                options: options.clone(),
            })
        } else {
            let samples: Result<Vec<WireSample>, LoadError> =
                inputs.into_iter().map(WireSample::of).collect();
            serde_json::to_vec(&self.foreign_body(scorer, &samples?))
        };
        Ok(bytes.expect("a request has string keys and no failing serialiser"))
    }

    /// The body of a request other than the native one.
    fn foreign_body(self, scorer: &str, samples: &[WireSample]) -> Value {
        let rendered = || samples.iter().map(WireSample::rendered).collect::<Vec<_>>();
        let prompts = || samples.iter().map(WireSample::opening).collect::<Vec<_>>();
        let first = &samples[0];
        match self {
            Self::Native => unreachable!("the native request has a type of its own"),
            Self::Openrlhf => json!({
                "query": rendered(), "prompts": prompts(),
                "labels": samples.iter().map(|sample| &sample.reference).collect::<Vec<_>>(),
            }),
            Self::Slime => json!({
                "prompt": first.opening(), "response": first.response, "label": first.reference,
            }),
            Self::NemoGym => first.rollout(),
            Self::OpenaiGrader => json!({
                "grader": {
                    "type": "string_check", "name": "exact", "operation": "eq",
                    "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}",
                },
                "model_sample": first.response, "item": { "answer": first.reference },
            }),
            Self::Nim => json!({ "model": scorer, "messages": [
                { "role": "user", "content": first.prompt },
                { "role": "assistant", "content": first.response },
            ] }),
            Self::VllmClassify | Self::VllmPooling => {
                json!({ "model": scorer, "input": rendered(), "use_activation": false })
            }
            Self::VllmScore => json!({
                "model": scorer, "queries": prompts(), "use_activation": false,
                "documents": samples.iter().map(WireSample::closing).collect::<Vec<_>>(),
            }),
            Self::SglangEmbeddings => json!({ "model": scorer, "input": rendered() }),
            Self::SglangClassify => json!({ "model": scorer, "text": rendered() }),
            Self::TeiPredict => json!({
                "raw_scores": true,
                "inputs": rendered().into_iter().map(|text| [text]).collect::<Vec<_>>(),
            }),
        }
    }

    /// Counts the verdicts of a 200 to a request of `batch` inputs. A reply other than the native
    /// one has nothing but numbers, and each of them is `ok`.
    ///
    /// # Errors
    /// A message about the body.
    pub(crate) fn count(self, body: &[u8], batch: usize) -> Result<Verdicts, String> {
        if self == Self::Native {
            return count_verdicts(body, batch);
        }
        let found =
            self.numbers(body).map_err(|error| format!("not a reply of this wire: {error}"))?;
        if found != batch {
            return Err(format!("{found} numbers for {batch} inputs"));
        }
        let mut verdicts = Verdicts::default();
        for _ in 0..found {
            verdicts.add(Status::Ok, false);
        }
        Ok(verdicts)
    }

    fn numbers(self, body: &[u8]) -> Result<usize, serde_json::Error> {
        let reply = || serde_json::from_slice::<Reply>(body);
        Ok(match self {
            Self::Native => unreachable!("the native reply has statuses"),
            Self::Slime => serde_json::from_slice::<f64>(body).map(|_| 1)?,
            Self::SglangClassify | Self::TeiPredict => serde_json::from_slice::<Count>(body)?.0,
            Self::Openrlhf => reply()?.rewards.0,
            Self::NemoGym | Self::OpenaiGrader => {
                let reply = reply()?;
                usize::from(reply.reward.is_some() && reply.failure.is_none())
            }
            Self::Nim => reply()?.choices.0,
            Self::VllmClassify | Self::VllmScore | Self::VllmPooling | Self::SglangEmbeddings => {
                reply()?.data.0
            }
        })
    }
}

/// The texts of an input, with the chat markup of the Qwen models.
struct WireSample {
    prompt: String,
    response: String,
    reference: Option<Reference>,
}

impl WireSample {
    fn of(input: ScoreInput) -> Result<Self, LoadError> {
        let text = |content: Option<Content>| match content {
            None => Ok(String::new()),
            Some(Content::Text(text)) => Ok(text),
            Some(Content::Messages(_)) => Err(LoadError::usage(
                "--wire",
                "other wires than `native` are sent texts, and an input has messages",
            )),
        };
        Ok(Self {
            prompt: text(input.prompt)?,
            response: text(input.response)?,
            reference: input.reference,
        })
    }

    fn opening(&self) -> String {
        format!("<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n", self.prompt)
    }

    fn closing(&self) -> String {
        format!("{}<|im_end|>\n", self.response)
    }

    fn rendered(&self) -> String {
        self.opening() + &self.closing()
    }

    fn rollout(&self) -> Value {
        json!({
            "responses_create_params": {
                "input": [{ "role": "user", "content": self.prompt, "type": "message" }],
            },
            "response": { "id": "r", "object": "response", "output": [
                { "id": "m", "type": "message", "role": "assistant", "status": "completed",
                  "content": [{ "type": "output_text", "text": self.response, "annotations": [] }] },
            ] },
            "expected_answer": self.reference,
        })
    }
}

/// Fields of any wire's reply; other fields are ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reply {
    rewards: Count,
    data: Count,
    choices: Count,
    reward: Option<f64>,
    #[serde(rename = "_ng_failure_class")]
    failure: Option<IgnoredAny>,
}

/// The length of a list.
#[derive(Default)]
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Count, A::Error> {
        let mut count = 0;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Count(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wire: Wire, reply: &str, batch: usize, expected: Result<u64, &str>) {
        let counted = wire.count(reply.as_bytes(), batch);
        match (counted, expected) {
            (Ok(verdicts), Ok(n)) => assert_eq!(verdicts.get(Status::Ok), n, "{reply}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (counted, _) => panic!("{wire:?} {reply}: {counted:?}"),
        }
    }

    #[test]
    fn replies_are_counted() {
        let two = r#"{"rewards":[1.0,0.5],"scores":[1,2],"extra_logs":{"a":[1,2]}}"#;
        check(Wire::Openrlhf, two, 2, Ok(2));
        check(Wire::Openrlhf, two, 3, Err("2 numbers for 3"));
        check(Wire::Slime, "0.5", 1, Ok(1));
        check(Wire::Slime, "null", 1, Err("not a reply"));
        check(Wire::NemoGym, r#"{"reward":1.0,"x":[]}"#, 1, Ok(1));
        let failed = r#"{"reward":0.0,"_ng_failure_class":"judge_failed"}"#;
        check(Wire::NemoGym, failed, 1, Err("0 numbers"));
        check(Wire::OpenaiGrader, r#"{"reward":null}"#, 1, Err("0 numbers"));
        check(Wire::Nim, r#"{"choices":[{}]}"#, 1, Ok(1));
        check(Wire::VllmClassify, r#"{"data":[{"probs":[1]}]}"#, 1, Ok(1));
        check(Wire::TeiPredict, r#"[[{"score":1}],[{"score":2}]]"#, 2, Ok(2));
        check(Wire::SglangClassify, r#"{"error":"x"}"#, 1, Err("not a reply"));
        check(Wire::Native, r#"{"results":[{"status":"ok"}]}"#, 1, Ok(1));
    }

    #[test]
    fn bodies_contain_every_sample() {
        let input = |n: usize| ScoreInput {
            prompt: Some(Content::Text(format!("p{n}"))),
            response: Some(Content::Text(format!("r{n}"))),
            reference: Some(Reference::Text(n.to_string())),
            ..ScoreInput::default()
        };
        for wire in Wire::value_variants() {
            let n = if wire.is_single() { 1 } else { 3 };
            let inputs = (0..n).map(input).collect();
            let body = wire.body("rm", inputs, &Options::default()).expect("texts");
            let body = String::from_utf8(body).expect("JSON is text");
            for at in 0..n {
                assert!(body.contains(&format!("r{at}")), "{wire:?}: {body}");
            }
            let path = wire.path("rm");
            assert!(path.starts_with('/') && path.parse::<hyper::Uri>().is_ok(), "{path}");
        }
    }

    #[test]
    fn conversations_are_refused_on_foreign_wires() {
        let input =
            ScoreInput { response: Some(Content::Messages(Vec::new())), ..ScoreInput::default() };
        let body = |wire: Wire| wire.body("rm", vec![input.clone()], &Options::default());
        assert!(body(Wire::Native).is_ok());
        let error = body(Wire::Openrlhf).expect_err("it has messages");
        assert_eq!(error.exit_code(), 2);
    }
}
