//! OpenAI's files and batches: `/v1/files` and `/v1/batches`.
//!
//! Translates to [`crate::batches`]: forms and queries to records, records to objects. A client can
//! list and read only the files and batches of its own key.

pub(crate) mod batches;
pub(crate) mod files;
pub(crate) mod types;
mod upload;

use std::sync::Arc;

use actix_web::{HttpRequest, web};
use serde::de::DeserializeOwned;

use crate::batches::{Batches, Page, PageRange};
use crate::compat::shared::invalid;
use crate::error::{ApiError, Code};
use crate::extensions::Sender;
use crate::state::State;

/// Returns the batch store.
///
/// # Errors
/// 403 where no folder is configured.
fn enabled(state: &State) -> Result<Arc<Batches>, ApiError> {
    state.batches.clone().ok_or_else(|| {
        let message = "files and batches are off: batches.folder names the folder to keep them in";
        ApiError::new(Code::Forbidden, message)
    })
}

/// The owner of the files and batches of a request: its API key, or the one owner that all have
/// where there are no keys.
fn owner(request: &HttpRequest) -> String {
    let key = Sender::of(request).and_then(|sender| sender.key);
    key.map_or_else(|| "anybody".to_owned(), |key| key.owner().to_owned())
}

/// Returns a parameter of the path.
fn part<'r>(request: &'r HttpRequest, name: &str) -> &'r str {
    request.match_info().get(name).unwrap_or_default()
}

/// Parses the query parameters.
fn query<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, ApiError> {
    let read = web::Query::<T>::from_query(request.query_string());
    read.map(web::Query::into_inner).map_err(|error| invalid("query", error))
}

/// Creates a 404 error.
fn absent(what: &str, id: &str, param: &str) -> ApiError {
    let shown: String = id.chars().take(80).collect();
    ApiError::new(Code::NotFound, format!("no {what} {shown:?}")).at(param)
}

/// Returns the range of a page.
///
/// # Errors
/// 422 for a limit outside 1 to `most`.
fn page_range(
    (after, limit): (Option<&str>, Option<usize>),
    (default, most): (usize, usize),
    is_ascending: bool,
) -> Result<PageRange, ApiError> {
    let limit = limit.unwrap_or(default);
    if !(1..=most).contains(&limit) {
        return Err(invalid("limit", format_args!("1 to {most} are taken")));
    }
    Ok(PageRange { after: after.map(str::to_owned), limit, is_ascending })
}

/// Returns a page that was found.
///
/// # Errors
/// 404 if the page begins behind a record that is not there.
fn found_page<T>(page: Option<Page<T>>, range: &PageRange) -> Result<Page<T>, ApiError> {
    page.ok_or_else(|| absent("object", range.after.as_deref().unwrap_or_default(), "after"))
}
