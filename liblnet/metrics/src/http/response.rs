//! Responses.

/// The status of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 200
    Ok,
    /// 400
    BadRequest,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 431
    TooLarge,
    /// 503
    Unavailable,
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}

/// The head of a response of server-sent events, which has no known length.
pub(super) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
     X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    pub(crate) status: Status,
    pub(crate) content_type: &'static str,
    /// Lines of the head besides those that all responses have, each with its end.
    pub(crate) more_headers: String,
    pub(crate) body: String,
}

impl HttpResponse {
    /// A response of plain text.
    pub(crate) fn text(status: Status, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            more_headers: String::new(),
            body: body.into(),
        }
    }

    /// The response to a request that cannot be served.
    pub(super) fn refusal(status: Status) -> Self {
        Self::text(status, format!("{}\n", status.line()))
    }

    /// All bytes of the response; without the body for a HEAD request.
    pub(super) fn into_bytes(self, head_only: bool) -> Vec<u8> {
        let Self { status, content_type, more_headers, body } = self;
        let allow = if status == Status::MethodNotAllowed { "Allow: GET, HEAD\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{allow}{more_headers}\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            status.line(),
            body.len()
        );
        let mut bytes = head.into_bytes();
        if !head_only {
            bytes.extend_from_slice(body.as_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_the_body_also_without_it() {
        let response = HttpResponse::text(Status::Ok, "abc\n");
        let text = String::from_utf8(response.clone().into_bytes(false)).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nabc\n"), "{text}");
        assert!(text.contains("\r\nContent-Length: 4\r\n"), "{text}");
        let head = String::from_utf8(response.into_bytes(true)).unwrap();
        assert_eq!(format!("{head}abc\n"), text);
        let refused = HttpResponse::refusal(Status::MethodNotAllowed).into_bytes(false);
        assert!(String::from_utf8(refused).unwrap().contains("\r\nAllow: GET, HEAD\r\n"));
    }
}
