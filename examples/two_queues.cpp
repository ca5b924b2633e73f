// SPDX-License-Identifier: MIT OR Apache-2.0
// Two event queues in C++17, the same as two_queues.c: each works with the other's collector and sender.
//
//   c++ -std=c++17 two_queues.cpp $(pkg-config --cflags --libs lnet) -o two_queues
//   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//   LNET_NETWORKS='tcp(127.0.1.2)' ./two_queues collect &
//   LNET_NETWORKS='tcp(127.0.1.1)' ./two_queues send 127.0.1.2@tcp 1000
//   LNET_NETWORKS='tcp(127.0.1.1)' ./two_queues stop 127.0.1.2@tcp
//
// A queue keeps a fixed number of events; if more come, the oldest are lost. So what must not be lost has a queue of its
// own, which nothing else can fill. `dispatch` over both handles an event of the first one that has any: commands are
// carried out at once, however many readings wait.
//
// The messages here have no payload, only the 64 bits of header data that each PUT carries in its event.
#include "first.h"
#include "lnet.hpp"

#include <deque>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

constexpr unsigned int COMMAND_PORTAL = 13, READING_PORTAL = 14, SENDER_EVENTS = 128;
constexpr __u64 BITS = 1, STOP = 1;

void collect()
{
	__u64 count = 0, sum = 0;
	bool is_stopped = false;
	std::string stopped_by;

	lnet::Node node;
	const auto self = node.address();
	// Few commands come; readings come as fast as the network carries them.
	lnet::EventQueue commands(node, 16);
	lnet::EventQueue readings(node, 4096, lnet::EventQueue::Overflow::IS_COUNTED);
	const auto is_message = [](const lnet_event &event) { return event.type == LNET_EVENT_PUT && event.status == 0; };
	lnet::Buffer command(commands, 0, [&](lnet::Buffer &, const lnet_event &event) {
		if (!is_message(event))
			return;
		is_stopped = event.hdr_data == STOP;
		stopped_by = libcfs_nid2str(event.initiator.nid);
	});
	lnet::Buffer reading(readings, 0, [&](lnet::Buffer &, const lnet_event &event) {
		count += is_message(event);
		sum += is_message(event) ? event.hdr_data : 0;
	});
	command.offer(COMMAND_PORTAL, BITS, LNET_MD_OP_PUT, LNET_MD_THRESH_INF);
	reading.offer(READING_PORTAL, BITS, LNET_MD_OP_PUT, LNET_MD_THRESH_INF);
	std::cout << libcfs_nid2str(self.nid) << " is ready" << std::endl;
	while (!is_stopped)
		lnet::EventQueue::dispatch({ &commands, &readings }, 1s);
	std::cout << "stopped by " << stopped_by << ": " << count << " readings, sum " << sum << ", gaps "
		  << readings.gaps() << std::endl;
}

// Sends the numbers from 1 to count, and waits for their acknowledgements.
void send_numbers(lnet_process_id to, unsigned int portal, __u64 count)
{
	__u64 sent = 0, acknowledged = 0;
	int status = 0;

	lnet::Node node;
	node.address();
	lnet::EventQueue queue(node, SENDER_EVENTS);
	const auto send_next = [&](lnet::Buffer &message) {
		if (sent < count)
			message.put(0, to, portal, BITS, ++sent, LNET_ACK_REQ);
	};
	const auto on_event = [&](lnet::Buffer &, const lnet_event &event) {
		// If nothing matches the message there, no ACK comes, and there is an error after the transaction timeout.
		if (status == 0)
			status = event.type == LNET_EVENT_UNLINK && event.status == 0 ? -ETIMEDOUT : event.status;
		// The event is in the collector's queue, where it waits until the collector looks at it.
		acknowledged += event.type == LNET_EVENT_ACK && event.status == 0;
	};
	// Each PUT has two events, SEND and ACK. No more are under way than have room in the queue.
	std::deque<lnet::Buffer> messages;
	for (unsigned int i = 0; i < SENDER_EVENTS / 2; i++)
		send_next(messages.emplace_back(queue, 0, on_event));
	while (acknowledged < count) {
		queue.dispatch(1s);
		lnet::check(status, "a PUT");
		for (auto &message : messages)
			if (message.is_free())
				send_next(message);
	}
	std::cout << acknowledged << " acknowledged" << std::endl;
}

} // namespace

int main(int argc, char **argv)
{
	const std::vector<std::string_view> words(argv + 1, argv + argc);

	try {
		if (words.size() == 1 && words[0] == "collect")
			return collect(), 0;
		if (words.size() == 3 && words[0] == "send")
			return send_numbers(address_of(argv[2]), READING_PORTAL, std::stoull(argv[3])), 0;
		if (words.size() == 2 && words[0] == "stop")
			return send_numbers(address_of(argv[2]), COMMAND_PORTAL, STOP), 0;
	} catch (const std::exception &error) {
		std::cerr << error.what() << std::endl;
		return 1;
	}
	std::cerr << "usage: two_queues collect | two_queues send NID COUNT | two_queues stop NID" << std::endl;
	return 2;
}
