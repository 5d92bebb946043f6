//! The models that are being served, by the names that requests use.

use std::sync::Arc;

use engine::Host;
use rubrics::config::nearest;

/// Every model, and by its own name every adapter of each.
#[derive(Debug, Default)]
pub struct Hosts {
    hosts: Vec<Arc<Host>>,
}

/// What a name in a request stands for.
#[derive(Clone, Debug)]
pub struct Served {
    /// The model.
    pub host: Arc<Host>,
    /// The adapter that the name stands for, where it is one's.
    pub adapter: Option<Arc<str>>,
}

impl Hosts {
    /// Of models whose names differ.
    pub fn new(hosts: Vec<Arc<Host>>) -> Hosts {
        Hosts { hosts }
    }

    /// A model, or an adapter of one. A model's name goes before an adapter's.
    pub fn get(&self, name: &str) -> Option<Served> {
        if let Some(host) = self.hosts.iter().find(|host| &*host.name == name) {
            return Some(Served {
                host: host.clone(),
                adapter: None,
            });
        }
        self.hosts.iter().find_map(|host| {
            let adapters = host.engine.status().adapters;
            let adapter = adapters
                .into_iter()
                .find(|adapter| &*adapter.name == name)?;
            Some(Served {
                host: host.clone(),
                adapter: Some(adapter.name),
            })
        })
    }

    /// Up to three names that somebody who wrote `given` may have meant, nearest first.
    pub fn near(&self, given: &str) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for host in &self.hosts {
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
        self.hosts.iter()
    }
}
