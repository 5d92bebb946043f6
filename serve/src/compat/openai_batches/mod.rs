//! OpenAI's files and batches: `/v1/files` and `/v1/batches`.
//!
//! A translation to [`crate::batches`]: forms and queries become records, records become objects. A
//! client sees only the files and batches of its own key.

pub(crate) mod batches;
pub(crate) mod files;
pub(crate) mod types;
mod upload;

use std::sync::Arc;

use actix_web::{HttpRequest, web};
use serde::de::DeserializeOwned;

use crate::batches::{Batches, StorageError};
use crate::compat::invalid;
use crate::error::{ApiError, Code};
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

/// Returns the owner name of the client.
fn owner(request: &HttpRequest, state: &State) -> String {
    state.keys.owner(request.headers())
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

/// Runs disk work on a blocking thread.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = web::block(work).await.map_err(ApiError::internal)?;
    done.map_err(ApiError::from)
}

/// Creates a 404 error.
fn absent(what: &str, id: &str, param: &str) -> ApiError {
    let shown: String = id.chars().take(80).collect();
    ApiError::new(Code::NotFound, format!("no {what} {shown:?}")).at(param)
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
struct Page<T> {
    items: Vec<T>,
    has_more: bool,
}

impl<T> Page<T> {
    /// Selects at most `limit` items after the one named `after`.
    ///
    /// # Errors
    /// No item of that name.
    fn of(
        mut all: Vec<T>,
        after: Option<&str>,
        limit: usize,
        name: impl Fn(&T) -> &str,
    ) -> Result<Page<T>, ApiError> {
        if let Some(after) = after {
            let at = all.iter().position(|item| name(item) == after);
            let at = at.ok_or_else(|| absent("object", after, "after"))?;
            all.drain(..=at);
        }
        let has_more = all.len() > limit;
        all.truncate(limit);
        Ok(Page { items: all, has_more })
    }
}

/// Returns the page size.
///
/// # Errors
/// 422 outside 1 to `most`.
fn limit(given: Option<usize>, default: usize, most: usize) -> Result<usize, ApiError> {
    let limit = given.unwrap_or(default);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(invalid("limit", format_args!("1 to {most} are taken")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(after: Option<&str>, limit: usize, expected: Option<(&[&str], bool)>) {
        let all = vec!["a", "b", "c"];
        let page = Page::of(all, after, limit, |item| *item).ok();
        let expected = expected.map(|(items, has_more)| Page { items: items.to_vec(), has_more });
        assert_eq!(page, expected, "{after:?} {limit}");
    }

    #[test]
    fn pages_follow_each_other() {
        check(None, 10, Some((&["a", "b", "c"], false)));
        check(None, 3, Some((&["a", "b", "c"], false)));
        check(None, 2, Some((&["a", "b"], true)));
        check(Some("a"), 1, Some((&["b"], true)));
        check(Some("b"), 1, Some((&["c"], false)));
        check(Some("c"), 1, Some((&[], false)));
        check(Some("d"), 1, None);
    }
}
