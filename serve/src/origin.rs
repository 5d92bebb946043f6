//! Keeps pages of other sites out of a server without keys.
//!
//! A browser lets every page send requests to this machine's own addresses. Three checks make such
//! a request fail: its `Host` must be a local name (DNS rebinding gives a foreign one), its
//! `Origin` must be the server's own or one of `server.cors_origins`, and its body must have a
//! content type that a page cannot send without a preflight. Where there are keys none of this is
//! checked: a page has no key.

use std::net::IpAddr;

use actix_web::dev::ServiceResponse;
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
    TRANSFER_ENCODING, VARY,
};
use actix_web::{HttpRequest, HttpResponse};

use crate::config::Config;
use crate::error::{ApiError, Code};
use crate::routed_path::routed_path;

/// Checks the head of a request to a server without keys.
///
/// # Errors
/// 403 for a foreign `Host` or `Origin`, 415 for a body without a content type that is taken.
pub(crate) fn check(request: &HttpRequest, config: &Config) -> Result<(), ApiError> {
    let headers = request.headers();
    let host = text(headers, &HOST);
    if let Some(host) = host
        && !is_local(host, config)
    {
        let message = format!(
            "host: {host:?} is not this server's name; server.hosts lists names beside the local \
             ones, and server.api_keys_file lifts the check"
        );
        return Err(ApiError::new(Code::Forbidden, message).at("host"));
    }
    if let Some(origin) = text(headers, &ORIGIN)
        && !is_same(origin, host)
        && allowed_origin(headers, config).is_none()
    {
        let message = format!("origin: {origin:?} is not one of server.cors_origins");
        return Err(ApiError::new(Code::Forbidden, message).at("origin"));
    }
    check_content_type(request)
}

/// Adds the headers by which a browser lets a page of an allowed origin read the reply.
pub(crate) fn add_headers<B>(reply: &mut ServiceResponse<B>, config: &Config) {
    if config.cors_origins.is_empty() {
        return;
    }
    let origin = allowed_origin(reply.request().headers(), config).cloned();
    let headers = reply.headers_mut();
    headers.append(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let shown =
            HeaderValue::from_static("x-request-id, server-timing, retry-after, traceresponse");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, shown);
    }
}

/// The reply to the preflight of an allowed origin, which carries no key; `None` for every other
/// request.
pub(crate) fn preflight(request: &HttpRequest, config: &Config) -> Option<HttpResponse> {
    let headers = request.headers();
    let is_preflight =
        request.method() == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !is_preflight || allowed_origin(headers, config).is_none() {
        return None;
    }
    Some(
        HttpResponse::NoContent()
            .insert_header((ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"))
            .insert_header((
                ACCESS_CONTROL_ALLOW_HEADERS,
                "authorization, content-type, x-request-id, traceparent, tracestate",
            ))
            .insert_header((ACCESS_CONTROL_MAX_AGE, "600"))
            .finish(),
    )
}

fn allowed_origin<'h>(headers: &'h HeaderMap, config: &Config) -> Option<&'h HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let known = |known: &String| known.as_bytes() == origin.as_bytes();
    config.cors_origins.iter().any(known).then_some(origin)
}

/// Whether a page of `origin` came from the host that it calls.
fn is_same(origin: &str, host: Option<&str>) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.zip(host).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host))
}

/// Whether a `Host` names this machine: a loopback address, `localhost` or a name below it, the
/// address that is listened on, or one of `server.hosts`.
fn is_local(host: &str, config: &Config) -> bool {
    let name = without_port(host);
    if let Ok(ip) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        return ip.is_loopback() || ip == config.bind.ip();
    }
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || config.hosts.iter().any(|known| known.eq_ignore_ascii_case(&name))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Checks that a body has a content type that a page cannot send without a preflight: text, forms and
/// bodies without a type are refused.
fn check_content_type(request: &HttpRequest) -> Result<(), ApiError> {
    let headers = request.headers();
    let has_body = text(headers, &CONTENT_LENGTH).is_some_and(|length| length != "0")
        || headers.contains_key(TRANSFER_ENCODING);
    if !has_body {
        return Ok(());
    }
    let given = text(headers, &CONTENT_TYPE).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let upload = routed_path(request) == "/v1/files";
    let good = match essence.as_str() {
        "multipart/form-data" => upload,
        _ if upload => true,
        essence => essence == "application/json" || essence.ends_with("+json"),
    };
    if good {
        return Ok(());
    }
    let message = format!("content-type: {given:?} is not taken; send application/json");
    Err(ApiError::new(Code::UnsupportedMediaType, message).at("content-type"))
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    // No name of this server has other characters.
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn check_head(headers: &[(&str, &str)], config: &Config) -> Option<Code> {
        let request = TestRequest::post().uri("/v1/score");
        let add = |request: TestRequest, pair: &(&str, &str)| request.insert_header(*pair);
        let request = headers.iter().fold(request, add).to_http_request();
        check(&request, config).err().map(|error| error.code())
    }

    #[test]
    fn only_local_hosts_pass() {
        let config = Config { hosts: vec!["box.lan".to_owned()], ..Config::default() };
        let check = |host: &str, passes: bool| {
            let found = check_head(&[("host", host)], &config);
            assert_eq!(found, (!passes).then_some(Code::Forbidden), "{host}");
        };
        for host in ["localhost", "LOCALHOST:8080", "a.localhost", "127.0.0.1:1", "127.9.9.9"] {
            check(host, true);
        }
        for host in ["[::1]:8080", "[::1]", "box.lan", "Box.lan:8080"] {
            check(host, true);
        }
        for host in ["t", "evil.example", "localhost.evil.example", "10.0.0.1", ""] {
            check(host, false);
        }
    }

    #[test]
    fn only_allowed_origins_pass() {
        let origins = vec!["https://ui.example".to_owned()];
        let config = Config { cors_origins: origins, ..Config::default() };
        let check = |origin: &str, passes: bool| {
            let head = [("host", "localhost:8080"), ("origin", origin)];
            let found = check_head(&head, &config);
            assert_eq!(found, (!passes).then_some(Code::Forbidden), "{origin}");
        };
        check("http://localhost:8080", true);
        check("https://ui.example", true);
        check("http://localhost:8081", false);
        check("http://ui.example", false);
        check("https://evil.example", false);
        check("null", false);
    }

    #[test]
    fn bodies_need_a_type_that_pages_cannot_send() {
        let check = |kind: &str, passes: bool| {
            let head = [("content-length", "2"), ("content-type", kind)];
            let found = check_head(&head, &Config::default());
            assert_eq!(found, (!passes).then_some(Code::UnsupportedMediaType), "{kind}");
        };
        check("application/json", true);
        check("Application/JSON; charset=utf-8", true);
        check("application/vnd.api+json", true);
        check("text/plain", false);
        check("text/plain; application/json", false);
        check("application/x-www-form-urlencoded", false);
        check("multipart/form-data; boundary=x", false);
        let none = check_head(&[("content-length", "2")], &Config::default());
        assert_eq!(none, Some(Code::UnsupportedMediaType));
        assert_eq!(check_head(&[("content-length", "0")], &Config::default()), None);
    }
}
