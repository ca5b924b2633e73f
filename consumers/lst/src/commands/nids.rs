//! NIDs in brackets: `192.0.2.[1-5,9,10-20/2]@tcp`.

use lnet_dlc::host_names::Names;
use lnet_wire::{Nid, NidList};

/// Maximum number of nodes in one list: more are taken for a typing error.
const MAX_NIDS: usize = 65_536;

/// Returns all NIDs of a list, in ascending order, or the one NID whose address is a host name. Selftest only supports NIDs of
/// four bytes. The error is a text for the user.
pub(super) fn expand(text: &str) -> Result<Vec<Nid>, String> {
    let nids = match text.parse::<NidList>() {
        Ok(list) => list.nids(MAX_NIDS).map_err(|error| format!("'{text}': {error}"))?,
        Err(_) if text.starts_with(|letter: char| letter.is_ascii_alphabetic()) => {
            vec![Names::new().nid(text).map_err(|error| format!("'{text}': {error}"))?]
        }
        Err(error) => return Err(format!("'{text}': {error}")),
    };
    match nids.iter().find(|nid| nid.to_u64().is_none()) {
        Some(nid) => Err(format!("{nid}: selftest has no room for NIDs of more than four bytes")),
        None if nids.is_empty() => Err(format!("'{text}': no NID")),
        None => Ok(nids),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_stand_for_numbers_in_ascending_order() {
        let table = [
            ("10.0.0.1@tcp", "10.0.0.1@tcp"),
            ("192.168.1.[1-3]@tcp", "192.168.1.1@tcp 192.168.1.2@tcp 192.168.1.3@tcp"),
            (
                "192.168.1.[9,10-14/2]@tcp1",
                "192.168.1.9@tcp1 192.168.1.10@tcp1 192.168.1.12@tcp1 192.168.1.14@tcp1",
            ),
            ("localhost@tcp1", "127.0.0.1@tcp1"),
            ("10.[1-2].0.[3-4]@o2ib", "10.1.0.3@o2ib 10.1.0.4@o2ib 10.2.0.3@o2ib 10.2.0.4@o2ib"),
        ];
        for (text, expected) in table {
            let nids: Vec<String> = expand(text).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(nids.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_nids_is_refused() {
        for text in [
            "",
            "x@gni",
            "10.0.0.[3-1]@tcp",
            "10.0.0.[1-9/0]@tcp",
            "*@tcp",
            "[0-255].[0-255].[0-255].1@tcp",
            "fe80::1@tcp",
        ] {
            assert!(expand(text).is_err(), "{text}");
        }
    }
}
