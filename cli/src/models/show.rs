//! An inspection for people: one fact a line.

use std::fmt::Write as _;

use ::models::adapter::{AdapterReport, Outline};
use ::models::inspect::{
    AdapterFacts, FolderKind, Inspection, LayerFacts, ModelFacts, ModelSizes, RopeFacts,
    TokenizerFacts, WeightFiles, WindowFacts,
};
use base::human::{bytes, count, grouped};

/// Names and values, in order.
type Lines = Vec<(&'static str, String)>;

/// Sites that are listed one by one.
const SITES_SHOWN: usize = 12;

/// Prints the complete inspection.
pub(super) fn table(found: &Inspection) -> String {
    let mut lines: Lines = vec![("kind", kind_name(found.kind).to_owned())];
    if let Some(model) = &found.model {
        model_lines(model, &mut lines);
    }
    if let Some(adapter) = &found.adapter {
        adapter_lines(adapter, &mut lines);
    }
    if let Some(tokenizer) = &found.tokenizer {
        tokenizer_lines(tokenizer, &mut lines);
    }
    if let Some(weights) = &found.weights {
        weight_lines(weights, &mut lines);
    }
    lines.extend(found.notes.iter().map(|note| ("note", note.clone())));
    let problems = found.problems.iter();
    lines.extend(problems.map(|problem| ("problem", problem.clone())));
    let mut text = String::new();
    for (name, value) in lines {
        writeln!(text, "{name:10} {value}").expect("writing to memory does not fail");
    }
    text
}

fn kind_name(kind: FolderKind) -> &'static str {
    match kind {
        FolderKind::Model => "model",
        FolderKind::Adapter => "adapter",
        FolderKind::Unknown => "unknown",
    }
}

fn model_lines(model: &ModelFacts, lines: &mut Lines) {
    let architecture = model.architecture.as_deref().unwrap_or("unnamed");
    lines.push(("model", format!("{architecture}, of the family {}", model.family)));
    let head = &model.head;
    let outputs = head.n_labels.map(|n| count(n as u64, "output"));
    let labels = (!head.labels.is_empty()).then(|| head.labels.join(" / "));
    let facts = [Some(head.kind.to_owned()), outputs, labels];
    let shown = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    lines.push(("head", shown));
    shape_lines(&model.shape, lines);
    if let Some(parameters) = &model.parameters {
        let layers = (parameters.layers.iter().min(), parameters.layers.iter().max());
        let layer = match layers {
            (Some(least), Some(most)) if least != most => {
                format!("{} to {} a layer", grouped(*least, ' '), grouped(*most, ' '))
            }
            (Some(each), _) => format!("{} a layer", grouped(*each, ' ')),
            (None, _) => "no layers".to_owned(),
        };
        let (total, embedding) =
            (grouped(parameters.total, ' '), grouped(parameters.embedding, ' '));
        lines.push(("numbers", format!("{total}: {embedding} in the embedding, {layer}")));
    }
    if let Some(memory) = &model.memory {
        let stored = bytes(memory.as_stored);
        let others = format!(
            "f32 {}, f16 {}, int8 {}",
            bytes(memory.f32),
            bytes(memory.f16),
            bytes(memory.int8)
        );
        lines.push(("memory", format!("{stored} as stored; {others}")));
    }
    lines.push((
        "kv",
        format!("{} a token, half with compute = \"bf16\"", bytes(model.kv_bytes_per_token)),
    ));
    let digests = [("config", &model.config_digest), ("digest", &model.digest)];
    let known = digests.into_iter().filter_map(|(n, d)| Some((n, d.clone()?)));
    lines.extend(known);
}

fn shape_lines(shape: &ModelSizes, lines: &mut Lines) {
    let tied = if shape.tied { ", tied" } else { "" };
    let sizes = format!(
        "{}, width {}, {} query heads over {} of width {}, vocabulary {}{tied}",
        count(shape.num_layers as u64, "layer"),
        shape.hidden_size,
        shape.num_heads,
        shape.num_kv_heads,
        shape.head_dim,
        shape.vocab_size,
    );
    lines.push(("shape", sizes));
    lines.extend(shape.mlps.iter().map(|mlp| ("mlp", mlp_line(mlp))));
    lines.extend(shape.windows.iter().map(|w| ("window", window_line(w))));
    lines.extend(shape.ropes.iter().map(|rope| ("rope", rope_line(rope))));
    lines.push(("positions", shape.max_positions.to_string()));
}

fn mlp_line(mlp: &LayerFacts) -> String {
    let layers = count(mlp.layers as u64, "layer");
    let width = mlp.intermediate_size;
    match mlp.experts {
        None => format!("{layers} of inner width {width}"),
        Some((n, visited)) => {
            format!("{layers} of {n} experts of width {width}, {visited} a token")
        }
    }
}

fn window_line(window: &WindowFacts) -> String {
    let layers = count(window.layers as u64, "layer");
    match window.window {
        None => format!("{layers} over all keys"),
        Some(keys) => format!("{layers} over {keys} keys"),
    }
}

fn rope_line(rope: &RopeFacts) -> String {
    let layers = count(rope.layers as u64, "layer");
    match (rope.theta, rope.rotary_dim, rope.scaling) {
        (Some(theta), Some(dims), Some(scaling)) => {
            format!("{layers} of base {theta} over {dims} dimensions, scaling {scaling}")
        }
        (_, _, _) => format!("{layers} without positions"),
    }
}

fn adapter_lines(adapter: &AdapterFacts, lines: &mut Lines) {
    if let Some(outline) = &adapter.outline {
        outline_lines(outline, lines);
    }
    if let Some(report) = &adapter.report {
        report_lines(report, lines);
    }
    lines.extend(adapter.digest.iter().map(|digest| ("digest", digest.clone())));
}

fn outline_lines(outline: &Outline, lines: &mut Lines) {
    let task = outline.task_type.as_deref().unwrap_or("unnamed");
    lines.push(("task", task.to_owned()));
    let root = if outline.rank_stabilised { "√" } else { "" };
    let (rank, alpha) = (outline.rank, outline.alpha);
    lines.push(("rank", format!("{rank}, α {alpha}, scale α / {root}r")));
    lines.push(("targets", outline.targets.join(", ")));
    if !outline.modules_to_save.is_empty() {
        lines.push(("replaces", outline.modules_to_save.join(", ")));
    }
    lines.extend(outline.base_model.iter().map(|base| ("base", base.clone())));
}

fn report_lines(report: &AdapterReport, lines: &mut Lines) {
    let sites = count(report.sites.len() as u64, "site");
    let ranks: Vec<String> = report.ranks.iter().map(usize::to_string).collect();
    let (norm, ranks) = (report.norm, ranks.join(", "));
    lines.push(("update", format!("{sites} of rank {ranks}, ‖s B A‖ {norm:.4}")));
    lines.push(("numbers", grouped(report.parameters, ' ')));
    if let Some(head) = &report.head {
        let bias = if head.bias { "with" } else { "without" };
        let outputs = count(head.n_labels as u64, "output");
        lines.push(("head", format!("{outputs}, {bias} bias")));
    }
    let shown = report.sites.iter().take(SITES_SHOWN);
    lines.extend(shown.map(|site| {
        let (name, rank, scale, norm) = (&site.site, site.rank, site.scale, site.norm);
        ("site", format!("{name}: rank {rank}, scale {scale}, ‖s B A‖ {norm:.4}"))
    }));
    if report.sites.len() > SITES_SHOWN {
        let more = report.sites.len() - SITES_SHOWN;
        lines.push(("site", format!("and {more} more; --json lists all")));
    }
}

fn tokenizer_lines(tokenizer: &TokenizerFacts, lines: &mut Lines) {
    let token = |token: &Option<String>| token.clone().unwrap_or_else(|| "none".to_owned());
    let ends: Vec<String> = tokenizer.eos_ids.iter().map(u32::to_string).collect();
    let facts = format!(
        "{} tokens, begins with {}, padding {}, ends at {}",
        grouped(tokenizer.vocab_size as u64, ' '),
        token(&tokenizer.bos),
        token(&tokenizer.pad),
        if ends.is_empty() { "none".to_owned() } else { ends.join(", ") },
    );
    lines.push(("tokenizer", facts));
    if let Some(template) = &tokenizer.template {
        lines.push(("template", template.digest.clone()));
    }
}

fn weight_lines(weights: &WeightFiles, lines: &mut Lines) {
    for file in &weights.files {
        lines.push(("file", format!("{}: {}", file.name, bytes(file.bytes))));
    }
    let stored = weights.bytes_by_dtype.iter();
    let stored: Vec<String> =
        stored.map(|(dtype, n)| format!("{} of {dtype}", bytes(*n))).collect();
    let tensors = count(weights.n_tensors as u64, "tensor");
    lines.push(("stored", format!("{tensors}: {}", stored.join(", "))));
}
