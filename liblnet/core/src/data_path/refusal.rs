//! Requests of a program that the node refuses: the reason, the errno, and the log line with the remedy.

use super::DataPath;
use crate::md::Md;
use crate::memory::PortalPlace;
use crate::model::message::SendReport;
use crate::model::{AddressFamily, RequestTerms, SendRequest};
use lnet_log::LogClass;
use lnet_wire::{Errno, MAX_PAYLOAD, MAX_PORTALS, Nid, RESERVED_PORTAL};
use std::fmt::Display;

/// The reason why a PUT or GET of this node is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The target is `LNET_NID_ANY`.
    AnyTarget,
    /// The source is not a NID of this node.
    ForeignSource(Nid),
    /// The request, or the response to it, is longer than a message may be.
    TooLong,
    /// No path leads to the target.
    NoPath,
    /// The program has unlinked the MD, or the node shuts down.
    Withdrawn(Errno),
    /// A preceding step, such as discovery, has failed, and was logged then.
    Failed(Errno),
}

impl Refusal {
    /// The status of the SEND event for this reason.
    pub(crate) const fn errno(self) -> Errno {
        match self {
            Self::AnyTarget | Self::ForeignSource(_) => Errno::Invalid,
            Self::TooLong => Errno::MessageSize,
            Self::NoPath => Errno::HostUnreachable,
            Self::Withdrawn(errno) | Self::Failed(errno) => errno,
        }
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::Shutdown | Errno::Cancelled => Self::Withdrawn(errno),
            Errno::HostUnreachable => Self::NoPath,
            _ => Self::Failed(errno),
        }
    }
}

impl DataPath {
    /// Fails a request that is not sent.
    pub(crate) fn refuse(&self, mut request: SendRequest, why: impl Into<Refusal>) {
        let why = why.into();
        request.untrack();
        self.message_counters.error();
        // Failures of the node's own requests are logged elsewhere.
        if request.terms.target.portal != RESERVED_PORTAL {
            self.log_refusal(&request, why);
        }
        let SendRequest { md, terms: RequestTerms { target, outgoing, threshold, .. } } = request;
        let report = SendReport { target: target.nid, threshold };
        self.report_request(&md, report, target.pid, &outgoing.body, Err(why.errno()));
    }

    /// Checks a portal number. If it is out of range, logs a line about `what` and returns [`Errno::Invalid`].
    pub(crate) fn check_portal(&self, portal: u32, what: impl FnOnce() -> String) -> Result<(), Errno> {
        if portal < MAX_PORTALS {
            return Ok(());
        }
        let (what, last) = (what(), MAX_PORTALS - 1);
        self.env.log(
            LogClass::RequestRefused,
            &what,
            format_args!(
                "{what}: refused (portal {portal}, EINVAL); portals are numbered from 0 to {last}, on every node"
            ),
        );
        Err(Errno::Invalid)
    }

    fn log_refusal(&self, request: &SendRequest, why: Refusal) {
        let Some(target) = request.terms.target.nid.filter(|_| why != Refusal::AnyTarget) else {
            return self.write_refusal(
                request,
                &"any node",
                why,
                "the target is LNET_NID_ANY",
                "name one node; libcfs_str2nid returns LNET_NID_ANY for a text that is no NID",
            );
        };
        let write = |cause: &dyn Display, remedy| self.write_refusal(request, &target, why, cause, remedy);
        let net = target.net();
        match why {
            Refusal::Withdrawn(_) | Refusal::AnyTarget => {}
            Refusal::ForeignSource(source) => write(
                &format_args!("its source {source} is not a NID of this node"),
                "give one that `lnetctl net show` lists, or LNET_NID_ANY",
            ),
            Refusal::TooLong => write(
                &format_args!("more than the {MAX_PAYLOAD} bytes of LNET_MTU"),
                "divide it into several, each with an MD of its own",
            ),
            Refusal::NoPath if self.topology.lacks_family_of(target) => write(
                &format_args!(
                    "no interface of this node on {net} reaches an {} address",
                    AddressFamily::of(target)
                ),
                "add one with such an address (`lnetctl net add --nid`)",
            ),
            Refusal::NoPath if self.topology.leads_to(net) => write(
                &"no path to it is usable",
                "`lnetctl net show -v` and `lnetctl route show -v` say what is down",
            ),
            Refusal::NoPath => write(
                &format_args!("this node is not on {net}, and has no route there"),
                "add the net (`lnetctl net add`), or a route to it (`lnetctl route add`)",
            ),
            Refusal::Failed(_) => write(&"its peer could not be asked", "the lines before say why"),
        }
    }

    fn write_refusal(
        &self,
        request: &SendRequest,
        target: &dyn Display,
        why: Refusal,
        cause: impl Display,
        remedy: &str,
    ) {
        let (kind, length) = (request.terms.outgoing.body.kind(), request.md.memory().len());
        let Some(place) = PortalPlace::of(&request.terms.outgoing.body) else { return };
        let errno = why.errno().name();
        self.env.log(
            LogClass::RequestRefused,
            target,
            format_args!(
                "{kind} of {length} bytes to {target}, {place}: not sent ({cause}, {errno}); {remedy}"
            ),
        );
    }

    /// Ends the requests with this MD that wait for a discovery: the MD has been unlinked, and its owner should not
    /// wait for a peer that may be down.
    pub(crate) fn cancel_parked(&self, md: &Md) {
        for request in self.discovery.unpark_md(md) {
            self.refuse(request, Errno::Cancelled);
        }
    }

    /// Ends the requests that wait for discoveries, because the node shuts down (DI-23).
    pub(crate) fn end_discovery(&self) {
        for request in self.discovery.end() {
            self.refuse(request, Errno::Shutdown);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_the_errno_of_the_c_api() {
        let source = Nid::LOOPBACK;
        for (why, errno) in [
            (Refusal::AnyTarget, Errno::Invalid),
            (Refusal::ForeignSource(source), Errno::Invalid),
            (Refusal::TooLong, Errno::MessageSize),
            (Refusal::from(Errno::HostUnreachable), Errno::HostUnreachable),
            (Refusal::from(Errno::Shutdown), Errno::Shutdown),
            (Refusal::from(Errno::Cancelled), Errno::Cancelled),
            (Refusal::from(Errno::TimedOut), Errno::TimedOut),
        ] {
            assert_eq!(why.errno(), errno, "{why:?}");
        }
    }
}
