//! The page as a response, and the policy that it comes with.

use crate::http::{HttpResponse, Status};
use std::hash::{BuildHasher, RandomState};

const FILE: &str = include_str!("page.html");
/// The text in the file that stands for the nonce.
const NONCE: &str = "@NONCE@";

/// The page. Its policy admits its own style and script, which carry the nonce of this response, and requests to this server.
pub(crate) fn response() -> HttpResponse {
    let nonce = nonce();
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HttpResponse {
        status: Status::Ok,
        content_type: "text/html; charset=utf-8",
        more_headers: format!("Content-Security-Policy: {policy}\r\nReferrer-Policy: no-referrer\r\n"),
        body: FILE.replace(NONCE, &nonce),
    }
}

/// A text that nobody can foresee: 128 bits of hashes with random keys.
fn nonce() -> String {
    let keys = RandomState::new();
    format!("{:016x}{:016x}", keys.hash_one(1), keys.hash_one(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if the page would load something from elsewhere, or run what was put into it.
    #[test]
    fn the_page_is_one_file_and_its_policy_admits_only_that() {
        let response = response();
        let nonce = response.more_headers.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
        assert_eq!(nonce.len(), 32);
        assert_eq!(response.body.matches(&format!(" nonce=\"{nonce}\"")).count(), 2);
        assert_eq!(response.body.matches("<script").count() + response.body.matches("<style").count(), 2);
        assert!(response.more_headers.contains("default-src 'none';"));
        assert!(!response.more_headers.contains("unsafe"));
        // The name of the namespace of SVG is no address that anything is loaded from.
        let text = response.body.replace("http://www.w3.org/2000/svg", "");
        for loads in [" src=", "http:", "https:", "@import", "url(", "innerHTML", " style=", " onclick="] {
            assert!(!text.contains(loads), "{loads}");
        }
        assert_ne!(super::response().more_headers, response.more_headers);
    }
}
