/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One header alone: it needs no other before it, and none after it. Compiled once for each header, as C99,
 * C11 and C++17, with -DHEADER='<lnet/api.h>'. */
#include HEADER
#include HEADER

int main(void)
{
	return 0;
}
