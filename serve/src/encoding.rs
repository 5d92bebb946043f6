//! Encoding of a request's texts: bounded before it starts, and ended with its client.
//!
//! A tokenizer takes some hundred times the memory of its text. So a text that cannot fit the
//! model's context is refused by its length, the rest waits for room in `limits.encoding_bytes`,
//! and tokens are counted in `limits.queue_bytes` before they are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::admit::{Admission, AtLimit, EncodingPermit, HeldBytes};
use crate::error::{ApiError, Code};
use crate::hosts::Served;
use crate::state::State;

/// Bytes of memory that encoding takes for each byte of the text.
const ENCODING_COST: usize = 300;

/// Bytes of token ids for each byte of text, at most.
pub(crate) const TOKEN_COST: usize = size_of::<u32>();

/// Whether the client still waits for work on a blocking thread.
#[derive(Debug, Clone)]
pub(crate) struct ClientWaits(Arc<AtomicBool>);

/// Signals that the client has left.
struct LeaveOnDrop(ClientWaits);

impl ClientWaits {
    /// Fails where the client has left: work goes on to its next part only while it waits.
    ///
    /// # Errors
    /// An error that the client does not see.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        if self.0.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(ApiError::new(Code::DeadlinePassed, "the client left before the work was done"))
    }
}

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        let LeaveOnDrop(ClientWaits(waits)) = self;
        waits.store(false, Ordering::Relaxed);
    }
}

/// Runs `work`, which encodes texts one after the other, on a thread for encoding. The room for
/// encoding the longest text and the bytes of the request are `held` until the work has ended, also
/// where its client has left.
///
/// # Errors
/// 413 where the longest text takes more room than there is, and what `work` fails with.
pub(crate) async fn encode_aside<T: Send + 'static>(
    state: &State,
    held: &Arc<HeldBytes>,
    longest: usize,
    work: impl FnOnce(&ClientWaits) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let room: EncodingPermit = enter(&state.admission, longest).await?;
    while_client_waits(state, held, move |waits| {
        let _room = room;
        work(waits)
    })
    .await
}

/// Runs `work` on a thread for encoding, and signals it when the future is dropped. The bytes of the
/// request are `held` until the work has ended.
///
/// # Errors
/// Those of `work`.
pub(crate) async fn while_client_waits<T: Send + 'static>(
    state: &State,
    held: &Arc<HeldBytes>,
    work: impl FnOnce(&ClientWaits) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let held = Arc::clone(held);
    let waits = ClientWaits(Arc::new(AtomicBool::new(true)));
    let leaving = LeaveOnDrop(waits.clone());
    let working = state.encoders.run(move || {
        let _held = held;
        waits.check().and_then(|()| work(&waits))
    });
    let done = working.await.map_err(ApiError::internal)?;
    drop(leaving);
    done
}

async fn enter(admission: &Admission, longest: usize) -> Result<EncodingPermit, ApiError> {
    let bytes = longest.saturating_mul(ENCODING_COST);
    let room = admission.enter_encoding(bytes).await;
    room.ok_or_else(|| {
        let message = format!(
            "a text of {longest} bytes takes {bytes} bytes to encode, more than \
             limits.encoding_bytes"
        );
        ApiError::new(Code::BodyTooLarge, message)
    })
}

/// Takes `bytes` more in hand: values, texts and tokens that are about to be made of a request.
///
/// # Errors
/// 413 where they are more than the server ever holds, 503 where there is no room now.
pub(crate) fn hold(held: &HeldBytes, bytes: usize) -> Result<(), ApiError> {
    let limit = held.limit();
    if bytes > limit {
        let message = format!(
            "the values, texts and tokens of the request take {bytes} bytes beside its body, and \
             limits.queue_bytes is {limit}"
        );
        return Err(ApiError::new(Code::BodyTooLarge, message));
    }
    let refused = |at_limit: AtLimit| ApiError::overloaded(at_limit.retry_after);
    held.add(bytes).map_err(refused)
}

/// Refuses a text that is longer than the model's context can be.
///
/// # Errors
/// 422 at `path`, as for a text of too many tokens.
pub(crate) fn check_text(served: &Served, path: &str, bytes: usize) -> Result<(), ApiError> {
    let most = served.host.max_text_bytes();
    if bytes <= most {
        return Ok(());
    }
    let context = served.host.engine.limits().context();
    let message = format!(
        "{path}: a text of {bytes} bytes; '{}' reads at most {context} tokens, which are no more \
         than {most} bytes",
        served.name()
    );
    Err(ApiError::new(Code::ContextLength, message).at(path))
}
