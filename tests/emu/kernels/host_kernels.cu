// SPDX-License-Identifier: MIT
/* CUDA kernels for tests of what is compiled for the CPU; nvcc would take them too. */

struct wide {
	unsigned long long words[5];
	char tag;
};

static __device__ unsigned long long linear_thread()
{
	return threadIdx.x + blockDim.x * (threadIdx.y + (unsigned long long)blockDim.y * threadIdx.z);
}

static __device__ unsigned long long linear_block()
{
	return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
}

extern "C" __global__ void record_place(unsigned long long *out)
{
	unsigned long long threads = (unsigned long long)blockDim.x * blockDim.y * blockDim.z;

	atomicAdd(&out[linear_block() * threads + linear_thread()],
		  1ULL << 48 | (unsigned long long)blockIdx.z << 40 | blockIdx.y << 28 | threadIdx.z << 16 | threadIdx.x);
}

extern "C" __global__ void take_params(unsigned long long *out, char c, bool b, short s, float f, struct wide w, int i,
				       double d, unsigned char last)
{
	out[0] = (unsigned long long)c;
	out[1] = b;
	out[2] = (unsigned long long)s;
	out[3] = (unsigned long long)(long long)(f * 4);
	out[4] = w.words[0] + w.words[4];
	out[5] = (unsigned long long)w.tag;
	out[6] = (unsigned long long)i;
	out[7] = (unsigned long long)(long long)(d * 8);
	out[8] = last;
}

extern "C" __global__ void no_params()
{
}

/* The sum of all words: lanes by shuffles, warps by shared memory, blocks by an atomic. */
extern "C" __global__ void sum_words(const unsigned int *words, unsigned int nr, unsigned long long *sum)
{
	BL_SHARED(unsigned int, parts, [32]);
	BL_SHARED(unsigned int, nr_parts, );
	unsigned int index = blockIdx.x * blockDim.x + threadIdx.x, part = index < nr ? words[index] : 0;

	for (unsigned int delta = 16; delta; delta /= 2)
		part += __shfl_down_sync(0xffffffffU, part, delta);
	if (!(threadIdx.x % warpSize)) {
		parts[threadIdx.x / warpSize] = part;
		atomicAdd(&nr_parts, 1);
	}
	__syncthreads();
	if (threadIdx.x)
		return;
	for (unsigned int i = 0; i < nr_parts; i++)
		atomicAdd(sum, (unsigned long long)parts[i]);
}

/* Turns a block's words round in dynamic shared memory. */
extern "C" __global__ void turn_round(unsigned int *words)
{
	BL_SHARED_DYNAMIC(unsigned int, room);

	words += blockIdx.x * blockDim.x;
	room[threadIdx.x] = words[threadIdx.x];
	__syncthreads();
	words[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void vote(unsigned int *out)
{
	unsigned int lane = threadIdx.x, all = 0xffffffffU, odd = lane & 1 ? 0xaaaaaaaaU : 0x55555555U;

	out[lane * 8] = __ballot_sync(odd, lane < 8);
	out[lane * 8 + 1] = (unsigned int)__any_sync(odd, lane == 3);
	out[lane * 8 + 2] = (unsigned int)__all_sync(odd, lane != 3);
	out[lane * 8 + 3] = __shfl_sync(all, lane, 5, 8);
	out[lane * 8 + 4] = __shfl_up_sync(all, lane, 3);
	out[lane * 8 + 5] = __shfl_down_sync(all, lane, 3, 16);
	out[lane * 8 + 6] = __shfl_xor_sync(all, lane, 9);
	out[lane * 8 + 7] = (unsigned int)__shfl_sync(all, lane * 0x100000001ULL, 31) + (unsigned int)__popc(lane);
}

extern "C" __global__ void count(unsigned int *u, unsigned long long *l, float *f)
{
	unsigned int me = blockIdx.x * blockDim.x + threadIdx.x, old;

	atomicAdd(&u[0], 2U);
	atomicSub(&u[1], 1U);
	atomicMax(&u[2], me);
	atomicMin(&u[3], me);
	atomicOr(&u[4], 1U << me % 32);
	atomicAnd(&u[5], ~(1U << me % 32));
	atomicXor(&u[6], me);
	atomicInc(&u[7], 6U);
	atomicAdd(f, 0.5F);
	atomicAdd_system(&l[0], 1ULL << 33);
	old = l[1] & 0;
	while (atomicCAS(&u[8], old, old + 1) != old)
		old++;
	__threadfence();
	atomicExch_block(&l[1], 77ULL);
}

static __device__ unsigned int calls;

extern "C" __global__ void count_calls(unsigned int *out)
{
	*out = atomicAdd(&calls, 1U) + 1;
}

/* Stays until a word is set. */
extern "C" __global__ void wait_for_word(unsigned int *word, unsigned int *out)
{
	while (!atomicAdd(word, 0U))
		__nanosleep(1000);
	__threadfence_system();
	atomicAdd(out, 1U);
}

extern "C" __global__ void set_word(unsigned int *word)
{
	atomicExch(word, 1U);
}

extern "C" __global__ void write_at(unsigned int *word, unsigned int value)
{
	*word = value;
}

extern "C" __global__ void spin(volatile unsigned int *word)
{
	while (!*word)
		;
}

extern "C" __global__ void meet_apart()
{
	if (threadIdx.x)
		__syncwarp();
	else
		__syncthreads();
}

extern "C" __global__ void trap(int when)
{
	if ((int)threadIdx.x == when)
		__trap();
	__syncthreads();
}

extern "C" __global__ void say(int number)
{
	printf("# kernel says %d at %d\n", number, bl_globaltimer() > 0 && clock64() > 0);
}

BL_CUDA_KERNEL(record_place);
BL_CUDA_KERNEL(take_params);
BL_CUDA_KERNEL(no_params);
BL_CUDA_KERNEL(sum_words);
BL_CUDA_KERNEL(turn_round);
BL_CUDA_KERNEL(vote);
BL_CUDA_KERNEL(count);
BL_CUDA_KERNEL(count_calls);
BL_CUDA_KERNEL(wait_for_word);
BL_CUDA_KERNEL(set_word);
BL_CUDA_KERNEL(write_at);
BL_CUDA_KERNEL(spin);
BL_CUDA_KERNEL(meet_apart);
BL_CUDA_KERNEL(trap);
BL_CUDA_KERNEL(say);
