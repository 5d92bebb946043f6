//! What the HTML pages of the program share: one style sheet, the frame of a page, and the scripts that
//! draw verdicts. Pages are templates of `maud`, which escapes every text.
//!
//! The texts are compiled in, so that a page needs no network. Knows no report, row or route.

use maud::{DOCTYPE, Markup, PreEscaped, html};

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

/// A whole page: its style sheet, its title as a heading, and `body` below it.
pub fn page(title: &str, body: &Markup) -> String {
    page_with(title, &Markup::default(), body)
}

/// The same with more elements of the head.
pub fn page_with(title: &str, elements: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                (elements)
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                (body)
            }
        }
    };
    page.into_string()
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
        let escaped = "&lt;/title&gt;&lt;script&gt;alert('&amp;&quot;')&lt;/script&gt;";
        let page = page(hostile, &html! { p title=(hostile) { (hostile) } });
        assert_eq!(page.matches(escaped).count(), 4, "{page}");
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
