//! Resolves names in requests to scorers, models and adapters.

use std::sync::Arc;

use rubrics::{Registry, Scorer};

use crate::error::{ApiError, Code};
use crate::hosts::Served;
use crate::state::State;

/// Returns the scorer of this name, or the default scorer of the model or adapter of this name.
///
/// # Errors
/// 404 with similar names, or with what the model lacks for scoring.
pub(crate) fn scorer(state: &State, name: &str) -> Result<Arc<Scorer>, ApiError> {
    if let Some(scorer) = state.registry.get(name) {
        return Ok(scorer.clone());
    }
    if let Some(served) = state.tools.models.find(name) {
        let native = Scorer::native(&served).map(Arc::new);
        return native.map_err(|lacks| {
            not_found(format!(
                "'{name}' is a model and no scorer: {lacks}; a [[scorer]] of the configuration says how to ask it"
            ))
        });
    }
    let near = near_scorers(state, name);
    let hint = if let Some(why) = Registry::absent_default(name) {
        why.to_owned()
    } else if near.is_empty() {
        "GET /v1/models lists the scorers".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    Err(not_found(format!("no scorer {:?}; {hint}", shown(name))))
}

/// Returns the model or adapter of this name; without a name the only model.
///
/// # Errors
/// 404 with similar names, 422 where no name is given and there are several models.
pub(crate) fn model(state: &State, name: Option<&str>) -> Result<Served, ApiError> {
    let Some(name) = name else {
        let mut hosts = state.hosts.iter();
        return match (hosts.next(), hosts.next()) {
            (Some(only), None) => Ok(state.hosts.get(&only.name).expect("it goes by its own name")),
            (Some(_), Some(_)) => {
                let message = "model: it is missing, and there are several";
                Err(ApiError::new(Code::InvalidBody, message).at("model"))
            }
            (None, _) => Err(not_found("the server has no models")),
        };
    };
    if let Some(served) = state.hosts.get(name) {
        return Ok(served);
    }
    if state.registry.get(name).is_some() {
        let message = format!("'{name}' is a scorer; this route takes a model");
        return Err(not_found(message));
    }
    let near = state.hosts.near(name);
    let hint = if near.is_empty() {
        "GET /v1/models lists the models".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    Err(not_found(format!("no model {:?}; {hint}", shown(name))))
}

/// Quotes and truncates a name for an error message, as Rust escapes strings, so that control
/// characters are harmless.
pub(crate) fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Creates a 404 error at `model`.
pub(crate) fn not_found(message: impl Into<String>) -> ApiError {
    ApiError::new(Code::ScorerNotFound, message).at("model")
}

/// Lists scorers, and models that score by default, with similar names.
fn near_scorers(state: &State, name: &str) -> Vec<String> {
    let scorers = state.registry.near(name).into_iter().map(str::to_owned);
    let models = state.tools.models.near(name).into_iter();
    let scoring = models.filter(|model| {
        let served = state.tools.models.find(model);
        served.is_some_and(|served| Scorer::native(&served).is_ok())
    });
    scorers.chain(scoring.map(|model| model.to_string())).collect()
}
