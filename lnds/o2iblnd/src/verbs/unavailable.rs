//! Why the libraries find no device, or none with an address: the machine has none, or this process cannot use those that it has. The
//! libraries do not say which.

use crate::device::OpenError;
use lnet_core::Errno;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::fs;
use std::net::Ipv4Addr;

/// The kernel's list of RDMA devices, and the directory of their character devices.
const DEVICES: &str = "/sys/class/infiniband";
const CHARACTER_DEVICES: &str = "/dev/infiniband";
const CONNECTION_MANAGER: &str = "rdma_cm";

/// The reason why there is no device for `interface`.
pub(super) fn no_device(interface: &str) -> OpenError {
    without_device(interface, &names(DEVICES), &names(CHARACTER_DEVICES))
}

/// The reason why none of so many devices has the address: one that cannot be opened shows no address.
pub(super) fn not_its_address(address: Ipv4Addr, devices: usize) -> OpenError {
    let uverbs = names(CHARACTER_DEVICES).into_iter().filter(|name| is_uverbs(name));
    match uverbs.into_iter().find_map(|name| refused(&name)) {
        Some(text) => OpenError::NotPermitted(text),
        None => OpenError::NotItsAddress { address, devices },
    }
}

/// The reason why there is no connection manager; `errno` is that of the library.
pub(super) fn no_connection_manager(errno: Errno) -> OpenError {
    let text = refused(CONNECTION_MANAGER);
    OpenError::NotPermitted(text.unwrap_or_else(|| format!("rdma_create_event_channel: {}", errno.text())))
}

fn without_device(interface: &str, devices: &[String], character_devices: &[String]) -> OpenError {
    let all = || devices.join(", ");
    if devices.is_empty() {
        OpenError::NoDevice(interface.to_owned())
    } else if !character_devices.iter().any(|name| is_uverbs(name)) {
        OpenError::NoUverbs { devices: all() }
    } else {
        OpenError::NoProvider { devices: all() }
    }
}

fn is_uverbs(name: &str) -> bool {
    name.starts_with("uverbs")
}

/// The path of a character device and the error, if this process may not read and write it.
fn refused(name: &str) -> Option<String> {
    let path = format!("{CHARACTER_DEVICES}/{name}");
    let access = accessat(CWD, &path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS);
    let error = std::io::Error::from(access.err()?);
    Some(format!("{path}: {}", Errno::from(&error).text()))
}

/// The sorted names in a directory; none if it cannot be read.
fn names(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_no_device_names_what_is_missing() {
        let devices = || "mlx5_0, mlx5_1".to_owned();
        let table: [(&[&str], &[&str], OpenError); 5] = [
            (&[], &[], OpenError::NoDevice("ib0".to_owned())),
            (&[], &["rdma_cm"], OpenError::NoDevice("ib0".to_owned())),
            (&["mlx5_0", "mlx5_1"], &[], OpenError::NoUverbs { devices: devices() }),
            (&["mlx5_0", "mlx5_1"], &["rdma_cm"], OpenError::NoUverbs { devices: devices() }),
            (&["mlx5_0", "mlx5_1"], &["rdma_cm", "uverbs0"], OpenError::NoProvider { devices: devices() }),
        ];
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (devices, character_devices, expected) in table {
            let found = without_device("ib0", &owned(devices), &owned(character_devices));
            assert_eq!(found, expected, "{devices:?} {character_devices:?}");
        }
    }
}
