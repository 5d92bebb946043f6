//! Converts a scorer's verdicts on steps to the signals that process-aware advantages read.

use std::ops::Range;

use rubrics::combine::thoughts::ThoughtLabel;
use verifiers::arithmetic::{self, Splitter};

use crate::advantages::{AdvantageKind, ResponseStep, Signal, StepReturns};
use crate::error::{Result, TrainError};
use crate::item::{JudgedStep, Rollout, Token, TrainingItem};
use crate::rollout::Sampler;

/// The signal that an advantage reads of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StepSignal {
    /// Its degree of wrongness: CAPO.
    Wrong,
    /// Its relation to the solution: TP-GRPO.
    Labels,
    /// Its score as its reward: PPR, iStar.
    Scores,
    /// Its shaped reward: returns of steps.
    Shaped(StepReturns),
}

impl StepSignal {
    /// The signal of an advantage; `None` if it does not read steps.
    pub(super) fn of(kind: &AdvantageKind) -> Option<StepSignal> {
        match kind {
            AdvantageKind::Capo(_) => Some(StepSignal::Wrong),
            AdvantageKind::TpGrpo(_) => Some(StepSignal::Labels),
            AdvantageKind::Ppr(_) | AdvantageKind::IStar(_) => Some(StepSignal::Scores),
            AdvantageKind::StepReturns(returns) => Some(StepSignal::Shaped(*returns)),
            AdvantageKind::Gae(gae) => gae.renorm.map(|_| StepSignal::Scores),
            AdvantageKind::Grpo(_)
            | AdvantageKind::Mean(_)
            | AdvantageKind::Rloo(_)
            | AdvantageKind::MaxRl(_)
            | AdvantageKind::ReinforcePlusPlus(_)
            | AdvantageKind::ReinforcePlusPlusBaseline(_)
            | AdvantageKind::StableReinforce(_)
            | AdvantageKind::Canon(_)
            | AdvantageKind::WReinforce(_) => None,
        }
    }

    /// Whether the advantage reads whether a response is right, and no other reward.
    pub(super) fn needs_right(self) -> bool {
        match self {
            StepSignal::Wrong | StepSignal::Labels => true,
            StepSignal::Scores | StepSignal::Shaped(_) => false,
        }
    }

    /// Locates the steps of a rollout in its tokens. A step that could not be checked is left out:
    /// its tokens are outside of steps. `reward` is that of the response.
    ///
    /// # Errors
    /// A rollout of the policy without steps, and labels or scores that do not fit the advantage.
    pub(super) fn steps(
        self,
        sampler: &Sampler,
        item: &TrainingItem,
        rollout: &Rollout,
        reward: f64,
    ) -> Result<Vec<ResponseStep>> {
        let Some(judged) = &rollout.steps else {
            return Err(TrainError::Invalid(format!(
                "the advantage needs the steps of responses, and the scorer '{}' does not score steps; \
                 name one that does as `steps_scorer` (of the kinds process, critic or arithmetic)",
                item.scorer
            )));
        };
        let ends = ends(sampler, &rollout.tokens)?;
        let mut located = Vec::with_capacity(judged.len());
        let mut free = 0;
        for step in judged {
            let tokens = tokens_in(&ends, &step.span, free);
            if tokens.is_empty() {
                continue;
            }
            free = tokens.end;
            located.push((tokens, step));
        }
        if let StepSignal::Shaped(returns) = self {
            return shaped(&returns, &located, ends.len(), reward);
        }
        let mut steps = Vec::with_capacity(located.len());
        for (tokens, step) in located {
            if let Some(signal) = self.signal(step, rollout)? {
                steps.push(ResponseStep { tokens, signal });
            }
        }
        Ok(steps)
    }

    fn signal(self, step: &JudgedStep, rollout: &Rollout) -> Result<Option<Signal>> {
        Ok(match self {
            StepSignal::Wrong => step.score.map(|score| Signal::Wrong(1.0 - score)),
            StepSignal::Scores | StepSignal::Shaped(_) => step.score.map(Signal::Reward),
            StepSignal::Labels => label(step, rollout)?.map(Signal::Label),
        })
    }
}

/// The steps of a rollout by a rule, each with a reward of 0 until a model of steps gives it one.
///
/// # Errors
/// Tokens that the tokenizer refuses.
pub(super) fn split_steps(
    sampler: &Sampler,
    rollout: &Rollout,
    splitter: Splitter,
) -> Result<Vec<ResponseStep>> {
    let ends = ends(sampler, &rollout.tokens)?;
    let characters = |bytes: usize| rollout.text[..bytes].chars().count();
    let mut free = 0;
    let mut steps = Vec::new();
    for span in arithmetic::split(&rollout.text, splitter) {
        let tokens = tokens_in(&ends, &(characters(span.start)..characters(span.end)), free);
        if !tokens.is_empty() {
            free = tokens.end;
            steps.push(ResponseStep { tokens, signal: Signal::Reward(0.0) });
        }
    }
    Ok(steps)
}

/// The steps that could be checked with their shaped rewards, the last with the outcome; all
/// `n_tokens` as one step if there is none.
fn shaped(
    returns: &StepReturns,
    located: &[(Range<usize>, &JudgedStep)],
    n_tokens: usize,
    reward: f64,
) -> Result<Vec<ResponseStep>> {
    let checked = located.iter().filter_map(|(tokens, step)| Some((tokens, step.score?, step)));
    let checked: Vec<(&Range<usize>, f64, &&JudgedStep)> = checked.collect();
    let scores: Vec<f64> = checked.iter().map(|(_, score, _)| *score).collect();
    let own: Option<Vec<f64>> = checked.iter().map(|(_, _, step)| step.reward).collect();
    let rewards = returns.rewards(&scores, own.as_deref(), reward)?;
    let whole = 0..n_tokens;
    let places: Vec<&Range<usize>> = match checked.as_slice() {
        [] if n_tokens > 0 => vec![&whole],
        checked => checked.iter().map(|(tokens, _, _)| *tokens).collect(),
    };
    let steps = places.into_iter().zip(rewards);
    Ok(steps
        .map(|(tokens, reward)| ResponseStep {
            tokens: tokens.clone(),
            signal: Signal::Reward(reward),
        })
        .collect())
}

/// The label of a step. In a right solution it is right or wrong; in a wrong solution the scorer
/// must also say whether it leads to the wrong answer.
fn label(step: &JudgedStep, rollout: &Rollout) -> Result<Option<ThoughtLabel>> {
    match (&*step.label, rollout.is_right()) {
        ("matching", false) => Ok(Some(ThoughtLabel::Matching)),
        ("mismatched", false) => Ok(Some(ThoughtLabel::Mismatched)),
        ("right", true) => Ok(Some(ThoughtLabel::Right)),
        ("wrong", true) => Ok(Some(ThoughtLabel::Wrong)),
        _ if step.score.is_none() => Ok(None),
        (other, right) => Err(TrainError::Invalid(format!(
            "tp_grpo has no use for the step '{other}' of a {} solution: it needs the labels of a \
             critic with `mode = \"thoughts\"`",
            if right { "right" } else { "wrong" }
        ))),
    }
}

/// The end of each token's text, in code points. Bytes of an incomplete character belong to the
/// token that completes it.
fn ends(sampler: &Sampler, tokens: &[Token]) -> Result<Vec<usize>> {
    let tokenizer = sampler.encoder().tokenizer();
    let mut stream = tokenizer.decode_stream(true);
    let mut end = 0;
    let mut ends = Vec::with_capacity(tokens.len());
    for token in tokens {
        end += stream.step(token.id)?.chars().count();
        ends.push(end);
    }
    if let Some(last) = ends.last_mut() {
        *last += stream.finish()?.chars().count();
    }
    Ok(ends)
}

/// The tokens with text in a span, from `free` on: one that reaches into two steps is the first's.
fn tokens_in(ends: &[usize], span: &Range<usize>, free: usize) -> Range<usize> {
    let begins = |at: usize| at.checked_sub(1).map_or(0, |before| ends[before]);
    let start = (free..ends.len()).find(|at| ends[*at] > span.start);
    let start = start.unwrap_or(ends.len());
    let end = (start..ends.len()).find(|at| begins(*at) >= span.end);
    start..end.unwrap_or(ends.len())
}

#[cfg(test)]
mod tests {
    use super::tokens_in;

    #[test]
    fn spans_of_text_are_runs_of_tokens() {
        // Six tokens; the third has no text, the fifth reaches over a border at 6.
        let ends = [1, 3, 3, 5, 8, 9];
        let check = |span, free, expected| assert_eq!(tokens_in(&ends, &span, free), expected);
        check(0..3, 0, 0..2);
        check(3..6, 2, 3..5);
        check(6..9, 5, 5..6);
        check(0..9, 0, 0..6);
        check(9..12, 0, 6..6);
        check(0..1, 1, 1..1);
        assert_eq!(tokens_in(&[], &(0..1), 0), 0..0);
    }
}
