// SPDX-License-Identifier: BSD-2-Clause

// cgo SECONDS: C code that Go calls works, and so does Go code that it calls back, and a thread that C makes.
package main

/*
#include <pthread.h>

extern void backInGo(long n);

__attribute__((noinline)) static long workInC(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

__attribute__((noinline)) static long callInC(long n)
{
	long sum = workInC(n);

	__asm__ volatile("");
	return sum;
}

__attribute__((noinline)) static void callBack(long n)
{
	backInGo(n);
	__asm__ volatile("");
}

static void *inThread(void *arg)
{
	callBack((long)arg);
	__asm__ volatile("");
	return 0;
}

static void callBackFromThread(long n)
{
	pthread_t thread;

	if (pthread_create(&thread, 0, inThread, (void *)n) == 0)
		pthread_join(thread, 0);
}
*/
import "C"

import (
	"os"
	"strconv"
	"time"
)

var sink uint64

//go:noinline
func workInGo(n uint64) uint64 {
	for i := uint64(0); i < n; i++ {
		sink = sink*31 + i
	}
	return sink
}

//export backInGo
func backInGo(n C.long) { sink = workInGo(uint64(n)) + 1 }

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for time.Now().Before(end) {
		C.callInC(2000000)
		C.callBack(2000000)
		C.callBackFromThread(2000000)
	}
}
