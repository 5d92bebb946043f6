//! `config.json` and `generation_config.json` of a made model.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::preset::Preset;
use crate::tokenizer::{END_OF_TEXT, IM_END};
use crate::{TinyHead, TinySpec};
use models::{ModelError, Result};

/// Maximum labels of a generated head.
const MAX_LABELS: usize = 1024;

/// The architecture's name, such as `Qwen2ForCausalLM`.
pub(crate) fn architecture(spec: &TinySpec) -> String {
    let family = spec.preset.architecture();
    match spec.head {
        TinyHead::Vocab | TinyHead::Value => format!("{family}ForCausalLM"),
        // transformers keeps the short name for the model that also sees images.
        TinyHead::Sequence if spec.preset == Preset::Gemma3 => {
            format!("{family}TextForSequenceClassification")
        }
        TinyHead::Sequence => format!("{family}ForSequenceClassification"),
        TinyHead::Token => format!("{family}ForTokenClassification"),
        TinyHead::Reward => format!("{family}ForRewardModel"),
        TinyHead::Process => format!("{family}ForProcessRewardModel"),
    }
}

/// Whether transformers, or the model's own code for two-layer heads, has the head in this family.
fn exists(preset: Preset, head: TinyHead) -> bool {
    match head {
        TinyHead::Vocab | TinyHead::Value | TinyHead::Sequence => true,
        TinyHead::Token => !matches!(preset, Preset::Gemma3 | Preset::Olmo2),
        TinyHead::Reward | TinyHead::Process => preset.architecture() == "Qwen2",
    }
}

/// `config.json`. Errors name `dir`.
pub(crate) fn config_json(dir: &Path, spec: &TinySpec) -> Result<Value> {
    if !exists(spec.preset, spec.head) {
        let heads = TinyHead::ALL.into_iter().filter(|h| exists(spec.preset, *h));
        return Err(ModelError::Unavailable {
            requested: format!("{} head in this family", spec.head),
            available: heads.map(TinyHead::name).collect::<Vec<_>>().join(", "),
        });
    }
    let mut fields = spec.preset.fields();
    fields.insert("architectures".into(), json!([architecture(spec)]));
    fields.insert("torch_dtype".into(), spec.storage.torch_name().into());
    if let Some(n) = label_count(dir, spec)? {
        let labels: Map<String, Value> =
            (0..n).map(|i| (i.to_string(), format!("LABEL_{i}").into())).collect();
        let ids: Map<String, Value> = (0..n).map(|i| (format!("LABEL_{i}"), i.into())).collect();
        fields.insert("id2label".into(), labels.into());
        fields.insert("label2id".into(), ids.into());
    }
    Ok(fields.into())
}

/// The number of labels in the file; `None` if the head fixes it.
fn label_count(dir: &Path, spec: &TinySpec) -> Result<Option<usize>> {
    let refuse = |what: String| {
        Err(ModelError::Config { path: dir.join("config.json"), field: "id2label".into(), what })
    };
    let default = match spec.head {
        TinyHead::Sequence => 1,
        TinyHead::Token => 2,
        TinyHead::Vocab | TinyHead::Reward | TinyHead::Process | TinyHead::Value => {
            return match spec.labels {
                None => Ok(None),
                Some(n) => {
                    refuse(format!("{n} labels, and a {} head has none to choose", spec.head))
                }
            };
        }
    };
    match spec.labels.unwrap_or(default) {
        n if (1..=MAX_LABELS).contains(&n) => Ok(Some(n)),
        n => refuse(format!("{n} labels; from 1 to {MAX_LABELS} can be made")),
    }
}

/// `generation_config.json`: greedy, ending at the end of a message or a text.
pub(crate) fn generation_config_json() -> Value {
    json!({
        "bos_token_id": END_OF_TEXT,
        "do_sample": false,
        "eos_token_id": [IM_END, END_OF_TEXT],
        "pad_token_id": END_OF_TEXT,
    })
}
