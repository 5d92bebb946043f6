//! Fields of `config.json` without a reader: harmless ones, and ones that have no effect at some
//! values.

use super::family::Family;
use super::fields::{ConfigFields, NOT_UNDERSTOOD, display_value};
use crate::error::Result;

/// Fields that cannot change a forward, whatever their value.
const HARMLESS: &[&str] = &[
    // Training and initialisation.
    "attention_dropout",
    "attention_probs_dropout_prob",
    "classifier_dropout",
    "embd_pdrop",
    "gradient_checkpointing",
    "hidden_dropout",
    "hidden_dropout_prob",
    "initializer_range",
    "output_router_logits",
    "problem_type",
    "resid_pdrop",
    "router_aux_loss_coef",
    "summary_first_dropout",
    "summary_dropout_prob",
    "use_cache",
    // Storage of the weights, which the files themselves state.
    "dtype",
    "torch_dtype",
    "use_bfloat16",
    "torchscript",
    // Tokens, which the tokenizer's files define.
    "bos_token_id",
    "decoder_start_token_id",
    "eos_token_id",
    "sep_token_id",
    "tokenizer_class",
    // Names and where the file came from.
    "_commit_hash",
    "_name_or_path",
    "auto_map",
    "finetuning_task",
    "is_llama_config",
    "label2id",
    "license",
    "name_or_path",
    "task_specific_params",
    "tf_legacy_loss",
    "transformers_version",
    "unsloth_fixed",
    "unsloth_version",
    // Settings of other programs, with the same result up to rounding.
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_attn_implementation_internal",
    "_experts_implementation",
    "_experts_implementation_internal",
    "attn_implementation",
    "cache_implementation",
    "chunk_size_feed_forward",
    "output_attentions",
    "output_hidden_states",
    "return_dict",
    "tie_last_hidden_states",
    // Generation, which uses the model and does not change it.
    "assistant_confidence_threshold",
    "assistant_lookbehind",
    "bad_words_ids",
    "begin_suppress_tokens",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "encoder_repetition_penalty",
    "epsilon_cutoff",
    "eta_cutoff",
    "exponential_decay_length_penalty",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "max_length",
    "min_length",
    "no_repeat_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_scores",
    "prefix",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict_in_generate",
    "suppress_tokens",
    "target_lookbehind",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
];

/// Fields that have no effect at these values (JSON), and at any other value enable features that
/// this decoder lacks.
const INERT: &[(&str, &[&str])] = &[
    ("add_cross_attention", &["false"]),
    ("cross_attention_hidden_size", &["null"]),
    ("full_attn_mod", &["1"]),
    ("interpolate_factor", &["1"]),
    ("is_causal", &["true"]),
    ("is_decoder", &["true"]),
    ("is_encoder_decoder", &["false"]),
    ("lm_head_bias", &["false"]),
    ("num_nextn_predict_layers", &["0", "null"]),
    ("per_layer_config", &["{}", "null"]),
    ("pretraining_tp", &["1"]),
    ("pruned_heads", &["{}", "null"]),
    ("quantization_config", &["null"]),
    ("rope_interleaved", &["false"]),
    ("tie_encoder_decoder", &["false"]),
    ("use_bidirectional_attention", &["false", "null"]),
    ("use_mrope", &["false"]),
];

/// Accounts for every field that was not read: it is harmless, without effect at its value, unused
/// in this family, or refused by name.
pub(super) fn check_rest(fields: &ConfigFields<'_>, family: &Family) -> Result<()> {
    for (name, value) in fields.unread() {
        if HARMLESS.contains(&name) || family.unused.contains(&name) {
            continue;
        }
        let inert = family.inert.iter().chain(INERT);
        match inert.into_iter().find(|(field, _)| *field == name) {
            None => return Err(fields.error(name, NOT_UNDERSTOOD)),
            Some((_, values)) if values.contains(&value.to_string().as_str()) => {}
            Some((_, values)) => {
                let what = format!(
                    "{} is not supported; only {} is",
                    display_value(value),
                    values.join(" or ")
                );
                return Err(fields.error(name, what));
            }
        }
    }
    Ok(())
}
