//! Inspection of a model's tokenizer and chat template.

use std::path::Path;

use serde::Serialize;

use super::Inspection;
use chat::{ChatPart, TemplateReport, Tokenizer};

/// Facts about a tokenizer.
#[derive(Debug, Serialize)]
pub struct TokenizerFacts {
    /// Number of tokens, added ones included.
    pub vocab_size: usize,
    /// The beginning-of-sequence token; `None` without one.
    pub bos: Option<String>,
    /// The padding token; `None` without one.
    pub pad: Option<String>,
    /// The ids that end a generation.
    pub eos_ids: Vec<u32>,
    /// Its chat template; `None` without one.
    pub template: Option<TemplateFacts>,
}

/// Facts about a chat template.
#[derive(Debug, Serialize)]
pub struct TemplateFacts {
    /// SHA-256 of its sources.
    pub digest: String,
    /// Parts of a conversation that it drops.
    pub drops: Vec<&'static str>,
    /// Parts of a conversation that it raises an error for.
    pub refuses: Vec<&'static str>,
    /// Whether it marks the assistant's words.
    pub marks_generation: bool,
    /// Whether it writes the beginning-of-sequence token.
    pub writes_bos: bool,
    /// Whether the tokenizer would write that token a second time.
    pub double_bos: bool,
}

/// Fills in the facts of a tokenizer, and compares it with the embedding's rows.
pub(super) fn inspect(dir: &Path, embedding_rows: Option<usize>, found: &mut Inspection) {
    let Some(tokenizer) = found.keep(Tokenizer::load(dir)) else {
        return;
    };
    if let Some(rows) = embedding_rows {
        found.keep(tokenizer.check_against(rows));
    }
    let report = found.keep(tokenizer.report());
    let template = report.and_then(|report| {
        template_notes(&report, &mut found.notes);
        (!report.missing).then(|| template(&tokenizer, &report))
    });
    found.tokenizer = Some(TokenizerFacts {
        vocab_size: tokenizer.vocab_size(),
        bos: tokenizer.named("bos_token").map(str::to_owned),
        pad: tokenizer.named("pad_token").map(str::to_owned),
        eos_ids: tokenizer.eos_ids().to_vec(),
        template,
    });
}

fn template(tokenizer: &Tokenizer, report: &TemplateReport) -> TemplateFacts {
    TemplateFacts {
        digest: format!("sha256:{}", tokenizer.template().digest()),
        drops: report.drops.iter().map(|part| part_name(*part)).collect(),
        refuses: report.refuses.iter().map(|each| part_name(each.part)).collect(),
        marks_generation: report.marks_generation,
        writes_bos: report.writes_bos,
        double_bos: report.double_bos,
    }
}

fn template_notes(report: &TemplateReport, notes: &mut Vec<String>) {
    if report.missing {
        notes.push("there is no chat template: only plain text can be scored".into());
    }
    for part in &report.drops {
        notes.push(format!("the chat template drops {}", part_name(*part)));
    }
    for refusal in &report.refuses {
        let (part, why) = (part_name(refusal.part), &refusal.why);
        notes.push(format!("the chat template refuses {part}: {why}"));
    }
    if report.double_bos {
        let what = "chat template and tokenizer both write the beginning of the sequence; chats \
                    are encoded with the template's alone";
        notes.push(what.into());
    }
}

fn part_name(part: ChatPart) -> &'static str {
    match part {
        ChatPart::System => "system messages",
        ChatPart::User => "user messages",
        ChatPart::Assistant => "assistant messages before the last turn",
        ChatPart::ToolReply => "replies of tools",
        ChatPart::ToolCalls => "calls of tools",
        ChatPart::Tools => "schemas of tools",
    }
}
