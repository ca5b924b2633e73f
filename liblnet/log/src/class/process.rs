//! Classes of lines about the process of a node: threads, the C API, the control socket, attached programs.

/// Adds the rows of these classes to others, and passes all to the next macro.
macro_rules! with_process {
    ([$next:ident $($later:ident)*] $($rows:tt)*) => {
        $next! {
            [$($later)*] $($rows)*

            ThreadFailed {
                name: "thread_failed",
                level: Error,
                limit: Unlimited,
                meaning: "A thread of the node could not be started, or ended by a panic.",
                action: "Not started: raise the limit of threads or memory. Panic: please report it, with the message of the panic above.",
            }
            InternalError {
                name: "internal_error",
                level: Error,
                limit: AnyPeer,
                meaning: "A part of the library panicked while it worked; the others go on. This is a defect of the library.",
                action: "Please report it, with the message of the panic above.",
            }
            HandlerInUse {
                name: "handler_in_use",
                level: Error,
                limit: Unlimited,
                meaning: "The program holds that no memory descriptor uses a handler any more (lnet_assert_handler_unused), but one does, or a call of the handler runs that cannot be waited for.",
                action: "Unlink the descriptors, and wait for their last events, before the call.",
            }
            ApiDisabled {
                name: "api_disabled",
                level: Error,
                limit: Unlimited,
                meaning: "A call of the C API panicked. All further calls of this process fail with ENETDOWN. This is a defect of the library.",
                action: "Please report it, with the message of the panic above. Start the program anew.",
            }
            ControlUnavailable {
                name: "control_unavailable",
                level: Warn,
                limit: Unlimited,
                meaning: "The control socket cannot be served: lnetctl does not reach this node. The node itself works.",
                action: "See whether LNET_RUNTIME_DIR can be written to, and whether another process has this node's name (LNET_NODE).",
            }
            MetricsUnavailable {
                name: "metrics_unavailable",
                level: Warn,
                limit: Unlimited,
                meaning: "Metrics and health cannot be served over HTTP, or a connection could not be accepted. The node itself works.",
                action: "See whether another process listens on the address (LNET_METRICS), and whether the process has descriptors left.",
            }
            ControlAcceptFailed {
                name: "control_accept_failed",
                level: Warn,
                limit: PerSubject,
                meaning: "A client of the control socket could not be accepted; the node tries again.",
                action: "Look for a shortage of descriptors or memory.",
            }
            ControlClientRejected {
                name: "control_client_rejected",
                level: Warn,
                limit: PerSubject,
                meaning: "A client of the control socket or the status socket was rejected: not the owner nor root, or too many clients.",
                action: "Use lnetctl as the user whose process the node is, or as root. Too many: find out who holds connections.",
            }
            ControlClientRemoved {
                name: "control_client_removed",
                level: Info,
                limit: PerSubject,
                meaning: "There were too many clients of the control socket; the connection that was idle for longest was closed.",
                action: "Nothing. lnetctl connects anew by itself.",
            }
            ControlRequestFailed {
                name: "control_request_failed",
                level: Warn,
                limit: PerSubject,
                meaning: "A client of the control socket sent what is no request, or did not receive its reply; its connection is closed where it cannot be continued.",
                action: "Use the lnetctl of the same version as the library.",
            }
            ControlRequestStuck {
                name: "control_request_stuck",
                level: Warn,
                limit: Unlimited,
                meaning: "The node ends while a request of a client is still carried out; its thread is left to end by itself.",
                action: "Nothing, if it happens once. Otherwise please report it.",
            }
            NodeChoice {
                name: "node_choice",
                level: Info,
                limit: Unlimited,
                meaning: "Which node this process uses, and why: one of its own, or that of another process, to which it is attached.",
                action: "Nothing. LNET_ATTACH changes it.",
            }
            NotAttached {
                name: "not_attached",
                level: Error,
                limit: Unlimited,
                meaning: "The node that this process is to attach to is not there, or does not admit it.",
                action: "See whether `lnetd` of this name runs with the same LNET_RUNTIME_DIR, and whether this user may open its socket NAME.attach.",
            }
            Attached {
                name: "attached",
                level: Info,
                limit: PerSubject,
                meaning: "A program has attached to this node, or is not attached any more: it has left, or it has ended. What it had on the node is gone.",
                action: "Nothing.",
            }
            AttachRefused {
                name: "attach_refused",
                level: Warn,
                limit: PerSubject,
                meaning: "A program that wants to attach to this node is not admitted, for the reason that the line has. Its LNetNIInit fails with ENETDOWN.",
                action: "Too many programs: see which are attached. Another version: use the library of the same version as the daemon.",
            }
            AttachViolation {
                name: "attach_violation",
                level: Warn,
                limit: PerSubject,
                meaning: "A program that was attached has broken the rules of the rings, or has not read its events; its attachment is ended, and its calls fail with ENETDOWN.",
                action: "Not read: see whether the program hangs. Otherwise look at what the program does with memory that is not its own; if it does nothing wrong, please report it.",
            }
            PeerDump {
                name: "peer_dump",
                level: Warn,
                limit: Unlimited,
                meaning: "The answer to LNetDebugPeer(): what is known of a peer.",
                action: "Nothing.",
            }
            ForkUnwatched {
                name: "fork_unwatched",
                level: Warn,
                limit: Unlimited,
                meaning: "The library could not register for fork(): calls in a child process do not notice that it has no node.",
                action: "Do not call LNet in children of fork() before exec().",
            }
        }
    };
}

pub(super) use with_process;
