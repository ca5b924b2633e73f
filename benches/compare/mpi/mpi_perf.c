/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measures MPI between two ranks, with the same output as lnet_perf.
 *
 *   mpirun -n 2 mpi_perf round-trip SIZE ITERATIONS        a message there and one of the same size back
 *   mpirun -n 2 mpi_perf put SIZE ITERATIONS IN_FLIGHT     messages one way, each answered by an empty one
 *
 * The first rank prints what it has measured. Each measurement has a warm-up of a tenth before it. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1, MOST_IN_FLIGHT = 64, NANOSECONDS = 1000000000 };

static char *memory[MOST_IN_FLIGHT];

static void round_trips(int rank, int size, long count, double *delays)
{
	int other = 1 - rank;
	double begin = MPI_Wtime();
	long i;

	for (i = 0; i < count; i++) {
		double end;

		if (rank == 0)
			MPI_Send(memory[0], size, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
		MPI_Recv(memory[0], size, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank != 0)
			MPI_Send(memory[0], size, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
		end = MPI_Wtime();
		delays[i] = end - begin;
		begin = end;
	}
}

/* Keeps in_flight messages under way: a message's place is free when its answer has come. */
static void one_way(int rank, int size, long count, int in_flight)
{
	MPI_Request messages[MOST_IN_FLIGHT], answers[MOST_IN_FLIGHT];
	int other = 1 - rank;
	long i;

	for (i = 0; i < count + in_flight; i++) {
		int place = (int)(i % in_flight);

		if (i >= in_flight) {
			MPI_Wait(&messages[place], MPI_STATUS_IGNORE);
			if (rank != 0)
				MPI_Isend(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &answers[place]);
			MPI_Wait(&answers[place], MPI_STATUS_IGNORE);
		}
		if (i >= count)
			continue;
		if (rank == 0) {
			MPI_Irecv(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &answers[place]);
			MPI_Isend(memory[place], size, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &messages[place]);
		} else {
			MPI_Irecv(memory[place], size, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &messages[place]);
		}
	}
}

int main(int argc, char **argv)
{
	int rank, ranks, size, in_flight = 1, place;
	long count, warm_up, i;
	double begin, seconds, *delays;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	size = argc > 3 ? atoi(argv[2]) : 0;
	count = argc > 3 ? atol(argv[3]) : 0;
	if (argc > 4)
		in_flight = atoi(argv[4]);
	if (ranks != 2 || size < 1 || count < 1 || in_flight < 1 || in_flight > MOST_IN_FLIGHT) {
		fprintf(stderr, "usage: mpirun -n 2 mpi_perf round-trip|put SIZE ITERATIONS [IN_FLIGHT]\n");
		return 1;
	}
	warm_up = count / 10 > 10 ? count / 10 : 10;
	delays = malloc(sizeof(*delays) * (size_t)(count > warm_up ? count : warm_up));
	for (place = 0; place < in_flight; place++) {
		memory[place] = malloc((size_t)size);
		if (delays == NULL || memory[place] == NULL)
			return 1;
		memset(memory[place], 0x5a, (size_t)size);
	}
	if (strcmp(argv[1], "round-trip") == 0) {
		round_trips(rank, size, warm_up, delays);
		MPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		round_trips(rank, size, count, delays);
	} else {
		one_way(rank, size, warm_up, in_flight);
		MPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		one_way(rank, size, count, in_flight);
	}
	seconds = MPI_Wtime() - begin;
	if (rank == 0) {
		printf("microseconds %.4f messages %ld\n", seconds * 1e6 / (double)count, count + warm_up);
		if (strcmp(argv[1], "round-trip") == 0)
			for (i = 0; i < count; i++)
				printf("delay %.0f 1\n", delays[i] * NANOSECONDS);
	}
	MPI_Finalize();
	return 0;
}
