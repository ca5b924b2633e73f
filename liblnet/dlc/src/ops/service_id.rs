//! The service ID of o2ib: `lnetctl service-id`.

use super::error_text::error_text;
use crate::request::{Backend, LocalNi, Request, SettingState};
use lnet_settings::Value;
use lnet_wire::NetType;

/// The port space of the RDMA connection manager in which nodes listen (wire-o2ib 2).
const PORT_SPACE: u64 = 0x0106;
/// The tunable with the number of the service in it.
const TUNABLE: (&str, &str) = ("o2iblnd", "service");

/// The service ID by which the node listens on its o2ib interfaces; the error says why there is none. `lustre_lnet_calc_service_id`.
pub fn service_id(backend: &dyn Backend) -> Result<u64, String> {
    let reason = |errno| format!("cannot read the service of o2ib: {}", error_text(errno));
    let nis: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi).map_err(reason)?;
    if !nis.iter().any(|ni| ni.nid.net().kind() == NetType::O2IB) {
        return Err("there is no service: the node has no o2ib interface, see 'lnetctl net show'".to_owned());
    }
    let settings: Vec<SettingState> = backend.ask(Request::GetSettings).map_err(reason)?;
    let found = settings.into_iter().find(|its| (&*its.module, &*its.name) == TUNABLE);
    match found.map(|its| its.value) {
        Some(Value::Number(number)) => Ok(PORT_SPACE << 16 | number as u64 & 0xffff),
        _ => Err("there is no service: the node has no driver for o2ib of this library".to_owned()),
    }
}
