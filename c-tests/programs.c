/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests several programs on one node, which is that of a daemon: the messages of each come from a PID of its own, unless it has claimed match bits,
 * and what it has on the node is gone when its LNetNIFini has returned. Their MEs are in the same portals. Only runs attached. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

#define PORTAL 20
#define TURNS 20

static char memory[16];
static struct lnet_handle_eq eq;

static struct lnet_process_id program(__u32 pid)
{
	struct lnet_process_id id = { loopback().nid, pid };

	return id;
}

static __u32 own_pid(void)
{
	struct lnet_process_id id = { 0, 0 };

	CHECK_EQ(LNetGetId(0, &id), 0);
	CHECK_EQ(id.nid, loopback().nid);
	return id.pid;
}

/* Attaches to the node. Returns the PID there. */
static __u32 begin(void)
{
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq), 0);
	return own_pid();
}

/* Attaches memory for messages to this program. */
static void offer(__u32 pid)
{
	struct lnet_handle_md md;

	CHECK_EQ(LNetMDAttach(attach_me(PORTAL, pid, LNET_RETAIN),
			      make_md(memory, sizeof(memory), LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, NULL, eq),
			      LNET_RETAIN, &md), 0);
}

static struct lnet_event wait_for(enum lnet_event_kind kind)
{
	struct lnet_event event;

	do
		CHECK_EQ(LNetEQWait(eq, &event), 1);
	while (event.type != kind && failures == 0);
	CHECK_EQ(event.status, 0);
	return event;
}

static void put(__u32 to)
{
	struct lnet_handle_md md;

	CHECK_EQ(LNetMDBind(make_md(memory, sizeof(memory), 2, 0, NULL, eq), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, program(to), PORTAL, to, 0, 0), 0);
}

/* Claims match bits, and so gets the PID of the first program, which has claimed others. */
static void share_pid(__u32 pid)
{
	CHECK_EQ(LNetClaimBits(PORTAL, LNET_PID_LUSTRE, 0), -EADDRINUSE);
	CHECK_EQ(own_pid(), pid);
	CHECK_EQ(LNetClaimBits(PORTAL, pid, 0), 0);
	CHECK_EQ(own_pid(), LNET_PID_LUSTRE);
	put(LNET_PID_LUSTRE);
	wait_for(LNET_EVENT_ACK);
}

/* Exchanges messages with the first program. */
static int second(void)
{
	__u32 pid = begin();
	struct lnet_event event;

	CHECK_EQ(pid, getpid());
	offer(pid);
	put(LNET_PID_LUSTRE);
	event = wait_for(LNET_EVENT_PUT);
	CHECK_EQ(event.initiator.pid, LNET_PID_LUSTRE);
	CHECK_EQ(event.target.pid, pid);
	share_pid(pid);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}

/* Is on the node again and again, and has the same PID each time. */
static int again(void)
{
	/* The nets are those of the node. */
	setenv("LNET_NETWORKS", "bogus", 1);
	for (int i = 0; i < TURNS; i++) {
		CHECK_EQ(begin(), getpid());
		offer(getpid());
		CHECK_EQ(LNetNIFini(), 0);
	}
	return failures != 0;
}

static pid_t start(char *self, char *role)
{
	char *arguments[] = { self, role, NULL };
	pid_t child = fork();

	if (child == 0) {
		execv(self, arguments);
		_exit(1);
	}
	return child;
}

static void end(pid_t child)
{
	int status = -1;

	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	struct lnet_event event;
	pid_t child, turns;

	alarm(120);
	if (argc > 1)
		return strcmp(argv[1], "second") == 0 ? second() : again();
	CHECK_EQ(begin(), LNET_PID_LUSTRE);
	offer(LNET_PID_LUSTRE);
	CHECK_EQ(LNetClaimBits(PORTAL, LNET_PID_LUSTRE, 0), 0);
	turns = start(argv[0], "again");
	child = start(argv[0], "second");
	event = wait_for(LNET_EVENT_PUT);
	CHECK_EQ(event.initiator.pid, child);
	CHECK_EQ(event.target.pid, LNET_PID_LUSTRE);
	put(event.initiator.pid);
	event = wait_for(LNET_EVENT_ACK);
	CHECK_EQ(event.initiator.pid, child);
	event = wait_for(LNET_EVENT_PUT);
	CHECK_EQ(event.initiator.pid, LNET_PID_LUSTRE);
	end(child);
	/* The claim has ended with the program. */
	CHECK_EQ(LNetClaimBits(PORTAL, child, 0), 0);
	end(turns);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
