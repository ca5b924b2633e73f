// SPDX-License-Identifier: MIT OR Apache-2.0
// RAII for LNet in C++17: a node, an event queue, and memory that LNet uses. Errors are exceptions.
#ifndef LNET_HPP
#define LNET_HPP

#include <lnet/api.h>
#include <lnet/lnet.h>

#include <chrono>
#include <exception>
#include <functional>
#include <initializer_list>
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
	// What `dispatch` does when more events have come than the queue keeps: the oldest are lost.
	enum class Overflow { IS_ERROR, IS_COUNTED };

	EventQueue(const Node &, unsigned int events, Overflow overflow = Overflow::IS_ERROR) : overflow_(overflow)
	{
		check(LNetEQAlloc(events, LNET_EQ_HANDLER_NONE, &handle_), "LNetEQAlloc");
	}
	~EventQueue() { LNetEQFree(handle_); }
	EventQueue(const EventQueue &) = delete;
	EventQueue &operator=(const EventQueue &) = delete;

	lnet_handle_eq handle() const { return handle_; }
	// How often events were lost.
	unsigned int gaps() const { return gaps_; }

	// Handles the next event, if one comes in time. Returns whether one came.
	bool dispatch(std::chrono::milliseconds timeout)
	{
		EventQueue *queue = this;
		return dispatch(&handle_, &queue, 1, timeout);
	}
	// The same for the first of these queues that has an event: their order is their priority.
	static bool dispatch(std::initializer_list<EventQueue *> queues, std::chrono::milliseconds timeout)
	{
		std::vector<lnet_handle_eq> handles;
		for (const EventQueue *queue : queues)
			handles.push_back(queue->handle_);
		return dispatch(handles.data(), queues.begin(), static_cast<int>(queues.size()), timeout);
	}

private:
	static inline bool dispatch(lnet_handle_eq *handles, EventQueue *const *queues, int count,
			std::chrono::milliseconds timeout);

	lnet_handle_eq handle_;
	Overflow overflow_;
	unsigned int gaps_ = 0;
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
		// -ENOENT of LNetMDUnlink is no error: the last event is in the queue then, or was lost there.
		try {
			while (!is_free_)
				if (!queue_.dispatch(std::chrono::milliseconds(100)) && LNetMDUnlink(md_) == -ENOENT)
					break;
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
	void receive(unsigned int portal, __u64 match_bits) { offer(portal, match_bits, LNET_MD_OP_PUT, 1); }

	// Lets any node use the memory by messages with these match bits, as `options` say: by as many as `threshold` says.
	void offer(unsigned int portal, __u64 match_bits, unsigned int options, int threshold)
	{
		const lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
		const lnet_md md = describe(memory_.size(), options, threshold);
		lnet_handle_me me;

		check(LNetMEAttach(portal, anyone, match_bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me), "LNetMEAttach");
		const int result = LNetMDAttach(me, md, LNET_UNLINK, &md_);
		if (result < 0)
			LNetMEUnlink(me);
		begin(result, "LNetMDAttach");
		is_offered_ = true;
	}

	// Ends what `offer` began; the last event follows, and has come before if the buffer is free. Does nothing to a message that is
	// being sent.
	void withdraw()
	{
		if (is_offered_)
			LNetMDUnlink(md_);
	}

	// Sends the first bytes of the memory. The last event is SEND, or the later one of SEND and ACK with LNET_ACK_REQ.
	void put(size_t length, lnet_process_id to, unsigned int portal, __u64 match_bits, __u64 hdr_data,
		 lnet_ack_req ack = LNET_NOACK_REQ)
	{
		begin(LNetMDBind(describe(length, 0, ack == LNET_ACK_REQ ? 2 : 1), LNET_UNLINK, &md_), "LNetMDBind");
		check(LNetPut(LNET_NID_ANY, md_, ack, to, portal, match_bits, 0, hdr_data), "LNetPut");
	}

	// Fetches that many bytes, from an offset in memory of another node. The last event is the later one of SEND and REPLY.
	void get(size_t length, lnet_process_id from, unsigned int portal, __u64 match_bits, unsigned int offset)
	{
		begin(LNetMDBind(describe(length, 0, 2), LNET_UNLINK, &md_), "LNetMDBind");
		check(LNetGet(LNET_NID_ANY, md_, from, portal, match_bits, offset), "LNetGet");
	}

private:
	friend class EventQueue;

	lnet_md describe(size_t length, unsigned int options, int threshold)
	{
		lnet_md md = {};
		md.start = memory_.data();
		md.length = static_cast<unsigned int>(length);
		md.threshold = threshold;
		md.options = options;
		md.eq_handle = queue_.handle();
		md.user_ptr = this;
		return md;
	}
	void begin(int result, const char *what)
	{
		check(result, what);
		is_free_ = is_offered_ = false;
	}

	EventQueue &queue_;
	Handler handler_;
	std::vector<char> memory_;
	lnet_handle_md md_ = {};
	bool is_free_ = true;
	bool is_offered_ = false;
};

bool EventQueue::dispatch(lnet_handle_eq *handles, EventQueue *const *queues, int count, std::chrono::milliseconds timeout)
{
	lnet_event event;
	int which;
	const int got = LNetEQPoll(handles, count, timeout.count(), &event, &which);

	if (got == 0)
		return false;
	// The event is valid, but earlier ones of the same queue were lost.
	if (got == -EOVERFLOW && queues[which]->overflow_ == Overflow::IS_COUNTED)
		queues[which]->gaps_++;
	else
		check(got, "LNetEQPoll");
	auto &buffer = *static_cast<Buffer *>(event.md.user_ptr);
	buffer.is_free_ = event.unlinked != 0;
	buffer.is_offered_ = buffer.is_offered_ && !buffer.is_free_;
	if (buffer.handler_)
		buffer.handler_(buffer, event);
	return true;
}

} // namespace lnet

#endif
