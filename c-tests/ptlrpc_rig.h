/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A service for tests, and helpers for its client; for ptlrpc_loopback.c. */
#ifndef PTLRPC_RIG_H
#define PTLRPC_RIG_H

#include "check.h"
#include <ptlrpc/ptlrpc.h>
#include <stdbool.h>

#define MIB (1 << 20)

enum opcode {
	ECHO = PTLRPC_OWN_OPCODES,
	/* Replies with the buffer of the request. */
	STATUS,
	/* The service transfers the number of bytes that the request contains. */
	READ,
	WRITE,
	/* The service counts these requests; the reply contains the count. */
	COUNT,
	/* The service does not reply the first time. */
	AGAIN,
	/* The service replies when the test permits it. */
	HELD,
	/* The service sends a difficult reply. */
	DIFFICULT,
	/* An opcode that the service does not support. */
	UNKNOWN,
};

static const char *const targets[] = { "kv-OST0000", "kv-OST0001" };
static const char *const servers[] = { "0@lo" };

static char ours[2 * MIB], theirs[2 * MIB];

/* ---- the service ---- */

static struct ptlrpc_service *service;
static int counted, again;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int arrived, allowed;
static int done_calls, done_why;

static void tell(int *what, int value)
{
	pthread_mutex_lock(&lock);
	*what = value;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void await(const int *what, int value)
{
	pthread_mutex_lock(&lock);
	while (*what != value)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void fill(char *memory, size_t length, unsigned int seed)
{
	for (size_t i = 0; i < length; i++)
		memory[i] = (char)(i * 31 + i / 251 + seed);
}

static bool is_filled(const char *memory, size_t length, unsigned int seed)
{
	for (size_t i = 0; i < length; i++)
		if (memory[i] != (char)(i * 31 + i / 251 + seed))
			return false;
	return true;
}

static void on_done(void *arg, int why)
{
	pthread_mutex_lock(&lock);
	CHECK(arg == &done_calls);
	done_calls++;
	done_why = why;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static __u32 number(const struct ptlrpc_svc_req *req, __u32 index)
{
	__u32 len, value = 0;
	const void *buffer = ptlrpc_svc_buf(req, index, &len);

	if (buffer != NULL && len == sizeof(value))
		memcpy(&value, buffer, sizeof(value));
	return value;
}

/* Checks the fields of a request that a handler can read. */
static void look(struct ptlrpc_svc_req *req)
{
	struct lnet_process_id peer, source;
	char name[PTLRPC_NAME_SIZE];
	lnet_nid_t self;

	CHECK_EQ(ptlrpc_svc_peer(req, &peer), 0);
	CHECK_EQ(ptlrpc_svc_source(req, &source), 0);
	CHECK_EQ(ptlrpc_svc_self(req, &self), 0);
	CHECK_STR(libcfs_nid2str(peer.nid), "0@lo");
	CHECK_EQ(peer.pid, LNET_PID_LUSTRE);
	CHECK_EQ(source.nid, peer.nid);
	CHECK_EQ(self, peer.nid);
	CHECK_EQ(ptlrpc_svc_client(req, name), 0);
	CHECK_STR(name, "client-1");
	CHECK_EQ(ptlrpc_svc_target(req, name), 0);
	CHECK_STR(name, targets[0]);
	CHECK(ptlrpc_svc_xid(req) != 0);
	CHECK_EQ(ptlrpc_svc_xid(req) % 64, 0);
	CHECK_EQ(ptlrpc_svc_is_swabbed(req), 0);
	CHECK(ptlrpc_svc_time_left(req) > 0);
	CHECK(ptlrpc_svc_buf(req, 0, NULL) == NULL);
	CHECK(ptlrpc_svc_rep_buf(req, 1) == NULL);
	CHECK_EQ(ptlrpc_svc_peer(req, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_rep_difficult(req, 0, NULL, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_bulk_put(req, NULL, 1), -EINVAL);
	CHECK_EQ(ptlrpc_unregister_service(service), -EBUSY);
}

static int echo(struct ptlrpc_svc_req *req)
{
	__u32 lens[PTLRPC_MAX_BUFFERS], count = 0;

	look(req);
	while (count < PTLRPC_MAX_BUFFERS && ptlrpc_svc_buf(req, count + 1, &lens[count]) != NULL)
		count++;
	CHECK_EQ(ptlrpc_rep_pack(req, count, lens), 0);
	for (__u32 i = 1; i <= count; i++)
		memcpy(ptlrpc_svc_rep_buf(req, i), ptlrpc_svc_buf(req, i, NULL), lens[i - 1]);
	CHECK(ptlrpc_svc_rep_buf(req, count + 1) == NULL);
	return 0;
}

static int handle(struct ptlrpc_svc_req *req, void *arg)
{
	static char memory[2 * MIB];
	__u32 len, four = 4;
	int rc, count;

	CHECK(arg == targets);
	switch (ptlrpc_svc_opcode(req)) {
	case ECHO:
		return echo(req);
	case STATUS:
		return (int)number(req, 1);
	case READ:
		len = number(req, 1);
		fill(memory, len, 7);
		return ptlrpc_bulk_put(req, memory, len);
	case WRITE:
		len = number(req, 1);
		rc = ptlrpc_bulk_get(req, memory, len);
		return rc != 0 ? rc : is_filled(memory, len, 9) ? 0 : -EILSEQ;
	case COUNT:
		count = __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
		CHECK_EQ(ptlrpc_rep_pack(req, 1, &four), 0);
		memcpy(ptlrpc_svc_rep_buf(req, 1), &count, 4);
		CHECK_EQ(ptlrpc_svc_set_transno(req, 77), 0);
		return 0;
	case AGAIN:
		count = __atomic_add_fetch(&again, 1, __ATOMIC_RELAXED);
		CHECK_EQ(ptlrpc_svc_is_resent(req), count > 1);
		return count > 1 ? 0 : PTLRPC_NO_REPLY;
	case HELD:
		pthread_mutex_lock(&lock);
		arrived++;
		pthread_cond_broadcast(&changed);
		while (allowed == 0)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		return 0;
	case DIFFICULT:
		CHECK_EQ(ptlrpc_rep_difficult(req, number(req, 1), on_done, &done_calls), 0);
		CHECK_EQ(ptlrpc_rep_difficult(req, 1, on_done, &done_calls), -EEXIST);
		return 0;
	}
	return -EOPNOTSUPP;
}

static void serve(__u32 stop_timeout)
{
	static const __u32 opcodes[] = { ECHO, STATUS, READ, WRITE, COUNT, AGAIN, HELD, DIFFICULT };
	struct ptlrpc_service_conf conf;

	memset(&conf, 0, sizeof(conf));
	conf.name = "kv";
	conf.targets = targets;
	conf.target_count = 1;
	conf.opcodes = opcodes;
	conf.opcode_count = LENGTH(opcodes);
	conf.buffers = 4;
	conf.stop_timeout = stop_timeout;
	/* A short timeout: requests without a reply are resent soon. */
	conf.flags = PTLRPC_NO_EARLY_REPLIES;
	CHECK_EQ(ptlrpc_register_service(&conf, handle, (void *)targets, &service), 0);
}

/* ---- the client ---- */

static struct ptlrpc_import_conf import_conf(void)
{
	struct ptlrpc_import_conf conf;

	memset(&conf, 0, sizeof(conf));
	conf.target = targets[0];
	conf.client_uuid = "client-1";
	conf.servers = servers;
	conf.server_count = 1;
	return conf;
}

static struct obd_import *connected(void)
{
	struct ptlrpc_import_conf conf = import_conf();
	struct obd_import *imp;

	CHECK_EQ(ptlrpc_import_new(&conf, &imp), 0);
	CHECK_EQ(ptlrpc_import_state(imp), PTLRPC_IMP_NEW);
	CHECK_EQ(ptlrpc_connect_import(imp, -1), 0);
	CHECK_EQ(ptlrpc_import_state(imp), PTLRPC_IMP_FULL);
	return imp;
}

/* A request of one number. */
static struct ptlrpc_request *ask(struct obd_import *imp, __u32 opcode, __u32 value)
{
	__u32 len = sizeof(value);
	struct ptlrpc_request *req = ptlrpc_request_alloc(imp, opcode, 1, &len);

	memcpy(ptlrpc_req_buf(req, 1), &value, sizeof(value));
	return req;
}

static int answer(struct ptlrpc_request *req)
{
	int rc = ptlrpc_queue_wait(req);

	CHECK_EQ(ptlrpc_req_status(req), rc);
	ptlrpc_req_finished(req);
	return rc;
}

#endif
