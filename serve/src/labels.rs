//! Labels of a model's head outputs and the activation of their logits, from the model's files.

use std::collections::HashMap;

use chat::Folder;
use engine::Host;
use rubrics::calibration::sigmoid;
use serde::Deserialize;

/// Largest `config.json` in bytes, as when the model was loaded.
const MOST_BYTES: u64 = 16 << 20;

/// The labels and activation of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    names: Vec<String>,
    problem: Option<ProblemType>,
}

/// The training objective of a head, from `problem_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProblemType {
    Regression,
    SingleLabelClassification,
    MultiLabelClassification,
}

/// The fields of `config.json` that are used here. Other faults in it were reported when the model
/// was loaded.
#[derive(Debug, Default, Deserialize)]
struct LabelConfig {
    #[serde(default)]
    id2label: HashMap<String, String>,
    #[serde(default)]
    problem_type: Option<ProblemType>,
}

impl Labels {
    /// Reads the labels of a loaded model. Labels that are missing or unreadable get the default
    /// names of transformers.
    pub(crate) fn read(host: &Host) -> Labels {
        let n_labels = host.engine.limits().head_labels.unwrap_or(0);
        let fields = host.folder().and_then(fields).unwrap_or_default();
        Labels::of(fields, n_labels)
    }

    fn of(mut fields: LabelConfig, n_labels: usize) -> Labels {
        let name = |at: usize| fields.id2label.remove(&at.to_string());
        let names = (0..n_labels).map(name);
        Labels {
            names: names
                .enumerate()
                .map(|(at, name)| name.unwrap_or_else(|| default_name(at)))
                .collect(),
            problem: fields.problem_type,
        }
    }

    /// Returns the label of an output, or the default name of transformers beyond the model's own
    /// labels, as for an adapter's head.
    pub(crate) fn name(&self, at: usize) -> String {
        self.names.get(at).cloned().unwrap_or_else(|| default_name(at))
    }

    /// Activates logits as `problem_type` says; without it by sigmoid for one output and softmax
    /// for several.
    pub(crate) fn activated(&self, logits: &[f64]) -> Vec<f64> {
        match self.problem {
            Some(ProblemType::Regression) => logits.to_vec(),
            Some(ProblemType::SingleLabelClassification) | None if logits.len() > 1 => {
                base::stats::softmax(logits)
            }
            Some(
                ProblemType::MultiLabelClassification | ProblemType::SingleLabelClassification,
            )
            | None => each_sigmoid(logits),
        }
    }
}

fn fields(folder: &Folder) -> Option<LabelConfig> {
    let text = folder.read("config.json", MOST_BYTES).ok()??;
    serde_json::from_slice(&text).ok()
}

fn default_name(at: usize) -> String {
    format!("LABEL_{at}")
}

fn each_sigmoid(logits: &[f64]) -> Vec<f64> {
    logits.iter().copied().map(sigmoid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &str, logits: &[f64], expected: &[f64], names: &[&str]) {
        let fields = serde_json::from_str(config).expect("a configuration");
        let labels = Labels::of(fields, logits.len());
        let found = labels.activated(logits);
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near, "{config}: {found:?}");
        let named: Vec<String> = (0..logits.len()).map(|at| labels.name(at)).collect();
        assert_eq!(named, names, "{config}");
    }

    #[test]
    fn labels_are_read_from_config() {
        check("{}", &[0.0], &[0.5], &["LABEL_0"]);
        check(
            r#"{"id2label": {"0": "bad", "1": "good"}}"#,
            &[0.0, 3.0_f64.ln()],
            &[0.25, 0.75],
            &["bad", "good"],
        );
        check(
            r#"{"problem_type": "multi_label_classification", "id2label": {"1": "b"}}"#,
            &[0.0, 0.0],
            &[0.5, 0.5],
            &["LABEL_0", "b"],
        );
        check(r#"{"problem_type": "regression"}"#, &[-7.5], &[-7.5], &["LABEL_0"]);
        check(r#"{"problem_type": null}"#, &[0.0], &[0.5], &["LABEL_0"]);
    }
}
