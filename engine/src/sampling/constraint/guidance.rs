//! A constraint over llguidance's parser.

use std::fmt;
use std::sync::Arc;

use llguidance::Matcher;
use llguidance::toktrie::SimpleVob;

use super::grammar::{Constraint, ConstraintError, Mask};

/// Characters kept of an error message, which may grow with the input.
const MAX_MESSAGE: usize = 400;

/// llguidance's message if no token continues the text.
const NOTHING: &str = "NoExtensionBias";

/// A constraint checked by llguidance's parser.
pub(super) struct Guided {
    matcher: Matcher,
    allowed: Arc<SimpleVob>,
    /// The current mask, once computed.
    mask: Option<SimpleVob>,
}

impl fmt::Debug for Guided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stopped = self.matcher.is_stopped();
        f.debug_struct("Guided").field("stopped", &stopped).finish_non_exhaustive()
    }
}

impl Guided {
    /// A constraint at the beginning of the text.
    pub(super) fn new(matcher: Matcher, allowed: Arc<SimpleVob>) -> Guided {
        Guided { matcher, allowed, mask: None }
    }

    fn compute_mask(&mut self) -> Result<SimpleVob, ConstraintError> {
        if self.is_complete() {
            return Err(ConstraintError::DeadEnd);
        }
        let mut mask = self.matcher.compute_mask().map_err(|e| {
            let what = sentence(&e.to_string());
            if what == NOTHING {
                return ConstraintError::DeadEnd;
            }
            ConstraintError::Stopped(what)
        })?;
        mask.and(&self.allowed);
        if mask.is_zero() {
            return Err(ConstraintError::DeadEnd);
        }
        Ok(mask)
    }
}

impl Constraint for Guided {
    fn mask(&mut self) -> Result<Mask<'_>, ConstraintError> {
        let mask = match self.mask.take() {
            Some(mask) => mask,
            None => self.compute_mask()?,
        };
        Ok(Mask::new(self.mask.insert(mask).as_slice()))
    }

    fn accept(&mut self, token_id: u32) -> Result<(), ConstraintError> {
        self.mask = None;
        let accepted = self.matcher.consume_token(token_id);
        accepted.map_err(|e| ConstraintError::Stopped(sentence(&e.to_string())))
    }

    fn is_complete(&self) -> bool {
        self.matcher.is_stopped() && !self.matcher.is_error()
    }

    fn fork(&self) -> Box<dyn Constraint> {
        Box::new(Guided {
            matcher: self.matcher.deep_clone(),
            allowed: self.allowed.clone(),
            mask: self.mask.clone(),
        })
    }
}

/// A message of llguidance without its debugging parts: states, grammars and panic traces.
pub(super) fn sentence(message: &str) -> String {
    let ends = ["\n<", "<state>", "<backtrace>", "<non-verbose/>"];
    let end = ends.iter().filter_map(|mark| message.find(mark)).min();
    let message = &message[..end.unwrap_or(message.len())];
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    let mut sentence = lines.join("; ");
    if let Some((end, _)) = sentence.char_indices().nth(MAX_MESSAGE) {
        sentence.truncate(end);
        sentence.push('…');
    }
    sentence
}
