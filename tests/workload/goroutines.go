// SPDX-License-Identifier: BSD-2-Clause

// goroutines SECONDS: work in the first goroutine and in others, three calls deep.
package main

import (
	"os"
	"strconv"
	"sync"
	"time"
)

var sink uint64

//go:noinline
func burn(n uint64) uint64 {
	for i := uint64(0); i < 200000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func middle(n uint64) uint64 { return burn(n) + 1 }

func work(end time.Time) uint64 {
	n := uint64(0)
	for time.Now().Before(end) {
		n += middle(n)
	}
	return n
}

func main() {
	var others sync.WaitGroup
	seconds, _ := strconv.Atoi(os.Args[1])
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for i := 0; i < 2; i++ {
		others.Add(1)
		go func() {
			defer others.Done()
			work(end)
		}()
	}
	sink = work(end)
	others.Wait()
}
