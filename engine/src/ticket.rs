//! The caller's end of a submission.

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::command::Command;
use crate::error::RequestError;
use crate::request::{RequestEvent, RequestOutput};

/// The outstanding requests of one submission. Dropping it cancels the unfinished ones.
#[derive(Debug)]
pub struct Ticket {
    events: mpsc::Receiver<RequestEvent>,
    commands: mpsc::Sender<Command>,
    n_requests: usize,
    n_done: usize,
    /// Capacity of a batch job; `None` for other requests.
    batch_capacity: Option<OwnedSemaphorePermit>,
}

impl Ticket {
    /// A ticket for `n_requests` requests whose events arrive on `events`.
    pub(crate) fn new(
        events: mpsc::Receiver<RequestEvent>,
        commands: mpsc::Sender<Command>,
        n_requests: usize,
    ) -> Ticket {
        Ticket { events, commands, n_requests, n_done: 0, batch_capacity: None }
    }

    /// A ticket for requests that all failed before they were queued.
    pub(crate) fn failed(
        commands: mpsc::Sender<Command>,
        n_requests: usize,
        error: &RequestError,
    ) -> Ticket {
        let (sender, events) = mpsc::channel(n_requests);
        for request in 0..n_requests {
            let event = RequestEvent::Done { request, result: Err(error.clone()) };
            sender.try_send(event).expect("the channel has room for all requests");
        }
        Ticket::new(events, commands, n_requests)
    }

    /// The ticket with the capacity of its batch job.
    pub(crate) fn holding(mut self, capacity: OwnedSemaphorePermit) -> Ticket {
        self.batch_capacity = Some(capacity);
        self
    }

    /// Waits for the next event; `None` once every request is done.
    pub async fn next(&mut self) -> Option<RequestEvent> {
        if self.n_done == self.n_requests {
            return None;
        }
        let event = self.events.recv().await;
        self.count(event)
    }

    /// As [`Ticket::next`], blocking the thread.
    pub fn wait_next(&mut self) -> Option<RequestEvent> {
        if self.n_done == self.n_requests {
            return None;
        }
        let event = self.events.blocking_recv();
        self.count(event)
    }

    /// The next event if it has arrived already. To stop a generation that can be resumed, take
    /// all events by this and drop the ticket, then submit the sequence again with
    /// [`crate::SamplingParams::resumed`].
    pub fn try_next(&mut self) -> Option<RequestEvent> {
        let event = self.events.try_recv().ok();
        self.count(event)
    }

    fn count(&mut self, event: Option<RequestEvent>) -> Option<RequestEvent> {
        if let Some(RequestEvent::Done { .. }) = &event {
            self.n_done += 1;
        }
        event
    }

    /// Waits for all outputs, in the order of the requests.
    pub async fn all(mut self) -> Vec<Result<RequestOutput, RequestError>> {
        let mut outputs = vec![Err(RequestError::ShuttingDown); self.n_requests];
        while let Some(event) = self.next().await {
            store(&mut outputs, event);
        }
        outputs
    }

    /// As [`Ticket::all`], blocking the thread.
    pub fn wait(mut self) -> Vec<Result<RequestOutput, RequestError>> {
        let mut outputs = vec![Err(RequestError::ShuttingDown); self.n_requests];
        while let Some(event) = self.wait_next() {
            store(&mut outputs, event);
        }
        outputs
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.n_done < self.n_requests {
            // The command makes the thread cancel closed requests at once. If the channel is full,
            // they are cancelled when they run.
            self.events.close();
            let _ = self.commands.try_send(Command::TicketDropped);
        }
    }
}

fn store(outputs: &mut [Result<RequestOutput, RequestError>], event: RequestEvent) {
    match event {
        RequestEvent::Tokens { .. } => {}
        RequestEvent::Done { request, result } => outputs[request] = result,
    }
}
