//! Calls every registered route without a key.

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::introspection::IntrospectionTree;
use actix_web::{App, Error, HttpResponse, test, web};
use rubrics::Registry;
use serde_json::Value;
use serve::keys::Keys;
use serve::{Config, Document, State, app, document_text};

const KEY: &str = "test-key-0123456789";

fn state() -> web::Data<State> {
    state_with_keys(KEY)
}

fn state_with_keys(keys: &str) -> web::Data<State> {
    let config = Config { threads: 1, workers: 1, ..Config::default() };
    let keys = Keys::parse(keys).expect("good keys");
    web::Data::new(State::new(config, Registry::built_in(), keys).expect("threads start"))
}

fn document() -> web::Data<Document> {
    web::Data::new(Document::new(document_text()))
}

/// Lists method and path of every registered route, from the framework's own table.
fn registered(tree: &IntrospectionTree) -> Vec<(Method, String)> {
    let report: Vec<Value> = serde_json::from_str(&tree.report_as_json()).expect("JSON");
    let mut routes = Vec::new();
    for item in report {
        let path = item["full_path"].as_str().expect("a path").replace("{_:.*}", "index.html");
        let methods = item["methods"].as_array().expect("a list");
        let mut methods: Vec<Method> = methods
            .iter()
            .map(|method| method.as_str().expect("text").parse().expect("a method"))
            .collect();
        if methods.is_empty() {
            methods.push(Method::GET);
        }
        routes.extend(methods.into_iter().map(|method| (method, path.clone())));
    }
    routes
}

/// Lists the routes of `app` that do not answer 401 to a client without a key.
async fn unguarded<F>(app: App<F>) -> (usize, Vec<String>)
where
    F: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<BoxBody>,
            Error = Error,
            InitError = (),
        > + 'static,
    F::Future: 'static,
{
    let service = test::init_service(app).await;
    let probe = test::TestRequest::get().uri("/no/such/route").to_request();
    let reply = test::call_service(&service, probe).await;
    let tree = reply.request().app_data::<web::Data<IntrospectionTree>>();
    let mut routes = registered(tree.expect("introspection is on"));
    routes.push((Method::GET, "/no/such/route".to_owned()));
    let mut open = Vec::new();
    for (method, path) in &routes {
        let request = test::TestRequest::default().method(method.clone()).uri(path).to_request();
        let reply = test::call_service(&service, request).await;
        if reply.status() != 401 {
            open.push(format!("{method} {path}: {}", reply.status()));
        }
    }
    (routes.len(), open)
}

/// The files of the playground, which are the same on every server, and the probes of health.
const PUBLIC: [&str; 12] = [
    "GET /: 200 OK",
    "GET /livez: 200 OK",
    "GET /playground/examples.json: 200 OK",
    "GET /playground/maths.js: 200 OK",
    "GET /playground/parquet.js: 200 OK",
    "GET /playground/playground.js: 200 OK",
    "GET /playground/style.css: 200 OK",
    "GET /playground/table.html: 200 OK",
    "GET /playground/table.js: 200 OK",
    "GET /playground/verdict.js: 200 OK",
    "GET /playground/viewer.js: 200 OK",
    "GET /readyz: 200 OK",
];

#[actix_web::test]
async fn every_route_needs_a_key() {
    let (count, mut open) = unguarded(app(state(), document())).await;
    open.sort();
    assert_eq!(open, PUBLIC);
    assert!(count >= 8, "the walk saw only {count} routes");
}

/// Percent-encodes the letter at `index`.
fn with_encoded_letter(path: &str, index: usize) -> String {
    format!("{}%{:02X}{}", &path[..index], path.as_bytes()[index], &path[index + 1..])
}

/// The router decodes paths before it matches them, so a key's scopes, the need for a key and the
/// shape of a refusal must be those of the decoded path.
#[actix_web::test]
async fn encoded_letter_in_a_path_changes_no_refusal() {
    let scopes = ["score", "generate", "admin", "metrics"];
    let key_of = |scope: &str| format!("key-with-the-scope-{scope}");
    let lines: Vec<String> =
        scopes.iter().map(|scope| format!("{} scopes={scope}", key_of(scope))).collect();
    let service = test::init_service(app(state_with_keys(&lines.join("\n")), document())).await;
    let probe = test::TestRequest::get().uri("/no/such/route").to_request();
    let reply = test::call_service(&service, probe).await;
    let tree = reply.request().app_data::<web::Data<IntrospectionTree>>();
    let routes = registered(tree.expect("introspection is on"));
    let senders = scopes.iter().map(|scope| Some(key_of(scope))).chain([None]);
    let (mut n_refused, mut differing) = (0, Vec::new());
    for sender in senders {
        for (method, path) in &routes {
            let ask = async |uri: &str| {
                let request = test::TestRequest::default().method(method.clone()).uri(uri);
                let request = match &sender {
                    Some(key) => request.insert_header(("authorization", format!("Bearer {key}"))),
                    None => request,
                };
                let reply = test::call_service(&service, request.to_request()).await;
                let status = reply.status().as_u16();
                let challenges = reply.headers().get_all("www-authenticate").count();
                let is_refusal = matches!(status, 401 | 403);
                let body = test::read_body(reply).await;
                (status, challenges, is_refusal.then_some(body))
            };
            let plain = ask(path).await;
            n_refused += usize::from(plain.2.is_some());
            let letters = path.match_indices(|char: char| char.is_ascii_alphabetic());
            let letters: Vec<usize> = letters.map(|(index, _)| index).collect();
            let ends = letters.first().into_iter().chain(letters.last());
            for encoded in ends.map(|index| with_encoded_letter(path, *index)) {
                let found = ask(&encoded).await;
                if found != plain {
                    differing.push(format!("{method} {encoded} by {sender:?}: {}", found.0));
                }
            }
        }
    }
    assert_eq!(differing, Vec::<String>::new());
    assert!(n_refused > routes.len(), "only {n_refused} requests were refused");
}

/// The walk must be able to fail: these routes are registered outside the guard.
#[actix_web::test]
async fn unguarded_route_is_found() {
    let open = || async { HttpResponse::Ok().finish() };
    let outside = App::new()
        .app_data(state())
        .route("/outside", web::post().to(open))
        .service(web::scope("/deep").route("/er", web::get().to(open)))
        .wrap(actix_web::middleware::from_fn(plain));
    let (_, found) = unguarded(outside).await;
    for route in ["POST /outside: 200 OK", "GET /deep/er: 200 OK"] {
        assert!(found.iter().any(|line| line == route), "{found:?}");
    }
}

/// The document and the registered routes have the same paths.
#[actix_web::test]
async fn document_lists_every_route() {
    let service = test::init_service(app(state(), document())).await;
    let probe = test::TestRequest::get().uri("/no/such/route").to_request();
    let reply = test::call_service(&service, probe).await;
    let tree = reply.request().app_data::<web::Data<IntrospectionTree>>();
    let mut routes: Vec<String> = registered(tree.expect("introspection is on"))
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| {
            path != "/" && !path.starts_with("/docs") && !path.starts_with("/playground/")
        })
        .collect();
    routes.sort();
    // A path with several methods is one path of the document.
    routes.dedup();
    let document: Value = serde_json::from_str(&document_text()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let mut documented: Vec<String> = paths.keys().cloned().collect();
    documented.sort();
    assert_eq!(routes, documented);
}

/// Passes every request; it only gives the body its type.
async fn plain(
    request: ServiceRequest,
    next: actix_web::middleware::Next<impl actix_web::body::MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    next.call(request).await.map(ServiceResponse::map_into_boxed_body)
}
