//! Checks that a model gives the same bits alone and in a batch, computed and from the cache, decoded
//! and read, beside adapters and without.

use std::sync::Arc;

use engine::{Output, Request, SampledToken, SamplingParams, Task, TaskOutput};
use tiny_models::random_adapter;

use super::probe_engine::{ProbeEngine, ProbeSequence, rows};
use super::report::ModelReport;

/// Lengths of sequences: within a block of keys, at its end, over several steps.
const LENGTHS: [usize; 6] = [1, 7, 16, 33, 64, 90];

/// Tokens that are decoded.
const DECODED: usize = 12;

/// Tokens before them.
const PROMPT: usize = 21;

/// Runs the checks.
pub(super) fn examine(probe: &mut ProbeEngine<'_>, report: &mut ModelReport) {
    report.check("finite", finite(probe));
    report.check("alone = batch", batch(probe));
    report.check("hit = miss", cache(probe));
    if probe.loaded.has_vocabulary() {
        report.check("decode = prefill", decode(probe));
    } else {
        report.skip("decode = prefill", "the model has no vocabulary to decode with");
    }
    report.check("beside adapters", adapters(probe));
}

/// Sequences of several lengths, two of them with a common beginning.
fn sequences(probe: &mut ProbeEngine<'_>) -> Vec<ProbeSequence> {
    let most = probe.most_tokens();
    let lengths = LENGTHS.into_iter().filter(|len| *len <= most);
    let mut all: Vec<Vec<u32>> = lengths.map(|len| probe.tokens(len)).collect();
    let longest = &all[all.len() - 1];
    let fork = longest.len() / 2;
    let mut other = longest[..fork].to_vec();
    other.extend(probe.tokens(longest.len() - fork));
    all.push(other);
    all.into_iter().map(|ids| probe.sequence(ids)).collect()
}

fn finite(probe: &mut ProbeEngine<'_>) -> Result<String, String> {
    let mut count = 0;
    for sequence in sequences(probe) {
        for ((at, _), output) in sequence.reads.iter().zip(probe.alone(&sequence)?) {
            let (kind, numbers) = output_numbers(&output);
            if let Some(bad) = numbers.iter().find(|x| !x.is_finite()) {
                return Err(format!("{bad} in the {kind} at position {at}"));
            }
            count += numbers.len();
        }
    }
    Ok(format!("{count} outputs"))
}

/// What an output is of, and its numbers.
fn output_numbers(output: &Output) -> (&'static str, Vec<f32>) {
    match output {
        Output::Head(numbers) => ("head's outputs", numbers.clone()),
        Output::Vocab(logits) => ("logits", logits.clone()),
        Output::Labels { logits, log_normalizer } => {
            let numbers = logits.iter().chain(log_normalizer).copied();
            ("label logits", numbers.collect())
        }
        Output::Logprob { logprob, entropy } => ("log-probability", vec![*logprob, *entropy]),
        Output::Hidden(numbers) => ("hidden state", numbers.clone()),
    }
}

/// Each sequence by the runner alone, by the engine alone, and by the engine beside all others.
fn batch(probe: &mut ProbeEngine<'_>) -> Result<String, String> {
    let all = sequences(probe);
    let together: Vec<_> = all.iter().map(|sequence| (sequence, None)).collect();
    let terms = probe.uncached();
    let in_batch = probe.run_all(&together, terms)?;
    for (sequence, answer) in all.iter().zip(&in_batch) {
        let expected = probe.alone(sequence)?;
        let terms = probe.uncached();
        let by_itself = probe.run_all(&[(sequence, None)], terms)?;
        let len = sequence.token_ids.len();
        let place = |how: &str| format!("a sequence of {len} tokens, {how}");
        same(sequence, rows(&by_itself[0])?, &expected, &place("alone in the engine"))?;
        same(sequence, rows(answer)?, &expected, &place("beside others"))?;
    }
    Ok(format!("{} sequences, in steps of a few tokens", all.len()))
}

/// A sequence for the first and for the second time, and one that begins like it.
fn cache(probe: &mut ProbeEngine<'_>) -> Result<String, String> {
    let len = probe.most_tokens().min(90);
    let fork = len * 3 / 5;
    let first = probe.tokens(len);
    let mut other = first[..fork].to_vec();
    other.extend(probe.tokens(len - fork));
    let (first, other) = (probe.sequence(first), probe.sequence(other));
    let terms = probe.uncached();
    let mut cached = 0;
    for (sequence, what) in [(&first, "computed"), (&first, "repeated"), (&other, "begun alike")] {
        let expected = probe.alone(sequence)?;
        // A row can only be read off a token that is computed: the last one is read here.
        let last = sequence.token_ids.len() - 1;
        let (reads, expected): (Vec<_>, Vec<_>) = (sequence.reads.iter().cloned())
            .zip(expected)
            .filter(|((at, _), _)| *at == last)
            .unzip();
        let sequence = ProbeSequence { token_ids: sequence.token_ids.clone(), reads };
        let answer = probe.run_all(&[(&sequence, None)], terms)?.remove(0);
        same(&sequence, rows(&answer)?, &expected, &format!("a sequence {what}"))?;
        if what != "computed" && answer.usage.cached_tokens == 0 {
            return Err(format!("nothing of a sequence {what} came from the cache"));
        }
        cached += answer.usage.cached_tokens;
    }
    Ok(format!("{cached} tokens from the cache"))
}

/// Tokens that are generated, and the same tokens read as one prompt.
fn decode(probe: &mut ProbeEngine<'_>) -> Result<String, String> {
    let prompt = probe.tokens(PROMPT.min(probe.most_tokens() - DECODED));
    let work = Request {
        token_ids: prompt.clone().into(),
        adapter: None,
        task: Task::Generate(Box::new(SamplingParams {
            max_tokens: DECODED,
            logprobs: Some(0),
            ..SamplingParams::default()
        })),
    };
    let terms = probe.uncached();
    let answer = probe.answers(vec![work], terms)?.remove(0);
    let TaskOutput::Tokens { tokens, .. } = answer.output else {
        return Err("the engine gave rows in place of tokens".to_owned());
    };
    let ids = tokens.iter().map(|token| token.token_id);
    let whole: Arc<[u32]> = prompt.iter().copied().chain(ids).collect();
    let want = Task::logprobs(&whole, prompt.len()..whole.len());
    let work = Request { token_ids: whole, adapter: None, task: want };
    let terms = probe.uncached();
    let read = probe.answers(vec![work], terms)?;
    compare_logprobs(&tokens, rows(&read[0])?)?;
    Ok(format!("{} tokens with their log-probabilities", tokens.len()))
}

fn compare_logprobs(tokens: &[SampledToken], read: &[Output]) -> Result<(), String> {
    for (at, (token, output)) in tokens.iter().zip(read).enumerate() {
        let Output::Logprob { logprob, .. } = output else {
            return Err("the engine gave another output in place of a log-probability".to_owned());
        };
        if token.logprob.to_bits() != logprob.to_bits() {
            return Err(format!(
                "token {at} had the log-probability {} when it was generated, and has {logprob} \
                 when it is read",
                token.logprob
            ));
        }
    }
    Ok(())
}

/// Rows of the base beside rows of an adapter, and the other way round.
fn adapters(probe: &mut ProbeEngine<'_>) -> Result<String, String> {
    let adapter = random_adapter(&probe.loaded.model.config, 0, 4);
    let adapter = adapter.map_err(|error| error.to_string())?;
    let name: Arc<str> = "random".into();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let inserted = runtime.block_on(probe.engine.insert_adapter(name.clone(), adapter));
    inserted.map_err(|error| error.to_string())?;

    let all = sequences(probe);
    let mixed: Vec<_> =
        all.iter().flat_map(|sequence| [(sequence, None), (sequence, Some(&name))]).collect();
    let terms = probe.uncached();
    let answers = probe.run_all(&mixed, terms)?;
    let mut changed = false;
    for (sequence, pair) in all.iter().zip(answers.chunks(2)) {
        let expected = probe.alone(sequence)?;
        let terms = probe.uncached();
        let adapted = probe.run_all(&[(sequence, Some(&name))], terms)?;
        same(sequence, rows(&pair[0])?, &expected, "the base beside an adapter")?;
        same(sequence, rows(&pair[1])?, rows(&adapted[0])?, "an adapter beside the base")?;
        changed |= rows(&pair[1])? != expected;
    }
    if !changed {
        return Err("an adapter changed nothing".to_owned());
    }
    Ok(format!("{} sequences under the base and under a random adapter", all.len()))
}

/// Whether two readings of a sequence are the same in every bit; if not, where.
fn same(
    sequence: &ProbeSequence,
    got: &[Output],
    want: &[Output],
    what: &str,
) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{what}: {} rows came, {} were read", got.len(), want.len()));
    }
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        let ((kind, got), (_, want)) = (output_numbers(got), output_numbers(want));
        let pairs = got.iter().zip(&want);
        let differing = pairs.clone().filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        if differing > 0 || got.len() != want.len() {
            let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let position = sequence.reads[at].0;
            return Err(format!(
                "{what}: {differing} of {} numbers of the {kind} at position {position} differ, by \
                 up to {most:e}",
                want.len()
            ));
        }
    }
    Ok(())
}
