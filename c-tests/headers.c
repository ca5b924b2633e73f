/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Includes one header alone: it needs no other header before it, and may be included twice. Or includes two headers
 * in an order. tests/c_headers.rs only compiles this file, with -DHEADER='<lnet/api.h>' and possibly
 * -DSECOND='<lnet/lnet.h>'. */
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
