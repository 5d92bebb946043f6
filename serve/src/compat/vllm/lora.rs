//! `POST /v1/load_lora_adapter` and `POST /v1/unload_lora_adapter`.
//!
//! A path in a request gives access to the server's files. So the routes are off until
//! `compat.adapters` names a folder; adapters must lie in it after symbolic links are resolved; and
//! adapters of the configuration cannot be unloaded, and replaced only where it says so.
//!
//! A load or an unload that has begun ends, whether its client waits for it or not: an engine cannot
//! take back half of it. At most one runs at a time, and clients that leave before theirs has begun
//! leave nothing behind.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use actix_web::http::header::ContentType;
use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, post};
use engine::Host;
use openapi::parse_body;
use tokio::sync::OwnedMutexGuard;

use super::types::{LoadAdapterRequest, UnloadAdapterRequest};
use crate::blocking::blocking;
use crate::call::Call;
use crate::compat::shared::error_bodies::VllmError;
use crate::compat::shared::responses::VllmFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError, invalid};
use crate::error::{ApiError, Code};
use crate::extensions::AuditSubject;
use crate::hosts::Served;
use crate::names::{self, not_found, shown};
use crate::state::State;

/// Most adapters that requests may have loaded at a time.
const MOST_ADAPTERS: usize = 64;

/// Loads an adapter from the folder `compat.adapters` and serves it by name.
#[utoipa::path(
    tag = "compat",
    request_body = LoadAdapterRequest,
    responses(
        (status = 200, description = "It is being served.", body = String,
         content_type = "text/plain"),
        (status = 403, description = "Not allowed here; the message says by what.",
         body = VllmError),
        VllmFailures,
    )
)]
#[post("/v1/load_lora_adapter")]
pub(crate) async fn load_lora_adapter(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let mut call = Call::begin(&request, payload, &state).await?;
        let folder = folder(&state)?;
        let params: LoadAdapterRequest = call.parse(parse_body).await?;
        request.extensions_mut().insert(AuditSubject(shown(&params.lora_name)));
        call.admit(1, call.deadline())?;
        load(&state, folder, params).await
    };
    answering.await.map_err(ApiFlavor::Vllm.refusal())
}

/// Unloads an adapter that a request has loaded.
#[utoipa::path(
    tag = "compat",
    request_body = UnloadAdapterRequest,
    responses(
        (status = 200, description = "It is served no more.", body = String,
         content_type = "text/plain"),
        (status = 403, description = "Not allowed here; the message says by what.",
         body = VllmError),
        VllmFailures,
    )
)]
#[post("/v1/unload_lora_adapter")]
pub(crate) async fn unload_lora_adapter(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let mut call = Call::begin(&request, payload, &state).await?;
        folder(&state)?;
        let params: UnloadAdapterRequest = call.parse(parse_body).await?;
        request.extensions_mut().insert(AuditSubject(shown(&params.lora_name)));
        call.admit(1, call.deadline())?;
        unload(&state, &params.lora_name).await
    };
    answering.await.map_err(ApiFlavor::Vllm.refusal())
}

fn folder(state: &State) -> Result<&Path, ApiError> {
    state.config.compat_adapters.as_deref().ok_or_else(|| {
        forbidden(
            "adapters are not loaded by request here: set compat.adapters to the folder that they \
             may come from",
        )
    })
}

async fn load(
    state: &Data<State>,
    folder: &Path,
    params: LoadAdapterRequest,
) -> Result<HttpResponse, ApiError> {
    let name = params.lora_name;
    if !rubrics::config::fits_name(&name) {
        return Err(invalid("lora_name", rubrics::config::NAME_RULE));
    }
    let host = base(state, params.base_model_name.as_deref())?;
    let path = inside(folder, &params.lora_path)?;
    // Held to the end, so that the second of two requests for one name sees the result of the
    // first.
    let loaded = state.hosts.loaded.clone().lock_owned().await;
    check_name(state, &loaded, (&host, &name), params.load_inplace)?;
    let is_listed = loaded.iter().any(|known| **known == name);
    let is_new = !is_listed && !state.hosts.is_replaceable(&name);
    if is_new && loaded.len() >= MOST_ADAPTERS {
        let what =
            format_args!("{MOST_ADAPTERS} adapters are loaded by request, which is the most");
        return Err(invalid("lora_name", what));
    }
    let text = format!("Success: LoRA adapter '{name}' added successfully.");
    to_the_end(load_locked(loaded, host, (name, is_new), path))
        .await??
        .map_err(|what| invalid("lora_path", hidden(folder, &what)))?;
    Ok(plain(text))
}

/// Loads an adapter into an engine and lists it.
///
/// # Errors
/// The fault of its folder.
async fn load_locked(
    mut loaded: OwnedMutexGuard<Vec<Arc<str>>>,
    host: Arc<Host>,
    (name, is_new): (String, bool),
    path: PathBuf,
) -> Result<Result<(), String>, ApiError> {
    let (of, into) = (host.clone(), name.clone());
    let loading = blocking(move || read(&of, &into, &path)).await;
    if let Err(problem) = loading.map_err(ApiError::internal)? {
        return Ok(Err(problem));
    }
    if is_new {
        loaded.push(name.as_str().into());
    }
    tracing::info!(adapter = name, model = &*host.name, "loaded by request");
    Ok(Ok(()))
}

async fn unload(state: &Data<State>, name: &str) -> Result<HttpResponse, ApiError> {
    let loaded = state.hosts.loaded.clone().lock_owned().await;
    let Some(at) = loaded.iter().position(|known| **known == *name) else {
        return Err(if state.hosts.get(name).is_some() {
            forbidden("what the configuration has loaded is not taken away by request")
        } else {
            not_found(format!("no adapter {:?} was loaded by request", shown(name)))
        });
    };
    let text = format!("Success: LoRA adapter '{name}' removed successfully.");
    to_the_end(unload_locked(loaded, state.clone(), at)).await??;
    Ok(plain(text))
}

/// Removes an adapter from all engines, and then from the list: where an engine fails, the next
/// request can try again.
async fn unload_locked(
    mut loaded: OwnedMutexGuard<Vec<Arc<str>>>,
    state: Data<State>,
    at: usize,
) -> Result<(), ApiError> {
    let name = loaded[at].clone();
    for host in state.hosts.iter() {
        let removed = host.engine.remove_adapter(name.clone()).await;
        removed.map_err(ApiError::internal)?;
    }
    loaded.swap_remove(at);
    tracing::info!(adapter = &*name, "unloaded by request");
    Ok(())
}

/// Runs work to its end, also where the caller is dropped.
async fn to_the_end<T: 'static>(work: impl Future<Output = T> + 'static) -> Result<T, ApiError> {
    actix_web::rt::spawn(work).await.map_err(ApiError::internal)
}

/// Returns the base model of an adapter.
fn base(state: &State, name: Option<&str>) -> Result<Arc<Host>, ApiError> {
    match names::model(state, name) {
        Ok(Served { host, adapter: None, .. }) => Ok(host),
        Ok(_) => Err(invalid("base_model_name", "that is an adapter itself")),
        Err(error) if name.is_none() && error.code() == Code::InvalidBody => {
            Err(invalid("base_model_name", "it is missing, and there are several models"))
        }
        Err(error) => Err(error),
    }
}

fn check_name(
    state: &State,
    loaded: &[Arc<str>],
    (host, name): (&Host, &str),
    in_place: bool,
) -> Result<(), ApiError> {
    let own = loaded.iter().any(|known| **known == *name);
    if in_place && (own || state.hosts.is_replaceable(name)) {
        let of = state.hosts.get(name).map(|served| served.host.name.clone());
        return match of {
            Some(of) if of != host.name => {
                Err(invalid("base_model_name", "the adapter of this name is of another model"))
            }
            // An adapter that is listed and not served is one that could not be unloaded completely.
            Some(_) | None => Ok(()),
        };
    }
    if own {
        let what = "an adapter of this name is loaded; `load_inplace` would replace it";
        return Err(invalid("lora_name", what));
    }
    if state.registry.get(name).is_some() || state.hosts.get(name).is_some() {
        return Err(forbidden(
            "the configuration has given this name, and a request does not take it",
        ));
    }
    Ok(())
}

/// Resolves the folder of a request, which must lie within `folder` after links are resolved. A
/// path outside gets the same error whether it exists or not.
fn inside(folder: &Path, given: &str) -> Result<PathBuf, ApiError> {
    let outside = || forbidden("lora_path: adapters come from the folder of compat.adapters alone");
    let given = Path::new(given);
    let climbs = |part: Component<'_>| matches!(part, Component::ParentDir);
    if given.components().any(climbs) {
        return Err(outside());
    }
    let root = folder.canonicalize().map_err(ApiError::internal)?;
    let relative =
        given.strip_prefix(&root).or_else(|_| given.strip_prefix(folder)).unwrap_or(given);
    if relative.is_absolute() {
        return Err(outside());
    }
    let missing = || not_found("lora_path: the folder of compat.adapters has no such folder");
    let found = root.join(relative).canonicalize().map_err(|_| missing())?;
    if !found.starts_with(&root) {
        return Err(outside());
    }
    if found == root || !found.is_dir() {
        return Err(missing());
    }
    Ok(found)
}

/// Loads a folder into an engine, which answers from its own thread, so any runtime will do.
fn read(host: &Host, name: &str, path: &Path) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    let loading = runtime.block_on(host.load_adapter(name, path));
    loading.map(drop).map_err(|error| error.to_string())
}

/// Removes the location of the folder from a message. A message that names another file, such as
/// the base model's, goes only to the log.
fn hidden(folder: &Path, message: &str) -> String {
    let root = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let shown = message.replace(&*root.to_string_lossy(), "adapters");
    let is_path = |word: &str| word.starts_with('/');
    if shown.split([' ', '`', '"', '\'', '(']).any(is_path) {
        tracing::warn!(message, "an adapter could not be loaded by request");
        return "it could not be loaded; the server's log says why".to_owned();
    }
    shown
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(Code::Forbidden, message)
}

fn plain(text: String) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::plaintext()).body(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(folder: &Path, given: &str, expected: Result<&str, Code>) {
        let found = inside(folder, given).map_err(|error| error.code());
        let root = folder.canonicalize().expect("it is there");
        let found = found.map(|path| {
            let inner = path.strip_prefix(&root).expect("it is inside");
            inner.to_string_lossy().into_owned()
        });
        assert_eq!(found, expected.map(str::to_owned), "{given}");
    }

    #[test]
    fn messages_hide_other_paths() {
        let folder = std::env::temp_dir();
        let root = folder.canonicalize().expect("it is there");
        let own = format!("{}/a/adapter_config.json: `r` is 0", root.display());
        let shown = "adapters/a/adapter_config.json: `r` is 0";
        assert_eq!(hidden(&folder, &own), shown);
        let hidden_words = "it could not be loaded; the server's log says why";
        for other in ["/srv/rm: gone", "reading \"/srv/rm\": gone", "in `/srv/rm`"] {
            assert_eq!(hidden(&folder, other), hidden_words, "{other}");
        }
    }

    #[test]
    fn paths_outside_the_folder_are_refused() {
        let place = std::env::temp_dir().join(format!("adapters-{}", std::process::id()));
        let folder = place.join("adapters");
        std::fs::create_dir_all(folder.join("a/b")).expect("a folder");
        std::fs::create_dir_all(place.join("adapters-secret")).expect("a folder");
        std::fs::write(folder.join("file"), "").expect("a file");
        std::os::unix::fs::symlink(&place, folder.join("out")).expect("a link");
        std::os::unix::fs::symlink("a", folder.join("in")).expect("a link");
        let absolute = folder.join("a").to_string_lossy().into_owned();
        let forbidden = Err(Code::Forbidden);
        let missing = Err(Code::ScorerNotFound);
        check(&folder, "a", Ok("a"));
        check(&folder, "a/b", Ok("a/b"));
        check(&folder, "./a", Ok("a"));
        check(&folder, "in", Ok("a"));
        check(&folder, &absolute, Ok("a"));
        check(&folder, "", missing);
        check(&folder, ".", missing);
        check(&folder, "file", missing);
        check(&folder, "nothing", missing);
        check(&folder, "nul\0", missing);
        check(&folder, "..", forbidden);
        check(&folder, "a/../../adapters-secret", forbidden);
        check(&folder, "../adapters-secret", forbidden);
        check(&folder, "out", forbidden);
        check(&folder, "out/adapters-secret", forbidden);
        check(&folder, "/etc", forbidden);
        check(&folder, "/no/such/place", forbidden);
        check(&folder, &format!("{}-secret", folder.display()), forbidden);
        std::fs::remove_dir_all(&place).expect("it was made here");
    }
}
