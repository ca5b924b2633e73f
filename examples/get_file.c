/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A file over GET: the server only makes its memory available, and the client fetches the file from there in pieces.
 *
 *   cc get_file.c $(pkg-config --cflags --libs lnet) -o get_file
 *   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
 *   LNET_NETWORKS='tcp(127.0.1.2)' ./get_file serve /etc/services &
 *   LNET_NETWORKS='tcp(127.0.1.1)' ./get_file fetch 127.0.1.2@tcp copy
 *
 * The offset of a GET has 32 bits, so a file is served as windows, each an MD with match bits of its own. Within a
 * window the client chooses the offset, which LNET_MD_MANAGE_REMOTE allows. */
#include "first.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A message carries LNET_MTU bytes at most, 1 MiB. Several are under way at a time, so that the network is never idle. */
enum { FILE_PORTAL = 12, WINDOW = 256 << 20, PIECE = LNET_MTU, PIECES_AT_A_TIME = 8, SIZE_DIGITS = 20 };

/* The match bits of the size of the file, which is a text. Those of a window are its number. */
static const __u64 SIZE_BITS = 1ULL << 63;
static struct lnet_handle_eq eq;
static __u64 size, requested;

/* Ends the program if a function of the system has failed. */
static void check(int is_right, const char *what)
{
	must(is_right ? 0 : -errno, what);
}

/* ---- the server ---- */

static void offer(void *memory, unsigned int length, __u64 match_bits)
{
	attach(FILE_PORTAL, match_bits,
	       describe(memory, length, LNET_MD_THRESH_INF, LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE, eq, NULL));
}

static void serve(const char *path)
{
	struct lnet_process_id self;
	struct stat about;
	char size_text[SIZE_DIGITS + 1], *file = NULL;
	__u64 offset;
	int fd = open(path, O_RDONLY);

	check(fd >= 0 && fstat(fd, &about) == 0, path);
	/* Nobody may make the file shorter meanwhile: reading what is no longer there would end the program. */
	if (about.st_size > 0)
		file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	check(file != MAP_FAILED, path);
	start_node(&self);
	/* LNet sends the data by itself: the server needs no events, and its MDs have no queue. */
	LNetInvalidateEQHandle(&eq);
	for (offset = 0; offset < (__u64)about.st_size; offset += WINDOW) {
		__u64 left = (__u64)about.st_size - offset;

		offer(file + offset, left < WINDOW ? left : WINDOW, offset / WINDOW);
	}
	/* Text, since the nodes may have different byte orders. */
	snprintf(size_text, sizeof(size_text), "%0*lld", SIZE_DIGITS, (long long)about.st_size);
	offer(size_text, SIZE_DIGITS, SIZE_BITS);
	printf("%s serves %s\n", libcfs_nid2str(self.nid), path);
	fflush(stdout);
	for (;;)
		pause();
}

/* ---- the client ---- */

/* Memory for one piece, and where in the file it belongs. */
struct piece {
	char *memory;
	__u64 offset;
	unsigned int length;
};

static void get(struct piece *piece, struct lnet_process_id server, __u64 match_bits)
{
	struct lnet_handle_md md;

	/* The GET is sent, and the REPLY arrives: two operations, after which the MD is unlinked. */
	must(LNetMDBind(describe(piece->memory, piece->length, 2, 0, eq, piece), LNET_UNLINK, &md), "LNetMDBind");
	must(LNetGet(LNET_NID_ANY, md, server, FILE_PORTAL, match_bits, piece->offset % WINDOW), "LNetGet");
}

/* Waits for the last event of a piece, by which its memory is the program's again. */
static struct piece *wait_for_piece(void)
{
	struct lnet_event event;

	do {
		must(LNetEQWait(eq, &event), "LNetEQWait");
		/* If nothing at the server matches the GET, this is the status after the transaction timeout. */
		must(event.status, "the GET");
	} while (!event.unlinked);
	return event.md.user_ptr;
}

/* Requests the next piece of the file, if one is left. */
static void request_next(struct piece *piece, struct lnet_process_id server)
{
	piece->offset = requested;
	piece->length = size - requested < PIECE ? size - requested : PIECE;
	requested += piece->length;
	if (piece->length > 0)
		get(piece, server, piece->offset / WINDOW);
}

static int fetch(struct lnet_process_id server, const char *path)
{
	static struct piece pieces[PIECES_AT_A_TIME];
	struct lnet_process_id self;
	__u64 written = 0;
	int i, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	check(fd >= 0, path);
	start_node(&self);
	must(LNetEQAlloc(4 * PIECES_AT_A_TIME, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
	/* Any memory would do. This is not copied when the node is that of lnetd. */
	for (i = 0; i < PIECES_AT_A_TIME; i++)
		must((pieces[i].memory = LNetMemAlloc(PIECE)) ? 0 : -ENOMEM, "LNetMemAlloc");
	pieces[0].length = SIZE_DIGITS;
	get(&pieces[0], server, SIZE_BITS);
	wait_for_piece();
	size = strtoull(pieces[0].memory, NULL, 10);
	for (i = 0; i < PIECES_AT_A_TIME; i++)
		request_next(&pieces[i], server);
	while (written < size) {
		struct piece *piece = wait_for_piece();

		check(pwrite(fd, piece->memory, piece->length, (off_t)piece->offset) == (ssize_t)piece->length, path);
		written += piece->length;
		request_next(piece, server);
	}
	check(close(fd) == 0, path);
	printf("fetched %llu bytes\n", (unsigned long long)written);
	return LNetNIFini();
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve(argv[2]);
	if (argc == 4 && strcmp(argv[1], "fetch") == 0)
		return fetch(address_of(argv[2]), argv[3]);
	fprintf(stderr, "usage: get_file serve FILE | get_file fetch NID COPY\n");
	return 2;
}
