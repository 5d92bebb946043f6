//! The target of requests: address, path and headers, resolved once before the run.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Uri};

use crate::error::LoadError;

/// A server, and the common parts of all requests to it.
#[derive(Debug)]
pub(crate) struct ServerTarget {
    /// The URL as given, for messages.
    pub(crate) url: String,
    /// The addresses of its host, in order of preference.
    pub(crate) addresses: Vec<SocketAddr>,
    path: Uri,
    headers: HeaderMap,
}

impl ServerTarget {
    /// Resolves the host of `url`, appends `route` to its path, and reads the key.
    pub(crate) fn resolve(
        url: &str,
        route: &str,
        api_key_file: Option<&Path>,
    ) -> Result<Self, LoadError> {
        let (authority, path) = split(url, route)?;
        let host = HeaderValue::from_str(authority.as_str())
            .map_err(|_| LoadError::usage("--url", "its host is no header value"))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static("tribunal-bench"));
        if let Some(file) = api_key_file {
            headers.insert(header::AUTHORIZATION, bearer(file)?);
        }
        let unreachable = |source| LoadError::Unreachable { url: url.to_owned(), source };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let port = port(&authority)?;
        let addresses = (host, port).to_socket_addrs().map_err(unreachable)?.collect();
        Ok(Self { url: url.to_owned(), addresses, path, headers })
    }

    /// A request with this body.
    pub(crate) fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// The authority of a base URL, and the path and query of a route below it.
fn split(url: &str, route: &str) -> Result<(Authority, Uri), LoadError> {
    let wrong = |message: String| LoadError::usage("--url", message);
    let uri: Uri = url.parse().map_err(|error| wrong(format!("`{url}` is no URL: {error}")))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            let message = "https is not spoken here: point it at the server's plain http port";
            return Err(wrong(message.to_owned()));
        }
        Some(_) | None => return Err(wrong(format!("`{url}` does not start with http://"))),
    }
    let authority = uri.authority().filter(|authority| !authority.host().is_empty());
    let authority = authority.ok_or_else(|| wrong(format!("`{url}` has no host")))?;
    if authority.as_str().contains('@') {
        return Err(wrong("must not hold a password: use --api-key-file".to_owned()));
    }
    if uri.query().is_some() {
        return Err(wrong("must not hold a query".to_owned()));
    }
    let path = format!("{}{route}", uri.path().trim_end_matches('/'));
    let path = path.parse().map_err(|error| wrong(format!("`{path}` is no path: {error}")))?;
    Ok((authority.clone(), path))
}

/// The port; 80 by default.
fn port(authority: &Authority) -> Result<u16, LoadError> {
    let after_host = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
    let Some(digits) = after_host.strip_prefix(':') else {
        return Ok(80);
    };
    let wrong = |_| LoadError::usage("--url", format!("`{digits}` is no port"));
    digits.parse().map_err(wrong)
}

fn bearer(file: &Path) -> Result<HeaderValue, LoadError> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| LoadError::Read { path: file.to_owned(), source })?;
    let key = text.lines().map(str::trim).find(|line| !line.is_empty());
    let wrong = |message: &str| LoadError::usage("--api-key-file", message);
    let key = key.ok_or_else(|| wrong("holds no key"))?;
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| wrong("holds a key that is no header value"))?;
    // Keeps the key out of debug output.
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn urls_are_resolved_or_refused() {
        let table = [
            ("http://127.0.0.1:8080", Some("/v1/score")),
            ("http://127.0.0.1:8080/", Some("/v1/score")),
            ("http://[::1]:8080/api/", Some("/api/v1/score")),
            ("HTTP://127.0.0.1", Some("/v1/score")),
            ("https://127.0.0.1:8080", None),
            ("127.0.0.1:8080", None),
            ("ftp://127.0.0.1", None),
            ("http://", None),
            ("http://:80", None),
            ("http://user:key@127.0.0.1", None),
            ("http://127.0.0.1/?a=b", None),
            ("/v1/score", None),
            ("http://127.0.0.1:99999", None),
            ("http://127.0.0.1:", None),
            ("", None),
        ];
        for (url, expected) in table {
            let path =
                ServerTarget::resolve(url, "/v1/score", None).map(|target| target.path.to_string());
            match (path, expected) {
                (Ok(path), Some(expected)) => assert_eq!(path, expected, "{url}"),
                (Err(error), None) => assert_eq!(error.exit_code(), 2, "{url}"),
                (other, _) => panic!("{url}: {other:?}"),
            }
        }
    }

    #[test]
    fn key_is_the_first_line_and_is_not_printed() {
        let table = [
            ("\n  k-1 \nk-2\n", Some("Bearer k-1")),
            ("", None),
            (" \n", None),
            ("a\u{7f}b", None),
        ];
        for (text, expected) in table {
            let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
            file.write_all(text.as_bytes()).expect("a temporary file takes bytes");
            let target =
                ServerTarget::resolve("http://127.0.0.1:1", "/v1/score", Some(file.path()));
            let header = target.as_ref().ok().map(|target| &target.headers[header::AUTHORIZATION]);
            assert_eq!(header.map(HeaderValue::as_bytes), expected.map(str::as_bytes), "{text:?}");
            assert!(!format!("{target:?}").contains("k-1"));
        }
        let missing =
            ServerTarget::resolve("http://127.0.0.1:1", "/", Some(Path::new("no/such/key")));
        assert_eq!(missing.map(|_| ()).expect_err("no file").exit_code(), 2);
    }
}
