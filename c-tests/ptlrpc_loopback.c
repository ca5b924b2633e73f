/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the behaviour that <ptlrpc/ptlrpc.h> documents, with a client and a service in one process over 0@lo. */
#include "ptlrpc_rig.h"

static void connections(struct obd_import *imp)
{
	struct lnet_process_id peer;
	lnet_nid_t self;
	__u32 count;

	CHECK(ptlrpc_import_handle(imp, &count) != 0);
	CHECK_EQ(count, 1);
	CHECK_EQ(ptlrpc_import_peer(imp, &peer), 0);
	CHECK_STR(libcfs_nid2str(peer.nid), "0@lo");
	CHECK_EQ(ptlrpc_obd_ping(imp), 0);
	CHECK_EQ(ptlrpc_connect_import(imp, 0), 0);

	CHECK_EQ(ptlrpc_uuid_to_peer("kv-server", &peer, &self), -ENOENT);
	CHECK_EQ(class_add_uuid("kv-server", libcfs_str2nid("0@lo")), 0);
	CHECK_EQ(ptlrpc_uuid_to_peer("kv-server", &peer, &self), 0);
	CHECK_STR(libcfs_nid2str(peer.nid), "0@lo");
	CHECK_STR(libcfs_nid2str(self), "0@lo");
	CHECK_EQ(class_del_uuid("kv-server"), 0);
	CHECK_EQ(class_del_uuid("kv-server"), -ENOENT);
}

static void echoes(struct obd_import *imp)
{
	static const __u32 shapes[][4] = { { 0 }, { 1, 1 }, { 3, 0, 5, 4096 }, { 1, 8000 } };

	for (size_t i = 0; i < LENGTH(shapes); i++) {
		const __u32 count = shapes[i][0], *lens = &shapes[i][1];
		struct ptlrpc_request *req = ptlrpc_request_alloc(imp, ECHO, count, lens);
		__u32 len;

		for (__u32 n = 1; n <= count; n++)
			fill(ptlrpc_req_buf(req, n), lens[n - 1], n);
		CHECK_EQ(ptlrpc_req_set_repsize(req, count, lens), 0);
		CHECK_EQ(ptlrpc_req_status(req), -EINPROGRESS);
		CHECK_EQ(ptlrpc_queue_wait(req), 0);
		for (__u32 n = 1; n <= count; n++) {
			const void *buffer = ptlrpc_rep_buf(req, n, &len);

			CHECK_EQ(len, lens[n - 1]);
			CHECK(buffer != NULL && is_filled(buffer, len, n));
		}
		CHECK(ptlrpc_rep_buf(req, 0, NULL) == NULL);
		CHECK(ptlrpc_rep_buf(req, count + 1, NULL) == NULL);
		CHECK_EQ(ptlrpc_rep_is_swabbed(req), 0);
		ptlrpc_req_finished(req);
	}
}

static void statuses(struct obd_import *imp)
{
	CHECK_EQ(answer(ask(imp, STATUS, (__u32)-EDQUOT)), -EDQUOT);
	CHECK_EQ(answer(ask(imp, STATUS, 5)), 5);
	CHECK_EQ(answer(ask(imp, UNKNOWN, 5)), -EOPNOTSUPP);
}

/* A request with a reply longer than expected is resent, or fails. */
static void reply_too_long(struct obd_import *imp)
{
	const __u32 len = 4000;
	struct ptlrpc_request *req = ptlrpc_request_alloc(imp, ECHO, 1, &len);

	CHECK_EQ(ptlrpc_queue_wait(req), 0);
	CHECK(ptlrpc_rep_buf(req, 1, NULL) != NULL);
	ptlrpc_req_finished(req);
	req = ptlrpc_request_alloc(imp, ECHO, 1, &len);
	CHECK_EQ(ptlrpc_req_set_flags(req, PTLRPC_NO_RESEND), 0);
	CHECK_EQ(answer(req), -EOVERFLOW);
}

static void bulk(struct obd_import *imp)
{
	static const __u32 lengths[] = { 1, 4096, MIB, MIB + 1 };

	for (size_t i = 0; i < LENGTH(lengths); i++) {
		struct ptlrpc_request *req = ask(imp, READ, lengths[i]);

		memset(ours, 0, sizeof(ours));
		CHECK_EQ(ptlrpc_req_set_bulk(req, ours, lengths[i], PTLRPC_FROM_SERVICE), 0);
		CHECK_EQ(ptlrpc_queue_wait(req), 0);
		CHECK_EQ(ptlrpc_req_bulk_bytes(req), lengths[i]);
		CHECK(is_filled(ours, lengths[i], 7));
		CHECK_EQ(ours[lengths[i]], 0);
		ptlrpc_req_finished(req);

		fill(ours, lengths[i], 9);
		req = ask(imp, WRITE, lengths[i]);
		CHECK_EQ(ptlrpc_req_set_bulk(req, ours, lengths[i], PTLRPC_TO_SERVICE), 0);
		CHECK_EQ(ptlrpc_queue_wait(req), 0);
		CHECK_EQ(ptlrpc_req_bulk_bytes(req), lengths[i]);
		ptlrpc_req_finished(req);
	}
}

/* A reply ends a request whose memory the service did not use. */
static void bulk_unused(struct obd_import *imp)
{
	static const __u32 ways[] = { PTLRPC_FROM_SERVICE, PTLRPC_TO_SERVICE };

	for (size_t i = 0; i < LENGTH(ways); i++) {
		struct ptlrpc_request *req = ask(imp, STATUS, 0);

		CHECK_EQ(ptlrpc_req_set_bulk(req, ours, 2 * MIB, ways[i]), 0);
		CHECK_EQ(ptlrpc_queue_wait(req), 0);
		CHECK_EQ(ptlrpc_req_bulk_bytes(req), 0);
		ptlrpc_req_finished(req);
	}
}

/* A request with less memory than the service transfers gets no reply. */
static void bulk_with_too_little(struct obd_import *imp)
{
	struct ptlrpc_request *req = ask(imp, READ, 3 * MIB / 2);

	CHECK_EQ(ptlrpc_req_set_bulk(req, ours, 10, PTLRPC_FROM_SERVICE), 0);
	CHECK_EQ(ptlrpc_req_set_flags(req, PTLRPC_NO_RESEND), 0);
	CHECK_EQ(ptlrpc_req_set_timeout(req, 300), 0);
	CHECK_EQ(answer(req), -ETIMEDOUT);
	CHECK_EQ(ptlrpc_connect_import(imp, -1), 0);
}

static void once(struct obd_import *imp)
{
	struct ptlrpc_request *req;
	__u32 count, room = sizeof(count);

	req = ptlrpc_request_alloc(imp, COUNT, 0, NULL);
	CHECK_EQ(ptlrpc_req_set_flags(req, PTLRPC_AT_MOST_ONCE), 0);
	CHECK_EQ(ptlrpc_req_set_repsize(req, 1, &room), 0);
	CHECK_EQ(ptlrpc_queue_wait(req), 0);
	memcpy(&count, ptlrpc_rep_buf(req, 1, NULL), sizeof(count));
	CHECK_EQ(count, 1);
	CHECK_EQ(ptlrpc_req_transno(req), 77);
	ptlrpc_req_finished(req);

	/* The reply does not fit the first time: the reply is resent, but the request is not executed again. */
	req = ptlrpc_request_alloc(imp, COUNT, 0, NULL);
	CHECK_EQ(ptlrpc_req_set_flags(req, PTLRPC_AT_MOST_ONCE), 0);
	CHECK_EQ(ptlrpc_queue_wait(req), 0);
	memcpy(&count, ptlrpc_rep_buf(req, 1, NULL), sizeof(count));
	CHECK_EQ(count, 2);
	CHECK_EQ(counted, 2);
	ptlrpc_req_finished(req);
}

/* A request without a reply is resent, unless that is forbidden. */
static void unanswered(struct obd_import *imp)
{
	struct ptlrpc_request *req = ask(imp, AGAIN, 0);

	again = 0;
	CHECK_EQ(ptlrpc_req_set_timeout(req, 300), 0);
	CHECK_EQ(answer(req), 0);
	CHECK_EQ(again, 2);

	req = ask(imp, AGAIN, 0);
	again = 0;
	CHECK_EQ(ptlrpc_req_set_timeout(req, 300), 0);
	CHECK_EQ(ptlrpc_req_set_flags(req, PTLRPC_NO_RESEND), 0);
	CHECK_EQ(answer(req), -ETIMEDOUT);
	CHECK_EQ(again, 1);
	CHECK_EQ(ptlrpc_connect_import(imp, -1), 0);
}

/* ---- sets ---- */

struct told {
	struct ptlrpc_request_set *set;
	struct obd_import *imp;
	int calls, sum, more;
};

static int interpret(struct ptlrpc_request *req, void *arg, int rc)
{
	struct told *told = arg;

	CHECK_EQ(ptlrpc_req_status(req), rc);
	told->calls++;
	told->sum += rc;
	/* Adds another request while the set is waited for. */
	if (told->more-- > 0) {
		struct ptlrpc_request *next = ask(told->imp, STATUS, 100);

		CHECK_EQ(ptlrpc_req_set_interpret(next, interpret, told), 0);
		CHECK_EQ(ptlrpc_set_add_req(told->set, next), 0);
	}
	return rc == 3 ? -EXDEV : rc;
}

static void sets(struct obd_import *imp)
{
	struct told told = { ptlrpc_prep_set(), imp, 0, 0, 2 };
	struct ptlrpc_request_set *set = told.set;
	struct ptlrpc_request *req;
	int failed = 0;

	CHECK_EQ(ptlrpc_set_wait(set), 0);
	CHECK_EQ(ptlrpc_set_wait_any(set, -1), 0);
	CHECK_EQ(ptlrpc_check_set(set), 0);
	CHECK(ptlrpc_set_next(set) == NULL);
	for (__u32 i = 1; i <= 10; i++) {
		req = ask(imp, STATUS, i);
		CHECK_EQ(ptlrpc_req_set_interpret(req, interpret, &told), 0);
		CHECK_EQ(ptlrpc_set_add_req(set, req), 0);
		CHECK_EQ(ptlrpc_set_add_req(set, req), -EBUSY);
		CHECK_EQ(ptlrpc_queue_wait(req), -EBUSY);
		CHECK_EQ(ptlrpc_req_set_flags(req, 0), -EBUSY);
		CHECK(ptlrpc_req_buf(req, 1) == NULL);
	}
	CHECK_EQ(ptlrpc_set_wait(set), -EXDEV);
	CHECK_EQ(ptlrpc_set_wait(set), 0);
	CHECK_EQ(told.calls, 12);
	CHECK_EQ(told.sum, 255);
	CHECK_EQ(ptlrpc_set_wait_any(set, 0), 12);
	for (int i = 0; i < 12; i++) {
		req = ptlrpc_set_next(set);
		failed += ptlrpc_req_status(req) == -EXDEV;
		ptlrpc_req_finished(req);
	}
	CHECK_EQ(failed, 1);
	CHECK(ptlrpc_set_next(set) == NULL);
	ptlrpc_set_destroy(set);
}

/* Requests of a set: waiting for one, reading its status, removing it, aborting it. */
static void held(struct obd_import *imp)
{
	struct ptlrpc_request_set *set = ptlrpc_prep_set();
	struct ptlrpc_request *first = ask(imp, HELD, 0), *second = ask(imp, HELD, 0);

	arrived = allowed = 0;
	CHECK_EQ(ptlrpc_set_add_req(set, first), 0);
	CHECK_EQ(ptlrpc_set_add_req(set, second), 0);
	await(&arrived, 2);
	CHECK_EQ(ptlrpc_set_wait_any(set, 10), 0);
	CHECK_EQ(ptlrpc_check_set(set), 2);
	ptlrpc_req_finished(second);
	CHECK_EQ(ptlrpc_check_set(set), 1);
	tell(&allowed, 1);
	CHECK_EQ(ptlrpc_set_wait_any(set, -1), 1);
	CHECK_EQ(ptlrpc_req_status(first), 0);
	CHECK(ptlrpc_set_next(set) == first);
	ptlrpc_req_finished(first);

	/* Destroying a set aborts its requests. */
	arrived = allowed = 0;
	CHECK_EQ(ptlrpc_set_add_req(set, ask(imp, HELD, 0)), 0);
	CHECK_EQ(ptlrpc_set_add_req(set, ask(imp, STATUS, 0)), 0);
	await(&arrived, 1);
	ptlrpc_set_destroy(set);
	tell(&allowed, 1);
}

/* ---- difficult replies ---- */

static void difficult(struct obd_import *imp)
{
	done_calls = 0;
	CHECK_EQ(answer(ask(imp, DIFFICULT, 5)), 0);
	await(&done_calls, 1);
	CHECK(done_why == PTLRPC_REPLY_ACKED);
	CHECK_EQ(ptlrpc_commit(service, targets[0], 5), 0);
	CHECK_EQ(ptlrpc_commit(service, targets[1], 5), -ENOENT);
}

static void shared_targets(struct obd_import *imp)
{
	struct ptlrpc_service_conf conf;
	struct ptlrpc_service *other;
	struct ptlrpc_request *req;

	memset(&conf, 0, sizeof(conf));
	conf.same_targets_as = service;
	conf.request_portal = 6;
	CHECK_EQ(ptlrpc_register_service(&conf, handle, (void *)targets, &other), 0);
	req = ask(imp, STATUS, 8);
	CHECK_EQ(ptlrpc_req_set_portal(req, 6), 0);
	CHECK_EQ(answer(req), 8);
	CHECK_EQ(ptlrpc_unregister_service(other), 0);
}

static void counts(struct obd_import *imp)
{
	struct ptlrpc_service_counts now;

	(void)imp;
	CHECK_EQ(ptlrpc_service_counts(service, &now), 0);
	CHECK(now.arrived > 30 && now.served > 30 && now.buffers_posted >= 4);
	CHECK_EQ(now.refused, 1);
	CHECK(now.answered_again >= 1);
	CHECK_EQ(now.connected, 1);
	CHECK_EQ(ptlrpc_service_counts(service, NULL), -EINVAL);
}

static void eviction(struct obd_import *imp)
{
	__u32 before, after;

	ptlrpc_import_handle(imp, &before);
	CHECK_EQ(ptlrpc_evict_client(service, "client-2"), 0);
	CHECK_EQ(ptlrpc_evict_client(service, "client-1"), 1);
	CHECK_EQ(answer(ask(imp, STATUS, 3)), 3);
	ptlrpc_import_handle(imp, &after);
	CHECK_EQ(after, before + 1);
}

/* ---- invalid arguments ---- */

static void wrong_imports(void)
{
	static const char *const bad[] = { "" };
	struct ptlrpc_import_conf conf = import_conf();
	struct obd_import *imp;

#define REFUSED(what)                                          \
	do {                                                   \
		conf = import_conf();                          \
		what;                                          \
		imp = (struct obd_import *)&conf;              \
		CHECK_EQ(ptlrpc_import_new(&conf, &imp), -EINVAL); \
		CHECK(imp == NULL);                            \
	} while (0)
	REFUSED(conf.target = NULL);
	REFUSED(conf.target = "");
	REFUSED(conf.target = "a name of more than thirty-eight bytes!");
	REFUSED(conf.target = "\xff");
	REFUSED(conf.client_uuid = NULL);
	REFUSED(conf.server_count = 0);
	REFUSED(conf.server_count = 65);
	REFUSED(conf.servers = NULL);
	REFUSED(conf.kind = 3);
	REFUSED(conf.request_portal = 4);
	REFUSED(conf.bulk_portal = 28);
	REFUSED(conf.service_version = 0x10000);
	REFUSED(conf.connect_opcode = OBD_PING);
	REFUSED(conf.disconnect_opcode = OST_CONNECT);
	REFUSED(conf.max_mod_rpcs = 0x10000);
	REFUSED(conf.reserved = 1);
	conf = import_conf();
	CHECK_EQ(ptlrpc_import_new(&conf, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_import_new(NULL, &imp), -EINVAL);

	/* An unknown target, an unknown server. */
	conf.target = targets[1];
	CHECK_EQ(ptlrpc_import_new(&conf, &imp), 0);
	CHECK_EQ(ptlrpc_connect_import(imp, 300), -ENODEV);
	CHECK_EQ(ptlrpc_obd_ping(imp), -EAGAIN);
	CHECK_EQ(ptlrpc_disconnect_import(imp, 300), 0);
	CHECK_EQ(ptlrpc_import_state(imp), PTLRPC_IMP_CLOSED);
	CHECK_EQ(ptlrpc_connect_import(imp, -1), -ESHUTDOWN);
	class_import_put(imp);
	conf = import_conf();
	conf.servers = bad;
	CHECK_EQ(ptlrpc_import_new(&conf, &imp), 0);
	CHECK_EQ(ptlrpc_import_handle(imp, NULL), 0);
	CHECK_EQ(ptlrpc_import_peer(imp, (struct lnet_process_id *)ours), -ENOTCONN);
	CHECK_EQ(ptlrpc_rediscover(imp), -ENOTCONN);
	CHECK_EQ(ptlrpc_connect_import(imp, 100), -ENOENT);
	class_import_put(imp);
}

static void wrong_requests(struct obd_import *imp)
{
	static const __u32 longest = 2 * MIB;
	__u32 lens[PTLRPC_MAX_BUFFERS + 1] = { 0 };
	struct ptlrpc_request *req = ptlrpc_request_alloc(imp, ECHO, PTLRPC_MAX_BUFFERS, lens);

	CHECK(req != NULL);
	CHECK(ptlrpc_req_buf(req, 0) == NULL);
	CHECK(ptlrpc_req_buf(req, PTLRPC_MAX_BUFFERS) != NULL);
	CHECK(ptlrpc_req_buf(req, PTLRPC_MAX_BUFFERS + 1) == NULL);
	CHECK_EQ(ptlrpc_req_set_flags(req, 8), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_repsize(req, 1, &longest), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_repsize(req, 1, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_bulk(req, NULL, 1, PTLRPC_TO_SERVICE), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_bulk(req, ours, 0, PTLRPC_TO_SERVICE), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_bulk(req, ours, PTLRPC_MAX_BULK + 1, PTLRPC_TO_SERVICE), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_bulk(req, ours, 1, 2), -EINVAL);
	/* Memory of a request that was not sent is the caller's again. */
	CHECK_EQ(ptlrpc_req_set_bulk(req, ours, 1, PTLRPC_TO_SERVICE), 0);
	CHECK_EQ(ptlrpc_req_set_bulk(req, theirs, 1, PTLRPC_TO_SERVICE), 0);
	CHECK(ptlrpc_rep_buf(req, 1, NULL) == NULL);
	CHECK_EQ(ptlrpc_rep_is_swabbed(req), -ENOENT);
	CHECK_EQ(ptlrpc_req_bulk_bytes(req), 0);
	ptlrpc_req_finished(req);

	CHECK(ptlrpc_request_alloc(NULL, ECHO, 0, NULL) == NULL);
	CHECK(ptlrpc_request_alloc(imp, ECHO, PTLRPC_MAX_BUFFERS + 1, lens) == NULL);
	CHECK(ptlrpc_request_alloc(imp, ECHO, 1, NULL) == NULL);
	CHECK(ptlrpc_request_alloc(imp, ECHO, 1, &longest) == NULL);
	CHECK(ptlrpc_request_alloc(imp, OST_CONNECT, 0, NULL) == NULL);
	CHECK(ptlrpc_request_alloc(imp, OST_DISCONNECT, 0, NULL) == NULL);
}

static void wrong_services(void)
{
	static const char *const twice[] = { "a", "a" };
	struct ptlrpc_service_conf conf;
	struct ptlrpc_service *made;

#define NO_SERVICE(what, errno_)                                               \
	do {                                                                   \
		memset(&conf, 0, sizeof(conf));                                \
		conf.targets = targets;                                        \
		conf.target_count = 1;                                         \
		conf.request_portal = 20;                                      \
		what;                                                          \
		CHECK_EQ(ptlrpc_register_service(&conf, handle, NULL, &made), errno_); \
		CHECK(made == NULL);                                           \
	} while (0)
	NO_SERVICE(conf.target_count = 0, -EINVAL);
	NO_SERVICE(conf.targets = NULL, -EINVAL);
	NO_SERVICE((conf.targets = twice, conf.target_count = 2), -EEXIST);
	NO_SERVICE(conf.same_targets_as = service, -EEXIST);
	NO_SERVICE(conf.kind = 3, -EINVAL);
	NO_SERVICE(conf.opcode_count = 1, -EINVAL);
	NO_SERVICE(conf.request_portal = 8, -EINVAL);
	NO_SERVICE(conf.max_request = 64 << 10, -EINVAL);
	NO_SERVICE(conf.buffer_size = 2 * MIB, -EINVAL);
	NO_SERVICE(conf.buffers_limit = 1, -EINVAL);
	NO_SERVICE(conf.flags = 4, -EINVAL);
	NO_SERVICE(conf.reserved = 1, -EINVAL);
	CHECK_EQ(ptlrpc_register_service(&conf, NULL, NULL, &made), -EINVAL);
	CHECK_EQ(ptlrpc_register_service(NULL, handle, NULL, &made), -EINVAL);
	CHECK_EQ(ptlrpc_register_service(&conf, handle, NULL, NULL), -EINVAL);
}

/* NULL is an invalid argument. */
static void nulls(void)
{
	CHECK_EQ(class_add_uuid(NULL, libcfs_str2nid("0@lo")), -EINVAL);
	CHECK_EQ(class_add_uuid("", libcfs_str2nid("0@lo")), -EINVAL);
	CHECK_EQ(class_add_uuid("kv-server", LNET_NID_ANY), -EINVAL);
	CHECK_EQ(class_del_uuid(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_uuid_to_peer("0@lo", NULL, NULL), -EINVAL);
	class_import_put(NULL);
	CHECK_EQ(ptlrpc_connect_import(NULL, 0), -EINVAL);
	CHECK_EQ(ptlrpc_disconnect_import(NULL, 0), -EINVAL);
	CHECK_EQ(ptlrpc_import_state(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_import_handle(NULL, NULL), 0);
	CHECK_EQ(ptlrpc_import_peer(NULL, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_obd_ping(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_rediscover(NULL), -EINVAL);
	CHECK(ptlrpc_req_buf(NULL, 1) == NULL);
	CHECK_EQ(ptlrpc_req_set_flags(NULL, 0), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_timeout(NULL, 0), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_limit(NULL, 0), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_portal(NULL, 0), -EINVAL);
	CHECK_EQ(ptlrpc_req_set_interpret(NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_queue_wait(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_req_status(NULL), -EINVAL);
	CHECK(ptlrpc_rep_buf(NULL, 1, NULL) == NULL);
	CHECK_EQ(ptlrpc_rep_is_swabbed(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_req_transno(NULL), 0);
	CHECK_EQ(ptlrpc_req_bulk_bytes(NULL), 0);
	ptlrpc_req_finished(NULL);
	CHECK_EQ(ptlrpc_set_add_req(NULL, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_set_wait(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_set_wait_any(NULL, 0), -EINVAL);
	CHECK_EQ(ptlrpc_check_set(NULL), -EINVAL);
	CHECK(ptlrpc_set_next(NULL) == NULL);
	ptlrpc_set_destroy(NULL);
	CHECK_EQ(ptlrpc_unregister_service(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_commit(NULL, "a", 1), -EINVAL);
	CHECK_EQ(ptlrpc_evict_client(NULL, "a"), -EINVAL);
	CHECK_EQ(ptlrpc_service_counts(NULL, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_svc_opcode(NULL), 0);
	CHECK_EQ(ptlrpc_svc_xid(NULL), 0);
	CHECK_EQ(ptlrpc_svc_is_resent(NULL), -EINVAL);
	CHECK_EQ(ptlrpc_svc_is_swabbed(NULL), -EINVAL);
	CHECK(ptlrpc_svc_buf(NULL, 1, NULL) == NULL);
	CHECK_EQ(ptlrpc_svc_client(NULL, ours), -EINVAL);
	CHECK_EQ(ptlrpc_svc_target(NULL, ours), -EINVAL);
	CHECK_EQ(ptlrpc_svc_self(NULL, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_svc_source(NULL, NULL), -EINVAL);
	CHECK_EQ(ptlrpc_svc_time_left(NULL), 0);
	CHECK_EQ(ptlrpc_bulk_get(NULL, ours, 1), -EINVAL);
	CHECK_EQ(ptlrpc_rep_pack(NULL, 0, NULL), -EINVAL);
	CHECK(ptlrpc_svc_rep_buf(NULL, 1) == NULL);
	CHECK_EQ(ptlrpc_svc_set_transno(NULL, 1), -EINVAL);
}

/* ---- start and end ---- */

static void down(void)
{
	struct ptlrpc_import_conf conf = import_conf();
	struct ptlrpc_service_conf of_service;
	struct obd_import *imp;

	memset(&of_service, 0, sizeof(of_service));
	CHECK_EQ(ptlrpc_fini(), -ENETDOWN);
	CHECK_EQ(class_add_uuid("kv-server", libcfs_str2nid("0@lo")), -ENETDOWN);
	CHECK_EQ(ptlrpc_import_new(&conf, &imp), -ENETDOWN);
	CHECK_EQ(ptlrpc_register_service(&of_service, handle, NULL, &service), -ENETDOWN);
}

static const struct ptlrpc_timeouts *quick(void)
{
	static struct ptlrpc_timeouts timeouts;

	timeouts.at_history = 60000;
	timeouts.connect = 60000;
	return &timeouts;
}

static void up(void)
{
	struct ptlrpc_timeouts wrong = { 0, 2, 1, 0, 0, 0 };

	CHECK_EQ(ptlrpc_init(&wrong), -EINVAL);
	wrong.at_min = 0;
	wrong.flags = 2;
	CHECK_EQ(ptlrpc_init(&wrong), -EINVAL);
	CHECK_EQ(ptlrpc_init(quick()), 0);
	CHECK_EQ(ptlrpc_init(NULL), 0);
	CHECK_EQ(ptlrpc_fini(), 0);
}

int main(void)
{
	struct obd_import *imp;

	for (int life = 0; life < 2; life++) {
		down();
		up();
		nulls();
		serve(20000);
		counted = 0;
		imp = connected();
		CHECK_EQ(ptlrpc_fini(), -EBUSY);
		connections(imp);
		echoes(imp);
		statuses(imp);
		reply_too_long(imp);
		bulk(imp);
		bulk_unused(imp);
		bulk_with_too_little(imp);
		once(imp);
		unanswered(imp);
		sets(imp);
		held(imp);
		difficult(imp);
		shared_targets(imp);
		counts(imp);
		eviction(imp);
		wrong_imports();
		wrong_requests(imp);
		wrong_services();
		CHECK_EQ(ptlrpc_disconnect_import(imp, -1), 0);
		CHECK_EQ(ptlrpc_import_state(imp), PTLRPC_IMP_CLOSED);
		CHECK_EQ(answer(ask(imp, STATUS, 1)), -ESHUTDOWN);
		class_import_put(imp);
		CHECK_EQ(ptlrpc_unregister_service(service), 0);
		CHECK_EQ(ptlrpc_fini(), 0);
	}
	down();
	return failures == 0 ? 0 : 1;
}
