/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A node with TCP, at an address and a port that simultaneous runs of the program do not use. */
#ifndef OWN_ADDRESS_H
#define OWN_ADDRESS_H

#include "check.h"
#include <arpa/inet.h>
#include <unistd.h>

static char own_address[32];

/* Makes this process's node start at such an address, which ends with `last`. */
static inline void find_own_address(int last)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	char port[8], networks[64];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	snprintf(own_address, sizeof(own_address), "127.%d.%d.%d", 1 + getpid() / 250 % 250, 1 + getpid() % 250, last);
	inet_pton(AF_INET, own_address, &at.sin_addr);
	CHECK_EQ(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	close(fd);
	snprintf(port, sizeof(port), "%d", ntohs(at.sin_port));
	snprintf(networks, sizeof(networks), "tcp(%s)", own_address);
	setenv("LNET_NETWORKS", networks, 1);
	setenv("LNET_ACCEPT", "all", 1);
	setenv("LNET_ACCEPT_PORT", port, 1);
}

#endif
