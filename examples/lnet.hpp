// SPDX-License-Identifier: MIT OR Apache-2.0
// RAII for LNet in C++17: a node, an event queue, and memory that LNet uses. Errors are exceptions.
#ifndef LNET_HPP
#define LNET_HPP

#include <lnet/api.h>
#include <lnet/lnet.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

namespace lnet {

// Throws if result is an error; every function of LNet returns errors as a negative errno.
inline int check(int result, const char *what)
{
	if (result < 0)
		throw std::system_error(-result, std::generic_category(), what);
	return result;
}

// A reference on the node of this process.
class Node {
public:
	Node() { check(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit"); }
	~Node() { LNetNIFini(); }
	Node(const Node &) = delete;
	Node &operator=(const Node &) = delete;

	// The address of an interface. Interface 0 is the loopback, the first of LNET_NETWORKS is interface 1.
	lnet_process_id address(unsigned int index = 1) const
	{
		lnet_process_id id;
		check(LNetGetId(index, &id), "no network (is LNET_NETWORKS set?)");
		return id;
	}
};

// A queue of events, which `dispatch` takes out one by one and gives to the buffers that they are about.
class EventQueue {
public:
	// `events` is as many as can be there at a time: dispatch throws if some were lost.
	EventQueue(const Node &, unsigned int events)
	{
		check(LNetEQAlloc(events, LNET_EQ_HANDLER_NONE, &handle_), "LNetEQAlloc");
	}
	~EventQueue() { LNetEQFree(handle_); }
	EventQueue(const EventQueue &) = delete;
	EventQueue &operator=(const EventQueue &) = delete;

	lnet_handle_eq handle() const { return handle_; }

	// Handles the next event, if one comes in time. Returns whether one came.
	inline bool dispatch(std::chrono::milliseconds timeout);

private:
	lnet_handle_eq handle_;
};

// Memory for one memory descriptor (MD) at a time. While an MD is there the memory belongs to LNet; `is_free` tells. The
// destructor ends the MD and waits for its last event, so that LNet never accesses memory that is freed.
class Buffer {
public:
	// Called with each event of the buffer, by `dispatch`: it may call LNet, and give the buffer to LNet again.
	using Handler = std::function<void(Buffer &, const lnet_event &)>;

	Buffer(EventQueue &queue, size_t length, Handler handler)
		: queue_(queue), handler_(std::move(handler)), memory_(length)
	{
	}
	~Buffer()
	{
		handler_ = nullptr;
		if (!is_free_)
			LNetMDUnlink(md_);
		// -ENOENT of LNetMDUnlink is no error: the last event is in the queue then.
		try {
			while (!is_free_)
				queue_.dispatch(std::chrono::milliseconds(100));
		} catch (const std::system_error &error) {
			// Without a network no memory is used. If events were lost, nobody knows.
			if (error.code() != std::errc::network_down)
				std::terminate();
		}
	}
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;

	bool is_free() const { return is_free_; }
	// The memory, for a buffer that is free.
	char *data() { return memory_.data(); }

	// Lets any node put one message with these match bits into the memory.
	void receive(unsigned int portal, __u64 match_bits)
	{
		const lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
		lnet_handle_me me;

		check(LNetMEAttach(portal, anyone, match_bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me), "LNetMEAttach");
		const int result = LNetMDAttach(me, describe(memory_.size(), LNET_MD_OP_PUT), LNET_UNLINK, &md_);
		if (result < 0)
			LNetMEUnlink(me);
		begin(result, "LNetMDAttach");
	}

	// Sends the first bytes of the memory.
	void put(size_t length, lnet_process_id to, unsigned int portal, __u64 match_bits, __u64 hdr_data)
	{
		begin(LNetMDBind(describe(length, 0), LNET_UNLINK, &md_), "LNetMDBind");
		check(LNetPut(LNET_NID_ANY, md_, LNET_NOACK_REQ, to, portal, match_bits, 0, hdr_data), "LNetPut");
	}

private:
	friend class EventQueue;

	lnet_md describe(size_t length, unsigned int options)
	{
		lnet_md md = {};
		md.start = memory_.data();
		md.length = static_cast<unsigned int>(length);
		md.threshold = 1;
		md.options = options;
		md.eq_handle = queue_.handle();
		md.user_ptr = this;
		return md;
	}
	void begin(int result, const char *what)
	{
		check(result, what);
		is_free_ = false;
	}

	EventQueue &queue_;
	Handler handler_;
	std::vector<char> memory_;
	lnet_handle_md md_ = {};
	bool is_free_ = true;
};

bool EventQueue::dispatch(std::chrono::milliseconds timeout)
{
	lnet_event event;
	int which;

	if (check(LNetEQPoll(&handle_, 1, timeout.count(), &event, &which), "LNetEQPoll") == 0)
		return false;
	auto &buffer = *static_cast<Buffer *>(event.md.user_ptr);
	buffer.is_free_ = event.unlinked != 0;
	if (buffer.handler_)
		buffer.handler_(buffer, event);
	return true;
}

} // namespace lnet

#endif
