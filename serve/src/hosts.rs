//! The models that are being served, by the names that requests use.

use std::sync::Arc;

use chat::ChatPart;
use engine::{Host, Tokenizer};
use rubrics::config::nearest;
use tokio::sync::Mutex;

use crate::labels::Labels;
use crate::pace::Pace;

/// Every model, and by its own name every adapter of each.
#[derive(Debug, Default)]
pub struct Hosts {
    entries: Vec<Entry>,
    /// Adapters that requests have loaded. A lock, because whoever loads one looks first whether
    /// its name is free, and loading takes a while.
    pub(crate) loaded: Mutex<Vec<Arc<str>>>,
}

#[derive(Debug)]
struct Entry {
    host: Arc<Host>,
    pace: Arc<Pace>,
    template_shows_tools: bool,
    labels: Arc<Labels>,
}

/// What a name in a request stands for.
#[derive(Clone, Debug)]
pub struct Served {
    /// The model.
    pub host: Arc<Host>,
    /// The adapter that the name stands for, where it is one's.
    pub adapter: Option<Arc<str>>,
    /// Time per token of its engine.
    pub pace: Arc<Pace>,
    /// Whether the chat template writes the tools into the prompt.
    pub template_shows_tools: bool,
    /// What its files say of its head's outputs.
    pub labels: Arc<Labels>,
}

impl Served {
    /// The name that it goes by.
    pub fn name(&self) -> &Arc<str> {
        self.adapter.as_ref().unwrap_or(&self.host.name)
    }
}

impl Hosts {
    /// Of models whose names differ.
    pub fn new(hosts: Vec<Arc<Host>>) -> Hosts {
        let entry = |host: Arc<Host>| Entry {
            pace: Arc::default(),
            template_shows_tools: shows_tools(&host.tokenizer),
            labels: Arc::new(Labels::read(&host)),
            host,
        };
        Hosts { entries: hosts.into_iter().map(entry).collect(), loaded: Mutex::default() }
    }

    /// A model, or an adapter of one. A model's name goes before an adapter's.
    pub fn get(&self, name: &str) -> Option<Served> {
        let served = |entry: &Entry, adapter| Served {
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

    /// Every model and every adapter.
    pub fn all(&self) -> Vec<Served> {
        let names = self.iter().flat_map(|host| {
            let adapters = host.engine.status().adapters.into_iter();
            let adapters = adapters.map(|adapter| adapter.name);
            std::iter::once(host.name.clone()).chain(adapters)
        });
        names.filter_map(|name| self.get(&name)).collect()
    }

    /// What a name stands for, as scorers see it.
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

    /// Up to three names that somebody who wrote `given` may have meant, nearest first.
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

    /// All models.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Host>> {
        self.entries.iter().map(|entry| &entry.host)
    }

    /// Number of models.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
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

/// A template that cannot be examined is one that cannot be rendered either.
fn shows_tools(tokenizer: &Tokenizer) -> bool {
    let report = tokenizer.template().report();
    report.is_ok_and(|report| {
        let refused = report.refuses.iter().any(|refusal| refusal.part == ChatPart::Tools);
        !report.missing && !refused && !report.drops.contains(&ChatPart::Tools)
    })
}
