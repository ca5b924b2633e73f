/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One program, three files, each written for the API of another release; they share a node. The types of LNet differ in the
 * three, so the files exchange numbers and pointers only. */
#ifndef BOTH_APIS_H
#define BOTH_APIS_H

/* What a file does, by the API of its release, on the portal of this program. */
struct side {
	const char *release;
	/* Attaches memory for one PUT of these bits. */
	void (*attach)(unsigned long bits, void *memory, unsigned int length);
	/* Sends memory to this node, and asks for an ACK. Returns the result of LNetPut. */
	int (*put)(unsigned long bits, void *memory, unsigned int length);
	/* Binds memory; returns the cookie of its handle. */
	unsigned long (*bind)(void *memory, unsigned int length);
	/* Unlinks a descriptor by its cookie. */
	int (*unlink)(unsigned long cookie);
	/* The numbers of PUT, ACK, SEND and UNLINK events that its handler has had, none with an error. */
	int puts, acks, sends, unlinks, errors;
	/* The bytes of the last PUT or ACK. */
	unsigned int moved;
};

extern struct side side_2_10, side_2_15, side_2_17;

#define SHARED_PORTAL 30

#endif
