//! API keys.

use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::error::{ApiError, Code};

/// Minimum length of a key in bytes; shorter keys can be guessed.
pub const MIN_KEY_BYTES: usize = 16;

/// The accepted API keys, as digests: equal lengths make comparisons independent of the keys'
/// lengths, and a memory dump holds no key.
#[derive(Debug, Default)]
pub struct Keys {
    digests: Vec<[u8; 32]>,
}

/// A faulty line of a key file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyProblem {
    /// Line number, from 1.
    pub line: usize,
    /// The fault; never the key itself.
    pub message: String,
}

impl Keys {
    /// Parses one key per line; empty lines and lines that start with `#` are skipped.
    ///
    /// # Errors
    /// Every faulty line.
    pub fn parse(text: &str) -> Result<Self, Vec<KeyProblem>> {
        let mut digests: Vec<[u8; 32]> = Vec::new();
        let mut problems = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let key = line.trim();
            if key.is_empty() || key.starts_with('#') {
                continue;
            }
            let digest = Sha256::digest(key.as_bytes()).into();
            let message = if key.len() < MIN_KEY_BYTES {
                Some(format!("a key needs at least {MIN_KEY_BYTES} bytes"))
            } else if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                Some("a key may hold printable ASCII only".to_owned())
            } else {
                let first = digests.iter().position(|known| *known == digest);
                first.map(|_| "the same key stands on an earlier line".to_owned())
            };
            match message {
                Some(message) => problems.push(KeyProblem { line: index + 1, message }),
                None => digests.push(digest),
            }
        }
        if digests.is_empty() && problems.is_empty() {
            let message = "the file holds no key".to_owned();
            problems.push(KeyProblem { line: 1, message });
        }
        if problems.is_empty() { Ok(Self { digests }) } else { Err(problems) }
    }

    /// Returns whether no keys are configured, so that every request is accepted.
    pub fn is_open(&self) -> bool {
        self.digests.is_empty()
    }

    /// Checks the key of a request.
    ///
    /// # Errors
    /// 401 where keys are configured and the request has none, an unknown one, or more than one.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.is_open() {
            return Ok(());
        }
        let denied = |message: &str| Err(ApiError::new(Code::InvalidApiKey, message));
        let mut given = headers.get_all(AUTHORIZATION);
        let Some(header) = given.next() else {
            return denied("send 'Authorization: Bearer KEY'");
        };
        if given.next().is_some() {
            return denied("more than one Authorization header");
        }
        let Some(key) = bearer(header.as_bytes()) else {
            return denied("the Authorization header must read 'Bearer KEY'");
        };
        if !self.holds(key) {
            return denied("this API key is not known");
        }
        Ok(())
    }

    /// Returns the owner name of an accepted request: a digest from which the key cannot be found,
    /// or one common name when no keys are configured.
    pub fn owner(&self, headers: &HeaderMap) -> String {
        let header = headers.get(AUTHORIZATION);
        let key = header.and_then(|header| bearer(header.as_bytes()));
        match key {
            Some(key) if !self.is_open() => {
                // Digested twice: the name is stored on disk, and the single digest is what
                // requests are checked against.
                let digest = Sha256::digest(Sha256::digest(key));
                digest.iter().fold("key-".to_owned(), |name, byte| format!("{name}{byte:02x}"))
            }
            _ => "anybody".to_owned(),
        }
    }

    /// Returns whether the key is known, comparing with every key in constant time.
    fn holds(&self, key: &[u8]) -> bool {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let mut found = Choice::from(0);
        for known in &self.digests {
            found |= known.ct_eq(&digest);
        }
        found.into()
    }
}

fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = header.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    const KEY: &str = "0123456789abcdef-A";

    #[test]
    fn key_files_are_parsed() {
        let problems = |text: &str| match Keys::parse(text) {
            Ok(keys) => format!("{} keys", keys.digests.len()),
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
        ] {
            assert_eq!(problems(&text), expected, "{text:?}");
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
