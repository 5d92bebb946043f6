//! Whether a generation can be asked for at all.

use super::SamplingParams;

/// Names the parameter that makes no sense.
pub(super) fn sampling(sampling: &SamplingParams, vocab_size: usize) -> Result<(), String> {
    let s = sampling;
    if s.max_tokens == 0 {
        return Err("max_tokens is 0: at least one token is generated".to_owned());
    }
    if s.min_tokens > s.max_tokens {
        return Err(format!(
            "min_tokens is {}, more than max_tokens, which is {}",
            s.min_tokens, s.max_tokens
        ));
    }
    within("temperature", s.temperature, 0.0, 100.0)?;
    within("top_p", s.top_p, 0.0, 1.0)?;
    if s.top_p == 0.0 {
        return Err("top_p is 0: no token would be left".to_owned());
    }
    within("min_p", s.min_p, 0.0, 1.0)?;
    within("repetition_penalty", s.repetition_penalty, 0.0, 100.0)?;
    if s.repetition_penalty == 0.0 {
        return Err("repetition_penalty is 0: it is a factor, and 1 is none".to_owned());
    }
    within("presence_penalty", s.presence_penalty, -2.0, 2.0)?;
    within("frequency_penalty", s.frequency_penalty, -2.0, 2.0)?;
    if s.top_k == Some(0) {
        return Err("top_k is 0: no token would be left".to_owned());
    }
    if let Some(n) = s.logprobs.filter(|n| *n > vocab_size) {
        return Err(format!("logprobs asks for {n} tokens, and the vocabulary has {vocab_size}"));
    }
    for (id, bias) in &s.logit_bias {
        within("logit_bias", *bias, -100.0, 100.0)?;
        if *id as usize >= vocab_size {
            return Err(format!(
                "logit_bias names token {id}, beyond the vocabulary of {vocab_size}"
            ));
        }
    }
    Ok(())
}

fn within(name: &str, value: f32, least: f32, most: f32) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value}, and not from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::SamplingParams;

    #[test]
    fn what_makes_no_sense_is_named() {
        let check = |change: fn(&mut SamplingParams), expected: &str| {
            let mut sampling = SamplingParams::default();
            change(&mut sampling);
            let error = super::sampling(&sampling, 10).expect_err(expected);
            assert!(error.starts_with(expected), "{error}");
        };
        check(|s| s.max_tokens = 0, "max_tokens is 0");
        check(|s| s.min_tokens = 17, "min_tokens is 17");
        check(|s| s.temperature = -1.0, "temperature is -1");
        check(|s| s.temperature = f32::NAN, "temperature is NaN");
        check(|s| s.temperature = f32::INFINITY, "temperature is inf");
        check(|s| s.top_p = 0.0, "top_p is 0");
        check(|s| s.top_p = 1.5, "top_p is 1.5");
        check(|s| s.top_p = f32::NAN, "top_p is NaN");
        check(|s| s.min_p = -0.1, "min_p is -0.1");
        check(|s| s.repetition_penalty = 0.0, "repetition_penalty is 0");
        check(|s| s.repetition_penalty = -1.0, "repetition_penalty is -1");
        check(|s| s.presence_penalty = 2.5, "presence_penalty is 2.5");
        check(|s| s.frequency_penalty = f32::NAN, "frequency_penalty is NaN");
        check(|s| s.top_k = Some(0), "top_k is 0");
        check(|s| s.logprobs = Some(11), "logprobs asks for 11");
        check(|s| s.logit_bias = vec![(1, 0.0), (10, 1.0)], "logit_bias names token 10");
        check(|s| s.logit_bias = vec![(1, -101.0)], "logit_bias is -101");
        let fine = SamplingParams {
            max_tokens: usize::MAX,
            top_k: Some(usize::MAX),
            top_p: 1e-9,
            seed: u64::MAX,
            ..SamplingParams::default()
        };
        assert_eq!(super::sampling(&fine, 10), Ok(()));
    }
}
