//! Requests.

use super::response::Status;

/// The most bytes that the head of a request may have.
pub const MAX_HEAD: usize = 8 * 1024;
/// The most headers that a request may have.
const MAX_HEADERS: usize = 64;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The path, without a query.
    pub path: String,
    /// The values of all headers Accept, separated by commas.
    pub accept: String,
    /// Whether the client wants only the head of the response.
    pub head_only: bool,
}

impl HttpRequest {
    /// Reads the head of a request from the bytes so far; `Ok(None)`: it is not complete. A body is not read.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Status> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => return Ok(None),
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Err(Status::TooLarge);
            }
            Err(_) => return Err(Status::BadRequest),
        }
        let head_only = match request.method {
            Some("GET") => false,
            Some("HEAD") => true,
            _ => return Err(Status::MethodNotAllowed),
        };
        let path = request.path.unwrap_or_default();
        let path = path.split(['?', '#']).next().unwrap_or_default().to_owned();
        let its = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
        let accept: Vec<_> = its.map(|header| String::from_utf8_lossy(header.value)).collect();
        Ok(Some(Self { path, accept: accept.join(","), head_only }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_when_its_head_is_complete() {
        let text = b"GET /metrics?a=b HTTP/1.1\r\nHost: a\r\naccept: text/plain\r\nAccept: */*\r\n\r\n";
        for length in 0..text.len() {
            assert_eq!(HttpRequest::parse(&text[..length]), Ok(None), "{length}");
        }
        let accept = "text/plain,*/*".to_owned();
        let expected = HttpRequest { path: "/metrics".to_owned(), accept, head_only: false };
        assert_eq!(HttpRequest::parse(text), Ok(Some(expected)));
        let head = HttpRequest::parse(b"HEAD / HTTP/1.0\n\n").unwrap().unwrap();
        assert!(head.head_only);
    }

    #[test]
    fn what_is_not_a_small_get_request_is_refused() {
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        let long = format!("GET /{}", "a".repeat(MAX_HEAD));
        let table: [(&[u8], Status); 7] = [
            (b"POST / HTTP/1.1\r\n\r\n", Status::MethodNotAllowed),
            (b"get / HTTP/1.1\r\n\r\n", Status::MethodNotAllowed),
            (b"GET / HTTP/9\r\n\r\n", Status::BadRequest),
            (b"\x16\x03\x01\x02\x00\x01", Status::BadRequest),
            (b"GET / HTTP/1.1\r\n\xff\0: a\r\n\r\n", Status::BadRequest),
            (many.as_bytes(), Status::TooLarge),
            (long.as_bytes(), Status::TooLarge),
        ];
        for (bytes, status) in table {
            assert_eq!(HttpRequest::parse(bytes), Err(status), "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
