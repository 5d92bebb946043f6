//! Signed results: Ed25519 over the claims about an input and its result (docs/signing.md).

mod check;
mod claims;
mod frame;
mod input;
mod keys;

use std::path::Path;
use std::sync::Arc;

pub use self::check::InvalidSignature;
pub use self::claims::Claims;
pub use self::input::input_digest;
pub use self::keys::{PublicKeys, Signer};

/// The key that signs results, and the public keys that check them.
#[derive(Debug, Clone, Default)]
pub struct Signing {
    signer: Option<Arc<Signer>>,
    published: PublicKeys,
}

impl Signing {
    /// Reads the key file, and the public keys that have signed before.
    ///
    /// # Errors
    /// The name of a setting and what is wrong with its file.
    pub(crate) fn read(
        key_file: Option<&Path>,
        retired_keys: Option<&Path>,
    ) -> Result<Signing, (&'static str, String)> {
        let named = |key, path: &Path, error: String| (key, format!("{}: {error}", path.display()));
        let read = |path: &Path| {
            PublicKeys::read(path).map_err(|e| named("signing.retired_keys", path, e))
        };
        let published = retired_keys.map(read).transpose()?.unwrap_or_default();
        let read = |path: &Path| Signer::read(path).map_err(|e| named("signing.key_file", path, e));
        let signer = key_file.map(read).transpose()?;
        Ok(match signer {
            Some(signer) => Signing::new(signer, published),
            None => Signing { signer: None, published },
        })
    }

    /// Signs with a key, and publishes it before those that have signed before.
    pub fn new(signer: Signer, retired: PublicKeys) -> Signing {
        let mut published = retired;
        published.put_first(signer.public());
        Signing { signer: Some(Arc::new(signer)), published }
    }

    /// The key that signs, if results are signed.
    pub fn signer(&self) -> Option<&Arc<Signer>> {
        self.signer.as_ref()
    }

    /// The keys that check signatures.
    pub fn published(&self) -> &PublicKeys {
        &self.published
    }
}

#[cfg(test)]
mod tests;
