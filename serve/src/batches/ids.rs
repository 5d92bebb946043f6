//! Names of files, batches, lines and processes.
//!
//! An id has 128 random bits, so that it cannot be guessed. Text becomes an id only through
//! `parse`, so that an id is safe as part of a path.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

const HEX: usize = 32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) struct $name(String);

        impl $name {
            /// Creates a random id.
            pub(crate) fn new() -> std::io::Result<Self> {
                Ok(Self(format!(concat!($prefix, "{}"), random()?)))
            }

            /// Parses an id; `None` if the text is not one.
            pub(crate) fn parse(text: &str) -> Option<Self> {
                let rest = text.strip_prefix($prefix)?;
                let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                (rest.len() == HEX && rest.bytes().all(hex)).then(|| Self(text.to_owned()))
            }

            /// Returns the id as text.
            pub(crate) fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

id!(
    /// The id of a file.
    FileId,
    "file-"
);
id!(
    /// The id of a batch.
    BatchId,
    "batch_"
);
/// The id of an answered line. No route looks a line up by it.
#[derive(Debug)]
pub(crate) struct LineId(String);

impl LineId {
    /// Creates a random id.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self(format!("batch_req_{}", random()?)))
    }

    /// Returns the id as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The id of a process that works on batches; random, so that no two processes share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProcessId(pub(crate) u64);

impl ProcessId {
    /// A new id.
    pub(crate) fn new() -> std::io::Result<ProcessId> {
        Ok(ProcessId(getrandom::u64().map_err(std::io::Error::other)?))
    }
}

/// 128 bits in hexadecimal.
fn random() -> std::io::Result<String> {
    let mut bytes = [0; HEX / 2];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    let mut text = String::with_capacity(HEX);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String takes everything");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_ids_are_refused() {
        let name = FileId::new().expect("the machine has randomness");
        assert_eq!(FileId::parse(name.as_str()), Some(name.clone()));
        assert_ne!(FileId::new().expect("the same"), name);
        let long = format!("{}0", name.as_str());
        let upper = name.as_str().to_uppercase();
        let batch = name.as_str().replace("file-", "batch_");
        for text in [
            "",
            "file-",
            "file-..",
            "file-../../../../../../etc/passwd00000",
            "file-0123456789abcdef0123456789abcde/",
            "file-0123456789abcdef0123456789abcde\0",
            "file-0123456789abcdef0123456789abcdé",
            &long,
            &upper,
            &batch,
        ] {
            assert_eq!(FileId::parse(text), None, "{text:?}");
        }
        assert!(BatchId::parse(&batch).is_some());
    }
}
