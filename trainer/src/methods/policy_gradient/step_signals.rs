//! Converts a scorer's verdicts on steps to the signals that process-aware advantages read.

use std::ops::Range;

use rubrics::combine::thoughts::ThoughtLabel;
use verifiers::arithmetic::{self, Splitter};

use crate::advantages::{AdvantageKind, ResponseStep, Signal, StepReturns};
use crate::error::{Result, TrainError};
use crate::item::{JudgedStep, Rollout, TrainingItem};
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
            AdvantageKind::Gae(gae) => gae.reads_steps().then_some(StepSignal::Scores),
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
        let (_, places) = sampler.located(&rollout.tokens, &rollout.observations)?;
        let mut located = Vec::with_capacity(judged.len());
        let mut free = 0;
        for step in judged {
            let tokens = tokens_in(&places, &step.span, free);
            if tokens.is_empty() {
                continue;
            }
            free = tokens.end;
            located.push((tokens, step));
        }
        if let StepSignal::Shaped(returns) = self {
            return shaped(&returns, &located, places.len(), reward);
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
    let (_, places) = sampler.located(&rollout.tokens, &rollout.observations)?;
    let characters = |bytes: usize| rollout.text[..bytes].chars().count();
    let mut free = 0;
    let mut steps = Vec::new();
    for span in arithmetic::split(&rollout.text, splitter) {
        let tokens = tokens_in(&places, &(characters(span.start)..characters(span.end)), free);
        if !tokens.is_empty() {
            free = tokens.end;
            steps.push(ResponseStep { tokens, signal: Signal::Reward(0.0) });
        }
    }
    Ok(steps)
}

/// The turns of a rollout as steps, each with a reward of 1 if none of its calls failed, and of 0
/// otherwise; the last turn always has 1.
pub(super) fn turn_steps(rollout: &Rollout) -> Vec<ResponseStep> {
    let failed = rollout.observations.iter().map(|observation| observation.failed > 0);
    let turns = rollout.turns().into_iter().zip(failed.chain(std::iter::repeat(false)));
    turns
        .map(|(tokens, failed)| ResponseStep {
            tokens,
            signal: Signal::Reward(f64::from(u8::from(!failed))),
        })
        .collect()
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

/// The tokens with text in a span, from `free` on: one that reaches into two steps is the first's.
/// `places` are the code points of each token.
fn tokens_in(places: &[Range<usize>], span: &Range<usize>, free: usize) -> Range<usize> {
    let n = places.len();
    let start = (free..n).find(|at| places[*at].end > span.start).unwrap_or(n);
    let end = (start..n).find(|at| places[*at].start >= span.end).unwrap_or(n);
    start..end
}

#[cfg(test)]
mod tests {
    use super::{tokens_in, turn_steps};
    use crate::advantages::Signal;
    use crate::item::{Observation, Rollout, Token};
    use crate::judge_data::fixtures::none;

    /// METHODS2 G2: a turn with a failed call is not executed, and the last one always is.
    #[test]
    fn g2_turns_are_steps() {
        let token = Token { id: 1, logprob: -1.0, revision: 0 };
        let observation = |at, failed| Observation {
            at,
            token_ids: vec![9],
            text: String::new(),
            calls: 2,
            failed,
        };
        let observations = vec![observation(2, 0), observation(5, 1)];
        let rollout = Rollout { tokens: vec![token; 6], observations, ..none() };
        let steps = turn_steps(&rollout).into_iter().map(|step| (step.tokens, step.signal));
        let expected = [(0..2, 1.0), (2..5, 0.0), (5..6, 1.0)];
        let expected = expected.map(|(tokens, reward)| (tokens, Signal::Reward(reward)));
        assert_eq!(steps.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn spans_of_text_are_runs_of_tokens() {
        // Six tokens; the third has no text, the fifth reaches over a border at 6.
        let places = [0..1, 1..3, 3..3, 3..5, 5..8, 8..9];
        let check = |span, free, expected| assert_eq!(tokens_in(&places, &span, free), expected);
        check(0..3, 0, 0..2);
        check(3..6, 2, 3..5);
        check(6..9, 5, 5..6);
        check(0..9, 0, 0..6);
        check(9..12, 0, 6..6);
        check(0..1, 1, 1..1);
        assert_eq!(tokens_in(&[], &(0..1), 0), 0..0);
        // The text of an observation, from 2 to 8, is of no token.
        let places = [0..2, 8..9];
        let check = |span, expected| assert_eq!(tokens_in(&places, &span, 0), expected);
        check(2..8, 1..1);
        check(1..8, 0..1);
        check(4..9, 1..2);
    }
}
