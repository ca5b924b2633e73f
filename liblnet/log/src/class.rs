//! The classes of lines that the libraries write: one for each kind of event that an operator may want to find, filter or
//! look up. `docs/logs.md` is generated from their rows, which are in the files of this folder by subject.

mod configuration;
mod connections;
mod consumers;
mod messages_and_peers;
mod process;

use configuration::with_configuration;
use connections::with_connections;
use consumers::with_consumers;
use log::Level;
use messages_and_peers::with_messages_and_peers;
use process::with_process;

/// The rate limit of the lines of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All lines are written: each reports a change of state once, or responds to an action of an operator. No peer can
    /// cause them at will.
    Unlimited,
    /// The lines go through a [`crate::RateLimitedLog`]: a limited number in a period for each subject. This node or its
    /// machine causes them.
    PerSubject,
    /// The same, for subjects that an operator has configured, such as gateways. Any sender that claims to be one of them can
    /// cause the lines.
    PerConfigured,
    /// The same, and a limited number per period in the class, and in all such classes together: any peer can cause the
    /// lines.
    AnyPeer,
}

/// Makes [`LogClass`]; a class without one of its descriptions does not compile.
macro_rules! log_classes {
    ([] $($variant:ident {
        name: $name:literal,
        level: $level:ident,
        limit: $limit:ident,
        meaning: $meaning:literal,
        action: $action:literal,
    })*) => {
        /// The class of a line: the kind of event that it reports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum LogClass {
            $(#[doc = $meaning] $variant,)*
        }

        impl LogClass {
            /// All classes, in the order of the documentation.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// The name of the class, which does not change.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The target of the class's records: `lnet::` and its name.
            pub const fn target(self) -> &'static str {
                match self { $(Self::$variant => concat!("lnet::", $name),)* }
            }

            /// The level of the class's lines.
            pub const fn level(self) -> Level {
                match self { $(Self::$variant => Level::$level,)* }
            }

            /// The rate limit of the class's lines.
            pub const fn limit(self) -> Limit {
                match self { $(Self::$variant => Limit::$limit,)* }
            }

            /// The event that a line of the class reports.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// The action that the node's operator should take.
            pub const fn action(self) -> &'static str {
                match self { $(Self::$variant => $action,)* }
            }
        }
    };
}

impl LogClass {
    /// Whether the class's lines are changes of state, which the history of the node keeps.
    pub const fn is_kept(self) -> bool {
        matches!(
            self,
            Self::NiState
                | Self::NiRecovered
                | Self::NiHealth
                | Self::NiWaiting
                | Self::NiStarted
                | Self::PeerUnreachable
                | Self::PeerDegraded
                | Self::PeerReachable
                | Self::PeerUnresponsive
                | Self::PeerClosed
                | Self::PeerMismatch
                | Self::PeerRemoved
                | Self::RouteState
                | Self::RouteUp
                | Self::RouteHops
                | Self::RouterNet
                | Self::RoutingStopped
                | Self::NetUnreachable
                | Self::NetReachable
                | Self::PathUnresponsive
                | Self::PathResponsive
                | Self::ConnectFailed
                | Self::ConnectionStalled
                | Self::DiscoveryFailed
                | Self::FaultRule
                | Self::ConfigChanged
        )
    }

    /// Whether the class's lines go through a [`crate::RateLimitedLog`].
    pub const fn is_limited(self) -> bool {
        !matches!(self.limit(), Limit::Unlimited)
    }
}

with_messages_and_peers! {
    [with_configuration with_connections with_process with_consumers log_classes]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Fails if two classes cannot be told apart in a log, or if one lacks the text for an operator.
    #[test]
    fn each_class_has_a_name_of_its_own_in_snake_case_and_is_described() {
        let names: HashSet<_> = LogClass::ALL.iter().map(|class| class.name()).collect();
        assert_eq!(names.len(), LogClass::ALL.len());
        for (index, class) in LogClass::ALL.into_iter().enumerate() {
            let name = class.name();
            assert_eq!(class as usize, index, "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(class.target(), format!("lnet::{name}"));
            for text in [class.meaning(), class.action()] {
                assert!(text.len() > 7 && text.ends_with('.') && !text.contains('|'), "{name}: {text}");
            }
        }
    }
}
