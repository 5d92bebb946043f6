//! What the HTML pages of the program share: one style sheet, escaping, the frame of a page, and the
//! scripts that draw verdicts.
//!
//! The texts are compiled in, so that a page needs no network. Knows no report, row or route.

/// The style sheet of every page.
pub const STYLE: &str = include_str!("style.css");

/// Draws results of `POST /v1/score` and verdicts of scored rows; needs [`MATHS_SCRIPT`] before it.
///
/// Every text of a result becomes a text node: none is parsed as markup.
pub const VERDICT_SCRIPT: &str = include_str!("verdict.js");

/// Converts the LaTeX of an answer to `MathML`, or to nothing where it has a command that it does not know.
pub const MATHS_SCRIPT: &str = include_str!("maths.js");

/// Draws a table of scored rows with distributions and filters; needs [`VERDICT_SCRIPT`] before it.
pub const VIEWER_SCRIPT: &str = include_str!("viewer.js");

/// A module that exports `parquetReadObjects` of hyparquet and `decompress` of fzstd, from
/// `pages/vendor`.
pub const PARQUET_MODULE: &str = include_str!("../vendor/parquet.js");

/// The end of a page.
pub const END: &str = "</body>\n</html>\n";

/// The beginning of a page with its style sheet, up to its title as a heading.
pub fn head(title: &str) -> String {
    head_with(title, "")
}

/// The same with more elements of the head, as markup.
pub fn head_with(title: &str, elements: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         {elements}<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    )
}

/// Escapes text for an element or an attribute between quotes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes JSON for a `<script>` element of type `application/json`: no text in it ends the element
/// or begins a comment.
pub fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        let hostile = "</title><script>alert('&\"')</script>";
        let escaped = "&lt;/title&gt;&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;";
        assert_eq!(escape(hostile), escaped);
        let page = head(hostile);
        assert_eq!(page.matches(escaped).count(), 2, "{page}");
        assert!(!page.contains("<script>"));
        let json = escape_json("{\"a\": \"</script><!--\u{2028}\"}");
        assert_eq!(json, "{\"a\": \"\\u003c/script>\\u003c!--\\u2028\"}");
    }

    #[test]
    fn scripts_parse_no_markup_and_load_nothing() {
        for (name, script) in [("maths.js", MATHS_SCRIPT), ("verdict.js", VERDICT_SCRIPT)] {
            for needle in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("] {
                assert!(!script.contains(needle), "{name} has {needle}");
            }
            // Scripts of a page may stand inside a page's own element.
            assert!(!script.contains("</script"), "{name}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
