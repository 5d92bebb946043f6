//! The engine's thread.

use std::collections::HashMap;
use std::sync::Arc;

use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::{Forward, Output, PackItem, Read, pack};
use tokio::sync::{mpsc, watch};

use crate::error::Failure;
use crate::handle::{EngineConfig, Event, Status, Submission};
use crate::sampling::Sampler;
use crate::work::{Answer, Produced, Update, Usage, Want, Work};

/// Starts the thread; it ends when all senders of `inbox` are gone.
pub(crate) fn start(
    forward: impl Forward + Send + 'static,
    config: EngineConfig,
    mut inbox: mpsc::Receiver<Event>,
) -> std::io::Result<watch::Receiver<Status>> {
    let (sender, receiver) = watch::channel(Status::default());
    let mut core = Core {
        forward,
        config,
        adapters: HashMap::new(),
        status: sender,
    };
    std::thread::Builder::new()
        .name("engine".to_owned())
        .spawn(move || {
            while let Some(event) = inbox.blocking_recv() {
                core.handle(event);
            }
        })?;
    Ok(receiver)
}

struct Core<F> {
    forward: F,
    config: EngineConfig,
    adapters: HashMap<Arc<str>, (AdapterSlot, Arc<str>)>,
    status: watch::Sender<Status>,
}

impl<F: Forward> Core<F> {
    fn handle(&mut self, event: Event) {
        match event {
            Event::Submit(submission) => self.run(submission),
            Event::Insert {
                name,
                adapter,
                reply,
            } => {
                self.insert(name, adapter);
                let _ = reply.send(());
            }
            Event::Remove { name, reply } => {
                let _ = reply.send(self.adapters.remove(&name).is_some());
                self.publish();
            }
            Event::WeightsChanged { reply } => {
                let _ = reply.send(());
            }
        }
    }

    fn insert(&mut self, name: Arc<str>, adapter: Arc<Adapter>) {
        let digest: Arc<str> = adapter.digest.as_str().into();
        let slot = self.forward.insert(adapter);
        self.adapters.insert(name, (slot, digest));
        self.publish();
    }

    fn publish(&mut self) {
        let adapters = self.adapters.iter();
        let adapters = adapters.map(|(name, (_, digest))| (name.clone(), digest.clone()));
        let adapters = adapters.collect();
        self.status.send_modify(|status| status.adapters = adapters);
    }

    fn run(&mut self, submission: Submission) {
        for (at, (work, _permit)) in submission.works.into_iter().enumerate() {
            let result = self.work(work, |token| {
                let _ = submission.updates.try_send(Update::Tokens {
                    work: at,
                    tokens: vec![token],
                });
            });
            let _ = submission
                .updates
                .try_send(Update::Done { work: at, result });
        }
    }

    fn work(
        &mut self,
        work: Work,
        told: impl Fn(crate::sampling::Sampled),
    ) -> Result<Answer, Failure> {
        let adapter = work
            .adapter
            .as_ref()
            .and_then(|name| self.adapters.get(name).cloned());
        let slot = adapter.as_ref().map(|(slot, _)| *slot);
        let mut usage = Usage {
            input_tokens: work.token_ids.len(),
            computed_tokens: work.token_ids.len(),
            ..Usage::default()
        };
        let produced = match work.want {
            Want::Rows(reads) => {
                Produced::Rows(self.forward(work.token_ids.to_vec(), slot, reads)?)
            }
            Want::Tokens(sampling) => {
                let mut sampler = Sampler::new(*sampling, &work.token_ids, self.config.vocab_size)
                    .map_err(Failure::Constraint)?;
                let (mut ids, mut tokens) = (work.token_ids.to_vec(), Vec::new());
                loop {
                    let reads = vec![(ids.len() - 1, Read::Vocab)];
                    let output = self.forward(ids.clone(), slot, reads)?.pop();
                    let Some(Output::Vocab(mut logits)) = output else {
                        return Err(Failure::Model("no logits".into()));
                    };
                    let next = sampler
                        .next(&mut logits)
                        .map_err(|e| Failure::Model(e.to_string()))?;
                    ids.push(next.sampled.token_id);
                    tokens.push(next.sampled.clone());
                    told(next.sampled);
                    usage.output_tokens += 1;
                    if let Some(finish) = next.finish {
                        break Produced::Tokens { tokens, finish };
                    }
                }
            }
        };
        Ok(Answer {
            produced,
            usage,
            adapter: adapter.map(|(_, digest)| digest),
        })
    }

    fn forward(
        &mut self,
        token_ids: Vec<u32>,
        adapter: Option<AdapterSlot>,
        reads: Vec<(usize, Read)>,
    ) -> Result<Vec<Output>, Failure> {
        let item = PackItem {
            token_ids,
            start: 0,
            adapter,
            reads,
            blocks: Vec::new(),
        };
        let run = pack(&[item]).and_then(|batch| self.forward.forward(&batch));
        run.map(|outputs| outputs.rows)
            .map_err(|e| Failure::Model(e.to_string()))
    }
}
