//! Generation blocks, the one tag that Hugging Face adds to Jinja, and raw blocks, whose ends
//! minijinja trims more than Jinja does.

/// The filter that replaces a generation block after the source is rewritten.
pub(super) const GENERATION_FILTER: &str = "__generation__";

/// Rewrites tags for minijinja's parser. `{% generation %}` and `{% endgeneration %}` become a
/// filter block, which has the same white space control and scope. A raw block becomes one that
/// keeps a newline at its beginning, and spaces if it has nothing else, as it does in Jinja.
pub(super) fn rewrite_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let end = match tag.as_bytes().get(1) {
            Some(b'#') => tag.find("#}").map(|e| e + 2),
            Some(b'{') => end_of_tag(tag, "}}"),
            Some(b'%') => end_of_tag(tag, "%}"),
            _ => Some(1),
        };
        let Some(end) = end else {
            // An unclosed tag is left to the parser, which has the better message.
            out.push_str(tag);
            return out;
        };
        let (tag, later) = tag.split_at(end);
        rest = later;
        let name = tag.strip_prefix("{%").map(|t| t.trim_matches(['-', '+', '%', '}']).trim());
        match name {
            Some("generation") => {
                let filter = format!("filter {GENERATION_FILTER}");
                out.push_str(&tag.replacen("generation", &filter, 1));
            }
            Some("endgeneration") => {
                out.push_str(&tag.replacen("endgeneration", "endfilter", 1));
            }
            Some("raw") => rest = push_raw(tag, rest, &mut out),
            _ => out.push_str(tag),
        }
    }
    out.push_str(rest);
    out
}

/// Appends a raw block that begins with `tag`, up to its end tag or into it, and returns what is
/// left of `rest`.
fn push_raw<'s>(tag: &str, rest: &'s str, out: &mut String) -> &'s str {
    let (content, later) = rest.split_at(end_of_raw(rest));
    match tag.strip_suffix("%}") {
        Some(start) if !start.ends_with(['-', '+']) => out.extend([start, "+%}", content]),
        _ => out.extend([tag, content]),
    }
    // Jinja trims spaces before a tag at the beginning of its line alone, minijinja these too.
    let only_spaces = content.trim_start().is_empty() && !content.contains('\n');
    match later.strip_prefix("{%") {
        Some(end) if only_spaces && !end.starts_with(['-', '+']) => {
            out.push_str("{%+");
            end
        }
        _ => later,
    }
}

/// The end of a tag; quoted strings within it may hold anything.
fn end_of_tag(tag: &str, close: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in tag.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if tag[at..].starts_with(close) => return Some(at + close.len()),
            Some(_) | None => {}
        }
    }
    None
}

/// The beginning of the tag that ends a raw block.
fn end_of_raw(rest: &str) -> usize {
    let mut from = 0;
    while let Some(at) = rest[from..].find("{%").map(|at| at + from) {
        let inside = rest[at + 2..].trim_start_matches(['-', '+']).trim_start();
        if inside.starts_with("endraw") {
            return at;
        }
        from = at + 2;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::rewrite_tags;

    #[test]
    fn tags_are_rewritten_for_the_parser() {
        for (source, expected) in [
            (
                "{%- generation -%}x{%+ endgeneration %}",
                "{%- filter __generation__ -%}x{%+ endfilter %}",
            ),
            ("{% generation%}", "{% filter __generation__%}"),
            ("{# {% generation %} #}", "{# {% generation %} #}"),
            ("{{ '{% generation %}' }}", "{{ '{% generation %}' }}"),
            (
                "{% raw %}{% generation %}{% endraw %}{% generation %}",
                "{% raw +%}{% generation %}{% endraw %}{% filter __generation__ %}",
            ),
            ("{%raw%}\na{%endraw%}", "{%raw+%}\na{%endraw%}"),
            ("{%- raw -%}\na{%- endraw %}", "{%- raw -%}\na{%- endraw %}"),
            ("{% raw %} {% endraw %}{{a}}", "{% raw +%} {%+ endraw %}{{a}}"),
            ("{% raw %} \n {% endraw %}", "{% raw +%} \n {% endraw %}"),
            ("{% raw %} {%- endraw %}", "{% raw +%} {%- endraw %}"),
            ("{% raw %} a {% endraw %}", "{% raw +%} a {% endraw %}"),
            ("{% raw %}", "{% raw +%}"),
            ("{% if generation %}", "{% if generation %}"),
            ("{ a {% set x = '%}' %} b", "{ a {% set x = '%}' %} b"),
            ("{% generation", "{% generation"),
        ] {
            assert_eq!(rewrite_tags(source), expected);
        }
    }
}
