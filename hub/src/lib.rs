//! Files of models and data sets from the Hugging Face Hub, by way of the cache that
//! `huggingface_hub` has in Python, in the same layout.
//!
//! What a server says is not believed: names that leave the folder, contents that are not those of
//! the listed hash, and bodies beyond the listed size are refused. This crate knows nothing of
//! tensors, requests or scorers, and reads no environment: [`HubSettings::read`] is given its values.

mod cache;
mod client;
mod download;
mod error;
mod fetch;
mod listing;
mod progress;
mod repo;
mod settings;
mod wanted;

pub use error::{HubError, HubFault};
pub use fetch::{Hub, Snapshot};
pub use repo::{ModelLocation, Repo, RepoKind};
pub use settings::HubSettings;
pub use wanted::WantedFiles;
