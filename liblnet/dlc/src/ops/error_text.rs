//! The texts of errors: the cause and, where there is one, the remedy.

use crate::ReturnCode;
use crate::host_names::Names;
use crate::request::{Backend, LocalNi, Request, RequestError};
use lnet_os::interfaces::Family;
use lnet_wire::text::Problem;
use lnet_wire::{Errno, NetId, Nid, TextError};

/// The code that a failed operation returns, and the text for the user.
pub(crate) type OpError = (ReturnCode, String);

/// The system's text for `errno`, and the remedy if that does not depend on the request.
pub(super) fn error_text(errno: Errno) -> String {
    let remedy = match errno {
        Errno::NotSupported => return "not supported yet; it comes with a later version".to_owned(),
        Errno::NetworkDown => "; bring LNet up with 'lnetctl lnet configure', or name a node with --node",
        Errno::Access => "; only the node's owner and root may do this",
        _ => "",
    };
    format!("{}{remedy}", errno.text())
}

/// The cause of the error in the words of the node, or else the text for its number.
pub(crate) fn cause(error: &RequestError) -> String {
    error.text.clone().unwrap_or_else(|| error_text(error.errno))
}

/// Whether there is no node. [`Errno::NetworkDown`] does not say that where an interface may be
/// down as well.
pub(super) fn is_down(backend: &dyn Backend) -> bool {
    matches!(backend.ask::<Box<LocalNi>>(Request::GetLocalNi(0)), Err(Errno::NetworkDown))
}

/// The cause why there is no path to this NID although the node is on its net: no interface there has an address of its family. `None` if
/// that is not the cause.
pub(super) fn lacks_family(backend: &dyn Backend, nid: Nid) -> Option<String> {
    let net = nid.net();
    let family = |nid: Nid| Family::of(nid.address().ip());
    let nis: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi).ok()?;
    let mut own = nis.iter().map(|ni| ni.nid).filter(|own| own.net() == net).peekable();
    own.peek()?;
    let wanted = family(nid);
    own.all(|own| family(own) != wanted).then(|| {
        format!("no interface of the node on {net} reaches an {wanted} address; add one with 'lnetctl net add --nid'")
    })
}

/// Reads the NID that a person has written; the error says what is wrong with it, and gives an example.
pub(super) fn one_nid(text: &str, names: &Names) -> Result<Nid, String> {
    let example = "one is ADDRESS@NET, such as 192.0.2.1@tcp";
    names.nid(text).map_err(|error| format!("'{text}' is not a NID: {error}; {example}"))
}

/// Reads the name of a net. A number beyond 65535 gets as far as the kernel
/// and is refused there, so it has another return code.
pub(super) fn parse_net(text: &str) -> Result<NetId, OpError> {
    text.parse().map_err(|error: TextError| {
        let rc = match error.problem {
            Problem::OutOfBounds(..) => Errno::Invalid.into(),
            _ => ReturnCode::BAD_PARAM,
        };
        (rc, format!("'{text}' is not a net: {error}; one is a kind and a number, such as tcp1"))
    })
}
