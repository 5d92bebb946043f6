//! Requests to the Hub: addresses, the token, statuses, and what is tried again.

use std::thread;
use std::time::Duration;

use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::{Agent, Body};

use crate::error::HubFault;
use crate::repo::Repo;
use crate::settings::HubSettings;

/// Most bytes of a list of files.
const MAX_LISTING: u64 = 64 << 20;
/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(15);
/// Longest time for a list of files to arrive.
const LISTING: Duration = Duration::from_mins(2);
/// Redirects that are followed.
const REDIRECTS: u32 = 5;

/// A client of one server.
pub(crate) struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
    attempts: u32,
    pause: Duration,
}

/// A fault, and whether another attempt may help.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// It may.
    Again(HubFault),
    /// It does not.
    Final(HubFault),
}

impl From<HubFault> for Attempt {
    fn from(fault: HubFault) -> Attempt {
        Attempt::Final(fault)
    }
}

/// The attempts of one transfer.
pub(crate) struct Attempts {
    left: u32,
    all: u32,
    pause: Duration,
    first_pause: Duration,
}

impl Attempts {
    /// Starts again after progress.
    pub(crate) fn renew(&mut self) {
        self.left = self.all;
        self.pause = self.first_pause;
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The fault, if it is final or there are no more attempts.
    pub(crate) fn next(&mut self, failed: Attempt) -> Result<(), HubFault> {
        let fault = match failed {
            Attempt::Final(fault) => return Err(fault),
            Attempt::Again(fault) => fault,
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Err(fault);
        }
        tracing::debug!(%fault, "the Hub is asked again");
        thread::sleep(self.pause);
        self.pause *= 2;
        Ok(())
    }
}

impl Client {
    pub(crate) fn new(settings: &HubSettings) -> Client {
        let builder = Agent::config_builder()
            .user_agent(concat!("tribunal/", env!("CARGO_PKG_VERSION")))
            .http_status_as_error(false)
            // A server that is asked over TLS does not send us elsewhere without it.
            .https_only(settings.endpoint.starts_with("https://"))
            .max_redirects(REDIRECTS)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            // Sizes and ranges are those of the content as it is.
            .accept_encoding("identity")
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(settings.silence))
            .timeout_recv_response(Some(settings.silence));
        let config = if is_loopback(&settings.endpoint) { builder.proxy(None) } else { builder };
        Client {
            agent: config.build().into(),
            endpoint: settings.endpoint.clone(),
            token: settings.token.clone(),
            attempts: settings.attempts.max(1),
            pause: settings.pause,
        }
    }

    pub(crate) fn attempts(&self) -> Attempts {
        Attempts {
            left: self.attempts,
            all: self.attempts,
            pause: self.pause,
            first_pause: self.pause,
        }
    }

    /// The bytes of the list of a repository's files.
    ///
    /// # Errors
    /// [`HubFault::Status`] and [`HubFault::Unreachable`].
    pub(crate) fn listing(&self, repo: &Repo) -> Result<Vec<u8>, HubFault> {
        let mut attempts = self.attempts();
        loop {
            match self.try_listing(repo) {
                Ok(bytes) => return Ok(bytes),
                Err(failed) => attempts.next(failed)?,
            }
        }
    }

    fn try_listing(&self, repo: &Repo) -> Result<Vec<u8>, Attempt> {
        let response = self.get(&repo.listing_path(), None, Some(LISTING))?;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(&response));
        }
        let read = response.into_body().with_config().limit(MAX_LISTING).read_to_vec();
        read.map_err(|error| {
            if let ureq::Error::BodyExceedsLimit(limit) = error {
                let what = format!("a list of files of more than {limit} bytes");
                return Attempt::Final(HubFault::Refused(what));
            }
            self.transport(&error)
        })
    }

    /// Asks for a file from this byte on; any status.
    pub(crate) fn file(
        &self,
        repo: &Repo,
        file: &str,
        from: u64,
    ) -> Result<Response<Body>, Attempt> {
        let path = repo.file_path(repo.revision(), file);
        self.get(&path, (from > 0).then_some(from), None)
    }

    fn get(
        &self,
        path: &str,
        from: Option<u64>,
        limit: Option<Duration>,
    ) -> Result<Response<Body>, Attempt> {
        let mut request = self.agent.get(format!("{}/{path}", self.endpoint));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(from) = from {
            request = request.header("range", format!("bytes={from}-"));
        }
        let request = request.config().timeout_global(limit).build();
        request.call().map_err(|error| self.transport(&error))
    }

    /// A reply that did not come, or broke off.
    pub(crate) fn transport(&self, error: &dyn std::error::Error) -> Attempt {
        Attempt::Again(HubFault::Unreachable {
            server: self.endpoint.clone(),
            what: error.to_string(),
        })
    }

    /// A reply whose status is a failure.
    pub(crate) fn refusal(&self, response: &Response<Body>) -> Attempt {
        let status = response.status();
        let fault = HubFault::Status {
            status: status.as_u16(),
            server: self.endpoint.clone(),
            advice: self.advice(status, response.headers()),
        };
        if fault.may_pass() { Attempt::Again(fault) } else { Attempt::Final(fault) }
    }

    fn advice(&self, status: StatusCode, headers: &HeaderMap) -> String {
        let code = headers.get("x-error-code").and_then(|code| code.to_str().ok());
        let advice = match (status, code) {
            (_, Some("RevisionNotFound")) => "there is no such branch, tag or commit",
            (_, Some("EntryNotFound")) => "there is no such file at this revision",
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => match (code, &self.token) {
                (Some("GatedRepo"), None) => {
                    "the repository is gated: accept its terms on its page, and set HF_TOKEN"
                }
                (Some("GatedRepo"), Some(_)) => {
                    "the repository is gated: accept its terms on its page with the account of HF_TOKEN"
                }
                (_, None) => {
                    "the repository is private or gated, or its name is wrong: check the name, and set HF_TOKEN"
                }
                (_, Some(_)) => {
                    "the account of HF_TOKEN may not read the repository, or its name is wrong"
                }
            },
            (StatusCode::NOT_FOUND, _) => "the name or the revision is wrong",
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                "too many requests: try again later, or with HF_TOKEN"
            }
            (status, _) if status.is_server_error() => "the server has a fault: try again later",
            _ => "HF_ENDPOINT may name a server that is no Hub",
        };
        advice.to_owned()
    }
}

/// Whether an address is of this machine, where no proxy is asked.
fn is_loopback(endpoint: &str) -> bool {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|prefix| host.starts_with(prefix))
}
