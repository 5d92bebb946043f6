//! Judges that list principles: a local model or a server.

use std::sync::Arc;

use rubrics::feedback::{self, Feedback, Listed, Manner};
use rubrics::{Failure, FailureKind, Priority, ScoreOptions, Served, Tools, VerifierPool};
use scoring::scorers;
use serde_json::{Value, json};
use serve::hosts::Hosts;

use super::client::{Access, Client, Reply};
use super::{PrinciplesArgs, SimilarityArg};
use crate::error::CliError;

/// Jobs that may wait in the pool: more than the rows of one batch have.
const POOL_JOBS: usize = 1 << 20;

/// Principles of one feedback, or a status and the reason of a failure.
pub(super) type JudgeListing = Result<Vec<Listed>, (&'static str, String)>;

/// Lists the principles of feedback.
pub(super) trait Judge {
    /// One answer for each, in order.
    ///
    /// # Errors
    /// When the run cannot go on.
    fn list(&mut self, feedback: &[Feedback]) -> Result<Vec<JudgeListing>, CliError>;

    /// Describes the judge for the manifest.
    fn described(&self) -> Value;
}

/// Local models with the threads that make prompts.
pub(super) struct Engines {
    pub(super) hosts: Arc<Hosts>,
    pub(super) tools: Tools,
}

impl Engines {
    /// Loads the models of the configuration; `None` if only servers are used.
    pub(super) fn load(args: &PrinciplesArgs) -> Result<Option<Arc<Self>>, CliError> {
        let embeds = args.similarity.similarity == SimilarityArg::Embedding
            && args.similarity.embedding_url.is_none();
        if args.judge.remote.url.is_some() && !embeds {
            return Ok(None);
        }
        let hosts =
            Arc::new(scorers::all_models(args.judge.config.as_deref(), args.judge.remote.device)?);
        let cores = scoring::backend::cores();
        let threads = args.judge.threads.map_or(cores, usize::from);
        let pool = VerifierPool::new(threads, POOL_JOBS)
            .map_err(|error| CliError::Failed(format!("cannot start threads: {error}")))?;
        let tools = Tools { pool, models: hosts.clone(), recorder: None };
        Ok(Some(Arc::new(Self { hosts, tools })))
    }

    /// Finds a model or adapter by name.
    pub(super) fn find(&self, name: &str, option: &str) -> Result<Served, CliError> {
        let served = rubrics::Models::find(&*self.hosts, name);
        served.ok_or_else(|| {
            let near = self.hosts.near(name);
            let hint = match &near[..] {
                [] => String::new(),
                near => format!("; did you mean {}?", near.join(", ")),
            };
            CliError::Usage(format!("{option}: no model or adapter is called '{name}'{hint}"))
        })
    }
}

/// Options of the judge's requests.
pub(super) fn batch_options(seed: u64) -> ScoreOptions {
    ScoreOptions { priority: Priority::Batch, seed, ..ScoreOptions::default() }
}

/// Makes the judge of the command line.
pub(super) fn judge(
    args: &PrinciplesArgs,
    engines: Option<&Arc<Engines>>,
) -> Result<Box<dyn Judge>, CliError> {
    let own = &args.judge;
    let manner = Manner {
        max_tokens: usize::try_from(own.max_tokens).expect("a u32 fits"),
        temperature: own.temperature,
    };
    if let Some(url) = &own.remote.url {
        let access = Access {
            url,
            option: "--url",
            api_key_file: own.remote.api_key_file.as_deref(),
            connections: usize::from(own.remote.connections),
            retries: own.remote.retries,
        };
        return Ok(Box::new(Remote {
            client: Client::new(&access)?,
            model: own.model.clone(),
            manner,
            seed: own.seed,
        }));
    }
    let engines = engines.expect("models are loaded where no server is used").clone();
    let served = engines.find(&own.model, "--judge")?;
    feedback::check(&served).map_err(|what| CliError::Usage(format!("--judge: {what}")))?;
    Ok(Box::new(Local { engines, served, manner, seed: own.seed }))
}

struct Local {
    engines: Arc<Engines>,
    served: Served,
    manner: Manner,
    seed: u64,
}

impl Judge for Local {
    fn list(&mut self, feedback: &[Feedback]) -> Result<Vec<JudgeListing>, CliError> {
        let tools = &self.engines.tools;
        let listing =
            feedback::extract(&self.served, feedback, self.manner, batch_options(self.seed), tools);
        let answers = scoring::backend::block_on(listing);
        Ok(answers.into_iter().map(|answer| answer.map_err(status_and_reason)).collect())
    }

    fn described(&self) -> Value {
        json!({
            "model": &**self.served.name(),
            "digest": feedback::digest(&self.served),
            "wording": &*feedback::wording(),
        })
    }
}

/// A model of a server with OpenAI's chat completions.
struct Remote {
    client: Client,
    model: String,
    manner: Manner,
    seed: u64,
}

impl Judge for Remote {
    fn list(&mut self, feedback: &[Feedback]) -> Result<Vec<JudgeListing>, CliError> {
        let body = |feedback: &Feedback| {
            let turns = feedback::turns(feedback);
            let messages =
                turns.iter().map(|turn| json!({ "role": turn.role, "content": turn.content }));
            json!({
                "model": self.model,
                "messages": messages.collect::<Vec<_>>(),
                "max_tokens": self.manner.max_tokens,
                "temperature": self.manner.temperature,
                "seed": self.seed,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {
                        "name": "principles",
                        "strict": true,
                        "schema": feedback::schema(),
                    },
                },
            })
        };
        let bodies: Vec<Value> = feedback.iter().map(body).collect();
        let replies = self.client.post_all("/v1/chat/completions", &bodies)?;
        Ok(replies.into_iter().map(parse_reply).collect())
    }

    fn described(&self) -> Value {
        json!({
            "model": self.model,
            "url": self.client.url(),
            "wording": &*feedback::wording(),
        })
    }
}

/// Parses the reply of a server.
fn parse_reply(reply: Reply) -> JudgeListing {
    let body = match reply {
        Reply::Body(body) => body,
        Reply::Refused(message) => return Err(("refused", message)),
    };
    let choice = &body["choices"][0];
    if choice["finish_reason"] == "length" {
        let message = "the judge's text was cut at its limit; raise --max-tokens";
        return Err(("truncated", message.to_owned()));
    }
    match choice["message"]["content"].as_str() {
        Some(text) => feedback::read_feedback(text).map_err(status_and_reason),
        None => Err(("parse_error", "the reply holds no text".to_owned())),
    }
}

/// Converts a failure to a status and a reason.
fn status_and_reason(failure: Failure) -> (&'static str, String) {
    let status = serve::convert::status_name(serve::convert::status(failure.kind));
    let detail = failure.reason.detail;
    let detail = detail.map_or_else(|| failure.reason.code.to_owned(), String::from);
    (status, detail)
}

/// Whether a status is no fault of the row.
pub(super) fn is_failure(status: &str) -> bool {
    let kinds = [
        FailureKind::ToolError,
        FailureKind::Timeout,
        FailureKind::Overloaded,
        FailureKind::Internal,
    ];
    let names = kinds.map(|kind| serve::convert::status_name(serve::convert::status(kind)));
    names.contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_lists_or_failures() {
        #[track_caller]
        fn check(reply: Reply, expected: Result<usize, (&str, &str)>) {
            match (parse_reply(reply), expected) {
                (Ok(listed), Ok(count)) => assert_eq!(listed.len(), count),
                (Err((status, message)), Err((expected, part))) => {
                    assert_eq!(status, expected);
                    assert!(message.contains(part), "{message}");
                }
                (found, expected) => panic!("{found:?} and not {expected:?}"),
            }
        }
        let body = |text: Value, finish: &str| {
            Reply::Body(json!({
                "choices": [{"message": {"content": text}, "finish_reason": finish}],
            }))
        };
        let list = r#"{"principles": [{"principle": "a", "verdict": "yes", "evidence": "b"}]}"#;
        check(body(json!(list), "stop"), Ok(1));
        check(body(json!(r#"{"principles": []}"#), "stop"), Ok(0));
        check(body(json!(list), "length"), Err(("truncated", "--max-tokens")));
        check(body(json!("a: yes"), "stop"), Err(("parse_error", "no list")));
        check(body(Value::Null, "stop"), Err(("parse_error", "no text")));
        check(Reply::Body(json!({})), Err(("parse_error", "no text")));
        check(Reply::Refused("too long".to_owned()), Err(("refused", "too long")));
    }
}
