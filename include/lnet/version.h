/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The release of liblnet to which the headers belong, and the release of Lustre whose API a program gets from them. */
#ifndef LNET_VERSION_H
#define LNET_VERSION_H

/**
 * The release of Lustre whose LNet API the program is written for: 0x20a00 (2.10, also without the macro), 0x20f08 (2.15.8) or
 * 0x21100 (2.17.0). Set it by the compiler's option -DLNET_API=0x21100: all files of a program that exchange LNet's
 * types need the same. The other numbers of these releases stand for the same.
 */
#ifndef LNET_API
#define LNET_API 0x20a00
#endif
#if LNET_API < 0x20a00 || (LNET_API > 0x20aff && LNET_API < 0x20f00) || \
	(LNET_API > 0x20fff && LNET_API < 0x21100) || LNET_API > 0x211ff
#error "LNET_API: known are 0x20a00 (2.10), 0x20f08 (2.15.8) and 0x21100 (2.17.0)"
#endif

/** The symbol of a function whose form differs from that of 2.10: the compiler, not the linker, chooses the form. */
#define LNET_SYMBOL(symbol) __asm__(#symbol)

/** A release as a number, for comparisons: #if LIBLNET_VERSION >= LIBLNET_VERSION_CODE(0, 2, 0). */
#define LIBLNET_VERSION_CODE(major, minor, patch) (((major) << 16) + ((minor) << 8) + (patch))

#define LIBLNET_VERSION_MAJOR 0
#define LIBLNET_VERSION_MINOR 1
#define LIBLNET_VERSION_PATCH 0
#define LIBLNET_VERSION \
	LIBLNET_VERSION_CODE(LIBLNET_VERSION_MAJOR, LIBLNET_VERSION_MINOR, LIBLNET_VERSION_PATCH)
#define LIBLNET_VERSION_STRING "0.1.0"

#endif
