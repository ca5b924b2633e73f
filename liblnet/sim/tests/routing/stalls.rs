//! A node behind a router that reads nothing, and the messages that the router has for others.

use super::*;

/// Number of messages that exceeds all credits of a peer, and its share of the router's buffers.
const MANY: usize = 50;

/// The client and the server of [`site`] with one router, and another of each.
struct Site {
    world: World,
    second_client: NodeId,
    second_server: Nid,
}

impl Site {
    fn new(name: &str) -> Self {
        let mut world = site(name, 1, network());
        let second_server = nid(1, 2);
        world.add_node(spec(&[second_server]).with_routes(net(0), &[router(1, 0)]));
        let second_client = world.add_node(spec(&[nid(0, 2)]).with_routes(net(1), &[router(0, 0)]));
        meet(&mut world);
        load(&mut world, 0.5);
        let mut its = Self { world, second_client, second_server };
        // The nodes learn of each other.
        let ops = [
            its.ask(1, second_client, server()),
            its.ask(1, second_client, second_server),
            its.ask(1, CLIENT, second_server),
        ];
        pass(&mut its.world, 5.0);
        ops.iter().for_each(|ops| assert!(its.longest(ops) < 1.0));
        its
    }

    fn ask(&mut self, count: usize, client: NodeId, server: Nid) -> Vec<OpId> {
        (0..count).filter_map(|at| self.world.start_op(client, server, ASKS[at % 3])).collect()
    }

    /// Checks that all have succeeded; returns the longest duration.
    fn longest(&self, ops: &[OpId]) -> f64 {
        let took = |id: &OpId| {
            let op = self.world.op(*id).unwrap();
            assert!(op.succeeded(), "{op:?}");
            op.end.unwrap().since(op.started).as_secs_f64()
        };
        ops.iter().map(took).fold(0.0, f64::max)
    }
}

/// Fails if the messages for a frozen server take the buffers of the router, or the credits to it, from others.
#[test]
fn a_server_that_stands_still_does_not_stop_what_others_send_to_another() {
    let mut site = Site::new("a server stands still");
    site.world.freeze(SERVER);
    let stuck = site.ask(MANY, CLIENT, server());
    pass(&mut site.world, 0.5);
    let second = site.second_server;
    let of_others = site.ask(MANY, site.second_client, second);
    let of_the_same = site.ask(MANY, CLIENT, second);
    pass(&mut site.world, 40.0);
    let longest = site.longest(&of_others);
    assert!(longest < 0.5, "another client waits {longest} s");
    // The message waits behind its earlier messages, which the router holds until it knows that the server does not read.
    let longest = site.longest(&of_the_same);
    println!("the same client waits {longest} s");
    assert!(longest < 20.0, "the same client waits {longest} s");
    site.world.thaw(SERVER);
    pass(&mut site.world, 60.0);
    site.longest(&stuck);
    finish(site.world);
}

/// The same for messages of servers to a client that does not read, beside those to another one.
#[test]
fn a_client_that_stands_still_does_not_stop_what_two_servers_send_to_another() {
    let mut site = Site::new("a client stands still");
    let (second, second_client) = (site.second_server, site.second_client);
    let gets = |site: &mut Site, client: NodeId| -> Vec<OpId> {
        let from = [server(), second].into_iter().cycle().take(2 * MANY);
        from.filter_map(|from| site.world.start_op(client, from, OpKind::Get)).collect()
    };
    let stuck = gets(&mut site, CLIENT);
    // The servers have received the requests.
    site.world.freeze(CLIENT);
    pass(&mut site.world, 0.5);
    let of_others = gets(&mut site, second_client);
    pass(&mut site.world, 40.0);
    let longest = site.longest(&of_others);
    println!("the other client waits {longest} s");
    assert!(longest < 20.0, "the other client waits {longest} s");
    site.world.thaw(CLIENT);
    pass(&mut site.world, 60.0);
    site.longest(&stuck);
    finish(site.world);
}
