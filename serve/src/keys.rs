//! API keys: reading them, the scopes of each, and the refusal of wrong ones.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::error::{ApiError, Code};

/// Minimum length of a key in bytes; shorter keys can be guessed.
pub const MIN_KEY_BYTES: usize = 16;

/// The accepted API keys, as digests: equal lengths make comparisons independent of the keys'
/// lengths, and a memory dump holds no key.
#[derive(Debug, Default)]
pub struct Keys {
    keys: Vec<Arc<Key>>,
}

/// One API key, without the key itself.
#[derive(Debug)]
pub struct Key {
    digest: [u8; 32],
    /// Identifies the key in buckets and fair shares.
    id: u64,
    /// The owner of files and batches: derived from the digest, so that a record on the disk is not
    /// a credential.
    owner: String,
    /// The operator's name for the key, in the audit log.
    name: Option<String>,
    scopes: Scopes,
}

/// A permission of a key, which routes require.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Scores, decisions and heads, and files and batches of such requests.
    Score,
    /// Generated text: chat and completions.
    Generate,
    /// Loading and unloading of adapters.
    Admin,
    /// `GET /metrics`.
    Metrics,
}

impl Scope {
    const ALL: [(&str, Scope); 4] = [
        ("score", Scope::Score),
        ("generate", Scope::Generate),
        ("admin", Scope::Admin),
        ("metrics", Scope::Metrics),
    ];

    /// The scopes of which a key needs one to call a path; empty for paths that every key may call:
    /// health, documents and the list of models. A batch also needs the scope of its endpoint.
    pub fn of(path: &str) -> &'static [Scope] {
        match path {
            "/" | "/health" | "/healthz" | "/livez" | "/readyz" | "/openapi.json" | "/docs"
            | "/v1/models" | "/v1/keys" | "/info" => &[],
            "/v1/chat/completions" | "/v1/completions" | "/v1/responses" => &[Scope::Generate],
            "/v1/load_lora_adapter" | "/v1/unload_lora_adapter" => &[Scope::Admin],
            "/metrics" => &[Scope::Metrics],
            "/v1/files" | "/v1/batches" => &[Scope::Score, Scope::Generate],
            _ if path.starts_with("/docs/") || path.starts_with("/playground/") => &[],
            _ if path.starts_with("/v1/files/") || path.starts_with("/v1/batches/") => {
                &[Scope::Score, Scope::Generate]
            }
            _ => &[Scope::Score],
        }
    }

    fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, scope)| *scope == self);
        named.expect("every scope is listed").0
    }
}

/// A set of scopes, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scopes(u8);

impl Scopes {
    const ALL: Scopes = Scopes(0b1111);

    /// Reads `score,metrics`.
    fn parse(text: &str) -> Result<Scopes, String> {
        let mut scopes = Scopes(0);
        for name in text.split(',') {
            let found = Scope::ALL.iter().find(|(known, _)| *known == name);
            let (_, scope) = found.ok_or_else(|| {
                "scopes are of score, generate, admin and metrics, with commas between".to_owned()
            })?;
            scopes.0 |= scope.bit();
        }
        Ok(scopes)
    }

    fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }
}

impl Scope {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A faulty line of a key file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyProblem {
    /// Line number, from 1.
    pub line: usize,
    /// The fault; never the key itself.
    pub message: String,
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl Key {
    /// Reads a line: a key, then `scopes=score,metrics` and `name=trainer` in any order.
    fn parse(line: &str) -> Result<Key, String> {
        let mut fields = line.split_ascii_whitespace();
        let key = fields.next().unwrap_or_default();
        if key.len() < MIN_KEY_BYTES {
            return Err(format!("a key needs at least {MIN_KEY_BYTES} bytes"));
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a key may hold printable ASCII only".to_owned());
        }
        let (mut scopes, mut name) = (None, None);
        for field in fields {
            match field.split_once('=') {
                Some(("scopes", text)) if scopes.is_none() => scopes = Some(Scopes::parse(text)?),
                Some(("name", text)) if name.is_none() && !text.is_empty() => {
                    name = Some(text.to_owned());
                }
                _ => return Err("after a key come scopes=... and name=... at most".to_owned()),
            }
        }
        let digest: [u8; 32] = Sha256::digest(key).into();
        let twice = Sha256::digest(digest);
        let id = u64::from_le_bytes(*twice.first_chunk().expect("a digest has 32 bytes"));
        let owner = twice.iter().fold("key-".to_owned(), |name, byte| format!("{name}{byte:02x}"));
        Ok(Key { digest, id, owner, name, scopes: scopes.unwrap_or(Scopes::ALL) })
    }

    /// Identifies the key in buckets and fair shares.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The owner of files and batches that come with this key.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name of the key for logs: the operator's, else the first digits of its owner.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.owner[..12])
    }

    /// Checks that the key may call `path`.
    ///
    /// # Errors
    /// 403 where it has none of the scopes of the path.
    pub fn allow(&self, path: &str) -> Result<(), ApiError> {
        let needed = Scope::of(path);
        if needed.is_empty() || needed.iter().any(|scope| self.scopes.has(*scope)) {
            return Ok(());
        }
        let names: Vec<&str> = needed.iter().map(|scope| scope.name()).collect();
        let message = format!("this API key has no scope '{}'", names.join("' or '"));
        Err(ApiError::new(Code::Forbidden, message))
    }
}

impl Keys {
    /// Reads one key a line. Empty lines and lines that start with `#` do not count.
    ///
    /// # Errors
    /// Every line that is not a key, and a text without keys.
    pub fn parse(text: &str) -> Result<Self, Vec<KeyProblem>> {
        let mut keys: Vec<Arc<Key>> = Vec::new();
        let mut problems = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match Key::parse(line) {
                Ok(key) if keys.iter().any(|known| known.digest == key.digest) => {
                    let message = "the same key stands on an earlier line".to_owned();
                    problems.push(KeyProblem { line: index + 1, message });
                }
                Ok(key) => keys.push(Arc::new(key)),
                Err(message) => problems.push(KeyProblem { line: index + 1, message }),
            }
        }
        if keys.is_empty() && problems.is_empty() {
            let message = "the file holds no key".to_owned();
            problems.push(KeyProblem { line: 1, message });
        }
        if problems.is_empty() { Ok(Self { keys }) } else { Err(problems) }
    }

    /// Returns whether no keys are configured, so that every request is accepted.
    pub fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of a request; `None` where there are no keys.
    ///
    /// # Errors
    /// 401 where a key is needed and the request has none, a wrong one, or more than one.
    pub fn check(&self, headers: &HeaderMap) -> Result<Option<Arc<Key>>, ApiError> {
        self.check_as(headers, |header| bearer(header).map(Cow::Borrowed))
    }

    /// The same for the pages that describe the interface, whose key may also be the password of
    /// Basic authentication (RFC 7617): a browser sends no other for an address that is typed.
    ///
    /// # Errors
    /// As [`Keys::check`].
    pub(crate) fn check_page(&self, headers: &HeaderMap) -> Result<Option<Arc<Key>>, ApiError> {
        self.check_as(headers, |header| {
            bearer(header).map(Cow::Borrowed).or_else(|| password(header).map(Cow::Owned))
        })
    }

    fn check_as(
        &self,
        headers: &HeaderMap,
        read: fn(&[u8]) -> Option<Cow<'_, [u8]>>,
    ) -> Result<Option<Arc<Key>>, ApiError> {
        if self.is_open() {
            return Ok(None);
        }
        let denied = |message: &str| Err(ApiError::new(Code::InvalidApiKey, message));
        let mut given = headers.get_all(AUTHORIZATION);
        let Some(header) = given.next() else {
            return denied("send 'Authorization: Bearer KEY'");
        };
        if given.next().is_some() {
            return denied("more than one Authorization header");
        }
        let Some(key) = read(header.as_bytes()) else {
            return denied("the Authorization header must read 'Bearer KEY'");
        };
        match self.find(&key) {
            Some(key) => Ok(Some(key)),
            None => denied("this API key is not known"),
        }
    }

    /// Finds a key. Compares it with every known key in constant time, so that the time does not
    /// depend on the key.
    fn find(&self, key: &[u8]) -> Option<Arc<Key>> {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let mut found = u64::MAX;
        for (index, known) in (0..).zip(&self.keys) {
            found.conditional_assign(&index, known.digest.ct_eq(&digest));
        }
        self.keys.get(usize::try_from(found).ok()?).cloned()
    }
}

/// The key of an `Authorization` header, without the spaces and tabs around it.
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = header.split_at_checked(6)?;
    let key = key.strip_prefix(b" ").or_else(|| key.strip_prefix(b"\t"))?;
    scheme.eq_ignore_ascii_case(b"bearer").then(|| key.trim_ascii())
}

/// The password of a header of Basic authentication, whose user name does not count.
fn password(header: &[u8]) -> Option<Vec<u8>> {
    let (scheme, encoded) = header.split_at_checked(6)?;
    let scheme = scheme.eq_ignore_ascii_case(b"basic ").then_some(encoded)?;
    let decoded = BASE64_STANDARD.decode(scheme.trim_ascii()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    const KEY: &str = "0123456789abcdef-A";

    #[test]
    fn key_files_are_parsed() {
        let problems = |text: &str| match Keys::parse(text) {
            Ok(keys) => format!("{} keys", keys.len()),
            Err(problems) => {
                let lines: Vec<String> = problems.iter().map(|p| p.line.to_string()).collect();
                format!("lines {}", lines.join(","))
            }
        };
        for (text, expected) in [
            (format!("# ours\n{KEY}\n\n{KEY}2\n"), "2 keys"),
            (format!("{KEY}\r\n"), "1 keys"),
            (format!("{KEY}\n{KEY}\n"), "lines 2"),
            ("short\n".to_owned(), "lines 1"),
            (format!("short\n{KEY}\nwith a space in it"), "lines 1,3"),
            ("# nothing\n\n".to_owned(), "lines 1"),
            (format!("{KEY} scopes=score,metrics name=ci\n{KEY}2 name=b\n"), "2 keys"),
            (format!("{KEY} scopes=root\n{KEY}2 scopes=\n{KEY}3 name=\n"), "lines 1,2,3"),
            (format!("{KEY} scopes=score scopes=admin\n"), "lines 1"),
        ] {
            assert_eq!(problems(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn identity_is_the_key_however_it_is_written() {
        let keys = Keys::parse(&format!("{KEY}\n{KEY}2")).expect("good keys");
        let id = |value: String| {
            let mut headers = HeaderMap::new();
            headers.append(AUTHORIZATION, HeaderValue::from_str(&value).expect("a value"));
            keys.check(&headers).expect("a known key").expect("there are keys").id()
        };
        let first = id(format!("Bearer {KEY}"));
        for written in [format!("bearer \t\t{KEY}"), format!("BEARER\t{KEY}\t ")] {
            assert_eq!(id(written.clone()), first, "{written:?}");
        }
        assert_ne!(id(format!("Bearer {KEY}2")), first);
    }

    #[test]
    fn scopes_are_those_of_the_line() {
        let text = format!("{KEY} scopes=score,metrics\n{KEY}2\n");
        let keys = Keys::parse(&text).expect("good keys");
        let paths = ["/v1/score", "/v1/completions", "/v1/load_lora_adapter", "/metrics"];
        let allowed = |key: &Key| paths.map(|path| key.allow(path).is_ok());
        assert_eq!(allowed(&keys.keys[0]), [true, false, false, true]);
        assert_eq!(allowed(&keys.keys[1]), [true; 4]);
        for path in ["/livez", "/docs/", "/v1/models", "/v1/files/file-1/content"] {
            assert!(keys.keys[0].allow(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn authorization_headers_are_checked() {
        let keys = Keys::parse(KEY).expect("a good key");
        let check = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("ASCII"));
            }
            keys.check(&headers).is_ok()
        };
        let good = format!("Bearer {KEY}");
        assert!(check(&[&good]));
        assert!(check(&[&format!("bearer  {KEY} ")]));
        for bad in [
            vec![],
            vec![""],
            vec![KEY],
            vec!["Bearer "],
            vec!["Bearer wrong-wrong-wrong-wrong"],
            vec!["Basic 0123456789abcdef-A"],
            vec![good.as_str(), good.as_str()],
            vec![good.as_str(), "Bearer wrong"],
        ] {
            assert!(!check(&bad), "{bad:?}");
        }
        assert!(Keys::default().check(&HeaderMap::new()).is_ok(), "no keys: open");
    }
}
