/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Definitions for both sides of m0_ping: messages, data with a checksum, buffers, the wait for the end.
 *
 * A message begins with a letter:
 *   m  text that begins with a number of eight digits; the server returns it with " pong" appended
 *   s  the client offers data (a passive send): the server receives it actively and verifies it
 *   r  the client offers memory (a passive receive): the server sends data into it actively
 * After s and r follow the length of the descriptor and that of the data, as NUL-terminated texts of eight digits, and
 * then the descriptor. */
#ifndef M0_PING_H
#define M0_PING_H

#include <lib/cond.h>
#include <lib/errno.h>
#include <lib/memory.h>
#include <lib/misc.h>
#include <lib/thread.h>
#include <motr/init.h>
#include <net/lnet/lnet.h>
#include <net/net.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	SERVER_PORTAL = 39,
	SERVER_TMID = 12,
	SEGMENT = 4096,
	SHIFT = 12,
	DIGITS = 9,
	OFFER_HEADER = 1 + 2 * DIGITS,
	MESSAGE_SECONDS = 5,
	BULK_SECONDS = 10,
};

struct settings {
	const char *nid, *server;
	unsigned int portal, tmid, buffers, message, bulk, threads, loops;
	double seconds;
	/* Whether the transfer machine's thread delivers the server's events, not the server's own thread. */
	bool asynchronous;
};

/* Ends the program if result is an error. */
static inline void must(int result, const char *what)
{
	if (result < 0) {
		fflush(stdout);
		fprintf(stderr, "FAILED: %s: %s\n", what, strerror(-result));
		exit(1);
	}
}

/* ---- data that verifies itself ---- */

static inline uint64_t checksum_of(const uint64_t *words, size_t count)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ words[i]) * 0x100000001b3;
	return sum;
}

/*
 * Fills data with words that depend on `seed`, and with their checksum. The bytes after the last whole word depend on
 * their position.
 */
static inline void make_data(void *data, size_t length, uint64_t seed)
{
	uint64_t *words = data;
	size_t count = length / 8;

	for (size_t i = 0; i + 1 < count; i++)
		words[i] = seed = seed * 6364136223846793005 + 1442695040888963407;
	if (count > 0)
		words[count - 1] = checksum_of(words, count - 1);
	for (size_t i = count * 8; i < length; i++)
		((unsigned char *)data)[i] = (unsigned char)(0x5a + i);
}

static inline bool is_right(const void *data, size_t length)
{
	const uint64_t *words = data;
	size_t count = length / 8;

	for (size_t i = count * 8; i < length; i++)
		if (((const unsigned char *)data)[i] != (unsigned char)(0x5a + i))
			return false;
	return count == 0 || words[count - 1] == checksum_of(words, count - 1);
}

/* ---- buffers ---- */

/* Makes a buffer of adjacent segments; returns its memory. */
static inline void *new_buffer(struct m0_net_buffer *nb, struct m0_net_domain *dom, size_t length,
			       const struct m0_net_buffer_callbacks *callbacks)
{
	uint32_t segments = (uint32_t)((length + SEGMENT - 1) / SEGMENT);

	M0_SET0(nb);
	must(m0_bufvec_alloc_aligned_packed(&nb->nb_buffer, segments, SEGMENT, SHIFT), "allocating a buffer");
	must(m0_net_buffer_register(nb, dom), "m0_net_buffer_register");
	nb->nb_callbacks = callbacks;
	return nb->nb_buffer.ov_buf[0];
}

static inline void free_buffer(struct m0_net_buffer *nb, struct m0_net_domain *dom)
{
	m0_net_buffer_deregister(nb, dom);
	m0_bufvec_free_aligned_packed(&nb->nb_buffer, SHIFT);
}

/* ---- transfer machines ---- */

/* Finds the first NID of the node other than the loopback NID. */
static inline void find_nid(struct m0_net_domain *dom, char *nid, size_t room)
{
	char **nids;

	must(m0_net_lnet_ifaces_get(dom, &nids), "the interfaces");
	nid[0] = '\0';
	for (int i = 0; nids[i] != NULL && nid[0] == '\0'; i++)
		if (strstr(nids[i], "@lo") == NULL)
			snprintf(nid, room, "%s", nids[i]);
	m0_net_lnet_ifaces_put(dom, &nids);
	must(nid[0] == '\0' ? -ENODEV : 0, "no network: set LNET_NETWORKS");
}

/* Starts or stops a transfer machine, and waits until that is done. */
static inline void start_and_wait(struct m0_net_transfer_mc *tm, const char *addr)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm->ntm_chan, &clink);
	must(m0_net_tm_start(tm, addr), addr);
	m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	must(tm->ntm_state == M0_NET_TM_STARTED ? 0 : -EADDRNOTAVAIL, addr);
}

static inline void stop_and_wait(struct m0_net_transfer_mc *tm)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm->ntm_chan, &clink);
	must(m0_net_tm_stop(tm, false), "m0_net_tm_stop");
	while (tm->ntm_state != M0_NET_TM_STOPPED)
		m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
}

static inline void on_tm_event(const struct m0_net_tm_event *ev)
{
	if (ev->nte_status < 0)
		fprintf(stderr, "m0_ping: transfer machine: %s\n", strerror(-ev->nte_status));
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb = on_tm_event };

/* ---- the two sides ---- */

/* The counts of a server. */
struct served {
	unsigned long long texts, received, sent, failed, wrong;
};

struct server;
struct server *server_start(const struct settings *settings);
const char *server_address(const struct server *server);
/* Runs the server on the calling thread until server_end. */
void server_run(struct server *server);
void server_end(struct server *server);
struct served server_stop(struct server *server);

/* Runs the loops of all client threads. Returns 0 if all have succeeded. */
int clients_run(const struct settings *settings, const volatile sig_atomic_t *ended);

#endif
