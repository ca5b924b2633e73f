// SPDX-License-Identifier: MIT OR Apache-2.0
// A server in C++17 that survives its clients, and ends cleanly, the same as robust_server.c, which says what it survives.
// request_response is its client:
//
//   c++ -std=c++17 robust_server.cpp $(pkg-config --cflags --libs lnet) -o robust_server
//   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//   LNET_NETWORKS='tcp(127.0.1.2)' ./robust_server &
//   LNET_NETWORKS='tcp(127.0.1.1)' ./request_response ask 127.0.1.2@tcp hello
#include "first.h"
#include "lnet.hpp"

#include <algorithm>
#include <csignal>
#include <deque>
#include <iostream>
#include <string_view>

namespace {

using namespace std::chrono_literals;

constexpr unsigned int SLOTS = 4, EVENTS_OF_A_SLOT = 2;

volatile std::sig_atomic_t is_ended;

void on_signal(int)
{
	is_ended = 1;
}

class Server {
public:
	// Serves until a signal comes. Whatever fails then is an exception: without memory or network whoever starts the server has
	// to know.
	void run()
	{
		const auto self = node_.address();

		// More requests than slots wait on the lazy portal until a slot is free.
		lnet::check(LNetSetLazyPortal(REQUEST_PORTAL), "LNetSetLazyPortal");
		for (unsigned int i = 0; i < SLOTS; i++)
			offer(slots_.emplace_back(queue_, MAX_TEXT, [this](lnet::Buffer &slot, const lnet_event &event) {
				on_event(slot, event);
			}));
		std::cout << libcfs_nid2str(self.nid) << " is ready" << std::endl;
		while (!is_ended)
			queue_.dispatch(POLL);

		// The requests that wait are dropped, and further ones match nothing.
		lnet::check(LNetClearLazyPortal(REQUEST_PORTAL), "LNetClearLazyPortal");
		for (auto &slot : slots_)
			slot.withdraw();
		// A response to a client that is gone ends with an error in the end, and so does this loop.
		while (!std::all_of(slots_.begin(), slots_.end(), [](const auto &slot) { return slot.is_free(); }))
			queue_.dispatch(POLL);
		std::cout << "served " << served_ << ", bad " << bad_ << ", not delivered " << not_delivered_
			  << "; all memory is back" << std::endl;
	}

private:
	static constexpr auto POLL = 100ms;

	static void offer(lnet::Buffer &slot)
	{
		// Also what is too long is delivered, so that its sender gets a response.
		slot.offer(REQUEST_PORTAL, REQUEST_BITS, LNET_MD_OP_PUT | LNET_MD_TRUNCATE, 1);
	}

	void on_event(lnet::Buffer &slot, const lnet_event &event)
	{
		// The client is gone. No ACK is asked for, which would keep the slot.
		if (event.type == LNET_EVENT_SEND && event.status != 0)
			not_delivered_++;
		if (!slot.is_free())
			return;
		// A message that breaks off has a status; its slot is free again.
		if (event.type == LNET_EVENT_PUT && event.status == 0) {
			if (event.hdr_data != 0)
				return respond(slot, event);
			bad_++;
		}
		if (!is_ended)
			offer(slot);
	}

	void respond(lnet::Buffer &slot, const lnet_event &request)
	{
		const std::string_view error = request.mlength == 0		     ? "error: empty request"
					       : request.rlength > request.mlength ? "error: too long"
										     : "";
		size_t length = request.mlength;

		if (error.empty()) {
			served_++;
			serve_text(slot.data(), request.mlength);
		} else {
			bad_++;
			length = error.copy(slot.data(), MAX_TEXT);
		}
		slot.put(length, request.source, RESPONSE_PORTAL, request.hdr_data, 0);
	}

	lnet::Node node_;
	// It has room for all events that the slots can have.
	lnet::EventQueue queue_{ node_, SLOTS * EVENTS_OF_A_SLOT };
	unsigned int served_ = 0, bad_ = 0, not_delivered_ = 0;
	std::deque<lnet::Buffer> slots_;
};

} // namespace

int main()
{
	struct sigaction action = {};
	action.sa_handler = on_signal;
	sigaction(SIGTERM, &action, nullptr);
	sigaction(SIGINT, &action, nullptr);
	try {
		Server().run();
		return 0;
	} catch (const std::exception &error) {
		std::cerr << error.what() << std::endl;
		return 1;
	}
}
