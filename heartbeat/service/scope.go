package service

import (
	"context"
	"fmt"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// IsolateProcess moves a process started by a job of the user's systemd into a transient
// scope unit. In the job's cgroup systemd would list the process under a job that has
// ended, and would apply the job's limits to the process.
func IsolateProcess(ctx context.Context, pid int) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	name := fmt.Sprintf("bareclaw-gateway-%d-%d.scope", pid, time.Now().Unix())
	return wait(ctx, "start "+name, func(done chan<- string) error {
		_, err := bus.StartTransientUnitContext(ctx, name, "fail", []systemd.Property{
			systemd.PropDescription("BAREclaw, started by its heartbeat"),
			systemd.PropPids(uint32(pid)),
			// Session hosts outlive the gateway by design.
			{Name: "KillMode", Value: dbus.MakeVariant("process")},
			{Name: "OOMPolicy", Value: dbus.MakeVariant("continue")},
			{Name: "CollectMode", Value: dbus.MakeVariant("inactive-or-failed")},
		}, done)
		return err
	})
}
