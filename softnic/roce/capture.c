// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/roce: " fmt
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "softnic/shm/fds.h"
#include "util/fork.h"
#include "util/log.h"

#define NANOSECONDS 0xa1b23c4dU /* magic of files with times in nanoseconds */
#define SNAP_LEN    65535U
#define ETHERNET    1U
#define RAW_IP	    101U

struct file_header {
	uint32_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t zone;
	uint32_t accuracy;
	uint32_t snap_len;
	uint32_t link_type;
};

struct packet_header {
	uint32_t seconds;
	uint32_t nanoseconds;
	uint32_t len;
	uint32_t original_len;
};

/**
 * struct bl_roce_capture - the file
 * @fd:	   file
 * @used:  bytes that are not written yet
 * @bytes: these
 * @path:  name
 */
struct bl_roce_capture {
	int fd;
	size_t used;
	char bytes[256 << 10];
	char path[PATH_MAX];
};

/* Return: 0 or -ENAMETOOLONG. */
static int expand(const char *text, const char *name, char path[PATH_MAX])
{
	size_t used = 0;
	int len;

	for (; *text; text++) {
		if (text[0] == '%' && text[1] == 'p')
			len = snprintf(path + used, PATH_MAX - used, "%d", (int)getpid());
		else if (text[0] == '%' && text[1] == 'n')
			len = snprintf(path + used, PATH_MAX - used, "%s", name);
		else
			len = snprintf(path + used, PATH_MAX - used, "%c", *text);
		text += text[0] == '%' && (text[1] == 'p' || text[1] == 'n');
		used += (size_t)len;
		if (used >= PATH_MAX)
			return -ENAMETOOLONG;
	}
	return 0;
}

/* A file that two write is worth nothing; the lock is for as long as this one is open. */
static int begin(struct bl_roce_capture *capture, bool ethernet)
{
	struct file_header header = {
		.magic = NANOSECONDS,
		.major = 2,
		.minor = 4,
		.snap_len = SNAP_LEN,
		.link_type = ethernet ? ETHERNET : RAW_IP,
	};

	bl_fork_window_enter();
	capture->fd = bl_shm_fd_own(open(capture->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
	bl_fork_window_leave();
	if (capture->fd < 0)
		return fail(-capture->fd, "BARLANE_SNIC_PCAP %s: %s", capture->path, strerror(-capture->fd));
	if (flock(capture->fd, LOCK_EX | LOCK_NB))
		return fail(EBUSY, "BARLANE_SNIC_PCAP %s: another NIC writes it; %%p and %%n make names different",
			    capture->path);
	if (ftruncate(capture->fd, 0) && errno != EINVAL)
		return fail(errno, "BARLANE_SNIC_PCAP %s: %s", capture->path, strerror(errno));
	memcpy(capture->bytes, &header, sizeof(header));
	capture->used = sizeof(header);
	return 0;
}

int bl_roce_capture_open(const char *name, bool ethernet, struct bl_roce_capture **capture_p)
{
	const char *text = getenv("BARLANE_SNIC_PCAP");
	struct bl_roce_capture *capture;
	int ret;

	*capture_p = NULL;
	if (!text || !*text)
		return 0;
	capture = malloc(sizeof(*capture));
	if (!capture)
		return fail(ENOMEM, "BARLANE_SNIC_PCAP: out of memory");
	capture->fd = -1;
	ret = expand(text, name, capture->path);
	if (ret)
		fail(-ret, "BARLANE_SNIC_PCAP %s: %s", text, strerror(-ret));
	else
		ret = begin(capture, ethernet);
	if (ret) {
		bl_shm_fd_close(capture->fd);
		free(capture);
		return ret;
	}
	log_info("%s: packets are written to %s", name, capture->path);
	*capture_p = capture;
	return 0;
}

static void give_up(struct bl_roce_capture *capture, int err)
{
	log_warn("BARLANE_SNIC_PCAP %s: %s: packets are not written any more", capture->path, strerror(err));
	bl_shm_fd_close(capture->fd);
	capture->fd = -1;
}

void bl_roce_capture_flush(struct bl_roce_capture *capture)
{
	size_t done = 0;
	ssize_t len;

	if (!capture)
		return;
	while (capture->fd >= 0 && done < capture->used) {
		len = write(capture->fd, capture->bytes + done, capture->used - done);
		if (len > 0)
			done += (size_t)len;
		else if (errno != EINTR)
			give_up(capture, len ? errno : ENOSPC);
	}
	capture->used = 0;
}

void bl_roce_capture_add(struct bl_roce_capture *capture, const void *head, size_t head_len, const void *rest,
			 size_t rest_len)
{
	struct packet_header header = {.len = (uint32_t)(head_len + rest_len)};
	struct timespec now;
	char *at;

	if (!capture || capture->fd < 0)
		return;
	if (sizeof(header) + header.len > sizeof(capture->bytes) - capture->used)
		bl_roce_capture_flush(capture);
	if (sizeof(header) + header.len > sizeof(capture->bytes))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	header.seconds = (uint32_t)now.tv_sec;
	header.nanoseconds = (uint32_t)now.tv_nsec;
	header.original_len = header.len;
	at = capture->bytes + capture->used;
	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), head, head_len);
	memcpy(at + sizeof(header) + head_len, rest, rest_len);
	capture->used += sizeof(header) + header.len;
}

void bl_roce_capture_close(struct bl_roce_capture *capture)
{
	if (!capture)
		return;
	bl_roce_capture_flush(capture);
	bl_shm_fd_close(capture->fd);
	free(capture);
}

void bl_roce_capture_forget(struct bl_roce_capture *capture)
{
	if (!capture)
		return;
	bl_shm_fd_forget(capture->fd);
	free(capture);
}
