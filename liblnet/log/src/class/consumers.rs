//! Classes of lines of the libraries that use the C API, and of the log itself.

/// Adds the rows of these classes to others, and passes all to the next macro.
macro_rules! with_consumers {
    ([$next:ident $($later:ident)*] $($rows:tt)*) => {
        $next! {
            [$($later)*] $($rows)*

            ImportDisconnected {
                name: "import_disconnected",
                level: Warn,
                limit: Unlimited,
                meaning: "A PtlRPC client has lost the connection of an import: a request got no reply. It connects anew, to the next server if there is one.",
                action: "See whether the server runs and is reachable (`lnetctl ping`). Nothing if it was restarted.",
            }
            ReplyInvalid {
                name: "reply_invalid",
                level: Warn,
                limit: AnyPeer,
                meaning: "A PtlRPC reply cannot be decoded, or its bulk transfer failed; the request fails.",
                action: "Look at the server: it speaks another version of the protocol, or is defective.",
            }
            ReplyRejected {
                name: "reply_rejected",
                level: Warn,
                limit: AnyPeer,
                meaning: "The program that serves a PtlRPC request gave a reply that cannot be sent; the client gets the error instead.",
                action: "Mend the service: its reply is longer than it said, or invalid.",
            }
            HandlerPanicked {
                name: "handler_panicked",
                level: Error,
                limit: AnyPeer,
                meaning: "A handler or callback of the program panicked while it served PtlRPC; the request fails, the service goes on.",
                action: "Mend the program; the message of the panic stands above.",
            }
            LinesLost {
                name: "lines_lost",
                level: Warn,
                limit: Unlimited,
                meaning: "Standard error, or the journal, took no lines for a while: nobody read it, its disk was full, or it was closed. Lines that were to stand here are lost; the node went on.",
                action: "See who reads the standard error of the process, and whether the disk of its log is full.",
            }
            RequestBuffersFailed {
                name: "request_buffers_failed",
                level: Warn,
                limit: AnyPeer,
                meaning: "A PtlRPC service could not attach buffers for requests; requests wait at the clients.",
                action: "Give the process more memory, or stop another service on the same portal.",
            }
            ServiceStuck {
                name: "service_stuck",
                level: Warn,
                limit: Unlimited,
                meaning: "A PtlRPC service did not end in time, or its portal could not be given back; what it uses stays allocated.",
                action: "See which handler of the program has not returned.",
            }
            SelftestSession {
                name: "selftest_session",
                level: Warn,
                limit: AnyPeer,
                meaning: "A session of LNet selftest has ended because its console sent nothing for the session's timeout; its tests are stopped.",
                action: "Start the test anew; if the console still ran, see whether it reaches this node (`lnetctl ping`).",
            }
            SelftestService {
                name: "selftest_service",
                level: Error,
                limit: Unlimited,
                meaning: "The service of LNet selftest cannot start, or cannot serve a command of `lst`.",
                action: "Mend what the line names: a variable of the environment, or a limit of threads or memory.",
            }
            MotrTransport {
                name: "motr_transport",
                level: Info,
                limit: Unlimited,
                meaning: "A transfer machine for which the program asked for it (`m0_net_lnet_tm_set_debug`) has another state, or an operation of it has ended.",
                action: "Nothing.",
            }
        }
    };
}

pub(super) use with_consumers;
