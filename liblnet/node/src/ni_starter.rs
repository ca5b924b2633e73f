//! The start of interfaces: from a request to an NI that its driver has started.

use crate::cpt;
use crate::links;
use crate::running_drivers::RunningDrivers;
use lnet_core::lnd::{Driver, Egress, FoundInterface, NidSize, StartError};
use lnet_core::{Core, Errno, Ni, NiConfig, start_error};
use lnet_dlc::ops::net::conns_per_peer;
use lnet_dlc::request::AddLocalNi;
use lnet_log::{LogClass, write_line};
use lnet_wire::nid::Address;
use lnet_wire::{NetId, Nid};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The parts of a node that the start of an interface needs. The thread of the link monitor has them, too.
#[derive(Debug)]
pub(crate) struct NiStarter {
    pub(crate) core: Arc<Core>,
    pub(crate) drivers: RunningDrivers,
    pub(crate) sysfs: PathBuf,
    /// Whether NIDs whose address is not given are large (`LNET_LARGE_NIDS`).
    pub(crate) has_large_nids: AtomicBool,
}

impl NiStarter {
    /// The size of NIDs whose address is not given.
    pub(crate) fn nid_size(&self) -> NidSize {
        match self.has_large_nids.load(Ordering::Relaxed) {
            true => NidSize::Large,
            false => NidSize::Short,
        }
    }

    /// The NID and the configuration of a requested interface. Tunables that are not given are those of the node's start (cfg-020,
    /// cfg-025, cfg-035).
    pub(crate) fn configured(&self, add: AddLocalNi) -> Result<(Nid, NiConfig), StartError> {
        let driver = self.drivers.for_net(add.net)?;
        let connections = add.lnd.conns_per_peer.map_or(Ok(()), |it| conns_per_peer(it.into()).map(drop));
        connections
            .and_then(|()| add.lnd.numbers.check(add.net.kind()))
            .map_err(|error| start_error!(Errno::Invalid, "net {}: not started ({error})", add.net))?;
        let found = find(driver, add.net, add.interface.as_deref(), self.nid_size())?;
        let mut tunables = driver.ni_tunables();
        let asked = add.tunables;
        for (place, value) in [
            (&mut tunables.peer_timeout, asked.peer_timeout),
            (&mut tunables.peer_credits, asked.peer_credits),
            (&mut tunables.peer_buffer_credits, asked.peer_buffer_credits),
            (&mut tunables.credits, asked.credits),
        ] {
            *place = value.unwrap_or(*place);
        }
        tunables.conns_per_peer = add.lnd.conns_per_peer.or(tunables.conns_per_peer);
        let cpts = add.cpts.map_or_else(Vec::new, |cpts| cpts.as_slice().to_vec());
        let lnd_numbers = add.lnd.numbers.iter().collect();
        let interface = Some(self.name_of(&found, add.interface.as_deref()));
        Ok((found.nid, NiConfig { tunables, lnd_numbers, interface, cpts, ..NiConfig::default() }))
    }

    /// The name of an interface that was asked for. Where another NID on the net has the name of its link, an address that was asked for
    /// is the name: the first address of a link may be another one than when that NID was added.
    fn name_of(&self, found: &FoundInterface, asked: Option<&str>) -> String {
        let address = asked.and_then(|asked| asked.parse::<IpAddr>().ok());
        let is_long = |nid: Nid| matches!(nid.address(), Address::Long(_));
        let has_name = |ni: &Arc<Ni>| {
            let same_family = is_long(ni.nid()) == is_long(found.nid);
            ni.nid() != found.nid && same_family && ni.config().interface.as_deref() == Some(&found.name)
        };
        let is_taken = || {
            let nets = self.core.nets();
            nets.net(found.nid.net()).is_some_and(|net| net.nis().iter().any(has_name))
        };
        address.filter(|_| is_taken()).map_or_else(|| found.name.clone(), |address| address.to_string())
    }

    /// Starts a resolved interface with this configuration. An error is not logged; warnings are, and are added to `warnings`.
    pub(crate) fn start(
        &self,
        nid: Nid,
        mut config: NiConfig,
        warnings: &mut Vec<String>,
    ) -> Result<Nid, StartError> {
        let driver = self.drivers.for_net(nid.net())?;
        let name = config.interface.as_deref();
        config.ip_address = driver.ip_address(nid);
        config.device_cpt = cpt::of_device(self.core.cpt_table(), &self.sysfs, config.ip_address, name);
        config.device = config.ip_address.and_then(links::device_of);
        self.core.admin().add_ni(nid, config, driver)?;
        for text in self.warnings_of(nid) {
            write_line!(LogClass::SubnetShared, "{text}");
            warnings.push(text);
        }
        Ok(nid)
    }

    /// The warnings about an interface of the node, as they are when it is added.
    pub(crate) fn warnings_of(&self, nid: Nid) -> Vec<String> {
        match self.drivers.for_net(nid.net()).map(|driver| driver.egress()) {
            Ok(Egress::Routes { own_link }) => links::misrouted_nis(&self.core, nid, own_link),
            _ => Vec::new(),
        }
    }
}

/// Finds an interface. One that is down is [`Errno::AddressNotAvailable`]: for clients of the control socket
/// [`Errno::NetworkDown`] means that LNet is down.
pub(crate) fn find(
    driver: &dyn Driver,
    net: NetId,
    interface: Option<&str>,
    size: NidSize,
) -> Result<FoundInterface, StartError> {
    driver.find_interface(net, interface, size).map_err(|error| match error.errno {
        Errno::NetworkDown => StartError { errno: Errno::AddressNotAvailable, ..error },
        _ => error,
    })
}
