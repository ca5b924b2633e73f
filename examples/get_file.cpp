// SPDX-License-Identifier: MIT OR Apache-2.0
// A file over GET in C++17, the same as get_file.c: each works with the other's server and client.
//
//   c++ -std=c++17 get_file.cpp $(pkg-config --cflags --libs lnet) -o get_file
//   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//   LNET_NETWORKS='tcp(127.0.1.2)' ./get_file serve /etc/services &
//   LNET_NETWORKS='tcp(127.0.1.1)' ./get_file fetch 127.0.1.2@tcp copy
//
// The offset of a GET has 32 bits, so a file is served as windows, each a buffer with match bits of its own. Within a
// window the client chooses the offset, which LNET_MD_MANAGE_REMOTE allows.
#include "first.h"
#include "lnet.hpp"

#include <algorithm>
#include <deque>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

constexpr unsigned int FILE_PORTAL = 12;
constexpr __u64 WINDOW = 256 << 20;
// A message carries LNET_MTU bytes at most, 1 MiB. Several are under way at a time, so that the network is never idle.
constexpr __u64 PIECE = LNET_MTU;
constexpr int PIECES_AT_A_TIME = 8;
// The match bits of the size of the file, which is a text: the nodes may have different byte orders. Those of a window are its number.
constexpr __u64 SIZE_BITS = 1ULL << 63;
constexpr int SIZE_DIGITS = 20;

// Throws if a file cannot be used as it should.
void check_file(bool is_right, const char *path)
{
	lnet::check(is_right ? 0 : -errno, path);
}

[[noreturn]] void serve(const char *path)
{
	constexpr unsigned int OPTIONS = LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE;
	std::ifstream file(path, std::ios::binary | std::ios::ate);
	check_file(file.is_open(), path);
	const auto size = static_cast<__u64>(file.tellg());
	file.seekg(0);

	lnet::Node node;
	// LNet sends the data by itself, and nobody misses an event of a GET.
	lnet::EventQueue queue(node, 64, lnet::EventQueue::Overflow::IS_COUNTED);
	std::deque<lnet::Buffer> windows;
	for (__u64 offset = 0; offset < size; offset += WINDOW) {
		const auto length = std::min(size - offset, WINDOW);
		auto &window = windows.emplace_back(queue, length, nullptr);
		check_file(bool(file.read(window.data(), static_cast<std::streamsize>(length))), path);
		window.offer(FILE_PORTAL, offset / WINDOW, OPTIONS, LNET_MD_THRESH_INF);
	}
	std::ostringstream digits;
	digits << std::setw(SIZE_DIGITS) << std::setfill('0') << size;
	lnet::Buffer size_text(queue, SIZE_DIGITS, nullptr);
	digits.str().copy(size_text.data(), SIZE_DIGITS);
	size_text.offer(FILE_PORTAL, SIZE_BITS, OPTIONS, LNET_MD_THRESH_INF);
	std::cout << libcfs_nid2str(node.address().nid) << " serves " << path << std::endl;
	for (;;)
		queue.dispatch(1s);
}

// A file that is being fetched. Handlers do not throw: destructors of buffers dispatch events, too.
class Fetch {
public:
	Fetch(lnet_process_id server, const char *path) : server_(server), path_(path), copy_(path, std::ios::binary)
	{
		check_file(copy_.is_open(), path);
	}

	// Fetches the file; returns its size.
	__u64 run()
	{
		node_.address();
		lnet::Buffer size_text(queue_, SIZE_DIGITS, [this](lnet::Buffer &, const lnet_event &event) { note(event); });
		size_text.get(SIZE_DIGITS, server_, FILE_PORTAL, SIZE_BITS, 0);
		while (!size_text.is_free())
			dispatch();
		size_ = std::stoull(std::string(size_text.data(), SIZE_DIGITS));
		for (int i = 0; i < PIECES_AT_A_TIME; i++)
			request_next(pieces_.emplace_back(*this));
		while (written_ < size_)
			dispatch();
		copy_.close();
		check_file(!copy_.fail(), path_);
		return written_;
	}

private:
	// Memory for one piece, and where in the file it belongs.
	struct Piece {
		explicit Piece(Fetch &fetch)
			: buffer(fetch.queue_, PIECE, [this, &fetch](lnet::Buffer &, const lnet_event &event) {
				  fetch.on_event(*this, event);
			  })
		{
		}

		lnet::Buffer buffer;
		__u64 offset = 0;
		__u64 length = 0;
	};

	// If nothing at the server matches a GET, there is an error after the transaction timeout.
	void note(const lnet_event &event) { status_ = status_ != 0 ? status_ : event.status; }

	void on_event(Piece &piece, const lnet_event &event)
	{
		note(event);
		piece.length = event.type == LNET_EVENT_REPLY ? event.mlength : piece.length;
		if (!piece.buffer.is_free() || status_ != 0)
			return;
		copy_.seekp(static_cast<std::streamoff>(piece.offset));
		copy_.write(piece.buffer.data(), static_cast<std::streamsize>(piece.length));
		written_ += piece.length;
		idle_.push_back(&piece);
	}

	// Requests the next piece of the file, if one is left.
	void request_next(Piece &piece)
	{
		const auto length = std::min(size_ - requested_, PIECE);

		piece.offset = requested_;
		requested_ += length;
		if (length > 0)
			piece.buffer.get(length, server_, FILE_PORTAL, piece.offset / WINDOW,
					 static_cast<unsigned int>(piece.offset % WINDOW));
	}

	void dispatch()
	{
		queue_.dispatch(1s);
		lnet::check(status_, "the GET");
		for (Piece *piece : idle_)
			request_next(*piece);
		idle_.clear();
	}

	lnet_process_id server_;
	const char *path_;
	std::ofstream copy_;
	lnet::Node node_;
	lnet::EventQueue queue_{ node_, 4 * PIECES_AT_A_TIME };
	__u64 size_ = 0, requested_ = 0, written_ = 0;
	int status_ = 0;
	std::vector<Piece *> idle_;
	std::deque<Piece> pieces_;
};

void fetch(const char *nid, const char *path)
{
	const auto size = Fetch(address_of(nid), path).run();

	std::cout << "fetched " << size << " bytes" << std::endl;
}

} // namespace

int main(int argc, char **argv)
{
	const std::vector<std::string_view> words(argv + 1, argv + argc);

	try {
		if (words.size() == 2 && words[0] == "serve")
			serve(argv[2]);
		if (words.size() == 3 && words[0] == "fetch")
			return fetch(argv[2], argv[3]), 0;
	} catch (const std::exception &error) {
		std::cerr << error.what() << std::endl;
		return 1;
	}
	std::cerr << "usage: get_file serve FILE | get_file fetch NID COPY" << std::endl;
	return 2;
}
