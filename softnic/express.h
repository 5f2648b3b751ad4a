/* SPDX-License-Identifier: MIT */
/*
 * express.h - send requests that are given whole
 *
 * A line of words, each with four bytes of a request of one block and the count of blocks posted with it, so that it
 * is known of each word which request it is of, and no order among them is needed. The request is in the ring too, and
 * its doorbell follows: what is not taken here, because the next request was written over it, is taken there.
 */
#ifndef SOFTNIC_EXPRESS_H
#define SOFTNIC_EXPRESS_H

#include <stdbool.h>

struct bl_snic_qp;

/* Post the next request if the line has it; of a queue pair with a line. Return: whether it had. */
bool bl_express_look(struct bl_snic_qp *qp);

/* Whether its first word is that of the next request, or cannot be read. */
bool bl_express_is_news(const struct bl_snic_qp *qp);

#endif
