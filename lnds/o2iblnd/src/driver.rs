//! The driver as the core uses it.

use crate::config::O2iblndConfig;
use crate::decide::admit::LocalNi;
use crate::decide::stamp::stamp_at;
use crate::device::{OpenError, OpenOptions};
use crate::engine::Engine;
use crate::ni::{NiHandle, NodeSide, O2ibNi};
use crate::tunables::TUNABLES;
use lnd_common::engine_ni::NiList;
use lnd_common::ip_interfaces;
use lnet_core::lnd::{
    Driver, DriverConfig, DriverContext, FoundInterface, InterfaceEvents, LndNi, NidSize, Progress,
    StartError, Upcalls,
};
use lnet_core::topology::Ni;
use lnet_core::{Clock, Errno, NiTunables, start_error};
use lnet_log::History;
use lnet_os::interfaces::without_large;
use lnet_settings::Row;
use lnet_wire::{NetId, NetType, Nid};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The driver of one node. It has a thread for each interface.
struct O2iblnd {
    config: O2iblndConfig,
    events: Arc<dyn InterfaceEvents>,
    clock: Arc<dyn Clock>,
    history: Arc<History>,
    nis: NiList<O2ibNi>,
}

impl DriverConfig for O2iblndConfig {
    const NAME: &'static str = "o2iblnd";
    const TUNABLES: &'static [Row<Self>] = TUNABLES;

    fn driver(&self, node: DriverContext) -> Arc<dyn Driver> {
        Arc::new(O2iblnd {
            config: self.clone(),
            events: node.events,
            clock: node.clock,
            history: node.history,
            nis: NiList::default(),
        })
    }
}

impl Driver for O2iblnd {
    fn net_type(&self) -> NetType {
        NetType::O2IB
    }

    fn find_interface(
        &self,
        net: NetId,
        interface: Option<&str>,
        _: NidSize,
    ) -> Result<FoundInterface, StartError> {
        // Without a device no interface can be used, whether it is there or not.
        self.config.devices.check(link_of(interface)).map_err(|error| {
            start_error!(
                error.errno(),
                "net {net}: not started (there is no driver for it without a device: {error})"
            )
            .that_may_pass()
        })?;
        ip_interfaces::find(net, interface, NidSize::Short)
    }

    fn ip_address(&self, nid: Nid) -> Option<IpAddr> {
        Some(ip_interfaces::address(nid))
    }

    fn egress(&self) -> lnet_core::lnd::Egress {
        lnet_core::lnd::Egress::OwnLink
    }

    fn ni_tunables(&self) -> NiTunables {
        self.config.ni
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let nid = ni.nid();
        let IpAddr::V4(address) = ip_interfaces::address(nid) else {
            return Err(start_error!(Errno::Invalid, "{nid}: not started (o2ib has IPv4 addresses only)"));
        };
        let config = self.config.clone().with(&ni.config().lnd_numbers);
        let config = config.map_err(|error| start_error!(Errno::Invalid, "{nid}: not started ({error})"))?;
        let depth = O2iblndConfig::depth(ni.tunables().peer_credits);
        let timeout = self.timeout(&*upcalls);
        let name = ni.config().interface.clone().unwrap_or_else(|| address.to_string());
        let options = OpenOptions {
            address,
            service: self.config.service,
            privileged_port: self.config.use_privileged_port,
            require_privileged_port: self.config.require_privileged_port,
            retry_count: self.config.retry_count as u8,
            rnr_retry_count: self.config.rnr_retry_count as u8,
            timeout,
            depth,
        };
        let mut device = self
            .config
            .devices
            .open(&name, options)
            .map_err(|error| start_error!(error.errno(), "{nid}: not started ({error})"))?;
        device.listen().map_err(|errno| {
            let error = OpenError::service(self.config.service, address, errno);
            start_error!(errno, "{nid}: not started ({error})")
        })?;
        let local = LocalNi { nid, stamp: new_stamp(), depth };
        let mut tunables = config.engine(device.limits().pieces);
        if let Some(conns) = ni.tunables().conns_per_peer {
            tunables.conns_per_peer = crate::config::conns(conns.into());
        }
        let engine = Engine::new(local, tunables, timeout);
        let fixed_timeout = (!self.config.timeout.is_zero()).then_some(self.config.timeout);
        let o2ib_ni = O2ibNi::new(ni, self.node_side(upcalls), engine, device, fixed_timeout)
            .map_err(|errno| start_error!(errno, "{nid}: not started ({})", errno.text()))?;
        self.nis.add(&o2ib_ni);
        Ok(Arc::new(NiHandle::new(o2ib_ni, config.numbers(depth))))
    }

    fn progress(&self, timeout: Duration) -> Progress {
        self.nis.progress(timeout)
    }
}

impl O2iblnd {
    fn node_side(&self, upcalls: Arc<dyn Upcalls>) -> NodeSide {
        NodeSide {
            upcalls,
            events: Arc::clone(&self.events),
            clock: Arc::clone(&self.clock),
            history: Arc::clone(&self.history),
        }
    }

    fn timeout(&self, upcalls: &dyn Upcalls) -> Duration {
        if self.config.timeout.is_zero() { upcalls.lnd_timeout() } else { self.config.timeout }
    }
}

/// The name of the link for a remedy; an example where an address or nothing is given.
fn link_of(interface: Option<&str>) -> &str {
    let name = interface.map_or("", |interface| without_large(interface).0);
    if name.is_empty() || name.parse::<IpAddr>().is_ok() { "eth0" } else { name }
}

fn new_stamp() -> u64 {
    stamp_at(SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64))
}
