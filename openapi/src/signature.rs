//! Signatures of results, and the keys that check them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An Ed25519 signature (RFC 8032) of a result; docs/signing.md defines the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Signature {
    /// Id of the key, as `GET /v1/keys` lists it.
    pub kid: String,
    /// Unix time in seconds of the signature; it is signed.
    pub created: u64,
    /// Digest of the input; it is signed.
    pub input: String,
    /// The 64 bytes of the signature in base64url without padding.
    pub value: String,
}

/// A set of public keys (RFC 7517).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JwkSet {
    /// The key that signs comes first, then those that have signed before.
    pub keys: Vec<Jwk>,
}

/// A public Ed25519 key (RFC 8037).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Jwk {
    /// Always `OKP`.
    pub kty: String,
    /// Always `Ed25519`.
    pub crv: String,
    /// The 32 bytes of the key in base64url without padding.
    pub x: String,
    /// The key's thumbprint by RFC 7638.
    #[serde(default)]
    pub kid: String,
    /// Always `EdDSA`.
    #[serde(default)]
    pub alg: String,
    /// Always `sig`.
    #[serde(default, rename = "use")]
    pub usage: String,
}
