//! The buffer that pings are answered from: its replacement, and the end of the node.

use super::*;
use crate::core::Core;
use crate::environment::CoreConfig;
use crate::memory::MdOptions;
use lnet_wire::Pid;
use test_support::log_recorder;

/// Fails if the discovery thread logs an error when it posts buffers during the shutdown, which has dropped the queue that
/// the buffers report to.
#[test]
fn a_node_that_ends_posts_nothing_and_calls_that_no_error() {
    log_recorder::listen(log::LevelFilter::Error);
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42));
    let core = core.admin();
    core.post_push_buffers();
    let posted = core.objects.mds().len();
    assert!(posted > 0);
    core.shutdown();
    // A discovery thread does this if it has checked for the shutdown just before the shutdown began.
    core.post_push_buffers();
    core.rebuild_ping_target(&core.configuration.lock());
    assert_eq!(core.objects.mds().len(), 0);
    let lines = log_recorder::lines();
    assert!(lines.iter().all(|line| line.target != LogClass::PingTargetFailed.target()), "{lines:?}");
}

#[test]
fn each_new_ping_buffer_replaces_the_md_of_the_one_before() {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42));
    let core = core.admin();
    let posted = || {
        core.objects
            .mds()
            .iter()
            .filter(|md| md.options().has(MdOptions::OP_GET))
            .map(|md| md.handle())
            .collect::<Vec<_>>()
    };
    let mut before = None;
    for _ in 0..3 {
        core.rebuild_ping_target(&core.configuration.lock());
        let now = posted();
        assert_eq!(now.len(), 1, "{now:?}");
        assert_ne!(before, now.first().copied());
        before = now.first().copied();
    }
}
