/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One header alone: it needs no other before it, and may come twice. Or two, in an order. Only compiled, by
 * tests/c_headers.rs, with -DHEADER='<lnet/api.h>' and perhaps -DSECOND='<lnet/lnet.h>'. */
#include HEADER
#ifdef SECOND
#include SECOND
#else
#include HEADER
#endif

int main(void)
{
	return 0;
}
