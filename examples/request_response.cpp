// SPDX-License-Identifier: MIT OR Apache-2.0
// Request and response in C++17, the same as request_response.c: each works with the other's server and client.
//
//   c++ -std=c++17 request_response.cpp $(pkg-config --cflags --libs lnet) -o request_response
//   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//   LNET_NETWORKS='tcp(127.0.1.2)' ./request_response serve &
//   LNET_NETWORKS='tcp(127.0.1.1)' ./request_response ask 127.0.1.2@tcp hello
//
// Events are fetched from a queue and given to handlers of the buffers that they are about. Unlike the handlers of a
// queue (lnet_eq_handler_t) these run in the thread of the program, and may call LNet.
#include "first.h"
#include "lnet.hpp"

#include <deque>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

// Serves requests until an error ends it.
[[noreturn]] void serve()
{
	lnet::Node node;
	lnet::EventQueue queue(node, 64);
	std::deque<lnet::Buffer> slots;

	// A slot receives a request, then sends the response from the same memory, then receives the next request.
	const auto on_event = [](lnet::Buffer &slot, const lnet_event &event) {
		if (!slot.is_free())
			return;
		if (event.type == LNET_EVENT_PUT && event.status == 0 && event.hdr_data != 0) {
			serve_text(slot.data(), event.mlength);
			slot.put(event.mlength, event.source, RESPONSE_PORTAL, event.hdr_data, 0);
		} else {
			slot.receive(REQUEST_PORTAL, REQUEST_BITS);
		}
	};
	// Requests that come while all slots are in use wait.
	lnet::check(LNetSetLazyPortal(REQUEST_PORTAL), "LNetSetLazyPortal");
	for (int i = 0; i < 8; i++)
		slots.emplace_back(queue, MAX_TEXT, on_event).receive(REQUEST_PORTAL, REQUEST_BITS);
	std::cout << libcfs_nid2str(node.address().nid) << " is ready" << std::endl;
	for (;;)
		queue.dispatch(1s);
}

void ask(const char *nid, std::string_view text)
{
	lnet::Node node;
	lnet::EventQueue queue(node, 16);
	std::string response;
	int status = 0;
	bool is_done = false;

	node.address();
	lnet::Buffer received(queue, MAX_TEXT, [&](lnet::Buffer &buffer, const lnet_event &event) {
		is_done = true;
		status = event.status;
		response.assign(buffer.data(), event.mlength);
	});
	lnet::Buffer request(queue, text.size(), [&](lnet::Buffer &, const lnet_event &event) {
		// A request that was not sent has no response.
		is_done = is_done || event.status != 0;
		status = event.status != 0 ? event.status : status;
	});
	// Different for each request, so that a late response to another one matches nothing.
	const auto bits = static_cast<__u64>(std::chrono::system_clock::now().time_since_epoch().count());
	received.receive(RESPONSE_PORTAL, bits);
	text.copy(request.data(), text.size());
	request.put(text.size(), address_of(nid), REQUEST_PORTAL, REQUEST_BITS, bits);

	const auto deadline = std::chrono::steady_clock::now() + 20s;
	while (!is_done) {
		queue.dispatch(100ms);
		lnet::check(std::chrono::steady_clock::now() < deadline ? 0 : -ETIMEDOUT, "no response");
	}
	lnet::check(status, "no response");
	std::cout << response << std::endl;
	// The buffers' destructors take their memory back from LNet, then the queue and the node end.
}

} // namespace

int main(int argc, char **argv)
{
	const std::vector<std::string_view> words(argv + 1, argv + argc);

	try {
		if (words.size() == 1 && words[0] == "serve")
			serve();
		if (words.size() == 3 && words[0] == "ask")
			return ask(argv[2], words[2]), 0;
	} catch (const std::exception &error) {
		std::cerr << error.what() << std::endl;
		return 1;
	}
	std::cerr << "usage: request_response serve | request_response ask NID TEXT" << std::endl;
	return 2;
}
