//! The served models and adapters by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat::ChatPart;
use engine::{Host, Tokenizer};
use rubrics::config::nearest;
use tokio::sync::Mutex;

use crate::labels::Labels;
use crate::pace::Pace;

/// The served models with their adapters.
#[derive(Debug, Default)]
pub struct Hosts {
    entries: Vec<HostEntry>,
    /// Adapters that requests have loaded. The lock is held while one is loaded or unloaded, so that
    /// the next request finds the list and the engines in agreement.
    pub(crate) loaded: Arc<Mutex<Vec<Arc<str>>>>,
    /// Adapters of the configuration that requests may replace.
    replaceable: BTreeSet<String>,
    sources: Sources,
}

/// The repositories of the Hub, with their commits, that models and adapters were fetched from, by
/// digest.
#[derive(Debug, Default)]
pub(crate) struct Sources(BTreeMap<String, String>);

impl Sources {
    /// Adds a model or an adapter; `None` for one that was not fetched.
    pub(crate) fn insert(&mut self, digest: &str, source: Option<String>) {
        if let Some(source) = source {
            self.0.insert(digest.to_owned(), source);
        }
    }
}

#[derive(Debug)]
struct HostEntry {
    host: Arc<Host>,
    pace: Arc<Pace>,
    template_shows_tools: bool,
    labels: Arc<Labels>,
}

/// A model or adapter that a name in a request resolves to.
#[derive(Clone, Debug)]
pub struct Served {
    /// The model.
    pub host: Arc<Host>,
    /// The adapter; `None` if the name is the model's own.
    pub adapter: Option<Arc<str>>,
    /// Time per token of the engine.
    pub pace: Arc<Pace>,
    /// Whether the chat template renders tools into the prompt.
    pub template_shows_tools: bool,
    /// The labels of the head's outputs.
    pub labels: Arc<Labels>,
}

impl Served {
    /// Returns the name of the adapter, or of the model without one.
    pub fn name(&self) -> &Arc<str> {
        self.adapter.as_ref().unwrap_or(&self.host.name)
    }
}

impl Hosts {
    /// Creates the set of models; their names must differ.
    pub fn new(hosts: Vec<Arc<Host>>) -> Hosts {
        let entry = |host: Arc<Host>| HostEntry {
            pace: Arc::default(),
            template_shows_tools: shows_tools(&host.tokenizer),
            labels: Arc::new(Labels::read(&host)),
            host,
        };
        Hosts {
            entries: hosts.into_iter().map(entry).collect(),
            loaded: Arc::default(),
            replaceable: BTreeSet::new(),
            sources: Sources::default(),
        }
    }

    /// Lets requests replace the weights of these adapters.
    pub(crate) fn with_replaceable(self, replaceable: BTreeSet<String>) -> Hosts {
        Hosts { replaceable, ..self }
    }

    /// Whether requests may replace the weights of an adapter of the configuration.
    pub(crate) fn is_replaceable(&self, adapter: &str) -> bool {
        self.replaceable.contains(adapter)
    }

    /// Remembers where models and adapters are from.
    pub(crate) fn with_sources(self, sources: Sources) -> Hosts {
        Hosts { sources, ..self }
    }

    /// `hf:org/name@commit` of the model or adapter with this digest; `None` where it is of a folder.
    pub(crate) fn source(&self, digest: &str) -> Option<&str> {
        self.sources.0.get(digest).map(String::as_str)
    }

    /// Returns the model or adapter of this name; models take precedence.
    pub fn get(&self, name: &str) -> Option<Served> {
        let served = |entry: &HostEntry, adapter| Served {
            host: entry.host.clone(),
            adapter,
            pace: entry.pace.clone(),
            template_shows_tools: entry.template_shows_tools,
            labels: entry.labels.clone(),
        };
        if let Some(entry) = self.entries.iter().find(|entry| &*entry.host.name == name) {
            return Some(served(entry, None));
        }
        self.entries.iter().find_map(|entry| {
            let adapters = entry.host.engine.status().adapters;
            let adapter = adapters.into_iter().find(|adapter| &*adapter.name == name)?;
            Some(served(entry, Some(adapter.name)))
        })
    }

    /// Lists every model and every adapter.
    pub fn all(&self) -> Vec<Served> {
        let names = self.iter().flat_map(|host| {
            let adapters = host.engine.status().adapters.into_iter();
            let adapters = adapters.map(|adapter| adapter.name);
            std::iter::once(host.name.clone()).chain(adapters)
        });
        names.filter_map(|name| self.get(&name)).collect()
    }

    /// Resolves a name for scorers.
    fn served(&self, name: &str) -> Option<rubrics::Served> {
        self.entries
            .iter()
            .find(|entry| &*entry.host.name == name)
            .and_then(|entry| rubrics::Served::of(&entry.host, name))
            .or_else(|| {
                let mut hosts = self.iter();
                hosts.find_map(|host| rubrics::Served::of(host, name))
            })
    }

    /// Returns up to three similar names, nearest first.
    pub fn near(&self, given: &str) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for host in self.iter() {
            names.push(host.name.clone());
            let adapters = host.engine.status().adapters.into_iter();
            names.extend(adapters.map(|adapter| adapter.name));
        }
        let mut near = Vec::new();
        while near.len() < 3
            && let Some(name) = nearest(given, names.iter().map(|name| &**name))
        {
            let at = names.iter().position(|other| **other == *name);
            near.push(names.swap_remove(at.expect("it is one of them")));
        }
        near
    }

    /// Iterates over the models.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Host>> {
        self.entries.iter().map(|entry| &entry.host)
    }

    /// Returns the number of models.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no models.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl rubrics::Models for Hosts {
    fn find(&self, name: &str) -> Option<rubrics::Served> {
        self.served(name)
    }

    fn near(&self, given: &str) -> Vec<Arc<str>> {
        Hosts::near(self, given)
    }
}

/// A template that cannot be examined cannot be rendered either.
fn shows_tools(tokenizer: &Tokenizer) -> bool {
    let report = tokenizer.template().report();
    report.is_ok_and(|report| {
        let refused = report.refuses.iter().any(|refusal| refusal.part == ChatPart::Tools);
        !report.missing && !refused && !report.drops.contains(&ChatPart::Tools)
    })
}
