// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/verbs: " fmt
#include "error.h"

#include <errno.h>

#include "net/log.h"

doca_error_t bl_doca_null(const char *function, const char *what)
{
	fail(EINVAL, "%s: %s is NULL", function, what);
	return DOCA_ERROR_INVALID_VALUE;
}

doca_error_t bl_doca_error(int ret)
{
	switch (-ret) {
	case 0:
		return DOCA_SUCCESS;
	case EINVAL:
	case EFAULT:
		return DOCA_ERROR_INVALID_VALUE;
	case ENOMEM:
		return DOCA_ERROR_NO_MEMORY;
	case EOPNOTSUPP:
		return DOCA_ERROR_NOT_SUPPORTED;
	case EBUSY:
		return DOCA_ERROR_IN_USE;
	case EACCES:
	case EPERM:
		return DOCA_ERROR_NOT_PERMITTED;
	case ENOTCONN:
		return DOCA_ERROR_NOT_CONNECTED;
	case ECONNRESET:
		return DOCA_ERROR_CONNECTION_RESET;
	case EAGAIN:
		return DOCA_ERROR_AGAIN;
	case ETIMEDOUT:
		return DOCA_ERROR_TIME_OUT;
	case ENODEV:
	case ENOENT:
		return DOCA_ERROR_NOT_FOUND;
	case EMFILE:
	case ENFILE:
		return DOCA_ERROR_OPERATING_SYSTEM;
	default:
		return DOCA_ERROR_DRIVER;
	}
}

/* X(name without DOCA_, in words) */
#define ERRORS(X)                                                                                                      \
	X(SUCCESS, "success")                                                                                          \
	X(ERROR_UNKNOWN, "unknown error")                                                                              \
	X(ERROR_NOT_PERMITTED, "not permitted")                                                                        \
	X(ERROR_IN_USE, "in use")                                                                                      \
	X(ERROR_NOT_SUPPORTED, "not supported")                                                                        \
	X(ERROR_AGAIN, "try again")                                                                                    \
	X(ERROR_INVALID_VALUE, "invalid value")                                                                        \
	X(ERROR_NO_MEMORY, "out of memory")                                                                            \
	X(ERROR_INITIALIZATION, "initialization failed")                                                               \
	X(ERROR_TIME_OUT, "timed out")                                                                                 \
	X(ERROR_SHUTDOWN, "shut down")                                                                                 \
	X(ERROR_CONNECTION_RESET, "connection reset")                                                                  \
	X(ERROR_CONNECTION_ABORTED, "connection aborted")                                                              \
	X(ERROR_CONNECTION_INPROGRESS, "connection in progress")                                                       \
	X(ERROR_NOT_CONNECTED, "not connected")                                                                        \
	X(ERROR_NO_LOCK, "lock not available")                                                                         \
	X(ERROR_NOT_FOUND, "not found")                                                                                \
	X(ERROR_IO_FAILED, "input or output failed")                                                                   \
	X(ERROR_BAD_STATE, "bad state")                                                                                \
	X(ERROR_UNSUPPORTED_VERSION, "version not supported")                                                          \
	X(ERROR_OPERATING_SYSTEM, "operating system refused")                                                          \
	X(ERROR_DRIVER, "driver failed")                                                                               \
	X(ERROR_UNEXPECTED, "unexpected")                                                                              \
	X(ERROR_ALREADY_EXIST, "exists already")                                                                       \
	X(ERROR_FULL, "full")                                                                                          \
	X(ERROR_EMPTY, "empty")                                                                                        \
	X(ERROR_IN_PROGRESS, "in progress")                                                                            \
	X(ERROR_TOO_BIG, "too big")                                                                                    \
	X(ERROR_AUTHENTICATION, "authentication failed")                                                               \
	X(ERROR_BAD_CONFIG, "bad configuration")                                                                       \
	X(ERROR_SKIPPED, "skipped")                                                                                    \
	X(ERROR_DEVICE_FATAL_ERROR, "device failed for good")

struct text {
	const char *name;
	const char *descr;
};

#define TEXT(error, words) [DOCA_##error] = { "DOCA_" #error, words },

static const struct text texts[] = { ERRORS(TEXT) };

static const struct text *text_of(doca_error_t error)
{
	unsigned int index = (unsigned int)error;

	return &texts[index < sizeof(texts) / sizeof(texts[0]) ? index : DOCA_ERROR_UNKNOWN];
}

const char *doca_error_get_name(doca_error_t error)
{
	return text_of(error)->name;
}

const char *doca_error_get_descr(doca_error_t error)
{
	return text_of(error)->descr;
}
