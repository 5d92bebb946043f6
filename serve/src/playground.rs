//! The playground: the page at `/` scores what is typed into it, and `/playground/table.html` opens
//! scored files in the browser. Neither needs a network or a build.
//!
//! Its files are fixed texts of the program, the same on every server, so they are served without a
//! key: a browser sends none with an address that is typed. The page's requests carry the key that is
//! typed into it, and pass the guard as those of any client.

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use actix_web::web::ServiceConfig;
use actix_web::{HttpRequest, HttpResponse, guard, web};

use crate::routed_path::routed_path;

/// A file of the page.
struct PageFile {
    path: &'static str,
    content_type: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [PageFile; 10] = [
    PageFile { path: "/", content_type: HTML, text: include_str!("playground/page.html") },
    PageFile {
        path: "/playground/style.css",
        content_type: "text/css; charset=utf-8",
        text: pages::STYLE,
    },
    PageFile { path: "/playground/maths.js", content_type: SCRIPT, text: pages::MATHS_SCRIPT },
    PageFile { path: "/playground/verdict.js", content_type: SCRIPT, text: pages::VERDICT_SCRIPT },
    PageFile {
        path: "/playground/playground.js",
        content_type: SCRIPT,
        text: include_str!("playground/playground.js"),
    },
    PageFile {
        path: "/playground/examples.json",
        content_type: "application/json",
        text: include_str!("playground/examples.json"),
    },
    PageFile {
        path: "/playground/table.html",
        content_type: HTML,
        text: include_str!("playground/table.html"),
    },
    PageFile { path: "/playground/viewer.js", content_type: SCRIPT, text: pages::VIEWER_SCRIPT },
    PageFile {
        path: "/playground/table.js",
        content_type: SCRIPT,
        text: include_str!("playground/table.js"),
    },
    PageFile { path: "/playground/parquet.js", content_type: SCRIPT, text: pages::PARQUET_MODULE },
];

/// What the page may do: run and load its own files, and call this server. No text of a verdict can
/// become a script, and no other site can show the page in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'";

/// Whether a request is for a file of the page, which needs no key.
pub(crate) fn is_page_file(request: &HttpRequest) -> bool {
    *request.method() == Method::GET && FILES.iter().any(|file| file.path == routed_path(request))
}

/// Registers the files.
pub(crate) fn configure(config: &mut ServiceConfig) {
    for file in &FILES {
        let answer = move || async move {
            HttpResponse::Ok()
                .insert_header((CONTENT_TYPE, file.content_type))
                .insert_header((CONTENT_SECURITY_POLICY, POLICY))
                // Another version of the program may answer next: its page needs its own scripts.
                .insert_header((CACHE_CONTROL, "no-cache"))
                .insert_header(("x-content-type-options", "nosniff"))
                .insert_header(("referrer-policy", "no-referrer"))
                .body(file.text)
        };
        config.service(web::resource(file.path).guard(guard::Get()).to(answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_small_and_name_only_their_own_files() {
        // Both pages together, with all that they load.
        let bytes: usize = FILES.iter().map(|file| file.text.len()).sum();
        assert!(bytes <= 150_000, "{bytes} bytes");
        for file in &FILES[1..] {
            let name = file.path.trim_start_matches("/playground/");
            let named_in = FILES.iter().filter(|file| file.text.contains(name)).count();
            assert!(named_in > 0, "{name} is used nowhere");
        }
        for page in FILES.iter().filter(|file| file.content_type == HTML) {
            let (folder, _) = page.path.rsplit_once('/').expect("a path");
            let named = [" src=\"", "rel=\"stylesheet\" href=\""].map(|tag| page.text.split(tag));
            let named = named.into_iter().flat_map(|parts| parts.skip(1));
            for name in named.filter_map(|rest| rest.split('"').next()) {
                let path = format!("{folder}/{name}");
                assert!(FILES.iter().any(|file| file.path == path), "{path} is not served");
            }
            // What the policy forbids would not run: better that it is not there.
            for needle in ["<style", "style=", " onclick", "<script>", "http://", "https://"] {
                assert!(!page.text.contains(needle), "{}: {needle}", page.path);
            }
        }
        for script in FILES.iter().filter(|file| file.content_type == SCRIPT) {
            for needle in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("] {
                assert!(!script.text.contains(needle), "{}: {needle}", script.path);
            }
        }
    }
}
