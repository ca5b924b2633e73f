//! The node's CPU partitions, made at the start from the configuration and the machine.

use crate::start_config::StartConfig;
use crate::sysfs;
use lnet_core::{CptTable, Errno};
use lnet_log::{LogClass, write_line};
use lnet_os::interfaces::{HostInterface, host_interfaces};
use std::net::IpAddr;
use std::path::Path;

/// Makes the partitions (NU-1). [`Errno::Invalid`] if the machine cannot be divided as configured; the cause is logged.
pub(crate) fn table(config: &StartConfig) -> Result<CptTable, Errno> {
    let hardware = sysfs::hardware(&config.sysfs);
    let table = CptTable::new(&hardware, &config.cpts).map_err(|error| {
        write_line!(LogClass::ConfigInvalid, "CPU partitions: {error}");
        Errno::Invalid
    })?;
    log::debug!("CPU partitions, and the distances from each to each:\n{table}");
    Ok(table)
}

/// The partition of the device of an interface (`dev cpt`, NU-5). `name` is the operator's name for the interface: its name, an alias, or its
/// address.
pub(crate) fn of_device(
    cpts: &CptTable,
    sysfs: &Path,
    address: Option<IpAddr>,
    name: Option<&str>,
) -> Option<u32> {
    let host = || host_interfaces().unwrap_or_default();
    let name = match name {
        Some(name) if name.parse::<IpAddr>().is_err() => name.to_owned(),
        _ => name_by_address(&host(), address?)?,
    };
    let (card, _alias) = name.split_once(':').unwrap_or((&name, ""));
    cpts.of_node(sysfs::node_of_interface(sysfs, card)?)
}

fn name_by_address(host: &[HostInterface], address: IpAddr) -> Option<String> {
    host.iter().find(|it| it.address == Some(address)).map(|it| it.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::four_nodes;
    use lnet_core::cpt::Layout;

    fn cpts(root: &Path, pattern: &str) -> Result<CptTable, Errno> {
        let cpts = Layout::Pattern(pattern.parse().unwrap());
        table(&StartConfig { cpts, sysfs: root.to_owned(), ..StartConfig::default() })
    }

    /// snd-010, NU-1, NU-3, NU-5: fails if the distance between partitions is not that of the machine's NUMA
    /// nodes, or a device is not found on its node.
    #[test]
    fn a_machine_of_four_nodes_is_divided_as_configured() {
        let root = four_nodes();
        let root = root.path();
        let table = cpts(root, "N").unwrap();
        assert_eq!(table.count().get(), 4);
        assert_eq!(table.of_node(7), Some(2));
        assert_eq!(table.distance(Some(0), Some(2)), 22);
        let address = Some("192.0.2.1".parse().unwrap());
        let device = |table: &CptTable, name| of_device(table, root, address, Some(name));
        assert_eq!(["eth0", "eth2:1", "eth9"].map(|name| device(&table, name)), [Some(0), Some(2), None]);
        let halves = cpts(root, "N 0[2,3] 1[0,1]").unwrap();
        assert_eq!(["eth0", "eth2"].map(|name| device(&halves, name)), [Some(1), Some(0)]);
        // No address of this machine is on a card of the synthetic one.
        assert_eq!(of_device(&table, root, address, Some("192.0.2.1")), None);
        let plain = StartConfig { sysfs: root.to_owned(), ..StartConfig::default() };
        assert_eq!(super::table(&plain).unwrap().count().get(), 4, "two cores each");
        assert_eq!(cpts(root, "N 0[4]"), Err(Errno::Invalid));
    }
}
