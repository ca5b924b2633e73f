/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several processes, each with a node: the program itself, and peers that it forks before its own node starts. */
#ifndef PEERS_H
#define PEERS_H

#include "own_address.h"
#include <sys/wait.h>

struct peer {
	pid_t pid;
	/* The program writes to `go` to let the peer continue; the peer reports its progress through `said`. */
	int go, said;
};

/* The NID of the node on this program's address that ends with `last`. */
static inline struct lnet_process_id node_at(int last)
{
	struct lnet_process_id id = { 0, LNET_PID_LUSTRE };
	char text[64];
	int length = strrchr(own_address, '.') - own_address;

	snprintf(text, sizeof(text), "%.*s.%d@tcp", length, own_address, last);
	id.nid = libcfs_str2nid(text);
	return id;
}

static inline void say(int fd)
{
	CHECK_EQ(write(fd, "s", 1), 1);
}

static inline void hear(int fd)
{
	char byte;

	CHECK_EQ(read(fd, &byte, 1), 1);
}

/* Starts a process that runs `peer` on the address that ends with `last`. To be called after find_own_address. */
static inline struct peer start_peer(int last, void (*peer)(int go, int said))
{
	int go[2], said[2], length = strrchr(own_address, '.') - own_address;
	char networks[64];
	pid_t pid;

	CHECK(pipe(go) == 0 && pipe(said) == 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(said[0]);
		snprintf(networks, sizeof(networks), "tcp(%.*s.%d)", length, own_address, last);
		setenv("LNET_NETWORKS", networks, 1);
		peer(go[0], said[1]);
		exit(failures != 0);
	}
	close(go[0]);
	close(said[1]);
	return (struct peer){ pid, go[1], said[0] };
}

static inline void end_peer(struct peer peer)
{
	int status;

	CHECK_EQ(waitpid(peer.pid, &status, 0), peer.pid);
	CHECK_EQ(status, 0);
	close(peer.go);
	close(peer.said);
}

#endif
