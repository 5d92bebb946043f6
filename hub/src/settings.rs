//! Where the Hub and its cache are.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The address of the Hub.
const ENDPOINT: &str = "https://huggingface.co";
/// Times that a request is tried without progress.
const ATTEMPTS: u32 = 5;
/// Longest silence of a server.
const SILENCE: Duration = Duration::from_secs(30);

/// Where the Hub and its cache are.
#[derive(Clone, PartialEq, Eq)]
pub struct HubSettings {
    /// The server's address, without a slash at the end.
    pub endpoint: String,
    /// The user's token, sent to that server alone.
    pub token: Option<String>,
    /// The cache: the folder of `models--org--name`. `None` where no folder of the user is known.
    pub cache: Option<PathBuf>,
    /// Whether to use only what the cache has.
    pub offline: bool,
    /// Times that a request is tried without progress.
    pub attempts: u32,
    /// Wait before the second attempt; it doubles with each.
    pub pause: Duration,
    /// Longest silence of a server.
    pub silence: Duration,
}

impl HubSettings {
    /// Reads the variables that `huggingface_hub` reads, through `variable`: `HF_ENDPOINT`,
    /// `HF_TOKEN` (else the file `token` that `hf auth login` writes), `HF_HUB_CACHE`, `HF_HOME` and
    /// `HF_HUB_OFFLINE`.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> HubSettings {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let text = |name: &str| set(name).and_then(|value| value.into_string().ok());
        let folder = |name: &str| set(name).map(PathBuf::from);
        let home = folder("HF_HOME").or_else(|| {
            let cache =
                folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
            Some(cache.join("huggingface"))
        });
        let token_file = folder("HF_TOKEN_PATH").or_else(|| Some(home.as_ref()?.join("token")));
        let stored = || token_file.and_then(|path| fs::read_to_string(path).ok());
        let token = text("HF_TOKEN").or_else(|| text("HUGGING_FACE_HUB_TOKEN")).or_else(stored);
        let is_on = |name: &str| {
            text(name).is_some_and(|value| {
                ["1", "on", "yes", "true"].contains(&value.to_ascii_lowercase().as_str())
            })
        };
        HubSettings {
            endpoint: text("HF_ENDPOINT")
                .map_or(ENDPOINT.to_owned(), |given| given.trim_end_matches('/').to_owned()),
            token: token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty()),
            cache: folder("HF_HUB_CACHE")
                .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
                .or_else(|| Some(home.as_ref()?.join("hub"))),
            offline: is_on("HF_HUB_OFFLINE") || is_on("TRANSFORMERS_OFFLINE"),
            attempts: ATTEMPTS,
            pause: Duration::from_secs(1),
            silence: SILENCE,
        }
    }
}

/// Without the token.
impl fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubSettings")
            .field("endpoint", &self.endpoint)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("cache", &self.cache)
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endpoint, token, cache and offline of variables.
    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: (&str, Option<&str>, Option<&str>, bool)) {
        let find = |name: &str| variables.iter().find(|(of, _)| *of == name);
        let read = HubSettings::read(|name| find(name).map(|(_, value)| value.into()));
        let cache = read.cache.as_ref().and_then(|path| path.to_str());
        let found = (read.endpoint.as_str(), read.token.as_deref(), cache, read.offline);
        assert_eq!(found, expected, "{variables:?}");
        assert!(!format!("{read:?}").contains("secret"));
    }

    #[test]
    fn variables_are_those_of_huggingface_hub() {
        let hub = ENDPOINT;
        check(&[], (hub, None, None, false));
        check(&[("HOME", "/h")], (hub, None, Some("/h/.cache/huggingface/hub"), false));
        let xdg = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x")];
        check(&xdg, (hub, None, Some("/x/huggingface/hub"), false));
        check(&[("HOME", "/h"), ("HF_HOME", "/f")], (hub, None, Some("/f/hub"), false));
        check(&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/c")], (hub, None, Some("/c"), false));
        check(&[("HF_TOKEN", " secret\n")], (hub, Some("secret"), None, false));
        check(&[("HF_ENDPOINT", "http://m:1/")], ("http://m:1", None, None, false));
        check(&[("HF_HUB_OFFLINE", "1")], (hub, None, None, true));
        check(&[("HF_HUB_OFFLINE", "Yes")], (hub, None, None, true));
        check(&[("HF_HUB_OFFLINE", "0"), ("HF_ENDPOINT", "")], (hub, None, None, false));
    }
}
