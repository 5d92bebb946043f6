//! Signing keys and public keys: PEM files and JSON Web Keys.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::pkcs8::DecodePrivateKey as _;
use ed25519_dalek::pkcs8::spki::DecodePublicKey as _;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use openapi::{Jwk, JwkSet, ScoreResult};
use sha2::{Digest as _, Sha256};

use super::check::InvalidSignature;
use super::claims::Claims;

const END_OF_KEY: &str = "-----END PUBLIC KEY-----";

/// A key that signs results.
pub struct Signer {
    key: SigningKey,
    public: PublicKey,
}

/// A public key and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicKey {
    key: VerifyingKey,
    kid: String,
}

/// The public keys that signatures are checked with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublicKeys(Vec<PublicKey>);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("kid", &self.kid()).finish_non_exhaustive()
    }
}

impl Signer {
    /// Reads a private key in PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// A file that cannot be read, that others can read, or that holds no such key.
    pub fn read(path: &Path) -> Result<Signer, String> {
        let cannot = |error: &dyn fmt::Display| format!("cannot be read: {error}");
        let metadata = std::fs::metadata(path).map_err(|error| {
            let hint = if error.kind() == ErrorKind::NotFound {
                let file = path.display();
                format!("; `openssl genpkey -algorithm ed25519 -out {file}` makes one")
            } else {
                String::new()
            };
            cannot(&error) + &hint
        })?;
        // Read by a group is left to root, which mounts secrets so for services without rights.
        let others = if metadata.uid() == 0 { 0o027 } else { 0o077 };
        let mode = metadata.mode() & 0o777;
        if mode & others != 0 {
            return Err(format!(
                "others can read the key (mode {mode:04o}); chmod 600 keeps them out"
            ));
        }
        Signer::from_pem(&std::fs::read_to_string(path).map_err(|error| cannot(&error))?)
    }

    /// The same of a text.
    ///
    /// # Errors
    /// A text that holds no Ed25519 key; the key itself is never part of the message.
    pub fn from_pem(text: &str) -> Result<Signer, String> {
        let key = SigningKey::from_pkcs8_pem(text).map_err(|_| {
            "holds no Ed25519 key in PEM (PKCS #8); `openssl genpkey -algorithm ed25519` makes one"
        })?;
        let public = PublicKey::new(key.verifying_key());
        Ok(Signer { key, public })
    }

    /// The id of the key.
    pub fn kid(&self) -> &str {
        &self.public.kid
    }

    /// Signs a result of the input with the digest `input`, at `created` seconds of Unix time.
    pub fn sign(&self, result: &mut ScoreResult, input: String, created: u64) {
        let kid = self.kid().to_owned();
        let message = Claims::from(&*result).message(&kid, created, &input);
        let value = URL_SAFE_NO_PAD.encode(self.key.sign(&message).to_bytes());
        result.signature = Some(Box::new(openapi::Signature { kid, created, input, value }));
    }

    pub(super) fn public(&self) -> PublicKey {
        self.public.clone()
    }
}

impl PublicKey {
    fn new(key: VerifyingKey) -> PublicKey {
        let x = URL_SAFE_NO_PAD.encode(key.as_bytes());
        let thumbprint = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        PublicKey { key, kid: URL_SAFE_NO_PAD.encode(Sha256::digest(thumbprint)) }
    }

    fn of_jwk(jwk: &Jwk) -> Result<PublicKey, String> {
        if (jwk.kty.as_str(), jwk.crv.as_str()) != ("OKP", "Ed25519") {
            return Err(format!("a key of kty '{}' and crv '{}'", jwk.kty, jwk.crv));
        }
        let bytes = URL_SAFE_NO_PAD.decode(&jwk.x).ok();
        let bytes: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
        let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        let key = key.ok_or_else(|| format!("x '{}' is no Ed25519 key", jwk.x))?;
        Ok(PublicKey::new(key))
    }

    fn jwk(&self) -> Jwk {
        Jwk {
            kty: "OKP".to_owned(),
            crv: "Ed25519".to_owned(),
            x: URL_SAFE_NO_PAD.encode(self.key.as_bytes()),
            kid: self.kid.clone(),
            alg: "EdDSA".to_owned(),
            usage: "sig".to_owned(),
        }
    }
}

impl PublicKeys {
    /// Reads a JWK set, one JWK, or public keys in PEM.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else.
    pub fn read(path: &Path) -> Result<PublicKeys, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("cannot be read: {e}"))?;
        if text.trim_start().starts_with('{') {
            PublicKeys::from_json(&text)
        } else {
            PublicKeys::from_pem(&text)
        }
    }

    /// Reads a JWK set or one JWK.
    ///
    /// # Errors
    /// A text that is neither, and a key that is not of Ed25519.
    pub fn from_json(text: &str) -> Result<PublicKeys, String> {
        let set = serde_json::from_str(text)
            .or_else(|error| match serde_json::from_str(text) {
                Ok(jwk) => Ok(JwkSet { keys: vec![jwk] }),
                Err(_) => Err(error),
            })
            .map_err(|error| format!("holds no JWK set: {error}"))?;
        let keys: Result<_, String> = set.keys.iter().map(PublicKey::of_jwk).collect();
        keys.map(PublicKeys)
    }

    /// Reads one public key after another, as `openssl pkey -pubout` writes them.
    ///
    /// # Errors
    /// A text without a key, and a key that is not of Ed25519.
    pub fn from_pem(text: &str) -> Result<PublicKeys, String> {
        let mut keys = Vec::new();
        for block in text.split_inclusive(END_OF_KEY) {
            let block = block.trim();
            if block.is_empty() {
                continue;
            }
            let key = VerifyingKey::from_public_key_pem(block)
                .map_err(|error| format!("key {}: {error}", keys.len() + 1))?;
            keys.push(PublicKey::new(key));
        }
        if keys.is_empty() { Err("holds no public key".to_owned()) } else { Ok(PublicKeys(keys)) }
    }

    /// The keys as a JWK set.
    pub fn jwks(&self) -> JwkSet {
        JwkSet { keys: self.0.iter().map(PublicKey::jwk).collect() }
    }

    /// The ids of the keys.
    pub fn kids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| key.kid.as_str())
    }

    /// Puts a key before the others; none stands there twice.
    pub(super) fn put_first(&mut self, key: PublicKey) {
        self.0.retain(|known| *known != key);
        self.0.insert(0, key);
    }

    /// Checks that one of the keys has signed what a result says.
    ///
    /// # Errors
    /// Why it has not.
    pub fn check(&self, claims: &Claims<'_>) -> Result<(), InvalidSignature> {
        let signature = claims.signature.as_ref().ok_or(InvalidSignature::Unsigned)?;
        let key = self.0.iter().find(|key| key.kid == signature.kid);
        let key = key.ok_or_else(|| InvalidSignature::UnknownKey(signature.kid.clone()))?;
        if !claims.is_consistent() {
            return Err(InvalidSignature::ScoreWithoutOk);
        }
        let value = URL_SAFE_NO_PAD.decode(&signature.value).ok();
        let value = value.and_then(|bytes| Signature::from_slice(&bytes).ok());
        let value = value.ok_or(InvalidSignature::Malformed)?;
        let message = claims.message(&signature.kid, signature.created, &signature.input);
        // Strict: no key or signature of small order, and one encoding for each signature.
        key.key.verify_strict(&message, &value).map_err(|_| InvalidSignature::Differs)
    }
}
