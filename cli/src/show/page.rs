//! The page: its rows as JSON, and the scripts that draw them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{PreEscaped, html};
use pages::{MATHS_SCRIPT, VERDICT_SCRIPT, VIEWER_SCRIPT, escape_json, page_with};
use sha2::{Digest as _, Sha256};

use super::ShownRows;

/// Draws the rows that the page holds.
const START: &str = "showRows(JSON.parse(document.getElementById(\"rows\").textContent).rows, \
                     document.getElementById(\"view\"));\n";

/// The page of some rows; `source` names their files.
pub(super) fn html(source: &str, rows: &ShownRows) -> String {
    let script = [MATHS_SCRIPT, VERDICT_SCRIPT, VIEWER_SCRIPT, START].concat();
    // The rows are texts of anyone: the page runs this one script, and loads nothing.
    let digest = STANDARD.encode(Sha256::digest(&script));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'"
    );
    let json = serde_json::to_string(rows).expect("rows serialise");
    let n_rows = rows.rows.len() as u64;
    let body = html! {
        @if n_rows != rows.total {
            p.note { (n_rows) " of " (rows.total) " rows, drawn uniformly." }
        }
        noscript {
            p class="note bad" { "This page needs JavaScript." }
        }
        div #view {}
        script type="application/json" id="rows" { (PreEscaped(escape_json(&json))) }
        script { (PreEscaped(&script)) }
    };
    let head = html! { meta http-equiv="Content-Security-Policy" content=(policy); };
    page_with(&format!("Verdicts of {source}"), &head, &body)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::show::ShownRow;

    #[test]
    fn no_text_of_a_row_is_markup_and_the_script_is_the_one_of_the_policy() {
        let hostile = "</script><script>alert(1)</script><!--";
        let scores = json!({"math": {"status": "ok", "score": 1.0, "label": hostile}});
        let row = ShownRow {
            row: 1,
            id: Some(json!(hostile)),
            input: json!({"response": hostile}),
            scores: scores.as_object().cloned().expect("an object"),
        };
        let page = html(hostile, &ShownRows { total: 3, rows: vec![row] });
        assert!(!page.contains("alert(1)</script>") && !page.contains("<!--"), "{page}");
        assert!(page.contains("1 of 3 rows"));
        let scripts: Vec<&str> = page.split("<script>").skip(1).collect();
        let [script] = scripts[..] else { unreachable!("one script: {}", scripts.len()) };
        let script = script.split("</script>").next().unwrap_or_default();
        let digest = STANDARD.encode(Sha256::digest(script));
        assert!(page.contains(&format!("script-src 'sha256-{digest}'")));
        // What the page holds is what was given.
        let rows =
            page.split("id=\"rows\">").nth(1).and_then(|rest| rest.split("</script>").next());
        let held: serde_json::Value = serde_json::from_str(rows.expect("the rows")).expect("JSON");
        assert_eq!(held["rows"][0]["input"]["response"], hostile);
    }
}
