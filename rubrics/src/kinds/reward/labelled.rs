//! `method = "labels"`: the verdict of a model without a head, read at the last token.
//!
//! The model was trained to predict one of two words after a conversation without a generation
//! prompt, and the difference of their log-probabilities replaces a head's logit: Math-Shepherd's
//! method for steps (arXiv 2312.08935), once for the response. There is no question and no
//! generation; for models that need a question there are `validate` and `principles`.

use serde::Serialize;
use serde_json::{Value, json};
use verifiers::Reason;

use super::{NAME, tokenized};
use crate::Message;
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::kinds::options::LabelOptions;
use crate::kinds::{KindContext, Names, ScoreFuture, ScorerKind};
use crate::labels::Labels;
use crate::models::{Models, Served, wording_digest};
use crate::outcome::{Evidence, Failure, Outcome, Score, Trace};
use crate::sample::Sample;
use base::stats::sigmoid;

/// Default labels: of a good response and of a bad one.
const WORDS: [&str; 2] = ["Yes", "No"];

/// Options that speak of a head's outputs.
const HEAD_ONLY: [&str; 2] = ["label", "weights"];

/// The options, with their defaults filled in.
#[derive(Debug, Clone, Serialize)]
struct Labelled {
    model: String,
    /// The good one first.
    labels: [String; 2],
    #[serde(flatten)]
    reading: LabelOptions,
    score: ScoreTransform,
}

/// Map from log-odds to score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ScoreTransform {
    /// Their logistic function, in [0, 1].
    #[default]
    Sigmoid,
    /// The log-odds themselves.
    Raw,
}

/// Reads a `[[scorer]]` table.
pub(super) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    for key in HEAD_ONLY {
        if section.has(key) {
            section.problem(key, "speaks of a head, and method = \"labels\" reads none");
        }
    }
    let scores = [("sigmoid", ScoreTransform::Sigmoid), ("raw", ScoreTransform::Raw)];
    let score = section.word("score", &scores).unwrap_or_default();
    let reading = LabelOptions::read(section);
    let labels = words(section);
    let model = names.model(section, "model");
    Some(Box::new(Labelled { model: model?, labels: labels?, reading, score }))
}

fn words(section: &Section<'_, '_>) -> Option<[String; 2]> {
    if !section.has("labels") {
        return Some(WORDS.map(str::to_owned));
    }
    let labels = section.texts("labels")?;
    match <[String; 2]>::try_from(labels) {
        Ok([good, bad]) if good != bad && !good.is_empty() && !bad.is_empty() => Some([good, bad]),
        Ok(_) | Err(_) => {
            let message = "expected two different labels: that of a good response and that of a \
                           bad one";
            section.problem("labels", message);
            None
        }
    }
}

impl ScorerKind for Labelled {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "scores a response by a model's verdict token"
    }

    fn options(&self) -> Value {
        json!({ "labels": self })
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.model]
    }

    fn calibrates(&self) -> bool {
        true
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        if !served.has_vocabulary() {
            return Err(format!("'{}' has no vocabulary to read labels from", self.model));
        }
        let turns = [Message::new("user", "What is 2 + 2?"), Message::new("assistant", "4")];
        let checked =
            tokenized(&served, &turns).and_then(|prompt| self.after(&served, &prompt).map(drop));
        checked.map_err(Failure::into_message)
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context.client))
    }
}

impl Labelled {
    async fn evaluate_sample(&self, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        let served = client.served(&self.model)?;
        let turns = sample.conversation();
        let (own, rendering) = (self.clone(), served.clone());
        let ask = move || {
            let prompt = tokenized(&rendering, &turns)?;
            let labels = own.after(&rendering, &prompt)?;
            Ok::<_, Failure>((prompt, labels))
        };
        let (prompt, labels) = client.run(ask).await??;
        let mut trace = Trace { prompt: Some(wording_digest(&served, &[])), ..Trace::default() };
        let sequences = vec![(prompt.token_ids.clone(), labels.task(&prompt))];
        let outputs = client.read(&served, sequences, &mut trace).await?;
        let read = labels.read(&outputs[0][0])?;
        trace.saw_mass(Some(read.mass));
        let evidence = Evidence { trace: Some(trace), ..Evidence::default() };
        if let Err(failure) = read.enough_mass(self.reading.min_label_mass) {
            return Err(failure.with_evidence(evidence));
        }
        let raw = read.margin();
        let score = match self.score {
            ScoreTransform::Sigmoid => sigmoid(raw),
            ScoreTransform::Raw => raw,
        };
        Ok(Score {
            raw: Some(raw),
            evidence,
            ..Score::proven(score, Reason::code("reward_labels"))
        })
    }

    /// The labels as they would follow a conversation.
    fn after(&self, served: &Served, prompt: &crate::models::Prompted) -> Result<Labels, Failure> {
        let words = self.labels.each_ref().map(String::as_str);
        let labels = Labels::after(served, prompt, &words, self.reading.spellings);
        labels.map_err(|what| Failure::refused("labels_unusable", what))
    }
}

#[cfg(test)]
mod tests {
    use engine::Host;
    use tiny_models::TinyHead;

    use crate::Input;
    use crate::outcome::FailureKind;
    use crate::testing::{Beliefs, Bench, read_registry};

    fn bench(options: &str, belief: fn(&str) -> Vec<(String, f32)>) -> Bench {
        let toml =
            format!("[[scorer]]\nname = 's'\nkind = 'reward'\nmethod = 'labels'\n{options}\n");
        Bench::scripted(&toml, TinyHead::Vocab, |host: &Host| Beliefs::new(host, belief))
    }

    fn yes_after_the_end(seen: &str) -> Vec<(String, f32)> {
        assert!(
            seen.ends_with("four<|im_end|>\n"),
            "it is read where the conversation ends: {seen:?}"
        );
        vec![("Yes".to_owned(), 3.0), ("No".to_owned(), 1.0)]
    }

    #[test]
    fn label_difference_is_the_logit() {
        let check = |options: &str, score: f64| {
            let bench = bench(options, yes_after_the_end);
            assert_eq!(bench.check(), Ok(()));
            let reward = bench.one("s", Input::of("four")).expect("a verdict");
            let near = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
            assert!(near(reward.score, score), "{}", reward.score);
            assert!(reward.raw.is_some_and(|raw| near(raw.abs(), 2.0)));
            let trace = reward.evidence.trace.expect("a model was called");
            assert!(trace.label_mass.is_some_and(|mass| mass > 0.99));
        };
        check("", 1.0 / (1.0 + (-2.0_f64).exp()));
        check("score = 'raw'", 2.0);
        check("labels = ['No', 'Yes']\nscore = 'raw'\nspellings = 'bare'", -2.0);
    }

    #[test]
    fn model_without_either_label_abstains() {
        let other = |_: &str| vec![("a".to_owned(), 9.0), ("Yes".to_owned(), 1.0)];
        let failure = bench("", other).one("s", Input::of("four"));
        assert_eq!(failure.expect_err("no verdict").kind, FailureKind::Abstain);
    }

    #[test]
    fn impossible_options_are_reported() {
        let check = |options: &str, expected: &str| {
            let toml =
                format!("[[scorer]]\nname = 's'\nkind = 'reward'\nmethod = 'labels'\n{options}\n");
            let (_, problems) = read_registry(&toml);
            assert!(
                problems.len() == 1 && problems[0].contains(expected),
                "{options}: {problems:?}"
            );
        };
        check("label = 1", "reads none");
        check("weights = [1, 2]", "reads none");
        check("labels = ['a', 'a']", "two different labels");
        check("labels = ['a']", "two different labels");
        check("score = 'softmax'", "score");
        let no_token = bench("labels = ['magnificent', 'awful']", |_| Vec::new());
        let problems = no_token.check().expect_err("several tokens");
        assert!(problems[0].contains("magnificent"), "{problems:?}");
        let no_words = Bench::real(
            "[[scorer]]\nname = 's'\nkind = 'reward'\nmethod = 'labels'\n",
            tiny_models::Preset::Qwen2,
            TinyHead::Sequence,
            0,
        );
        let problems = no_words.check().expect_err("no vocabulary");
        assert!(problems[0].contains("no vocabulary"), "{problems:?}");
    }
}
