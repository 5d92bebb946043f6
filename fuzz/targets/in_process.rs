//! Sends requests to the server's application on this thread, without a socket.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use actix_http::Request;
use actix_service::Service as _;
use actix_web::body::to_bytes;
use actix_web::http::Method;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use actix_web::rt::time::sleep;
use actix_web::rt::{System, SystemRunner};
use actix_web::test::{TestRequest, init_service};
use actix_web::web::{Bytes, Data};
use futures_util::future::LocalBoxFuture;
use serve::Document;

use super::server;

type Calling = dyn Fn(Request) -> LocalBoxFuture<'static, (u16, Bytes)>;

struct Running {
    system: SystemRunner,
    call: Box<Calling>,
}

thread_local! {
    // Tasks of the server, such as that of batches, run while a request or a pause does.
    static RUNNING: Running = start();
}

fn start() -> Running {
    let system = System::new();
    // The process ends without running destructors: whoever starts it removes the folder.
    let folder = tempfile::tempdir().expect("a temporary folder").keep();
    let state = Data::new(server::state(&folder));
    let document = Data::new(Document::new(serve::document_text()));
    let service = system.block_on(async {
        drop(serve::start_batches(&state, &document));
        init_service(serve::app(state.clone(), document.clone())).await
    });
    let call = move |request| -> LocalBoxFuture<'static, (u16, Bytes)> {
        let answering = service.call(request);
        Box::pin(async move {
            let reply = match answering.await {
                Ok(reply) => reply.into_parts().1,
                Err(error) => error.error_response().map_into_boxed_body(),
            };
            let status = reply.status().as_u16();
            (status, to_bytes(reply.into_body()).await.expect("replies have an end"))
        })
    };
    Running { system, call: Box::new(call) }
}

/// Sends a request; returns the status and the body of the reply.
pub(crate) fn exchange(method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
    let method = Method::from_bytes(method.as_bytes()).expect("the methods are good");
    let request = TestRequest::with_uri(path)
        .method(method)
        .peer_addr(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)))
        .insert_header((HOST, "localhost"))
        .insert_header((CONTENT_TYPE, kind))
        .insert_header((CONTENT_LENGTH, body.len()))
        .set_payload(body.to_vec())
        .to_request();
    let (status, text) = RUNNING.with(|running| running.system.block_on((running.call)(request)));
    (status, String::from_utf8(text.to_vec()).expect("replies are text"))
}

/// Lets the server's other tasks go on.
pub(crate) fn pause() {
    let one = Duration::from_millis(1);
    // The timer takes the runtime that it is made in.
    RUNNING.with(|running| running.system.block_on(async { sleep(one).await }));
}
