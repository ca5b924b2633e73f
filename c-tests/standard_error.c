/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that a node continues in every state of standard error: a pipe that no process reads, a pipe whose reader has
 * closed it, a full disk, a file that may not grow, a closed descriptor. Lost lines are counted, and the count is
 * logged when writing works again. */
#define _GNU_SOURCE
#include "own_address.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PORTAL 20
#define LOST "lines lost here"

enum sink { FULL_PIPE, NON_BLOCKING_FULL_PIPE, NO_READER, FULL_DISK, FILE_SIZE_LIMIT, CLOSED, SINKS };

static const char *const names[SINKS] = {
	"a pipe that is full", "a non-blocking pipe that is full", "a pipe without a reader", "a full disk",
	"a file that may not grow", "closed",
};

static int result;
/* The original standard error, to which checks report failures. */
static int kept;

/* Makes the library write lines: at level debug each call writes one. */
static void make_lines(int count)
{
	struct lnet_process_id id;

	for (int i = 0; i < count; i++)
		LNetGetId(0, &id);
}

/* Sends a PUT to this node and waits for its events, to show that messages are sent while lines cannot be written. */
static void move_a_message(void)
{
	struct lnet_handle_eq eq;
	struct lnet_handle_md sent, got;
	struct lnet_event event;
	char byte = 'p', there = 0;

	result |= LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq) != 0;
	result |= LNetMDAttach(attach_me(PORTAL, 1, LNET_UNLINK), make_md(&there, 1, 1, LNET_MD_OP_PUT, NULL, eq),
			       LNET_UNLINK, &got) != 0;
	result |= LNetMDBind(make_md(&byte, 1, 2, 0, NULL, eq), LNET_UNLINK, &sent) != 0;
	result |= LNetPut(LNET_NID_ANY, sent, LNET_ACK_REQ, loopback(), PORTAL, 1, 0, 0) != 0;
	/* The events PUT, SEND and ACK. */
	for (int events = 0; events < 3; events++)
		result |= LNetEQWait(eq, &event) != 1;
	result |= LNetEQFree(eq) != 0 || there != 'p';
}

/* Fills a pipe until it accepts no more bytes. */
static void fill(int pipe_end)
{
	static char bytes[4096];
	int flags = fcntl(pipe_end, F_GETFL);

	fcntl(pipe_end, F_SETFL, flags | O_NONBLOCK);
	while (write(pipe_end, bytes, sizeof(bytes)) > 0)
		;
	fcntl(pipe_end, F_SETFL, flags);
}

/* Reads until a line reports lost lines. */
static void read_until_lost(int from)
{
	static char text[1 << 20];
	size_t len = 0;

	while (len < sizeof(text) - 1) {
		size_t end = len;
		ssize_t got = read(from, text + len, sizeof(text) - 1 - len);

		if (got <= 0)
			break;
		/* The test filled the pipe with zeros. */
		for (ssize_t i = 0; i < got; i++)
			if (text[len + i] != 0)
				text[end++] = text[len + i];
		len = end;
		text[len] = 0;
		if (strstr(text, LOST) != NULL)
			return;
	}
	result = 1;
}

/* Makes standard error accept no more lines. Returns the other end of a pipe, or -1. */
static int break_standard_error(enum sink sink)
{
	struct rlimit none = { 0, RLIM_INFINITY };
	int ends[2] = { -1, -1 }, file;

	switch (sink) {
	case FULL_PIPE:
	case NON_BLOCKING_FULL_PIPE:
	case NO_READER:
		result |= pipe2(ends, O_CLOEXEC) != 0;
		fill(ends[1]);
		if (sink == NON_BLOCKING_FULL_PIPE)
			fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK);
		dup2(ends[1], 2);
		close(ends[1]);
		if (sink == NO_READER) {
			close(ends[0]);
			ends[0] = -1;
		}
		break;
	case FULL_DISK:
		file = open("/dev/full", O_WRONLY);
		dup2(file, 2);
		close(file);
		break;
	case FILE_SIZE_LIMIT:
		/* Descriptor 2 is a file of this program's own; a write beyond the limit raises SIGXFSZ. */
		file = fileno(tmpfile());
		dup2(file, 2);
		close(file);
		setrlimit(RLIMIT_FSIZE, &none);
		break;
	default:
		close(2);
	}
	return ends[0];
}

/* Makes standard error writable again: the node then reports the number of lost lines. */
static void mend_standard_error(enum sink sink, int other_end)
{
	int ends[2];
	struct rlimit any = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_FSIZE, &any);
	if (other_end >= 0) {
		read_until_lost(other_end);
		/* Makes room for the remaining lines. */
		fcntl(2, F_SETFL, fcntl(2, F_GETFL) & ~O_NONBLOCK);
	} else {
		result |= pipe(ends) != 0;
		/* One of the two descriptors may be 2. */
		if (ends[0] == 2)
			ends[0] = dup(2);
		if (ends[1] != 2) {
			dup2(ends[1], 2);
			close(ends[1]);
		}
		read_until_lost(ends[0]);
	}
	if (result != 0)
		dprintf(kept, "standard error is %s\n", names[sink]);
}

static void run(enum sink sink)
{
	int flags, other_end;

	/* A signal that a write raises would end the program. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	setenv("LNET_DEBUG", "debug", 1);
	result |= LNetNIInit(LNET_PID_LUSTRE) != 0;
	/* The memory that the node of another process copies to and from is a file, for which there is a limit as well. */
	if (attached() && sink == FILE_SIZE_LIMIT)
		move_a_message();
	other_end = break_standard_error(sink);
	flags = fcntl(2, F_GETFL);
	make_lines(50);
	/* Lines are kept and written later, until the first write has taken too long or has failed. */
	for (int i = 0; i < 8; i++) {
		move_a_message();
		usleep(100000);
	}
	make_lines(50);
	move_a_message();
	if (fcntl(2, F_GETFL) != flags)
		result = 2;
	mend_standard_error(sink, other_end);
	result |= LNetNIFini() != 0;
}

int main(void)
{
	int status;
	pid_t child;

	kept = dup(2);
	/* The full disk is skipped if there is no such device. */
	for (enum sink sink = 0; sink < SINKS; sink++) {
		if (sink == FULL_DISK && access("/dev/full", W_OK) != 0)
			continue;
		child = fork();
		if (child == 0) {
			alarm(60);
			run(sink);
			_exit(result);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		if (status != 0) {
			fprintf(stderr, "standard error is %s: status %#x\n", names[sink], status);
			failures++;
		}
	}
	return failures != 0;
}
