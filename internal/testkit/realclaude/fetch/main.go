// Command fetch puts the pinned claude CLI into the cache of the tests and
// prints its path:
//
//	go run ./internal/testkit/realclaude/fetch
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"bareclaw/internal/testkit/realclaude"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	path, err := realclaude.Fetch(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
