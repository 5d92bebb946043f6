//! The path of a request as the router matches it.

use actix_web::HttpRequest;

/// Returns the path that the router matches: percent-encoded characters are decoded, except `%2F`,
/// `%2B` and `%25`. Decisions about a request by its path, such as the scopes that its key needs,
/// use this path and not [`HttpRequest::path`], which is the path as the client wrote it: each
/// route has many spellings there.
pub(crate) fn routed_path(request: &HttpRequest) -> &str {
    request.match_info().as_str()
}
