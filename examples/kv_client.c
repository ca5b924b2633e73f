/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A client on PtlRPC: keys and values at a kv_server.
 *
 *   kv_client NID[,NID...] put KEY VALUE
 *   kv_client NID[,NID...] put KEY -f FILE
 *   kv_client NID[,NID...] get KEY
 *   kv_client NID[,NID...] load [-n IN_FLIGHT] [-s SECONDS]
 *
 * The NIDs are the server's, which prints them when it starts. load keeps PUTs and GETs in flight and verifies every value,
 * and that no PUT was executed twice. kv_server.c describes how to try it on one machine. */
#include "kv.h"
#include <unistd.h>

enum { CONNECT_MS = 30000, LEAVE_MS = 5000 };

/* ---- requests ---- */

static struct ptlrpc_request *new_put(struct obd_import *imp, const char *key, void *value, __u32 length)
{
	__u32 lens[3] = { (__u32)strlen(key), sizeof(struct kv_put), length <= KV_SMALL ? length : 0 };
	__u32 room = sizeof(struct kv_value);
	struct kv_put put = { htole32(length) };
	struct ptlrpc_request *req = ptlrpc_request_alloc(imp, KV_PUT, 3, lens);

	must(req == NULL ? -EINVAL : 0, "ptlrpc_request_alloc");
	memcpy(ptlrpc_req_buf(req, 1), key, lens[0]);
	memcpy(ptlrpc_req_buf(req, 2), &put, sizeof(put));
	if (length <= KV_SMALL)
		memcpy(ptlrpc_req_buf(req, 3), value, length);
	else
		must(ptlrpc_req_set_bulk(req, value, length, PTLRPC_TO_SERVICE), "ptlrpc_req_set_bulk");
	must(ptlrpc_req_set_repsize(req, 1, &room), "ptlrpc_req_set_repsize");
	must(ptlrpc_req_set_flags(req, PTLRPC_AT_MOST_ONCE), "ptlrpc_req_set_flags");
	return req;
}

/* Makes a GET. A value longer than KV_SMALL is transferred to memory, which has room bytes. */
static struct ptlrpc_request *new_get(struct obd_import *imp, const char *key, void *memory, __u32 room)
{
	__u32 lens[2] = { (__u32)strlen(key), sizeof(struct kv_get) };
	__u32 rooms[2] = { sizeof(struct kv_value), KV_SMALL };
	struct kv_get get = { htole32(room) };
	struct ptlrpc_request *req = ptlrpc_request_alloc(imp, KV_GET, 2, lens);

	must(req == NULL ? -EINVAL : 0, "ptlrpc_request_alloc");
	memcpy(ptlrpc_req_buf(req, 1), key, lens[0]);
	memcpy(ptlrpc_req_buf(req, 2), &get, sizeof(get));
	must(ptlrpc_req_set_repsize(req, 2, rooms), "ptlrpc_req_set_repsize");
	if (room > 0)
		must(ptlrpc_req_set_bulk(req, memory, room, PTLRPC_FROM_SERVICE), "ptlrpc_req_set_bulk");
	return req;
}

/* Reads the description of the value from the reply; -EPROTO: the reply has none. */
static int told(const struct ptlrpc_request *req, __u32 *length, __u32 *version)
{
	__u32 bytes;
	const struct kv_value *value = ptlrpc_rep_buf(req, 1, &bytes);

	if (value == NULL || bytes != sizeof(*value))
		return -EPROTO;
	*length = le32toh(value->length);
	*version = le32toh(value->version);
	return 0;
}

/* The bytes of the value, either in the reply or in memory. NULL: the reply has no value. */
static const void *value_of(const struct ptlrpc_request *req, __u32 length, const void *memory)
{
	__u32 bytes;
	const void *value = ptlrpc_rep_buf(req, 2, &bytes);

	if (length > KV_SMALL)
		return ptlrpc_req_bulk_bytes(req) == length ? memory : NULL;
	return value != NULL && bytes == length ? value : NULL;
}

/* ---- put, get ---- */

static void *read_file(const char *name, __u32 *length)
{
	FILE *file = fopen(name, "rb");
	char *bytes = malloc(PTLRPC_MAX_BULK + 1);
	size_t count;

	must(file == NULL ? -errno : 0, name);
	must(bytes == NULL ? -ENOMEM : 0, name);
	count = fread(bytes, 1, PTLRPC_MAX_BULK + 1, file);
	must(ferror(file) ? -EIO : count > PTLRPC_MAX_BULK ? -EFBIG : 0, name);
	fclose(file);
	*length = (__u32)count;
	return bytes;
}

static int put(struct obd_import *imp, const char *key, void *value, __u32 length)
{
	struct ptlrpc_request *req = new_put(imp, key, value, length);
	__u32 version;

	must(ptlrpc_queue_wait(req), "PUT");
	must(told(req, &length, &version), "PUT");
	ptlrpc_req_finished(req);
	printf("%s: %u bytes, put %u times\n", key, length, version);
	return 0;
}

static int get(struct obd_import *imp, const char *key)
{
	struct ptlrpc_request *req = new_get(imp, key, NULL, 0);
	int rc = ptlrpc_queue_wait(req);
	__u32 length = 0, version;
	const void *value;
	void *memory = NULL;

	while (rc == -EOVERFLOW && told(req, &length, &version) == 0 && length <= PTLRPC_MAX_BULK) {
		free(memory);
		memory = malloc(length);
		must(memory == NULL ? -ENOMEM : 0, "GET");
		ptlrpc_req_finished(req);
		req = new_get(imp, key, memory, length);
		rc = ptlrpc_queue_wait(req);
	}
	must(rc, "GET");
	must(told(req, &length, &version), "GET");
	value = value_of(req, length, memory);
	must(value == NULL ? -EPROTO : 0, "GET");
	must(fwrite(value, 1, length, stdout) == length && fflush(stdout) == 0 ? 0 : -EIO, "standard output");
	ptlrpc_req_finished(req);
	free(memory);
	return 0;
}

/* ---- load ---- */

/* LIMIT_MS is the timeout of an RPC. The last line of the output shows whether an RPC has not ended. */
enum { LIMIT_MS = 120000, LONGEST_VALUE = 1 << 20, MOST_IN_FLIGHT = 256 };

static const __u32 LENGTHS[] = { 64, KV_SMALL, 64 * 1024, LONGEST_VALUE, 1, KV_SMALL + 1 };

/* A key, for which PUT and GET alternate. */
struct slot {
	char key[80];
	unsigned char *memory;
	double begun;
	/* The number of PUTs, from which the value is derived. */
	__u32 version;
	bool is_put, is_busy, is_known;
};

static struct {
	unsigned long long done, failed, wrong, in_second;
	double longest;
} counts;

static volatile sig_atomic_t ended;

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static __u32 length_of(__u32 version)
{
	return LENGTHS[version % (sizeof(LENGTHS) / sizeof(LENGTHS[0]))];
}

/* Fills a value with bytes that depend on its key and its number. */
static void fill(const struct slot *slot, __u32 version, unsigned char *bytes)
{
	__u32 i, x = version * 2654435761U + (unsigned char)slot->key[strlen(slot->key) - 1], length = length_of(version);

	for (i = 0; i < length; i++)
		bytes[i] = (unsigned char)(x + i * 31 + i / 251);
}

static bool is_right(const struct slot *slot, const void *value, __u32 length)
{
	static unsigned char wanted[LONGEST_VALUE];

	if (value == NULL || length != length_of(slot->version))
		return false;
	fill(slot, slot->version, wanted);
	return memcmp(value, wanted, length) == 0;
}

/* Checks a completed RPC of the load. */
static int judge(struct ptlrpc_request *req, void *arg, int rc)
{
	struct slot *slot = arg;
	double took = now_ms() - slot->begun;
	__u32 length, version;

	slot->is_busy = false;
	if (took > counts.longest)
		counts.longest = took;
	if (rc == 0)
		rc = told(req, &length, &version);
	if (rc != 0) {
		fprintf(stderr, "kv_client: %s %s: %s\n", slot->is_put ? "PUT" : "GET", slot->key, strerror(-rc));
		counts.failed++;
		/* The PUT may have been executed; the next GET shows whether it was. */
		slot->is_known = slot->is_known && !slot->is_put;
		return rc;
	}
	counts.done++;
	counts.in_second++;
	if (!slot->is_known) {
		slot->version = version;
		slot->is_known = true;
	} else if (version != slot->version + slot->is_put) {
		fprintf(stderr, "kv_client: %s: put %u times, not %u\n", slot->key, version, slot->version + slot->is_put);
		counts.wrong++;
		slot->version = version - slot->is_put;
	}
	slot->version += slot->is_put;
	if (!slot->is_put && !is_right(slot, value_of(req, length, slot->memory), length)) {
		fprintf(stderr, "kv_client: %s: value %u is not what was put\n", slot->key, version);
		counts.wrong++;
	}
	return rc;
}

static void begin(struct obd_import *imp, struct ptlrpc_request_set *set, struct slot *slot)
{
	struct ptlrpc_request *req;

	slot->is_put = slot->is_known && !slot->is_put;
	slot->is_busy = true;
	slot->begun = now_ms();
	if (slot->is_put) {
		fill(slot, slot->version + 1, slot->memory);
		req = new_put(imp, slot->key, slot->memory, length_of(slot->version + 1));
	} else {
		req = new_get(imp, slot->key, slot->memory, LONGEST_VALUE);
	}
	must(ptlrpc_req_set_limit(req, LIMIT_MS), "ptlrpc_req_set_limit");
	must(ptlrpc_req_set_interpret(req, judge, slot), "ptlrpc_req_set_interpret");
	must(ptlrpc_set_add_req(set, req), "ptlrpc_set_add_req");
}

static void report(double since_start)
{
	printf("%4.0f s  %6llu done  %llu failed  %llu wrong  longest wait %.0f ms\n", since_start / 1e3, counts.in_second,
	       counts.failed, counts.wrong, counts.longest);
	fflush(stdout);
	counts.in_second = 0;
	counts.longest = 0;
}

static int load(struct obd_import *imp, const char *name, unsigned int in_flight, double seconds)
{
	struct ptlrpc_request_set *set = ptlrpc_prep_set();
	struct slot *slots = calloc(in_flight, sizeof(*slots));
	double start = now_ms(), next_report = start + 1000;
	struct ptlrpc_request *req;
	unsigned int i, busy;

	must(slots == NULL || set == NULL ? -ENOMEM : 0, "load");
	signal(SIGINT, on_end);
	signal(SIGTERM, on_end);
	for (i = 0; i < in_flight; i++) {
		snprintf(slots[i].key, sizeof(slots[i].key), "%s/%u", name, i);
		slots[i].memory = malloc(LONGEST_VALUE);
		must(slots[i].memory == NULL ? -ENOMEM : 0, "load");
		/* The version of the key is known: there was no PUT yet. */
		slots[i].is_known = true;
	}
	do {
		if (now_ms() - start >= seconds * 1e3)
			ended = 1;
		for (i = busy = 0; i < in_flight; i++) {
			if (!slots[i].is_busy && !ended)
				begin(imp, set, &slots[i]);
			busy += slots[i].is_busy;
		}
		must(ptlrpc_set_wait_any(set, 100), "ptlrpc_set_wait_any");
		while ((req = ptlrpc_set_next(set)) != NULL)
			ptlrpc_req_finished(req);
		if (now_ms() >= next_report) {
			for (i = 0; i < in_flight; i++)
				if (slots[i].is_busy && now_ms() - slots[i].begun > counts.longest)
					counts.longest = now_ms() - slots[i].begun;
			report(next_report - start);
			next_report += 1000;
		}
	} while (busy > 0);
	ptlrpc_set_destroy(set);
	for (i = 0; i < in_flight; i++)
		free(slots[i].memory);
	free(slots);
	printf("%llu done, %llu failed, %llu wrong\n", counts.done, counts.failed, counts.wrong);
	return counts.done > 0 && counts.failed + counts.wrong == 0 ? 0 : 1;
}

/* ---- command line ---- */

static int usage(void)
{
	fprintf(stderr, "usage: kv_client NID[,NID...] put KEY VALUE | put KEY -f FILE | get KEY\n"
			"                              | load [-n IN_FLIGHT] [-s SECONDS]\n");
	return 2;
}

/* Makes an import for a server, whose NIDs are separated by commas. */
static struct obd_import *connect_to(char *nids, const char *name)
{
	static const char *const servers[] = { "kv-server" };
	struct ptlrpc_import_conf conf;
	struct obd_import *imp;
	char *nid;

	for (nid = strtok(nids, ","); nid != NULL; nid = strtok(NULL, ","))
		must(class_add_uuid(servers[0], libcfs_str2nid(nid)), nid);
	memset(&conf, 0, sizeof(conf));
	conf.target = KV_TARGET;
	conf.client_uuid = name;
	conf.servers = servers;
	conf.server_count = 1;
	conf.max_mod_rpcs = MOST_IN_FLIGHT;
	must(ptlrpc_import_new(&conf, &imp), "ptlrpc_import_new");
	must(ptlrpc_connect_import(imp, CONNECT_MS), "connecting");
	return imp;
}

int main(int argc, char **argv)
{
	const char *command = argc > 2 ? argv[2] : "", *file = NULL;
	unsigned int in_flight = 8;
	struct obd_import *imp;
	double seconds = 10;
	__u32 length = 0;
	char name[PTLRPC_NAME_SIZE];
	void *value = NULL;
	int option, rc;

	if (strcmp(command, "load") == 0) {
		for (optind = 3; (option = getopt(argc, argv, "n:s:")) != -1;) {
			if (option == 'n')
				in_flight = (unsigned int)atoi(optarg);
			else if (option == 's')
				seconds = atof(optarg);
			else
				return usage();
		}
		if (optind != argc || in_flight < 1 || in_flight > MOST_IN_FLIGHT || seconds <= 0)
			return usage();
	} else if (strcmp(command, "put") == 0 && (argc == 5 || (argc == 6 && strcmp(argv[4], "-f") == 0))) {
		file = argc == 6 ? argv[5] : NULL;
		value = file == NULL ? argv[4] : read_file(file, &length);
		length = file == NULL ? (__u32)strlen(argv[4]) : length;
	} else if (strcmp(command, "get") != 0 || argc != 4) {
		return usage();
	}
	/* A different UUID each time, so that the server treats it as a new client. */
	snprintf(name, sizeof(name), "kv-client-%lx-%x", (unsigned long)time(NULL), (unsigned int)getpid());

	must(ptlrpc_init(NULL), "starting (ptlrpc_init)");
	imp = connect_to(argv[1], name);
	if (strcmp(command, "load") == 0)
		rc = load(imp, name, in_flight, seconds);
	else
		rc = value != NULL ? put(imp, argv[3], value, length) : get(imp, argv[3]);
	must(ptlrpc_disconnect_import(imp, LEAVE_MS), "disconnecting");
	class_import_put(imp);
	if (file != NULL)
		free(value);
	must(ptlrpc_fini(), "ptlrpc_fini");
	return rc;
}
