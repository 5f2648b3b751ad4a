// SPDX-License-Identifier: MIT
/*
 * load_safetensors [--device N] [--threads N] [--list] [--verify] FILE - tensors from a file into GPU memory
 *
 * A safetensors file begins with the length of its header (8 bytes, little-endian) and the header, a JSON object that has
 * type, shape and place of each tensor; then come their bytes. All tensors go into one allocation, each at a multiple of
 * 256 bytes, which is what CUDA's own allocations have. Threads read pieces of 16 MiB: what is one request to cuFile is
 * several to a drive.
 */
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "file_example.h"

#define PIECE	    (16UL << 20)
#define ALIGN	    256UL
#define MAX_HEADER  100000000UL
#define MAX_THREADS 64

struct tensor {
	const char *name;
	const char *dtype;
	char shape[96];
	uint64_t off; /* in the file */
	uint64_t len;
	uint64_t gpu; /* in the allocation */
};

struct model {
	const char *path;
	int fd;
	uint64_t file_size;
	uint64_t data;
	struct json_object *header;
	struct tensor *tensors;
	size_t nr;
	uint64_t bytes; /* of all tensors */
	uint64_t room;	/* of the allocation */
};

struct piece {
	uint64_t off;
	uint64_t gpu;
	size_t len;
};

struct loader {
	const struct model *model;
	CUfileHandle_t fh;
	CUcontext context;
	CUdeviceptr gpu;
	struct piece *pieces;
	size_t nr;
	uint64_t begin_ns;
	atomic_size_t next;
	_Atomic(uint64_t) done;
	bool verify;
};

/* Bytes of an element in eighths; 0: unknown. */
static unsigned int bits_of(const char *dtype)
{
	static const struct {
		const char *name;
		unsigned int bits;
	} types[] = {
		{ "BOOL", 8 }, { "U8", 8 },   { "I8", 8 },   { "F8_E4M3", 8 }, { "F8_E5M2", 8 }, { "F8_E8M0", 8 }, { "U16", 16 },
		{ "I16", 16 }, { "F16", 16 }, { "BF16", 16 }, { "U32", 32 },   { "I32", 32 },	 { "F32", 32 },	   { "U64", 64 },
		{ "I64", 64 }, { "F64", 64 }, { "C64", 64 }, { "F4", 4 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(types[i].name, dtype))
			return types[i].bits;
	}
	return 0;
}

static void read_all(const struct model *model, void *buf, size_t len, uint64_t off)
{
	size_t done = 0;
	ssize_t got;

	while (done < len) {
		got = pread(model->fd, (char *)buf + done, len - done, (off_t)(off + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			example_die("%s: %s", model->path, got ? strerror(errno) : "the file ends too early");
		done += (size_t)got;
	}
}

/* Elements of a shape, which is also put into words; ends the program when there are more than can be. */
static uint64_t count(const struct model *model, struct tensor *tensor, struct json_object *shape)
{
	size_t used = (size_t)snprintf(tensor->shape, sizeof(tensor->shape), "[");
	uint64_t nr = 1;

	for (size_t i = 0; i < json_object_array_length(shape); i++) {
		struct json_object *dim = json_object_array_get_idx(shape, i);
		int64_t len = json_object_is_type(dim, json_type_int) ? json_object_get_int64(dim) : -1;

		if (len < 0 || __builtin_mul_overflow(nr, (uint64_t)len, &nr))
			example_die("%s: tensor %s: impossible shape", model->path, tensor->name);
		if (used < sizeof(tensor->shape))
			used += (size_t)snprintf(tensor->shape + used, sizeof(tensor->shape) - used, "%s%lld", i ? ", " : "",
						 (long long)len);
	}
	if (used < sizeof(tensor->shape))
		snprintf(tensor->shape + used, sizeof(tensor->shape) - used, "]");
	return nr;
}

static void parse_tensor(struct model *model, const char *name, struct json_object *object)
{
	struct tensor *tensor = &model->tensors[model->nr++];
	struct json_object *dtype, *shape, *offsets;
	uint64_t nr, bits, want;
	int64_t from, to;

	tensor->name = name;
	if (!json_object_object_get_ex(object, "dtype", &dtype) || !json_object_is_type(dtype, json_type_string) ||
	    !json_object_object_get_ex(object, "shape", &shape) || !json_object_is_type(shape, json_type_array) ||
	    !json_object_object_get_ex(object, "data_offsets", &offsets) ||
	    !json_object_is_type(offsets, json_type_array) || json_object_array_length(offsets) != 2)
		example_die("%s: tensor %s: no dtype, shape or data_offsets", model->path, name);
	tensor->dtype = json_object_get_string(dtype);
	nr = count(model, tensor, shape);
	from = json_object_get_int64(json_object_array_get_idx(offsets, 0));
	to = json_object_get_int64(json_object_array_get_idx(offsets, 1));
	if (from < 0 || to < from || (uint64_t)to > model->file_size - model->data)
		example_die("%s: tensor %s lies outside the file", model->path, name);
	tensor->len = (uint64_t)(to - from);
	bits = bits_of(tensor->dtype);
	if (bits && (__builtin_mul_overflow(nr, bits, &want) || (want + 7) / 8 != tensor->len))
		example_die("%s: tensor %s: %s%s does not take %llu bytes", model->path, name, tensor->dtype, tensor->shape,
			    (unsigned long long)tensor->len);
	tensor->off = model->data + (uint64_t)from;
	tensor->gpu = model->room;
	model->room += (tensor->len + ALIGN - 1) / ALIGN * ALIGN;
	model->bytes += tensor->len;
}

static char *read_header(struct model *model, uint64_t *len_p)
{
	unsigned char bytes[8];
	uint64_t len = 0;
	struct stat st;
	char *text;

	model->fd = open(model->path, O_RDONLY | O_CLOEXEC);
	if (model->fd < 0 || fstat(model->fd, &st))
		example_die("%s: %s", model->path, strerror(errno));
	model->file_size = (uint64_t)st.st_size;
	read_all(model, bytes, sizeof(bytes), 0);
	for (int i = 7; i >= 0; i--)
		len = len << 8 | bytes[i];
	if (len < 2 || len > MAX_HEADER || len > model->file_size - 8)
		example_die("%s: no safetensors file: a header of %llu bytes", model->path, (unsigned long long)len);
	text = malloc(len + 1);
	if (!text)
		example_die("out of memory");
	read_all(model, text, len, 8);
	text[len] = '\0';
	model->data = 8 + len;
	*len_p = len;
	return text;
}

static void open_model(struct model *model)
{
	uint64_t len;
	char *text = read_header(model, &len);
	struct json_tokener *tokener = json_tokener_new();

	if (!tokener)
		example_die("out of memory");
	model->header = json_tokener_parse_ex(tokener, text, (int)len);
	if (!model->header || !json_object_is_type(model->header, json_type_object))
		example_die("%s: the header is no JSON object: %s", model->path,
			    json_tokener_error_desc(json_tokener_get_error(tokener)));
	json_tokener_free(tokener);
	free(text);
	model->tensors = calloc((size_t)json_object_object_length(model->header) + 1, sizeof(*model->tensors));
	if (!model->tensors)
		example_die("out of memory");
	json_object_object_foreach(model->header, name, object)
	{
		if (strcmp(name, "__metadata__"))
			parse_tensor(model, name, object);
	}
}

static void cut(struct loader *loader)
{
	const struct model *model = loader->model;
	size_t at = 0;

	for (size_t i = 0; i < model->nr; i++)
		loader->nr += (model->tensors[i].len + PIECE - 1) / PIECE;
	loader->pieces = calloc(loader->nr + 1, sizeof(*loader->pieces));
	if (!loader->pieces)
		example_die("out of memory");
	for (size_t i = 0; i < model->nr; i++) {
		const struct tensor *tensor = &model->tensors[i];

		for (uint64_t done = 0; done < tensor->len; done += PIECE)
			loader->pieces[at++] = (struct piece){ tensor->off + done, tensor->gpu + done,
							       tensor->len - done < PIECE ? tensor->len - done : PIECE };
	}
}

static void load_piece(const struct loader *loader, const struct piece *piece)
{
	ssize_t got = cuFileRead(loader->fh, (void *)(uintptr_t)loader->gpu, piece->len, (off_t)piece->off,
				 (off_t)piece->gpu);

	if (got != (ssize_t)piece->len)
		example_die("cuFileRead of %zu bytes at %llu of %s: %s", piece->len, (unsigned long long)piece->off,
			    loader->model->path, example_io_error(got));
}

static void verify_piece(const struct loader *loader, const struct piece *piece, unsigned char *want, unsigned char *seen)
{
	read_all(loader->model, want, piece->len, piece->off);
	CU(cuMemcpyDtoH(seen, loader->gpu + piece->gpu, piece->len));
	if (memcmp(want, seen, piece->len))
		example_die("%s: GPU memory differs from the file in the %zu bytes from %llu on", loader->model->path,
			    piece->len, (unsigned long long)piece->off);
}

static void *work(void *arg)
{
	struct loader *loader = arg;
	unsigned char *buf = loader->verify ? malloc(2 * PIECE) : NULL;
	size_t i;

	if (loader->verify && !buf)
		example_die("out of memory");
	CU(cuCtxSetCurrent(loader->context));
	while ((i = atomic_fetch_add(&loader->next, 1)) < loader->nr) {
		const struct piece *piece = &loader->pieces[i];

		if (loader->verify)
			verify_piece(loader, piece, buf, buf + PIECE);
		else
			load_piece(loader, piece);
		example_progress(loader->verify ? "verify" : "load  ", atomic_fetch_add(&loader->done, piece->len) + piece->len,
				 loader->model->bytes, loader->begin_ns, false);
	}
	free(buf);
	return NULL;
}

static double run(struct loader *loader, unsigned int threads, bool verify)
{
	pthread_t thread[MAX_THREADS];
	int err;

	loader->verify = verify;
	loader->next = 0;
	loader->done = 0;
	loader->begin_ns = example_now_ns();
	for (unsigned int i = 0; i < threads; i++) {
		err = pthread_create(&thread[i], NULL, work, loader);
		if (err)
			example_die("no thread: %s", strerror(err));
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return (double)(example_now_ns() - loader->begin_ns) / 1e9;
}

static void load(const struct model *model, int ordinal, unsigned int threads, bool verify)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = model->fd };
	struct loader loader = { .model = model, .context = example_gpu(ordinal) };
	double seconds;

	cut(&loader);
	if (loader.nr) {
		CU(cuMemAlloc(&loader.gpu, model->room));
		CUFILE(cuFileDriverOpen());
		CUFILE(cuFileHandleRegister(&loader.fh, &descr));
		CUFILE(cuFileBufRegister((void *)(uintptr_t)loader.gpu, model->room, 0));
		seconds = run(&loader, threads, false);
		printf("%zu tensors, %llu bytes in %.3f s: %.2f GB/s\n", model->nr, (unsigned long long)model->bytes, seconds,
		       (double)model->bytes / 1e9 / seconds);
		if (verify) {
			run(&loader, threads, true);
			printf("verified: every byte is that of the file\n");
		}
		CUFILE(cuFileBufDeregister((void *)(uintptr_t)loader.gpu));
		cuFileHandleDeregister(loader.fh);
		CUFILE(cuFileDriverClose());
		CU(cuMemFree(loader.gpu));
	} else {
		printf("%zu tensors, no bytes\n", model->nr);
	}
	free(loader.pieces);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "device", required_argument, NULL, 'd' },
					       { "threads", required_argument, NULL, 't' },
					       { "list", no_argument, NULL, 'l' },
					       { "verify", no_argument, NULL, 'v' },
					       { NULL, 0, NULL, 0 } };
	struct model model = { 0 };
	unsigned int threads = 4;
	bool list = false, verify = false;
	int c, ordinal = 0;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'd')
			ordinal = (int)example_number(optarg, 0, 1023);
		else if (c == 't')
			threads = (unsigned int)example_number(optarg, 1, MAX_THREADS);
		else if (c == 'l')
			list = true;
		else if (c == 'v')
			verify = true;
		else
			return EXIT_FAILURE;
	}
	if (optind + 1 != argc)
		example_die("usage: load_safetensors [--device N] [--threads N] [--list] [--verify] FILE");
	model.path = argv[optind];
	open_model(&model);
	for (size_t i = 0; list && i < model.nr; i++)
		printf("%-48s %-8s %-24s %14llu\n", model.tensors[i].name, model.tensors[i].dtype, model.tensors[i].shape,
		       (unsigned long long)model.tensors[i].len);
	load(&model, ordinal, threads, verify);
	free(model.tensors);
	json_object_put(model.header);
	close(model.fd);
	return EXIT_SUCCESS;
}
