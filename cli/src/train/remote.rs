//! The server whose scorers a training run uses (`[remote]` of a run file).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rubrics::{Input, Outcome};
use scoring::backend::{RemoteBackend, RemoteOptions, wire};
use scoring::error::RunError;
use serde_json::json;
use trainer::TrainError;
use trainer::rollout::{AdapterToLoad, RemoteScorers, RemoteSection};
use trainer::run::RunConfig;

/// A connection for each scorer.
struct Server {
    url: String,
    scorers: BTreeMap<String, RemoteBackend>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.scorers.keys().collect();
        f.debug_struct("Server").field("url", &self.url).field("scorers", &names).finish()
    }
}

/// Connects to the server of a run file; `None` if it names none.
///
/// # Errors
/// A server that does not answer, and scorers that it does not have.
pub(super) fn connect(config: &RunConfig) -> Result<Option<Arc<dyn RemoteScorers>>, RunError> {
    let Some(section) = &config.remote else {
        return Ok(None);
    };
    let RemoteSection { url, api_key_file, scorers, retries, push: _ } = section;
    let options = RemoteOptions {
        url: Some(url.clone()),
        api_key_file: api_key_file.as_deref().map(|file| config.path(file)),
        connections: 1,
        retries: *retries,
    };
    let connected = |name: &String| {
        let names = std::slice::from_ref(name);
        Ok((name.clone(), RemoteBackend::connect(&options, url, names, false)?))
    };
    let scorers = scorers.iter().map(connected).collect::<Result<_, RunError>>()?;
    Ok(Some(Arc::new(Server { url: url.clone(), scorers })))
}

fn failed(error: &RunError) -> TrainError {
    TrainError::Remote(error.to_string())
}

impl RemoteScorers for Server {
    fn score(
        &self,
        scorer: &str,
        inputs: &[Arc<Input>],
        seed: u64,
    ) -> trainer::Result<Vec<Outcome>> {
        let backend = &self.scorers[scorer];
        let inputs = inputs.iter().map(|input| wire::input(input)).collect();
        // The wire has integers that are exact as doubles.
        let seed = seed & ((1 << 53) - 1);
        let rows = backend.score_seeded(inputs, seed).map_err(|error| failed(&error))?;
        let outcome = |row: Result<Vec<openapi::ScoreResult>, String>| match row {
            Ok(results) => results.into_iter().next().map(wire::outcome),
            Err(why) => Some(wire::refused(why)),
        };
        Ok(rows.into_iter().filter_map(outcome).collect())
    }

    fn load_adapter(&self, adapter: AdapterToLoad<'_>) -> trainer::Result<()> {
        let mut request = json!({
            "lora_name": adapter.name, "lora_path": adapter.path, "load_inplace": true,
        });
        if let Some(model) = adapter.model {
            request["base_model_name"] = json!(model);
        }
        // A section names at least one scorer.
        let backend = self.scorers.values().next();
        backend.map_or(Ok(()), |backend| {
            backend.load_adapter(&request).map_err(|error| failed(&error))
        })
    }
}
