//! The error shapes of the interfaces.

use serde_json::Value;

use crate::harness::Reply;

/// A shape of errors.
#[derive(Debug, Clone, Copy)]
pub(super) enum Words {
    Own,
    FastApi,
    Vllm,
    Sglang,
    Tei,
}

impl Words {
    /// Returns the message of an error, which must have exactly this shape.
    #[track_caller]
    pub(super) fn sentence(self, reply: &Reply, what: &str) -> String {
        let body = reply.json();
        let fields = |value: &Value| {
            let object = value.as_object();
            let mut names: Vec<String> =
                object.into_iter().flatten().map(|(k, _)| k.clone()).collect();
            names.sort();
            names.join(" ")
        };
        let found = match self {
            Words::Own => {
                assert!(body["error"]["code"].is_string(), "{what}: {body}");
                &body["error"]["message"]
            }
            Words::FastApi => match body["detail"].as_array() {
                Some(faults) => &faults[0]["msg"],
                None => &body["detail"],
            },
            Words::Vllm => {
                assert_eq!(body["error"]["code"], reply.status, "{what}: {body}");
                &body["error"]["message"]
            }
            Words::Sglang => {
                assert_eq!(body["object"], "error", "{what}: {body}");
                assert_eq!(body["code"], reply.status, "{what}: {body}");
                &body["message"]
            }
            Words::Tei => {
                assert_eq!(fields(&body), "error error_type", "{what}: {body}");
                &body["error"]
            }
        };
        let sentence = found.as_str();
        assert!(sentence.is_some_and(|text| !text.is_empty()), "{what}: {body}");
        sentence.unwrap_or_default().to_owned()
    }
}
