//! Connect requests and their replies (PR-10, PR-11), as pure functions.

use super::reply::Reply;
use super::spec::Request;
use crate::Errno;
use crate::import::ImportConfig;
use crate::import::connect_state::ConnectAccepted;
use crate::message::body::ExportCookie;
use crate::message::{Body, ConnectData, ConnectFlags, ConnectOps, ConnectReply, Name};

/// The connect request of a client whose handle of the connection is `cookie`.
pub(crate) fn connect_request(config: &ImportConfig, cookie: ExportCookie) -> Request {
    let padded = |name: &Name| {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(Name::LEN, 0);
        bytes
    };
    Request {
        buffers: vec![
            padded(&config.target),
            padded(&config.client),
            cookie.0.to_ne_bytes().to_vec(),
            config.connect_data.encode().to_vec(),
            Vec::new(),
        ],
        reply_lengths: vec![ConnectData::MAX_LEN as u32],
        ..Request::new(config.connect)
    }
}

/// Reads the reply to a connect request. `EPROTO`: the server grants flags that were not `requested`, or has no handle.
pub(crate) fn read_connect_reply(
    reply: &Reply,
    requested: ConnectFlags,
) -> Result<(ConnectAccepted, ConnectData), Errno> {
    reply.result()?;
    let message = reply.message()?;
    let data = ConnectReply::read(&message).map_err(|bad| bad.errno())?.data;
    let Body { handle, op_flags, .. } = message.body().map_err(|bad| bad.errno())?;
    if !data.flags.is_subset_of(requested) || handle == ExportCookie::NONE {
        return Err(Errno::Protocol);
    }
    let reconnect = op_flags.contains(ConnectOps::RECONNECT);
    Ok((ConnectAccepted { handle, reconnect }, data))
}
