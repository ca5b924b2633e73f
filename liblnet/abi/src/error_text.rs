//! The meaning of results of the C API, as a text.

use crate::entry::{InConstString, helper};
use lnet_core::Errno;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::LazyLock;

/// The meaning of a result: of a call of the function with this name, or, if call is NULL, of the status of an event. Of liblnet only. The text
/// names what is usually wrong; where there is nothing to say but the error, it is that of strerror.
///
/// Returns a string that stays valid, without a full stop, never NULL. Allowed in an event handler, and while the network is down.
#[unsafe(no_mangle)]
pub extern "C" fn _LNetErrorText(call: InConstString<'_>, result: c_int) -> *const c_char {
    helper(c"unknown error", || text_of(call.utf8_or(()).unwrap_or(STATUS), result)).as_ptr()
}

/// Stands for the status of an event in the place of a call.
const STATUS: &str = "";
/// Stands for every call that no row before has.
const ANY_CALL: &str = "*";

struct Row {
    calls: &'static [&'static str],
    errno: Errno,
    text: &'static CStr,
}

const fn row(calls: &'static [&'static str], errno: Errno, text: &'static CStr) -> Row {
    Row { calls, errno, text }
}

/// The texts; the first row that has the call and the error counts.
const ROWS: &[Row] = &[
    row(&["LNetNIInit"], Errno::NetworkDown, c"no node to attach to: see the log, LNET_ATTACH, and whether lnetd runs; with LNET_PID_ANY: the network is not up"),
    row(&["LNetNIInit"], Errno::Invalid, c"the configuration is invalid, as the log says; or the PID has LNET_PID_USERFLAG"),
    row(&["LNetNIInit"], Errno::NoDevice, c"an interface of LNET_NETWORKS does not exist or is down"),
    row(&["LNetNIInit"], Errno::AddressInUse, c"another node has the address and LNET_ACCEPT_PORT"),
    row(&["LNetGetId"], Errno::NotFound, c"no interface has this number; without LNET_NETWORKS there is only number 0, the loopback"),
    row(&["LNetDist"], Errno::HostUnreachable, c"this node is not on the net of that NID, and has no route there"),
    row(&["LNetMEAttach", "LNetSetLazyPortal", "LNetClearLazyPortal"], Errno::Invalid, c"no such portal: portals are numbered from 0 to 63"),
    row(&["LNetMEAttach"], Errno::NotPermitted, c"the portal is for entries of the other kind, with wildcards or without, as its first entry was"),
    row(&["LNetMEInsert"], Errno::NotPermitted, c"the portal is for entries without wildcards, or the position is LNET_INS_LOCAL"),
    row(&["LNetMEInsert", "LNetMEUnlink"], Errno::NotFound, c"no such match entry: it has been unlinked already, by a call or with its memory descriptor"),
    row(&["LNetMDAttach"], Errno::NotFound, c"no such match entry (it has been unlinked already), or no such event queue"),
    row(&["LNetMDAttach"], Errno::Busy, c"the match entry has a memory descriptor already, or this is an event handler"),
    row(&["LNetMDAttach"], Errno::Invalid, c"the memory is not described validly, or the options have neither LNET_MD_OP_PUT nor LNET_MD_OP_GET"),
    row(&["LNetMDBind"], Errno::NotFound, c"no such event queue"),
    row(&["LNetMDBind"], Errno::Invalid, c"the memory is not described validly, or the options have LNET_MD_OP_PUT or LNET_MD_OP_GET, which are for LNetMDAttach"),
    row(&["LNetMDUnlink"], Errno::NotFound, c"no such memory descriptor: it has been unlinked already, by a call or because it was exhausted or timed out"),
    row(&["LNetEQAlloc"], Errno::Invalid, c"a queue needs a number of events, or a handler"),
    row(&["LNetEQFree"], Errno::Busy, c"a memory descriptor still uses the queue: unlink it, and take its events until one has unlinked set"),
    row(&["LNetEQFree", "LNetEQGet", "LNetEQWait", "LNetEQPoll"], Errno::NotFound, c"no such event queue: it has been freed"),
    row(&["LNetEQGet", "LNetEQWait", "LNetEQPoll"], Errno::Overflow, c"events were lost because the queue was full: read it sooner, or give LNetEQAlloc a larger count"),
    row(&["LNetPut", "LNetGet"], Errno::NotFound, c"no such memory descriptor of LNetMDBind, or its threshold is exhausted"),
    row(&["LNetPut", "LNetGet"], Errno::Invalid, c"no such portal (they are numbered from 0 to 63), or no such kind of acknowledgement"),
    row(&["LNetPut", "LNetGet"], Errno::Io, c"fault injection: the call was to fail"),
    row(&["LNetClaimBits"], Errno::AddressInUse, c"some of these bits are claimed at that portal, by this program or another one of the node"),
    row(&["LNetClaimBits"], Errno::Invalid, c"no portal that can be claimed: they are numbered from 1 to 63"),
    row(&["LNetReleaseBits"], Errno::NotFound, c"this process has no such claim"),
    row(&["LNetMemFree"], Errno::Invalid, c"no memory of LNetMemAlloc, or it has been freed already"),
    row(&["LNetAddPeer"], Errno::Invalid, c"no NID but 0@lo, an invalid one, or more than 128"),
    row(&["LNetAddPeer"], Errno::Exists, c"a NID belongs to another node"),
    row(&["LNetAddPeer"], Errno::NotPermitted, c"the node is configured without this NID"),
    row(&["LNetPeerDiscovered"], Errno::Invalid, c"no NID"),
    row(&["LNetPeerDiscovered"], Errno::Already, c"a discovery is in progress"),
    row(&["LNetPeerDiscovered"], Errno::Again, c"a discovery has been started"),
    row(&["LNetPeerDiscovered"], Errno::HostUnreachable, c"the node is not known, or does not respond"),
    row(&["LNetCtl"], Errno::Invalid, c"unknown command, or the header, a length or the content is invalid"),
    row(&["LNetCtl"], Errno::NotSupported, c"a command that this library does not have"),
    row(&["LNetCtl"], Errno::NotFound, c"the list has no such number"),
    row(&[STATUS], Errno::Invalid, c"no target: its NID is LNET_NID_ANY, which libcfs_str2nid returns for a text that is no NID; or the source is no NID of this node"),
    row(&[STATUS], Errno::HostUnreachable, c"no path: this node is not on the target's net and has no route there, or the target refuses connections"),
    row(&[STATUS], Errno::TimedOut, c"no response in time: the target is away, or nothing matched there (see its log), or it was too long for the memory there"),
    row(&[STATUS], Errno::MessageSize, c"more than the 1048576 bytes of LNET_MTU"),
    row(&[STATUS], Errno::Cancelled, c"the memory descriptor was unlinked before the message was sent"),
    row(&[STATUS], Errno::Shutdown, c"the node has shut down, or the interface was removed"),
    row(&[ANY_CALL], Errno::NetworkDown, c"the network is down: LNetNIInit has not been called, or has failed; or LNetNIFini has been called, or this is a child of fork"),
    row(&[ANY_CALL], Errno::Fault, c"a pointer that must not be NULL is NULL"),
    row(&[ANY_CALL], Errno::Busy, c"must not be called from an event handler"),
    row(&[ANY_CALL], Errno::NoMemory, c"no memory is left, or there are too many objects"),
    row(&[ANY_CALL], Errno::Io, c"an internal error of the library, which the log has; further calls fail with ENETDOWN"),
];

fn text_of(call: &str, result: c_int) -> &'static CStr {
    if result >= 0 {
        return c"success";
    }
    let has = |row: &&Row| row.calls.contains(&call) || (call != STATUS && row.calls == [ANY_CALL]);
    let mut rows = ROWS.iter().filter(|row| row.errno.to_c() == result);
    rows.find(has).map_or_else(|| of_system(result), |row| row.text)
}

/// The text of `strerror`.
fn of_system(result: c_int) -> &'static CStr {
    static TEXTS: LazyLock<Vec<CString>> = LazyLock::new(|| {
        Errno::NAMED.iter().map(|errno| CString::new(errno.text()).unwrap_or_default()).collect()
    });
    let at = Errno::NAMED.iter().position(|errno| errno.to_c() == result);
    at.and_then(|at| TEXTS.get(at)).map_or(c"unknown error", |text| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The files of the functions that [`ROWS`] is about.
    const SOURCES: [&str; 10] = [
        include_str!("claim.rs"),
        include_str!("data.rs"),
        include_str!("eq.rs"),
        include_str!("md.rs"),
        include_str!("me.rs"),
        include_str!("memory.rs"),
        include_str!("ni.rs"),
        include_str!("peer.rs"),
        include_str!("portal.rs"),
        include_str!("ctl/mod.rs"),
    ];

    /// The functions, each with its documentation.
    fn functions() -> Vec<(String, String)> {
        let mut functions = Vec::new();
        for source in SOURCES {
            let mut doc = String::new();
            for line in source.lines() {
                match line.strip_prefix("/// ") {
                    Some(text) => doc.extend([text, " "]),
                    None if line.starts_with("#[") || line == "///" => {}
                    None => {
                        let name = line.split_once("fn _").and_then(|(_, rest)| rest.split_once('('));
                        functions.extend(name.map(|(name, _)| (name.to_owned(), doc.clone())));
                        doc.clear();
                    }
                }
            }
        }
        functions
    }

    fn text(call: &str, errno: Errno) -> &'static str {
        text_of(call, errno.to_c()).to_str().unwrap()
    }

    #[test]
    fn every_error_that_a_header_names_has_a_text_of_its_own() {
        let functions = functions();
        assert!(functions.len() > 25, "{functions:?}");
        for (function, doc) in &functions {
            // The errors of events, and those of the whole API, are others' rows.
            let errors = doc.split_once("Error").map_or("", |(_, errors)| errors);
            for word in errors.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with('E')) {
                let Some(errno) = Errno::NAMED.iter().find(|errno| errno.name() == word) else { continue };
                assert_ne!(text(function, *errno), errno.text(), "{function}: {word}");
            }
        }
    }

    #[test]
    fn rows_are_about_functions_that_exist_and_none_is_hidden_by_one_before() {
        let names: BTreeSet<String> = functions().into_iter().map(|(name, _)| name).collect();
        for row in ROWS {
            for call in row.calls {
                assert!([STATUS, ANY_CALL].contains(call) || names.contains(*call), "{call}");
                assert_eq!(text_of(call, row.errno.to_c()), row.text, "{call}");
            }
        }
    }

    #[test]
    fn other_results_have_the_text_of_the_system() {
        let cases = [
            ("LNetPut", 0, "success"),
            ("LNetNIInit", 3, "success"),
            ("LNetPut", Errno::Stale.to_c(), Errno::Stale.text()),
            (STATUS, Errno::NetworkUnreachable.to_c(), Errno::NetworkUnreachable.text()),
            ("LNetPut", c_int::MIN, "unknown error"),
            ("no such function", Errno::NotFound.to_c(), Errno::NotFound.text()),
        ];
        for (call, result, expected) in cases {
            assert_eq!(text_of(call, result).to_str(), Ok(expected), "{call} {result}");
        }
    }
}
