/* SPDX-License-Identifier: MIT */
/*
 * completion_queue.pml - threads wait for completions, and a NIC writes them
 *
 * The CQE of completion n lies in slot n mod RING; its owner bit is that of n's round. A thread that sees completion n
 * raises the count of known ones to n + 1, which later ones need not look at their CQEs for. The NIC is ahead of the
 * known by a ring at most: WQEs are posted only to slots that are known to be free.
 *
 * A thread looks once whenever it likes, and then when a look can succeed: waits are guards, so that one that never
 * ends is an invalid end state.
 *
 * Defines: TOTAL completions, RING; START: number of the first; COLLAPSED: one CQE that holds the low 4 bits of the last
 * number (16 in hardware); MUT_... as in send_queue.pml.
 */
#define BITS  15
#ifndef START
#define START 0
#endif
#define END   (START + TOTAL)
#define PHASE(n) (((n) / RING) & 1)

byte ci = START;		/* completions below are known */
bit valid[RING], owner[RING];	/* CQEs; at first there is none */
byte counter[RING];
bit data[TOTAL];		/* what the operation wrote */
byte nic_done = START;		/* the truth */

/* The looks of a poll, as conditions of the state; what is read when is in poll(). */
#ifdef COLLAPSED
#define DISTANCE(n) ((counter[0] - (n)) & BITS)
#ifdef MUT_PLAIN_COMPARE
#define CQE_SAYS(n) (valid[0] && counter[0] >= ((n) & BITS))
#else
#define CQE_SAYS(n) (valid[0] && DISTANCE(n) < 8)
#endif
#define IN_WINDOW(n, known) true
#else
#ifdef MUT_NO_PHASE
#define CQE_SAYS(n) (valid[(n) % RING])
#elif defined(MUT_NO_VALID)
#define CQE_SAYS(n) (owner[(n) % RING] == PHASE(n))
#else
#define CQE_SAYS(n) (valid[(n) % RING] && owner[(n) % RING] == PHASE(n))
#endif
#ifdef MUT_NO_WINDOW
#define IN_WINDOW(n, known) true
#else
#define IN_WINDOW(n, known) ((n) - (known) < RING)
#endif
#endif
#define MAY_END(n) ((n) < ci || (IN_WINDOW(n, ci) && CQE_SAYS(n)))

inline write_cqe()
{
#ifdef COLLAPSED
	atomic { counter[0] = nic_done & BITS; valid[0] = 1; nic_done++ }
#else
	atomic {
		owner[nic_done % RING] = PHASE(nic_done);
		counter[nic_done % RING] = nic_done & BITS;
		valid[nic_done % RING] = 1;
		nic_done++
	}
#endif
}

active proctype nic()
{
	do
	:: nic_done < END && nic_done < ci + RING ->
#ifdef MUT_CQE_FIRST
		write_cqe();
		data[nic_done - 1 - START] = 1
#else
		data[nic_done - START] = 1;
		write_cqe()
#endif
	:: nic_done == END -> break
	od
}

inline raise_ci(next)
{
#ifdef MUT_CI_STORE
	if
	:: ci < next -> ci = next
	:: else
	fi
#else
	atomic {
		if
		:: ci < next -> ci = next
		:: else
		fi
	}
#endif
}

/* One step a line: others may come between. */
inline poll(n)
{
	looked = false;
	do
	:: MAY_END(n) || !looked ->
		looked = true;
#ifdef MUT_NO_ACQUIRE
		got = data[n - START];
#endif
#ifdef MUT_CI_LAST
		atomic { says = CQE_SAYS(n); at = counter[n % RING] };
		known = ci;
#else
		known = ci;
#ifdef COLLAPSED
		atomic { says = CQE_SAYS(n); at = DISTANCE(n) };
#else
		says = CQE_SAYS(n);
#endif
#endif
		if
		:: n < known -> break
		:: n >= known && IN_WINDOW(n, known) && says ->
#ifdef COLLAPSED
			raise_ci(n + at + 1);
#else
			raise_ci(n + 1);
#endif
			break
		:: else
		fi
	od;
	assert(n < nic_done);
#ifndef MUT_NO_ACQUIRE
	got = data[n - START];
#endif
	assert(got == 1);
	assert(ci <= nic_done)
}

/* Waits for all of its completions in order, from @from, every @step. */
proctype poller(byte from, step)
{
	byte n = from, known, at;
	bool says, looked;
	bit got;

	do
	:: n < END -> poll(n); n = n + step
	:: else -> break
	od;
#ifdef MUT_END
	assert(false)
#endif
}

init {
	atomic {
		/* one for all, one for the odd ones, one for the last alone, which is far ahead at first */
		run poller(START, 1);
		run poller(START + 1, 2);
		run poller(END - 1, 1)
	}
}
