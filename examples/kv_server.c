/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A service on PtlRPC: keeps keys and values in memory.
 *
 *   kv_server          prints its NIDs, and ends with SIGTERM or SIGINT
 *
 * The environment configures the networks, as for every program that uses LNet. In two terminals of one machine:
 *
 *   LNET_NETWORKS='tcp(127.0.1.2)' LNET_ACCEPT=all kv_server
 *   LNET_NETWORKS='tcp(127.0.1.1)' LNET_ACCEPT=all kv_client 127.0.1.2@tcp put colour blue */
#include "kv.h"
#include <lnet/api.h>
#include <pthread.h>

enum { BUCKETS = 1 << 16, THREADS = 8 };

/* The maximum total size of the values in bytes. */
#define MOST_BYTES (1ULL << 30)

/* A value with a reference count: it may be in transfer to a client while its key gets another value. */
struct value {
	unsigned int users;
	__u32 length;
	unsigned char data[];
};

struct entry {
	struct entry *next;
	struct value *value;
	__u32 version, key_length;
	unsigned char key[];
};

/* The lock guards the table and the reference counts. */
static struct {
	pthread_mutex_t lock;
	struct entry *buckets[BUCKETS];
	unsigned long long keys, bytes, puts, gets;
} store = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct value *new_value(__u32 length)
{
	struct value *value = malloc(sizeof(*value) + length);

	if (value != NULL) {
		value->users = 1;
		value->length = length;
	}
	return value;
}

/* Drops a reference to a value. Called with the lock held. */
static void put_value(struct value *value)
{
	if (value != NULL && --value->users == 0)
		free(value);
}

static void drop_value(struct value *value)
{
	pthread_mutex_lock(&store.lock);
	put_value(value);
	pthread_mutex_unlock(&store.lock);
}

/* The entry of a key, or the free entry for a new key. Called with the lock held. */
static struct entry **place_of(const unsigned char *key, __u32 length)
{
	unsigned int hash = 2166136261U, i;
	struct entry **place;

	for (i = 0; i < length; i++)
		hash = (hash ^ key[i]) * 16777619U;
	for (place = &store.buckets[hash % BUCKETS]; *place != NULL; place = &(*place)->next)
		if ((*place)->key_length == length && memcmp((*place)->key, key, length) == 0)
			break;
	return place;
}

/* Sets the value of a key; returns its version, or a negative errno. */
static int enter(const unsigned char *key, __u32 key_length, struct value *value)
{
	struct entry **place, *entry;
	int version = -ENOSPC;

	pthread_mutex_lock(&store.lock);
	place = place_of(key, key_length);
	entry = *place;
	if (store.bytes + value->length > MOST_BYTES)
		goto out;
	version = -ENOMEM;
	if (entry == NULL) {
		entry = calloc(1, sizeof(*entry) + key_length);
		if (entry == NULL)
			goto out;
		entry->key_length = key_length;
		memcpy(entry->key, key, key_length);
		*place = entry;
		store.keys++;
	}
	if (entry->value != NULL)
		store.bytes -= entry->value->length;
	put_value(entry->value);
	value->users++;
	entry->value = value;
	store.bytes += value->length;
	store.puts++;
	version = (int)++entry->version;
out:
	pthread_mutex_unlock(&store.lock);
	return version;
}

static struct value *find(const unsigned char *key, __u32 key_length, __u32 *version)
{
	struct value *value = NULL;
	struct entry *entry;

	pthread_mutex_lock(&store.lock);
	store.gets++;
	entry = *place_of(key, key_length);
	if (entry != NULL) {
		value = entry->value;
		value->users++;
		*version = entry->version;
	}
	pthread_mutex_unlock(&store.lock);
	return value;
}

/* Makes the reply: the description of a value, and the value if there is one. */
static int answer(struct ptlrpc_svc_req *req, __u32 length, __u32 version, const void *data, int status)
{
	struct kv_value told = { htole32(length), htole32(version) };
	__u32 lens[2] = { sizeof(told), length };
	int rc = ptlrpc_rep_pack(req, data == NULL ? 1 : 2, lens);

	if (rc != 0)
		return rc;
	memcpy(ptlrpc_svc_rep_buf(req, 1), &told, sizeof(told));
	if (data != NULL)
		memcpy(ptlrpc_svc_rep_buf(req, 2), data, length);
	return status;
}

/* The client sends the PUT with PTLRPC_AT_MOST_ONCE: it is executed once, even if messages are lost. */
static int put(struct ptlrpc_svc_req *req, const unsigned char *key, __u32 key_length)
{
	__u32 asked_length, length, data_length;
	const struct kv_put *asked = ptlrpc_svc_buf(req, 2, &asked_length);
	const void *data = ptlrpc_svc_buf(req, 3, &data_length);
	struct value *value;
	int rc;

	if (asked == NULL || asked_length != sizeof(*asked))
		return -EINVAL;
	length = le32toh(asked->length);
	if (length > PTLRPC_MAX_BULK || (length <= KV_SMALL && (data == NULL || data_length != length)))
		return -EINVAL;
	value = new_value(length);
	if (value == NULL)
		return -ENOMEM;
	if (length <= KV_SMALL)
		memcpy(value->data, data, length);
	rc = length <= KV_SMALL ? 0 : ptlrpc_bulk_get(req, value->data, length);
	if (rc == 0)
		rc = enter(key, key_length, value);
	drop_value(value);
	return rc < 0 ? rc : answer(req, length, (__u32)rc, NULL, 0);
}

static int get(struct ptlrpc_svc_req *req, const unsigned char *key, __u32 key_length)
{
	__u32 asked_length, version = 0;
	const struct kv_get *asked = ptlrpc_svc_buf(req, 2, &asked_length);
	struct value *value;
	int rc;

	if (asked == NULL || asked_length != sizeof(*asked))
		return -EINVAL;
	value = find(key, key_length, &version);
	if (value == NULL)
		return -ENOENT;
	if (value->length <= KV_SMALL)
		rc = answer(req, value->length, version, value->data, 0);
	else if (value->length > le32toh(asked->room))
		rc = answer(req, value->length, version, NULL, -EOVERFLOW);
	else if ((rc = ptlrpc_bulk_put(req, value->data, value->length)) == 0)
		rc = answer(req, value->length, version, NULL, 0);
	drop_value(value);
	return rc;
}

/* Handles a request. Several threads call this function at the same time. */
static int serve(struct ptlrpc_svc_req *req, void *arg)
{
	__u32 length;
	const unsigned char *key = ptlrpc_svc_buf(req, 1, &length);

	(void)arg;
	if (key == NULL || length == 0 || length > KV_LONGEST_KEY)
		return -EINVAL;
	return ptlrpc_svc_opcode(req) == KV_PUT ? put(req, key, length) : get(req, key, length);
}

static void say_where(void)
{
	struct lnet_process_id id;
	unsigned int i;

	printf("kv_server: %s at", KV_TARGET);
	for (i = 1; LNetGetId(i, &id) == 0; i++)
		printf("%s%s", i == 1 ? " " : ",", libcfs_nid2str(id.nid));
	printf("%s is ready\n", i == 1 ? " no network (LNET_NETWORKS)" : "");
	fflush(stdout);
}

int main(void)
{
	static const char *const targets[] = { KV_TARGET };
	static const __u32 opcodes[] = { KV_PUT, KV_GET };
	struct ptlrpc_service_conf conf;
	struct ptlrpc_service_counts counts;
	struct ptlrpc_service *service;
	sigset_t ends;
	int signal;

	/* Blocks the signals before other threads are started, so that they inherit the mask. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);

	must(ptlrpc_init(NULL), "starting (ptlrpc_init)");
	memset(&conf, 0, sizeof(conf));
	conf.name = "kv";
	conf.targets = targets;
	conf.target_count = 1;
	conf.opcodes = opcodes;
	conf.opcode_count = 2;
	conf.threads = THREADS;
	conf.max_mod_rpcs = 256;
	conf.stop_timeout = 10000;
	must(ptlrpc_register_service(&conf, serve, NULL, &service), "ptlrpc_register_service");
	say_where();

	sigwait(&ends, &signal);
	must(ptlrpc_service_counts(service, &counts), "ptlrpc_service_counts");
	must(ptlrpc_unregister_service(service), "ptlrpc_unregister_service");
	must(ptlrpc_fini(), "ptlrpc_fini");
	printf("kv_server: %llu requests; %llu PUTs, %llu GETs; %llu keys, %llu bytes\n",
	       (unsigned long long)counts.arrived, store.puts, store.gets, store.keys, store.bytes);
	printf("kv_server: answered again: %llu; dropped: %llu; early replies: %llu; replies or bulk data that failed: %llu\n",
	       (unsigned long long)counts.answered_again, (unsigned long long)counts.dropped,
	       (unsigned long long)counts.early_replies,
	       (unsigned long long)(counts.replies_failed + counts.bulk_failed));
	return 0;
}
